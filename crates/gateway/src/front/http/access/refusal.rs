//! Why an HTTP request is refused: every status and message in one place.

use std::borrow::Cow;

use trunkline_http::{BadBody, BadHead, is_field_value, reason};
use trunkline_wire::{FaultKind, encode_into, write_error};

use crate::era::ReplicaId;
use crate::error::{CallError, INVALID_REQUEST};
use crate::gate::Denied;
use crate::limits::BATCH_MEMBERS;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HttpRefusal {
    #[error("{0}")]
    Head(BadHead),
    #[error("{0}")]
    Body(BadBody),
    #[error("the body is over the limit of {0} bytes (raise it with --max-message)")]
    TooLarge(usize),
    #[error("the body is over the limit of {0} bytes")]
    TooLong(usize),
    #[error("too many requests are on their way in; try again later")]
    Crowded,
    #[error("the request did not arrive in time")]
    Late,
    #[error("this Host is not served here (see --allow-host)")]
    Host,
    #[error("this Origin is not allowed here (see --allow-origin)")]
    Origin,
    #[error(
        "a valid token is needed: send `Authorization: Bearer TOKEN` with the token that `trunkline serve` was \
         given (TRUNKLINE_TOKEN or --token)"
    )]
    Token,
    /// The seconds to wait.
    #[error("too many wrong tokens came from this address; a right one is taken at once")]
    WrongTokens(u64),
    #[error("there is nothing here; the MCP endpoint is /mcp (or /sse for old clients)")]
    NotFound,
    #[error("this method is not allowed here")]
    Method(&'static str),
    #[error("the Accept header must allow both application/json and text/event-stream")]
    NotAcceptable,
    #[error("the Accept header must allow text/event-stream")]
    NoEventStream,
    #[error("the Content-Type must be application/json")]
    MediaType,
    #[error(
        "encoded request bodies are not read here: send the body plain, without Content-Encoding"
    )]
    Encoded,
    #[error("this request needs the Mcp-Session-Id header; a session begins with `initialize`")]
    NoSession,
    #[error("there is no such session (any more); begin a new one with `initialize`")]
    UnknownSession,
    /// Not told: the request is passed on.
    #[error("another replica has this session")]
    Elsewhere(ReplicaId),
    #[error(
        "the replica that has this session cannot be reached now; the request did not run, or is not known to have: \
         send it again in a while"
    )]
    ReplicaAway,
    #[error("this query needs `sessionId`, as the `endpoint` event has it")]
    NoSessionQuery,
    #[error("this session is initialized already; send `initialize` without Mcp-Session-Id")]
    Initialized,
    #[error("the MCP-Protocol-Version header names a revision that is not spoken here")]
    Revision,
    #[error("the stream of this Last-Event-ID is not kept (any more)")]
    UnknownEvent,
    #[error("too many sessions are open")]
    Full,
    #[error(
        "this key or token has {0} sessions open, as many as it may have, and none of them is idle; end some with \
         `DELETE` and their Mcp-Session-Id (or close their streams of /sse), or use another key"
    )]
    CallerFull(usize),
    #[error("Trunkline is shutting down; the call did not run")]
    ShuttingDown,
    #[error("the body is not a message: {0}")]
    Message(FaultKind),
    #[error("a batch has 1 to {BATCH_MEMBERS} messages")]
    BatchSize,
    #[error("batches are part of revision 2025-03-26 only; send one message at a time")]
    Batch,
}

