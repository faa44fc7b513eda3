//! The API for callers in this process: the dashboard. Requests take the same routes, access decisions,
//! masks and audit records as over the network.

use std::net::SocketAddr;

use trunkline_gateway::WebRequest;

use super::{Api, TABLES, admit, answer, shown};
use crate::access::{Principal, Refusal};
use crate::api::answer::ApiResponse;
use crate::api::problem::{Kind, Problem};
use crate::api::request::ApiRequest;
use crate::api::route::Handler;
use crate::api::router::{RouteMatch, find};
use crate::services::ControlPlane;

/// What came back.
#[derive(Debug, Clone)]
pub struct Inside {
    pub status: u16,
    pub body: Vec<u8>,
    pub etag: Option<String>,
}

/// Why a token lets nobody in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotRecognised {
    pub refusal: Refusal,
    /// Seconds to wait, where too many wrong tokens came from the address.
    pub wait: Option<u64>,
}

impl From<ApiResponse> for Inside {
    fn from(ApiResponse { status, headers, body }: ApiResponse) -> Self {
        let etag = headers.into_iter().find(|(name, _)| *name == "ETag").map(|(_, value)| value);
        Self { status, body, etag }
    }
}

impl Api {
    pub fn plane(&self) -> &ControlPlane {
        &self.plane
    }

    /// Who has this token, by the same check as over the network; who guesses is counted.
    pub async fn recognise(
        &self,
        token: &str,
        peer: SocketAddr,
    ) -> Result<Principal, NotRecognised> {
        let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        let decided = match is_token {
            true => admit::recognised(&self.plane, (Some(token), None)).await,
            false => Err(Refusal::Malformed),
        };
        decided.map_err(|refusal| {
            let wait = self.plane.reject(refusal, peer.ip());
            NotRecognised { refusal, wait }
        })
    }

    /// Is the credential of this principal still valid?
    pub fn still_knows(&self, principal: &Principal) -> bool {
        let is_over = principal.good_until().is_some_and(|end| end <= super::seconds());
        let keys = self.plane.keys();
        let is_out = || self.plane.policies().shuts_out(principal);
        !is_over && keys.is_good(principal.credential(), crate::clock::now()) && !is_out()
    }

    /// Makes a request as this principal. Event streams are refused: they have no end.
    pub async fn inside(&self, principal: &Principal, visit: &WebRequest) -> Inside {
        let path = visit.path();
        let asked = self.ask_inside(principal, visit).await;
        asked.unwrap_or_else(|problem| ApiResponse::problem(&problem.instance(path))).into()
    }

    async fn ask_inside(
        &self,
        principal: &Principal,
        visit: &WebRequest,
    ) -> Result<ApiResponse, Problem> {
        let RouteMatch::Route { route, params, .. } = find(&visit.method, visit.path()) else {
            return Err(Problem::new(Kind::NoSuchPath, "there is nothing at this path"));
        };
        if let Handler::Stream = route.handler {
            return Err(Problem::new(
                Kind::WrongMethod,
                "an event stream has no end: ask for it over HTTP",
            ));
        }
        admit::allowed(&self.plane, (route, &params), principal, visit.peer)
            .map_err(|refusal| Problem::new(Kind::Forbidden, refusal.to_string()))?;
        answer(&ApiRequest {
            plane: &self.plane,
            routes: TABLES,
            route,
            params: &params,
            visit,
            principal: self.plane.within_policies(principal.clone()),
            address: shown(visit.peer),
        })
        .await
    }
}
