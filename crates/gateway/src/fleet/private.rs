//! Processes of servers that are not shared: which there are, and how a server is restarted with them.

use std::sync::Arc;

use crate::fleet::handle::Fleet;
use crate::fleet::info::{ServerInfo, info};
use crate::upstream::{LifeVerdict, Server, State, condemn};

/// A process of a server that one client has for itself (`"share": "per-session"`).
#[derive(Clone, Debug)]
pub struct PrivateProcess {
    pub info: ServerInfo,
    /// The process of the client that has it, where that is known.
    pub client: Option<u32>,
    /// The last lines that it has written to stderr.
    pub stderr: Vec<String>,
}

/// What a restart came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restarted {
    /// It is on its way; so many processes that clients had for themselves end, and start when they are called again.
    Begun { private: usize },
    /// Nothing of it was running: it starts when it is needed.
    Asleep,
}

impl Fleet {
    /// The processes of the server with this id that clients have for themselves.
    pub fn private_processes(&self, id: &str) -> Vec<PrivateProcess> {
        let own = |process: Arc<Server>| PrivateProcess {
            client: process.audience.holder().and_then(|client| client.process()),
            stderr: process.stderr(),
            info: info(&process),
        };
        self.own_processes(id).into_iter().map(own).collect()
    }

    /// Restarts a server because a person wants it: that is no failure. Calls that it has may end first,
    /// for as long as at the end of a runtime; new ones wait for the next process. `None`:
    /// no server has this id.
    pub fn restart(&self, id: &str) -> Option<Restarted> {
        let server = self.find(id)?;
        let own = self.own_processes(id);
        own.iter().for_each(|process| process.signals.dismiss_for_another(LifeVerdict::Restarted));
        let has_run = condemn(&server, LifeVerdict::Restarted);
        let sleeps = !has_run && server.status().state == State::Idle;
        if sleeps && own.is_empty() {
            return Some(Restarted::Asleep);
        }
        if !has_run && !sleeps {
            self.reconnect(id); // it is down, or about to start
        }
        Some(Restarted::Begun { private: own.len() })
    }

    fn own_processes(&self, id: &str) -> Vec<Arc<Server>> {
        let Some(server) = self.find(id) else { return Vec::new() };
        let mut own = self.registry.privates_of(&server);
        own.retain(|process| !process.is_done());
        own
    }
}
