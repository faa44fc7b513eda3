//! `CallError`: why a call failed, whose fault it is, and the JSON-RPC code and words for it.

use std::borrow::Cow;
use std::time::Duration;

use trunkline_wire::{ALL_VERSIONS, FaultKind, encode, encode_all_into, encode_into};

pub(crate) use crate::absence::Absence;
use crate::call_keys::KeyFault;
use crate::era::Era;
use crate::limiter::{LimitScope, Overrun};
use crate::policy::SharedRefusal;

// Trunkline's own codes lie outside -32768…-32000, which JSON-RPC and MCP keep for themselves
// (JSON-RPC 2.0, 5.1). Each means one thing; docs/errors.md lists them.
const SERVER_GONE: i32 = -31001;
const TIMEOUT: i32 = -31002;
const BUSY: i32 = -31003;
const TOO_LARGE: i32 = -31004;
const BROKEN_ANSWER: i32 = -31005;
const SHUTTING_DOWN: i32 = -31006;
const RUNTIME_GONE: i32 = -31012;
/// The call would not be in the audit log, and everything has to be (`--audit-full refuse` or `block`).
const NOT_RECORDED: i32 = -31014;
const TURNED_OUT: i32 = -31007;
pub(crate) const TURNED_DOWN: i32 = -31008;
const SESSION_ENDED: i32 = -31009;
const TOO_MANY_SUBSCRIPTIONS: i32 = -31015;
/// A limit of rates, open calls or bytes is reached.
pub(crate) const LIMITED: i32 = -31016;
const FORBIDDEN: i32 = -31013;
/// The replica that has the session, or the call, has gone or cannot be reached.
const REPLICA_GONE: i32 = -31017;
/// To a server: its question was not answered in time.
pub(crate) const NOT_ANSWERED: i32 = -31010;
/// To a server: the client that it asked has gone.
pub(crate) const CLIENT_GONE: i32 = -31011;

// JSON-RPC 2.0, 5.1: what each of the first five means is fixed there.
const PARSE_ERROR: i32 = -32700;
pub(crate) const INVALID_REQUEST: i32 = -32600;
pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const INTERNAL_ERROR: i32 = -32603;
const HEADER_MISMATCH: i32 = -32020;
const MISSING_CAPABILITY: i32 = -32021;
const UNSUPPORTED_VERSION: i32 = -32022;
/// Of the revisions up to 2025-11-25.
const RESOURCE_NOT_FOUND: i32 = -32002;

