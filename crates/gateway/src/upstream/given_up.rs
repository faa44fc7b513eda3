//! Calls that were given up, for as long as their server may not know: what it asks meanwhile may be
//! on behalf of one of them, and is nobody else's business.

use std::ptr;
use std::sync::{Arc, Weak};

use crate::call::Client;
use crate::upstream::pending::UpstreamId;

/// A ping behind the cancellation is the fence: a server that has answered it has read, in order,
/// that the call is not wanted any more. One fence stands for all that were given up before it was
/// sent; there is never more than one.
#[derive(Debug, Default)]
pub(crate) struct GivenUp {
    fence: Option<UpstreamId>,
    /// Whose calls were cancelled before the fence was sent.
    before: Vec<Weak<Client>>,
    /// And since.
    since: Vec<Weak<Client>>,
}

impl GivenUp {
    /// A call of this client's is being cancelled. True: a fence is to be sent.
    pub(crate) fn add(&mut self, client: &Arc<Client>) -> bool {
        let known = |weak: &Weak<Client>| ptr::eq(weak.as_ptr(), Arc::as_ptr(client));
        if !self.since.iter().any(known) {
            self.since.push(Arc::downgrade(client));
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

    /// Is this client the only one whom something unattributed may concern?
    pub(crate) fn spares(&self, client: &Arc<Client>) -> bool {
        let mut clients = self.before.iter().chain(&self.since);
        clients.all(|weak| ptr::eq(weak.as_ptr(), Arc::as_ptr(client)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.before.is_empty() && self.since.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_stands_for_what_was_given_up_before_it() {
        let (one, other) = (Arc::new(Client::default()), Arc::new(Client::default()));
        let mut given_up = GivenUp::default();
        assert!(given_up.spares(&one), "nothing was given up");
        assert!(given_up.add(&one), "a fence is due");
        given_up.sent(Some(1));
        assert!(given_up.spares(&one), "its own");
        assert!(!given_up.spares(&other));
        assert!(!given_up.add(&other), "one is on its way");
        assert!(!given_up.add(&other));
        assert!(!given_up.spares(&one));
        assert!(given_up.passed(), "what came since needs one of its own");
        assert!(given_up.spares(&other) && !given_up.spares(&one));
        given_up.sent(Some(2));
        assert!(!given_up.passed());
        assert!(given_up.is_empty() && given_up.spares(&one));
    }

    #[test]
    fn without_a_fence_nothing_is_remembered() {
        let mut given_up = GivenUp::default();
        assert!(given_up.add(&Arc::default()));
        given_up.sent(None);
        assert!(given_up.is_empty());
    }

    #[test]
    fn a_client_that_has_gone_is_still_somebody_else() {
        let mut given_up = GivenUp::default();
        given_up.add(&Arc::default());
        assert!(!given_up.spares(&Arc::default()));
    }
}
