//! Batches: several messages at once, answered at once, as revision 2025-03-26 has them.

use std::net::IpAddr;
use std::sync::Arc;

use crate::lock::{Mutex, rank};
use trunkline_wire::{Edits, Kind, Message, elements, scan};

use crate::call::{Payload, Responder, ResponseSink};
use crate::error::CallError;
use crate::limiter::AddressAccount;
use crate::limits::BATCH_MEMBERS;
use crate::pump::FlushSet;
use crate::session::request::{refuse, refuse_unread};

/// Takes the messages of a batch. Their answers leave as one array.
pub(super) fn take_batch(
    batch: &[u8],
    sink: &ResponseSink,
    touched: &mut FlushSet,
    take: impl Fn(&Message<'_>, &ResponseSink, &mut FlushSet),
) {
    let members: Vec<&[u8]> = elements(batch).map(|at| at.of(batch)).collect();
    // JSON-RPC 2.0, 6: an empty array is an invalid request, answered by one error and not by an
    // array.
    if members.is_empty() || members.len() > BATCH_MEMBERS {
        let why = format!("a batch has 1 to {BATCH_MEMBERS} messages");
        return refuse(b"null", &CallError::InvalidRequest(why), sink, touched);
    }
    // Counted before any is taken: an answer that comes at once must not find itself the last.
    let awaited = members.iter().filter(|member| is_answered(member)).count();
    if awaited == 0 {
        // JSON-RPC 2.0, 6: nothing is returned for a batch of notifications only.
        sink.unanswered(touched);
    }
    let answers = BatchAnswers { left: awaited, array: Vec::new() };
    let sink: ResponseSink =
        Arc::new(BatchSink { sink: sink.clone(), answers: Mutex::new(answers) });
    for member in members {
        match scan(member) {
            // 2025-03-26, Lifecycle, Initialization.
            Ok(message) if message.kind == Kind::Request && *message.method() == *b"initialize" => {
                let why = "initialize must not be part of a batch".to_owned();
                refuse(message.id(), &CallError::InvalidRequest(why), &sink, touched);
            }
            Ok(message) => take(&message, &sink, touched),
            Err(fault) => refuse_unread(member, fault, &sink, touched),
        }
    }
}

/// Will this member of a batch be answered? Broken ones are, with an error.
fn is_answered(member: &[u8]) -> bool {
    scan(member).map_or(true, |message| message.kind == Kind::Request)
}

/// Where the answers to a batch gather: they leave when the last one is there.
#[derive(Debug)]
struct BatchSink {
    /// Where the array leaves.
    sink: ResponseSink,
    // Released before the array leaves: the sink below takes locks of its own.
    answers: Mutex<BatchAnswers, rank::BatchAnswers>,
}

#[derive(Debug)]
struct BatchAnswers {
    left: usize,
    /// The array so far, without its last bracket.
    array: Vec<u8>,
}

impl BatchSink {
    /// One more is settled.
    fn settled(&self, touched: &mut FlushSet) -> bool {
        // Members may be answered on several threads: one of them settles the last.
        let mut answers = self.answers.lock();
        answers.left = answers.left.saturating_sub(1);
        if answers.left > 0 {
            return true;
        }
        let mut array = std::mem::take(&mut answers.array);
        drop(answers); // the sink may take other locks
        if array.is_empty() {
            self.sink.unanswered(touched);
            return true;
        }
        array.push(b']');
        self.sink.answer(Payload::Owned(array), &Edits::new(), touched)
    }
}

impl Responder for BatchSink {
    fn say(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        self.sink.say(bytes, edits, touched)
    }

    fn answer(&self, payload: Payload<'_>, edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        {
            let mut answers = self.answers.lock();
            // In the order in which they come: JSON-RPC 2.0, 6 lets the answers be in any order.
            let comma = if answers.array.is_empty() { b'[' } else { b',' };
            answers.array.push(comma);
            edits.write(payload.bytes(), &mut answers.array);
        }
        self.settled(touched)
    }

    fn unanswered(&self, touched: &mut FlushSet) {
        self.settled(touched);
    }

    fn address(&self) -> Option<&Arc<AddressAccount>> {
        self.sink.address()
    }

    fn peer(&self) -> Option<IpAddr> {
        self.sink.peer()
    }
}
