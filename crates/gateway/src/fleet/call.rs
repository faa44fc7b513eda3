//! Calls of tools from inside this process, without a client's session.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use trunkline_wire::{Edits, Id, Kind, Span, decode, member, scan};

use crate::call::{
    Client, Payload, Rejected, Replay, ReplyTo, RequestEra, Responder, ResponseSink,
};
use crate::error::{CallError, Remedy};
use crate::limiter::{
    Allowance, CallerAccount, CallerAddress, Exceeded, LimitScope, Limiter, Meters, Overrun,
    Permit, admit,
};
use crate::lock::{Mutex, rank};
use crate::pump::FlushSet;
use crate::session::leave;
use crate::upstream::{Server, result_subject};

/// What is to be called, and by whom.
#[derive(Clone, Debug, Default)]
pub struct ToolCall {
    /// Its id.
    pub server: String,
    /// As its server calls it.
    pub tool: String,
    /// A JSON object as it was written; empty: none.
    pub arguments: Vec<u8>,
    /// A JSON object for `_meta`.
    pub meta: Option<Vec<u8>>,
    /// The caller, for the audit log.
    pub who: Option<Arc<str>>,
    /// The `traceparent` it came with, if it came with one.
    pub traceparent: Option<String>,
    /// What its client calls it, if that is another name; for traces.
    pub asked: Option<String>,
    /// A tool that the config does not show by itself: it is behind a custom tool.
    pub is_behind: bool,
    /// Who calls, and what that one may have; `None`: nothing is limited for it.
    pub caller: Option<(Arc<[u8]>, Allowance)>,
    /// Where it comes from; `None`: from inside this process.
    pub address: Option<CallerAddress>,
    /// When the answer is of no use any more. The limits of every call hold besides.
    pub deadline: Option<Instant>,
}

/// A server's answer.
#[derive(Clone, Debug)]
pub struct ToolAnswer {
    /// The whole response; but for its id it is the server's, byte for byte.
    pub message: Vec<u8>,
    result: Span,
    /// Until it was with its server, waiting included; and from then on.
    pub routed: Duration,
    pub executed: Duration,
}

impl ToolAnswer {
    /// The result, byte for byte.
    pub fn result(&self) -> &[u8] {
        self.result.of(&self.message)
    }

    /// Does the tool say that it has failed?
    pub fn is_error(&self) -> bool {
        member(self.result(), "isError") == Some(b"true")
    }
}

/// Why there is no result.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct CallFailure {
    pub kind: FailureKind,
    pub message: String,
    /// May the same call be made again without being carried out twice?
    pub may_retry: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureKind {
    NoSuchServer,
    NoSuchTool,
    /// The arguments or `_meta` are no JSON object.
    Unreadable,
    /// The server is not there: the word for its state.
    Unavailable {
        state: &'static str,
    },
    /// The answer did not come in time; the call may have run.
    Timeout,
    Busy,
    /// The caller, the server or the tool has had as much as it may; when to come again.
    Limited {
        again: Duration,
    },
    /// The server went, or answered what is no answer.
    Gone {
        may_have_run: bool,
    },
    /// The server answered with an error: the error object as it wrote it. Or Trunkline did.
    Refused(Vec<u8>),
}

/// Calls a tool of this server; `info` is the `clientInfo` of the caller.
pub(super) async fn call(
    server: &Arc<Server>,
    info: &[u8],
    call: ToolCall,
) -> Result<ToolAnswer, CallFailure> {
    let started = Instant::now();
    let message = prepared(server, &call)?;
    let permit = admitted(server, &call)?;
    let client = Arc::new(Client::default());
    client.introduces_itself(info, b"{}");
    client.silence_logs();
    if let Some(who) = call.who {
        client.set_label(who);
    }
    let (sender, receiver) = oneshot::channel();
    let handed = Arc::new(Mutex::new(None));
    let exit = InternalSink {
        sender: Mutex::new(Some(sender)),
        handed: Arc::clone(&handed),
        parent: call.traceparent,
        asked: call.asked,
    };
    // Made before the call is handed over: a caller that goes away at any later point cancels it.
    let cancel = CancelOnDrop { client: Arc::clone(&client) };
    hand_over(server, &message, (client, permit), &Arc::new(exit));
    let answer = match call.deadline {
        None => receiver.await,
        Some(deadline) => timeout_at(deadline, receiver).await.map_err(|_| late(server))?,
    };
    drop(cancel);
    // Set by the thread that sent the call; the answer came after it.
    let handed = handed.lock().unwrap_or(started);
    let ended = Instant::now();
    let (routed, executed) = (handed - started, ended - handed);
    match answer {
        Ok(CallResponse::Answer(message)) => understood(message, routed, executed, server),
        Ok(CallResponse::Refusal(message)) => Err(refused(&message, server)),
        Err(_) => Err(failure(FailureKind::Gone { may_have_run: true }, "there was no answer")),
    }
}