#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error("Parse error: {0}")]
    Unreadable(FaultKind),
    #[error("Invalid request: {0}")]
    InvalidRequest(String),
    #[error("Method not found: {0}")]
    UnknownMethod(String),
    #[error(
        "Method not found: {method} (Trunkline does not know it, and nothing in the request says \
         which server it is for: name one in `params._meta[\"trunkline/server\"]`)"
    )]
    Unaddressed { method: String },
    #[error("Invalid params: {0}")]
    InvalidParams(String),
    #[error("Invalid params: `_meta` needs `io.modelcontextprotocol/{0}`")]
    MissingMeta(&'static str),
    /// It says nothing of the stateless era, and no session is open that it could belong to.
    #[error(
        "Invalid params: `_meta` needs `io.modelcontextprotocol/protocolVersion` and \
         `io.modelcontextprotocol/clientCapabilities` (revision 2026-07-28); to use an earlier \
         revision, send `initialize` first"
    )]
    NoEra,
    #[error("Unsupported protocol version: {requested}")]
    UnsupportedVersion { requested: String },
    #[error("Missing client capability: {}", in_words(.0))]
    MissingCapability(Vec<Missing>),
    #[error("Header mismatch: {0}")]
    HeaderMismatch(String),
    #[error("Invalid params: `requestState` is not accepted: {0}")]
    BadState(String),
    /// `hint`: which were perhaps meant, ready to be put behind.
    #[error("Tool not found: {tool}{hint}")]
    UnknownTool { tool: String, hint: String },
    #[error("Tool not found: {tool} ({why})")]
    ToolOfAbsentServer { tool: String, server: String, why: Absence },
    /// It was called by a definition that its server does not have any more. `now`: its schema, ready to be
    /// put behind.
    #[error(
        "the arguments of tool `{tool}` of server `{server}` have changed since it was listed; the call did \
         not run: ask for tools/list again, and call it by its new schema{now}"
    )]
    ToolChanged { tool: String, server: String, now: String },
    #[error("Resource not found: {0}")]
    UnknownResource(String),
    #[error("Prompt not found: {0}")]
    UnknownPrompt(String),
    /// To a server, about something it wanted from a client.
    #[error("`{method}` cannot be passed on: {why}")]
    Unaskable { method: String, why: String },
    /// To a client, about something its call's server wanted from it.
    #[error(
        "the client refused `{method}`, which the server asked for: {why}; the call may have run in part"
    )]
    NotAnswered { method: String, code: i32, why: String },
    #[error("Tool name must be prefixed with server key: {tool}{hint}")]
    NoPrefix { tool: String, hint: String },
    #[error("{why}; the request did not reach it")]
    ServerAbsent { server: String, why: Absence },
    #[error("server `{server}` {what}; the call {}", ran(*.may_have_run))]
    ServerGone { server: String, what: Absence, may_have_run: bool, stderr: Vec<String> },
    #[error(
        "server `{server}` did not answer within {}; it was told to cancel, but the call may have run",
        seconds(*.after)
    )]
    Timeout { server: String, after: Duration },
    #[error("server `{server}` is busy: {why}; the call did not run, try again later")]
    Busy { server: String, why: &'static str },
    #[error(
        "the answer of server `{server}` is over the limit of {limit} bytes; the call may have run \
         (raise the limit with --max-message)"
    )]
    TooLarge { server: String, limit: usize },
    #[error("server `{server}` sent a broken answer: {fault}; the call may have run")]
    BrokenAnswer { server: String, fault: FaultKind },
    #[error("Trunkline is shutting down; the call {}", ran(*.may_have_run))]
    ShuttingDown { may_have_run: bool },
    /// Said by a client's front, which outlives the runtime that it had handed the call to.
    #[error(
        "the shared runtime of Trunkline has ended unexpectedly; the call {}",
        ran(*.may_have_run)
    )]
    RuntimeGone { may_have_run: bool },
    #[error("the replica of Trunkline that the request was passed on to is gone; the call {}", ran(*.may_have_run))]
    ReplicaGone { may_have_run: bool },
    #[error("no server can be started any more: {why}; mend that and reconnect Trunkline in the client (the call {})", ran(*.may_have_run))]
    NoRuntime { may_have_run: bool, why: String },
    /// To a client that was let in and would not be now.
    #[error(
        "the token of this request was revoked or has expired; the request was cancelled, and may \
         have run"
    )]
    TurnedOut,
    #[error("the client has ended its session; the call was cancelled and {}", ran(*.may_have_run))]
    SessionEnded { may_have_run: bool },
    #[error(
        "the call cannot be recorded in the audit log, and Trunkline runs nothing unrecorded \
         (--audit-full, --audit-required); the call did not run, try again later"
    )]
    NotRecorded,
    #[error(
        "too many subscriptions: one session (or one subscriptions/listen) may have {uris} resources, and {bytes} \
         bytes of URIs; unsubscribe from some first"
    )]
    TooManySubscriptions { uris: usize, bytes: usize },
    #[error("{0}")]
    Limited(Box<Overrun>),
    #[error("{0}")]
    Keyed(KeyFault),
    #[error("not allowed here: {}; the request did not run", .0.words())]
    Forbidden(SharedRefusal),
    /// A mistake of ours.
    #[error(
        "Internal error: {0}; the call may have run (please report this, with Trunkline's log)"
    )]
    Internal(&'static str),
}

fn ran(may_have_run: bool) -> &'static str {
    if may_have_run { "may have run" } else { "did not run" }
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

