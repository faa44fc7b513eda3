//! One message's way: from a client to a server, from a server to the client whose connection waits for it.

use super::SEPARATOR;
use super::key::Key;
use super::server::Server;
use super::socket::Socket;
use crate::era::MODERN;
use crate::floor::exchange::LARGE;
use crate::floor::modern;
use crate::floor::outbox::{Outbox, Piece};
use crate::floor::pending::Pending;
use crate::floor::routes::Routes;
use crate::floor::splice;
use crate::http::Message;
use crate::lines::INITIAL;
use crate::scan::{self, Request, Want};
use memchr::memchr;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::TcpStream;
use std::ops::Range;
use std::rc::Rc;

const JSON: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ";
const ACCEPTED: &[u8] = b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
const DELETED: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
/// No such session, or no such path.
const NOT_FOUND: &[u8] = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
const BAD_REQUEST: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
const FORBIDDEN: &[u8] = b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n";
const NO_STREAM: &[u8] =
    b"HTTP/1.1 405 Method Not Allowed\r\nallow: POST, DELETE\r\ncontent-length: 0\r\n\r\n";
const ANSWER: &[u8] = br#"{"jsonrpc":"2.0","id":"#;

#[derive(Debug, Default)]
pub(super) struct Client {
    /// `None` once it closed.
    pub(super) socket: Option<Socket>,
    /// Whether a server works for it: its next request waits, and its place is not given away.
    busy: bool,
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) socket: Socket,
    pub(super) server: usize,
}

/// Everything but reading and waiting.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) clients: Vec<Client>,
    /// Places of clients that have gone.
    free: Vec<usize>,
    pub(super) servers: Vec<Server>,
    pub(super) connections: Vec<Connection>,
    /// Connections made in this wake-up, which epoll does not know yet.
    pub(super) fresh: Vec<usize>,
    /// Who has something to write at the end of this wake-up.
    pub(super) dirty: Vec<Key>,
    /// Large buffers whose message was written.
    pub(super) spare: Vec<Vec<u8>>,
    routes: Routes,
    sessions: Routes,
    /// By client.
    pending: Pending<usize>,
    list: Rc<[u8]>,
}

impl Exchange {
    pub(super) fn new(
        names: Vec<Vec<u8>>,
        servers: Vec<Server>,
        connections: Vec<(Socket, usize)>,
        list: Rc<[u8]>,
    ) -> Self {
        let connections = connections.into_iter();
        Self {
            clients: Vec::new(),
            free: Vec::new(),
            servers,
            connections: connections
                .map(|(socket, server)| Connection { socket, server })
                .collect(),
            fresh: Vec::new(),
            dirty: Vec::new(),
            spare: Vec::new(),
            routes: names.into_iter().zip(0..).collect(),
            sessions: Routes::default(),
            pending: Pending::default(),
            list,
        }
    }

    pub(super) fn add_client(&mut self, socket: Socket) -> usize {
        let index = self.free.pop().unwrap_or_else(|| {
            self.clients.push(Client::default());
            self.clients.len() - 1
        });
        self.clients[index].socket = Some(socket);
        index
    }

    pub(super) fn remove_client(&mut self, index: usize) {
        let client = &mut self.clients[index];
        if client.socket.take().is_some() && !client.busy {
            self.free.push(index);
        }
    }

    /// Handles what the client has sent, up to a request that a server must answer: answers go out in order.
    pub(super) fn serve_client(&mut self, index: usize) -> io::Result<()> {
        loop {
            let client = &mut self.clients[index];
            let Some(socket) = client.socket.as_mut().filter(|_| !client.busy) else {
                return Ok(());
            };
            match socket.inbox.next_message() {
                Ok(Some(message)) => self.request(index, &message)?,
                Ok(None) => return Ok(()),
                Err(_) => {
                    self.remove_client(index);
                    return Ok(());
                }
            }
        }
    }

