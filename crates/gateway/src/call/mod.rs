//! The way back: one client's outbox and the calls it has open. What flows is a call; whoever
//! takes it out of here owes its one outcome.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use foldhash::fast::RandomState;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use trunkline_wire::{Edits, Id, Span};

use crate::error::CallError;
use crate::pump::Outbox;

/// A client, as the rest of the gateway sees it.
#[derive(Debug, Default)]
pub(crate) struct Client {
    pub(crate) outbox: Outbox,
    open: Mutex<HashMap<Id, Ticket, RandomState>>,
    /// The last open call has ended.
    idle: Notify,
}

/// Room for open calls that is kept after a burst.
const KEPT_CAPACITY: usize = 4096;

/// Where an open call is.
#[derive(Clone, Debug)]
pub(crate) enum Ticket {
    /// With a server, under our id.
    Sent { server: usize, id: u32 },
    /// Still here, waiting for a server to start; cancelled through the token.
    Waiting(CancellationToken),
}

/// A message that is being delivered: borrowed from a read buffer, or handed over.
#[derive(Debug)]
pub(crate) enum Payload<'a> {
    Borrowed(&'a [u8]),
    Owned(Vec<u8>),
}

impl Payload<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}

impl Client {
    /// Notes that a call is open. False if the client has another one open under that id.
    pub(crate) fn open(&self, id: &Id, ticket: Ticket) -> bool {
        match self.open.lock().entry(id.clone()) {
            Entry::Occupied(_) => false,
            Entry::Vacant(place) => {
                place.insert(ticket);
                true
            }
        }
    }

    pub(crate) fn is_open(&self, id: &Id) -> bool {
        self.open.lock().contains_key(id)
    }

    /// Takes the call out: whoever gets the ticket decides its outcome.
    pub(crate) fn take(&self, id: &Id) -> Option<Ticket> {
        let mut open = self.open.lock();
        let ticket = open.remove(id);
        if open.is_empty() {
            self.idle.notify_waiters();
            if open.capacity() > KEPT_CAPACITY {
                open.shrink_to(0);
            }
        }
        ticket
    }

    /// The calls that still have no outcome.
    pub(crate) fn open_ids(&self) -> Vec<(Id, Ticket)> {
        let open = self.open.lock();
        open.iter().map(|(id, ticket)| (id.clone(), ticket.clone())).collect()
    }

    /// Waits until no call is open.
    pub(crate) async fn idle(&self) {
        loop {
            let idle = self.idle.notified();
            if self.open.lock().is_empty() {
                return;
            }
            idle.await;
        }
    }

    /// Delivers a server's response to the call `id`: the same bytes but for the id. To be flushed.
    pub(crate) fn deliver(&self, id: &Id, id_at: Span, payload: Payload<'_>) {
        if self.take(id).is_none() {
            return; // it has had its outcome
        }
        let refused = id.with_token(|token| {
            let edits = Edits::one(id_at, token);
            match payload {
                Payload::Borrowed(bytes) => self.outbox.put(bytes, &edits),
                Payload::Owned(bytes) => self.outbox.put_owned(bytes, &edits),
            }
        });
        if refused.is_err() {
            tracing::debug!("an answer came after its client had gone");
        }
    }

    /// Ends the call `id` with an error.
    pub(crate) fn fail(&self, id: &Id, error: &CallError) {
        if self.take(id).is_none() {
            return; // it has had its outcome
        }
        self.say(&id.with_token(|token| error.response(token)));
    }

    /// Sends a message of our own.
    pub(crate) fn say(&self, message: &[u8]) {
        if self.outbox.send(message).is_err() {
            tracing::debug!("a message found its client gone");
        }
    }
}

/// The way back of one call.
#[derive(Debug)]
pub(crate) struct ReturnPath {
    pub(crate) client: Arc<Client>,
    pub(crate) id: Id,
    /// The client's progress token, as spelt, if it wants to hear of progress.
    pub(crate) progress_token: Option<Box<[u8]>>,
}
