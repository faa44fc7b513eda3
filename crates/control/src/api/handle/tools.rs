//! Tools: listed, and called.

use super::Asked;
use super::answer::Answer;
use crate::api::input::CallTool;
use crate::api::paging::{self, List};
use crate::api::problem::Problem;

pub(super) fn list(asked: &Asked<'_>) -> Result<Answer, Problem> {
    let (query, page) = paging::query(asked.route, asked.raw_query(), List::Tools)?;
    let body = asked.platform.tools(query.text("server"), &asked.principal, &page);
    Ok(asked.cached(Answer::json_bytes(200, body)))
}

pub(super) fn of_server(asked: &Asked<'_>) -> Result<Answer, Problem> {
    let (_, page) = paging::query(asked.route, asked.raw_query(), List::Tools)?;
    asked.platform.must_see(asked.id(), &asked.principal)?;
    let body = asked.platform.tools_of(asked.id(), asked.principal.grants(), &page)?;
    Ok(asked.cached(Answer::json_bytes(200, body)))
}

pub(super) async fn call(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let body = asked.body();
    let call = CallTool::read(&body)?;
    let parent = asked.visit.headers.get("traceparent");
    let parent = parent.and_then(|parent| std::str::from_utf8(parent).ok());
    let called = asked.platform.call(&call, asked.by(), parent).await?;
    Ok(Answer::json_bytes(200, called.0))
}
