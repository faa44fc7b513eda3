//! Several messages at once, as revision 2025-03-26 has them: answered at once, too.

use std::sync::Arc;

use trunkline_wire::{Edits, Kind, elements, scan};

use crate::call::{Payload, Responder, ResponseSink};
use crate::error::CallError;
use crate::limits::BATCH_MEMBERS;
use crate::lock::{Mutex, rank};
use crate::pump::FlushSet;
use crate::registry::Snapshot;
use crate::session::Session;
use crate::session::asked::{refuse, refuse_unread};

impl Session {
    pub(super) fn receive_batch(
        self: &Arc<Self>,
        batch: &[u8],
        door: &ResponseSink,
        snapshot: &Snapshot,
        touched: &mut FlushSet,
    ) {
        let members: Vec<&[u8]> = elements(batch).map(|at| at.of(batch)).collect();
        if members.is_empty() || members.len() > BATCH_MEMBERS {
            let why = format!("a batch has 1 to {BATCH_MEMBERS} messages");
            return refuse(b"null", &CallError::InvalidRequest(why), door, touched);
        }
        let awaited = members.iter().filter(|member| is_answered(member)).count();
        if awaited == 0 {
            door.unanswered(touched);
        }
        let gathered = Gathered { door: door.clone(), left: awaited, answers: Vec::new() };
        let together = ResponseSink::Responder(Arc::new(Together(Mutex::new(gathered))));
        for member in members {
            match scan(member) {
                Ok(message)
                    if message.kind == Kind::Request && *message.method() == *b"initialize" =>
                {
                    let why = "initialize must not be part of a batch".to_owned();
                    let error = CallError::InvalidRequest(why);
                    refuse(message.id(), &error, &together, touched);
                }
                Ok(message) => self.take(&message, &together, snapshot, touched),
                Err(fault) => refuse_unread(member, fault, &together, touched),
            }
        }
    }
}

/// Will this member of a batch be answered? Broken ones are, with an error.
fn is_answered(member: &[u8]) -> bool {
    scan(member).map_or(true, |message| message.kind == Kind::Request)
}

/// The door of a batch: the answers leave together when the last one is there.
#[derive(Debug)]
struct Together(Mutex<Gathered, rank::BatchAnswers>);

#[derive(Debug)]
struct Gathered {
    door: ResponseSink,
    left: usize,
    /// The array so far, without its last bracket.
    answers: Vec<u8>,
}

impl Together {
    /// One more is settled.
    fn settled(&self, touched: &mut FlushSet) -> bool {
        let mut gathered = self.0.lock();
        gathered.left = gathered.left.saturating_sub(1);
        if gathered.left > 0 {
            return true;
        }
        let mut answers = std::mem::take(&mut gathered.answers);
        let door = gathered.door.clone();
        drop(gathered);
        if answers.is_empty() {
            door.unanswered(touched);
            return true;
        }
        answers.push(b']');
        door.answer(Payload::Owned(answers), &Edits::new(), touched)
    }
}

impl Responder for Together {
    fn say(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        let door = self.0.lock().door.clone();
        door.say(bytes, edits, touched)
    }

    fn answer(&self, payload: Payload<'_>, edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        {
            let mut gathered = self.0.lock();
            let comma = if gathered.answers.is_empty() { b'[' } else { b',' };
            gathered.answers.push(comma);
            edits.write(payload.bytes(), &mut gathered.answers);
        }
        self.settled(touched)
    }

    fn unanswered(&self, touched: &mut FlushSet) {
        self.settled(touched);
    }
}
