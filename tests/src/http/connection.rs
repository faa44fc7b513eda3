//! One TCP connection and what comes over it, byte by byte accounted for.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};

use super::Ask;
use super::events::{Event, Events};
use crate::LIMIT;
use crate::limit::{Deadline, Limit};
use crate::pace::{Pace, Paced};

#[derive(Debug)]
pub struct Connection {
    stream: Arc<TcpStream>,
    address: SocketAddr,
    /// Received and not yet used.
    buffer: Vec<u8>,
    framing: Framing,
    events: Events,
    waiting: std::collections::VecDeque<Event>,
    /// How fast it reads.
    pace: Option<Pace>,
}

/// What is left of the body that is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Done,
    Length(usize),
    /// Bytes left of the current chunk and its line end.
    Chunked(usize),
    UntilClose,
}

/// The head of a response.
#[derive(Debug, Clone)]
pub struct Head {
    pub status: u16,
    pub raw: String,
}

/// A response with its whole body.
#[derive(Debug, Clone)]
pub struct Response {
    pub head: Head,
    pub body: Vec<u8>,
}

impl Head {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.raw.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Is the connection closed after this response?
    pub fn closes(&self) -> bool {
        self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }

    pub fn is_stream(&self) -> bool {
        self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"))
    }
}

impl Response {
    pub fn status(&self) -> u16 {
        self.head.status
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A socket that is connected from another address of the loopback than the usual one.
pub(crate) fn connect_from(from: Ipv4Addr, address: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    bind(&socket, &SocketAddr::from((from, 0)))?;
    connect(&socket, &address)?;
    Ok(TcpStream::from(socket))
}

impl Connection {
    #[track_caller]
    pub fn open(address: SocketAddr) -> Self {
        Self::try_open(address).unwrap_or_else(|error| panic!("cannot reach {address}: {error}"))
    }

    /// From another address of the loopback than the usual one.
    #[track_caller]
    pub fn open_from(from: Ipv4Addr, address: SocketAddr) -> Self {
        connect_from(from, address)
            .and_then(|stream| Self::over(stream, address))
            .unwrap_or_else(|error| panic!("cannot reach {address} from {from}: {error}"))
    }

    pub fn try_open(address: SocketAddr) -> std::io::Result<Self> {
        Self::over(TcpStream::connect_timeout(&address, LIMIT)?, address)
    }

    fn over(stream: TcpStream, address: SocketAddr) -> std::io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(LIMIT))?;
        Ok(Self {
            stream: Arc::new(stream),
            address,
            buffer: Vec::new(),
            framing: Framing::Done,
            events: Events::default(),
            waiting: std::collections::VecDeque::new(),
            pace: None,
        })
    }

    /// Reads at this pace from now on.
    #[must_use]
    pub fn paced(mut self, pace: Option<Pace>) -> Self {
        if let Some(pace) = pace {
            pace.limit(&self.stream);
        }
        self.pace = pace;
        self
    }

    /// Exactly these bytes.
    #[track_caller]
    pub fn send(&mut self, bytes: &[u8]) {
        self.try_send(bytes).unwrap_or_else(|error| panic!("{} bytes: {error}", bytes.len()));
    }

