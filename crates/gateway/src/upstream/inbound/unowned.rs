//! Answers that name no request: whose they can be, and how long the real answer is waited for.

use std::sync::Arc;

use tokio::time::sleep;
use trunkline_wire::{Message, scan};

use crate::call::Payload;
use crate::limits::REAL_ANSWER;
use crate::pump::FlushSet;
use crate::upstream::calls::pending::Unowned;
use crate::upstream::connection::{Connection, shape_of};
use crate::upstream::shown::refusal_text;
use crate::upstream::transport::UpstreamId;

impl Connection {
    /// A response that answers no open request. `origin`: it came as part of the answer to this one.
    pub(in crate::upstream) fn unmatched(
        self: &Arc<Self>,
        message: &Message<'_>,
        origin: Option<UpstreamId>,
    ) {
        // Python's server says "server-error" where it could not read the id.
        if !matches!(message.id(), b"null" | b"\"server-error\"") {
            tracing::debug!(server = %self.link.key, "an answer nobody waits for is dropped");
            return;
        }
        if !self.facts.is_opened() {
            let error = refusal_text(message.text(message.error));
            self.broken.note_refusal(&error);
        }
        let unowned = match message.unreadable {
            Some(fault) => Unowned::Broken(fault),
            None => Unowned::Refusal(message.bytes.to_vec()),
        };
        if !self.suspect_owner(unowned, origin) {
            tracing::debug!(server = %self.link.key, "an error that names no request is dropped");
        }
    }

    /// Ends the call that an answer without an id can only belong to, unless its real answer comes
    /// soon. False: it belongs to nobody.
    pub(in crate::upstream) fn suspect_owner(
        self: &Arc<Self>,
        unowned: Unowned,
        origin: Option<UpstreamId>,
    ) -> bool {
        let mut pending = self.link.pending.lock();
        let owner = match origin {
            Some(origin) => pending.get(origin).map(|_| origin),
            None => {
                // An answer that may be about a notification is no proof against a call.
                let is_about_notice = pending.notices.take_answer();
                let is_open = self.facts.is_opened()
                    && !is_about_notice
                    && !self.link.transport.ties_questions_to_calls();
                // Only a single open call can be meant: with two, ending either would be a guess.
                pending.only().filter(|_| is_open)
            }
        };
        let Some(owner) = owner else {
            drop(pending);
            self.broken.unowned.notify_one();
            return false;
        };
        // One timer per call, however many such answers come.
        let is_new = !pending.suspected.contains_key(&owner);
        pending.suspected.entry(owner).or_insert(unowned);
        drop(pending);
        if is_new {
            self.wait_for_real_answer(owner);
        }
        true
    }

    fn wait_for_real_answer(self: &Arc<Self>, id: UpstreamId) {
        // Weak: the timer must not keep a connection that is over.
        let connection = Arc::downgrade(self);
        let is_settled_later = self.parking.timers.run(async move {
            sleep(REAL_ANSWER).await;
            if let Some(connection) = connection.upgrade() {
                connection.settle_suspected(id);
            }
        });
        if !is_settled_later {
            self.settle_suspected(id);
        }
    }

    /// Nothing better will come: the call ends with the answer that may be its own, if it is still
    /// open and there was one. True if it ends so.
    pub(in crate::upstream) fn settle_suspected(self: &Arc<Self>, id: UpstreamId) -> bool {
        let suspected = self.link.pending.lock().suspected.remove(&id);
        let mut touched = FlushSet::default();
        let ended = match suspected {
            None => false,
            Some(Unowned::Broken(fault)) => {
                self.link.fail_into(id, &self.link.broken_answer(fault), &mut touched)
            }
            Some(Unowned::Refusal(refusal)) => self.settle_with(id, refusal, &mut touched),
        };
        self.options.made_room_in(&mut touched);
        touched.flush();
        ended
    }

    fn settle_with(
        self: &Arc<Self>,
        id: UpstreamId,
        refusal: Vec<u8>,
        touched: &mut FlushSet,
    ) -> bool {
        let shape = scan(&refusal).ok().as_ref().and_then(shape_of);
        let entry = self.link.pending.lock().remove(id);
        let (Some(shape), Some(entry)) = (shape, entry) else { return false };
        self.settle(entry, shape, Payload::Owned(refusal), touched);
        true
    }
}
