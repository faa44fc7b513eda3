//! `HttpReader`: cuts what a client sends into requests, and hands each on when it has come in whole
//! and the one before it is answered. A head that is repeated is known by its bytes (`HeadCache`).

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use trunkline_http::{BadBody, Body, Framing, Headers, Request, request};
use trunkline_wire::Edits;

use super::address_counts::AddressPlace;
use super::admission::{Admission, ClientConn};
use crate::front::http::access::{ClientPeer, HttpRefusal, Rejection};
use crate::front::http::connection::{BodyShare, Conn, Reply, ReplyMode, RequestStage};
use crate::front::http::front::Front;
use crate::front::http::handlers::{CachedRoute, NAME, mcp};
use crate::pump::{FlushSet, Frame, Reader, SourceHandle};

#[derive(Debug)]
pub(crate) struct HttpReader {
    client: ClientConn,
    buffer: Vec<u8>,
    reading: ReadState,
    /// The head of the last message that was posted here.
    head_cache: Option<HeadCache>,
    /// Counts as one of the connections, and of those of its address, until it is dropped.
    _place: ConnectionPlace,
}

/// A connection among all, and among those of its address.
#[derive(Debug)]
pub(crate) struct ConnectionPlace {
    pub(crate) _permit: OwnedSemaphorePermit,
    /// `None`: it is another replica, whose connections are not counted.
    pub(crate) _address: Option<AddressPlace>,
}

/// What the next bytes are.
#[derive(Debug)]
enum ReadState {
    Head,
    /// Head and body follow each other in the buffer.
    Whole {
        length: usize,
        share: BodyShare,
    },
    Chunks(Box<Chunks>),
    /// Of no interest: the request was refused.
    Nothing,
}

#[derive(Debug)]
struct Chunks {
    head: Vec<u8>,
    body: Body,
    decoded: Vec<u8>,
    share: BodyShare,
    too_long: HttpRefusal,
}

/// What came of parsing the bytes.
enum Progress {
    Used(usize),
    Incomplete,
}

impl HttpReader {
    /// `start`: what has come of the first request already.
    pub(crate) fn new(
        front: &Arc<Front>,
        conn: &Arc<Conn>,
        peer: ClientPeer,
        place: ConnectionPlace,
        start: Vec<u8>,
    ) -> Self {
        Self {
            client: ClientConn { front: Arc::clone(front), conn: Arc::clone(conn), peer },
            buffer: start,
            reading: ReadState::Head,
            head_cache: None,
            _place: place,
        }
    }

    fn step(&mut self, bytes: &[u8], touched: &mut FlushSet) -> Progress {
        match &mut self.reading {
            ReadState::Head => match self.repeat(bytes, touched) {
                Some(used) => Progress::Used(used),
                None => self.head(bytes, touched),
            },
            ReadState::Whole { length, share } if bytes.len() < *length => {
                if !share.grow(bytes.len()) {
                    return self.lose(&HttpRefusal::Crowded.into(), ReplyMode::lost(), touched);
                }
                self.client.conn.set_stage(RequestStage::Body, bytes.len());
                Progress::Incomplete
            }
            ReadState::Whole { .. } => {
                self.reading = ReadState::Head;
                self.head(bytes, touched)
            }
            ReadState::Chunks(_) => self.chunks(bytes, touched),
            ReadState::Nothing => Progress::Used(bytes.len()),
        }
    }

    /// Takes a request under the same head as before, if its body has come in whole.
    fn repeat(&self, bytes: &[u8], touched: &mut FlushSet) -> Option<usize> {
        let cache = self.head_cache.as_ref()?;
        let (front, conn) = (&*self.client.front, &self.client.conn);
        let found = cache.find(bytes, front.gate_version())?;
        let end = found.head + found.body;
        let body = bytes.get(found.head..end).filter(|_| found.body <= front.message_limit)?;
        match &cache.route {
            CachedRoute::Session(session) => {
                let reply = Reply::new(conn, ReplyMode::PLAIN);
                mcp::post_in_session(front, session, body, reply, touched);
            }
            CachedRoute::Stateless(fast_path) => {
                fast_path.take((front, conn), found.name, body, touched)?;
            }
        }
        Some(end)
    }

