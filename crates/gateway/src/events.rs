//! What happens in the data plane, for whoever keeps account of it: events through one bounded queue
//! that never makes a call wait.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::limits::{BLOCKED_CALLS, BLOCKED_LOOK};
use crate::lock::{Mutex, rank};
use crate::policy::PolicyRefusal;

/// Something that has happened.
#[derive(Clone, Debug)]
pub enum Event {
    CallEnded(CallEnded),
    /// Another request of somebody who had to say who that is, or one that was turned away.
    RequestEnded(RequestEnded),
    /// The scanner found something in a result.
    ResultFound(ResultFound),
    /// The state of a server has changed: the word for it, and the reason if it has failed.
    ServerChanged {
        server: Arc<str>,
        state: &'static str,
        why: Option<String>,
    },
}

/// One call of a tool and what came of it.
#[derive(Clone, Debug)]
pub struct CallEnded {
    /// What it was called when the call was made.
    pub server: Arc<str>,
    /// Which server that is, whatever it is called now.
    pub id: Arc<str>,
    /// As its server calls it.
    pub tool: String,
    /// Who called, if that is known.
    pub who: Option<Arc<str>>,
    pub outcome: Outcome,
    pub ended: Instant,
    /// From the moment it was understood until its answer was on its way.
    pub duration: Duration,
    /// SHA-256 of the arguments as they were written.
    pub argument_hash: [u8; 32],
    /// Of the whole request and the whole answer.
    pub bytes_in: usize,
    pub bytes_out: usize,
    pub manner: CallManner,
}

/// A request other than a call of a tool, or a call that went to no server.
#[derive(Clone, Debug)]
pub struct RequestEnded {
    pub method: String,
    /// The tool, prompt, resource or task it is about, as it was written.
    pub about: Option<String>,
    /// `None`: it was turned away before it had one.
    pub server: Option<Arc<str>>,
    pub who: Arc<str>,
    pub outcome: Outcome,
    /// Why policies refuse it, if they do.
    pub forbidden: Option<Arc<PolicyRefusal>>,
    pub ended: Instant,
    pub duration: Duration,
    /// SHA-256 of the params as they were written.
    pub params_hash: [u8; 32],
}

/// A result in which the scanner found something. Never its text.
#[derive(Clone, Debug)]
pub struct ResultFound {
    pub server: Arc<str>,
    /// Which server that is, whatever it is called now.
    pub id: Arc<str>,
    /// Who asked, if that is known.
    pub who: Option<Arc<str>>,
    /// `tool`, `prompt` or `resource`.
    pub kind: &'static str,
    /// As its server calls it.
    pub item: String,
    /// Of the worst finding.
    pub severity: &'static str,
    pub rule: &'static str,
    /// Where it stands in the response, as a JSON Pointer.
    pub pointer: String,
    /// How many more there are.
    pub more: usize,
}

/// How a client makes its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallManner {
    /// In a session.
    Session,
    /// Each standing for itself.
    Stateless,
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Ok,
    /// A result that says `isError`.
    ToolError,
    /// An error with this code, of the server or of our own.
    RpcError(i64),
    Timeout,
    /// Its server went.
    Gone {
        may_have_run: bool,
    },
    /// Its server was not there or took no more: it did not run.
    Refused,
    Cancelled,
    /// Its client was asked something and will come again.
    Asked,
}

impl Event {
    /// Did the request not run? Who made it, and its method.
    fn refused(&self) -> Option<RefusedKind> {
        match self {
            Self::CallEnded(CallEnded { outcome: Outcome::Refused, who, .. }) => {
                Some((who.clone().unwrap_or_else(|| "".into()), "tools/call".to_owned()))
            }
            Self::RequestEnded(RequestEnded { outcome: Outcome::Refused, who, method, .. }) => {
                Some((Arc::clone(who), method.clone()))
            }
            _ => None,
        }
    }
}

/// Who was refused, and the method.
pub type RefusedKind = (Arc<str>, String);

/// Callers and methods whose refusals are told apart while the queue is full; further ones are counted as
/// those of nobody. Some 100 bytes each.
const REFUSED_KINDS: usize = 1_024;

/// The near end of the queue.
#[derive(Clone, Debug)]
pub struct EventSink {
    queue: mpsc::Sender<Event>,
    // Relaxed where it is used: a count that is only shown.
    lost: Arc<AtomicU64>,
    /// Refusals that found no room.
    // Low in the order: refusals come from everywhere. Held to count one, or to take all.
    refused: Arc<Mutex<HashMap<RefusedKind, u64>, rank::RefusedCounts>>,
    /// While it is true, nothing that would have to be recorded may run.
    is_stuck: Option<Arc<AtomicBool>>,
    /// Requests that may not run now wait a while.
    waits: bool,
    /// One place for each request that waits.
    places: Arc<Semaphore>,
}

/// May a request run that has to be recorded?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordRoom {
    Yes,
    /// Not now: it waits.
    Later,
    No,
}

