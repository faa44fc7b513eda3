//! MCP messages as HTTP requests: a head before what is sent, answers out of the responses.

use super::connection::{Outgoing, excerpt};
use crate::era::{Era, MODERN};
use crate::http::{Inbox, Malformed, Message};
use crate::scan;
use std::ops::Range;

/// Where requests go, and as whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Desk {
    pub(super) path: &'static str,
    /// A bearer token, where one is asked for.
    pub(super) token: Option<String>,
}

impl Desk {
    /// MCP with nobody at the door.
    pub(super) const OPEN: Self = Self { path: MCP, token: None };
}

pub(super) const MCP: &str = "/mcp";
/// The platform's own way to call a tool.
pub(super) const CALL: &str = "/api/v1/tools/call";

/// One connection's way to speak.
#[derive(Debug)]
pub(super) struct Post {
    pub(super) desk: Desk,
    /// The head up to what differs between messages.
    head: Vec<u8>,
    pub(super) inbox: Inbox,
    /// The session the server opened.
    session: Vec<u8>,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Response {
    /// A notification was taken.
    Accepted,
    /// The span of the answer in the inbox.
    Answer(Range<usize>),
}

impl Post {
    pub(super) fn to(port: u16, era: Era, desk: Desk) -> Self {
        let more = match era {
            Era::Legacy => String::new(),
            Era::Modern => format!("mcp-protocol-version: {MODERN}\r\n"),
        };
        let head = head(port, &desk, more.as_bytes());
        Self { desk, head, inbox: Inbox::default(), session: Vec::new() }
    }

    /// From now on requests belong to `session`, or to the one the server opened.
    pub(super) fn enter(&mut self, port: u16, session: Option<&[u8]>) {
        if let Some(session) = session {
            self.session = session.to_vec();
        }
        let session = String::from_utf8_lossy(&self.session);
        let mut more = "mcp-protocol-version: 2025-06-18\r\n".to_owned();
        if !session.is_empty() {
            more.push_str(&format!("mcp-session-id: {session}\r\n"));
        }
        self.head = head(port, &self.desk, more.as_bytes());
    }

    pub(super) fn session(&self) -> &[u8] {
        &self.session
    }

    /// Appends the request that carries `message`.
    pub(super) fn push(&self, out: &mut Vec<u8>, outgoing: Outgoing<'_>) {
        let message = outgoing.line.strip_suffix(b"\n").unwrap_or(outgoing.line);
        out.extend_from_slice(&self.head);
        out.extend_from_slice(outgoing.headers);
        out.extend_from_slice(b"content-length: ");
        scan::push_number(out, message.len());
        out.extend_from_slice(b"\r\n\r\n");
        out.extend_from_slice(message);
    }

