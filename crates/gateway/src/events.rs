//! What happens in the data plane, for whoever keeps account of it: events through one bounded queue
//! that never makes a call wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

/// Something that has happened.
#[derive(Clone, Debug)]
pub enum Event {
    CallEnded(CallEnded),
    /// Another request of somebody who had to say who that is, or one that was turned away.
    RequestEnded(RequestEnded),
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
    pub ended: Instant,
    pub duration: Duration,
    /// SHA-256 of the params as they were written.
    pub params_hash: [u8; 32],
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

/// The near end of the queue.
#[derive(Clone, Debug)]
pub struct EventSink {
    queue: mpsc::Sender<Event>,
    lost: Arc<AtomicU64>,
}

impl EventSink {
    /// A queue for so many events; what comes beyond is counted and dropped.
    pub fn new(capacity: usize) -> (Self, mpsc::Receiver<Event>) {
        let (queue, receiver) = mpsc::channel(capacity.max(1));
        (Self { queue, lost: Arc::default() }, receiver)
    }

    /// How many events found the queue full.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    pub(crate) fn put(&self, event: Event) {
        if self.queue.try_send(event).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
