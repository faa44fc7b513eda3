//! What a principal's grants and limits mean for servers and for the data plane.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use trunkline_catalog::config::LimitRules;
use trunkline_catalog::name::escaped;
use trunkline_gateway::{Allowance, Grant, PolicyGrant};

use crate::access::{Credential, Grants, Principal, Role, Rules};
use crate::keys::ApiKeys;
use crate::policies::{GroupsClaim, PolicyHolder};

/// Operators see every server; callers see those with a tool that they may call.
pub(crate) fn sees(asker: &Principal, server: &str) -> bool {
    is_operator(asker) || asker.grants().touches(server)
}

pub(super) fn is_operator(asker: &Principal) -> bool {
    asker.role() >= Role::Operator
}

/// What this one may have at most; `None`: nothing is limited for it.
pub(super) fn allowance(principal: &Principal, keys: &ApiKeys) -> Option<Allowance> {
    let name = escaped(principal.name());
    let (name, rules) = match principal.credential() {
        Credential::Key(id) => {
            let rules = keys.known().keys.get(id).map(|key| key.limits).unwrap_or_default();
            (format!("key `{name}`"), rules)
        }
        Credential::Jwt { .. } => (format!("subject `{name}`"), LimitRules::default()),
        Credential::Person { .. } => (format!("person `{name}`"), LimitRules::default()),
        Credential::Certificate(_) => (format!("certificate `{name}`"), LimitRules::default()),
        Credential::StaticToken => ("the token of --token".to_owned(), LimitRules::default()),
        // Whoever runs this must be able to come in and look while a loop is being stopped.
        Credential::AdminToken | Credential::Open => return None,
    };
    Some(Allowance { name: name.into(), rules })
}

/// Some tools only, in the data plane's terms.
#[derive(Debug)]
struct LimitedGrant {
    grants: Grants,
    id: u64,
}

/// What policies say to whoever comes in where no platform asks who that is.
pub fn unnamed_grant(policies: &Arc<PolicyHolder>, has_token: bool) -> Arc<dyn Grant> {
    let rules = Rules(policies.rules(GroupsClaim::unnamed(has_token)));
    Arc::new(LimitedGrant { grants: Grants::Within(Box::new(Grants::All), rules), id: 0 })
}

/// `None`: all tools. `credential` keeps the lists of different callers apart; an empty one shares them.
pub(super) fn grant_of(grants: &Grants, credential: &str) -> Option<Arc<dyn Grant>> {
    let (patterns, rules) = (grants.patterns(), grants.rules());
    if patterns.is_none() && rules.is_none() {
        return None;
    }
    let mut sum = Sha256::new().chain_update(credential);
    for pattern in patterns.into_iter().flatten() {
        sum.update([0]);
        sum.update(pattern.to_string());
    }
    if let Some(Rules(rules)) = rules {
        // Two bytes: no pattern begins with the second.
        sum.update([0, 1]);
        sum.update(rules.identity());
    }
    let id = sum.finalize().iter().take(8).fold(0, |id, byte| id << 8 | u64::from(*byte));
    Some(Arc::new(LimitedGrant { grants: grants.clone(), id }))
}

impl Grant for LimitedGrant {
    fn allows(&self, server: &str, tool: &str) -> bool {
        self.grants.allows(server, tool)
    }

    fn all_of(&self, server: &str) -> bool {
        self.grants.all_of(server)
    }

    fn id(&self) -> u64 {
        self.id
    }

    fn policies(&self) -> Option<&dyn PolicyGrant> {
        self.grants.rules().map(|Rules(rules)| &**rules as &dyn PolicyGrant)
    }
}