    pub fn try_send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        (&*self.stream).write_all(bytes)
    }

    /// Sends a request and reads its whole response.
    #[track_caller]
    pub fn ask(&mut self, ask: &Ask) -> Response {
        self.begin(ask);
        self.response(LIMIT)
    }

    /// Sends a request.
    #[track_caller]
    pub fn begin(&mut self, ask: &Ask) {
        self.send(&ask.bytes(&self.address.to_string()));
    }

    #[track_caller]
    pub fn response(&mut self, limit: impl Into<Limit>) -> Response {
        let deadline = limit.into().begin();
        self.response_by(deadline).unwrap_or_else(|| {
            let got = String::from_utf8_lossy(&self.buffer).into_owned();
            panic!("no whole response within {deadline}; so far: {got:?}")
        })
    }

    pub fn try_response(&mut self, limit: impl Into<Limit>) -> Option<Response> {
        self.response_by(limit.into().begin())
    }

    fn response_by(&mut self, deadline: Deadline) -> Option<Response> {
        let head = self.head_by(deadline)?;
        let mut body = Vec::new();
        while self.framing != Framing::Done {
            body.extend(self.piece(deadline)?);
        }
        Some(Response { head, body })
    }

    /// What there is of the body behind the head that was read last.
    pub fn body(&mut self, limit: impl Into<Limit>) -> Vec<u8> {
        let deadline = limit.into().begin();
        let mut body = Vec::new();
        while self.framing != Framing::Done {
            match self.piece(deadline) {
                Some(piece) => body.extend(piece),
                None => break,
            }
        }
        body
    }

    #[track_caller]
    pub fn head(&mut self, limit: impl Into<Limit>) -> Head {
        let deadline = limit.into().begin();
        self.head_by(deadline).unwrap_or_else(|| {
            let got = String::from_utf8_lossy(&self.buffer).into_owned();
            panic!("no response within {deadline}; so far: {got:?}")
        })
    }

    /// The next head that is not an interim one; its body is what is read next.
    pub fn try_head(&mut self, limit: impl Into<Limit>) -> Option<Head> {
        self.head_by(limit.into().begin())
    }

    fn head_by(&mut self, deadline: Deadline) -> Option<Head> {
        loop {
            let end = loop {
                match self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                    Some(at) => break at,
                    None if !self.more(deadline) => return None,
                    None => {}
                }
            };
            let raw: Vec<u8> = self.buffer.drain(..end + 4).collect();
            let raw = String::from_utf8_lossy(&raw).into_owned();
            let status = raw.split(' ').nth(1)?.trim().parse().ok()?;
            let head = Head { status, raw };
            if (100..200).contains(&status) {
                continue;
            }
            self.framing = framing(&head);
            return Some(head);
        }
    }

    /// The next event of the stream that is being read; `None`: it has ended, or the time is up.
    pub fn event(&mut self, limit: impl Into<Limit>) -> Option<Event> {
        self.event_by(limit.into().begin())
    }

    fn event_by(&mut self, deadline: Deadline) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if self.framing == Framing::Done {
                return None;
            }
            let piece = self.piece(deadline)?;
            self.waiting.extend(self.events.push(&piece));
        }
    }

    /// The next event that carries a message.
    pub fn message(&mut self, limit: impl Into<Limit>) -> Option<Event> {
        let deadline = limit.into().begin();
        loop {
            let event = self.event_by(deadline)?;
            if event.is_message() {
                return Some(event);
            }
        }
    }

    /// Has the body been read to its end, so that the connection can be used again?
    pub fn is_free(&self) -> bool {
        self.framing == Framing::Done && self.waiting.is_empty()
    }

    /// Has the other side closed the connection (whatever it sent before)?
    pub fn is_closed_within(&mut self, limit: impl Into<Limit>) -> bool {
        let deadline = limit.into().begin();
        loop {
            let before = self.buffer.len();
            if self.more(deadline) {
                continue;
            }
            return self.buffer.len() == before && !deadline.is_over();
        }
    }

    /// Everything that has come and was not used.
    pub fn unread(&self) -> String {
        String::from_utf8_lossy(&self.buffer).into_owned()
    }

    pub fn close(&self) {
        drop(self.stream.shutdown(Shutdown::Both));
    }

    /// Another handle on the socket, to close it from another thread.
    pub fn handle(&self) -> Arc<TcpStream> {
        Arc::clone(&self.stream)
    }

    /// Some bytes of the body.
    fn piece(&mut self, deadline: Deadline) -> Option<Vec<u8>> {
        match self.framing {
            Framing::Done => Some(Vec::new()),
            Framing::UntilClose => {
                if self.buffer.is_empty() && !self.more(deadline) {
                    if deadline.is_over() {
                        return None;
                    }
                    self.framing = Framing::Done;
                }
                Some(std::mem::take(&mut self.buffer))
            }
            Framing::Length(left) => {
                if self.buffer.is_empty() && !self.more(deadline) {
                    return None;
                }
                let piece = self.take(left);
                self.framing = match left - piece.len() {
                    0 => Framing::Done,
                    left => Framing::Length(left),
                };
                Some(piece)
            }
            Framing::Chunked(0) => self.chunk_head(deadline),
            Framing::Chunked(left) => {
                if self.buffer.is_empty() && !self.more(deadline) {
                    return None;
                }
                // The last two bytes are the line end behind the chunk.
                let mut piece = self.take(left);
                let rest = left - piece.len();
                self.framing = Framing::Chunked(rest);
                piece.truncate(piece.len().saturating_sub(2_usize.saturating_sub(rest)));
                Some(piece)
            }
        }
    }

    fn chunk_head(&mut self, deadline: Deadline) -> Option<Vec<u8>> {
        let end = loop {
            match self.buffer.windows(2).position(|window| window == b"\r\n") {
                Some(at) => break at,
                None if !self.more(deadline) => return None,
                None => {}
            }
        };
        let line: Vec<u8> = self.buffer.drain(..end + 2).collect();
        let line = String::from_utf8_lossy(&line);
        let size = usize::from_str_radix(line.trim().split(';').next()?, 16).ok()?;
        if size > 0 {
            self.framing = Framing::Chunked(size + 2);
            return Some(Vec::new());
        }
        while self.buffer.len() < 2 {
            if !self.more(deadline) {
                return None;
            }
        }
        self.buffer.drain(..2);
        self.framing = Framing::Done;
        Some(Vec::new())
    }

    fn take(&mut self, most: usize) -> Vec<u8> {
        self.buffer.drain(..most.min(self.buffer.len())).collect()
    }

    /// Reads more; `false`: the connection has ended, or the time is up.
    fn more(&mut self, deadline: Deadline) -> bool {
        let mut chunk = [0; 1 << 16];
        loop {
            let left = deadline.left();
            if left.is_zero() {
                return false;
            }
            drop(self.stream.set_read_timeout(Some(left)));
            match Paced::new(&*self.stream, self.pace).read(&mut chunk) {
                Ok(0) => return false,
                Ok(count) => {
                    self.buffer.extend_from_slice(&chunk[..count]);
                    return true;
                }
                // The time may be longer than it looked.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut
                    ) => {}
                Err(_) => return false,
            }
        }
    }
}

fn framing(head: &Head) -> Framing {
    let chunked = head.header("transfer-encoding").is_some_and(|coding| coding == "chunked");
    let length = head.header("content-length").and_then(|length| length.parse().ok());
    match (head.status, chunked, length) {
        (204 | 304, ..) | (_, false, Some(0)) => Framing::Done,
        (_, true, _) => Framing::Chunked(0),
        (_, false, Some(length)) => Framing::Length(length),
        (_, false, None) => Framing::UntilClose,
    }
}
