//! `CallRecord`: what events and traces of a call are made of. It exists only if there are observers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use memchr::memmem;
use ring::digest::{SHA256, digest};
use trunkline_wire::{Kind, Message, Span, decode, find, member, scan};

use crate::call::trace::Trace;
use crate::call::{Client, RequestEra, ResponseSink};
use crate::error::CallError;
use crate::events::{CallEnded, CallManner, Event, EventSink, Outcome, RequestEnded};
use crate::identity::Identity;
use crate::policy::PolicyRefusal;
use crate::traces::{SpanKind, Traces};

/// Receivers of events and traces of calls.
#[derive(Debug)]
pub(crate) struct Observers {
    pub(crate) events: Option<EventSink>,
    pub(crate) traces: Option<Arc<dyn Traces>>,
}

impl Observers {
    /// `None`: there are none.
    pub(crate) fn new(
        events: Option<EventSink>,
        traces: Option<Arc<dyn Traces>>,
    ) -> Option<Arc<Self>> {
        (events.is_some() || traces.is_some()).then(|| Arc::new(Self { events, traces }))
    }
}

#[derive(Debug)]
pub(crate) struct CallRecord {
    /// What it was called then.
    server: Arc<str>,
    id: Arc<str>,
    who: Option<Arc<str>>,
    started: Instant,
    /// For the event sink.
    account: Option<Account>,
    /// For the trace.
    trace: Option<Trace>,
}

#[derive(Debug)]
struct Account {
    sink: EventSink,
    tool: String,
    argument_hash: [u8; 32],
    bytes_in: usize,
    manner: CallManner,
    /// `None`: a call of a tool.
    method: Option<String>,
}

/// Who asks, how, and where the answer leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker<'a> {
    pub(crate) client: &'a Client,
    pub(crate) request_era: &'a RequestEra,
    pub(crate) sink: &'a ResponseSink,
}

impl Account {
    /// Of a request that is no call of a tool, if its client had to say who it is.
    fn of_other(message: &Message<'_>, asker: Asker<'_>, sink: &EventSink) -> Option<Self> {
        asker.client.principal().and_then(|_| asker.client.who())?;
        let method = message.method();
        is_told_of(&method).then(|| Self {
            sink: sink.clone(),
            tool: about(message).unwrap_or_default(),
            argument_hash: hash(message.text(message.params.span)),
            bytes_in: message.bytes.len(),
            manner: manner_of(asker),
            method: Some(String::from_utf8_lossy(&method).into_owned()),
        })
    }
}

fn manner_of(asker: Asker<'_>) -> CallManner {
    match asker.request_era {
        RequestEra::Session => CallManner::Session,
        RequestEra::Stateless(_) => CallManner::Stateless,
    }
}