    fn head(&mut self, bytes: &[u8], touched: &mut FlushSet) -> Progress {
        match request(bytes) {
            Ok(Some((request, length))) => {
                let (head, rest) = bytes.split_at_checked(length).unwrap_or_default();
                self.begin(&request, head, rest, touched)
            }
            Ok(None) => {
                self.client.conn.set_stage(RequestStage::Head, 0);
                Progress::Incomplete
            }
            Err(bad) => self.lose(&HttpRefusal::from(bad).into(), ReplyMode::lost(), touched),
        }
    }

    /// The head is there; `rest` is what has come behind it.
    fn begin(
        &mut self,
        request: &Request<'_>,
        head: &[u8],
        rest: &[u8],
        touched: &mut FlushSet,
    ) -> Progress {
        let length = match request.body() {
            Ok(Framing::Length(length)) => Some(usize::try_from(length).unwrap_or(usize::MAX)),
            Ok(Framing::None) => Some(0),
            Ok(Framing::Chunked | Framing::UntilClose) => None,
            Err(bad) => {
                let mode = ReplyMode { api: self.client.is_attached(request), ..ReplyMode::lost() };
                return self.lose(&HttpRefusal::from(bad).into(), mode, touched);
            }
        };
        let admission = self.client.admit(request);
        // Decided by the announced length: a body that is too long is never read.
        let too_long = length.is_some_and(|length| length > admission.limit);
        let whole = length.and_then(|length| rest.get(..length)).filter(|_| !too_long);
        if let Some(body) = whole {
            let (mode, version) = (admission.mode.clone(), admission.gate_version);
            let route = self.client.handle(admission, head, body, touched);
            self.head_cache =
                route.and_then(|route| HeadCache::new(route, head, request, &mode, version));
            return Progress::Used(head.len() + body.len());
        }
        if admission.unread && admission.decision.is_ok() {
            return self.hand_over_unread(admission, head, touched);
        }
        let mut share = BodyShare::new(&self.client.front.bodies, admission.sender);
        let why = match admission.decision {
            Err(why) => Some(why),
            Ok(_) if too_long => Some(admission.too_long.into()),
            // What has come counts, not what is announced: that costs its sender nothing.
            Ok(_) if !share.grow(rest.len()) => Some(HttpRefusal::Crowded.into()),
            Ok(_) => None,
        };
        if let Some(why) = why {
            let mode = ReplyMode { keep_alive: false, unread: true, ..admission.mode };
            return self.lose(&why, mode, touched);
        }
        // A client that has begun to send its body does not wait for it (RFC 9110, 10.1.1).
        if rest.is_empty() && request.expects_continue() {
            self.say_continue(touched);
        }
        self.client.conn.set_stage(RequestStage::Body, rest.len());
        if let Some(length) = length {
            self.reading = ReadState::Whole { length: head.len() + length, share };
            return Progress::Incomplete;
        }
        let (body, too_long) = (Body::new(Framing::Chunked, admission.limit), admission.too_long);
        let chunks = Chunks { head: head.to_vec(), body, decoded: Vec::new(), share, too_long };
        self.reading = ReadState::Chunks(Box::new(chunks));
        Progress::Used(head.len())
    }

    /// Hands a request over without its body, to be refused. What follows is not read.
    fn hand_over_unread(
        &mut self,
        mut admission: Admission<'_>,
        head: &[u8],
        touched: &mut FlushSet,
    ) -> Progress {
        self.reading = ReadState::Nothing;
        (admission.mode.keep_alive, admission.mode.unread) = (false, true);
        self.client.handle(admission, head, b"", touched);
        Progress::Used(0)
    }

    fn chunks(&mut self, bytes: &[u8], touched: &mut FlushSet) -> Progress {
        let ReadState::Chunks(mut chunks) = std::mem::replace(&mut self.reading, ReadState::Head)
        else {
            return Progress::Incomplete; // not reached: only chunks come here
        };
        let used = match chunks.body.decode(bytes, &mut chunks.decoded) {
            Ok(used) => used,
            Err(bad) => {
                let known = request(&chunks.head).ok().flatten();
                let api = known.is_some_and(|(request, _)| self.client.is_attached(&request));
                let why = match bad {
                    BadBody::TooLarge => chunks.too_long,
                    bad => HttpRefusal::Body(bad),
                };
                return self.lose(&why.into(), ReplyMode { api, ..ReplyMode::lost() }, touched);
            }
        };
        if !chunks.body.is_complete() {
            if !chunks.share.grow(chunks.decoded.len()) {
                return self.lose(&HttpRefusal::Crowded.into(), ReplyMode::lost(), touched);
            }
            self.client.conn.set_stage(RequestStage::Body, chunks.decoded.len());
            self.reading = ReadState::Chunks(chunks);
        } else if let Ok(Some((request, _))) = request(&chunks.head) {
            let admission = self.client.admit(&request);
            self.client.handle(admission, &chunks.head, &chunks.decoded, touched);
        }
        Progress::Used(used)
    }

