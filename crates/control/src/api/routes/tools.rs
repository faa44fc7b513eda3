//! Tools of all servers: listing and calling them.

use super::servers::NOT_MODIFIED;
use super::{ETAG, IF_NONE_MATCH, TOOL_ID};
use crate::access::Action;
use crate::api::input::{CALL_TOOL, MOST_ARGUMENTS};
use crate::api::paging::{CURSOR, LIMIT};
use crate::api::problem::Kind;
use crate::api::route::{
    Access, Answer, Body, Content, Method, Operation, Parameter, Place, Route,
};
use crate::api::schema::{Schema, TextFormat, text};
use crate::api::view::{TOOL_RESULT, ToolList, ToolView};

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
                schema: text(1, 64, TextFormat::Line),
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
                content: Content::Json(ToolList::SCHEMA),
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
                content: Content::Json(ToolView::SCHEMA),
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
        body: Some(Body { schema: Schema::Object(&CALL_TOOL), most: MOST_ARGUMENTS }),
        answers: &[Answer {
            status: 200,
            doc: "The tool's result, with `metadata`.",
            content: Content::Json(Schema::Object(&TOOL_RESULT)),
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
