//! What servers answer and tell about tasks: for the client that made them, and for nobody else where
//! clients have to say who they are.

use std::sync::Arc;

use memchr::memmem;
use trunkline_wire::{elements, member, scan};

use crate::call::{Client, Payload, ReplyTo};
use crate::limits::{ENTRIES_PER_LISTING, PAGES_PER_LISTING};
use crate::pump::FlushSet;
use crate::upstream::connection::{Connection, shape_of};
use crate::upstream::transport::ResponseShape;

impl Connection {
    /// A response of a server that has tasks: it may be one that tells of them.
    pub(in crate::upstream) fn settle_of_tasks(
        self: &Arc<Self>,
        reply: ReplyTo,
        shape: ResponseShape,
        payload: Payload<'_>,
        touched: &mut FlushSet,
    ) {
        let bytes = payload.bytes();
        if reply.lists_tasks {
            let own = self.parking.tasks.own_in(bytes, self.link.key.id(), &reply.client);
            // Nothing is shown if it cannot be read.
            if let Some(shape) = scan(&own).ok().as_ref().and_then(shape_of) {
                return self.deliver_across(reply, shape, Payload::Owned(own), touched);
            }
        }
        if let Some(result) = shape.result
            // A search first: most results have no task, and reading their members costs more.
            && memmem::find(result.of(bytes), b"\"task\"").is_some()
            && member(result.of(bytes), "task").is_some()
        {
            self.parking.tasks.remember_in(result.of(bytes), self.link.key.id(), &reply.client);
        }
        self.deliver_across(reply, shape, payload, touched);
    }

    /// The tasks of this server that this client may see, as the server writes them: all pages of its list.
    pub(crate) async fn all_tasks(&self, client: &Client) -> Vec<Vec<u8>> {
        let (mut tasks, mut params) = (Vec::new(), Vec::new());
        // A server whose cursor leads in circles must not be asked for ever.
        for _ in 0..PAGES_PER_LISTING {
            let response = self.link.request("tasks/list", &params).await;
            let Some(Ok(response)) = response else { break };
            let response = match client.principal() {
                Some(_) => self.parking.tasks.own_in(&response, self.link.key.id(), client),
                None => response,
            };
            let Ok(message) = scan(&response) else { break };
            let result = message.text(message.result);
            let page = member(result, "tasks").unwrap_or_default();
            for task in elements(page).map(|at| at.of(page)) {
                self.parking.tasks.remember_in(task, self.link.key.id(), client);
                tasks.push(task.to_vec());
            }
            let next = member(result, "nextCursor").filter(|cursor| cursor.starts_with(b"\""));
            let Some(next) = next.filter(|_| tasks.len() < ENTRIES_PER_LISTING) else { break };
            params = [br#"{"cursor":"#, next, b"}"].concat();
        }
        tasks.truncate(ENTRIES_PER_LISTING);
        tasks
    }
}
