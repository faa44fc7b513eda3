//! Tools of all servers: listing and calling them.

use super::servers::NOT_MODIFIED;
use super::{ETAG, IF_NONE_MATCH, TOOL_ID, json};
use crate::access::Action;
use crate::api::input::{CALL_TOOL, MOST_ARGUMENTS};
use crate::api::paging::{CURSOR, LIMIT};
use crate::api::problem::Kind;
use crate::api::route::{Access, Answer, Body, Method, Operation, Parameter, Place, Route};
use crate::api::shape::{Form, Shape, text};
use crate::api::view::{TOOL, TOOL_LIST, TOOL_RESULT};

const TAG: &str = "Tools";

pub(super) const ROUTES: &[Route] = &[
    Route {
        operation: Operation::ListTools,
        method: Method::Get,
        path: "/api/v1/tools",
        access: Access::Needs(Action::ReadTools),
        tag: TAG,
        summary: "List the tools of all servers",
        description: "Grouped by server: those of connected servers that the token may see. \
                      `limit` counts tools, not servers; a server whose tools go on on the next \
                      page is on both.",
        parameters: &[
            Parameter {
                name: "server",
                place: Place::Query,
                shape: text(1, 64, Form::Line),
                doc: "Only of the server with this name.",
            },
            LIMIT,
            CURSOR,
            IF_NONE_MATCH,
        ],
        body: None,
        answers: &[
            Answer {
                status: 200,
                doc: "A page of tools.",
                content: json(&TOOL_LIST, TOOLS_EXAMPLE),
                headers: &[ETAG],
            },
            NOT_MODIFIED,
        ],
        problems: &[Kind::StoreUnavailable],
    },
    Route {
        operation: Operation::GetTool,
        method: Method::Get,
        path: "/api/v1/tools/{id}",
        access: Access::Needs(Action::ReadTools),
        tag: TAG,
        summary: "See one tool",
        description: "As in the list, and with its `server`. A tool of a server that is not \
                      connected, or that the token may not see, is not there.",
        parameters: &[TOOL_ID, IF_NONE_MATCH],
        body: None,
        answers: &[
            Answer {
                status: 200,
                doc: "The tool.",
                content: json(&TOOL, TOOL_EXAMPLE),
                headers: &[ETAG],
            },
            NOT_MODIFIED,
        ],
        problems: &[Kind::NoSuchTool],
    },
    Route {
        operation: Operation::CallTool,
        method: Method::Post,
        path: "/api/v1/tools/call",
        access: Access::Needs(Action::CallTool),
        tag: TAG,
        summary: "Call a tool",
        description: "By `server.tool`, or by the tool's own name and `server_id`. The arguments \
                      reach the server as they were sent, to the byte, and so does its result \
                      come back. A tool that fails says so in its result (`isError`); a server \
                      that refuses the call is a problem of status 502 that holds its error. \
                      A tool that the token may not see is not there (404).",
        parameters: &[],
        body: Some(Body {
            shape: Shape::Object(&CALL_TOOL),
            most: MOST_ARGUMENTS,
            example: CALL_EXAMPLE,
        }),
        answers: &[Answer {
            status: 200,
            doc: "The tool's result, with `metadata`.",
            content: json(&TOOL_RESULT, RESULT_EXAMPLE),
            headers: &[],
        }],
        problems: &[
            Kind::NoSuchServer,
            Kind::NoSuchTool,
            Kind::ServerError,
            Kind::BadAnswer,
            Kind::ServerUnavailable,
            Kind::Timeout,
        ],
    },
];

const TOOLS_EXAMPLE: &str = r#"{"servers":[{"id":"0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10","name":"github-mcp","status":"CONNECTED","tools":[{"id":"1","name":"github-mcp.create_issue","original_name":"create_issue","description":"Create a new GitHub issue","input_schema":{"type":"object"}}]}],"total":1,"next_cursor":null}"#;

const TOOL_EXAMPLE: &str = r#"{"id":"0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10/create_issue","name":"github-mcp.create_issue","original_name":"create_issue","description":"Create a new GitHub issue","input_schema":{"type":"object"},"server":{"id":"0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10","name":"github-mcp","status":"CONNECTED"}}"#;

const CALL_EXAMPLE: &str = r#"{"name":"github-mcp.create_issue","arguments":{"repo":"owner/repo","title":"Bug report","body":"Description of the bug"}}"#;

const RESULT_EXAMPLE: &str = r#"{"content":[{"type":"text","text":"{\"issue_number\": 123, \"url\": \"https://github.com/owner/repo/issues/123\"}"}],"isError":false,"metadata":{"routed_to":"github-mcp","routing_time_ms":12.5,"execution_time_ms":450.2}}"#;