    /// The next response if it is here as a whole.
    pub(super) fn response(&mut self) -> Result<Option<Response>, String> {
        let Some(message) = self.inbox.next_message().map_err(malformed)? else {
            return Ok(None);
        };
        let bytes = self.inbox.bytes();
        if self.session.is_empty() {
            self.session = bytes[message.named.session.clone()].to_vec();
        }
        match bytes[message.head.clone()].get(9..12) {
            Some(b"200") if message.events => {
                Ok(Some(Response::Answer(of_events(bytes, &message)?)))
            }
            Some(b"200") => Ok(Some(Response::Answer(message.body))),
            Some(b"202") => Ok(Some(Response::Accepted)),
            _ => Err(format!(
                "it refused: {}",
                excerpt(&bytes[message.head.start..message.body.end])
            )),
        }
    }
}

pub(super) fn malformed(_: Malformed) -> String {
    "it does not speak HTTP".to_owned()
}

fn head(port: u16, desk: &Desk, more: &[u8]) -> Vec<u8> {
    let path = desk.path;
    let first = format!(
        "POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n"
    );
    let token = desk.token.as_ref().map(|token| format!("authorization: Bearer {token}\r\n"));
    [first.as_bytes(), token.unwrap_or_default().as_bytes(), more].concat()
}

/// The answer among the events of a stream that has ended.
fn of_events(bytes: &[u8], message: &Message) -> Result<Range<usize>, String> {
    let mut at = message.body.start;
    for line in bytes[message.body.clone()].split_inclusive(|&byte| byte == b'\n') {
        let data = line.strip_prefix(b"data:").unwrap_or_default();
        let skipped = line.len() - data.trim_ascii_start().len();
        let span = at + skipped..at + skipped + data.trim_ascii().len();
        at += line.len();
        if scan::is_answer(&bytes[span.clone()]) {
            return Ok(span);
        }
    }
    Err(format!("events without an answer: {}", excerpt(&bytes[message.body.clone()])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::write;
    use rustix::pipe::pipe;

    fn response(text: &str) -> Result<Option<String>, String> {
        let (reader, writer) = pipe().expect("pipe");
        write(&writer, text.as_bytes()).expect("write");
        let mut post = Post::to(1, Era::Legacy, Desk::OPEN);
        post.inbox.fill(&reader).expect("fill");
        let shown = post.response()?.map(|response| match response {
            Response::Accepted => "accepted".to_owned(),
            Response::Answer(span) => excerpt(&post.inbox.bytes()[span]),
        });
        Ok(shown)
    }

    #[test]
    fn an_answer_is_found_in_json_and_in_events() {
        let json = "HTTP/1.1 200 OK\r\ncontent-length: 19\r\n\r\n{\"id\":1,\"error\":0}";
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
        let events =
            "event: message\r\ndata: {\"method\":\"x\"}\r\n\r\ndata:{\"result\":0}\r\n\r\n";
        let events = format!("{head}content-length: {}\r\n\r\n{events}", events.len());
        assert_eq!(response(json), Ok(None), "a byte is missing");
        assert_eq!(
            response(&json.replace("19", "18")),
            Ok(Some("{\"id\":1,\"error\":0}".to_owned()))
        );
        assert_eq!(response(&events), Ok(Some("{\"result\":0}".to_owned())));
        let accepted = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(response(accepted), Ok(Some("accepted".to_owned())));
        assert!(response("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").is_err());
        assert!(response(&format!("{head}content-length: 0\r\n\r\n")).is_err());
    }

    #[test]
    fn a_request_has_its_length_and_its_session() {
        let mut post = Post::to(80, Era::Legacy, Desk::OPEN);
        post.enter(80, Some(b"abc"));
        let mut out = Vec::new();
        post.push(&mut out, Outgoing::plain(b"{}\n"));
        let text = String::from_utf8_lossy(&out);
        assert!(text.starts_with("POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:80\r\n"));
        assert!(text.contains("\r\nmcp-session-id: abc\r\n"));
        assert!(text.ends_with("\r\ncontent-length: 2\r\n\r\n{}"));
    }

    #[test]
    fn a_request_says_who_asks_where_somebody_stands_at_the_door() {
        let mut out = Vec::new();
        let desk = Desk { path: CALL, token: Some("x".to_owned()) };
        Post::to(80, Era::Legacy, desk).push(&mut out, Outgoing::plain(b"{}"));
        let text = String::from_utf8_lossy(&out);
        assert!(text.starts_with("POST /api/v1/tools/call HTTP/1.1\r\n"), "{text}");
        assert!(text.contains("\r\nauthorization: Bearer x\r\n"), "{text}");
    }

    #[test]
    fn a_modern_request_has_its_version_and_its_own_headers() {
        let mut out = Vec::new();
        let outgoing = Outgoing { headers: b"mcp-method: x\r\n", line: b"{}\n" };
        Post::to(80, Era::Modern, Desk::OPEN).push(&mut out, outgoing);
        let text = String::from_utf8_lossy(&out);
        let end =
            "\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: x\r\ncontent-length: 2\r\n\r\n{}";
        assert!(text.ends_with(end), "{text}");
    }
}
