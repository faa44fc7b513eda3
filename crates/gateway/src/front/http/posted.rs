//! The body of a POST: a message, several, or neither.

use memchr::memchr2;
use trunkline_http::is_type;
use trunkline_wire::{FaultKind, Message, MessageFault, is_json, scan};

use crate::front::http::refusal::Refusal;

/// What a body turned out to be.
#[derive(Debug)]
pub(super) enum Posted<'a> {
    Message(Message<'a>),
    Batch(&'a [u8]),
    /// Why it is none of these, and the id if one was seen.
    Broken(FaultKind, &'a [u8]),
}

/// Reads a body, without the line ends a message may have between its tokens: servers get one
/// message a line.
pub(super) fn read<T>(body: &[u8], then: impl FnOnce(Posted<'_>) -> T) -> T {
    let posted = parse(body);
    if memchr2(b'\n', b'\r', body).is_none() || matches!(posted, Posted::Broken(..)) {
        return then(posted);
    }
    // It is JSON: no string holds a raw line end.
    let line: Vec<u8> =
        body.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    then(parse(&line))
}

fn parse(body: &[u8]) -> Posted<'_> {
    match scan(body) {
        Ok(message) => Posted::Message(message),
        Err(MessageFault { kind: FaultKind::Batch, .. }) if is_json(body) => Posted::Batch(body),
        Err(MessageFault { kind: FaultKind::Batch, .. }) => {
            Posted::Broken(FaultKind::NotJson, b"null")
        }
        Err(fault) => {
            let id = fault.id.map(|span| span.of(body)).unwrap_or_default();
            let usable = matches!(id.first(), Some(b'"' | b'-' | b'0'..=b'9'));
            let twice = matches!(fault.kind, FaultKind::Duplicate("id"));
            Posted::Broken(fault.kind, if usable && !twice { id } else { b"null" })
        }
    }
}

/// Only JSON is read: a form on a web page can send anything else without being asked.
pub(super) fn check_type(content_type: Option<&[u8]>) -> Result<(), Refusal> {
    let json = content_type.is_some_and(|value| is_type(value, "application/json"));
    if json { Ok(()) } else { Err(Refusal::MediaType) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(body: &str) -> String {
        read(body.as_bytes(), |posted| match posted {
            Posted::Message(message) => String::from_utf8(message.bytes.to_vec()).unwrap(),
            Posted::Batch(batch) => format!("batch {}", String::from_utf8_lossy(batch)),
            Posted::Broken(kind, id) => format!("{kind:?} {}", String::from_utf8_lossy(id)),
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
