//! `Pending`: the calls one server has open, by the id we gave them, and the messages it was sent that have
//! no answer.

use std::collections::hash_map::RandomState as Random;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::Arc;

use foldhash::fast::RandomState;
use tokio::sync::oneshot;
use trunkline_wire::FaultKind;

use crate::call::ReplyTo;
use crate::deadlines::Tick;
use crate::limits::OPEN_CALLS;
use crate::upstream::questions::cancelled::CancelledCalls;
use crate::upstream::questions::parked::Parked;
use crate::upstream::transport::UpstreamId;

// Nine or ten digits, and below 2^31: see `UpstreamId`.
const FIRST: UpstreamId = 100_000_000;
const LAST: UpstreamId = 2_000_000_000;

/// Who waits for an answer.
#[derive(Debug)]
pub(crate) enum Waiter {
    Client(ReplyTo),
    /// Trunkline itself, during a handshake or a listing: the whole response, or why there is none.
    Own(oneshot::Sender<Result<Vec<u8>, String>>),
    /// Trunkline itself, with a request to be told of changes: answered when the server tells no more.
    Listening(oneshot::Sender<Result<Vec<u8>, String>>),
    /// The call is parked: the server has asked something, and its client will come again.
    Parked(Arc<Parked>),
    /// A ping that tells how far the server has read: see `CancelledCalls`.
    Fence,
}

impl Waiter {
    /// Does a client get what the server answers, as it is?
    pub(in crate::upstream) fn is_of_client(&self) -> bool {
        matches!(self, Self::Client(_) | Self::Parked(_))
    }

    /// Is it open beside the calls, whatever comes?
    fn is_lasting(&self) -> bool {
        matches!(self, Self::Listening(_) | Self::Fence)
    }
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) waiter: Waiter,
    pub(crate) deadline: Option<Tick>,
    /// Position in the server's input behind this request: what was not written did not run.
    pub(crate) sent_at: u64,
}

/// What a call ends with if an answer without an id is its own.
#[derive(Debug)]
pub(crate) enum Unowned {
    /// The server's own error: the whole message.
    Refusal(Vec<u8>),
    Broken(FaultKind),
}

#[derive(Debug)]
pub(crate) struct Pending {
    open: CallTable<Entry>,
    last: UpstreamId,
    /// Numbers are being used again: each has to be looked up first.
    went_round: bool,
    /// The connection is over.
    pub(crate) closed: bool,
    pub(crate) cancelled: CancelledCalls,
    pub(crate) notices: Notices,
    /// Calls that an answer without an id may belong to: what they end with unless theirs comes soon.
    /// No more than are open, but for those that were answered within `REAL_ANSWER`.
    pub(crate) suspected: HashMap<UpstreamId, Unowned>,
}