    /// Refuses a request that cannot be read to its end: what follows cannot be made sense of.
    fn lose(&mut self, why: &Rejection, mode: ReplyMode, touched: &mut FlushSet) -> Progress {
        // Where the next request begins is unknown: guessing would allow request smuggling.
        self.reading = ReadState::Nothing;
        Reply::new(&self.client.conn, mode).reject(why, b"null", touched);
        Progress::Used(0)
    }

    fn say_continue(&self, touched: &mut FlushSet) {
        let frame = Frame { head: b"HTTP/1.1 100 Continue\r\n\r\n", tail: b"" };
        // An error means that the client has closed: `ended` is called next.
        let _ = self.client.conn.outbox.put_framed(frame, b"", &Edits::new());
        touched.note(&self.client.conn.outbox);
    }
}

impl Reader for HttpReader {
    fn room(&mut self) -> &mut Vec<u8> {
        let held = self.buffer.len();
        if self.buffer.capacity() - held < ROOM {
            let expected = match &self.reading {
                ReadState::Whole { length, .. } => length.saturating_sub(held),
                ReadState::Chunks(_) => KEPT_CAPACITY,
                ReadState::Head | ReadState::Nothing => 0,
            };
            // A client may announce more than it sends: memory follows what has come.
            self.buffer.reserve_exact(expected.clamp(2 * ROOM, held.max(LARGE_ROOM)));
        }
        &mut self.buffer
    }

    fn take(&mut self, source: &SourceHandle, touched: &mut FlushSet) {
        // Taken out: `step` borrows the reader while it reads the bytes.
        let buffer = std::mem::take(&mut self.buffer);
        let mut rest = &buffer[..];
        while !rest.is_empty() && !self.client.conn.wait_if_busy(rest.len(), source) {
            match self.step(rest, touched) {
                Progress::Used(used) => rest = rest.get(used..).unwrap_or_default(),
                Progress::Incomplete => break,
            }
        }
        let used = buffer.len() - rest.len();
        self.buffer = buffer;
        self.used(used);
    }

    fn ended(&mut self, touched: &mut FlushSet) {
        self.client.conn.client_closed(touched);
    }
}

/// For the head of a request and a small body. Most connections are idle: little is kept for each.
const ROOM: usize = 4 * 1024;
// A body is announced, not there yet: only so much is reserved for it in advance.
const LARGE_ROOM: usize = 256 * 1024;
// There may be ten thousand connections: one large request must not cost its room for as long as
// its connection lasts.
const KEPT_CAPACITY: usize = 64 * 1024;

impl HttpReader {
    /// Drops bytes that need not be looked at again.
    fn used(&mut self, used: usize) {
        if used < self.buffer.len() {
            self.buffer.drain(..used);
            // The start of another request must not keep the room of a large one.
            if used > 0 && self.buffer.len() <= KEPT_CAPACITY / 2 {
                self.buffer.shrink_to(KEPT_CAPACITY);
            }
        } else if self.buffer.capacity() > KEPT_CAPACITY {
            self.buffer = Vec::new();
        } else {
            self.buffer.clear();
        }
    }
}

/// The head that a client repeats. Clients post one message after the other under the same head but
/// for Content-Length and Mcp-Name; what was decided about its bytes once holds again.
#[derive(Debug)]
struct HeadCache {
    route: CachedRoute,
    /// `Gate::version` when the head was accepted.
    gate_version: u64,
    pattern: HeadPattern,
}

/// The values of a repeated head that differ from the last time.
#[derive(Debug, PartialEq, Eq)]
struct RepeatedHead<'a> {
    /// The length of the head.
    head: usize,
    /// Content-Length.
    body: usize,
    /// Mcp-Name, where the head has one.
    name: &'a [u8],
}

