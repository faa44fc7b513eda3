//! Servers: registered, listed, changed, removed, connected, disconnected, and how they do.

use super::Asked;
use super::answer::Answer;
use crate::api::input::RegisterServer;
use crate::api::paging::{self, List, cursor};
use crate::api::problem::Problem;
use crate::api::view::{Connecting, Disconnected, ServerList, Status};
use crate::api::{PREFIX, etag};

pub(super) async fn register(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let new = RegisterServer::read(&asked.body())?;
    let shown = asked.platform.register(new, asked.by()).await?;
    let id = shown.json.get("id").and_then(|id| id.as_str()).unwrap_or_default();
    let place = format!("{PREFIX}/aggregator/servers/{id}");
    let answer = Answer::json(201, &shown.json);
    let tag = etag::tag(shown.revision, answer.body());
    Ok(answer.header("ETag", tag).header("Location", place))
}

pub(super) fn list(asked: &Asked<'_>) -> Result<Answer, Problem> {
    let (_, page) = paging::query(asked.route, asked.raw_query(), List::Servers)?;
    let (mut servers, total) =
        asked.platform.servers(page.after.as_deref(), page.limit + 1, &asked.principal);
    let more = servers.len() > page.limit;
    servers.truncate(page.limit);
    let next = servers.last().filter(|_| more).map(|(place, _)| cursor(List::Servers, place));
    let servers = servers.into_iter().map(|(_, json)| json).collect();
    let list = ServerList { servers, total, next_cursor: next };
    Ok(asked.cached(Answer::json(200, &list.json())))
}

pub(super) fn get(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    asked.platform.must_see(asked.id(), &asked.principal)?;
    let shown = asked.platform.server(asked.id(), &asked.principal)?;
    let answer = Answer::json(200, &shown.json);
    let tag = etag::tag(shown.revision, answer.body());
    Ok(asked.tagged(answer, tag))
}

pub(super) async fn patch(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let (body, if_match) = (asked.body(), asked.if_match());
    let shown = asked.platform.patch(asked.id(), &body, if_match, asked.by()).await?;
    let answer = Answer::json(200, &shown.json);
    let tag = etag::tag(shown.revision, answer.body());
    Ok(answer.header("ETag", tag))
}

pub(super) async fn delete(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    asked.platform.delete(asked.id(), asked.if_match(), asked.by()).await?;
    Ok(Answer::empty(204))
}

pub(super) async fn connect(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let is_there = asked.platform.connect(asked.id(), asked.by()).await?;
    Ok(Answer::json(202, &if is_there { Connecting::ALREADY } else { Connecting::BEGUN }.json()))
}

pub(super) async fn disconnect(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let pending = asked.platform.disconnect(asked.id(), asked.by()).await?;
    Ok(Answer::json(
        200,
        &Disconnected { status: Status::Disconnected, pending_requests: pending }.json(),
    ))
}

pub(super) async fn health(asked: &Asked<'_>) -> Result<Answer, Problem> {
    let (_, page) = paging::query(asked.route, asked.raw_query(), List::Health)?;
    asked.platform.must_see(asked.id(), &asked.principal)?;
    let report = asked.platform.health(asked.id(), page.limit).await?;
    Ok(Answer::json(200, &report))
}