impl Pending {
    pub(crate) fn new() -> Self {
        // A random start: an answer to an earlier run of the server does not fit a call of this
        // one. The hasher's keys are random enough for that.
        let random = Random::new().build_hasher().finish() % 100_000_000;
        let last = FIRST + UpstreamId::try_from(random).unwrap_or_default();
        Self {
            open: CallTable::default(),
            last,
            went_round: false,
            closed: false,
            cancelled: CancelledCalls::default(),
            notices: Notices::default(),
            suspected: HashMap::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// An id that is not in use, or `None` if too many are.
    pub(crate) fn next_id(&mut self) -> Option<UpstreamId> {
        // Far fewer than there are ids, so that the search below ends.
        if self.closed || self.open.len() >= OPEN_CALLS {
            return None;
        }
        loop {
            if self.last < LAST {
                self.last += 1;
            } else {
                self.last = FIRST;
                self.went_round = true;
                self.notices.start_over();
            }
            if !self.went_round || self.open.get(self.last).is_none() {
                return Some(self.last);
            }
        }
    }

    pub(crate) fn insert(&mut self, id: UpstreamId, entry: Entry) {
        self.open.insert(id, entry);
    }

    pub(crate) fn get(&self, id: UpstreamId) -> Option<&Entry> {
        self.open.get(id)
    }

    pub(crate) fn remove(&mut self, id: UpstreamId) -> Option<Entry> {
        self.open.remove(id)
    }

    /// Takes out the request that the server has answered.
    #[inline]
    pub(crate) fn take_answered(&mut self, id: UpstreamId) -> Option<Entry> {
        let entry = self.open.remove(id)?;
        self.notices.passed(id);
        Some(entry)
    }

    /// Something that has no answer is being sent.
    pub(crate) fn note_notice(&mut self) {
        self.notices.sent(self.last);
    }

    /// The only open call, if there is exactly one.
    pub(crate) fn only(&self) -> Option<UpstreamId> {
        let mut calls = self.open.iter().filter(|(_, entry)| !entry.waiter.is_lasting());
        calls.next().filter(|_| calls.next().is_none()).map(|(id, _)| id)
    }

    pub(crate) fn expired(&self, now: Tick) -> Vec<UpstreamId> {
        let late = |entry: &Entry| entry.deadline.is_some_and(|deadline| deadline <= now);
        self.open.iter().filter(|(_, entry)| late(entry)).map(|(id, _)| id).collect()
    }

    pub(crate) fn get_mut(&mut self, id: UpstreamId) -> Option<&mut Entry> {
        self.open.get_mut(id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (UpstreamId, &Waiter)> {
        self.open.iter().map(|(id, entry)| (id, &entry.waiter))
    }

    /// Takes all calls out, in the order in which they came, and accepts no more: a later call is refused at once.
    pub(crate) fn close(&mut self) -> Vec<(UpstreamId, Entry)> {
        // Under the same lock as `next_id`: no call can come in behind those that are taken out.
        self.closed = true;
        let mut calls = self.open.take();
        // Once numbers are used again, those above the last one are older.
        calls.sort_unstable_by_key(|(id, _)| (*id <= self.last, *id));
        calls
    }
}

/// Messages without an answer (notifications, and our answers to a server's questions). Many servers
/// answer them all the same, with `"id":null`: that is about no call.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    /// The last id given to a request before the latest notice. `None`: the server has answered a
    /// request that was sent later, so it has read them all.
    before: Option<UpstreamId>,
    /// How many it has not answered.
    unanswered: usize,
    /// It has answered one. Such a server may answer the next only after a request that was sent later:
    /// over several connections, or where it works on several messages at a time.
    answers: bool,
}

impl Notices {
    /// One is being sent; `last`: the last id given to a request.
    pub(crate) fn sent(&mut self, last: UpstreamId) {
        self.before = Some(last);
        self.unanswered = self.unanswered.saturating_add(1);
    }

    /// The server has answered this request.
    #[inline]
    pub(crate) fn passed(&mut self, id: UpstreamId) {
        if self.before.is_some_and(|before| id > before) {
            self.before = None;
        }
    }

    /// An answer without an id has come: takes it for the answer to a notice if it may be one.
    pub(crate) fn take_answer(&mut self) -> bool {
        let may_be = self.before.is_some() || (self.answers && self.unanswered > 0);
        if may_be {
            self.answers = true;
            self.unanswered = self.unanswered.saturating_sub(1);
        }
        may_be
    }

    /// Ids start anew: those to come are smaller, and later all the same.
    pub(crate) fn start_over(&mut self) {
        self.before = None;
    }
}

/// A table whose keys count up. Recent entries lie in a row, so that finding one is a subtraction; entries
/// that outlast hundreds of younger ones move to a map.
#[derive(Debug)]
pub(in crate::upstream) struct CallTable<T> {
    /// Those numbered from `first` on, without a gap: `None` is over, or never was.
    recent: VecDeque<Option<T>>,
    first: u32,
    old: HashMap<u32, T, RandomState>,
    len: usize,
}

/// The row is at most this long.
// One call that stays open for hours must not make the row as long as all that came after it.
const ROW: usize = 512;

/// Capacity that is kept when no call is open.
// A burst must not cost a connection its memory for as long as it lasts.
const KEPT_CAPACITY: usize = 1024;

impl<T> Default for CallTable<T> {
    fn default() -> Self {
        Self { recent: VecDeque::new(), first: 0, old: HashMap::default(), len: 0 }
    }
}

impl<T> CallTable<T> {
    pub(in crate::upstream) fn len(&self) -> usize {
        self.len
    }

    fn place(&self, number: u32) -> Option<usize> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        (place < self.recent.len()).then_some(place)
    }

    pub(in crate::upstream) fn get(&self, number: u32) -> Option<&T> {
        match self.place(number) {
            Some(place) => self.recent.get(place)?.as_ref(),
            None => self.old.get(&number),
        }
    }

    pub(in crate::upstream) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        match self.place(number) {
            Some(place) => self.recent.get_mut(place)?.as_mut(),
            None => self.old.get_mut(&number),
        }
    }

    /// Notes it under a number that nothing is open under.
    #[inline]
    pub(in crate::upstream) fn insert(&mut self, number: u32, value: T) {
        self.len += 1;
        if self.recent.is_empty() {
            self.first = number;
        }
        let place = number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        match place.filter(|place| (self.recent.len()..ROW).contains(place)) {
            Some(place) => {
                self.recent.resize_with(place, || None);
                self.recent.push_back(Some(value));
            }
            None => self.insert_elsewhere(number, value),
        }
    }

    /// It is not next in the row, or the row is full.
    #[cold]
    fn insert_elsewhere(&mut self, number: u32, value: T) {
        if self.place(number).is_some() {
            self.old.insert(number, value); // numbers went round
            return;
        }
        let row = std::mem::take(&mut self.recent);
        let numbered = (self.first..).zip(row);
        self.old.extend(numbered.filter_map(|(number, value)| Some((number, value?))));
        self.first = number;
        self.recent.push_back(Some(value));
    }

    #[inline]
    pub(in crate::upstream) fn remove(&mut self, number: u32) -> Option<T> {
        let removed = match self.place(number) {
            Some(place) => self.recent.get_mut(place).and_then(Option::take),
            None => None,
        };
        let removed = match removed {
            Some(removed) => removed,
            None => self.old.remove(&number)?,
        };
        self.len -= 1;
        while let Some(None) = self.recent.front() {
            self.recent.pop_front();
            self.first += 1;
        }
        if self.len == 0 && self.recent.capacity() + self.old.capacity() > KEPT_CAPACITY {
            self.recent.shrink_to(0);
            self.old.shrink_to(0);
        }
        Some(removed)
    }

    pub(in crate::upstream) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let recent = (self.first..).zip(&self.recent);
        let recent = recent.filter_map(|(number, value)| Some((number, value.as_ref()?)));
        recent.chain(self.old.iter().map(|(number, value)| (*number, value)))
    }