impl EventSink {
    /// A queue for so many events; what comes beyond is counted and dropped.
    pub fn new(capacity: usize) -> (Self, mpsc::Receiver<Event>) {
        let (queue, receiver) = mpsc::channel(capacity.max(1));
        let refused = Arc::new(Mutex::new(HashMap::new()));
        let places = Arc::new(Semaphore::new(BLOCKED_CALLS));
        (
            Self { queue, lost: Arc::default(), refused, is_stuck: None, waits: false, places },
            receiver,
        )
    }

    /// Requests are refused while this is true, and while the queue is more than half full: what cannot be
    /// recorded does not run.
    #[must_use]
    pub fn required(self, is_stuck: Arc<AtomicBool>) -> Self {
        Self { is_stuck: Some(is_stuck), ..self }
    }

    /// Requests that would be refused wait for a while instead.
    #[must_use]
    pub fn waiting(self) -> Self {
        Self { waits: true, ..self }
    }

    pub(crate) fn room(&self) -> RecordRoom {
        match (self.may_run(), self.waits) {
            (true, _) => RecordRoom::Yes,
            (false, true) => RecordRoom::Later,
            (false, false) => RecordRoom::No,
        }
    }

    /// A place among the requests that wait, if one is free.
    pub(crate) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Returns when requests may run again.
    pub(crate) async fn until_room(&self) {
        while !self.may_run() {
            tokio::time::sleep(BLOCKED_LOOK).await;
        }
    }

    fn may_run(&self) -> bool {
        // Relaxed: a flag alone; nothing is read because of it.
        let is_stuck = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed) || !self.has_room();
        !self.is_stuck.as_ref().is_some_and(is_stuck)
    }

    /// Refusals since they were last asked for that were only counted.
    pub fn take_refused(&self) -> HashMap<RefusedKind, u64> {
        std::mem::take(&mut *self.refused.lock())
    }

    /// How many events found the queue full.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    pub(crate) fn put(&self, event: Event) {
        // A refusal costs its caller nothing: a flood of them must not take the room of calls that ran.
        if !self.has_room()
            && let Some(kind) = event.refused()
        {
            return self.count(kind);
        }
        if self.queue.try_send(event).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Is at least half of the queue free?
    fn has_room(&self) -> bool {
        self.queue.capacity() * 2 >= self.queue.max_capacity()
    }

    fn count(&self, kind: RefusedKind) {
        let mut refused = self.refused.lock();
        let is_known = refused.len() < REFUSED_KINDS || refused.contains_key(&kind);
        let kind = if is_known { kind } else { ("".into(), String::new()) };
        *refused.entry(kind).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(who: &str) -> Event {
        Event::RequestEnded(RequestEnded {
            method: "tools/call".to_owned(),
            about: None,
            server: None,
            who: who.into(),
            outcome: Outcome::Refused,
            forbidden: None,
            ended: Instant::now(),
            duration: Duration::ZERO,
            params_hash: [0; 32],
        })
    }

    #[test]
    fn refusals_leave_half_of_the_queue_to_calls_that_ran() {
        let (sink, mut events) = EventSink::new(8);
        for _ in 0..1_000 {
            sink.put(refusal("a"));
        }
        let call = || Event::ServerChanged { server: Arc::from("s"), state: "running", why: None };
        (0..3).for_each(|_| sink.put(call()));
        assert_eq!(sink.lost(), 0);
        let waiting = std::iter::from_fn(|| events.try_recv().ok()).count();
        assert_eq!(waiting, 8);
        let counted = sink.take_refused();
        assert_eq!(counted.get(&("a".into(), "tools/call".to_owned())), Some(&995));
        assert!(sink.take_refused().is_empty());
    }

    #[test]
    fn what_cannot_be_recorded_does_not_run_where_it_must_be() {
        let (sink, mut events) = EventSink::new(8);
        assert!(sink.may_run());
        let flag = Arc::new(AtomicBool::new(true));
        let sink = sink.required(Arc::clone(&flag));
        assert!(!sink.may_run());
        flag.store(false, Ordering::Relaxed);
        assert!(sink.may_run());
        (0..5).for_each(|_| sink.put(refusal("a")));
        assert!(!sink.may_run(), "more than half full");
        assert!(events.try_recv().is_ok() && sink.may_run());
        flag.store(true, Ordering::Relaxed);
        assert_eq!(sink.room(), RecordRoom::No);
        assert_eq!(sink.waiting().room(), RecordRoom::Later);
    }

    #[test]
    fn a_full_queue_is_counted_and_waits_for_nobody() {
        let (sink, mut events) = EventSink::new(2);
        for _ in 0..5 {
            sink.put(Event::ServerChanged { server: Arc::from("s"), state: "running", why: None });
        }
        assert_eq!(sink.lost(), 3);
        assert!(events.try_recv().is_ok());
        assert!(events.try_recv().is_ok());
        assert!(events.try_recv().is_err());
    }
}