    /// A line of a server over stdio.
    pub(super) fn line(&mut self, server: usize) -> io::Result<bool> {
        let Server::Pipes(pipes) = &mut self.servers[server] else {
            return Ok(false);
        };
        let Some(span) = pipes.lines.next_line() else {
            return Ok(false);
        };
        let found = scan::reply_id(&pipes.lines.bytes()[span.clone()]).and_then(|id| {
            Some((scan::number(&pipes.lines.bytes()[span.clone()], id.clone())?, id))
        });
        let Some((number, id)) = found else {
            return Ok(true);
        };
        let Some((client, client_id)) = self.pending.take(number) else {
            return Ok(true);
        };
        if let Some(out) = outbox(&mut self.clients, &mut self.dirty, client) {
            if span.len() >= LARGE {
                let mut bytes = pipes.lines.take(Vec::with_capacity(INITIAL));
                bytes.truncate(span.end);
                push_large(out, bytes, span.start, id, client_id);
            } else {
                push_small(out, &pipes.lines.bytes()[span], id, client_id);
            }
        }
        self.answered(client)?;
        Ok(true)
    }

    /// The next whole answer on a connection to a server over HTTP.
    pub(super) fn response(&mut self, index: usize) -> io::Result<bool> {
        let Connection { socket: Socket { inbox, .. }, server } = &mut self.connections[index];
        let malformed = |_| io::Error::other("a server does not speak HTTP");
        let Some(message) = inbox.next_message().map_err(malformed)? else {
            return Ok(false);
        };
        let (status, body) = (&inbox.bytes()[message.head], &inbox.bytes()[message.body.clone()]);
        let found = scan::reply_id(body)
            .filter(|_| status.get(9..12) == Some(b"200"))
            .and_then(|id| Some((self.pending.take(scan::number(body, id.clone())?)?, id)));
        let Some(((client, client_id), id)) = found else {
            return Err(io::Error::other("a server did not answer a call"));
        };
        if let Some(out) = outbox(&mut self.clients, &mut self.dirty, client) {
            if body.len() >= LARGE {
                let bytes = inbox.take(Vec::with_capacity(INITIAL));
                push_large(out, bytes, message.body.start, id, client_id);
            } else {
                push_small(out, body, id, client_id);
            }
        }
        if let Server::Http(pool) = &mut self.servers[*server] {
            pool.idle.push(index);
        }
        self.answered(client)?;
        Ok(true)
    }

    fn answered(&mut self, index: usize) -> io::Result<()> {
        let client = &mut self.clients[index];
        client.busy = false;
        match &client.socket {
            None => self.free.push(index),
            Some(socket) if socket.inbox.has_more() => return self.serve_client(index),
            Some(_) => {}
        }
        Ok(())
    }

    fn request(&mut self, index: usize, message: &Message) -> io::Result<()> {
        let Some(Socket { inbox, .. }) = &self.clients[index].socket else {
            return Ok(());
        };
        let (head, session) =
            (&inbox.bytes()[message.head.clone()], &inbox.bytes()[message.named.session.clone()]);
        if message.origin {
            return self.say(index, FORBIDDEN);
        }
        if head.starts_with(b"POST /mcp ") {
            return self.post(index, message);
        }
        if head.starts_with(b"DELETE /mcp ") {
            let removed = self.sessions.remove(session).is_some();
            return self.say(index, if removed { DELETED } else { NOT_FOUND });
        }
        let known = head.starts_with(b"GET /mcp ");
        self.say(index, if known { NO_STREAM } else { NOT_FOUND })
    }

    fn post(&mut self, index: usize, message: &Message) -> io::Result<()> {
        let Some(Socket { inbox, outbox }) = &mut self.clients[index].socket else {
            return Ok(());
        };
        let body = &inbox.bytes()[message.body.clone()];
        let Some(request) = scan::request(body, Want::Name) else {
            return self.say(index, BAD_REQUEST);
        };
        let method = &body[request.method.clone()];
        if &inbox.bytes()[message.named.version.clone()] == MODERN.as_bytes() {
            let name = &inbox.bytes()[message.named.name.clone()];
            if &inbox.bytes()[message.named.method.clone()] != method
                || name != &body[request.name.clone()]
            {
                push(outbox.tail(), MISMATCH_HEAD, &body[request.id.clone()], 0, MISMATCH);
                return self.touch(index);
            }
            return self.serve(index, message, &request);
        }
        if method == b"initialize" {
            let session = session(self.sessions.len());
            push_opening(outbox, body, &request, &session);
            self.sessions.insert(session, index);
            return self.touch(index);
        }
        let session = &inbox.bytes()[message.named.session.clone()];
        if session.is_empty() {
            return self.say(index, BAD_REQUEST);
        }
        if !self.sessions.contains_key(session) {
            return self.say(index, NOT_FOUND);
        }
        self.serve(index, message, &request)
    }