/// Who has to act on an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blame {
    Client,
    Upstream,
    Trunkline,
}

/// Kinds of our own errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    Absence,
    Lateness,
    Crowd,
    /// It cannot be told what came of the call.
    Doubt,
    Other,
}

impl CallError {
    pub(crate) fn duplicate_id() -> Self {
        Self::InvalidRequest("another request with this id is still open".to_owned())
    }

    /// What an error of this code comes to, for those who get it from inside.
    pub(crate) fn remedy(code: i32) -> Remedy {
        match code {
            SERVER_GONE => Remedy::Absence,
            TIMEOUT => Remedy::Lateness,
            BUSY => Remedy::Crowd,
            TOO_LARGE | BROKEN_ANSWER | SHUTTING_DOWN | RUNTIME_GONE => Remedy::Doubt,
            _ => Remedy::Other,
        }
    }

    pub(crate) fn code(&self) -> i32 {
        match self {
            Self::Unreadable(_) => PARSE_ERROR,
            Self::InvalidRequest(_) => INVALID_REQUEST,
            Self::UnknownMethod(_) | Self::UnknownTool { .. } | Self::ToolOfAbsentServer { .. } => {
                METHOD_NOT_FOUND
            }
            Self::InvalidParams(_)
            | Self::NoPrefix { .. }
            | Self::ToolChanged { .. }
            | Self::UnknownPrompt(_)
            | Self::MissingMeta(_)
            | Self::NoEra
            | Self::BadState(_) => INVALID_PARAMS,
            Self::UnsupportedVersion { .. } => UNSUPPORTED_VERSION,
            Self::MissingCapability(_) => MISSING_CAPABILITY,
            Self::HeaderMismatch(_) => HEADER_MISMATCH,
            Self::UnknownResource(_) => RESOURCE_NOT_FOUND,
            Self::Unaskable { .. } | Self::Unaddressed { .. } => METHOD_NOT_FOUND,
            // The method of the call is known: it must not be taken for one that is not.
            Self::NotAnswered { code: METHOD_NOT_FOUND, .. } => TURNED_DOWN,
            Self::NotAnswered { code, .. } => *code,
            Self::ServerGone { .. } | Self::ServerAbsent { .. } => SERVER_GONE,
            Self::Timeout { .. } => TIMEOUT,
            Self::Busy { .. } => BUSY,
            Self::TooLarge { .. } => TOO_LARGE,
            Self::BrokenAnswer { .. } => BROKEN_ANSWER,
            Self::ShuttingDown { .. } => SHUTTING_DOWN,
            Self::RuntimeGone { .. } | Self::NoRuntime { .. } => RUNTIME_GONE,
            Self::ReplicaGone { .. } => REPLICA_GONE,
            Self::TurnedOut => TURNED_OUT,
            Self::NotRecorded => NOT_RECORDED,
            Self::SessionEnded { .. } => SESSION_ENDED,
            Self::TooManySubscriptions { .. } => TOO_MANY_SUBSCRIPTIONS,
            Self::Limited(_) => LIMITED,
            Self::Keyed(fault) => fault.code(),
            Self::Forbidden(_) => FORBIDDEN,
            Self::Internal(_) => INTERNAL_ERROR,
        }
    }

    /// The code in a response of that era: in the stateless one a method that is not found is a
    /// method, not a tool, and there is no code for resources.
    pub(crate) fn code_in(&self, era: Era) -> i32 {
        match self {
            Self::UnknownTool { .. }
            | Self::ToolOfAbsentServer { .. }
            | Self::UnknownResource(_)
                if era == Era::Modern =>
            {
                INVALID_PARAMS
            }
            _ => self.code(),
        }
    }

