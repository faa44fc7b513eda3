//! Who asks, if they may: the credential of a request is checked before anything else of it.

use std::net::SocketAddr;

use trunkline_gateway::{ClientCertificate, WebRequest};

use super::seconds;
use crate::access::{Action, Credential, Principal, Refusal, bearer_of, challenge, decide_with};
use crate::api::answer::ApiResponse;
use crate::api::problem::{Kind, Problem};
use crate::api::request::PathParams;
use crate::api::route::{Access, Method, Route};
use crate::clock::now;
use crate::issuer::IssuerKeys;
use crate::keys::Actor;
use crate::services::{ControlPlane, TOO_MANY_WRONG};

pub(super) async fn admitted(
    plane: &ControlPlane,
    route: &Route,
    params: &PathParams,
    visit: &WebRequest,
) -> Result<Principal, ApiResponse> {
    let decided = match shown(visit) {
        Ok(bearer) => recognised(plane, (bearer, visit.certificate.as_deref())).await,
        Err(refusal) => Err(refusal),
    };
    let principal = decided.and_then(|principal| {
        allowed(plane, (route, params), &principal, visit.peer)?;
        Ok(plane.within_policies(principal))
    });
    principal.map_err(|refusal| match plane.reject(refusal, visit.peer.ip()) {
        Some(seconds) => {
            let problem = Problem::new(Kind::TooMany, format!("{refusal}, and {TOO_MANY_WRONG}"));
            let answer = ApiResponse::problem(&problem.instance(visit.path()));
            answer.header("Retry-After", seconds.to_string())
        }
        None => refused(plane, refusal, needed(route), visit.path()),
    })
}

/// Who shows this token? What may have changed elsewhere is looked at before anybody is sent away.
pub(super) async fn recognised(
    plane: &ControlPlane,
    shown: (Option<&str>, Option<&ClientCertificate>),
) -> Result<Principal, Refusal> {
    let (bearer, _) = shown;
    let decide = || decide_with(shown, &plane.keys().known(), seconds());
    let mut decided = decide();
    if let (Err(Refusal::NeedsKeys), Some(issuer)) = (&decided, plane.issuer()) {
        issuer.renewed().await;
        decided = decide();
    }
    if decided == Err(Refusal::Unknown) && plane.keys().may_be_new(bearer) {
        plane.keys().look_again().await;
        decided = decide();
    }
    decided
}

/// Could this be somebody who may come in? As far as that can be told without asking anybody.
pub(super) fn sender(plane: &ControlPlane, head: &WebRequest) -> Sender {
    let bearer = shown(head);
    let certificate = head.certificate.as_deref();
    let decided = bearer
        .and_then(|bearer| decide_with((bearer, certificate), &plane.keys().known(), seconds()));
    match decided {
        Ok(_) => Sender::Known,
        Err(Refusal::NeedsKeys) => Sender::Perhaps,
        Err(Refusal::Unknown) if plane.keys().may_be_new(bearer.ok().flatten()) => Sender::Perhaps,
        Err(_) => Sender::Nobody,
    }
}

/// Who sends a request, by its head.
pub(super) enum Sender {
    Known,
    /// The store or the issuer has to be asked.
    Perhaps,
    Nobody,
}

/// May this principal use this route? A refused change is recorded in the audit log.
pub(super) fn allowed(
    plane: &ControlPlane,
    (route, params): (&Route, &PathParams),
    principal: &Principal,
    peer: SocketAddr,
) -> Result<(), Refusal> {
    let needed = needed(route);
    if let Err(refusal) = principal.require(needed) {
        // A call is no change, but who may not call is worth a record.
        let is_change = (route.method != Method::Get).then_some(needed.name());
        if let Some(action) = route.audit_action().or(is_change) {
            let address = peer.ip().to_string();
            let by = Actor { principal, address: Some(&address), request_id: None };
            plane.servers().record_refusal(
                action,
                server_in(route, params),
                &refusal.to_string(),
                by,
            );
        }
        return Err(refusal);
    }
    if plane.policies().shuts_out(principal) {
        return Err(Refusal::ShutOut);
    }
    if let Credential::Key(id) = principal.credential() {
        plane.keys().used(id, now());
    }
    Ok(())
}

/// The id or name of the server that a route is about, if its path names one.
pub(super) fn server_in<'p>(route: &Route, params: &'p PathParams) -> Option<&'p str> {
    params.get("id").filter(|_| route.path.starts_with(ONE_SERVER))
}

const ONE_SERVER: &str = "/api/v1/aggregator/servers/{id}";

fn needed(route: &Route) -> Action {
    match route.access {
        Access::Needs(action) => action,
        // The gateway answers these before a request comes here.
        Access::Open => Action::ReadSelf,
    }
}

fn shown(visit: &WebRequest) -> Result<Option<&str>, Refusal> {
    if visit.headers.all("authorization").nth(1).is_some() {
        return Err(Refusal::Malformed);
    }
    bearer_of(visit.headers.only("authorization"))
}

fn refused(plane: &ControlPlane, refusal: Refusal, needed: Action, path: &str) -> ApiResponse {
    let kind = match refusal.status() {
        403 => Kind::Forbidden,
        503 => Kind::StoreUnavailable,
        _ => Kind::Unauthenticated,
    };
    let problem = Problem::new(kind, refusal.to_string()).instance(path);
    if refusal == Refusal::Stale {
        return ApiResponse::problem(&problem);
    }
    let resource = plane.issuer().map(IssuerKeys::resource);
    let words = challenge(refusal, needed.least_role(), resource);
    ApiResponse::problem(&problem).header("WWW-Authenticate", words)
}
