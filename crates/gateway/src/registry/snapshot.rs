//! `Snapshot`: what clients of a view may see and call at one moment, and where it leads. Never changed, only replaced.

use std::collections::BTreeSet;
use std::sync::Arc;

use trunkline_catalog::{Catalog, Route, Scope, SeenParts};

use crate::limiter::ToolMeters;
use crate::policy::PolicyGrant;
use crate::registry::call_rules::{CallRule, CallRules};
use crate::registry::known_names::KnownNames;
use crate::upstream::{Connection, Server};

/// The catalog of one moment and the servers its routes lead to.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    // All but the connections is behind `Arc`s: it is kept where only a connection has changed.
    pub(crate) catalog: Arc<Catalog>,
    pub(super) servers: Arc<[Arc<Server>]>,
    /// By the servers' places.
    pub(super) connections: Vec<Option<Arc<Connection>>>,
    /// How much of each server is seen, by the servers' places.
    pub(super) sights: Arc<[Sight]>,
    /// The limits of tools, by the servers' places.
    pub(super) tool_meters: Arc<[Option<Arc<ToolMeters>>]>,
    /// Which calls policies refuse or want to look at.
    pub(super) call_rules: Arc<CallRules>,
}

/// What is served of a view.
#[derive(Debug, Default)]
pub(super) struct Published {
    pub(super) snapshot: Arc<Snapshot>,
    /// The version of the registry whose connections it has; none yet is 0.
    pub(super) version: u64,
    /// The version that its catalog was made of; none yet is 0.
    pub(super) made_of: u64,
    /// The version at which its assembly failed last; 0: it never has.
    pub(super) failed_of: u64,
    /// It has warnings that were not logged yet.
    pub(super) is_untold: bool,
    /// Every name each server has offered so far.
    pub(super) known: Arc<KnownNames>,
}

/// How much of a server is seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    Whole,
    /// These tools, by its own names.
    Tools(BTreeSet<String>),
    /// What policies leave of it.
    Parts(SeenParts),
}

impl Sight {
    pub(super) fn scope(&self) -> Scope<'_> {
        match self {
            Self::Whole => Scope::Whole,
            Self::Tools(tools) => Scope::Tools(tools),
            Self::Parts(parts) => Scope::Parts(parts),
        }
    }

    fn is_whole(&self) -> bool {
        match self {
            Self::Whole => true,
            Self::Tools(_) => false,
            Self::Parts(parts) => parts.is_whole,
        }
    }
}

impl Snapshot {
    /// This catalog over the connections that its servers have now.
    pub(super) fn reconnected(&self) -> Self {
        Self {
            catalog: Arc::clone(&self.catalog),
            servers: Arc::clone(&self.servers),
            connections: self.servers.iter().map(|server| server.connection()).collect(),
            sights: Arc::clone(&self.sights),
            tool_meters: Arc::clone(&self.tool_meters),
            call_rules: Arc::clone(&self.call_rules),
        }
    }

    pub(crate) fn connection(&self, server: usize) -> Option<&Arc<Connection>> {
        self.connections.get(server)?.as_ref()
    }

    /// The tools of this server that have limits; `None`: none of them has.
    pub(crate) fn tool_meters(&self, server: usize) -> Option<&ToolMeters> {
        self.tool_meters.get(server)?.as_deref()
    }

    pub(crate) fn server(&self, server: usize) -> Option<&Arc<Server>> {
        self.servers.get(server)
    }

    /// How many servers there are; their places are the numbers below.
    pub(crate) fn servers(&self) -> usize {
        self.servers.len()
    }

    /// Where the server of this key stands.
    pub(crate) fn place_of(&self, key: &str) -> Option<usize> {
        self.servers.iter().position(|server| server.key.is_called(key))
    }

    /// Where the server with this id stands.
    pub(crate) fn place_of_id(&self, id: &str) -> Option<usize> {
        self.servers.iter().position(|server| **server.key.id() == *id)
    }

    /// May whoever sees this have anything of the server, not only some tools?
    pub(crate) fn is_whole(&self, server: usize) -> bool {
        self.sights.get(server).is_some_and(Sight::is_whole)
    }

    /// What policies say about calls of this tool; `None`: whoever sees it may call it.
    pub(crate) fn call_rule(&self, tool: &Route) -> Option<&CallRule> {
        self.call_rules.get(tool)
    }

    /// The policies that hold for whoever sees this.
    pub(crate) fn policies(&self) -> Option<&dyn PolicyGrant> {
        self.call_rules.policies()
    }

    /// The place of the only server, if there is only one.
    pub(crate) fn only(&self) -> Option<usize> {
        (self.servers.len() == 1).then_some(0)
    }
}
