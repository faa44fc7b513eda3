//! What servers answer and tell about tasks: for the client that made them, and for nobody else where
//! clients have to say who they are.

use std::sync::Arc;

use memchr::memmem;
use trunkline_wire::{Message, decode, elements, find, member, scan};

use crate::call::{Client, Payload, ReplyTo};
use crate::era::Era;
use crate::limits::{ENTRIES_PER_LISTING, PAGES_PER_LISTING};
use crate::pump::FlushSet;
use crate::upstream::connection::Connection;
use crate::upstream::response::ResponseShape;

impl Connection {
    /// A response of a server that has tasks: it may be one that tells of them.
    pub(in crate::upstream) fn settle_of_tasks(
        self: &Arc<Self>,
        path: ReplyTo,
        shape: ResponseShape,
        payload: Payload<'_>,
        touched: &mut FlushSet,
    ) {
        let bytes = payload.bytes();
        if path.lists_tasks {
            let own = self.own_tasks(bytes, &path.client);
            // Nothing is shown if it cannot be read.
            if let Some(shape) = scan(&own).ok().as_ref().and_then(ResponseShape::of) {
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
        shape: ResponseShape,
        payload: Payload<'_>,
        touched: &mut FlushSet,
    ) {
        match path.request_era.is_session() && self.link.era() == Era::Legacy {
            true => path.deliver(shape.id, payload, touched),
            false => self.deliver_across(path, shape, payload, touched),
        }
    }

    /// A task was started: what is asked about it later is for the same server and the same client.
    pub(in crate::upstream) fn remember_task(&self, result: &[u8], client: &Client) {
        let task = member(result, "taskId");
        let task = task.or_else(|| member(member(result, "task")?, "taskId"));
        if let Some(task) = task.and_then(decode) {
            self.parking.tasks.remember(task.into_owned(), self.link.key.id(), client.principal());
        }
    }

    /// The tasks of this server that this client may see, as the server writes them: all pages of its list.
    pub(crate) async fn all_tasks(&self, client: &Client) -> Vec<Vec<u8>> {
        let (mut tasks, mut params) = (Vec::new(), Vec::new());
        for _ in 0..PAGES_PER_LISTING {
            let response = self.link.request("tasks/list", &params).await;
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
            id.zip(who)
                .is_some_and(|(id, who)| self.parking.tasks.is_of(self.link.key.id(), &id, who))
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
        task.is_some_and(|task| self.parking.tasks.is_of(self.link.key.id(), &task, who))
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
    fn of_a_list_only_what_is_wanted_stays() {
        let response = r#"{"jsonrpc":"2.0","id":1,"result":{"tasks":[{"taskId":"a","n":1.0}, {"taskId":"b"}],"nextCursor":"c"}}"#;
        let kept = only(response.as_bytes(), |entry| member(entry, "taskId") == Some(b"\"a\""));
        let expected = r#"{"jsonrpc":"2.0","id":1,"result":{"tasks":[{"taskId":"a","n":1.0}],"nextCursor":"c"}}"#;
        assert_eq!(String::from_utf8(kept).unwrap(), expected);
        let error = br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#;
        assert_eq!(only(error, |_| false), error);
    }
}
