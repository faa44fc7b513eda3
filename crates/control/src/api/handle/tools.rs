//! Tools of all servers: listed, and called.

use crate::access::Action;
use crate::api::answer::Answer;
use crate::api::input::{CALL_TOOL, CallTool, MOST_ARGUMENTS};
use crate::api::paging::{self, CURSOR, LIMIT, List};
use crate::api::parameters::{ETAG, IF_NONE_MATCH, NOT_MODIFIED, TOOL_ID};
use crate::api::problem::{Kind, Problem};
use crate::api::request::Asked;
use crate::api::route::{Access, Handler, Method, Parameter, Response, Route};
use crate::api::schema::{Schema, TextFormat, text};
use crate::api::view::{TOOL_RESULT, ToolList, ToolView};
use crate::platform::Tagged;

const TAG: &str = "Tools";

pub(in crate::api) const ROUTES: &[Route] = &[
    Route::new(
        "listTools",
        (Method::Get, "/api/v1/tools"),
        Access::Needs(Action::ReadTools),
        Handler::Sync(list),
    )
    .about(
        TAG,
        "List the tools of all servers",
        "Grouped by server: those of connected servers that the token may see. `limit` counts \
         tools, not servers; a server whose tools go on on the next page is on both.",
    )
    .parameters(&[
        Parameter::query(
            "server",
            text(1, 64, TextFormat::Line),
            "Only of the server with this name.",
        ),
        LIMIT,
        CURSOR,
        IF_NONE_MATCH,
    ])
    .answers(&[
        Response::json(200, "A page of tools.", ToolList::SCHEMA).with(&[ETAG]),
        NOT_MODIFIED,
    ])
    .fails(&[Kind::StoreUnavailable]),
    Route::new(
        "getTool",
        (Method::Get, "/api/v1/tools/{id}"),
        Access::Needs(Action::ReadTools),
        Handler::Sync(one),
    )
    .about(
        TAG,
        "See one tool",
        "As in the list, and with its `server`. A tool of a server that is not connected, or that \
         the token may not see, is not there.",
    )
    .parameters(&[TOOL_ID, IF_NONE_MATCH])
    .answers(&[Response::json(200, "The tool.", ToolView::SCHEMA).with(&[ETAG]), NOT_MODIFIED])
    .fails(&[Kind::NoSuchTool]),
    Route::new(
        "callTool",
        (Method::Post, "/api/v1/tools/call"),
        Access::Needs(Action::CallTool),
        Handler::Async(|asked| Box::pin(call(asked))),
    )
    .about(
        TAG,
        "Call a tool",
        "By `server.tool`, or by the tool's own name and `server_id`. The arguments reach the \
         server as they were sent, to the byte, and so does its result come back. A tool that \
         fails says so in its result (`isError`); a server that refuses the call is a problem of \
         status 502 that holds its error. A tool that the token may not see is not there (404).",
    )
    .large_body(Schema::Object(&CALL_TOOL), MOST_ARGUMENTS)
    .answers(&[Response::json(
        200,
        "The tool's result, with `metadata`.",
        Schema::Object(&TOOL_RESULT),
    )])
    .fails(&[
        Kind::NoSuchServer,
        Kind::NoSuchTool,
        Kind::ServerError,
        Kind::BadAnswer,
        Kind::ServerUnavailable,
        Kind::Timeout,
    ])
    .not_audited(),
];

fn list(asked: &Asked<'_>) -> Result<Answer, Problem> {
    let (query, page) = paging::query(asked.route, asked.raw_query(), List::Tools)?;
    let server = query.text("server");
    Ok(tagged(asked.platform.tools(server, &asked.principal, &page, |tag| asked.has(tag))))
}

pub(super) fn of_server(asked: &Asked<'_>) -> Result<Answer, Problem> {
    let (_, page) = paging::query(asked.route, asked.raw_query(), List::Tools)?;
    asked.platform.must_see(asked.id(), &asked.principal)?;
    let grants = asked.principal.grants();
    Ok(tagged(asked.platform.tools_of(asked.id(), grants, &page, |tag| asked.has(tag))?))
}

fn one(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let shown = asked.platform.one_tool(asked.id(), asked.principal.grants())?;
    Ok(asked.cached(Answer::json_bytes(200, shown)))
}

fn tagged(page: Tagged) -> Answer {
    let answer = match page.body {
        Some(body) => Answer::json_bytes(200, body),
        None => Answer::empty(304),
    };
    answer.header("ETag", page.tag)
}

async fn call(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let body = asked.body();
    let call = CallTool::read(&body)?;
    let parent = asked.visit.headers.get("traceparent");
    let parent = parent.and_then(|parent| std::str::from_utf8(parent).ok());
    let called = asked.platform.call(&call, asked.by(), parent).await?;
    Ok(Answer::json_bytes(200, called.0))
}
