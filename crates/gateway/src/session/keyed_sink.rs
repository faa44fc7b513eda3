//! `KeyedSink`: where the answer to a call with an idempotency key leaves; it is kept for whoever makes the call again.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;

use trunkline_wire::{Edits, Kind, member, scan};

use crate::call::{Payload, Responder, ResponseSink};
use crate::call_keys::{KEPT_ANSWER, KeptAnswer, KeyOutcome, KeyTicket, KeyedProgress};
use crate::limiter::AddressAccount;
use crate::lock::{Mutex, rank};
use crate::pump::FlushSet;

/// See `docs/errors.md`.
const OWN_CODES: RangeInclusive<i64> = -31_999..=-31_000;

#[derive(Debug)]
pub(super) struct KeyedSink {
    sink: ResponseSink,
    // Taken by the outcome, of which there is one.
    ticket: Mutex<Option<KeyTicket>, rank::HeldKey>,
    progress: KeyedProgress,
}

impl KeyedSink {
    pub(super) fn new(sink: ResponseSink, ticket: KeyTicket) -> Self {
        Self { sink, ticket: Mutex::new(Some(ticket)), progress: KeyedProgress::default() }
    }

    /// Before the answer is written: whoever makes the call again when it has it must find it.
    fn keep(&self, code: i64, payload: &Payload<'_>, edits: &Edits<'_>) {
        // A statement of its own: the lock is not held while the ticket is settled.
        let ticket = self.ticket.lock().take();
        let Some(ticket) = ticket else { return };
        ticket.settle(self.outcome(code, payload, edits));
    }

    fn outcome(&self, code: i64, payload: &Payload<'_>, edits: &Edits<'_>) -> KeyOutcome {
        if !self.progress.may_have_run() {
            return KeyOutcome::NotRun;
        }
        // Not even copied.
        if payload.bytes().len() > KEPT_ANSWER {
            return KeyOutcome::NotKept;
        }
        let mut body = Vec::with_capacity(payload.bytes().len() + 16);
        edits.write(payload.bytes(), &mut body);
        let Ok(message) = scan(&body) else { return KeyOutcome::Unknown };
        let is_asking = message.text(message.result_type) == b"\"input_required\"";
        let did_not_run = message.kind == Kind::Refusal && {
            let error = message.text(message.error);
            let data = member(error, "data").unwrap_or_default();
            // A server's word for it does not count: its call has run.
            is_ours(error) && member(data, "mayRetry") == Some(b"true")
        };
        match (is_asking, did_not_run) {
            (_, true) => KeyOutcome::NotRun,
            (true, false) => KeyOutcome::Asked(KeptAnswer { code, body }),
            (false, false) => KeyOutcome::Answered(KeptAnswer { code, body }),
        }
    }

    /// It ends without an answer.
    fn give_up(&self) {
        let ticket = self.ticket.lock().take();
        let Some(ticket) = ticket else { return };
        ticket.settle(match self.progress.may_have_run() {
            true => KeyOutcome::Unknown,
            false => KeyOutcome::NotRun,
        });
    }
}

/// Has it a code of Trunkline's, this one's or that of one behind it?
fn is_ours(error: &[u8]) -> bool {
    let code = member(error, "code").and_then(|code| std::str::from_utf8(code).ok()?.parse().ok());
    code.is_some_and(|code: i64| OWN_CODES.contains(&code))
}

impl Responder for KeyedSink {
    fn say(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        self.sink.say(bytes, edits, touched)
    }

    fn answer(&self, payload: Payload<'_>, edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        self.keep(0, &payload, edits);
        self.sink.answer(payload, edits, touched)
    }

    fn refuse(
        &self,
        code: i64,
        payload: Payload<'_>,
        edits: &Edits<'_>,
        touched: &mut FlushSet,
    ) -> bool {
        self.keep(code, &payload, edits);
        self.sink.refuse(code, payload, edits, touched)
    }

    fn unanswered(&self, touched: &mut FlushSet) {
        self.give_up();
        self.sink.unanswered(touched);
    }

    fn handed_over(&self) {
        self.sink.handed_over();
    }

    fn keyed(&self) -> Option<&KeyedProgress> {
        Some(&self.progress)
    }

    fn is_only_stream(&self) -> bool {
        self.sink.is_only_stream()
    }

    fn parent(&self) -> Option<&str> {
        self.sink.parent()
    }

    fn address(&self) -> Option<&Arc<AddressAccount>> {
        self.sink.address()
    }

    fn peer(&self) -> Option<IpAddr> {
        self.sink.peer()
    }

    fn asked(&self) -> Option<&str> {
        self.sink.asked()
    }
}

impl Drop for KeyedSink {
    fn drop(&mut self) {
        self.give_up();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_error_of_ours_can_say_that_a_call_did_not_run() {
        for (error, expected) in [
            (r#"{"code":-31005,"message":"m"}"#, true),
            (r#"{"code":-31999}"#, true),
            (r#"{"code":-32000,"data":{"mayRetry":true}}"#, false),
            (r#"{"code":"x"}"#, false),
            (r#"{"message":"m"}"#, false),
        ] {
            assert_eq!(is_ours(error.as_bytes()), expected, "{error}");
        }
    }
}
