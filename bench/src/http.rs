//! A read buffer that hands out whole HTTP/1.1 messages; like `lines`, its cost is linear in the bytes.
//!
//! Only what MCP over HTTP needs is understood: bodies with a length or in chunks, and a few headers.

use crate::scan;
use memchr::memchr;
use rustix::buffer::spare_capacity;
use rustix::io::{Errno, read};
use std::ops::Range;
use std::os::fd::AsFd;

/// A head and a small body fit.
const INITIAL: usize = 16 * 1024;
/// Longer heads are refused.
const LONGEST_HEAD: usize = 16 * 1024;

/// Not HTTP, or not HTTP as it is understood here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// Bytes read from one socket and not yet handed out.
#[derive(Debug)]
pub struct Inbox {
    bytes: Vec<u8>,
    /// Everything before this was handed out.
    start: usize,
    /// The head of the message under way, once it is whole.
    head: Option<Head>,
}

/// A whole message; the spans refer to `Inbox::bytes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub head: Range<usize>,
    pub named: Named,
    pub body: Range<usize>,
    /// Whether a browser sent it: it has an `origin`.
    pub origin: bool,
    /// Whether the body is `text/event-stream`.
    pub events: bool,
}

/// Where the values of MCP's own headers stand; an empty range means "not there".
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Named {
    /// `mcp-session-id`.
    pub session: Range<usize>,
    /// `mcp-protocol-version`.
    pub version: Range<usize>,
    /// `mcp-method`.
    pub method: Range<usize>,
    /// `mcp-name`.
    pub name: Range<usize>,
}

impl Named {
    /// The spans in a head that starts at `by`.
    fn shifted(&self, by: usize) -> Self {
        let shift = |span: &Range<usize>| span.start + by..span.end + by;
        Self {
            session: shift(&self.session),
            version: shift(&self.version),
            method: shift(&self.method),
            name: shift(&self.name),
        }
    }
}

impl Default for Inbox {
    fn default() -> Self {
        Self { bytes: Vec::with_capacity(INITIAL), start: 0, head: None }
    }
}

impl Inbox {
    /// One `read`; `Ok(0)` is the end of the stream.
    pub fn fill(&mut self, fd: impl AsFd) -> Result<usize, Errno> {
        self.make_room();
        loop {
            match read(fd.as_fd(), spare_capacity(&mut self.bytes)) {
                Err(Errno::INTR) => {}
                other => return other,
            }
        }
    }

    /// The next whole message.
    pub fn next_message(&mut self) -> Result<Option<Message>, Malformed> {
        if self.start == self.bytes.len() {
            return Ok(None);
        }
        let Some(head) = self.head()? else {
            return Ok(None);
        };
        let from = self.start + head.end;
        let whole = match head.body {
            Body::Length(length) => {
                let end = from + length;
                (end <= self.bytes.len()).then_some((from..end, end))
            }
            Body::Chunked => unchunk(&mut self.bytes, from)?,
        };
        let Some((body, end)) = whole else {
            self.head = Some(head);
            return Ok(None);
        };
        let named = head.named.shifted(self.start);
        let (origin, events) = (head.origin, head.events);
        let message = Message { head: self.start..from, named, body, origin, events };
        self.start = end;
        Ok(Some(message))
    }

    /// What the spans refer to.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether there are bytes that were not handed out.
    pub fn has_more(&self) -> bool {
        self.start < self.bytes.len()
    }

    /// The body under way if its length is known: what is here of it, and that length.
    pub fn partial(&mut self) -> Result<Option<(Range<usize>, usize)>, Malformed> {
        let Some(head) = self.head()? else {
            return Ok(None);
        };
        let from = self.start + head.end;
        let length = head.body.clone();
        self.head = Some(head);
        let Body::Length(length) = length else {
            return Ok(None);
        };
        Ok(Some((from..self.bytes.len().min(from + length), length)))
    }

