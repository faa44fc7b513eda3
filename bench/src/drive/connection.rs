//! One MCP conversation over a pair of pipes: raw bytes, blocking, as little work as possible.

use crate::lines::Lines;
use crate::scan::{self, Want};
use rustix::io::{Errno, read, write};
use std::ops::Range;
use std::os::fd::OwnedFd;

/// Reads of a large answer: what stays in the second-level cache.
const CHUNK: usize = 256 * 1024;

#[derive(Debug)]
pub(super) struct Connection {
    input: OwnedFd,
    output: OwnedFd,
    lines: Lines,
    /// Requests of the next `flush`.
    batch: Vec<u8>,
    chunk: Vec<u8>,
}

/// A large answer, of which only the beginning is kept.
#[derive(Debug, Default)]
pub(super) struct Large {
    pub(super) head: Vec<u8>,
    pub(super) length: usize,
}

impl Connection {
    pub(super) fn new(input: OwnedFd, output: OwnedFd) -> Self {
        Self { input, output, lines: Lines::default(), batch: Vec::new(), chunk: Vec::new() }
    }

    pub(super) fn send(&self, bytes: &[u8]) -> Result<(), String> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match write(&self.input, rest) {
                Ok(written) => rest = &rest[written..],
                Err(Errno::INTR) => {}
                Err(error) => return Err(format!("cannot write to it: {error}")),
            }
        }
        Ok(())
    }

    /// Keeps a request for the next `flush`.
    pub(super) fn queue(&mut self, bytes: &[u8]) {
        self.batch.extend_from_slice(bytes);
    }

    /// Sends what was queued with one write.
    pub(super) fn flush(&mut self) -> Result<(), String> {
        let result = self.send(&self.batch);
        self.batch.clear();
        result
    }

    pub(super) fn output(&self) -> &OwnedFd {
        &self.output
    }

    /// Blocks for the next line, of whatever kind.
    pub(super) fn line(&mut self) -> Result<Range<usize>, String> {
        loop {
            if let Some(span) = self.lines.next_line() {
                return Ok(span);
            }
            self.fill()?;
        }
    }

    /// The next line if it is already here.
    pub(super) fn line_at_hand(&mut self) -> Option<Range<usize>> {
        self.lines.next_line()
    }

    /// Blocks for more bytes.
    pub(super) fn fill(&mut self) -> Result<(), String> {
        match self.lines.fill(&self.output) {
            Ok(0) => Err("it closed its output".to_owned()),
            Ok(_) => Ok(()),
            Err(error) => Err(format!("cannot read from it: {error}")),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.lines.bytes()
    }

    /// Sends a request and returns the answer; what comes before it is looked at and set aside.
    pub(super) fn ask(&mut self, id: u64, rest: &str) -> Result<Range<usize>, String> {
        self.send(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{rest}}}\n").as_bytes())?;
        loop {
            let span = self.line()?;
            if !self.aside(span.clone())? && self.id(span.clone()) == Some(id) {
                return Ok(span);
            }
        }
    }

    /// Whether the line is not an answer; a question (a ping) is answered.
    pub(super) fn aside(&self, span: Range<usize>) -> Result<bool, String> {
        let line = &self.bytes()[span];
        if scan::is_answer(line) {
            return Ok(false);
        }
        let Some(request) = scan::request(line, Want::Name) else {
            return Err(format!("it wrote a line that is not JSON-RPC: {}", excerpt(line)));
        };
        if !request.id.is_empty() {
            let id = String::from_utf8_lossy(&line[request.id]).into_owned();
            self.send(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n").as_bytes())?;
        }
        Ok(true)
    }

    pub(super) fn id(&self, span: Range<usize>) -> Option<u64> {
        let line = &self.bytes()[span];
        scan::number(line, scan::reply_id(line)?).map(|id| id as u64)
    }

    /// Reads an answer without keeping it, up to a newline at the end of a read. Nothing else may be under way.
    pub(super) fn large(&mut self) -> Result<Large, String> {
        self.chunk.resize(CHUNK, 0);
        let mut large = Large::default();
        loop {
            let count = match read(&self.output, &mut self.chunk[..]) {
                Ok(0) => return Err("it closed its output".to_owned()),
                Ok(count) => count,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(format!("cannot read from it: {error}")),
            };
            let part = &self.chunk[..count];
            if large.head.len() < 1024 {
                large.head.extend_from_slice(&part[..part.len().min(1024)]);
            }
            large.length += count;
            if part.last() == Some(&b'\n') {
                return Ok(large);
            }
        }
    }

    /// The MCP handshake as a client of 2025-06-18.
    pub(super) fn initialize(&mut self) -> Result<(), String> {
        let params = r#""params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}"#;
        let span = self.ask(1, &format!(r#""method":"initialize",{params}"#))?;
        if scan::field(&self.bytes()[span.clone()], 0, b"result").is_none() {
            return Err(format!("initialize failed: {}", excerpt(&self.bytes()[span])));
        }
        self.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")
    }

    /// Asks for all tools; `page` sees every page.
    pub(super) fn list(&mut self, id: u64, mut page: impl FnMut(&[u8])) -> Result<(), String> {
        let mut rest = r#""method":"tools/list""#.to_owned();
        loop {
            let span = self.ask(id, &rest)?;
            let line = &self.bytes()[span];
            page(line);
            let Some(cursor) = next_cursor(line) else {
                return Ok(());
            };
            rest = format!(r#""method":"tools/list","params":{{"cursor":{cursor}}}"#);
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