    /// Everything; nothing stays.
    pub(in crate::upstream) fn take(&mut self) -> Vec<(u32, T)> {
        let Self { recent, first, old, .. } = std::mem::take(self);
        let recent = (first..).zip(recent);
        recent.filter_map(|(number, value)| Some((number, value?))).chain(old).collect()
    }

    #[cfg(test)]
    pub(in crate::upstream) fn capacity(&self) -> usize {
        self.recent.capacity() + self.old.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        let (sender, _) = oneshot::channel();
        Entry { waiter: Waiter::Own(sender), deadline: None, sent_at: 0 }
    }

    #[test]
    fn an_id_finds_its_entry_once() {
        let mut pending = Pending::new();
        let id = pending.next_id().unwrap();
        pending.insert(id, entry());
        assert_eq!(pending.only(), Some(id));
        assert!(pending.get(id).is_some());
        assert!(pending.remove(id).is_some());
        assert!(pending.remove(id).is_none());
        assert_eq!(pending.len(), 0);
    }

    #[test]
    fn ids_go_round_and_skip_what_is_open() {
        let mut pending = Pending::new();
        pending.last = LAST - 1;
        let first = pending.next_id().unwrap();
        pending.insert(first, entry());
        assert_eq!(first, LAST);
        pending.insert(FIRST, entry());
        assert_eq!(pending.next_id(), Some(FIRST + 1));
        assert!(i32::try_from(LAST).is_ok());
    }