    /// A request that has the right to be served.
    fn serve(&mut self, index: usize, message: &Message, request: &Request) -> io::Result<()> {
        if request.id.is_empty() {
            return self.say(index, ACCEPTED);
        }
        let Some(Socket { inbox, outbox }) = &mut self.clients[index].socket else {
            return Ok(());
        };
        let body = &inbox.bytes()[message.body.clone()];
        let id = &body[request.id.clone()];
        match &body[request.method.clone()] {
            b"tools/call" => return self.forward(index, message, request),
            b"server/discover" => push_answer(outbox.tail(), id, 0, modern::DISCOVER),
            b"tools/list" => {
                push_answer(outbox.tail(), id, self.list.len(), b"");
                outbox.push(Piece::Shared(Rc::clone(&self.list)));
            }
            b"ping" => push_answer(outbox.tail(), id, 0, b",\"result\":{}}"),
            _ => push_answer(outbox.tail(), id, 0, UNKNOWN_METHOD),
        }
        self.touch(index)
    }

    fn forward(&mut self, index: usize, message: &Message, request: &Request) -> io::Result<()> {
        let client = &mut self.clients[index];
        let Some(Socket { inbox, outbox }) = &mut client.socket else {
            return Ok(());
        };
        let body = &inbox.bytes()[message.body.clone()];
        let name = &body[request.name.clone()];
        let dot = memchr(SEPARATOR, name).unwrap_or(name.len());
        let Some(&server) = self.routes.get(&name[..dot]) else {
            push_answer(outbox.tail(), &body[request.id.clone()], 0, UNKNOWN_TOOL);
            return self.touch(index);
        };
        let (own_id, prefix) = (self.pending.add(index, &body[request.id.clone()]), dot + 1);
        client.busy = true;
        match &mut self.servers[server] {
            Server::Pipes(pipes) => {
                mark(&mut pipes.input, &mut self.dirty, Key::Input(server));
                push_line(pipes.input.tail(), body, request, own_id, prefix);
            }
            Server::Http(pool) => {
                let carrier = if let Some(idle) = pool.idle.pop() {
                    idle
                } else {
                    let socket = Socket::new(TcpStream::connect(&pool.authority)?)?;
                    self.fresh.push(self.connections.len());
                    self.connections.push(Connection { socket, server });
                    self.connections.len() - 1
                };
                let out = &mut self.connections[carrier].socket.outbox;
                mark(out, &mut self.dirty, Key::Connection(carrier));
                let tail = out.tail();
                pool.push_head(tail, name.get(prefix..).unwrap_or_default());
                scan::push_number(tail, splice::length(body, request, own_id, prefix));
                tail.extend_from_slice(b"\r\n\r\n");
                splice::push(tail, body, request, own_id, prefix);
            }
        }
        Ok(())
    }

    /// Answers with fixed bytes.
    fn say(&mut self, index: usize, bytes: &[u8]) -> io::Result<()> {
        if let Some(out) = outbox(&mut self.clients, &mut self.dirty, index) {
            out.tail().extend_from_slice(bytes);
        }
        Ok(())
    }

    /// Notes that the client's outbox was appended to.
    fn touch(&mut self, index: usize) -> io::Result<()> {
        outbox(&mut self.clients, &mut self.dirty, index);
        Ok(())
    }
}

const UNKNOWN_METHOD: &[u8] = b",\"error\":{\"code\":-32601,\"message\":\"method not found\"}}";
const MISMATCH: &[u8] = b",\"error\":{\"code\":-32020,\"message\":\"header mismatch\"}}";
const MISMATCH_HEAD: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: ";
const UNKNOWN_TOOL: &[u8] = b",\"error\":{\"code\":-32602,\"message\":\"unknown tool\"}}";

