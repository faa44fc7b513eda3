//! `KeyGate`: who may speak MCP, by the same credentials as over REST.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use sha2::{Digest as _, Sha256};
use trunkline_gateway::{Admission, Asking, Decision, Denied, Gate, Grant, Pass};

use super::clock;
use crate::access::{Action, Credential, Grants, Principal, Refusal, bearer_of, challenge, decide};
use crate::issuer::IssuerKeys;
use crate::keys::Keyholder;

#[derive(Debug, Clone)]
pub struct KeyGate {
    keys: Arc<Keyholder>,
    issuer: Option<Arc<IssuerKeys>>,
}

impl super::Platform {
    pub fn gate(&self) -> KeyGate {
        KeyGate::new(Arc::clone(&self.0.keys), self.0.issuer.clone())
    }
}

impl KeyGate {
    pub(crate) fn new(keys: Arc<Keyholder>, issuer: Option<Arc<IssuerKeys>>) -> Self {
        Self { keys, issuer }
    }

    fn decide(&self, authorization: Option<&[u8]>) -> Result<Principal, Refusal> {
        let known = self.keys.known();
        let principal = decide(bearer_of(authorization)?, &known, clock::seconds())?;
        principal.require(Action::UseMcp)?;
        if let Credential::Key(id) = principal.credential() {
            self.keys.used(id, clock::now());
        }
        Ok(principal)
    }

    fn told(&self, decided: Result<Principal, Refusal>) -> Decision {
        let resource = self.issuer.as_deref().map(IssuerKeys::resource);
        decided.map(|principal| pass(&principal)).map_err(|refusal| Denied {
            status: refusal.status(),
            challenge: Some(challenge(refusal, Action::UseMcp.least_role(), resource)),
            message: refusal.to_string(),
        })
    }
}

impl Gate for KeyGate {
    fn admit(&self, asking: &Asking<'_>) -> Admission {
        let decided = self.decide(asking.authorization);
        let issuer = match decided {
            Err(Refusal::NeedsKeys) => self.issuer.clone().filter(|issuer| issuer.may_come()),
            _ => None,
        };
        let Some(issuer) = issuer else { return Admission::Now(self.told(decided)) };
        let (gate, shown) = (self.clone(), asking.authorization.map(<[u8]>::to_vec));
        Admission::Later(Box::pin(async move {
            issuer.renewed().await;
            gate.told(gate.decide(shown.as_deref()))
        }))
    }

    fn version(&self) -> u64 {
        self.keys.version()
    }

    fn holds(&self, pass: &Pass) -> bool {
        let known = self.keys.known();
        let Some(id) = pass.label.strip_prefix("key:") else { return true };
        let key = known.keys.values().find(|key| key.id.as_str() == id);
        key.is_some_and(|key| {
            let lives = key.revoked_at.is_none();
            let lasts = key.expires_at.is_none_or(|end| end > clock::seconds());
            lives && lasts
        })
    }
}

fn pass(principal: &Principal) -> Arc<Pass> {
    let credential = principal.credential().to_string();
    // An end that no clock can show is none.
    let end = principal.good_until().map(Duration::from_secs);
    Arc::new(Pass {
        who: credential.as_bytes().into(),
        label: credential.as_str().into(),
        grant: limited(principal.grants(), &credential),
        expires: end.and_then(|end| UNIX_EPOCH.checked_add(end)),
    })
}

/// Some tools only.
#[derive(Debug)]
struct Limited {
    grants: Grants,
    id: u64,
}

fn limited(grants: &Grants, credential: &str) -> Option<Arc<dyn Grant>> {
    let Grants::Only(patterns) = grants else { return None };
    let mut sum = Sha256::new().chain_update(credential);
    for pattern in patterns {
        sum.update([0]);
        sum.update(pattern.to_string());
    }
    let id = sum.finalize().iter().take(8).fold(0, |id, byte| id << 8 | u64::from(*byte));
    Some(Arc::new(Limited { grants: grants.clone(), id }))
}

impl Grant for Limited {
    fn allows(&self, server: &str, tool: &str) -> bool {
        self.grants.allows(server, tool)
    }

    fn all_of(&self, server: &str) -> bool {
        self.grants.all_of(server)
    }

    fn id(&self) -> u64 {
        self.id
    }
}