impl HeadCache {
    /// `None`: heads of this kind are checked each time.
    fn new(
        route: CachedRoute,
        head: &[u8],
        request: &Request<'_>,
        mode: &ReplyMode,
        gate_version: u64,
    ) -> Option<Self> {
        // Only plain replies: the cached route answers without looking at the mode.
        if *mode != ReplyMode::PLAIN || request.expects_continue() {
            return None;
        }
        let variables: &[HeadVariable] = match route {
            CachedRoute::Session(_) => &[HeadVariable::Length],
            CachedRoute::Stateless(_) => &[HeadVariable::Length, HeadVariable::Name],
        };
        let pattern = HeadPattern::new(head, &request.headers, variables)?;
        Some(Self { route, gate_version, pattern })
    }

    /// The variable values, if `bytes` begin with this head and the gate has not changed.
    fn find<'a>(&self, bytes: &'a [u8], gate_version: u64) -> Option<RepeatedHead<'a>> {
        let holds = self.gate_version == gate_version
            && match &self.route {
                CachedRoute::Session(session) => !session.is_over(),
                CachedRoute::Stateless(fast_path) => !fast_path.is_expired(),
            };
        self.pattern.find(bytes).filter(|_| holds)
    }
}

/// A head without its variable values.
#[derive(Debug, PartialEq, Eq)]
struct HeadPattern {
    /// What stands before each variable.
    parts: Vec<(Vec<u8>, HeadVariable)>,
    after: Vec<u8>,
}

/// A header value that differs each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeadVariable {
    /// The digits of Content-Length.
    Length,
    /// Mcp-Name.
    Name,
}

impl HeadVariable {
    /// The value it has in this head, if it has one.
    fn of<'a>(self, headers: &Headers<'a>) -> Option<&'a [u8]> {
        let mut values = headers.all(match self {
            Self::Length => "content-length",
            Self::Name => NAME,
        });
        // A repeated field is ambiguous: such a head is checked each time.
        values.next().filter(|_| values.next().is_none())
    }

    /// How many of `bytes` may belong to such a value. Only harmless bytes do: none that could begin
    /// another header or need decoding.
    fn fill(self, bytes: &[u8]) -> usize {
        let fits = |byte: &&u8| match self {
            Self::Length => byte.is_ascii_digit(),
            Self::Name => byte.is_ascii_alphanumeric() || b"_-./:".contains(byte),
        };
        bytes.iter().take_while(fits).count()
    }
}

impl HeadPattern {
    fn new(head: &[u8], headers: &Headers<'_>, variables: &[HeadVariable]) -> Option<Self> {
        let mut places = Vec::with_capacity(variables.len());
        for variable in variables {
            let value = variable.of(headers)?;
            // The value was found in the head: this is where.
            places.push((
                value.as_ptr().addr().checked_sub(head.as_ptr().addr())?,
                value,
                *variable,
            ));
        }
        places.sort_by_key(|(start, ..)| *start);
        let (mut parts, mut behind) = (Vec::with_capacity(places.len()), 0);
        for (start, value, variable) in places {
            parts.push((head.get(behind..start)?.to_vec(), variable));
            behind = start + value.len();
        }
        Some(Self { parts, after: head.get(behind..)?.to_vec() })
    }

    fn find<'a>(&self, bytes: &'a [u8]) -> Option<RepeatedHead<'a>> {
        let mut found = RepeatedHead { head: 0, body: 0, name: b"" };
        let mut rest = bytes;
        for (before, variable) in &self.parts {
            rest = rest.strip_prefix(&**before)?;
            let (value, behind) = rest.split_at_checked(variable.fill(rest))?;
            match variable {
                HeadVariable::Length => found.body = number(value)?,
                HeadVariable::Name => found.name = value,
            }
            rest = behind;
        }
        rest = rest.strip_prefix(&*self.after)?;
        found.head = bytes.len() - rest.len();
        Some(found)
    }
}

/// Enough for any body that is taken.
const MOST_DIGITS: usize = 9;

