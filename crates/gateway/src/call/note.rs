//! `Note`: what is written down about a call while it runs, for those who are told of its end. Only
//! made where somebody is.

use std::sync::Arc;
use std::time::Instant;

use memchr::memmem;
use ring::digest::{SHA256, digest};
use trunkline_wire::{Kind, Message, Span, decode, member, scan};

use crate::call::trace::Trace;
use crate::call::{Client, Door, Manner};
use crate::error::CallError;
use crate::events::{CallEnded, CallManner, Event, EventSink, Outcome};
use crate::identity::Identity;
use crate::traces::{Hop, Traces};

/// Who is told what becomes of calls.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) events: Option<EventSink>,
    pub(crate) traces: Option<Arc<dyn Traces>>,
}

impl Watch {
    /// `None`: nobody is.
    pub(crate) fn new(
        events: Option<EventSink>,
        traces: Option<Arc<dyn Traces>>,
    ) -> Option<Arc<Self>> {
        (events.is_some() || traces.is_some()).then(|| Arc::new(Self { events, traces }))
    }
}

#[derive(Debug)]
pub(crate) struct Note {
    /// What it was called then.
    server: Arc<str>,
    id: Arc<str>,
    who: Option<Arc<str>>,
    started: Instant,
    /// For whoever counts calls of tools.
    account: Option<Account>,
    /// For whoever follows requests.
    trace: Option<Trace>,
}

#[derive(Debug)]
struct Account {
    sink: EventSink,
    tool: String,
    argument_hash: [u8; 32],
    bytes_in: usize,
    manner: CallManner,
}

/// Who asks, how, and where the answer leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker<'a> {
    pub(crate) client: &'a Client,
    pub(crate) manner: &'a Manner,
    pub(crate) door: &'a Door,
}

impl Note {
    /// About a request that goes to this server with these changes. Calls of tools are told to all,
    /// other requests only to those who follow them.
    pub(crate) fn of(
        message: &Message<'_>,
        changes: &[(Span, &[u8])],
        (server, hop): (&Identity, Hop),
        asker: Asker<'_>,
        watch: &Watch,
    ) -> Option<Arc<Self>> {
        let changed = |span: Option<Span>| {
            let span = span?;
            let new = changes.iter().find(|(at, _)| *at == span).map(|(_, new)| *new);
            Some(new.unwrap_or_else(|| span.of(message.bytes)))
        };
        let name = changed(message.params.name);
        let traces = watch.traces.as_ref();
        let trace = traces.and_then(|traces| Trace::begin(traces, message, name, asker.door, hop));
        let is_call = *message.method() == *b"tools/call";
        let account = watch.events.as_ref().filter(|_| is_call).map(|sink| {
            let arguments = changed(message.params.arguments).unwrap_or_default();
            let mut argument_hash = [0; 32];
            for (to, from) in argument_hash.iter_mut().zip(digest(&SHA256, arguments).as_ref()) {
                *to = *from;
            }
            Account {
                sink: sink.clone(),
                tool: name.and_then(decode).unwrap_or_default().into_owned(),
                argument_hash,
                bytes_in: message.bytes.len(),
                manner: match asker.manner {
                    Manner::Session => CallManner::Session,
                    Manner::Stateless(_) => CallManner::Stateless,
                },
            }
        });
        if account.is_none() && trace.is_none() {
            return None;
        }
        let (id, server, who) = (Arc::clone(server.id()), server.name(), asker.client.who());
        Some(Arc::new(Self { server, id, who, started: Instant::now(), account, trace }))
    }

    /// What is changed in the request so that its server knows where it comes from.
    pub(crate) fn onward(&self, message: &Message<'_>) -> Option<(Span, Vec<u8>)> {
        self.trace.as_ref()?.onward(message)
    }

    /// It is with its server.
    pub(crate) fn handed(&self) {
        if let Some(trace) = &self.trace {
            trace.handed(self.started);
        }
    }

    /// It has ended with this answer of its server's.
    pub(crate) fn answered(&self, answer: &[u8]) {
        self.ended(judged(answer), answer.len());
    }

    pub(crate) fn failed(&self, error: &CallError) {
        self.ended(outcome_of(error), 0);
    }

    pub(crate) fn ended(&self, outcome: Outcome, bytes_out: usize) {
        let duration = self.started.elapsed();
        if let Some(trace) = &self.trace {
            trace.ended(&self.server, self.who.as_ref(), outcome, duration);
        }
        let Some(account) = &self.account else { return };
        account.sink.put(Event::CallEnded(CallEnded {
            server: Arc::clone(&self.server),
            id: Arc::clone(&self.id),
            tool: account.tool.clone(),
            who: self.who.clone(),
            outcome,
            duration,
            argument_hash: account.argument_hash,
            bytes_in: account.bytes_in,
            bytes_out,
            manner: account.manner,
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