/// An answer of our own: the id, `rest`, and then `more` bytes that the caller appends.
fn push_answer(tail: &mut Vec<u8>, id: &[u8], more: usize, rest: &[u8]) {
    push(tail, JSON, id, more, rest);
}

/// Puts an answer under a head that ends before the number of its length.
fn push(tail: &mut Vec<u8>, head: &[u8], id: &[u8], more: usize, rest: &[u8]) {
    tail.extend_from_slice(head);
    scan::push_number(tail, ANSWER.len() + id.len() + rest.len() + more);
    tail.extend_from_slice(b"\r\n\r\n");
    tail.extend_from_slice(ANSWER);
    tail.extend_from_slice(id);
    tail.extend_from_slice(rest);
}

fn push_opening(out: &mut Outbox, body: &[u8], request: &Request, session: &[u8]) {
    let version = scan::field(body, 0, b"params")
        .and_then(|params| scan::field(body, params.start, b"protocolVersion"))
        .map_or(&b"\"2025-06-18\""[..], |span| &body[span]);
    let rest: &[&[u8]] = &[
        ANSWER,
        &body[request.id.clone()],
        br#","result":{"protocolVersion":"#,
        version,
        br#","capabilities":{"tools":{}},"serverInfo":{"name":"bench-floor","version":"1"}}}"#,
    ];
    let answer = rest.concat();
    let tail = out.tail();
    tail.extend_from_slice(b"HTTP/1.1 200 OK\r\nmcp-session-id: ");
    tail.extend_from_slice(session);
    tail.extend_from_slice(b"\r\ncontent-type: application/json\r\ncontent-length: ");
    scan::push_number(tail, answer.len());
    tail.extend_from_slice(b"\r\n\r\n");
    tail.extend_from_slice(&answer);
}

/// A server's answer under the client's id.
fn push_small(out: &mut Outbox, body: &[u8], id: Range<usize>, client_id: &[u8]) {
    let tail = out.tail();
    tail.extend_from_slice(JSON);
    scan::push_number(tail, body.len() - id.len() + client_id.len());
    tail.extend_from_slice(b"\r\n\r\n");
    tail.extend_from_slice(&body[..id.start]);
    tail.extend_from_slice(client_id);
    tail.extend_from_slice(&body[id.end..]);
}

/// Puts an answer whose body starts at `start` of `bytes` and is worth not copying.
fn push_large(out: &mut Outbox, bytes: Vec<u8>, start: usize, id: Range<usize>, client_id: &[u8]) {
    let tail = out.tail();
    tail.extend_from_slice(JSON);
    scan::push_number(tail, bytes.len() - start - id.len() + client_id.len());
    tail.extend_from_slice(b"\r\n\r\n");
    tail.extend_from_slice(&bytes[start..start + id.start]);
    tail.extend_from_slice(client_id);
    out.push(Piece::Owned(bytes, start + id.end));
}

/// A request as one line: line breaks between JSON's tokens become spaces.
fn push_line(tail: &mut Vec<u8>, body: &[u8], request: &Request, id: usize, prefix: usize) {
    let from = tail.len();
    splice::push(tail, body, request, id, prefix);
    if memchr(b'\n', body).is_some() {
        tail[from..].iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
    }
    tail.push(b'\n');
}

/// The client's outbox, noted for the end of this wake-up; `None` if it has gone.
fn outbox<'a>(
    clients: &'a mut [Client],
    dirty: &mut Vec<Key>,
    index: usize,
) -> Option<&'a mut Outbox> {
    let out = &mut clients[index].socket.as_mut()?.outbox;
    mark(out, dirty, Key::Client(index));
    Some(out)
}

fn mark(out: &mut Outbox, dirty: &mut Vec<Key>, key: Key) {
    if !out.dirty {
        out.dirty = true;
        dirty.push(key);
    }
}

/// Not to be guessed: 128 bits of the process's random hash keys.
fn session(number: usize) -> Vec<u8> {
    let bits = || RandomState::new().hash_one(number);
    format!("{:016x}{:016x}", bits(), bits()).into_bytes()
}
