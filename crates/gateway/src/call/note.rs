//! `Note`: what is written down about a call while it runs, for the event at its end. Only made where
//! somebody takes events.

use std::sync::Arc;
use std::time::Instant;

use memchr::memmem;
use ring::digest::{SHA256, digest};
use trunkline_wire::{Kind, Message, Span, decode, member, scan};

use crate::call::{Client, Manner};
use crate::error::CallError;
use crate::events::{CallEnded, CallManner, Event, EventSink, Outcome};
use crate::identity::Identity;

#[derive(Debug)]
pub(crate) struct Note {
    sink: EventSink,
    /// What it was called then.
    server: Arc<str>,
    id: Arc<str>,
    tool: String,
    who: Option<Arc<str>>,
    started: Instant,
    argument_hash: [u8; 32],
    bytes_in: usize,
    manner: CallManner,
}

impl Note {
    /// About a call of a tool that goes to this server with these changes; nothing else is noted.
    pub(crate) fn of(
        message: &Message<'_>,
        changes: &[(Span, &[u8])],
        server: &Identity,
        (client, manner): (&Client, &Manner),
        sink: &EventSink,
    ) -> Option<Arc<Self>> {
        if *message.method() != *b"tools/call" {
            return None;
        }
        let changed = |span: Option<Span>| {
            let span = span?;
            let new = changes.iter().find(|(at, _)| *at == span).map(|(_, new)| *new);
            Some(new.unwrap_or_else(|| span.of(message.bytes)))
        };
        let tool = changed(message.params.name).and_then(decode).unwrap_or_default().into_owned();
        let arguments = changed(message.params.arguments).unwrap_or_default();
        let mut argument_hash = [0; 32];
        for (to, from) in argument_hash.iter_mut().zip(digest(&SHA256, arguments).as_ref()) {
            *to = *from;
        }
        Some(Arc::new(Self {
            sink: sink.clone(),
            server: server.name(),
            id: Arc::clone(server.id()),
            tool,
            who: client.who(),
            started: Instant::now(),
            argument_hash,
            bytes_in: message.bytes.len(),
            manner: match manner {
                Manner::Session => CallManner::Session,
                Manner::Stateless(_) => CallManner::Stateless,
            },
        }))
    }

    /// It has ended with this answer of its server's.
    pub(crate) fn answered(&self, answer: &[u8]) {
        self.ended(judged(answer), answer.len());
    }

    pub(crate) fn failed(&self, error: &CallError) {
        self.ended(outcome_of(error), 0);
    }

    pub(crate) fn ended(&self, outcome: Outcome, bytes_out: usize) {
        self.sink.put(Event::CallEnded(CallEnded {
            server: Arc::clone(&self.server),
            id: Arc::clone(&self.id),
            tool: self.tool.clone(),
            who: self.who.clone(),
            outcome,
            duration: self.started.elapsed(),
            argument_hash: self.argument_hash,
            bytes_in: self.bytes_in,
            bytes_out,
            manner: self.manner,
        }));
    }
}

/// What a response says. Most say neither word, and are not read any further.
fn judged(answer: &[u8]) -> Outcome {
    let says = |word: &[u8]| memmem::find(answer, word).is_some();
    if !says(b"\"isError\"") && !says(b"\"error\"") && !says(b"\"input_required\"") {
        return Outcome::Ok;
    }
    let Ok(message) = scan(answer) else { return Outcome::Ok };
    if message.kind == Kind::Refusal {
        let code = member(message.text(message.error), "code");
        let code = code.and_then(|code| std::str::from_utf8(code).ok()?.parse().ok());
        return Outcome::RpcError(code.unwrap_or_default());
    }
    if message.text(message.result_type) == b"\"input_required\"" {
        return Outcome::Asked;
    }
    match member(message.text(message.result), "isError") {
        Some(b"true") => Outcome::ToolError,
        _ => Outcome::Ok,
    }
}

fn outcome_of(error: &CallError) -> Outcome {
    match error {
        CallError::Timeout { .. } => Outcome::Timeout,
        CallError::ServerGone { may_have_run, .. } | CallError::ShuttingDown { may_have_run } => {
            Outcome::Gone { may_have_run: *may_have_run }
        }
        CallError::Busy { .. }
        | CallError::ServerAbsent { .. }
        | CallError::ToolOfAbsentServer { .. } => Outcome::Refused,
        CallError::TooLarge { .. } | CallError::BrokenAnswer { .. } => {
            Outcome::Gone { may_have_run: true }
        }
        other => Outcome::RpcError(i64::from(other.code())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_judged_by_what_it_says_at_the_top() {
        for (body, expected) in [
            (r#""result":{"content":[]}"#, Outcome::Ok),
            (r#""result":{"content":[],"isError":true}"#, Outcome::ToolError),
            (r#""result":{"content":[],"isError":false}"#, Outcome::Ok),
            (r#""result":{"content":[{"isError":true}]}"#, Outcome::Ok),
            (r#""result":{"content":[{"error":1}]}"#, Outcome::Ok),
            (r#""error":{"code":-32602,"message":"no"}"#, Outcome::RpcError(-32602)),
            (r#""error":{"message":"no"}"#, Outcome::RpcError(0)),
            (r#""result":{"resultType":"input_required"}"#, Outcome::Asked),
        ] {
            let answer = format!(r#"{{"jsonrpc":"2.0","id":1,{body}}}"#);
            assert_eq!(judged(answer.as_bytes()), expected, "{body}");
        }
    }
}
