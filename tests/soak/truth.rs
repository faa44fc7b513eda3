//! What one writer has been promised, and what is there of it.

use std::collections::BTreeMap;

use kit::platform::{KEYS, Platform, SERVERS, pages};
use kit::rng::Rng;
use serde_json::Value;

use crate::writer::Change;

#[derive(Debug, Default)]
pub struct Truth {
    /// Id and description by name.
    servers: BTreeMap<String, (String, String)>,
    /// By id.
    keys: BTreeMap<String, Key>,
}

#[derive(Debug)]
struct Key {
    /// What it is used with; unknown for one whose answer never came.
    secret: Option<String>,
    is_live: bool,
}

/// What a platform shows.
#[derive(Debug)]
pub struct Shown {
    servers: BTreeMap<String, (String, String)>,
    /// Name, and whether it can be used, by id.
    keys: BTreeMap<String, (String, bool)>,
}

impl Shown {
    pub fn by(platform: &Platform) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let servers = pages(platform.admin(), &format!("{SERVERS}?limit=1000"), "servers");
        let keys = pages(platform.admin(), &format!("{KEYS}?limit=1000"), "keys");
        let server =
            |one: &Value| (text(&one["name"]), (text(&one["id"]), text(&one["description"])));
        let key =
            |one: &Value| (text(&one["id"]), (text(&one["name"]), one["revoked_at"].is_null()));
        Self { servers: servers.iter().map(server).collect(), keys: keys.iter().map(key).collect() }
    }
}

impl Truth {
    pub fn servers(&self) -> usize {
        self.servers.len()
    }

    /// Name and id of one of the servers.
    pub fn server(&self, rng: &mut Rng) -> Option<(String, String)> {
        let at = rng.below(self.servers.len().max(1));
        self.servers.iter().nth(at).map(|(name, (id, _))| (name.clone(), id.clone()))
    }

    /// The id of a key that was not revoked.
    pub fn live_key(&self, rng: &mut Rng) -> Option<String> {
        let live: Vec<&String> =
            self.keys.iter().filter(|(_, key)| key.is_live).map(|(id, _)| id).collect();
        (!live.is_empty()).then(|| (*rng.pick(&live)).clone())
    }

    pub fn has_server(&mut self, name: String, id: String, description: String) {
        self.servers.insert(name, (id, description));
    }

    pub fn has_no_server(&mut self, name: &str) {
        self.servers.remove(name);
    }

    pub fn has_key(&mut self, id: String, secret: String) {
        self.keys.insert(id, Key { secret: Some(secret), is_live: true });
    }

    pub fn has_revoked(&mut self, id: &str) {
        if let Some(key) = self.keys.get_mut(id) {
            key.is_live = false;
        }
    }

    /// Learns what became of the change in doubt: it is done whole or not at all. True if done.
    pub fn settle(&mut self, doubt: Change, shown: &Shown) -> bool {
        match doubt {
            Change::Register { name, description } => match shown.servers.get(&name) {
                Some((id, seen)) if *seen == description => {
                    self.has_server(name, id.clone(), description);
                    true
                }
                _ => false,
            },
            Change::Describe { name, id, description } => {
                let done = shown.servers.get(&name) == Some(&(id.clone(), description.clone()));
                if done {
                    self.has_server(name, id, description);
                }
                done
            }
            Change::Remove { name, .. } => {
                let done = !shown.servers.contains_key(&name);
                if done {
                    self.has_no_server(&name);
                }
                done
            }
            Change::MakeKey { name } => {
                let made = shown.keys.iter().find(|(_, (seen, _))| *seen == name);
                if let Some((id, _)) = made {
                    self.keys.insert(id.clone(), Key { secret: None, is_live: true });
                }
                made.is_some()
            }
            Change::Revoke { id } => {
                let done = shown.keys.get(&id).is_none_or(|(_, is_live)| !is_live);
                if done {
                    self.has_revoked(&id);
                }
                done
            }
        }
    }