    /// Forgets everything read so far.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.start = 0;
        self.head = None;
    }

    /// Gives away the buffer up to the end of the message handed out last; what follows moves to `fresh`.
    pub fn take(&mut self, mut fresh: Vec<u8>) -> Vec<u8> {
        fresh.clear();
        fresh.extend_from_slice(&self.bytes[self.start..]);
        self.bytes.truncate(self.start);
        self.start = 0;
        std::mem::replace(&mut self.bytes, fresh)
    }

    /// Whether the message under way needs a bigger buffer.
    pub fn outgrown(&self) -> bool {
        self.wanted() > self.bytes.capacity() - self.start
    }

    /// Continues in `bigger`, which has more room.
    pub fn move_to(&mut self, mut bigger: Vec<u8>) {
        bigger.clear();
        bigger.extend_from_slice(&self.bytes[self.start..]);
        self.start = 0;
        self.bytes = bigger;
    }

    /// The length of the message under way as far as it is known.
    fn wanted(&self) -> usize {
        match &self.head {
            Some(Head { end, body: Body::Length(length), .. }) => end + length,
            _ => 0,
        }
    }

    /// The head of the message under way; the caller puts it back if the message is not whole.
    fn head(&mut self) -> Result<Option<Head>, Malformed> {
        match self.head.take() {
            Some(head) => Ok(Some(head)),
            None => Head::parse(&self.bytes[self.start..]),
        }
    }

    fn make_room(&mut self) {
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
            return;
        }
        let free = self.bytes.capacity() - self.bytes.len();
        if self.start > 0 && (free < INITIAL / 2 || self.outgrown()) {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        if self.outgrown() {
            self.bytes.reserve_exact(self.wanted() - self.bytes.len());
        } else if self.bytes.len() == self.bytes.capacity() {
            self.bytes.reserve(self.bytes.capacity());
        }
    }
}

/// What a head says, with positions counted from its first byte.
#[derive(Debug, Clone)]
struct Head {
    /// Behind the empty line.
    end: usize,
    named: Named,
    body: Body,
    origin: bool,
    events: bool,
}

#[derive(Debug, Clone)]
enum Body {
    Length(usize),
    Chunked,
}

impl Head {
    /// `None` if the head is not whole yet.
    fn parse(bytes: &[u8]) -> Result<Option<Self>, Malformed> {
        let mut head = Self {
            end: 0,
            named: Named::default(),
            body: Body::Length(0),
            origin: false,
            events: false,
        };
        let mut at = 0;
        while let Some(step) = memchr(b'\n', &bytes[at..]) {
            let line = &bytes[at..at + step];
            let line = line.strip_suffix(b"\r").ok_or(Malformed)?;
            if line.is_empty() {
                head.end = at + step + 1;
                return Ok(Some(head));
            }
            if at > 0 {
                head.header(line, at)?;
            }
            at += step + 1;
        }
        if bytes.len() > LONGEST_HEAD { Err(Malformed) } else { Ok(None) }
    }

    /// Notes a header that matters. The length of a name tells most others apart without a comparison.
    fn header(&mut self, line: &[u8], at: usize) -> Result<(), Malformed> {
        let colon = memchr(b':', line).ok_or(Malformed)?;
        let (name, value) = (&line[..colon], colon + 1);
        let span = || {
            let start = at + line.len() - line[value..].trim_ascii_start().len();
            start..start + line[value..].trim_ascii().len()
        };
        match colon {
            6 if name.eq_ignore_ascii_case(b"origin") => self.origin = true,
            8 if name.eq_ignore_ascii_case(b"mcp-name") => self.named.name = span(),
            10 if name.eq_ignore_ascii_case(b"mcp-method") => self.named.method = span(),
            12 if name.eq_ignore_ascii_case(b"content-type") => {
                self.events = line[value..].trim_ascii().starts_with(b"text/event-stream");
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                let digits = line[value..].trim_ascii();
                let length = scan::number(digits, 0..digits.len()).ok_or(Malformed)?;
                self.body = Body::Length(length);
            }
            14 if name.eq_ignore_ascii_case(b"mcp-session-id") => self.named.session = span(),
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.body = Body::Chunked,
            20 if name.eq_ignore_ascii_case(b"mcp-protocol-version") => self.named.version = span(),
            _ => {}
        }
        Ok(())
    }
}

/// Joins the chunks that start at `from` in place once all are there: the body's span, and the end of the message.
fn unchunk(bytes: &mut [u8], from: usize) -> Result<Option<(Range<usize>, usize)>, Malformed> {
    let mut chunks = Vec::new();
    let mut at = from;
    let end = loop {
        let Some(step) = memchr(b'\n', &bytes[at..]) else {
            return Ok(None);
        };
        let size = hexadecimal(&bytes[at..at + step]).ok_or(Malformed)?;
        at += step + 1;
        if size == 0 {
            break at + 2;
        }
        chunks.push(at..at + size);
        at += size + 2;
        if at > bytes.len() {
            return Ok(None);
        }
    };
    if end > bytes.len() {
        return Ok(None);
    }
    let mut to = from;
    for chunk in chunks {
        let length = chunk.len();
        bytes.copy_within(chunk, to);
        to += length;
    }
    Ok(Some((from..to, end)))
}

