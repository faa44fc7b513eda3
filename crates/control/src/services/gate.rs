//! `KeyGate`: who may speak MCP, by the same credentials as over REST.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use tokio_util::sync::CancellationToken;
use trunkline_gateway::{
    ANYONE, Admission, Allowance, Asking, ClientCertificate, Decision, Denied, Gate, Pass,
};

use super::activity::RejectedLogins;
use super::grants::{allowance, grant_of};
use crate::access::{
    Action, Credential, KeyId, Principal, Refusal, bearer_of, challenge, decide_with, label,
    read_label,
};
use crate::clock;
use crate::issuer::IssuerKeys;
use crate::keys::ApiKeys;
use crate::policies::PolicyHolder;

#[derive(Debug, Clone)]
pub struct KeyGate {
    pub(super) keys: Arc<ApiKeys>,
    pub(super) issuer: Option<Arc<IssuerKeys>>,
    pub(super) rejected: Arc<RejectedLogins>,
    pub(super) policies: Arc<PolicyHolder>,
    /// Cancelled once what is registered was told to the data plane.
    pub(super) applied: CancellationToken,
}

impl KeyGate {
    fn decide(
        &self,
        (authorization, certificate): (Option<&[u8]>, Option<&ClientCertificate>),
        peer: SocketAddr,
    ) -> Result<Principal, Refusal> {
        let known = self.keys.known();
        // The clock is read once per decision; a token that ends this second is judged by one time.
        let principal =
            decide_with((bearer_of(authorization)?, certificate), &known, clock::seconds())?;
        if let Err(refusal) = principal.require(Action::UseMcp) {
            self.rejected.record_mcp_refusal(&principal, &refusal.to_string(), peer, clock::now());
            return Err(refusal);
        }
        if self.policies.shuts_out(&principal) {
            let refusal = Refusal::ShutOut;
            self.rejected.record_mcp_refusal(&principal, &refusal.to_string(), peer, clock::now());
            return Err(refusal);
        }
        // Noted after the decision: a refused key is not used.
        if let Credential::Key(id) = principal.credential() {
            self.keys.used(id, clock::now());
        }
        Ok(match self.policies.rules_of(&principal) {
            Some(rules) => principal.within(rules),
            None => principal,
        })
    }

    fn told(&self, decided: Result<Principal, Refusal>, peer: SocketAddr) -> Decision {
        decided
            .map(|principal| pass(&principal, allowance(&principal, &self.keys), peer))
            .map_err(|refusal| self.denied(refusal, peer))
    }

    fn denied(&self, refusal: Refusal, peer: SocketAddr) -> Denied {
        // Not a wrong token: nothing is known of it.
        if refusal == Refusal::Stale {
            let message = refusal.to_string();
            return Denied {
                status: 503,
                challenge: None,
                retry_after: Some(STALE_AGAIN),
                message,
            };
        }
        if let Some(seconds) = self.rejected.count_rejected(refusal, peer.ip(), clock::now()) {
            let message = format!("{refusal}, and {TOO_MANY_WRONG}");
            return Denied { status: 429, challenge: None, retry_after: Some(seconds), message };
        }
        let resource = self.issuer.as_deref().map(IssuerKeys::resource);
        Denied {
            // RFC 6750, 3 and RFC 9728, 5.1: a refusal names where the resource's metadata is
            // found.
            status: refusal.status(),
            challenge: Some(challenge(refusal, Action::UseMcp.least_role(), resource)),
            retry_after: None,
            message: match refusal.status() {
                401 => format!("{refusal}: {REMEDY}"),
                _ => refusal.to_string(),
            },
        }
    }
}

/// Seconds after which a caller asks again whose key could not be checked.
const STALE_AGAIN: u64 = 5;

/// The credential of whoever runs this, who is never shut out.
const ADMIN: &str = "admin-token";

/// Why even a refusal has to be waited for.
pub(crate) const TOO_MANY_WRONG: &str =
    "too many wrong tokens came from this address within a minute; a right one is taken at once";

/// What somebody does who is not let in.
const REMEDY: &str = "send `Authorization: Bearer KEY` with an API key (an admin makes one in the dashboard, Clients & \
     keys, or with POST /api/v1/keys), the admin token, an access token of the issuer, \
     or a client's certificate where those are taken";

impl Gate for KeyGate {
    fn admit(&self, asking: &Asking<'_>) -> Admission {
        let shown = (asking.authorization, asking.certificate.map(|shown| &**shown));
        let decided = self.decide(shown, asking.peer);
        let bearer = || bearer_of(asking.authorization).ok().flatten();
        // Another replica may have made the key a moment ago: the store is asked before it is refused.
        if decided == Err(Refusal::Unknown) && self.keys.may_be_new(bearer()) {
            // Owned copies: the answer outlives the request that asked.
            let (gate, shown) = (self.clone(), asking.authorization.map(<[u8]>::to_vec));
            let peer = asking.peer;
            return Admission::Later(Box::pin(async move {
                gate.keys.look_again().await;
                gate.told(gate.decide((shown.as_deref(), None), peer), peer)
            }));
        }
        if decided != Err(Refusal::NeedsKeys) {
            return Admission::Now(self.told(decided, asking.peer));
        }
        let Some(issuer) = self.issuer.clone().filter(|issuer| issuer.may_come()) else {
            // Keys may have come since the first decision: a fetch hands them over before it ends.
            return Admission::Now(self.told(self.decide(shown, asking.peer), asking.peer));
        };
        // The issuer may have rotated its keys: they are fetched once before the token is refused.
        let (gate, shown) = (self.clone(), asking.authorization.map(<[u8]>::to_vec));
        let peer = asking.peer;
        Admission::Later(Box::pin(async move {
            // At most one fetch is under way, whoever waits for it: a forged `kid` must not become
            // a flood.
            issuer.renewed().await;
            gate.told(gate.decide((shown.as_deref(), None), peer), peer)
        }))
    }