    pub(crate) fn blame(&self) -> Blame {
        match self {
            Self::Unreadable(_)
            | Self::InvalidRequest(_)
            | Self::UnknownMethod(_)
            | Self::InvalidParams(_)
            | Self::UnknownTool { .. }
            | Self::ToolChanged { .. }
            | Self::UnknownResource(_)
            | Self::UnknownPrompt(_)
            | Self::Unaskable { .. }
            | Self::NotAnswered { .. }
            | Self::Unaddressed { .. }
            | Self::MissingMeta(_)
            | Self::NoEra
            | Self::UnsupportedVersion { .. }
            | Self::MissingCapability(_)
            | Self::HeaderMismatch(_)
            | Self::BadState(_)
            | Self::NoPrefix { .. }
            | Self::TurnedOut
            | Self::TooManySubscriptions { .. }
            | Self::Limited(_)
            | Self::Keyed(_)
            | Self::Forbidden(_)
            | Self::SessionEnded { .. } => Blame::Client,
            Self::ToolOfAbsentServer { .. }
            | Self::ServerAbsent { .. }
            | Self::ServerGone { .. }
            | Self::Timeout { .. }
            | Self::Busy { .. }
            | Self::TooLarge { .. }
            | Self::BrokenAnswer { .. } => Blame::Upstream,
            Self::ShuttingDown { .. }
            | Self::RuntimeGone { .. }
            | Self::ReplicaGone { .. }
            | Self::NoRuntime { .. }
            | Self::NotRecorded
            | Self::Internal(_) => Blame::Trunkline,
        }
    }

    /// May the same call be sent again without being carried out twice?
    pub(crate) fn may_retry(&self) -> bool {
        match self {
            Self::Busy { .. }
            | Self::ToolOfAbsentServer { .. }
            | Self::ServerAbsent { .. }
            | Self::Limited(_)
            | Self::NotRecorded => true,
            Self::Keyed(fault) => fault.may_retry(),
            Self::ServerGone { may_have_run, .. }
            | Self::ShuttingDown { may_have_run }
            | Self::RuntimeGone { may_have_run }
            | Self::ReplicaGone { may_have_run }
            | Self::SessionEnded { may_have_run } => !may_have_run,
            _ => false,
        }
    }

    /// Without what a server has written to stderr, and without what its walls refused: that may quote secrets,
    /// arguments of other callers and paths, and is for those who run the server.
    pub(crate) fn without_stderr(&self) -> Cow<'_, Self> {
        Cow::Owned(match self {
            Self::ServerGone { server, what, may_have_run, .. } => Self::ServerGone {
                server: server.clone(),
                what: what.for_callers(),
                may_have_run: *may_have_run,
                stderr: Vec::new(),
            },
            Self::ServerAbsent { server, why } => {
                Self::ServerAbsent { server: server.clone(), why: why.for_callers() }
            }
            Self::ToolOfAbsentServer { tool, server, why } => Self::ToolOfAbsentServer {
                tool: tool.clone(),
                server: server.clone(),
                why: why.for_callers(),
            },
            _ => return Cow::Borrowed(self),
        })
    }

    fn server(&self) -> Option<&str> {
        match self {
            Self::ToolOfAbsentServer { server, .. }
            | Self::ServerAbsent { server, .. }
            | Self::ServerGone { server, .. }
            | Self::Timeout { server, .. }
            | Self::Busy { server, .. }
            | Self::TooLarge { server, .. }
            | Self::BrokenAnswer { server, .. } => Some(server),
            _ => None,
        }
    }

    /// The `data` member: what a program needs to decide what to do. Empty for most of a client's
    /// errors.
    fn data(&self, era: Era) -> Vec<u8> {
        match self {
            Self::UnsupportedVersion { requested } => return versions(requested),
            Self::MissingCapability(names) => return capabilities(names),
            Self::UnknownResource(uri) if era == Era::Modern => {
                return [&b"{\"uri\":"[..], &encode(uri), b"}"].concat();
            }
            Self::Limited(overrun) => return limited(overrun),
            Self::Keyed(fault) => return fault.data(),
            Self::Forbidden(refusal) => return refusal.data(),
            _ if self.blame() == Blame::Client => return Vec::new(),
            _ => {}
        }
        let mut data = Vec::new();
        data.extend_from_slice(b"{");
        if let Some(server) = self.server() {
            data.extend_from_slice(b"\"server\":");
            encode_into(server, &mut data);
            data.push(b',');
        }
        data.extend_from_slice(format!("\"mayRetry\":{}", self.may_retry()).as_bytes());
        if let Self::ServerGone { stderr, .. } = self
            && !stderr.is_empty()
        {
            data.extend_from_slice(b",\"stderr\":");
            encode_all_into(stderr.iter().map(String::as_str), &mut data);
        }
        data.push(b'}');
        data
    }

    /// The complete error response to the request with this id token.
    pub(crate) fn response(&self, id: &[u8]) -> Vec<u8> {
        self.response_in(Era::Legacy, id)
    }

    /// The complete error response for a client of that era.
    pub(crate) fn response_in(&self, era: Era, id: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(160);
        let (code, data) = (self.code_in(era), self.data(era));
        trunkline_wire::write_error(id, code, &self.to_string(), &data, &mut out);
        out
    }
}

