//! `ConfigFileState`: what the config file asks for, and what was asked of its servers over REST.

use std::collections::{HashMap, HashSet};

use trunkline_catalog::config::{CustomTool, ServerSpec};

use super::snapshot::EntryTimes;

#[derive(Debug, Default)]
pub(crate) struct ConfigFileState {
    pub(super) servers: Vec<ServerSpec>,
    pub(super) custom: Vec<CustomTool>,
    /// It was read and is not applied yet.
    pub(super) is_new: bool,
    /// Disconnected over REST, until they are connected again or Trunkline restarts.
    pub(super) disconnected: HashSet<String>,
    /// By the servers' ids.
    pub(super) times: HashMap<String, EntryTimes>,
    /// Servers whose first date the store has not confirmed yet.
    pub(super) undated: HashSet<String>,
}

impl ConfigFileState {
    /// Notes which servers are new and which have changed; called before they replace those of before.
    pub(super) fn date(&mut self, servers: &[ServerSpec], now: i64) {
        for spec in servers {
            let before = self.servers.iter().find(|before| before.id == spec.id);
            match self.times.get_mut(&spec.id) {
                None => {
                    let times = EntryTimes { first_seen: now, changed: now };
                    self.times.insert(spec.id.clone(), times);
                    self.undated.insert(spec.id.clone());
                }
                Some(times) => {
                    let is_same = before.is_some_and(|before| {
                        // `login` is added to what the file says.
                        *before == ServerSpec { login: before.login.clone(), ..spec.clone() }
                    });
                    if !is_same {
                        times.changed = now;
                    }
                }
            }
        }
        let is_there = |id: &str| servers.iter().any(|spec| spec.id == id);
        self.times.retain(|id, _| is_there(id));
        self.undated.retain(|id| is_there(id));
    }

    /// The servers that are to run.
    pub(crate) fn wanted(&self) -> Vec<ServerSpec> {
        let wanted = self.servers.iter().filter(|spec| !self.disconnected.contains(&spec.key));
        wanted.cloned().collect()
    }

    /// The custom tools; and whether this is the first time since the file was read.
    pub(crate) fn take_custom(&mut self) -> (Vec<CustomTool>, bool) {
        (self.custom.clone(), std::mem::take(&mut self.is_new))
    }

    pub(crate) fn custom_tool(&self, name: &str) -> Option<CustomTool> {
        self.custom.iter().find(|tool| tool.name == name).cloned()
    }

    pub(crate) fn set_wanted(&mut self, server: &str, is_wanted: bool) {
        match is_wanted {
            true => drop(self.disconnected.remove(server)),
            false => drop(self.disconnected.insert(server.to_owned())),
        }
    }
}
