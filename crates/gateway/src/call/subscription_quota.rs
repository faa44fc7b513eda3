//! `SubscriptionQuota`: how many resources one session is subscribed to, at all servers together, as a part of what
//! its caller may.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::error::CallError;
use crate::limiter::{CallerAccount, SubscriptionRoom};
use crate::limits::{SUBSCRIBED_BYTES, SUBSCRIBED_URIS};

pub(crate) const TOO_MANY_SUBSCRIPTIONS: CallError =
    CallError::TooManySubscriptions { uris: SUBSCRIBED_URIS, bytes: SUBSCRIBED_BYTES };

#[derive(Debug, Default)]
pub(crate) struct SubscriptionQuota {
    uris: AtomicUsize,
    bytes: AtomicUsize,
    /// Whose the session is, where that is limited.
    caller: OnceLock<Arc<CallerAccount>>,
}

/// One resource of it; given back when dropped.
#[derive(Debug)]
pub(crate) struct SubscriptionShare {
    quota: Arc<SubscriptionQuota>,
    bytes: usize,
    _of_caller: Option<SubscriptionRoom>,
}

impl SubscriptionQuota {
    /// The session is this caller's.
    pub(crate) fn belongs_to(&self, caller: &Arc<CallerAccount>) {
        drop(self.caller.set(Arc::clone(caller))); // a session has one caller
    }

    /// Is the session subscribed to anything?
    pub(crate) fn has_any(&self) -> bool {
        // Relaxed: what is subscribed to at this moment was allowed at this moment.
        self.uris.load(Ordering::Relaxed) > 0
    }

    /// Room for so many resources of its caller, beside what this session may have.
    pub(crate) fn room(
        &self,
        uris: usize,
        bytes: usize,
    ) -> Result<Option<SubscriptionRoom>, CallError> {
        let room = self.caller.get().map(|caller| caller.subscribe(uris, bytes)).transpose();
        room.map_err(|overrun| CallError::Limited(Box::new(overrun)))
    }

    /// Takes one resource whose URI has so many bytes.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Result<SubscriptionShare, CallError> {
        // Counted first and given back by the share if it was one too many: two threads cannot both take the last.
        // Relaxed: the counters guard no other memory.
        let uris = self.uris.fetch_add(1, Ordering::Relaxed) + 1;
        let held = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let mut share = SubscriptionShare { quota: Arc::clone(self), bytes, _of_caller: None };
        if uris > SUBSCRIBED_URIS || held > SUBSCRIBED_BYTES {
            return Err(TOO_MANY_SUBSCRIPTIONS);
        }
        share._of_caller = self.room(1, bytes)?;
        Ok(share)
    }
}

impl Drop for SubscriptionShare {
    fn drop(&mut self) {
        // Relaxed: the counters guard no other memory. A place that is seen free a moment late is
        // refused once.
        self.quota.uris.fetch_sub(1, Ordering::Relaxed);
        self.quota.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_number_and_bytes_are_bounded() {
        let quota = Arc::new(SubscriptionQuota::default());
        let held: Vec<_> = (0..SUBSCRIBED_URIS).map(|_| quota.take(1).unwrap()).collect();
        assert!(quota.take(1).is_err());
        drop(held);
        let large = quota.take(SUBSCRIBED_BYTES).unwrap();
        assert!(quota.take(1).is_err());
        drop(large);
        assert!(quota.take(SUBSCRIBED_BYTES + 1).is_err());
        assert!(quota.take(1).is_ok(), "what was refused is given back");
    }
}