fn number(digits: &[u8]) -> Option<usize> {
    // Nine digits cannot overflow.
    let usual = (1..=MOST_DIGITS).contains(&digits.len());
    usual.then(|| digits.iter().fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str, variables: &[HeadVariable]) -> Option<HeadPattern> {
        let (request, length) = request(text.as_bytes()).unwrap().unwrap();
        HeadPattern::new(&text.as_bytes()[..length], &request.headers, variables)
    }

    /// The lengths of head and body, and the name.
    fn found(known: &HeadPattern, text: &str) -> Option<(usize, usize, String)> {
        let RepeatedHead { head, body, name } = known.find(text.as_bytes())?;
        Some((head, body, String::from_utf8(name.to_vec()).unwrap()))
    }

    const HEAD: &str = "POST /mcp HTTP/1.1\r\nHost: a\r\ncontent-length:  12 \r\nX: 12\r\n\r\n";
    const CALL: &str = "POST /mcp HTTP/1.1\r\nHost: a\r\nMcp-Name: s.t \r\nX: s.t\r\n\
                        Content-Length: 5\r\n\r\n";
    const LENGTH: &[HeadVariable] = &[HeadVariable::Length];
    const BOTH: &[HeadVariable] = &[HeadVariable::Length, HeadVariable::Name];

    #[test]
    fn the_same_head_is_found_whatever_its_length() {
        let known = head(HEAD, LENGTH).unwrap();
        for (digits, body) in [("12", 12), ("7", 7), ("007", 7), ("123456789", 123_456_789)] {
            let text = HEAD.replacen("12", digits, 1);
            let expected = Some((text.len(), body, String::new()));
            assert_eq!(found(&known, &text), expected, "{digits}");
            assert_eq!(found(&known, &format!("{text}{{}}GET")), expected, "{digits}");
        }
    }

    #[test]
    fn any_other_head_is_not() {
        let known = head(HEAD, LENGTH).unwrap();
        let text = |digits: &str| HEAD.replacen("12", digits, 1);
        for other in [
            text(""),
            text("+1"),
            text("-1"),
            text("1,2"),
            text("1 2"),
            text("0x1"),
            text("1\r\nContent-Length: 2"),
            text("1234567890"),
            HEAD.replace("Host: a", "Host: b"),
            HEAD.replace("X: 12", "X: 13"),
            HEAD.replace("X: 12", "X: 12\r\nTransfer-Encoding: chunked"),
            HEAD.replace("X: 12\r\n", ""),
            HEAD.replace("POST", "PUT"),
            HEAD.trim_end().to_owned(),
            String::new(),
        ] {
            assert_eq!(found(&known, &other), None, "{other}");
        }
    }

    #[test]
    fn a_head_that_names_a_tool_is_found_whatever_the_tool() {
        let swapped = "POST / HTTP/1.1\r\nContent-Length: 5\r\nmcp-name: s.t\r\nHost: a\r\n\r\n";
        for text in [CALL, swapped] {
            let known = head(text, BOTH).unwrap();
            for (name, digits, body) in [("s.t", "5", 5), ("other_tool-1", "1234", 1234)] {
                let text = text.replacen("s.t", name, 1).replacen(": 5", &format!(": {digits}"), 1);
                let expected = Some((text.len(), body, name.to_owned()));
                assert_eq!(found(&known, &format!("{text}{{}}")), expected, "{text}");
            }
        }
    }

    #[test]
    fn nothing_hides_in_the_name_of_a_tool() {
        let known = head(CALL, BOTH).unwrap();
        for name in [
            "a b",
            "a\tb",
            "a, b",
            "\u{e9}",
            "=?base64?YQ==?=",
            "a\r\nX: b",
            "a\r\nTransfer-Encoding: chunked",
            "a\nb",
            "a\0",
            "\"a\"",
            "a\\",
        ] {
            assert_eq!(found(&known, &CALL.replacen("s.t", name, 1)), None, "{name:?}");
        }
        assert_eq!(found(&known, &CALL.replace("X: s.t", "X: s.u")), None);
    }

    #[test]
    fn only_a_head_with_one_length_and_one_name_is_remembered() {
        let two = HEAD.replace("X: 12", "Content-Length: 12");
        assert_eq!(head(&two, LENGTH), None);
        assert_eq!(head("GET / HTTP/1.1\r\nHost: a\r\n\r\n", LENGTH), None);
        assert_eq!(head(HEAD, BOTH), None);
        assert_eq!(head(&CALL.replace("X: s.t", "mcp-name: s.t"), BOTH), None);
    }
}