/// The complete error response of a front whose runtime has gone. `why`: why it can have no other one.
pub fn runtime_gone(id: &[u8], may_have_run: bool, why: Option<&str>) -> Vec<u8> {
    let none = |why: &str| CallError::NoRuntime { may_have_run, why: why.to_owned() };
    why.map_or(CallError::RuntimeGone { may_have_run }, none).response(id)
}

/// The complete error response to a message over the limit.
pub fn over_limit(id: &[u8], limit: usize) -> Vec<u8> {
    CallError::over_limit(limit).response(id)
}

impl CallError {
    pub(crate) fn over_limit(limit: usize) -> Self {
        let why = format!("the message is over the limit of {limit} bytes (see --max-message)");
        Self::InvalidRequest(why)
    }
}

/// What a program needs to come again at the right time.
fn limited(overrun: &Overrun) -> Vec<u8> {
    let (scope, limit) = (overrun.scope.name(), overrun.limit.name());
    let mut data = format!(
        "{{\"mayRetry\":true,\"retryAfterMs\":{},\"scope\":\"{scope}\",\"limit\":\"{limit}\"",
        overrun.again_ms()
    )
    .into_bytes();
    if let (LimitScope::Server | LimitScope::Tool, Some(server)) = (overrun.scope, &overrun.server)
    {
        data.extend_from_slice(b",\"server\":");
        encode_into(server, &mut data);
    }
    data.push(b'}');
    data
}

fn versions(requested: &str) -> Vec<u8> {
    let mut data = b"{\"supported\":".to_vec();
    encode_all_into(ALL_VERSIONS, &mut data);
    data.extend_from_slice(b",\"requested\":");
    encode_into(requested, &mut data);
    data.push(b'}');
    data
}

/// A capability, and what has to stand in it if it is not enough to name it.
pub(crate) type Missing = (&'static str, Option<&'static str>);

fn capabilities(missing: &[Missing]) -> Vec<u8> {
    let mut data = b"{\"requiredCapabilities\":{".to_vec();
    for (index, name) in names(missing).into_iter().enumerate() {
        if index > 0 {
            data.push(b',');
        }
        encode_into(name, &mut data);
        data.extend_from_slice(b":{");
        let parts = missing.iter().filter(|(of, _)| *of == name).filter_map(|(_, part)| *part);
        for (index, part) in parts.enumerate() {
            if index > 0 {
                data.push(b',');
            }
            encode_into(part, &mut data);
            data.extend_from_slice(b":{}");
        }
        data.push(b'}');
    }
    data.extend_from_slice(b"}}");
    data
}

/// Each capability once.
fn names(missing: &[Missing]) -> Vec<&'static str> {
    let mut seen = std::collections::BTreeSet::new();
    missing.iter().map(|(name, _)| *name).filter(|name| seen.insert(*name)).collect()
}

