//! `HttpRequest`: a request that has come in whole, and the messages in its body.

use std::net::SocketAddr;
use std::sync::Arc;

use memchr::memchr2;
use trunkline_http::{Request, is_type};
use trunkline_wire::{FaultKind, Message, MessageFault, is_json, scan};

use crate::front::http::access::HttpRefusal;
use crate::front::http::front::Front;
use crate::gate::{Admission, Asking, Pass};
use crate::session::Session;

#[derive(Debug)]
pub(crate) struct HttpRequest<'a, 'b> {
    pub(crate) front: &'b Arc<Front>,
    pub(crate) head: &'b Request<'a>,
    pub(crate) body: &'b [u8],
    pub(crate) peer: SocketAddr,
    /// The authenticated caller; `None` where none is needed.
    pub(crate) caller: Option<&'b Arc<Pass>>,
    /// Its body was not read: it is for an attachment that refuses it.
    pub(crate) unread: bool,
}

impl HttpRequest<'_, '_> {
    /// Where a stateless request of this caller goes.
    pub(crate) fn stateless_session(&self) -> Arc<Session> {
        let (front, path) = (self.front, self.head.path());
        front.contexts.stateless(path, self.caller, front.clock.now())
    }

    /// Would it be admitted on any path?
    pub(crate) fn is_admitted(&self) -> bool {
        match &self.front.gate {
            Some(gate) => {
                let admission = gate.admit(&asking(self.head, self.peer));
                matches!(admission, Admission::Now(Ok(_)))
            }
            None => self.front.guard.admits(self.head),
        }
    }
}

/// What a request shows at the gate. The guard has refused those with two Authorization headers.
pub(crate) fn asking<'a>(head: &Request<'a>, peer: SocketAddr) -> Asking<'a> {
    let authorization = head.headers.once("authorization").ok().flatten();
    Asking { authorization, path: head.path(), peer }
}

/// Does the client prefer a page to JSON? Browsers say so, programs do not.
pub(crate) fn accepts_html(head: &Request<'_>) -> bool {
    const HTML: &[u8] = b"text/html";
    let is_html = |value: &[u8]| value.windows(HTML.len()).any(|it| it.eq_ignore_ascii_case(HTML));
    head.headers.all("accept").any(is_html)
}

/// What the body of a POST holds.
#[derive(Debug)]
pub(crate) enum PostedBody<'a> {
    Message(Message<'a>),
    Batch(&'a [u8]),
    /// Neither; the id of the message, if one was found, or `null`.
    Broken(FaultKind, &'a [u8]),
}

/// Reads a body and drops line ends between tokens: on stdio, a server gets one message a line.
pub(crate) fn read_body<T>(body: &[u8], then: impl FnOnce(PostedBody<'_>) -> T) -> T {
    let posted = parse(body);
    if memchr2(b'\n', b'\r', body).is_none() || matches!(posted, PostedBody::Broken(..)) {
        return then(posted);
    }
    // It is valid JSON, so no string holds a raw line end.
    let line: Vec<u8> =
        body.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    then(parse(&line))
}

fn parse(body: &[u8]) -> PostedBody<'_> {
    match scan(body) {
        Ok(message) => PostedBody::Message(message),
        Err(MessageFault { kind: FaultKind::Batch, .. }) if is_json(body) => {
            PostedBody::Batch(body)
        }
        Err(MessageFault { kind: FaultKind::Batch, .. }) => {
            PostedBody::Broken(FaultKind::NotJson, b"null")
        }
        Err(fault) => {
            let id = fault.id.map(|span| span.of(body)).unwrap_or_default();
            let usable = matches!(id.first(), Some(b'"' | b'-' | b'0'..=b'9'));
            let twice = matches!(fault.kind, FaultKind::Duplicate("id"));
            PostedBody::Broken(fault.kind, if usable && !twice { id } else { b"null" })
        }
    }
}

/// Does the message itself name the revision of the stateless era?
pub(crate) fn is_stateless(message: &Message<'_>) -> bool {
    message.params.meta.version.is_some()
}

/// Accepts JSON only: a form on a web page can send other types without a preflight.
pub(crate) fn check_content_type(content_type: Option<&[u8]>) -> Result<(), HttpRefusal> {
    let json = content_type.is_some_and(|value| is_type(value, "application/json"));
    if json { Ok(()) } else { Err(HttpRefusal::MediaType) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(body: &str) -> String {
        read_body(body.as_bytes(), |posted| match posted {
            PostedBody::Message(message) => String::from_utf8(message.bytes.to_vec()).unwrap(),
            PostedBody::Batch(batch) => format!("batch {}", String::from_utf8_lossy(batch)),
            PostedBody::Broken(kind, id) => format!("{kind:?} {}", String::from_utf8_lossy(id)),
        })
    }

    #[test]
    fn line_ends_between_tokens_are_dropped() {
        for (body, expected) in [
            (
                "{\"jsonrpc\":\"2.0\",\r\n \"method\":\"a\\nb\"\n}\n",
                "{\"jsonrpc\":\"2.0\", \"method\":\"a\\nb\"}",
            ),
            ("[\n{}\n]", "batch [{}]"),
            ("[\n{]", "NotJson null"),
            ("[\"\n\"]", "NotJson null"),
            ("{\"jsonrpc\":\"2.0\",\"method\":\"a\nb\"}", "NotJson null"),
            ("{\"id\":7,\"method\":\"a\"}", "NotJsonRpc 7"),
            ("", "Truncated null"),
            ("nonsense", "NotJson null"),
        ] {
            assert_eq!(kind(body), expected, "{body}");
        }
    }
}
