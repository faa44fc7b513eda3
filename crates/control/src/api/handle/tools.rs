//! Tools: listed, and called.

use super::Asked;
use super::answer::Answer;
use crate::api::input::CallTool;
use crate::api::paging::{self, List};
use crate::api::problem::Problem;
use crate::platform::Tagged;

pub(super) fn list(asked: &Asked<'_>) -> Result<Answer, Problem> {
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

pub(super) fn one(asked: &Asked<'_>) -> Result<Answer, Problem> {
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

pub(super) async fn call(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let body = asked.body();
    let call = CallTool::read(&body)?;
    let parent = asked.visit.headers.get("traceparent");
    let parent = parent.and_then(|parent| std::str::from_utf8(parent).ok());
    let called = asked.platform.call(&call, asked.by(), parent).await?;
    Ok(Answer::json_bytes(200, called.0))
}
