//! `Api`: answers requests for `/api/v1`, `/metrics` and OAuth metadata. It checks the token before it
//! looks at anything else of a request.

mod admit;
mod events;
pub(super) mod figures;
mod inside;
pub(super) mod keys;
pub(super) mod logins;
mod metadata;
pub(super) mod search;
pub(super) mod secrets;
pub(super) mod servers;
pub(super) mod skills;
pub(super) mod tools;

use std::net::SocketAddr;

use trunkline_gateway::{Attachment, WebReply, WebVisit};

pub use self::inside::Inside;
use super::answer::Answer;
use super::input::{MOST_ARGUMENTS, MOST_BODY};
use super::problem::Problem;
use super::query;
use super::request::Asked;
use super::route::Handler;
use super::router::{RouteMatch, find};
use super::routes;
use crate::platform::{Platform, now};

#[derive(Debug, Clone)]
pub struct Api {
    platform: Platform,
}

impl Api {
    pub fn new(platform: Platform) -> Self {
        Self { platform }
    }
}

const METRICS: &str = "/metrics";

impl Attachment for Api {
    fn owns(&self, path: &str) -> bool {
        let is_api = path == METRICS || path == "/api" || path.starts_with("/api/");
        is_api || logins::owns(&self.platform, path) || metadata::of(&self.platform, path).is_some()
    }

    fn body_limit(&self, path: &str) -> usize {
        if path.ends_with("/tools/call") { MOST_ARGUMENTS } else { MOST_BODY }
    }

    fn visit(&self, visit: WebVisit, reply: WebReply) {
        let platform = self.platform.clone();
        self.platform.tasks().spawn(async move { serve(&platform, visit, reply).await });
    }
}

async fn serve(platform: &Platform, visit: WebVisit, reply: WebReply) {
    let path = visit.path().to_owned();
    if let Some(resource) = metadata::of(platform, &path) {
        return metadata::answer(resource, &visit.method, &path).send(reply);
    }
    if logins::owns(platform, &path) {
        return logins::answer(platform, &visit, &path).await.send(reply);
    }
    let found = find(&visit.method, &path);
    let (route, params) = match found {
        RouteMatch::Route { route, params, .. } => (route, params),
        RouteMatch::Options(allowed) => {
            return Answer::empty(204).header("Allow", allowed).send(reply);
        }
        missing => {
            let answer = missing.problem().map(|(problem, allowed)| {
                let answer = Answer::problem(&problem.instance(&path));
                match allowed {
                    Some(allowed) => answer.header("Allow", allowed.to_owned()),
                    None => answer,
                }
            });
            return answer.unwrap_or_else(|| Answer::empty(404)).send(reply);
        }
    };
    let principal = match admit::admitted(platform, route, &params, &visit).await {
        Ok(principal) => principal,
        Err(answer) => return answer.send(reply),
    };
    let address = shown(visit.peer);
    let asked = Asked {
        platform,
        routes: routes::TABLES,
        route,
        params: &params,
        visit: &visit,
        principal,
        address,
    };
    if let Handler::Stream = route.handler {
        return match query::whole(route, visit.query().unwrap_or_default()) {
            Ok(_) => events::stream(&asked, reply).await,
            Err(problem) => Answer::problem(&problem.instance(&path)).send(reply),
        };
    }
    let answer = answer(&asked).await;
    answer.unwrap_or_else(|problem| Answer::problem(&problem.instance(&path))).send(reply);
}

/// Records changes that fail because of the request: a name that is taken, a body with mistakes.
async fn answer(asked: &Asked<'_>) -> Result<Answer, Problem> {
    let answered = dispatch(asked).await;
    if let (Err(problem), Some(action)) = (&answered, asked.route.audit_action())
        && matches!(problem.status(), 409 | 422)
    {
        let detail = format!("{} {}: {}", problem.status(), problem.kind.name(), problem.detail());
        let server = admit::server_in(asked.route, asked.params);
        asked.platform.refused(action, server, &detail, asked.by());
    }
    answered
}

async fn dispatch(asked: &Asked<'_>) -> Result<Answer, Problem> {
    match asked.route.handler {
        Handler::Sync(handler) => handler(asked),
        Handler::Async(handler) => handler(asked).await,
        // `serve` has handed streams to their writer, and the gateway its own routes to itself.
        Handler::Stream | Handler::Gateway => Ok(Answer::empty(404)),
    }
}

fn shown(peer: SocketAddr) -> String {
    peer.ip().to_string()
}

fn seconds() -> u64 {
    u64::try_from(now() / 1000).unwrap_or_default()
}
