//! Calls that were given up, for as long as their server may not know: what it asks meanwhile may be
//! on behalf of one of them, and is nobody else's business.

use crate::upstream::questions::attribution::Caller;
use crate::upstream::transport::UpstreamId;

/// A ping behind the cancellation is the fence: a server that has answered it has read, in order,
/// that the call is not wanted any more. One fence stands for all that were given up before it was
/// sent; there is never more than one.
#[derive(Debug, Default)]
pub(crate) struct CancelledCalls {
    fence: Option<UpstreamId>,
    /// Whose calls were cancelled before the fence was sent.
    before: Vec<Caller>,
    /// And since.
    since: Vec<Caller>,
}

impl CancelledCalls {
    /// A call of this one's is being cancelled. True: a fence is to be sent.
    pub(crate) fn add(&mut self, who: Caller) -> bool {
        // Once per caller: the list is no longer than there are callers, however many calls are
        // cancelled.
        if !self.since.contains(&who) {
            self.since.push(who);
        }
        self.fence.is_none()
    }

    /// The fence has been sent under this id; `None`: it could not be.
    pub(crate) fn sent(&mut self, fence: Option<UpstreamId>) {
        self.fence = fence;
        self.before = std::mem::take(&mut self.since);
        if fence.is_none() {
            self.before.clear();
        }
    }

    /// The fence has been answered, or never will be. True: another one is to be sent.
    pub(crate) fn passed(&mut self) -> bool {
        self.fence = None;
        self.before.clear();
        !self.since.is_empty()
    }

    /// Is this the only one whom something unattributed may concern?
    pub(crate) fn spares(&self, who: &Caller) -> bool {
        self.all().all(|gone| gone == who)
    }

    /// Whose calls the server may still be about.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Caller> {
        self.before.iter().chain(&self.since)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.before.is_empty() && self.since.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Weak};

    use super::*;
    use crate::call::Client;

    fn somebody() -> Caller {
        let client: Weak<Client> = Arc::downgrade(&Arc::default());
        Caller::Session(client)
    }

    #[test]
    fn a_fence_stands_for_what_was_given_up_before_it() {
        let (one, other) = (somebody(), somebody());
        let mut given_up = CancelledCalls::default();
        assert!(given_up.spares(&one), "nothing was given up");
        assert!(given_up.add(one.clone()), "a fence is due");
        given_up.sent(Some(1));
        assert!(given_up.spares(&one), "its own");
        assert!(!given_up.spares(&other));
        assert!(!given_up.add(other.clone()), "one is on its way");
        assert!(!given_up.add(other.clone()));
        assert!(!given_up.spares(&one));
        assert!(given_up.passed(), "what came since needs one of its own");
        assert!(given_up.spares(&other) && !given_up.spares(&one));
        given_up.sent(Some(2));
        assert!(!given_up.passed());
        assert!(given_up.is_empty() && given_up.spares(&one));
    }

    #[test]
    fn without_a_fence_nothing_is_remembered() {
        let mut given_up = CancelledCalls::default();
        assert!(given_up.add(somebody()));
        given_up.sent(None);
        assert!(given_up.is_empty());
    }

    #[test]
    fn a_client_that_has_gone_is_still_somebody_else() {
        let mut given_up = CancelledCalls::default();
        given_up.add(somebody());
        assert!(!given_up.spares(&somebody()));
    }
}
