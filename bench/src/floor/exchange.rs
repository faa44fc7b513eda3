//! One line's way: from the client to a child, from a child to the client.

use super::catalog;
use super::modern;
use super::outbox::{Outbox, Piece};
use super::pending::Pending;
use super::routes::Routes;
use super::splice;
use crate::era::Era;
use crate::scan::{self, Request, Want};
use memchr::memchr;
use std::ops::Range;
use std::rc::Rc;

/// Lines from here on change hands instead of being copied.
pub(super) const LARGE: usize = 128 * 1024;

const ANSWER: &[u8] = br#"{"jsonrpc":"2.0","id":"#;
const INITIALIZE: &str = concat!(
    r#","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"#,
    r#""clientInfo":{"name":"bench-floor","version":"1"}}}"#,
);

/// What to do with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiter {
    /// Give it to the client under the id kept in the slot.
    Client,
    /// A child's answer to `initialize`.
    Initialize,
    /// A child's answer to `tools/list`.
    List,
}

/// Everything but reading and waiting.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) client: Outbox,
    pub(super) children: Vec<Outbox>,
    /// Children with something to write at the end of this wake-up.
    pub(super) dirty: Vec<usize>,
    /// Large buffers whose message was written.
    pub(super) spare: Vec<Vec<u8>>,
    routes: Routes,
    pending: Pending<Waiter>,
    names: Vec<Vec<u8>>,
    /// The children's, known once they are ready.
    era: Era,
    /// The children's `tools/list` answers, until all are there.
    answers: Vec<Vec<u8>>,
    missing: usize,
    /// Client lines that wait for the children.
    parked: Vec<Vec<u8>>,
    list: Rc<[u8]>,
}

impl Exchange {
    /// Asks every child to initialize.
    pub(super) fn new(names: Vec<Vec<u8>>, client: Outbox, children: Vec<Outbox>) -> Self {
        let count = names.len();
        let routes = names.iter().cloned().zip(0..).collect();
        let mut exchange = Self {
            client,
            children,
            dirty: Vec::with_capacity(count),
            spare: Vec::new(),
            routes,
            pending: Pending::default(),
            answers: vec![Vec::new(); count],
            names,
            era: Era::Legacy,
            missing: count,
            parked: Vec::new(),
            list: Rc::from(&b",\"result\":{\"tools\":[]}}\n"[..]),
        };
        for index in 0..count {
            exchange.ask(index, Waiter::Initialize, INITIALIZE.as_bytes());
        }
        exchange
    }

    pub(super) fn client_line(&mut self, line: &[u8]) {
        let Some(request) = scan::request(line, Want::Name) else {
            return;
        };
        if request.id.is_empty() {
            return;
        }
        match &line[request.method.clone()] {
            b"initialize" => self.answer_initialize(line, &request),
            b"ping" => self.answer(&line[request.id], b",\"result\":{}}\n"),
            _ if self.missing > 0 => self.parked.push(line.to_vec()),
            b"tools/call" => self.forward(line, &request),
            b"tools/list" => self.answer_list(&line[request.id]),
            b"server/discover" => {
                self.answer(&line[request.id], modern::DISCOVER);
                self.client.tail().push(b'\n');
            }
            _ => self.answer(
                &line[request.id],
                b",\"error\":{\"code\":-32601,\"message\":\"method not found\"}}\n",
            ),
        }
    }

    pub(super) fn child_line(&mut self, index: usize, line: &[u8]) {
        let Some((id, waiter, client_id)) = take(&mut self.pending, line) else {
            return;
        };
        if waiter != Waiter::Client {
            return self.started(index, waiter, line);
        }
        let tail = self.client.tail();
        tail.extend_from_slice(&line[..id.start]);
        tail.extend_from_slice(client_id);
        tail.extend_from_slice(&line[id.end..]);
        tail.push(b'\n');
        self.client.dirty = true;
    }