impl HttpRefusal {
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::Head(bad) => bad.status(),
            Self::Body(bad) => bad.status(),
            Self::TooLarge(_) | Self::TooLong(_) => 413,
            Self::Late => 408,
            // 2025-11-25, Transports, Security Warning: an Origin that is not allowed MUST get 403.
            Self::Host | Self::Origin => 403,
            Self::Token => 401,
            // 2025-11-25, Transports, Session Management: an id whose session is over MUST get 404;
            // the client then opens another session.
            Self::NotFound | Self::UnknownSession => 404,
            Self::Elsewhere(_) => 421,
            Self::Method(_) => 405,
            Self::NotAcceptable | Self::NoEventStream => 406,
            Self::MediaType | Self::Encoded => 415,
            Self::WrongTokens(_) | Self::CallerFull(_) => 429,
            Self::Crowded | Self::Full | Self::ShuttingDown | Self::ReplicaAway => 503,
            // 2025-11-25, Transports, Session Management: a request that needs a session and names
            // none SHOULD get 400.
            Self::NoSession
            | Self::NoSessionQuery
            | Self::Initialized
            | Self::Revision
            | Self::UnknownEvent
            | Self::Message(_)
            | Self::BatchSize
            | Self::Batch => 400,
        }
    }

    /// A header that goes with the status.
    pub(crate) fn header(self) -> Option<(&'static str, Cow<'static, [u8]>)> {
        let (name, value): (_, &[u8]) = match self {
            // RFC 9110, 15.5.2: 401 MUST come with a challenge.
            Self::Token => ("WWW-Authenticate", b"Bearer realm=\"trunkline\""),
            // RFC 9110, 15.5.6: 405 MUST name the methods that there are.
            Self::Method(allowed) => ("Allow", allowed.as_bytes()),
            // RFC 9110, 15.5.16: a coding that is not taken is answered with those that are.
            Self::Encoded => ("Accept-Encoding", b"identity"),
            Self::Crowded
            | Self::Full
            | Self::CallerFull(_)
            | Self::ShuttingDown
            | Self::ReplicaAway => ("Retry-After", b"5"),
            Self::WrongTokens(seconds) => return Some(retry(seconds)),
            _ => return None,
        };
        Some((name, value.into()))
    }

    /// A JSON-RPC error to the message with this id token.
    pub(crate) fn body(self, id: &[u8]) -> Vec<u8> {
        match self {
            Self::ShuttingDown => CallError::ShuttingDown { may_have_run: false }.response(id),
            Self::Message(kind) if kind.is_parse_error() => {
                CallError::Unreadable(kind).response(id)
            }
            _ => {
                let mut out = Vec::with_capacity(160);
                write_error(id, INVALID_REQUEST, &self.to_string(), b"", &mut out);
                out
            }
        }
    }
}

pub(crate) const PROBLEM: &[u8] = b"application/problem+json";

/// The body of a refusal to a client that does not speak JSON-RPC (RFC 9457).
pub(crate) fn problem(status: u16, detail: &str) -> Vec<u8> {
    let mut out = br#"{"type":"about:blank","title":"#.to_vec();
    encode_into(reason(status), &mut out);
    out.extend_from_slice(format!(",\"status\":{status},\"detail\":").as_bytes());
    encode_into(detail, &mut out);
    out.extend_from_slice(b",\"hint\":");
    encode_into(hint(status), &mut out);
    out.push(b'}');
    out
}

/// What the client can do about it; the problems of attached routes carry a hint, too.
fn hint(status: u16) -> &'static str {
    match status {
        401 => "send `Authorization: Bearer TOKEN`",
        403 => "use an allowed Host and Origin (see --allow-host and --allow-origin)",
        405 => "the `Allow` header lists the methods it has",
        413 => "reduce the request body",
        415 => "send the body plain, in the type that `detail` names",
        429 => "wait as long as `Retry-After` says, and send a right token",
        408 | 503 => "send the request again in a while",
        500.. => "look into Trunkline's log for this time",
        _ => "correct the request as `detail` says",
    }
}

/// Why a request goes no further: our own refusal, or the gate's.
#[derive(Clone, Debug)]
pub(crate) enum Rejection {
    Refused(HttpRefusal),
    /// A web page of this Origin may not come in.
    Origin(String),
    Denied(Denied),
}

/// Origins that an operator could allow; anything else is not repeated.
const LONGEST_ORIGIN: usize = 200;

impl Rejection {
    /// The refusal of this Origin, with the flag that would allow it.
    pub(crate) fn of_origin(origin: Option<&[u8]>) -> Self {
        let text = origin.and_then(|origin| std::str::from_utf8(origin).ok()).unwrap_or_default();
        let is_web = text.starts_with("http://") || text.starts_with("https://");
        let is_plain =
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b":/.-_[]".contains(&byte));
        match is_web && is_plain && text.len() <= LONGEST_ORIGIN {
            true => Self::Origin(text.to_owned()),
            false => Self::Refused(HttpRefusal::Origin),
        }
    }
}

fn retry(seconds: u64) -> (&'static str, Cow<'static, [u8]>) {
    ("Retry-After", seconds.to_string().into_bytes().into())
}

