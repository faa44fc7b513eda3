//! `ServerMeters`: what all callers together use of one server, and of each of its tools that has limits.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use trunkline_catalog::Listing;
use trunkline_catalog::config::{LimitRules, ToolLimits, fits};

use super::meter::Meter;
use crate::lock::{Mutex, rank};

/// Of all processes and connections of a server.
#[derive(Debug, Default)]
pub(crate) struct ServerMeters {
    pub(crate) own: Arc<Meter>,
    // Held for the look-ups of one listing while a view is assembled, and by calls without a view;
    // the others find their meter in its snapshot.
    tools: Mutex<KnownTools, rank::ServerMeters>,
}

#[derive(Debug, Default)]
struct KnownTools {
    /// What was last said about the server itself.
    own: LimitRules,
    limits: Vec<ToolLimits>,
    /// By the server's own names, as tokens.
    meters: HashMap<Box<[u8]>, Arc<Meter>, RandomState>,
}

/// The tools of a listing that have limits: looked up by every call of a server that has such tools, without a lock.
#[derive(Debug, Default)]
pub(crate) struct ToolMeters(HashMap<Box<[u8]>, Arc<Meter>, RandomState>);

impl ToolMeters {
    /// By the server's own name, as a token.
    pub(crate) fn get(&self, name: &[u8]) -> Option<&Arc<Meter>> {
        self.0.get(name)
    }
}

impl KnownTools {
    fn rules(&self, name: &str) -> Option<LimitRules> {
        let found = self.limits.iter().find(|limits| fits(&limits.pattern, name));
        found.map(|limits| limits.rules)
    }
}

impl ServerMeters {
    /// Other limits from now on; what was used stays used.
    pub(crate) fn set(&self, rules: LimitRules, limits: &[ToolLimits]) {
        self.own.set(rules);
        let mut known = self.tools.lock();
        (known.own, known.limits) = (rules, limits.to_vec());
    }

    /// What the server and its tools may have, as it was last said.
    pub(crate) fn rules(&self) -> (LimitRules, Vec<ToolLimits>) {
        let known = self.tools.lock();
        (known.own, known.limits.clone())
    }

    /// Those of the tools of this listing; `None`: none of them has limits.
    pub(crate) fn of_listing(&self, listing: &Listing) -> Option<Arc<ToolMeters>> {
        let mut known = self.tools.lock();
        if known.limits.is_empty() && known.meters.is_empty() {
            return None;
        }
        let mut meters: HashMap<_, _, RandomState> = HashMap::default();
        for tool in listing.tools() {
            let Some(rules) = known.rules(&tool.name) else { continue };
            let name: Box<[u8]> = tool.name_token().into();
            let meter = Arc::clone(known.meters.entry(name.clone()).or_default());
            meter.set(rules);
            meters.insert(name, meter);
        }
        // What is not listed any more is forgotten, unless a call still counts on it.
        known
            .meters
            .retain(|name, meter| meters.contains_key(name) || Arc::strong_count(meter) > 1);
        Some(Arc::new(ToolMeters(meters)))
    }

    /// The meter of one tool, if it has limits: for calls that come without a snapshot of the lists.
    pub(crate) fn of_tool(&self, name: &str, token: &[u8]) -> Option<Arc<Meter>> {
        let mut known = self.tools.lock();
        let rules = known.rules(name)?;
        let meter = Arc::clone(known.meters.entry(token.into()).or_default());
        meter.set(rules);
        Some(meter)
    }

    /// Calls that were refused because of the server's limits or of its tools'.
    pub(crate) fn refused(&self) -> u64 {
        let known = self.tools.lock();
        self.own.refused() + known.meters.values().map(|meter| meter.refused()).sum::<u64>()
    }
}
