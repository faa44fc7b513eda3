//! Looking for tools.

use crate::access::Action;
use crate::api::input::{MOST_BODY, SearchTools};
use crate::api::route::{Access, Answer, Body, Content, Method, Operation, Route};
use crate::api::schema::Schema;
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
    body: Some(Body { schema: SearchTools::SCHEMA, most: MOST_BODY }),
    answers: &[Answer {
        status: 200,
        doc: "What was found.",
        content: Content::Json(Schema::Object(&FOUND_LIST)),
        headers: &[],
    }],
    problems: &[],
}];
