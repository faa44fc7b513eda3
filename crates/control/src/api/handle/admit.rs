//! Who asks, if they may: the credential of a request is checked before anything else of it.

use trunkline_gateway::WebVisit;

use super::answer::Answer;
use super::seconds;
use crate::access::{Action, Credential, Principal, Refusal, bearer_of, challenge, decide};
use crate::api::problem::{Kind, Problem};
use crate::api::route::{Access, Method, Route};
use crate::issuer::IssuerKeys;
use crate::keys::By;
use crate::platform::{Platform, now};

pub(super) async fn admitted(
    platform: &Platform,
    route: &Route,
    visit: &WebVisit,
) -> Result<Principal, Answer> {
    let needed = match route.access {
        Access::Needs(action) => action,
        // Those are the gateway's own; whoever comes here has mistaken them.
        Access::Open => Action::ReadSelf,
    };
    let mut decided = decide_by(platform, visit);
    if let (Err(Refusal::NeedsKeys), Some(issuer)) = (&decided, platform.issuer()) {
        issuer.renewed().await;
        decided = decide_by(platform, visit);
    }
    let bearer = || bearer_of(visit.headers.only("authorization")).ok().flatten();
    if decided == Err(Refusal::Unknown) && platform.keys().may_be_new(bearer()) {
        platform.keys().look_again().await;
        decided = decide_by(platform, visit);
    }
    if let Ok(principal) = &decided
        && let Err(refusal) = principal.require(needed)
        && route.method != Method::Get
    {
        let address = visit.peer.ip().to_string();
        let by = By { principal, address: Some(&address), request_id: None };
        platform.refused(needed, &refusal.to_string(), by);
    }
    let principal = decided.and_then(|principal| principal.require(needed).map(|()| principal));
    if let Ok(principal) = &principal
        && let Credential::Key(id) = principal.credential()
    {
        platform.keys().used(id, now());
    }
    principal.map_err(|refusal| {
        platform.stranger(refusal, visit.peer.ip());
        refused(platform, refusal, needed, visit.path())
    })
}

fn decide_by(platform: &Platform, visit: &WebVisit) -> Result<Principal, Refusal> {
    if visit.headers.all("authorization").nth(1).is_some() {
        return Err(Refusal::Malformed);
    }
    let bearer = bearer_of(visit.headers.only("authorization"))?;
    decide(bearer, &platform.keys().known(), seconds())
}

fn refused(platform: &Platform, refusal: Refusal, needed: Action, path: &str) -> Answer {
    let kind = if refusal.status() == 403 { Kind::Forbidden } else { Kind::Unauthenticated };
    let problem = Problem::new(kind, refusal.to_string()).instance(path);
    let resource = platform.issuer().map(IssuerKeys::resource);
    let words = challenge(refusal, needed.least_role(), resource);
    Answer::problem(&problem).header("WWW-Authenticate", words)
}