pub(super) fn no_such_server(id: &str) -> CallFailure {
    failure(FailureKind::NoSuchServer, &format!("there is no server `{id}`"))
}

/// The request as the server gets it.
fn prepared(server: &Server, call: &ToolCall) -> Result<Vec<u8>, CallFailure> {
    let ToolCall { tool, arguments, meta, is_behind, .. } = call;
    let Some(listing) = server.listing() else { return Err(absent(server, call)) };
    let filter = server.filter();
    let mut tools = listing.tools().iter();
    let known = tools.find(|known| known.name == *tool && (*is_behind || filter.shows(tool)));
    let Some(known) = known else {
        let words = format!("server `{}` has no tool `{tool}`", server.key);
        return Err(failure(FailureKind::NoSuchTool, &words));
    };
    if known.declares_effects {
        server.demand.note_state();
    }
    let message = request(known.name_token(), arguments, meta.as_deref());
    message
        .map_err(|what| failure(FailureKind::Unreadable, &format!("{what} must be a JSON object")))
}

/// A request that fits a line. The error: what is no object.
fn request(name: &[u8], arguments: &[u8], meta: Option<&[u8]>) -> Result<Vec<u8>, &'static str> {
    let mut message =
        br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"#.to_vec();
    message.extend_from_slice(name);
    let arguments = if arguments.is_empty() { None } else { Some(arguments) };
    for (key, what, value) in [("arguments", "`arguments`", arguments), ("_meta", "`_meta`", meta)]
    {
        let Some(value) = value else { continue };
        if !is_object(value) {
            return Err(what);
        }
        message.extend_from_slice(format!(",\"{key}\":").as_bytes());
        // Text has no raw newline: those that are there stand between tokens.
        message.extend(value.iter().filter(|byte| !matches!(byte, b'\n' | b'\r')));
    }
    message.extend_from_slice(b"}}");
    Ok(message)
}