    /// Every promise that is not kept, and everything that nobody was promised.
    pub fn faults(truths: &[Self], shown: &Shown) -> Vec<String> {
        let mut faults = Vec::new();
        for (name, promised) in truths.iter().flat_map(|truth| &truth.servers) {
            let seen = shown.servers.get(name);
            if seen != Some(promised) {
                faults.push(format!("server {name}: {promised:?} was promised, {seen:?} is there"));
            }
        }
        for name in shown.servers.keys() {
            if !truths.iter().any(|truth| truth.servers.contains_key(name)) {
                faults.push(format!("server {name} is there and should not be"));
            }
        }
        for (id, key) in truths.iter().flat_map(|truth| &truth.keys) {
            let is_live = shown.keys.get(id).is_some_and(|(_, is_live)| *is_live);
            if is_live != key.is_live {
                faults.push(format!("key {id}: can be used: {is_live}, should: {}", key.is_live));
            }
        }
        for id in shown.keys.keys() {
            if !truths.iter().any(|truth| truth.keys.contains_key(id)) {
                faults.push(format!("key {id} is there and should not be"));
            }
        }
        faults
    }

    /// Uses a key that was made and one that was revoked, if there are any.
    pub fn try_keys(&self, platform: &Platform, rng: &mut Rng) -> Vec<String> {
        let mut faults = Vec::new();
        for (wanted, expected) in [(true, 200), (false, 401)] {
            let known = self.keys.values().filter(|key| key.is_live == wanted);
            let secrets: Vec<&str> = known.filter_map(|key| key.secret.as_deref()).collect();
            if secrets.is_empty() {
                continue;
            }
            let secret = secrets[rng.below(secrets.len())];
            let status = platform.rest(Some(secret)).get("/api/v1/me").status();
            if status != expected {
                faults.push(format!("a key, live: {wanted}, is answered with {status}"));
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(servers: &[(&str, &str, &str)], keys: &[(&str, &str, bool)]) -> Shown {
        let server = |one: &(&str, &str, &str)| (one.0.into(), (one.1.into(), one.2.into()));
        let key = |one: &(&str, &str, bool)| (one.0.into(), (one.1.into(), one.2));
        Shown {
            servers: servers.iter().map(server).collect(),
            keys: keys.iter().map(key).collect(),
        }
    }

    fn promised() -> Truth {
        let mut truth = Truth::default();
        truth.has_server("a".into(), "1".into(), "old".into());
        truth.has_key("k".into(), "secret".into());
        truth.has_key("gone".into(), "secret".into());
        truth.has_revoked("gone");
        truth
    }

    #[test]
    fn every_broken_promise_is_a_fault() {
        let good = [("k", "x", true), ("gone", "y", false)];
        for (servers, keys, faults) in [
            (vec![("a", "1", "old")], &good[..], 0),
            (vec![("a", "1", "old")], &good[..1], 0),
            (vec![], &good[..], 1),
            (vec![("a", "1", "other")], &good[..], 1),
            (vec![("a", "2", "old")], &good[..], 1),
            (vec![("a", "1", "old"), ("b", "2", "")], &good[..], 1),
            (vec![("a", "1", "old")], &good[1..], 1),
            (vec![("a", "1", "old")], &[("k", "x", true), ("gone", "y", true)][..], 1),
            (vec![("a", "1", "old")], &[("k", "x", true), ("z", "z", true)][..], 1),
        ] {
            let shown = shown(&servers, keys);
            let found = Truth::faults(&[promised()], &shown);
            assert_eq!(found.len(), faults, "{shown:?}: {found:?}");
        }
    }

    #[test]
    fn what_was_in_doubt_is_done_whole_or_not_at_all() {
        let register = Change::Register { name: "b".into(), description: "new".into() };
        let (name, id, description) = ("a".to_owned(), "1".to_owned(), "new".to_owned());
        let describe = Change::Describe { name: name.clone(), id: id.clone(), description };
        let remove = Change::Remove { name, id };
        let old = ("a", "1", "old");
        let keys = [("k", "x", true)];
        for (doubt, servers, done, faults) in [
            (register.clone(), vec![old, ("b", "2", "new")], true, 0),
            (register.clone(), vec![old], false, 0),
            (register, vec![old, ("b", "2", "half")], false, 1),
            (describe.clone(), vec![("a", "1", "new")], true, 0),
            (describe.clone(), vec![old], false, 0),
            (describe, vec![("a", "1", "neither")], false, 1),
            (remove.clone(), vec![], true, 0),
            (remove, vec![old], false, 0),
        ] {
            let (mut truth, shown) = (promised(), shown(&servers, &keys));
            assert_eq!(truth.settle(doubt.clone(), &shown), done, "{doubt:?} {servers:?}");
            let found = Truth::faults(&[truth], &shown);
            assert_eq!(found.len(), faults, "{doubt:?} {servers:?}: {found:?}");
        }
    }
}
