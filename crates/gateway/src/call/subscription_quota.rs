//! `SubscriptionQuota`: how many resources one session is subscribed to, at all servers together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::CallError;
use crate::limits::{SUBSCRIBED_BYTES, SUBSCRIBED_URIS};

pub(crate) const TOO_MANY_SUBSCRIPTIONS: CallError =
    CallError::TooManySubscriptions { uris: SUBSCRIBED_URIS, bytes: SUBSCRIBED_BYTES };

#[derive(Debug, Default)]
pub(crate) struct SubscriptionQuota {
    uris: AtomicUsize,
    bytes: AtomicUsize,
}

/// One resource of it; given back when dropped.
#[derive(Debug)]
pub(crate) struct SubscriptionShare {
    quota: Arc<SubscriptionQuota>,
    bytes: usize,
}

impl SubscriptionQuota {
    /// Takes one resource whose URI has so many bytes.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Result<SubscriptionShare, CallError> {
        // Counted first and given back by the share if it was one too many: two threads cannot both take the last.
        // Relaxed: the counters guard no other memory.
        let uris = self.uris.fetch_add(1, Ordering::Relaxed) + 1;
        let held = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let share = SubscriptionShare { quota: Arc::clone(self), bytes };
        let fits = uris <= SUBSCRIBED_URIS && held <= SUBSCRIBED_BYTES;
        fits.then_some(share).ok_or(TOO_MANY_SUBSCRIPTIONS)
    }
}

impl Drop for SubscriptionShare {
    fn drop(&mut self) {
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
