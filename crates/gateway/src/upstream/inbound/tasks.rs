//! Which server each task is with, and whose it is: what is said about one later is for the same
//! server, and where callers have to say who they are, for nobody else.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use memchr::memmem;
use trunkline_wire::{Message, decode, elements, find, member, scan};

use crate::call::{Client, Payload, ReplyTo};
use crate::era::Era;
use crate::limits::{ENTRIES_PER_LISTING, KNOWN_TASKS, PAGES_PER_LISTING};
use crate::lock::{Mutex, rank};
use crate::pump::FlushSet;
use crate::upstream::calls::crossing::Shape;
use crate::upstream::connection::Connection;

#[derive(Debug, Default)]
pub(crate) struct Tasks(Mutex<Known, rank::TaskOwners>);

/// The oldest are forgotten first.
#[derive(Debug, Default)]
struct Known {
    /// By their ids: two servers may have the same.
    held: HashMap<String, Vec<Held>>,
    order: VecDeque<(String, Arc<str>)>,
}

#[derive(Clone, Debug)]
struct Held {
    server: Arc<str>,
    /// Who made it, where that is known.
    who: Option<Arc<[u8]>>,
}

impl Tasks {
    /// The first who had it keeps it: an answer that only names it makes it nobody else's.
    pub(in crate::upstream) fn remember(
        &self,
        task: String,
        server: &Arc<str>,
        who: Option<&Arc<[u8]>>,
    ) {
        let mut known = self.0.lock();
        let held = known.held.entry(task.clone()).or_default();
        if held.iter().any(|held| held.server == *server) {
            return;
        }
        held.push(Held { server: Arc::clone(server), who: who.cloned() });
        known.order.push_back((task, Arc::clone(server)));
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
        let known = self.0.lock();
        let mut held = known.held.get(task)?.iter().rev();
        let found = held.find(|held| who.is_none() || held.who.as_ref() == who);
        found.map(|held| Arc::clone(&held.server))
    }

    /// Did this one make the task of this server?
    pub(crate) fn is_of(&self, server: &str, task: &str, who: &Arc<[u8]>) -> bool {
        let known = self.0.lock();
        let held = known.held.get(task).into_iter().flatten();
        let mut here = held.filter(|held| *held.server == *server);
        here.any(|held| held.who.as_ref() == Some(who))
    }
}

impl Connection {
    /// A response of a server that has tasks: it may be one that tells of them.
    pub(in crate::upstream) fn settle_of_tasks(
        self: &Arc<Self>,
        path: ReplyTo,
        shape: Shape,
        payload: Payload<'_>,
        touched: &mut FlushSet,
    ) {
        let bytes = payload.bytes();
        if path.lists_tasks {
            let own = self.own_tasks(bytes, &path.client);
            // Nothing is shown if it cannot be read.
            if let Some(shape) = scan(&own).ok().as_ref().and_then(Shape::of) {
                return self.pass_settled(path, shape, Payload::Owned(own), touched);
            }
        }
        if let Some(result) = shape.result
            && memmem::find(result.of(bytes), b"\"task\"").is_some()
            && member(result.of(bytes), "task").is_some()
        {
            self.remember_task(result.of(bytes), &path.client);
        }
        self.pass_settled(path, shape, payload, touched);
    }

    fn pass_settled(
        self: &Arc<Self>,
        path: ReplyTo,
        shape: Shape,
        payload: Payload<'_>,
        touched: &mut FlushSet,
    ) {
        match path.request_era.is_session() && self.era() == Era::Legacy {
            true => path.deliver(shape.id, payload, touched),
            false => self.deliver_across(path, shape, payload, touched),
        }
    }

    /// A task was started: what is asked about it later is for the same server and the same client.
    pub(in crate::upstream) fn remember_task(&self, result: &[u8], client: &Client) {
        let task = member(result, "taskId");
        let task = task.or_else(|| member(member(result, "task")?, "taskId"));
        if let Some(task) = task.and_then(decode) {
            self.parking.tasks.remember(task.into_owned(), self.key.id(), client.principal());
        }
    }

    /// The tasks of this server that this client may see, as the server writes them: all pages of its list.
    pub(crate) async fn all_tasks(&self, client: &Client) -> Vec<Vec<u8>> {
        let (mut tasks, mut params) = (Vec::new(), Vec::new());
        for _ in 0..PAGES_PER_LISTING {
            let response = self.request("tasks/list", &params).await;
            let Some(Ok(response)) = response else { break };
            let response = match client.principal() {
                Some(_) => self.own_tasks(&response, client),
                None => response,
            };
            let Ok(message) = scan(&response) else { break };
            let result = message.text(message.result);
            let page = member(result, "tasks").unwrap_or_default();
            for task in elements(page).map(|at| at.of(page)) {
                self.remember_task(task, client);
                tasks.push(task.to_vec());
            }
            let next = member(result, "nextCursor").filter(|cursor| cursor.starts_with(b"\""));
            let Some(next) = next.filter(|_| tasks.len() < ENTRIES_PER_LISTING) else { break };
            params = [br#"{"cursor":"#, next, b"}"].concat();
        }
        tasks.truncate(ENTRIES_PER_LISTING);
        tasks
    }

    /// A list of tasks without those of others.
    fn own_tasks(&self, response: &[u8], client: &Client) -> Vec<u8> {
        let is_own = |task: &[u8]| {
            let id = member(task, "taskId").and_then(decode);
            let who = client.principal();
            id.zip(who).is_some_and(|(id, who)| self.parking.tasks.is_of(self.key.id(), &id, who))
        };
        only(response, is_own)
    }

    /// Is what the server tells of a task for this client?
    pub(in crate::upstream) fn may_hear_of_task(
        &self,
        message: &Message<'_>,
        client: &Client,
    ) -> bool {
        let Some(who) = client.principal() else { return true };
        if !message.method().starts_with(b"notifications/tasks/") {
            return true;
        }
        let task = member(message.text(message.params.span), "taskId").and_then(decode);
        task.is_some_and(|task| self.parking.tasks.is_of(self.key.id(), &task, who))
    }

    /// From now on its answers are looked at.
    pub(crate) fn expect_tasks(&self) {
        self.has_tasks.store(true, Ordering::Relaxed);
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
        let (tasks, server) = (Tasks::default(), Arc::from("a"));
        for number in 0..=KNOWN_TASKS {
            tasks.remember(number.to_string(), &server, None);
        }
        assert_eq!(tasks.server("0", None), None);
        assert_eq!(tasks.server("1", None), Some(Arc::clone(&server)));
        assert_eq!(tasks.server(&KNOWN_TASKS.to_string(), None), Some(server));
    }

    #[test]
    fn a_task_is_its_makers_with_its_server_and_stays_so() {
        let (tasks, one, other) = (Tasks::default(), Arc::from("one"), Arc::from("other"));
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
