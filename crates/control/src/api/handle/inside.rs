//! The API for callers in this process: the dashboard. Requests take the same routes, access decisions,
//! masks and audit records as over the network.

use std::net::SocketAddr;

use trunkline_gateway::WebVisit;

use super::{Api, admit, answer, shown};
use crate::access::{Principal, Refusal};
use crate::api::answer::Answer;
use crate::api::problem::{Kind, Problem};
use crate::api::request::Asked;
use crate::api::route::Handler;
use crate::api::router::{RouteMatch, find};
use crate::api::routes;
use crate::platform::Platform;

/// What came back.
#[derive(Debug, Clone)]
pub struct Inside {
    pub status: u16,
    pub body: Vec<u8>,
    pub etag: Option<String>,
}

impl From<Answer> for Inside {
    fn from(Answer { status, headers, body }: Answer) -> Self {
        let etag = headers.into_iter().find(|(name, _)| *name == "ETag").map(|(_, value)| value);
        Self { status, body, etag }
    }
}

impl Api {
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// Who has this token, by the same check as over the network; who guesses is counted.
    pub async fn recognise(&self, token: &str, peer: SocketAddr) -> Result<Principal, Refusal> {
        let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        let decided = match is_token {
            true => admit::recognised(&self.platform, Some(token)).await,
            false => Err(Refusal::Malformed),
        };
        decided.inspect_err(|refusal| self.platform.stranger(*refusal, peer.ip()))
    }

    /// Is the credential of this principal still valid?
    pub fn still_knows(&self, principal: &Principal) -> bool {
        let is_over = principal.good_until().is_some_and(|end| end <= super::seconds());
        let keys = self.platform.keys();
        !is_over && keys.is_good(principal.credential(), crate::platform::now())
    }

    /// Makes a request as this principal. Event streams are refused: they have no end.
    pub async fn inside(&self, principal: &Principal, visit: &WebVisit) -> Inside {
        let path = visit.path();
        let asked = self.ask_inside(principal, visit).await;
        asked.unwrap_or_else(|problem| Answer::problem(&problem.instance(path))).into()
    }

    async fn ask_inside(&self, principal: &Principal, visit: &WebVisit) -> Result<Answer, Problem> {
        let RouteMatch::Route { route, params, .. } = find(&visit.method, visit.path()) else {
            return Err(Problem::new(Kind::NoSuchPath, "there is nothing at this path"));
        };
        if let Handler::Stream = route.handler {
            return Err(Problem::new(
                Kind::WrongMethod,
                "an event stream has no end: ask for it over HTTP",
            ));
        }
        admit::allowed(&self.platform, (route, &params), principal, visit.peer)
            .map_err(|refusal| Problem::new(Kind::Forbidden, refusal.to_string()))?;
        answer(&Asked {
            platform: &self.platform,
            routes: routes::TABLES,
            route,
            params: &params,
            visit,
            principal: principal.clone(),
            address: shown(visit.peer),
        })
        .await
    }
}