    #[test]
    fn what_is_over_takes_nothing_more() {
        let mut pending = Pending::new();
        let id = pending.next_id().unwrap();
        pending.insert(id, entry());
        assert_eq!(pending.close().len(), 1);
        assert_eq!(pending.next_id(), None);
    }

    #[test]
    fn the_bound_holds() {
        let mut pending = Pending::new();
        let mut ids = Vec::new();
        while let Some(id) = pending.next_id() {
            pending.insert(id, entry());
            ids.push(id);
        }
        assert_eq!(ids.len(), OPEN_CALLS);
        for id in ids {
            assert!(pending.remove(id).is_some());
        }
        assert!(pending.next_id().is_some());
    }

    #[test]
    fn an_answer_without_an_id_is_about_a_notice_until_a_later_request_is_answered() {
        let mut notices = Notices::default();
        assert!(!notices.take_answer(), "nothing was told");
        notices.sent(10);
        notices.passed(9);
        notices.passed(10);
        assert!(notices.take_answer(), "both were sent before");
        notices.passed(11);
        assert!(!notices.take_answer(), "it has read what it was told, and answered it");
    }

    #[test]
    fn a_server_that_answers_notices_may_do_so_late() {
        let mut notices = Notices::default();
        notices.sent(10);
        notices.passed(11);
        assert!(!notices.take_answer(), "it has never answered one");
        notices.sent(11);
        assert!(notices.take_answer());
        notices.passed(12);
        assert!(notices.take_answer(), "the first is still unanswered");
        notices.sent(12);
        notices.passed(13);
        assert!(notices.take_answer(), "as it does");
        assert!(!notices.take_answer(), "one answer for each");
    }

    /// A thing that knows its number, among everything that is open.
    fn check(open: &CallTable<u32>, expected: &[u32]) {
        let mut all: Vec<u32> = open
            .iter()
            .map(|(number, value)| {
                assert_eq!(number, *value);
                number
            })
            .collect();
        all.sort_unstable();
        assert_eq!(all, expected);
        assert_eq!(open.len(), expected.len());
        for number in expected {
            assert_eq!(open.get(*number), Some(number));
        }
    }

    #[test]
    fn what_is_removed_is_gone_and_nothing_else() {
        let mut open = CallTable::default();
        for number in [100, 101, 103, 104] {
            open.insert(number, number);
        }
        check(&open, &[100, 101, 103, 104]);
        assert_eq!(open.get(102), None);
        assert_eq!((open.remove(102), open.remove(99), open.remove(105)), (None, None, None));
        assert_eq!(open.remove(101), Some(101));
        assert_eq!(open.remove(101), None);
        assert_eq!(open.remove(100), Some(100));
        check(&open, &[103, 104]);
        *open.get_mut(104).unwrap() = 104;
        assert_eq!(open.take().len(), 2);
        check(&open, &[]);
    }

    #[test]
    fn what_lasts_does_not_keep_the_row_long() {
        let mut open = CallTable::default();
        open.insert(1, 1);
        for number in 2..50_000 {
            open.insert(number, number);
            assert_eq!(open.remove(number), Some(number));
            assert!(open.recent.len() <= ROW);
        }
        check(&open, &[1]);
        open.insert(60_000, 60_000);
        check(&open, &[1, 60_000]);
        assert_eq!(open.remove(1), Some(1));
        check(&open, &[60_000]);
    }

    #[test]
    fn numbers_may_begin_again() {
        let mut open = CallTable::default();
        for number in [7, 8, 9, 2, 3, 8_000, 4] {
            open.insert(number, number);
        }
        check(&open, &[2, 3, 4, 7, 8, 9, 8_000]);
        open.insert(5, 5);
        for number in [2, 3, 4, 5, 7, 8, 9, 8_000] {
            assert_eq!(open.remove(number), Some(number));
        }
        check(&open, &[]);
    }

    #[test]
    fn a_burst_is_given_back() {
        let mut open = CallTable::default();
        for number in 0..20_000 {
            open.insert(number, number);
        }
        assert_eq!(open.len(), 20_000);
        for number in (0..20_000).rev() {
            assert_eq!(open.remove(number), Some(number));
        }
        assert!(open.capacity() <= KEPT_CAPACITY);
    }
}