/// What is missing, for people.
fn in_words(missing: &[Missing]) -> String {
    let word = |(name, part): &Missing| match part {
        Some(part) => format!("{name} ({part})"),
        None => (*name).to_owned(),
    };
    missing.iter().map(word).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown_tool(tool: &str) -> CallError {
        CallError::UnknownTool { tool: tool.to_owned(), hint: String::new() }
    }

    #[test]
    fn each_code_of_our_own_means_one_thing_is_not_reserved_and_is_in_the_docs() {
        let own = [
            SERVER_GONE,
            TIMEOUT,
            BUSY,
            TOO_LARGE,
            BROKEN_ANSWER,
            SHUTTING_DOWN,
            RUNTIME_GONE,
            TURNED_OUT,
            TURNED_DOWN,
            SESSION_ENDED,
            TOO_MANY_SUBSCRIPTIONS,
            LIMITED,
            NOT_ANSWERED,
            CLIENT_GONE,
        ];
        let own = [&own[..], &crate::call_keys::CODES].concat();
        let docs = include_str!("../../../docs/errors.md");
        for (index, code) in own.iter().enumerate() {
            assert!(!(-32768..=-32000).contains(code));
            assert!(!own[..index].contains(code), "{code}");
            assert_eq!(docs.matches(&format!("| {code} |")).count(), 1, "{code}");
        }
    }

    #[test]
    fn an_error_says_whether_the_call_ran() {
        let gone = CallError::ServerGone {
            server: "fs".to_owned(),
            what: "exited with code 7".into(),
            may_have_run: true,
            stderr: vec!["boom".to_owned()],
        };
        assert!(!gone.may_retry());
        let text = String::from_utf8(gone.response(b"1")).unwrap();
        assert_eq!(
            text,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-31001,\"message\":\"server `fs` exited \
             with code 7; the call may have run\",\"data\":{\"server\":\"fs\",\"mayRetry\":false,\
             \"stderr\":[\"boom\"]}}}"
        );
    }

    #[test]
    fn what_the_stateless_era_wants_to_know() {
        for (error, expected) in [
            (
                CallError::UnsupportedVersion { requested: "v9".to_owned() },
                r#""code":-32022,"message":"Unsupported protocol version: v9","data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"v9"}"#,
            ),
            (
                CallError::MissingCapability(vec![("sampling", None)]),
                r#""code":-32021,"message":"Missing client capability: sampling","data":{"requiredCapabilities":{"sampling":{}}}"#,
            ),
            (
                CallError::MissingCapability(vec![("elicitation", Some("url"))]),
                r#""code":-32021,"message":"Missing client capability: elicitation (url)","data":{"requiredCapabilities":{"elicitation":{"url":{}}}}"#,
            ),
            (
                CallError::MissingCapability(vec![
                    ("elicitation", Some("form")),
                    ("elicitation", Some("url")),
                    ("roots", None),
                ]),
                r#""code":-32021,"message":"Missing client capability: elicitation (form), elicitation (url), roots","data":{"requiredCapabilities":{"elicitation":{"form":{},"url":{}},"roots":{}}}"#,
            ),
            (
                CallError::UnknownResource("a://x".to_owned()),
                r#""code":-32602,"message":"Resource not found: a://x","data":{"uri":"a://x"}"#,
            ),
            (unknown_tool("x"), r#""code":-32602,"message":"Tool not found: x""#),
        ] {
            let text = String::from_utf8(error.response_in(Era::Modern, b"1")).unwrap();
            assert_eq!(text, format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{{expected}}}}}"#));
        }
    }

    #[test]
    fn what_a_client_refuses_keeps_its_code_but_for_one() {
        for (code, expected) in [(-1, -1), (-32603, -32603), (-32601, TURNED_DOWN)] {
            let (method, why) = ("m".to_owned(), "no".to_owned());
            assert_eq!(CallError::NotAnswered { method, code, why }.code(), expected);
        }
    }

    #[test]
    fn a_clients_own_error_carries_no_data() {
        let text = String::from_utf8(unknown_tool("a:b").response(b"1"));
        assert_eq!(
            text.unwrap(),
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Tool not found: a:b"}}"#
        );
    }
}