    /// A large line: `bytes` from `start` to their end, newline included.
    pub(super) fn large_child_line(&mut self, index: usize, bytes: Vec<u8>, start: usize) {
        let line = &bytes[start..];
        let Some((id, waiter, client_id)) = take(&mut self.pending, line) else {
            return;
        };
        if waiter != Waiter::Client {
            return self.started(index, waiter, line);
        }
        let tail = self.client.tail();
        tail.extend_from_slice(&line[..id.start]);
        tail.extend_from_slice(client_id);
        self.client.push(Piece::Owned(bytes, start + id.end));
        self.client.dirty = true;
    }

    fn forward(&mut self, line: &[u8], request: &Request) {
        let name = &line[request.name.clone()];
        let colon = memchr(b':', name).unwrap_or(name.len());
        let Some(&index) = self.routes.get(&name[..colon]) else {
            return self.answer(
                &line[request.id.clone()],
                b",\"error\":{\"code\":-32602,\"message\":\"unknown tool\"}}\n",
            );
        };
        let own_id = self.pending.add(Waiter::Client, &line[request.id.clone()]);
        let tail = mark(&mut self.children, &mut self.dirty, index).tail();
        splice::push(tail, line, request, own_id, colon + 1);
        tail.push(b'\n');
    }

    fn answer(&mut self, id: &[u8], rest: &[u8]) {
        let tail = self.client.tail();
        tail.extend_from_slice(ANSWER);
        tail.extend_from_slice(id);
        tail.extend_from_slice(rest);
        self.client.dirty = true;
    }

    fn answer_list(&mut self, id: &[u8]) {
        self.answer(id, b"");
        self.client.push(Piece::Shared(Rc::clone(&self.list)));
    }

    fn answer_initialize(&mut self, line: &[u8], request: &Request) {
        let version = scan::field(line, 0, b"params")
            .and_then(|params| scan::field(line, params.start, b"protocolVersion"))
            .map_or(&b"\"2025-06-18\""[..], |span| &line[span]);
        let mut rest = br#","result":{"protocolVersion":"#.to_vec();
        rest.extend_from_slice(version);
        rest.extend_from_slice(
            br#","capabilities":{"tools":{}},"serverInfo":{"name":"bench-floor","version":"1"}}}"#,
        );
        rest.push(b'\n');
        self.answer(&line[request.id.clone()], &rest);
    }

    /// A child's next step on its way to being ready.
    fn started(&mut self, index: usize, waiter: Waiter, line: &[u8]) {
        if waiter == Waiter::Initialize && modern::refused(line) {
            self.era = Era::Modern;
            return self.ask(index, Waiter::List, modern::list().as_bytes());
        }
        if waiter == Waiter::Initialize {
            let tail = mark(&mut self.children, &mut self.dirty, index).tail();
            tail.extend_from_slice(
                b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
            );
            return self.ask(index, Waiter::List, br#","method":"tools/list"}"#);
        }
        self.answers[index] = line.to_vec();
        self.missing -= 1;
        if self.missing == 0 {
            let answers = std::mem::take(&mut self.answers);
            self.list = catalog::serialise(b':', self.era, &self.names, &answers);
            for line in std::mem::take(&mut self.parked) {
                self.client_line(&line);
            }
        }
    }

    fn ask(&mut self, index: usize, waiter: Waiter, rest: &[u8]) {
        let id = self.pending.add(waiter, b"");
        let tail = mark(&mut self.children, &mut self.dirty, index).tail();
        tail.extend_from_slice(ANSWER);
        scan::push_number(tail, id);
        tail.extend_from_slice(rest);
        tail.push(b'\n');
    }
}

/// Where our id stands in a child's answer, who waits for it, and the client's id.
fn take<'a>(
    pending: &'a mut Pending<Waiter>,
    line: &[u8],
) -> Option<(Range<usize>, Waiter, &'a [u8])> {
    let id = scan::reply_id(line)?;
    let (waiter, client_id) = pending.take(scan::number(line, id.clone())?)?;
    Some((id, waiter, client_id))
}

/// The child's outbox, noted for the end of this wake-up.
fn mark<'a>(children: &'a mut [Outbox], dirty: &mut Vec<usize>, index: usize) -> &'a mut Outbox {
    let child = &mut children[index];
    if !child.dirty {
        child.dirty = true;
        dirty.push(index);
    }
    child
}
