//! The epoll loop: read what is readable, exchange lines, write once per pipe.

use super::children::widen;
use super::config::Server;
use super::exchange::{Exchange, LARGE};
use super::outbox::{Outbox, State};
use crate::lines::{INITIAL, Lines};
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::stdio::{stdin, stdout};
use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;

/// Epoll keys: the client's input, its output, then two for each child.
const CLIENT_IN: u64 = 0;
const CLIENT_OUT: u64 = 1;

pub(super) struct Loop {
    epoll: OwnedFd,
    client: Lines,
    children: Vec<Reader>,
    exchange: Exchange,
}

struct Reader {
    fd: OwnedFd,
    lines: Lines,
}

enum Next {
    Continue,
    End,
}

impl Loop {
    pub(super) fn new(servers: &[Server], processes: &mut [Child]) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, stdin(), EventData::new_u64(CLIENT_IN), EventFlags::IN)?;
        let client_out = rustix::io::fcntl_dupfd_cloexec(stdout(), 3)?;
        widen(&client_out);
        ioctl_fionbio(&client_out, true)?;
        let (mut children, mut outboxes) = (Vec::new(), Vec::new());
        for (index, process) in processes.iter_mut().enumerate() {
            let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
                continue;
            };
            let (input, fd) = (OwnedFd::from(input), OwnedFd::from(output));
            ioctl_fionbio(&input, true)?;
            epoll::add(&epoll, &fd, EventData::new_u64(child_in(index)), EventFlags::IN)?;
            children.push(Reader { fd, lines: Lines::default() });
            outboxes.push(Outbox::new(input));
        }
        let names = servers.iter().map(|server| server.name.clone().into_bytes()).collect();
        let exchange = Exchange::new(names, Outbox::new(client_out), outboxes);
        Ok(Self { epoll, client: Lines::default(), children, exchange })
    }

    /// Runs until the client closes its side.
    pub(super) fn run(mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(128);
        loop {
            self.write_all()?;
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
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
        match event.data.u64() {
            CLIENT_IN => return self.read_client(),
            CLIENT_OUT => self.exchange.client.dirty = true,
            key if key % 2 == 0 => self.read_child(child_of(key))?,
            key => self.exchange.dirty.push(child_of(key)),
        }
        Ok(Next::Continue)
    }

    fn read_client(&mut self) -> io::Result<Next> {
        if self.client.fill(stdin())? == 0 {
            return Ok(Next::End);
        }
        while let Some(span) = self.client.next_line() {
            self.exchange.client_line(&self.client.bytes()[span]);
        }
        Ok(Next::Continue)
    }

    fn read_child(&mut self, index: usize) -> io::Result<()> {
        let child = &mut self.children[index];
        if child.lines.outgrown()
            && let Some(bigger) = self.exchange.spare.pop_if(|_| child.lines.bytes().len() < LARGE)
        {
            child.lines.move_to(bigger);
        }
        if child.lines.fill(&child.fd)? == 0 {
            epoll::delete(&self.epoll, &child.fd)?;
        }
        while let Some(span) = child.lines.next_line() {
            if span.len() >= LARGE {
                let bytes = child.lines.take(Vec::with_capacity(INITIAL));
                self.exchange.large_child_line(index, bytes, span.start);
            } else {
                self.exchange.child_line(index, &child.lines.bytes()[span]);
            }
        }
        Ok(())
    }

    /// Writes every outbox that changed in this wake-up, unless its pipe is still full.
    fn write_all(&mut self) -> io::Result<()> {
        let Exchange { client, children, dirty, spare, .. } = &mut self.exchange;
        while let Some(index) = dirty.pop() {
            let child = &mut children[index];
            child.dirty = false;
            flush(&self.epoll, child, child_in(index) + 1, spare)?;
        }
        if client.dirty {
            client.dirty = false;
            flush(&self.epoll, client, CLIENT_OUT, spare)?;
        }
        Ok(())
    }
}

fn flush(
    epoll: &OwnedFd,
    outbox: &mut Outbox,
    key: u64,
    spare: &mut Vec<Vec<u8>>,
) -> io::Result<()> {
    let full = outbox.flush(spare)? == State::Full;
    if full && !outbox.watched {
        epoll::add(epoll, &outbox.fd, EventData::new_u64(key), EventFlags::OUT)?;
    } else if !full && outbox.watched {
        epoll::delete(epoll, &outbox.fd)?;
    }
    outbox.watched = full;
    Ok(())
}

fn child_in(index: usize) -> u64 {
    2 + 2 * index as u64
}

fn child_of(key: u64) -> usize {
    (key / 2 - 1) as usize
}
