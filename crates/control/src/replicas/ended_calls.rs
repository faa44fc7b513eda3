//! `EndedCalls`: the outcomes of calls with an idempotency key on their way into the store. Bounded in number and in
//! bytes, and none is lost: each call has its place from the moment it asks for its key.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit, mpsc};
use trunkline_gateway::{ClaimedCall, KEPT_ANSWER, KeyOutcome, QUEUED_ANSWERS};

/// Calls with a key that ask for it, run, or have ended and are not yet written down. No call begins without a place,
/// so that a store that goes away finds room for the outcomes of all.
const PLACES: usize = 65_536;

#[derive(Debug)]
pub(super) struct EndedCalls {
    places: Semaphore,
    /// Bytes of the answers that wait.
    room: Arc<Semaphore>,
    sender: mpsc::Sender<EndedKey>,
    /// Taken by the task that writes them down.
    unwritten: Mutex<Option<mpsc::Receiver<EndedKey>>>,
}

/// A call that has ended.
#[derive(Debug)]
pub(super) struct EndedKey {
    pub(super) claimed: ClaimedCall,
    pub(super) outcome: KeyOutcome,
    /// What its answer takes up until it is written.
    _room: Option<OwnedSemaphorePermit>,
}

/// The place of a call in the queue. Dropped, it is given back.
#[derive(Debug)]
pub(super) struct EndPlace<'a>(SemaphorePermit<'a>);

impl EndPlace<'_> {
    /// The call has its key: the place is its outcome's, until that is written.
    pub(super) fn keep(self) {
        self.0.forget();
    }
}

impl EndedCalls {
    pub(super) fn new() -> Self {
        let (sender, unwritten) = mpsc::channel(PLACES);
        Self {
            places: Semaphore::new(PLACES),
            room: Arc::new(Semaphore::new(QUEUED_ANSWERS)),
            sender,
            unwritten: Mutex::new(Some(unwritten)),
        }
    }

    /// A place for the outcome of a call that asks for its key; `None`: there is none.
    pub(super) fn place(&self) -> Option<EndPlace<'_>> {
        self.places.try_acquire().ok().map(EndPlace)
    }

    /// A call that has a place has ended. `false`: nobody writes down outcomes any more.
    pub(super) fn put(&self, claimed: ClaimedCall, outcome: KeyOutcome) -> bool {
        let (outcome, room) = self.fitted(outcome);
        self.sender.try_send(EndedKey { claimed, outcome, _room: room }).is_ok()
    }

    /// An answer that is too large, or has no room, is not kept; that its call has run is.
    fn fitted(&self, outcome: KeyOutcome) -> (KeyOutcome, Option<OwnedSemaphorePermit>) {
        let size = match &outcome {
            KeyOutcome::Answered(answer) | KeyOutcome::Asked(answer) => answer.body.len(),
            KeyOutcome::NotRun | KeyOutcome::NotKept | KeyOutcome::Unknown => {
                return (outcome, None);
            }
        };
        let room = match u32::try_from(size) {
            Ok(bytes) if size <= KEPT_ANSWER => {
                Arc::clone(&self.room).try_acquire_many_owned(bytes).ok()
            }
            _ => None,
        };
        match room {
            Some(room) => (outcome, Some(room)),
            None => (KeyOutcome::NotKept, None),
        }
    }

    /// For the one task that writes them down.
    pub(super) fn take_receiver(&self) -> Option<mpsc::Receiver<EndedKey>> {
        self.unwritten.lock().take()
    }

    /// So many were written: their places are free.
    pub(super) fn free(&self, written: usize) {
        self.places.add_permits(written);
    }
}