/// Is this one JSON object and nothing else?
fn is_object(text: &[u8]) -> bool {
    let probe = [br#"{"jsonrpc":"2.0","method":"x","params":"#, text, b"}"].concat();
    scan(&probe).is_ok_and(|probe| {
        let params = probe.text(probe.params.span);
        params.starts_with(b"{") && params.len() == text.trim_ascii().len()
    })
}

/// What the call holds until it ends, if no limit is reached.
fn admitted(server: &Server, call: &ToolCall) -> Result<Permit, CallFailure> {
    let (limiter, meters) = (&server.services.limiter, &server.definition.meters);
    let account = call.caller.as_ref().map(|(who, allowed)| limiter.caller(who, allowed));
    let listing = server.listing();
    let mut tools = listing.iter().flat_map(|listing| listing.tools());
    let tool = tools.find(|known| known.name == call.tool);
    let tool = tool.and_then(|tool| meters.of_tool(&tool.name, tool.name_token()));
    let meters = Meters {
        caller: account.as_ref().map(|account| &account.meter),
        server: Some(&meters.own),
        tool: tool.as_ref(),
        address: call.address.as_ref().map(|address| &address.0.meter),
    };
    admit(meters).map_err(|exceeded| {
        let who = match exceeded.scope {
            LimitScope::Tool => format!("tool `{}` of server `{}`", call.tool, server.key),
            LimitScope::Server => format!("server `{}`", server.key),
            scope => sender_name(scope, account.as_deref(), call.address.as_ref()),
        };
        limited(limiter, *exceeded, who)
    })
}

/// A request that counts as a call of its sender and goes to no server. It is open until this is dropped.
#[derive(Debug)]
pub struct CountedRequest(Permit);

impl CountedRequest {
    /// It has an answer of so many bytes.
    pub fn charge(&self, bytes: usize) {
        self.0.charge(bytes);
    }
}

/// Counts a request of this caller, if no limit is reached.
pub(super) fn count_request(
    limiter: &Limiter,
    caller: Option<&(Arc<[u8]>, Allowance)>,
    address: Option<&CallerAddress>,
) -> Result<CountedRequest, CallFailure> {
    let account = caller.map(|(who, allowed)| limiter.caller(who, allowed));
    let meters = Meters {
        caller: account.as_ref().map(|account| &account.meter),
        address: address.map(|address| &address.0.meter),
        ..Meters::default()
    };
    admit(meters).map(CountedRequest).map_err(|exceeded| {
        let who = sender_name(exceeded.scope, account.as_deref(), address);
        limited(limiter, *exceeded, who)
    })
}

/// The caller or the address, whichever is limited.
fn sender_name(
    scope: LimitScope,
    account: Option<&CallerAccount>,
    address: Option<&CallerAddress>,
) -> String {
    let name = match scope {
        LimitScope::Address => address.map(|address| address.0.name.to_string()),
        _ => account.map(|account| account.name.to_string()),
    };
    name.unwrap_or_default()
}

fn limited(limiter: &Limiter, exceeded: Exceeded, who: String) -> CallFailure {
    let Exceeded { scope, limit, again, words } = exceeded;
    limiter.count(scope, limit);
    let overrun = Overrun { scope, limit, who, server: None, words, again };
    let failed = failure(FailureKind::Limited { again }, &overrun.to_string());
    CallFailure { may_retry: true, ..failed }
}

fn hand_over(
    server: &Arc<Server>,
    message: &[u8],
    (client, permit): (Arc<Client>, Permit),
    exit: &Arc<InternalSink>,
) {
    let Ok(message) = scan(message) else { return };
    let mut touched = FlushSet::default();
    let sink = Arc::clone(exit) as ResponseSink;
    let mut path = ReplyTo::new(client, Id::new(b"1"), None, sink, RequestEra::Session);
    path.holds(permit);
    path.record = server.note(&message, &[], path.asker());
    path.subject = result_subject(server, &message, &[], path.asker());
    let onward = path.record.as_deref().and_then(|note| note.onward(&message));
    let onward = onward.as_ref().map(|(at, new)| (*at, &new[..]));
    let changes = onward.as_slice();
    exit.handed_over(); // at the latest now, unless it has to wait
    let connection = server.connection();
    let sent = match &connection {
        Some(connection) => connection.submit(&message, changes, path, &mut touched),
        None => Err(Rejected::new(path, absence(server))),
    };
    if let Err(mut rejected) = sent {
        // A server that is connected but fails its health checks is not waited for.
        let has_gone = connection.is_none()
            || matches!(rejected.error, CallError::ServerGone { may_have_run: false, .. });
        rejected.reply.replay = Some(Replay::new(&message, changes));
        let held = match server.open_wait_queue().filter(|_| has_gone) {
            Some(room) => {
                connection.iter().for_each(|connection| room.missed(connection));
                server.hold(rejected.reply, &mut touched)
            }
            None => Err(rejected),
        };
        if let Err(rejected) = held {
            rejected.answer(&mut touched);
        }
    }
    touched.flush();
}

fn absence(server: &Server) -> CallError {
    CallError::ServerAbsent { server: server.key.to_string(), why: server.absence() }
}

/// For whoever asked from inside: who has to say who that is reads nothing of the server's stderr.
fn absent(server: &Server, call: &ToolCall) -> CallFailure {
    let error = absence(server);
    let error = if call.who.is_some() { error.without_stderr() } else { Cow::Borrowed(&error) };
    let state = server.status().state.word();
    CallFailure {
        may_retry: true,
        ..failure(FailureKind::Unavailable { state }, &error.to_string())
    }
}

fn failure(kind: FailureKind, message: &str) -> CallFailure {
    CallFailure { kind, message: message.to_owned(), may_retry: false }
}

fn late(server: &Server) -> CallFailure {
    let words = format!(
        "server `{}` did not answer in time; it was told to cancel, but the call may have run",
        server.key
    );
    failure(FailureKind::Timeout, &words)
}

fn understood(
    message: Vec<u8>,
    routed: Duration,
    executed: Duration,
    server: &Server,
) -> Result<ToolAnswer, CallFailure> {
    let (kind, result) = match scan(&message) {
        Ok(scanned) => (scanned.kind, scanned.result),
        Err(_) => (Kind::Refusal, None),
    };
    match result.filter(|_| kind == Kind::Answer) {
        Some(result) => Ok(ToolAnswer { message, result, routed, executed }),
        None => Err(refused_by(&message, server)),
    }
}

/// The server's own error.
fn refused_by(message: &[u8], server: &Server) -> CallFailure {
    let error = error_in(message);
    let said = member(&error, "message").and_then(decode).unwrap_or_default().into_owned();
    let words = format!("server `{}` refused: {said}", server.key);
    failure(FailureKind::Refused(error), &words)
}

/// An error of our own.
fn refused(message: &[u8], server: &Server) -> CallFailure {
    let error = error_in(message);
    let words = member(&error, "message").and_then(decode).unwrap_or_default().into_owned();
    let data = member(&error, "data").unwrap_or_default();
    let may_retry = member(data, "mayRetry") == Some(b"true");
    let code = member(&error, "code").and_then(|code| std::str::from_utf8(code).ok());
    let code = code.and_then(|code| code.parse().ok()).unwrap_or_default();
    let kind = match CallError::remedy(code) {
        Remedy::Absence if may_retry => {
            FailureKind::Unavailable { state: server.status().state.word() }
        }
        Remedy::Absence | Remedy::Doubt => FailureKind::Gone { may_have_run: !may_retry },
        Remedy::Lateness => FailureKind::Timeout,
        Remedy::Crowd => FailureKind::Busy,
        Remedy::Other => FailureKind::Refused(error),
    };
    CallFailure { kind, message: words, may_retry }
}

fn error_in(message: &[u8]) -> Vec<u8> {
    scan(message).map(|message| message.text(message.error).to_vec()).unwrap_or_default()
}

#[derive(Debug)]
enum CallResponse {
    Answer(Vec<u8>),
    Refusal(Vec<u8>),
}

/// Where the answer to one call leaves.
#[derive(Debug)]
struct InternalSink {
    // Taken out under it: of an answer, a refusal and the end only the first is told.
    sender: Mutex<Option<oneshot::Sender<CallResponse>>, rank::FleetAnswer>,
    /// When it was handed over to its server.
    // Written where the call is sent, read after its answer.
    handed: Arc<Mutex<Option<Instant>, rank::FleetHanded>>,
    parent: Option<String>,
    asked: Option<String>,
}

impl InternalSink {
    fn send(&self, returned: CallResponse) -> bool {
        // Taken: a second answer finds no receiver.
        self.sender.lock().take().is_some_and(|sender| sender.send(returned).is_ok())
    }
}

impl Responder for InternalSink {
    /// Only the answer is listened to, and no client can be asked.
    fn say(&self, _: &[u8], _: &Edits<'_>, _: &mut FlushSet) -> bool {
        false
    }

    fn answer(&self, payload: Payload<'_>, edits: &Edits<'_>, _: &mut FlushSet) -> bool {
        self.send(CallResponse::Answer(whole(&payload, edits)))
    }

    fn refuse(&self, _: i64, payload: Payload<'_>, edits: &Edits<'_>, _: &mut FlushSet) -> bool {
        self.send(CallResponse::Refusal(whole(&payload, edits)))
    }

    fn unanswered(&self, _: &mut FlushSet) {
        *self.sender.lock() = None;
    }

    fn handed_over(&self) {
        *self.handed.lock() = Some(Instant::now());
    }

    fn parent(&self) -> Option<&str> {
        self.parent.as_deref()
    }

    fn asked(&self) -> Option<&str> {
        self.asked.as_deref()
    }
}

fn whole(payload: &Payload<'_>, edits: &Edits<'_>) -> Vec<u8> {
    let mut whole = Vec::new();
    edits.write(payload.bytes(), &mut whole);
    whole
}

/// Cancels a call whose future was dropped; one that has ended is not open.
struct CancelOnDrop {
    client: Arc<Client>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let mut touched = FlushSet::default();
        leave(&self.client, &Id::new(b"1"), &mut touched);
        touched.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_one_line_and_otherwise_as_it_was_written() {
        let head = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x""#;
        for (arguments, meta, expected) in [
            ("", None, "}}"),
            ("{\n \"a\": 1.0\r\n}", None, ",\"arguments\":{ \"a\": 1.0}}}"),
            ("{}", Some("{\"t\":1}"), ",\"arguments\":{},\"_meta\":{\"t\":1}}}"),
        ] {
            let got = request(b"\"x\"", arguments.as_bytes(), meta.map(str::as_bytes)).unwrap();
            assert_eq!(String::from_utf8(got).unwrap(), format!("{head}{expected}"));
        }
    }

    #[test]
    fn what_is_no_object_is_named() {
        for (arguments, meta, expected) in [
            ("[]", None, "`arguments`"),
            ("1", None, "`arguments`"),
            ("{", None, "`arguments`"),
            ("{},\"x\":{}", None, "`arguments`"),
            ("{}}", None, "`arguments`"),
            ("{\"a\":1\n2}", None, "`arguments`"),
            ("{}", Some("null"), "`_meta`"),
        ] {
            let got = request(b"\"x\"", arguments.as_bytes(), meta.map(str::as_bytes));
            assert_eq!(got.unwrap_err(), expected, "{arguments} {meta:?}");
        }
    }
}
