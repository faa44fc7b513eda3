//! Looking for tools.

use super::json;
use crate::access::Action;
use crate::api::input::{MOST_BODY, SEARCH};
use crate::api::route::{Access, Answer, Body, Method, Operation, Route};
use crate::api::shape::Shape;
use crate::api::view::FOUND_LIST;

pub(super) const ROUTES: &[Route] = &[Route {
    operation: Operation::SearchTools,
    method: Method::Post,
    path: "/api/v1/search",
    access: Access::Needs(Action::Search),
    tag: "Search and skills",
    summary: "Search the tools of all servers",
    description: "In plain words. The tools of all connected servers that the token may see, the \
                  best first, whichever server has them. What is disconnected is not searched and \
                  not counted.",
    parameters: &[],
    body: Some(Body { shape: Shape::Object(&SEARCH), most: MOST_BODY, example: ASKED }),
    answers: &[Answer {
        status: 200,
        doc: "What was found.",
        content: json(&FOUND_LIST, FOUND),
        headers: &[],
    }],
    problems: &[],
}];

const ASKED: &str = r#"{"query":"create a GitHub issue","include_external":true,"server_filter":["github-mcp","jira-mcp"],"limit":10}"#;

const FOUND: &str = r#"{"query":"create a GitHub issue","tools":[{"id":"0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10/create_issue","name":"github-mcp.create_issue","original_name":"create_issue","description":"Create a new GitHub issue","score":0.95,"source_server":{"id":"0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10","name":"github-mcp","status":"CONNECTED"},"skill_ids":["issue_tracking","code_management"],"primary_skill_id":"issue_tracking","is_classified":true}],"metadata":{"servers_searched":2,"total_tools_searched":45}}"#;
