//! Writes heads, chunks and events.
//!
//! The framing is written here and only here: fields that would contradict it are left out, and
//! no value can end its line.

use crate::head::{is_field_name, is_value_byte};

const HEX: &[u8; 16] = b"0123456789abcdef";
/// Behind the bytes of a chunk.
pub const CHUNK_END: &[u8] = b"\r\n";
/// Behind the last chunk.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
/// Behind the data of an event.
pub const EVENT_END: &[u8] = b"\n\n";

/// `length` of the body; `None` announces chunks. Statuses that have no body get neither.
/// `Content-Length`, `Transfer-Encoding` and `Connection` among the headers are left out.
pub fn response_head(
    out: &mut Vec<u8>,
    status: u16,
    headers: &[(&str, &[u8])],
    length: Option<usize>,
    keep_alive: bool,
) {
    out.extend_from_slice(b"HTTP/1.1 ");
    decimal(out, usize::from(status));
    out.push(b' ');
    out.extend_from_slice(reason(status).as_bytes());
    out.extend_from_slice(b"\r\n");
    for (name, value) in headers {
        field(out, name, value);
    }
    // RFC 9110, 8.6 and RFC 9112, 6.1: a response of these statuses carries neither field.
    if !matches!(status, 100..=199 | 204 | 304) {
        match length {
            Some(length) => content_length(out, length),
            None => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
        }
    }
    if !keep_alive {
        out.extend_from_slice(b"Connection: close\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

/// `length` of the body; `None`: there is no body. `Host` among the headers is left out, too.
pub fn request_head(
    out: &mut Vec<u8>,
    method: &str,
    target: &str,
    host: &str,
    headers: &[(&str, &[u8])],
    length: Option<usize>,
) {
    word(out, method);
    out.push(b' ');
    word(out, target);
    out.extend_from_slice(b" HTTP/1.1\r\nHost: ");
    word(out, host);
    out.extend_from_slice(b"\r\n");
    for (name, value) in headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("host")) {
        field(out, name, value);
    }
    if let Some(length) = length {
        content_length(out, length);
    }
    out.extend_from_slice(b"\r\n");
}

/// The line before a chunk of `length` bytes, which must not be 0: that would be the last chunk.
pub fn chunk_head(length: usize, out: &mut Vec<u8>) {
    // By hand: itoa writes decimal digits only, and `fmt` would cost more than the rest of the line.
    let digits = length.checked_ilog2().map_or(1, |bits| bits / 4 + 1);
    let nibbles = (0..digits).rev().map(|at| length >> (4 * at) & 15);
    out.extend(nibbles.filter_map(|nibble| HEX.get(nibble)));
    out.extend_from_slice(b"\r\n");
}

/// A whole chunk, or nothing if there are no bytes.
pub fn chunk(bytes: &[u8], out: &mut Vec<u8>) {
    if !bytes.is_empty() {
        chunk_head(bytes.len(), out);
        out.extend_from_slice(bytes);
        out.extend_from_slice(CHUNK_END);
    }
}

/// An event up to its data, which is one line; `EVENT_END` follows it.
pub fn event_head(name: Option<&str>, id: Option<&str>, out: &mut Vec<u8>) {
    for (field, value) in [(&b"event: "[..], name), (b"id: ", id)] {
        if let Some(value) = value {
            out.extend_from_slice(field);
            // A line end in a name or id would start another field of the event; an id with a NUL
            // is ignored by readers.
            out.extend(value.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n' | 0)));
            out.push(b'\n');
        }
    }
    out.extend_from_slice(b"data: ");
}

/// A whole event; data of several lines is written as several.
pub fn event(name: Option<&str>, id: Option<&str>, data: &[u8], out: &mut Vec<u8>) {
    event_head(name, id, out);
    let mut rest = data;
    while let Some(end) = memchr::memchr2(b'\r', b'\n', rest) {
        let (line, after) = rest.split_at_checked(end).unwrap_or_default();
        out.extend_from_slice(line);
        out.extend_from_slice(b"\ndata: ");
        // CR LF is one line end, not two: else the data would get an empty line.
        rest = after.strip_prefix(b"\r\n").or_else(|| after.get(1..)).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(EVENT_END);
}

/// The usual words for a status.
pub fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}

/// A header field. One whose name is none is left out; control bytes in a value become spaces.
fn field(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    // A second length or coding could contradict the framing that is written: the reader would look
    // for the end of the message elsewhere (RFC 9112, 11.2).
    const OURS: [&str; 3] = ["content-length", "transfer-encoding", "connection"];
    if !is_field_name(name) || OURS.iter().any(|ours| ours.eq_ignore_ascii_case(name)) {
        return;
    }
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend(value.iter().map(|byte| if is_value_byte(*byte) { *byte } else { b' ' }));
    out.extend_from_slice(b"\r\n");
}

/// A part of the first lines, which are split at spaces: none can come from a value.
fn word(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().filter(u8::is_ascii_graphic));
}

fn content_length(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(b"Content-Length: ");
    decimal(out, length);
    out.extend_from_slice(b"\r\n");
}

fn decimal(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Body, Event, Events, Framing, request, response};
    use proptest::prelude::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn responses() {
        assert_eq!(
            text(|out| response_head(out, 200, &[("Content-Type", b"a/b")], Some(12), true)),
            "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 12\r\n\r\n"
        );
        assert_eq!(
            text(|out| response_head(out, 404, &[], None, false)),
            "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(
            text(|out| response_head(out, 202, &[], Some(0), true)),
            "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
        );
        assert_eq!(
            text(|out| response_head(out, 204, &[], Some(0), true)),
            "HTTP/1.1 204 No Content\r\n\r\n"
        );
        assert_eq!(
            text(|out| response_head(out, 100, &[], None, true)),
            "HTTP/1.1 100 Continue\r\n\r\n"
        );
    }

    #[test]
    fn requests() {
        let accept = ("Accept", &b"text/event-stream"[..]);
        assert_eq!(
            text(|out| request_head(out, "GET", "/mcp?a", "h:1", &[accept], None)),
            "GET /mcp?a HTTP/1.1\r\nHost: h:1\r\nAccept: text/event-stream\r\n\r\n"
        );
        assert_eq!(
            text(|out| request_head(out, "POST", "/", "h", &[], Some(usize::MAX))),
            format!("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", usize::MAX)
        );
    }

    #[test]
    fn nothing_given_can_change_the_framing() {
        let headers: &[(&str, &[u8])] = &[
            ("content-length", b"5"),
            ("Transfer-Encoding", b"chunked"),
            ("CONNECTION", b"upgrade"),
            ("Host", b"evil"),
            ("X", b"a\r\nTransfer-Encoding: chunked\0"),
            ("Y: z\r\nTransfer-Encoding", b"chunked"),
            ("", b"x"),
        ];
        assert_eq!(
            text(|out| request_head(out, "GET\r\n", "/a b\r\nX: y", "h\n", headers, None)),
            "GET /abX:y HTTP/1.1\r\nHost: h\r\nX: a  Transfer-Encoding: chunked \r\n\r\n"
        );
        assert_eq!(
            text(|out| event_head(Some("a\nb"), Some("1\r\n\0"), out)),
            "event: ab\nid: 1\ndata: "
        );
    }

    #[test]
    fn numbers() {
        for (length, head) in [(1, "1\r\n"), (10, "a\r\n"), (255, "ff\r\n"), (65_536, "10000\r\n")]
        {
            assert_eq!(text(|out| chunk_head(length, out)), head);
        }
        assert_eq!(text(|out| chunk(b"", out)), "", "an empty chunk would be the last");
        assert_eq!(text(|out| chunk(b"abc", out)), "3\r\nabc\r\n");
    }

    #[test]
    fn events() {
        assert_eq!(text(|out| event_head(None, None, out)), "data: ");
        assert_eq!(
            text(|out| event(Some("message"), Some("7"), b"{}", out)),
            "event: message\nid: 7\ndata: {}\n\n"
        );
        assert_eq!(
            text(|out| event(None, None, b"a\nb\r\nc\rd\n", out)),
            "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"
        );
    }

    #[test]
    fn every_status_we_may_send_has_a_reason() {
        for status in [200, 202, 400, 401, 403, 404, 405, 406, 413, 415, 429, 431, 500, 502, 505] {
            assert!(!reason(status).is_empty(), "{status}");
        }
        let unknown = text(|out| response_head(out, 299, &[], Some(0), true));
        assert!(unknown.starts_with("HTTP/1.1 299 \r\n"), "the space stays: {unknown:?}");
    }

    proptest! {
        #[test]
        fn a_written_request_is_read_back(
            target in "/[!-\"$-~]{0,20}",
            name in "[A-Za-z][A-Za-z0-9-]{0,10}",
            value in proptest::collection::vec(any::<u8>(), 0..20),
            length in proptest::option::of(any::<usize>()),
        ) {
            prop_assume!(!["host", "connection"].contains(&name.to_ascii_lowercase().as_str()));
            let mut out = Vec::new();
            request_head(&mut out, "POST", &target, "h", &[(&name, &value)], length);
            let (request, read) = request(&out).unwrap().unwrap();
            prop_assert_eq!(read, out.len());
            prop_assert_eq!((request.method, request.target), ("POST", target.as_str()));
            prop_assert_eq!(request.headers.iter().count(), 2 + usize::from(length.is_some()));
            if crate::is_field_value(&value) {
                prop_assert_eq!(request.headers.get(&name), Some(crate::head::trim(&value)));
            }
            let framing = length.map_or(Framing::None, |length| Framing::Length(length as u64));
            prop_assert_eq!(request.body(), Ok(framing));
        }

        #[test]
        fn a_written_stream_of_events_is_read_back(
            sent in proptest::collection::vec(
                (proptest::option::of("[a-z]{1,5}"), proptest::option::of("[0-9a-f-]{0,9}"), "[ -~\né]{0,30}"),
                0..6,
            ),
        ) {
            let mut out = Vec::new();
            response_head(&mut out, 200, &[("Content-Type", b"text/event-stream")], None, true);
            for (name, id, data) in &sent {
                let mut one = Vec::new();
                event(name.as_deref(), id.as_deref(), data.as_bytes(), &mut one);
                chunk(&one, &mut out);
            }
            out.extend_from_slice(LAST_CHUNK);

            let (response, read) = response(&out).unwrap().unwrap();
            prop_assert!(response.keeps_alive());
            let mut body = Body::new(response.body(false).unwrap(), usize::MAX);
            let mut events = Events::new(1000);
            let taken = body.decode(&out[read..], events.room()).unwrap();
            prop_assert!(body.is_complete() && taken == out.len() - read);
            for (name, id, data) in &sent {
                let expected = Event::Message {
                    name: name.as_deref().unwrap_or("message").as_bytes(),
                    id: id.as_ref().map(String::as_bytes),
                    data: data.as_bytes(),
                };
                prop_assert_eq!(events.next(), Some(expected));
            }
            prop_assert_eq!(events.next(), None);
        }
    }
}