    fn version(&self) -> u64 {
        // Both only grow, so that their sum changes with either.
        self.keys.version().wrapping_add(self.policies.version())
    }

    fn holds(&self, pass: &Pass) -> bool {
        let (credential, _) = read_label(&pass.label);
        let policies = pass.grant.as_ref().and_then(|grant| grant.policies());
        let is_out = match policies {
            // It came in before there were policies: it sees what it may not see any more.
            None => self.policies.is_active(),
            Some(policies) => *credential != *ADMIN && policies.shuts_out(),
        };
        if is_out {
            return false;
        }
        if *pass.who == *ANYONE {
            return self.keys.is_open();
        }
        // Tokens of an issuer are revoked by policies only; their end is in the pass itself.
        let Some(id) = credential.strip_prefix("key:") else { return true };
        KeyId::read(id).is_some_and(|id| self.keys.is_good(&Credential::Key(id), clock::now()))
    }

    /// With another key than the store's, or with a store that is silent, no API key can be checked. Before the store
    /// was read, what is registered is not listed.
    fn trouble(&self) -> Option<&'static str> {
        match self.keys.is_locked() {
            true => Some("locked"),
            false if self.keys.is_stale() => Some("degraded"),
            false => (!self.applied.is_cancelled()).then_some("starting"),
        }
    }
}

fn pass(principal: &Principal, allowance: Option<Allowance>, peer: SocketAddr) -> Arc<Pass> {
    let credential = principal.credential().to_string();
    // An end that no clock can show is none.
    let end = principal.good_until().map(Duration::from_secs);
    Arc::new(Pass {
        who: match principal.credential() {
            // Callers without a token cannot be told apart: for attribution they are one.
            Credential::Open => ANYONE.into(),
            _ => credential.as_bytes().into(),
        },
        label: label(&credential, &peer.ip().to_string()),
        grant: grant_of(principal.grants(), &credential),
        expires: end.and_then(|end| UNIX_EPOCH.checked_add(end)),
        allowance,
    })
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use serde_json::json;
    use tokio::task::JoinSet;
    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::access::tests::{claims, header};
    use crate::audit::{Audit, AuditBounds, AuditPlaces};
    use crate::issuer::tests::{OAUTH, World};
    use crate::scratch::Folder;

    /// A good token by the clock of the wall.
    fn fresh(world: &World, kid: &str, subject: &str) -> (String, u64) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let other =
            json!({"iss": world.fake.url(""), "sub": subject, "exp": now + 300, "iat": now});
        let token = world.signer.sign("EdDSA", &header("EdDSA", kid, &json!({})), &claims(&other));
        (token, now + 300)
    }

    fn shown(gate: &KeyGate, token: &str) -> Admission {
        let words = format!("Bearer {token}");
        let peer = ([127, 0, 0, 1], 9).into();
        gate.admit(&Asking {
            authorization: Some(words.as_bytes()),
            certificate: None,
            path: "/mcp",
            peer,
        })
    }

    fn at_once(admission: Admission) -> Decision {
        match admission {
            Admission::Now(decision) => decision,
            Admission::Later(_) => panic!("it waits"),
        }
    }

    #[tokio::test]
    async fn the_gate_waits_for_keys_and_a_pass_is_as_good_as_its_token() {
        let world = World::described_at(OAUTH).await;
        let (keys, mut tasks) = (world.keys(None), JoinSet::new());
        let gate = KeyGate {
            keys: Arc::clone(&world.holder),
            issuer: Some(Arc::clone(&keys)),
            policies: Arc::default(),
            rejected: Arc::new(RejectedLogins::new(Audit::start(
                Arc::new(Folder::new().store().await),
                AuditBounds::default(),
                AuditPlaces::default(),
                &TaskTracker::new(),
            ))),
            applied: CancellationToken::new(),
        };
        let (token, end) = fresh(&world, "ed", "alice");
        let Admission::Later(later) = shown(&gate, &token) else { panic!("keys are not here yet") };
        let running = Arc::clone(&keys);
        tasks.spawn(async move { running.run(CancellationToken::new()).await });
        let pass = later.await.unwrap();
        let who = format!("jwt:{}#alice", world.fake.url(""));
        assert_eq!(&*pass.who, who.as_bytes());
        assert_eq!(read_label(&pass.label), (who.as_str(), Some("127.0.0.1")));
        assert_eq!(pass.expires, Some(UNIX_EPOCH + Duration::from_secs(end + 60)));
        assert!(gate.holds(&pass) && at_once(shown(&gate, &token)).is_ok());

        let other = at_once(shown(&gate, &fresh(&world, "ed", "bob").0)).unwrap();
        assert_ne!(other.who, pass.who);
        let denied = at_once(shown(&gate, &fresh(&world, "unknown", "alice").0)).unwrap_err();
        assert_eq!(denied.status, 401);
        let metadata = "https://tools.example.com/.well-known/oauth-protected-resource/mcp";
        let expected = format!(
            r#"Bearer realm="trunkline", error="invalid_token", resource_metadata="{metadata}""#
        );
        assert_eq!(denied.challenge, Some(expected));
        tasks.shutdown().await;
    }
}