/// The size at the beginning of a chunk's first line.
fn hexadecimal(line: &[u8]) -> Option<usize> {
    let end = line.iter().position(|b| !b.is_ascii_hexdigit()).unwrap_or(line.len());
    usize::from_str_radix(std::str::from_utf8(&line[..end]).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::write;
    use rustix::pipe::pipe;

    const STREAM: &[u8] =
        b"POST /mcp HTTP/1.1\r\nContent-Length:5\r\nMcp-Session-Id:  abc \r\n\r\nhello\
        POST /mcp HTTP/1.1\r\nMCP-Protocol-Version: v\r\nMcp-Method:m\r\nmcp-name: n\r\n\r\n\
        HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type: text/event-stream; x\r\n\r\n\
        3\r\nfoo\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n\
        GET /mcp HTTP/1.1\r\norigin: http://evil\r\n\r\n";

    fn show(inbox: &Inbox, message: &Message) -> String {
        let text = |span: &Range<usize>| String::from_utf8_lossy(&inbox.bytes()[span.clone()]);
        let line = text(&message.head).lines().next().map(str::to_owned);
        format!(
            "{} [{}{}{}{}] {} {} {}",
            line.unwrap_or_default(),
            text(&message.named.session),
            text(&message.named.version),
            text(&message.named.method),
            text(&message.named.name),
            text(&message.body),
            message.origin,
            message.events
        )
    }

    #[test]
    fn messages_survive_any_chunking() {
        for chunk in [1, 2, 7, 64, 4096] {
            let (reader, writer) = pipe().expect("pipe");
            let mut inbox = Inbox::default();
            let mut got = Vec::new();
            for part in STREAM.repeat(200).chunks(chunk) {
                write(&writer, part).expect("write");
                inbox.fill(&reader).expect("fill");
                while let Some(message) = inbox.next_message().expect("well-formed") {
                    got.push(show(&inbox, &message));
                }
            }
            let wanted = [
                "POST /mcp HTTP/1.1 [abc] hello false false",
                "POST /mcp HTTP/1.1 [vmn]  false false",
                "HTTP/1.1 200 OK [] foo0123456789 false true",
                "GET /mcp HTTP/1.1 []  true false",
            ];
            assert_eq!(got.len(), 800, "chunks of {chunk}");
            assert!(got.chunks(4).all(|four| four == wanted), "chunks of {chunk}: {got:?}");
            assert!(!inbox.has_more());
        }
    }

    #[test]
    fn a_taken_message_leaves_the_rest() {
        let (reader, writer) = pipe().expect("pipe");
        let mut inbox = Inbox::default();
        write(&writer, b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhelloHTTP").expect("write");
        inbox.fill(&reader).expect("fill");
        let message = inbox.next_message().expect("well-formed").expect("whole");
        let taken = inbox.take(Vec::with_capacity(100));
        assert_eq!((&taken[message.body.clone()], taken.len()), (&b"hello"[..], message.body.end));
        write(&writer, b"/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n").expect("write");
        inbox.fill(&reader).expect("fill");
        let message = inbox.next_message().expect("well-formed").expect("whole");
        assert_eq!(show(&inbox, &message), "HTTP/1.1 202 Accepted []  false false");
    }

    #[test]
    fn a_large_body_gets_its_buffer_at_once() {
        let (reader, writer) = pipe().expect("pipe");
        let mut inbox = Inbox::default();
        write(&writer, b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n{").expect("write");
        inbox.fill(&reader).expect("fill");
        assert_eq!(inbox.next_message(), Ok(None));
        assert!(inbox.outgrown());
        inbox.move_to(Vec::with_capacity(2_000_000));
        assert!(!inbox.outgrown());
        let (here, length) = inbox.partial().expect("well-formed").expect("a length");
        assert_eq!((&inbox.bytes()[here], length), (&b"{"[..], 1_000_000));
    }

    #[test]
    fn what_is_not_http_is_refused() {
        for text in ["GET / HTTP/1.1\n\n", "POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n"] {
            let (reader, writer) = pipe().expect("pipe");
            let mut inbox = Inbox::default();
            write(&writer, text.as_bytes()).expect("write");
            inbox.fill(&reader).expect("fill");
            assert_eq!(inbox.next_message(), Err(Malformed), "{text}");
        }
    }
}
