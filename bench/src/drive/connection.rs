//! One MCP conversation over a pair of pipes or an HTTP connection: raw bytes, blocking, as little work as possible.

use super::post::{CALL, Desk, Post, Response, malformed};
use crate::era::{Era, META};
use crate::lines::Lines;
use crate::scan::{self, Want};
use rustix::io::{Errno, read, write};
use rustix::net::{RecvFlags, recv};
use std::io;
use std::net::{Ipv4Addr, TcpStream};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::rc::Rc;

/// Reads of a large answer: what stays in the second-level cache.
const CHUNK: usize = 256 * 1024;

#[derive(Debug)]
pub(super) struct Connection {
    input: Rc<OwnedFd>,
    output: Rc<OwnedFd>,
    framing: Framing,
    era: Era,
    /// Requests of the next `flush`.
    batch: Vec<u8>,
    chunk: Vec<u8>,
}

#[derive(Debug)]
enum Framing {
    Lines(Lines),
    /// To this port.
    Http(u16, Post),
}

/// A message on its way out: a line, and the header lines that no other message has; over HTTP only.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outgoing<'a> {
    pub(super) headers: &'a [u8],
    pub(super) line: &'a [u8],
}

impl<'a> Outgoing<'a> {
    pub(super) fn plain(line: &'a [u8]) -> Self {
        Self { headers: b"", line }
    }
}

/// A large answer without what frames it, of which only the beginning is kept.
#[derive(Debug, Default)]
pub(super) struct Large {
    pub(super) head: Vec<u8>,
    pub(super) length: usize,
}

impl Connection {
    pub(super) fn pipes(input: OwnedFd, output: OwnedFd, era: Era) -> Self {
        Self::new(input.into(), output.into(), Framing::Lines(Lines::default()), era)
    }

