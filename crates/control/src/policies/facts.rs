//! `ToolFacts`: what policies may ask about tools, read once for all callers after each change of a list.

use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use trunkline_gateway::Fleet;
use trunkline_policy::Hints;

/// The skills of a tool, by its server's name and its own.
pub type SkillsOf = Box<dyn Fn(&str, &str) -> Vec<String> + Send + Sync>;

#[derive(Default)]
pub(super) struct ToolFacts {
    fleet: OnceLock<Fleet>,
    skills: OnceLock<SkillsOf>,
    /// A leaf lock, but for those of the data plane's lists, which are read under it.
    known: Mutex<KnownFacts>,
}

#[derive(Default)]
struct KnownFacts {
    /// Of the lists it was read from.
    version: u64,
    servers: HashMap<String, Arc<ServerFacts>>,
}

/// By the tools' own names.
pub(super) type ServerFacts = HashMap<String, ToolFact>;

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct ToolFact {
    pub(super) hints: Hints,
    pub(super) skills: Vec<String>,
}

impl Debug for ToolFacts {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("ToolFacts")
    }
}

impl ToolFacts {
    /// False: there is one already.
    pub(super) fn attach(&self, fleet: Fleet) -> bool {
        self.fleet.set(fleet).is_ok()
    }

    pub(super) fn set_skills(&self, skills: SkillsOf) {
        // There is one platform: a second one is ignored.
        drop(self.skills.set(skills));
    }

    pub(super) fn fleet(&self) -> Option<&Fleet> {
        self.fleet.get()
    }

    /// Skills were assigned: everything is read again.
    pub(super) fn forget(&self) {
        *self.known.lock() = KnownFacts::default();
    }

    pub(super) fn of(&self, server: &str) -> Arc<ServerFacts> {
        let Some(fleet) = self.fleet.get() else { return Arc::default() };
        // Before the lists: what changes in between is read again at the next look.
        let version = fleet.version();
        let mut known = self.known.lock();
        if known.version != version {
            *known = KnownFacts { version, servers: HashMap::new() };
        }
        if let Some(facts) = known.servers.get(server) {
            return Arc::clone(facts);
        }
        let tools = fleet.annotations(server).into_iter().map(|(tool, said)| {
            let hints = Hints::with_defaults(
                said.read_only,
                said.destructive,
                said.idempotent,
                said.open_world,
            );
            let skills = self.skills.get().map(|skills| skills(server, &tool)).unwrap_or_default();
            (tool, ToolFact { hints, skills })
        });
        let facts: Arc<ServerFacts> = Arc::new(tools.collect());
        known.servers.insert(server.to_owned(), Arc::clone(&facts));
        facts
    }
}