impl CallRecord {
    /// About a request that goes to this server with these changes. Calls of tools are told to all;
    /// of other requests, those of somebody who had to say who that is, and those that are followed.
    pub(crate) fn of(
        message: &Message<'_>,
        changes: &[(Span, &[u8])],
        (server, hop): (&Identity, SpanKind),
        asker: Asker<'_>,
        watch: &Observers,
    ) -> Option<Arc<Self>> {
        let changed = |span: Option<Span>| {
            let span = span?;
            let new = changes.iter().find(|(at, _)| *at == span).map(|(_, new)| *new);
            Some(new.unwrap_or_else(|| span.of(message.bytes)))
        };
        let name = changed(message.params.name);
        let traces = watch.traces.as_ref();
        let trace = traces.and_then(|traces| Trace::begin(traces, message, name, asker.sink, hop));
        let is_call = *message.method() == *b"tools/call";
        let account = watch.events.as_ref().and_then(|sink| {
            if !is_call {
                return Account::of_other(message, asker, sink);
            }
            let arguments = changed(message.params.arguments).unwrap_or_default();
            Some(Account {
                sink: sink.clone(),
                tool: name.and_then(decode).unwrap_or_default().into_owned(),
                // A hash, never the arguments: they may hold secrets, and an audit only has to tell
                // calls apart.
                argument_hash: hash(arguments),
                bytes_in: message.bytes.len(),
                manner: manner_of(asker),
                method: None,
            })
        });
        if account.is_none() && trace.is_none() {
            return None;
        }
        // The name of now: the event shows what the server was called when the call was made.
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

    /// A request of somebody who had to say who that is goes to no server, and came to this. `told`:
    /// what it is about, if that is not what its params name, and what came of it.
    pub(crate) fn without_server(
        message: &Message<'_>,
        client: &Client,
        sink: &EventSink,
        told: (Option<&str>, Outcome),
    ) {
        Self::put_without_server(message, client, sink, told, None);
    }

    /// A request of somebody who had to say who that is may not run.
    pub(crate) fn forbidden(
        message: &Message<'_>,
        client: &Client,
        sink: &EventSink,
        refusal: &Arc<PolicyRefusal>,
    ) {
        let told = (None, Outcome::Refused);
        Self::put_without_server(message, client, sink, told, Some(Arc::clone(refusal)));
    }

    fn put_without_server(
        message: &Message<'_>,
        client: &Client,
        sink: &EventSink,
        told: (Option<&str>, Outcome),
        forbidden: Option<Arc<PolicyRefusal>>,
    ) {
        let method = message.method();
        let known = *method == *b"tools/call" || is_told_of(&method);
        let Some(who) = client.principal().filter(|_| known).and_then(|_| client.who()) else {
            return;
        };
        let (named, outcome) = told;
        sink.put(Event::RequestEnded(RequestEnded {
            method: String::from_utf8_lossy(&method).into_owned(),
            about: named
                .map(|name| name.chars().take(MOST_ABOUT).collect())
                .or_else(|| about(message)),
            server: None,
            who,
            outcome,
            forbidden,
            ended: Instant::now(),
            duration: Duration::ZERO,
            params_hash: hash(message.text(message.params.span)),
        }));
    }

    /// It has ended with this answer of its server's.
    pub(crate) fn answered(&self, answer: &[u8]) {
        self.ended(judged(answer), answer.len());
    }

    pub(crate) fn failed(&self, error: &CallError) {
        self.ended(outcome_of(error), 0);
    }

    pub(crate) fn ended(&self, outcome: Outcome, bytes_out: usize) {
        let ended = Instant::now();
        let duration = ended - self.started;
        if let Some(trace) = &self.trace {
            trace.ended(&self.server, self.who.as_ref(), outcome, duration);
        }
        let Some(account) = &self.account else { return };
        if let (Some(method), Some(who)) = (&account.method, &self.who) {
            return account.sink.put(Event::RequestEnded(RequestEnded {
                method: method.clone(),
                about: Some(account.tool.clone()).filter(|about| !about.is_empty()),
                server: Some(Arc::clone(&self.server)),
                who: Arc::clone(who),
                outcome,
                forbidden: None,
                ended,
                duration,
                params_hash: account.argument_hash,
            }));
        }
        account.sink.put(Event::CallEnded(CallEnded {
            server: Arc::clone(&self.server),
            id: Arc::clone(&self.id),
            tool: account.tool.clone(),
            who: self.who.clone(),
            outcome,
            ended,
            duration,
            argument_hash: account.argument_hash,
            bytes_in: account.bytes_in,
            bytes_out,
            manner: account.manner,
        }));
    }
}

/// Requests that read or do something with a server, besides calls.
fn is_told_of(method: &[u8]) -> bool {
    matches!(method, b"resources/read" | b"prompts/get" | b"completion/complete")
        || method.starts_with(b"tasks/")
}

/// What it is about, in the client's words.
fn about(message: &Message<'_>) -> Option<String> {
    let text = |span: Option<Span>| span.and_then(|at| decode(at.of(message.bytes)));
    let within = |path: &[&str]| find(message.bytes, message.params.span?, path);
    let said = text(message.params.name)
        .or_else(|| text(message.params.uri))
        .or_else(|| text(within(&["taskId"])))
        .or_else(|| text(within(&["ref", "name"])))
        .or_else(|| text(within(&["ref", "uri"])))?;
    // What stands in the query of a URI is an argument.
    let said = if said.contains("://") { said.split(['?', '#']).next()? } else { &*said };
    Some(said.chars().take(MOST_ABOUT).collect())
}

/// Bounded: a client may make up a name of any length, and it is stored.
const MOST_ABOUT: usize = 256;

fn hash(bytes: &[u8]) -> [u8; 32] {
    let mut sum = [0; 32];
    for (to, from) in sum.iter_mut().zip(digest(&SHA256, bytes).as_ref()) {
        *to = *from;
    }
    sum
}

/// What a response says. Most say neither word, and are not read any further.
fn judged(answer: &[u8]) -> Outcome {
    // A search over the bytes is far cheaper than a scan, and answers may be megabytes.
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
    fn what_a_request_is_about_has_no_arguments_in_it() {
        for (params, expected) in [
            (r#"{"uri":"file:///a/b?token=x#y"}"#, Some("file:///a/b")),
            (r#"{"name":"what?"}"#, Some("what?")),
            (r#"{"taskId":"t-1"}"#, Some("t-1")),
            (r#"{"ref":{"type":"ref/prompt","name":"greet"}}"#, Some("greet")),
            (r#"{"ref":{"type":"ref/resource","uri":"a://{b}"}}"#, Some("a://{b}")),
            ("{}", None),
        ] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{params}}}"#);
            assert_eq!(about(&scan(text.as_bytes()).unwrap()).as_deref(), expected, "{params}");
        }
    }

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
