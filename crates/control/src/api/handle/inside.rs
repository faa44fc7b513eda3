//! The API asked from inside this process, for somebody who has been let in already: the same routes,
//! decisions, masks and records as over the network. The dashboard is made of it.

use std::net::SocketAddr;

use trunkline_gateway::WebVisit;

use super::answer::Answer;
use super::{Api, Asked, admit, answer, shown};
use crate::access::{Principal, Refusal};
use crate::api::problem::{Kind, Problem};
use crate::api::route::Operation;
use crate::api::router::{Found, find};
use crate::services::ControlPlane;

/// What came back.
#[derive(Debug, Clone)]
pub struct Inside {
    pub status: u16,
    pub body: Vec<u8>,
    pub etag: Option<String>,
}

impl Api {
    pub fn plane(&self) -> &ControlPlane {
        &self.plane
    }

    /// Who has this token, by the same check as over the network; who guesses is counted.
    pub async fn recognise(&self, token: &str, peer: SocketAddr) -> Result<Principal, Refusal> {
        let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        let decided = match is_token {
            true => admit::recognised(&self.plane, Some(token)).await,
            false => Err(Refusal::Malformed),
        };
        decided.inspect_err(|refusal| self.plane.reject(*refusal, peer.ip()))
    }

    /// Is whoever was let in by this still to be?
    pub fn still_knows(&self, principal: &Principal) -> bool {
        let is_over = principal.good_until().is_some_and(|end| end <= super::seconds());
        let keys = self.plane.keys();
        !is_over && keys.is_good(principal.credential(), crate::clock::now())
    }

    /// Asks for this in the name of somebody. What has no end cannot be asked for this way.
    pub async fn inside(&self, principal: &Principal, visit: &WebVisit) -> Inside {
        let path = visit.path();
        let asked = self.ask_inside(principal, visit).await;
        asked.unwrap_or_else(|problem| Answer::problem(&problem.instance(path))).inside()
    }

    async fn ask_inside(&self, principal: &Principal, visit: &WebVisit) -> Result<Answer, Problem> {
        let Found::Route { route, params, .. } = find(&visit.method, visit.path()) else {
            return Err(Problem::new(Kind::NoSuchPath, "there is nothing at this path"));
        };
        if route.operation == Operation::StreamEvents {
            return Err(Problem::new(
                Kind::WrongMethod,
                "GET /events is a stream: it is not for callers inside the process",
            ));
        }
        admit::allowed(&self.plane, (route, &params), principal, visit.peer)
            .map_err(|refusal| Problem::new(Kind::Forbidden, refusal.to_string()))?;
        answer(&Asked {
            plane: &self.plane,
            route,
            params: &params,
            visit,
            principal: principal.clone(),
            address: shown(visit.peer),
        })
        .await
    }
}