impl From<HttpRefusal> for Rejection {
    fn from(why: HttpRefusal) -> Self {
        Self::Refused(why)
    }
}

impl Rejection {
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Refused(why) => why.status(),
            Self::Origin(_) => HttpRefusal::Origin.status(),
            Self::Denied(Denied { status: status @ (401 | 403 | 429 | 503), .. }) => *status,
            Self::Denied(_) => 403,
        }
    }

    /// Headers that go with the status.
    pub(crate) fn header(&self) -> Option<(&'static str, Cow<'_, [u8]>)> {
        match self {
            Self::Refused(why) => why.header(),
            Self::Origin(_) => None,
            Self::Denied(denied) => match (&denied.challenge, denied.retry_after) {
                (_, Some(seconds)) => Some(retry(seconds)),
                (Some(challenge), None) if is_field_value(challenge.as_bytes()) => {
                    Some(("WWW-Authenticate", challenge.as_bytes().into()))
                }
                _ => (self.status() == 503).then(|| retry(5)),
            },
        }
    }

    pub(crate) fn words(&self) -> String {
        match self {
            Self::Refused(why) => why.to_string(),
            Self::Origin(origin) => format!(
                "web pages of {origin} may not connect here; to let them, start `trunkline serve` with \
                 `--allow-origin {origin}`"
            ),
            Self::Denied(denied) => denied.message.clone(),
        }
    }

    /// A JSON-RPC error to the message with this id token.
    pub(crate) fn body(&self, id: &[u8]) -> Vec<u8> {
        match self {
            Self::Refused(why) => why.body(id),
            Self::Origin(_) | Self::Denied(_) => {
                let mut out = Vec::with_capacity(160);
                write_error(id, INVALID_REQUEST, &self.words(), b"", &mut out);
                out
            }
        }
    }
}

impl From<BadHead> for HttpRefusal {
    fn from(bad: BadHead) -> Self {
        Self::Head(bad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_gate_says_is_passed_on_as_far_as_it_makes_sense() {
        let bearer = Some("Bearer realm=\"x\"");
        for (status, challenge, expected, header) in [
            (401, bearer, 401, Some(("WWW-Authenticate", "Bearer realm=\"x\""))),
            (429, None, 429, Some(("Retry-After", "7"))),
            (403, None, 403, None),
            (403, bearer, 403, Some(("WWW-Authenticate", "Bearer realm=\"x\""))),
            (503, None, 503, Some(("Retry-After", "5"))),
            (401, Some("Bearer\r\nX: 1"), 401, None),
            (200, None, 403, None),
        ] {
            let challenge = challenge.map(str::to_owned);
            let retry_after = (status == 429).then_some(7);
            let message = "no".to_owned();
            let rejection = Rejection::Denied(Denied { status, challenge, retry_after, message });
            assert_eq!(rejection.status(), expected);
            let header =
                header.map(|(name, value): (&'static str, &str)| (name, value.as_bytes().into()));
            assert_eq!(rejection.header(), header, "{rejection:?}");
            let body = String::from_utf8(rejection.body(b"null")).unwrap();
            assert!(body.contains("\"message\":\"no\""), "{body}");
        }
    }

    #[test]
    fn a_refused_origin_is_told_the_flag_that_would_allow_it() {
        for (origin, expected) in [
            (&b"http://localhost:6274"[..], "`--allow-origin http://localhost:6274`"),
            (b"http://[::1]:9", "`--allow-origin http://[::1]:9`"),
            (b"null", "(see --allow-origin)"),
            (b"http://a`rm -rf`", "(see --allow-origin)"),
            (b"\xff", "(see --allow-origin)"),
        ] {
            let words = Rejection::of_origin(Some(origin)).words();
            assert!(words.contains(expected), "{words}");
        }
        let long = format!("http://{}", "a".repeat(1000));
        assert!(Rejection::of_origin(Some(long.as_bytes())).words().len() < 100);
    }

    #[test]
    fn a_problem_is_json() {
        let text = String::from_utf8(problem(413, "too \"large\"")).unwrap();
        let expected = r#"{"type":"about:blank","title":"Content Too Large","status":413,"detail":"too \"large\"","hint":"reduce the request body"}"#;
        assert_eq!(text, expected);
    }
}
