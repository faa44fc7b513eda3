//! `CallRules`: which calls policies refuse, and which they want to look at. Decided once, when a view is made, so
//! that a call costs a look at a table that is mostly empty.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;
use trunkline_catalog::{Listing, Route};

use crate::gate::Grant;
use crate::policy::{
    PolicyGrant, PolicyRefusal, PolicyTarget, PolicyVerdict, PreparedCall, RequestFacts,
};

#[derive(Debug, Default)]
pub(crate) struct CallRules {
    /// The one that has policies.
    grant: Option<Arc<dyn Grant>>,
    /// By the servers' places, then by the tools' names as their servers spell them; a tool that may always be
    /// called is not there.
    rules: Vec<Option<ServerRules>>,
}

type ServerRules = HashMap<Box<[u8]>, CallRule, RandomState>;

/// What policies say about the calls of a tool.
#[derive(Debug)]
pub(crate) enum CallRule {
    Refused(Arc<PolicyRefusal>),
    /// Each call has to be decided.
    Depends(CallDecision),
}

/// What decides about each call of a tool. It is prepared at the first one: most tools are never called.
#[derive(Debug, Default)]
pub(crate) struct CallDecision {
    prepared: OnceLock<Option<Arc<dyn PreparedCall>>>,
}

impl CallDecision {
    /// `prepare`: makes what decides, once.
    pub(crate) fn decide(
        &self,
        request: &RequestFacts<'_>,
        prepare: impl FnOnce() -> Option<Arc<dyn PreparedCall>>,
    ) -> Option<Result<(), Arc<PolicyRefusal>>> {
        self.prepared.get_or_init(prepare).as_ref()?.decide(request)
    }
}

impl CallRules {
    /// For the tools that these servers list.
    pub(super) fn of<'a>(
        grant: Option<&Arc<dyn Grant>>,
        servers: impl Iterator<Item = (&'a Arc<str>, &'a Option<Arc<Listing>>)>,
    ) -> Self {
        let Some(grant) = grant.filter(|grant| grant.policies().is_some()) else {
            return Self::default();
        };
        let rules =
            servers.map(|(server, listing)| of_server(&**grant, server, listing.as_deref()?));
        Self { rules: rules.collect(), grant: Some(Arc::clone(grant)) }
    }

    pub(super) fn get(&self, tool: &Route) -> Option<&CallRule> {
        self.rules.get(tool.server)?.as_ref()?.get(&tool.name_token)
    }

    pub(super) fn policies(&self) -> Option<&dyn PolicyGrant> {
        self.grant.as_ref()?.policies()
    }
}

fn of_server(grant: &dyn Grant, server: &str, listing: &Listing) -> Option<ServerRules> {
    let policies = grant.policies()?;
    let mut rules = ServerRules::default();
    for entry in listing.tools().iter().filter(|entry| grant.allows(server, &entry.name)) {
        let rule = match policies.verdict(PolicyTarget::Tool { server, tool: &entry.name }) {
            PolicyVerdict::Allowed => continue,
            PolicyVerdict::Refused(refusal) => CallRule::Refused(refusal),
            PolicyVerdict::Depends => CallRule::Depends(CallDecision::default()),
        };
        rules.insert(entry.name_token().into(), rule);
    }
    (!rules.is_empty()).then_some(rules)
}
