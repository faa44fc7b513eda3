//! Over Streamable HTTP: one epoll loop, every answer as JSON with its length, one write for each.

use super::stdio::{write_all, write_slices};
use super::{Answer, CALL_END, Child, Heading};
use crate::era::Era;
use crate::http::{Inbox, Message};
use crate::scan;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::stdio::stdin;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;

/// Epoll keys; a connection's is its index.
const LISTENER: u64 = u64::MAX;
const STDIN: u64 = u64::MAX - 1;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
const NOT_FOUND: &[u8] = b"HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\n";
const BAD_REQUEST: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n";
const ACCEPTED: &[u8] = b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
const DELETED: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
const NO_STREAM: &[u8] =
    b"HTTP/1.1 405 Method Not Allowed\r\nallow: POST, DELETE\r\ncontent-length: 0\r\n\r\n";

/// The sockets block: a reader that is slow makes everybody wait, which is as good as it gets over stdio.
struct Connection {
    socket: TcpStream,
    inbox: Inbox,
}

struct Server<'a> {
    child: &'a mut Child,
    epoll: OwnedFd,
    listener: TcpListener,
    /// By epoll key; the place of a closed one is taken by the next.
    connections: Vec<Option<Connection>>,
    sessions: usize,
    /// One answer with its head.
    frame: Vec<u8>,
}

impl Child {
    /// Serves at `/mcp` until stdin ends: that is how it notices that its starter has gone.
    pub fn serve_http(&mut self, listener: TcpListener) -> io::Result<()> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        epoll::add(&epoll, stdin(), EventData::new_u64(STDIN), EventFlags::IN)?;
        let (connections, frame) = (Vec::new(), Vec::with_capacity(64 * 1024));
        Server { child: self, epoll, listener, connections, sessions: 0, frame }.run()
    }
}

impl Server<'_> {
    fn run(mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(128);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept()?,
                    STDIN => return Ok(()),
                    key => self.read(key as usize),
                }
            }
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        let (socket, _) = self.listener.accept()?;
        socket.set_nodelay(true)?;
        let free = self.connections.iter().position(Option::is_none);
        let index = free.unwrap_or(self.connections.len());
        epoll::add(&self.epoll, &socket, EventData::new_u64(index as u64), EventFlags::IN)?;
        let connection = Some(Connection { socket, inbox: Inbox::default() });
        match self.connections.get_mut(index) {
            Some(slot) => *slot = connection,
            None => self.connections.push(connection),
        }
        Ok(())
    }

    /// Answers what has come; a connection that ended or makes no sense is closed.
    fn read(&mut self, index: usize) {
        let Some(mut connection) = self.connections.get_mut(index).and_then(Option::take) else {
            return;
        };
        if self.exchange(&mut connection).is_some() {
            self.connections[index] = Some(connection);
        }
    }

    fn exchange(&mut self, connection: &mut Connection) -> Option<()> {
        let Connection { socket, inbox } = connection;
        inbox.fill(&*socket).ok().filter(|&count| count > 0)?;
        while let Some(message) = inbox.next_message().ok()? {
            self.answer(socket, inbox.bytes(), &message).ok()?;
        }
        Some(())
    }

    fn answer(&mut self, to: &TcpStream, bytes: &[u8], message: &Message) -> Result<(), Errno> {
        match bytes[message.head.clone()].first() {
            Some(b'P') => {}
            Some(b'D') => return write_all(to, DELETED),
            _ => return write_all(to, NO_STREAM),
        }
        let child = &mut *self.child;
        child.out.clear();
        let named = &message.named;
        let heading = Heading {
            version: &bytes[named.version.clone()],
            method: &bytes[named.method.clone()],
            name: &bytes[named.name.clone()],
        };
        let answer = child.answer(&bytes[message.body.clone()], Some(heading));
        let mut length = child.out.len();
        self.frame.clear();
        self.frame.extend_from_slice(match answer {
            Answer::Unknown if child.era == Era::Modern => NOT_FOUND,
            Answer::Refused => BAD_REQUEST,
            _ => OK,
        });
        match answer {
            Answer::None => return write_all(to, ACCEPTED),
            Answer::Small | Answer::Changed | Answer::Unknown | Answer::Refused => {}
            Answer::Initialize => {
                self.sessions += 1;
                self.frame.extend_from_slice(b"mcp-session-id: ");
                self.frame.extend_from_slice(&child.name);
                self.frame.push(b'-');
                scan::push_number(&mut self.frame, self.sessions);
                self.frame.extend_from_slice(b"\r\n");
            }
            Answer::Large => length += child.large.len() + CALL_END.len(),
        }
        self.frame.extend_from_slice(b"content-length: ");
        scan::push_number(&mut self.frame, length);
        self.frame.extend_from_slice(b"\r\n\r\n");
        if answer == Answer::Large {
            return write_slices(to, &[&self.frame, &child.out, &child.large, CALL_END]);
        }
        self.frame.extend_from_slice(&child.out);
        write_all(to, &self.frame)
    }
}
