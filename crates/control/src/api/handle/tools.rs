//! Tools of all servers: listed, and called.
use crate::access::Action;
use crate::api::answer::ApiResponse;
use crate::api::input::{CALL_TOOL, CallTool, MOST_ARGUMENTS};
use crate::api::paging::{self, CURSOR, LIMIT, List};
use crate::api::parameters::{ETAG, IF_NONE_MATCH, NOT_MODIFIED, TOOL_ID};
use crate::api::problem::{Kind, Problem};
use crate::api::request::ApiRequest;
use crate::api::result::{self, Metadata};
use crate::api::route::{Access, Handler, Method, Parameter, Response, Route};
use crate::api::schema::{Schema, TextFormat, text};
use crate::api::view::{TOOL_RESULT, ToolList, ToolView};
use crate::api::{etag, render};
use crate::services::{KeyedCallClaim, ToolCallRequest, ToolPage};

use super::idempotency;

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
        "Actor `server.tool`, or by the tool's own name and `server_id`. The arguments reach the \
         server as they were sent, to the byte, and so does its result come back. A tool that \
         fails says so in its result (`isError`); a server that refuses the call is a problem of \
         status 502 that holds its error. A tool that the token may not see is not there (404).",
    )
    .abandonable()
    .parameters(&[idempotency::KEY])
    .large_body(Schema::Object(&CALL_TOOL), MOST_ARGUMENTS)
    .answers(&[Response::json(
        200,
        "The tool's result, with `metadata`.",
        Schema::Object(&TOOL_RESULT),
    )
    .with(&[idempotency::REPLAYED])])
    .fails(&[
        Kind::NoSuchServer,
        Kind::NoSuchTool,
        Kind::BadHeader,
        Kind::KeyInUse,
        Kind::OutcomeUnknown,
        Kind::AnswerNotKept,
        Kind::KeyReused,
        Kind::StoreUnavailable,
        Kind::ServerError,
        Kind::BadAnswer,
        Kind::ServerUnavailable,
        Kind::Timeout,
    ])
    .not_audited(),
];

fn list(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    let (query, page) = paging::query(asked.route, asked.raw_query(), List::TOOLS)?;
    let has = |digest: &[u8]| asked.has(&etag::tag_of(digest));
    let listed = asked.plane.tools().list(query.text("server"), &asked.principal, &page, has);
    Ok(tagged(&listed.digest, listed.page.as_ref().map(render::tool_page)))
}

pub(super) fn of_server(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    let (_, page) = paging::query(asked.route, asked.raw_query(), List::TOOLS)?;
    let has = |digest: &[u8]| asked.has(&etag::tag_of(digest));
    let listed = asked.plane.tools().of_server(asked.id(), &asked.principal, &page, has)?;
    let body = |page: &ToolPage| render::server_tools(page).unwrap_or_default();
    Ok(tagged(&listed.digest, listed.page.as_ref().map(body)))
}

fn one(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let group = asked.plane.tools().one(asked.id(), asked.principal.grants())?;
    let missing = || Problem::new(Kind::NoSuchTool, "there is no such tool");
    let body = render::one_tool(&group).ok_or_else(missing)?;
    Ok(asked.cached(ApiResponse::json_bytes(200, body)))
}

/// Without a body, the asker has it already.
fn tagged(digest: &[u8], body: Option<Vec<u8>>) -> ApiResponse {
    let answer = match body {
        Some(body) => ApiResponse::json_bytes(200, body),
        None => ApiResponse::empty(304),
    };
    answer.header("ETag", etag::tag_of(digest))
}

async fn call(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let body = asked.body();
    let call = CallTool::read(&body)?;
    let parent = asked.visit.headers.get("traceparent");
    let call = ToolCallRequest {
        name: &call.name,
        server_id: call.server_id.as_deref(),
        arguments: call.arguments,
        traceparent: parent.and_then(|parent| std::str::from_utf8(parent).ok()),
        connection: &asked.visit.connection,
    };
    let Some(key) = idempotency::key_of(asked)? else { return call_once(asked, call).await };
    match asked.plane.tools().claim(call, key, asked.by()).await? {
        KeyedCallClaim::Answered(answer) => {
            // It costs no server anything, but its caller a call.
            let tools = asked.plane.tools();
            let counted = tools.count_request(&asked.visit.connection, &asked.principal)?;
            let answer = idempotency::again(answer);
            counted.iter().for_each(|counted| counted.charge(answer.body().len()));
            Ok(answer)
        }
        KeyedCallClaim::Run(mut ticket) => {
            ticket.note_gone_out();
            let answer = call_once(asked, call).await;
            ticket.settle(idempotency::outcome(&answer, asked.visit.path()));
            answer
        }
    }
}

async fn call_once(
    asked: &ApiRequest<'_>,
    call: ToolCallRequest<'_>,
) -> Result<ApiResponse, Problem> {
    let answer = asked.plane.tools().call(call, asked.by()).await?;
    let metadata = Metadata {
        routed_to: &answer.routed_to,
        routing_time: answer.routing_time,
        execution_time: answer.execution_time,
    };
    let body = result::answer(&answer.message, &answer.server, &metadata)?;
    Ok(ApiResponse::json_bytes(200, body))
}
