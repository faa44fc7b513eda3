//! Calls that were given up, for as long as their server may be about them: what it asks meanwhile may be on behalf
//! of one of them, and is nobody else's business.

use std::collections::VecDeque;
use std::sync::Weak;

use tokio::time::Instant;

use crate::limits::{GIVEN_UP, GIVEN_UP_CALLS};
use crate::upstream::questions::attribution::Caller;
use crate::upstream::transport::UpstreamId;

/// A server is told that a call is not wanted any more, but need not stop, nor answer. So a call that was given up
/// counts twice:
///
/// - A ping behind the cancellation is the fence: a server that has answered it has read, in order, that the call is
///   not wanted. Until then, nothing that it says is known to be about another. One fence stands for all that were
///   given up before it was sent; there is never more than one.
/// - Beyond that, until the server has answered the call or enough time has passed, what it *asks* may be for it.
#[derive(Debug, Default)]
pub(crate) struct CancelledCalls {
    fence: Option<UpstreamId>,
    /// Whose calls were cancelled before the fence was sent.
    before: Vec<Caller>,
    /// And since.
    since: Vec<Caller>,
    /// Those that the server has not answered, the oldest first.
    unanswered: VecDeque<UnansweredCall>,
    /// More callers have given up calls than are remembered, the last of those forgotten at this time.
    forgotten: Option<Instant>,
}

#[derive(Debug)]
struct UnansweredCall {
    /// `None`: it stands for several calls of its caller, and no single answer is enough.
    id: Option<UpstreamId>,
    who: Caller,
    at: Instant,
}

impl CancelledCalls {
    /// This call is taken out of the open ones without an answer.
    pub(crate) fn note(&mut self, id: UpstreamId, who: Caller, now: Instant) {
        self.unanswered.retain(|call| is_recent(call.at, now));
        let mut new = UnansweredCall { id: Some(id), who, at: now };
        if self.unanswered.len() >= GIVEN_UP_CALLS {
            // One that gives up many has one place; of as many callers, nobody knows any more who they are.
            match self.unanswered.iter().position(|call| call.who == new.who) {
                Some(same) => {
                    self.unanswered.remove(same);
                    new.id = None;
                }
                None => self.forgotten = self.unanswered.pop_front().map(|call| call.at),
            }
        }
        self.unanswered.push_back(new);
    }

    /// The server has answered a request that is not open.
    pub(crate) fn answered(&mut self, id: UpstreamId) {
        self.unanswered.retain(|call| call.id != Some(id));
    }

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
        self.before_fence().all(|gone| gone == who)
    }

    /// Whose calls the server may not know to be cancelled.
    fn before_fence(&self) -> impl Iterator<Item = &Caller> {
        self.before.iter().chain(&self.since)
    }

    /// Whose calls the server may ask something for, although they were given up.
    pub(crate) fn askers(&self, now: Instant) -> Vec<Caller> {
        let late = self.unanswered.iter().filter(|call| is_recent(call.at, now));
        let known = self.before_fence().chain(late.map(|call| &call.who)).cloned();
        // Nobody is like one that was forgotten.
        let forgotten = self.forgotten.filter(|at| is_recent(*at, now));
        known.chain(forgotten.map(|_| Caller::Anyone(Weak::new()))).collect()
    }

    /// Has the server read that all of them are cancelled?
    pub(crate) fn is_empty(&self) -> bool {
        self.before.is_empty() && self.since.is_empty()
    }
}

/// A server that still works on a call that was given up so long ago is not expected to ask for it.
fn is_recent(at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(at) < GIVEN_UP
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

    #[test]
    fn a_call_may_be_asked_for_until_it_is_answered_or_its_time_is_over() {
        let (one, other, now) = (somebody(), somebody(), Instant::now());
        let mut given_up = CancelledCalls::default();
        given_up.note(1, one.clone(), now);
        given_up.note(2, one.clone(), now);
        given_up.note(3, other.clone(), now + GIVEN_UP / 2);
        assert!(given_up.is_empty(), "that is about the fence");
        assert_eq!(given_up.askers(now), [one.clone(), one.clone(), other.clone()]);
        given_up.answered(1);
        given_up.answered(7);
        assert_eq!(given_up.askers(now), [one.clone(), other.clone()], "its second call is open");
        assert!(given_up.askers(now + GIVEN_UP) == std::slice::from_ref(&other));
        given_up.answered(3);
        assert!(given_up.askers(now + GIVEN_UP).is_empty());
        // However fast the server has answered the ping.
        given_up.add(other.clone());
        given_up.sent(None);
        given_up.note(4, other.clone(), now);
        assert_eq!(given_up.askers(now), [one, other]);
    }

    #[test]
    fn one_that_gives_up_many_calls_has_one_place_and_many_callers_are_nobody() {
        let (one, now) = (somebody(), Instant::now());
        let mut given_up = CancelledCalls::default();
        let many = UpstreamId::try_from(GIVEN_UP_CALLS).unwrap();
        (0..2 * many).for_each(|id| given_up.note(id, one.clone(), now));
        assert_eq!(given_up.unanswered.len(), GIVEN_UP_CALLS);
        (0..2 * many).for_each(|id| given_up.answered(id));
        let left = given_up.askers(now);
        assert!(!left.is_empty() && left.iter().all(|who| *who == one), "not every answer counts");
        let mut given_up = CancelledCalls::default();
        (0..=many).for_each(|id| given_up.note(id, somebody(), now));
        (0..=many).for_each(|id| given_up.answered(id));
        let [nobody] = &given_up.askers(now)[..] else { panic!("one was forgotten") };
        assert!(*nobody != one && *nobody != somebody(), "nobody is asked because of it");
        assert!(given_up.askers(now + GIVEN_UP).is_empty());
    }
}
