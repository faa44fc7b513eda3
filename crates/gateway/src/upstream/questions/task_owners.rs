//! `TaskOwners`: which server each task is with, and whose it is.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

use ring::digest::{SHA256, digest};
use trunkline_wire::{Message, decode, elements, find, member, scan};

use crate::call::Client;
use crate::limits::KNOWN_TASKS;
use crate::lock::{Mutex, rank};
use crate::replicas::Replicas;

// Held for one look or note; the table has a bound, so neither takes long.
#[derive(Debug, Default)]
pub(crate) struct TaskOwners {
    known: Mutex<KnownTasks, rank::TaskOwners>,
    /// Told of each task that somebody has made here.
    replicas: OnceLock<Arc<dyn Replicas>>,
}

/// The oldest are forgotten first.
#[derive(Debug, Default)]
struct KnownTasks {
    /// By their ids: two servers may have the same.
    held: HashMap<String, Vec<OwnedTask>>,
    order: VecDeque<(String, Arc<str>)>,
}

#[derive(Clone, Debug)]
struct OwnedTask {
    server: Arc<str>,
    /// Who made it, where that is known.
    who: Option<Arc<[u8]>>,
}

/// What replicas call a task of somebody: they need know neither.
fn digest_of(task: &str, who: &[u8]) -> String {
    // With the length in front, so that no two pairs are one.
    let length = u64::try_from(task.len()).unwrap_or(u64::MAX).to_le_bytes();
    let whole = [&length[..], task.as_bytes(), who].concat();
    digest(&SHA256, &whole).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

impl TaskOwners {
    /// From now on they are told.
    pub(crate) fn tell(&self, replicas: &Arc<dyn Replicas>) {
        drop(self.replicas.set(Arc::clone(replicas)));
    }

    /// The digest of the task that a message is about, if nobody has made it here.
    pub(crate) fn unknown(&self, message: &Message<'_>, who: &Arc<[u8]>) -> Option<String> {
        if !message.method().starts_with(b"tasks/") {
            return None;
        }
        let task = find(message.bytes, message.params.span?, &["taskId"])?;
        let task = decode(task.of(message.bytes))?;
        self.server(&task, Some(who)).is_none().then(|| digest_of(&task, who))
    }

    /// The first who had it keeps it: an answer that only names it makes it nobody else's.
    pub(in crate::upstream) fn remember(
        &self,
        task: String,
        server: &Arc<str>,
        who: Option<&Arc<[u8]>>,
    ) {
        let mut known = self.known.lock();
        let held = known.held.entry(task.clone()).or_default();
        if held.iter().any(|held| held.server == *server) {
            return;
        }
        held.push(OwnedTask { server: Arc::clone(server), who: who.cloned() });
        if let (Some(replicas), Some(who)) = (self.replicas.get(), who) {
            replicas.remember_task(digest_of(&task, who));
        }
        known.order.push_back((task, Arc::clone(server)));
        // Servers do not say when a task is forgotten: the list has a bound of its own.
        if known.order.len() > KNOWN_TASKS
            && let Some((task, server)) = known.order.pop_front()
            && let Some(held) = known.held.get_mut(&task)
        {
            held.retain(|held| held.server != server);
            if held.is_empty() {
                known.held.remove(&task);
            }
        }
    }

    /// The id of the server that has this task, to whoever asks.
    pub(crate) fn server(&self, task: &str, who: Option<&Arc<[u8]>>) -> Option<Arc<str>> {
        let known = self.known.lock();
        let mut held = known.held.get(task)?.iter().rev();
        // The latest first: of two servers that use one id it is the one that was heard of last.
        let found = held.find(|held| who.is_none() || held.who.as_ref() == who);
        found.map(|held| Arc::clone(&held.server))
    }

    /// Did this one make the task of this server?
    pub(crate) fn is_of(&self, server: &str, task: &str, who: &Arc<[u8]>) -> bool {
        let known = self.known.lock();
        let held = known.held.get(task).into_iter().flatten();
        let mut here = held.filter(|held| *held.server == *server);
        here.any(|held| held.who.as_ref() == Some(who))
    }
}

impl TaskOwners {
    /// A task was started: what is asked about it later is for the same server and the same client.
    pub(in crate::upstream) fn remember_in(
        &self,
        result: &[u8],
        server: &Arc<str>,
        client: &Client,
    ) {
        let task = member(result, "taskId");
        let task = task.or_else(|| member(member(result, "task")?, "taskId"));
        if let Some(task) = task.and_then(decode) {
            self.remember(task.into_owned(), server, client.principal());
        }
    }

    /// A list of tasks without those of others.
    pub(in crate::upstream) fn own_in(
        &self,
        response: &[u8],
        server: &str,
        client: &Client,
    ) -> Vec<u8> {
        let is_own = |task: &[u8]| {
            let id = member(task, "taskId").and_then(decode);
            let who = client.principal();
            id.zip(who).is_some_and(|(id, who)| self.is_of(server, &id, who))
        };
        only(response, is_own)
    }

    /// Is what the server tells of a task for this client?
    pub(in crate::upstream) fn may_hear(
        &self,
        message: &Message<'_>,
        server: &str,
        client: &Client,
    ) -> bool {
        let Some(who) = client.principal() else { return true };
        if !message.method().starts_with(b"notifications/tasks/") {
            return true;
        }
        let task = member(message.text(message.params.span), "taskId").and_then(decode);
        task.is_some_and(|task| self.is_of(server, &task, who))
    }
}

/// The response with those entries of `result.tasks` that are wanted; every other byte as it was.
fn only(response: &[u8], wanted: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let whole = scan(response).ok().and_then(|message| message.result);
    let Some(at) = whole.and_then(|result| find(response, result, &["tasks"])) else {
        return response.to_vec();
    };
    let list = at.of(response);
    let kept: Vec<&[u8]> =
        elements(list).map(|at| at.of(list)).filter(|entry| wanted(entry)).collect();
    let before = response.get(..at.start()).unwrap_or_default();
    let after = response.get(at.end()..).unwrap_or_default();
    [before, b"[", &kept.join(&b","[..]), b"]", after].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten() {
        let (tasks, server) = (TaskOwners::default(), Arc::from("a"));
        for number in 0..=KNOWN_TASKS {
            tasks.remember(number.to_string(), &server, None);
        }
        assert_eq!(tasks.server("0", None), None);
        assert_eq!(tasks.server("1", None), Some(Arc::clone(&server)));
        assert_eq!(tasks.server(&KNOWN_TASKS.to_string(), None), Some(server));
    }

    #[test]
    fn a_task_is_its_makers_with_its_server_and_stays_so() {
        let (tasks, one, other) = (TaskOwners::default(), Arc::from("one"), Arc::from("other"));
        let (alice, bob): (Arc<[u8]>, Arc<[u8]>) = ((*b"alice").into(), (*b"bob").into());
        tasks.remember("t".to_owned(), &one, Some(&alice));
        tasks.remember("t".to_owned(), &one, Some(&bob));
        tasks.remember("t".to_owned(), &other, Some(&bob));
        for (server, who, expected) in
            [("one", &alice, true), ("one", &bob, false), ("other", &bob, true)]
        {
            assert_eq!(tasks.is_of(server, "t", who), expected, "{server} {who:?}");
        }
        assert!(!tasks.is_of("one", "u", &alice));
        assert_eq!(tasks.server("t", Some(&alice)), Some(one));
        assert_eq!(tasks.server("t", Some(&bob)), Some(other));
        assert_eq!(tasks.server("t", Some(&(*b"carol").into())), None);
    }

    #[test]
    fn of_a_list_only_what_is_wanted_stays() {
        let response = r#"{"jsonrpc":"2.0","id":1,"result":{"tasks":[{"taskId":"a","n":1.0}, {"taskId":"b"}],"nextCursor":"c"}}"#;
        let kept = only(response.as_bytes(), |entry| member(entry, "taskId") == Some(b"\"a\""));
        let expected = r#"{"jsonrpc":"2.0","id":1,"result":{"tasks":[{"taskId":"a","n":1.0}],"nextCursor":"c"}}"#;
        assert_eq!(String::from_utf8(kept).unwrap(), expected);
        let error = br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#;
        assert_eq!(only(error, |_| false), error);
    }
}