    /// A connection to this machine's `port`, in no session yet.
    pub(super) fn http(port: u16, era: Era, desk: Desk) -> io::Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_nodelay(true)?;
        let socket = Rc::new(OwnedFd::from(stream));
        let framing = Framing::Http(port, Post::to(port, era, desk));
        Ok(Self::new(Rc::clone(&socket), socket, framing, era))
    }

    fn new(input: Rc<OwnedFd>, output: Rc<OwnedFd>, framing: Framing, era: Era) -> Self {
        Self { input, output, framing, era, batch: Vec::new(), chunk: Vec::new() }
    }

    pub(super) fn send(&mut self, outgoing: Outgoing<'_>) -> Result<(), String> {
        match &self.framing {
            Framing::Lines(_) => write_all(&self.input, outgoing.line),
            Framing::Http(..) => {
                self.queue(outgoing);
                self.flush()
            }
        }
    }

    /// Keeps a request for the next `flush`; true if it is the first.
    pub(super) fn queue(&mut self, outgoing: Outgoing<'_>) -> bool {
        let first = self.batch.is_empty();
        match &self.framing {
            Framing::Lines(_) => self.batch.extend_from_slice(outgoing.line),
            Framing::Http(_, post) => post.push(&mut self.batch, outgoing),
        }
        first
    }

    /// Sends what was queued with one write.
    pub(super) fn flush(&mut self) -> Result<(), String> {
        let result = write_all(&self.input, &self.batch);
        self.batch.clear();
        result
    }

    pub(super) fn output(&self) -> &OwnedFd {
        &self.output
    }

    /// Blocks for the next line, of whatever kind; over HTTP for the next answer.
    pub(super) fn line(&mut self) -> Result<Range<usize>, String> {
        loop {
            if let Some(span) = self.line_at_hand()? {
                return Ok(span);
            }
            self.fill()?;
        }
    }

    /// The next line if it is already here.
    pub(super) fn line_at_hand(&mut self) -> Result<Option<Range<usize>>, String> {
        match &mut self.framing {
            Framing::Lines(lines) => Ok(lines.next_line()),
            Framing::Http(_, post) => match post.response()? {
                Some(Response::Answer(span)) => Ok(Some(span)),
                Some(Response::Accepted) => Err("it took a request for a notification".to_owned()),
                None => Ok(None),
            },
        }
    }

    /// Blocks for more bytes.
    pub(super) fn fill(&mut self) -> Result<(), String> {
        let filled = match &mut self.framing {
            Framing::Lines(lines) => lines.fill(&self.output),
            Framing::Http(_, post) => post.inbox.fill(&self.output),
        };
        match filled {
            Ok(0) => Err("it closed its output".to_owned()),
            Ok(_) => Ok(()),
            Err(error) => Err(format!("cannot read from it: {error}")),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match &self.framing {
            Framing::Lines(lines) => lines.bytes(),
            Framing::Http(_, post) => post.inbox.bytes(),
        }
    }

    /// Sends a request and returns the answer; what comes before it is looked at and set aside.
    fn ask(&mut self, id: u64, method: &str, params: &str) -> Result<Range<usize>, String> {
        let (headers, params) = match self.era {
            Era::Legacy if params.is_empty() => (String::new(), String::new()),
            Era::Legacy => (String::new(), format!(r#","params":{{{params}}}"#)),
            Era::Modern => {
                let comma = if params.is_empty() { "" } else { "," };
                let params = format!(r#","params":{{{params}{comma}{META}}}"#);
                (format!("mcp-method: {method}\r\n"), params)
            }
        };
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"{params}}}"#) + "\n";
        self.send(Outgoing { headers: headers.as_bytes(), line: line.as_bytes() })?;
        loop {
            let span = self.line()?;
            if !self.aside(span.clone())? && self.id(span.clone()) == Some(id) {
                return Ok(span);
            }
        }
    }

    /// Whether the line is not an answer; a question (a ping) is answered.
    pub(super) fn aside(&mut self, span: Range<usize>) -> Result<bool, String> {
        let line = &self.bytes()[span];
        if scan::is_answer(line) || self.is_rest() {
            return Ok(false);
        }
        let Some(request) = scan::request(line, Want::Name) else {
            return Err(format!("it wrote a line that is not JSON-RPC: {}", excerpt(line)));
        };
        if !request.id.is_empty() {
            let id = String::from_utf8_lossy(&line[request.id]).into_owned();
            let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n");
            self.send(Outgoing::plain(answer.as_bytes()))?;
        }
        Ok(true)
    }

    /// Whether what comes back are results and not JSON-RPC.
    fn is_rest(&self) -> bool {
        matches!(&self.framing, Framing::Http(_, post) if post.desk.path == CALL)
    }

    pub(super) fn id(&self, span: Range<usize>) -> Option<u64> {
        let line = &self.bytes()[span];
        scan::number(line, scan::reply_id(line)?).map(|id| id as u64)
    }

    /// Reads an answer without keeping it. Nothing else may be under way.
    pub(super) fn large(&mut self) -> Result<Large, String> {
        self.chunk.resize(CHUNK, 0);
        let mut large = Large::default();
        let Framing::Http(_, post) = &mut self.framing else {
            // The newline at the end of a read ends it.
            while !read_some(&self.output, &mut self.chunk, &mut large)?.ends_with(b"\n") {}
            large.length -= 1;
            return Ok(large);
        };
        loop {
            let filled = post.inbox.fill(&self.output);
            if filled.map_err(|error| format!("cannot read from it: {error}"))? == 0 {
                return Err("it closed its output".to_owned());
            }
            // In chunks: its length is known at the end only, and so it is kept.
            if let Some(Response::Answer(span)) = post.response()? {
                large.add(&post.inbox.bytes()[span]);
                return Ok(large);
            }
            if let Some((span, length)) = post.inbox.partial().map_err(malformed)? {
                large.add(&post.inbox.bytes()[span]);
                post.inbox.clear();
                while large.length < length {
                    read_some(&self.output, &mut self.chunk, &mut large)?;
                }
                return Ok(large);
            }
        }
    }

    /// The MCP handshake as a client of 2025-06-18; the modern era and REST have none.
    pub(super) fn initialize(&mut self) -> Result<(), String> {
        if self.era == Era::Modern || self.is_rest() {
            return Ok(());
        }
        let params = r#""protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}"#;
        let span = self.ask(1, "initialize", params)?;
        if scan::field(&self.bytes()[span.clone()], 0, b"result").is_none() {
            return Err(format!("initialize failed: {}", excerpt(&self.bytes()[span])));
        }
        if let Framing::Http(port, post) = &mut self.framing {
            post.enter(*port, None);
        }
        let initialized = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
        self.send(Outgoing::plain(initialized))?;
        self.accepted()
    }

    /// Opens the event stream of its session on this connection, which carries nothing else from then on.
    pub(super) fn listen(&mut self) -> Result<(), String> {
        let Framing::Http(port, post) = &self.framing else {
            return Err("pipes have no event stream".to_owned());
        };
        let session = String::from_utf8_lossy(post.session());
        let request = format!(
            "GET {} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/event-stream\r\nMcp-Session-Id: \
             {session}\r\nMCP-Protocol-Version: 2025-06-18\r\n\r\n",
            post.desk.path
        );
        write_all(&self.input, request.as_bytes())?;
        let mut head = [0; 1024];
        let count = read(&self.output, &mut head).map_err(|error| error.to_string())?;
        let head = head.get(..count).unwrap_or_default();
        match head.starts_with(b"HTTP/1.1 200 ") {
            true => Ok(()),
            false => Err(format!("no stream: {}", excerpt(head))),
        }
    }

    /// Joins the session of another connection to the same server; the modern era and REST have none.
    pub(super) fn join(&mut self, other: &Self) {
        if self.era == Era::Modern || self.is_rest() {
            return;
        }
        if let (Framing::Http(port, post), Framing::Http(_, other)) =
            (&mut self.framing, &other.framing)
        {
            post.enter(*port, Some(other.session()));
        }
    }

    /// Over HTTP the other side may close a connection that idles; says whether it had to be made anew.
    pub(super) fn refresh(&mut self) -> Result<bool, String> {
        let Framing::Http(port, post) = &self.framing else {
            return Ok(false);
        };
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        if matches!(recv(&self.output, &mut [0u8], flags), Err(Errno::AGAIN)) {
            return Ok(false);
        }
        let fresh = Self::http(*port, self.era, post.desk.clone());
        let mut fresh = fresh.map_err(|error| format!("no connection: {error}"))?;
        fresh.join(self);
        *self = fresh;
        Ok(true)
    }

    /// Over HTTP also a notification has a response.
    fn accepted(&mut self) -> Result<(), String> {
        loop {
            let Framing::Http(_, post) = &mut self.framing else {
                return Ok(());
            };
            match post.response()? {
                Some(Response::Accepted) => return Ok(()),
                Some(Response::Answer(_)) => return Err("it answered a notification".to_owned()),
                None => self.fill()?,
            }
        }
    }

    /// Asks for all tools; `page` sees every page.
    pub(super) fn list(&mut self, id: u64, mut page: impl FnMut(&[u8])) -> Result<(), String> {
        let mut params = String::new();
        loop {
            let span = self.ask(id, "tools/list", &params)?;
            let line = &self.bytes()[span];
            page(line);
            let Some(cursor) = next_cursor(line) else {
                return Ok(());
            };
            params = format!(r#""cursor":{cursor}"#);
        }
    }
}

impl Large {
    fn add(&mut self, part: &[u8]) {
        if self.head.len() < 1024 {
            self.head.extend_from_slice(&part[..part.len().min(1024)]);
        }
        self.length += part.len();
    }
}

fn write_all(fd: &OwnedFd, mut rest: &[u8]) -> Result<(), String> {
    while !rest.is_empty() {
        match write(fd, rest) {
            Ok(written) => rest = &rest[written..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(format!("cannot write to it: {error}")),
        }
    }
    Ok(())
}

/// One read of a large answer.
fn read_some<'a>(fd: &OwnedFd, chunk: &'a mut [u8], large: &mut Large) -> Result<&'a [u8], String> {
    loop {
        match read(fd, &mut *chunk) {
            Ok(0) => return Err("it closed its output".to_owned()),
            Ok(count) => {
                large.add(&chunk[..count]);
                return Ok(&chunk[..count]);
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(format!("cannot read from it: {error}")),
        }
    }
}

/// The cursor of the next page. Looked for at both ends only: a full scan would be timed as if it were the target's.
fn next_cursor(line: &[u8]) -> Option<String> {
    let ends = [&line[..line.len().min(512)], &line[line.len().saturating_sub(512)..]];
    let at = |end: &[u8]| memchr::memmem::find(end, b"\"nextCursor\"");
    ends.iter().find_map(|end| at(end))?;
    let result = scan::field(line, 0, b"result")?;
    let cursor = scan::field(line, result.start, b"nextCursor")?;
    let cursor = String::from_utf8_lossy(&line[cursor]).into_owned();
    (cursor != "null").then_some(cursor)
}

/// The beginning of a line, for a message.
pub(super) fn excerpt(line: &[u8]) -> String {
    String::from_utf8_lossy(&line[..line.len().min(300)]).into_owned()
}
