//! Requests that another replica has to answer, and those that other replicas pass on to this one.
//!
//! A request travels as the body of a `POST` to `/replicas/forward`, sealed with a key that the replicas share, and
//! names its receiver, the address and certificate of its client, and a number that is taken once. The receiver
//! decides about the caller anew, with what the client has shown. The head of the answer carries a proof that it
//! comes from a holder of the key. A request that was passed on is never passed on again.

mod envelope;
mod forward;
mod seen;
mod token;

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::era::{ReplicaId, Seal};
use crate::front::http::request::HttpRequest;
use crate::lock::{Mutex, rank};
use crate::replicas::Replicas;

pub(crate) use envelope::Envelope;
pub(crate) use forward::{ForwardedMatter, forward, forward_to_task};
use seen::SeenRequests;
pub(crate) use token::{ANSWER, MISDIRECTED, RequestToken, SEEN_BEFORE};

/// What a request that is passed on may have besides its body: its head, and its seals.
pub(crate) const ENVELOPE_BYTES: usize = 128 * 1024;
/// Requests that wait for other replicas at a time.
const FORWARDS: usize = 20_000;

/// Larger ones of these have so many bytes together: they lie here until the other replica has taken them, and one that
/// hangs takes nothing. Smaller ones are bounded by their number, so that large ones leave them room.
const FORWARDED_SMALL: usize = 16 * 1024;
const FORWARDED_BYTES: usize = 256 * 1024 * 1024;
const KIB: usize = 1024;

/// Where replicas send requests to each other.
pub(crate) const FORWARD: &str = "/replicas/forward";

/// What a front knows of the other replicas.
#[derive(Debug)]
pub(crate) struct FrontReplicas {
    pub(crate) seal: Arc<Seal>,
    pub(crate) others: Arc<dyn Replicas>,
    // Held for one look.
    seen: Mutex<SeenRequests, rank::SeenForwards>,
    /// A place for each request that is passed on.
    places: Semaphore,
    /// In KiB.
    large: Arc<Semaphore>,
}

/// Room for a request that is passed on, until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct ForwardRoom {
    _large: Option<OwnedSemaphorePermit>,
}

impl FrontReplicas {
    pub(crate) fn new(seal: Arc<Seal>, others: Arc<dyn Replicas>) -> Self {
        let large = Arc::new(Semaphore::new(FORWARDED_BYTES / KIB));
        Self { seal, others, seen: Mutex::default(), places: Semaphore::new(FORWARDS), large }
    }

    /// `None`: too much waits for other replicas.
    fn room_for(&self, bytes: usize) -> Option<ForwardRoom> {
        room_for(&self.large, bytes)
    }

    /// Notes the number of a request. False: it was here before, or there is no room to remember it.
    pub(crate) fn is_first(&self, token: &RequestToken) -> bool {
        self.seen.lock().note(token.number, token.expires, self.seal.now())
    }
}

/// The other replica that has the session which a request names, unless the request was passed on itself.
pub(crate) fn holder_of_session(request: &HttpRequest<'_, '_>, name: &[u8]) -> Option<ReplicaId> {
    if request.peer.is_forwarded {
        return None;
    }
    request.front.sessions.names.holder_elsewhere(name)
}

fn room_for(large: &Arc<Semaphore>, bytes: usize) -> Option<ForwardRoom> {
    if bytes <= FORWARDED_SMALL {
        return Some(ForwardRoom::default());
    }
    let needed = u32::try_from(bytes.div_ceil(KIB)).ok()?;
    let permit = Arc::clone(large).try_acquire_many_owned(needed).ok()?;
    Some(ForwardRoom { _large: Some(permit) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_requests_that_wait_have_bounded_room_and_leave_small_ones_theirs() {
        let large = Arc::new(Semaphore::new(FORWARDED_BYTES / KIB));
        let size = 4 * 1024 * KIB;
        let mut held: Vec<_> = std::iter::from_fn(|| room_for(&large, size)).collect();
        assert_eq!(held.len(), FORWARDED_BYTES / size);
        assert!(room_for(&large, FORWARDED_SMALL).is_some());
        assert!(room_for(&large, FORWARDED_SMALL + 1).is_none());
        held.pop();
        assert!(room_for(&large, size).is_some());
    }
}
