//! The epoll loop: read what is readable, exchange messages, write once per socket and pipe.

use super::exchange::{Connection, Exchange};
use super::key::Key;
use super::server::Server;
use super::socket::Socket;
use crate::floor::exchange::LARGE;
use crate::floor::outbox::{Outbox, State};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event, EventFlags};
use rustix::io::Errno;
use rustix::stdio::stdin;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;

pub(super) struct Loop {
    epoll: OwnedFd,
    listener: TcpListener,
    exchange: Exchange,
}

enum Next {
    Continue,
    End,
}

impl Loop {
    pub(super) fn new(exchange: Exchange, listener: TcpListener) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        listener.set_nonblocking(true)?;
        epoll::add(&epoll, &listener, Key::Listener.data(), EventFlags::IN)?;
        epoll::add(&epoll, stdin(), Key::Stdin.data(), EventFlags::IN)?;
        for (index, server) in exchange.servers.iter().enumerate() {
            if let Server::Pipes(pipes) = server {
                epoll::add(&epoll, &pipes.output, Key::Output(index).data(), EventFlags::IN)?;
            }
        }
        let mut events = Self { epoll, listener, exchange };
        events.exchange.fresh.extend(0..events.exchange.connections.len());
        events.register()?;
        Ok(events)
    }

    /// Runs until stdin ends.
    pub(super) fn run(mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(256);
        loop {
            self.write_all()?;
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                if let Next::End = self.handle(event)? {
                    return Ok(());
                }
            }
        }
    }

    fn handle(&mut self, event: &Event) -> io::Result<Next> {
        let (key, flags) = (Key::of(event.data), event.flags);
        match key {
            Key::Listener => self.accept()?,
            Key::Stdin => return Ok(Next::End),
            Key::Input(_) => self.exchange.dirty.push(key),
            Key::Output(index) => self.read_output(index)?,
            Key::Client(index) => {
                if flags.contains(EventFlags::OUT) {
                    self.exchange.dirty.push(key);
                }
                if flags != EventFlags::OUT {
                    self.read_client(index)?;
                }
            }
            Key::Connection(index) => {
                if flags.contains(EventFlags::OUT) {
                    self.exchange.dirty.push(key);
                }
                if flags != EventFlags::OUT {
                    self.read_connection(index)?;
                }
            }
        }
        Ok(Next::Continue)
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            let index = self.exchange.add_client(Socket::new(stream)?);
            if let Some(socket) = &self.exchange.clients[index].socket {
                let data = Key::Client(index).data();
                epoll::add(&self.epoll, &socket.outbox.fd, data, EventFlags::IN)?;
            }
        }
    }

    fn read_client(&mut self, index: usize) -> io::Result<()> {
        let Some(socket) = &mut self.exchange.clients[index].socket else {
            return Ok(());
        };
        match socket.inbox.fill(&socket.outbox.fd) {
            Ok(0) | Err(Errno::CONNRESET) => {
                self.exchange.remove_client(index);
                Ok(())
            }
            Ok(_) => self.exchange.serve_client(index),
            Err(Errno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn read_connection(&mut self, index: usize) -> io::Result<()> {
        let Connection { socket: Socket { inbox, outbox }, server } =
            &mut self.exchange.connections[index];
        if inbox.outgrown()
            && let Some(bigger) = self.exchange.spare.pop()
        {
            inbox.move_to(bigger);
        }
        match inbox.fill(&outbox.fd) {
            Ok(0) => {
                let Server::Http(pool) = &mut self.exchange.servers[*server] else {
                    return Ok(());
                };
                let Some(place) = pool.idle.iter().position(|&idle| idle == index) else {
                    return Err(io::Error::other("a server closed a connection with a call on it"));
                };
                pool.idle.remove(place);
                Ok(epoll::delete(&self.epoll, &outbox.fd)?)
            }
            Ok(_) => {
                while self.exchange.response(index)? {}
                Ok(())
            }
            Err(Errno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn read_output(&mut self, index: usize) -> io::Result<()> {
        let Server::Pipes(pipes) = &mut self.exchange.servers[index] else {
            return Ok(());
        };
        if pipes.lines.outgrown()
            && let Some(bigger) = self.exchange.spare.pop_if(|_| pipes.lines.bytes().len() < LARGE)
        {
            pipes.lines.move_to(bigger);
        }
        if pipes.lines.fill(&pipes.output)? == 0 {
            epoll::delete(&self.epoll, &pipes.output)?;
        }
        while self.exchange.line(index)? {}
        Ok(())
    }

    /// Writes every outbox that changed in this wake-up, unless it is still full.
    fn write_all(&mut self) -> io::Result<()> {
        self.register()?;
        while let Some(key) = self.exchange.dirty.pop() {
            let Exchange { clients, servers, connections, spare, .. } = &mut self.exchange;
            let written = match key {
                Key::Client(index) => match &mut clients[index].socket {
                    Some(socket) => flush(&self.epoll, &mut socket.outbox, key, spare),
                    None => Ok(()),
                },
                Key::Connection(index) => {
                    flush(&self.epoll, &mut connections[index].socket.outbox, key, spare)
                }
                Key::Input(index) => match &mut servers[index] {
                    Server::Pipes(pipes) => flush(&self.epoll, &mut pipes.input, key, spare),
                    Server::Http(_) => Ok(()),
                },
                _ => Ok(()),
            };
            match (key, written) {
                (Key::Client(index), Err(_)) => self.exchange.remove_client(index),
                (_, other) => other?,
            }
        }
        Ok(())
    }

    /// Makes epoll watch the connections made since.
    fn register(&mut self) -> io::Result<()> {
        while let Some(index) = self.exchange.fresh.pop() {
            let fd = &self.exchange.connections[index].socket.outbox.fd;
            epoll::add(&self.epoll, fd, Key::Connection(index).data(), EventFlags::IN)?;
        }
        Ok(())
    }
}

/// Sockets are watched for input all the time and for room when they were full, pipes only for room.
fn flush(
    epoll: &OwnedFd,
    outbox: &mut Outbox,
    key: Key,
    spare: &mut Vec<Vec<u8>>,
) -> Result<(), Errno> {
    outbox.dirty = false;
    let full = outbox.flush(spare)? == State::Full;
    if full == outbox.watched {
        return Ok(());
    }
    outbox.watched = full;
    let is_pipe = matches!(key, Key::Input(_));
    match (is_pipe, full) {
        (true, true) => epoll::add(epoll, &outbox.fd, key.data(), EventFlags::OUT),
        (true, false) => epoll::delete(epoll, &outbox.fd),
        (false, true) => {
            epoll::modify(epoll, &outbox.fd, key.data(), EventFlags::IN | EventFlags::OUT)
        }
        (false, false) => epoll::modify(epoll, &outbox.fd, key.data(), EventFlags::IN),
    }
}
