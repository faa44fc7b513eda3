//! Tools: listed, and called.

use super::Asked;
use super::answer::Answer;
use crate::api::input::CallTool;
use crate::api::paging::{self, List};
use crate::api::problem::{Kind, Problem};
use crate::api::result::{self, Metadata};
use crate::api::{etag, render};
use crate::services::{ToolCallRequest, ToolPage};

pub(super) fn list(asked: &Asked<'_>) -> Result<Answer, Problem> {
    let (query, page) = paging::query(asked.route, asked.raw_query(), List::Tools)?;
    let has = |digest: &[u8]| asked.has(&etag::tag_of(digest));
    let listed = asked.plane.tools().list(query.text("server"), &asked.principal, &page, has);
    Ok(tagged(&listed.digest, listed.page.as_ref().map(render::tool_page)))
}

pub(super) fn of_server(asked: &Asked<'_>) -> Result<Answer, Problem> {
    let (_, page) = paging::query(asked.route, asked.raw_query(), List::Tools)?;
    let has = |digest: &[u8]| asked.has(&etag::tag_of(digest));
    let listed = asked.plane.tools().of_server(asked.id(), &asked.principal, &page, has)?;
    let body = |page: &ToolPage| render::server_tools(page).unwrap_or_default();
    Ok(tagged(&listed.digest, listed.page.as_ref().map(body)))
}

pub(super) fn one(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let group = asked.plane.tools().one(asked.id(), asked.principal.grants())?;
    let missing = || Problem::new(Kind::NoSuchTool, "there is no such tool");
    let body = render::one_tool(&group).ok_or_else(missing)?;
    Ok(asked.cached(Answer::json_bytes(200, body)))
}

/// Without a body, the asker has it already.
fn tagged(digest: &[u8], body: Option<Vec<u8>>) -> Answer {
    let answer = match body {
        Some(body) => Answer::json_bytes(200, body),
        None => Answer::empty(304),
    };
    answer.header("ETag", etag::tag_of(digest))
}

pub(super) async fn call(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let body = asked.body();
    let call = CallTool::read(&body)?;
    let parent = asked.visit.headers.get("traceparent");
    let call = ToolCallRequest {
        name: &call.name,
        server_id: call.server_id.as_deref(),
        arguments: call.arguments,
        traceparent: parent.and_then(|parent| std::str::from_utf8(parent).ok()),
    };
    let answer = asked.plane.tools().call(call, asked.by()).await?;
    let metadata = Metadata {
        routed_to: &answer.routed_to,
        routing_time: answer.routing_time,
        execution_time: answer.execution_time,
    };
    let body = result::answer(&answer.message, &answer.server, &metadata)?;
    Ok(Answer::json_bytes(200, body))
}
