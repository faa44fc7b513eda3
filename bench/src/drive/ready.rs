//! Which of a target's connections can be read: with one there is nothing to ask the kernel.

use super::connection::Connection;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;

#[derive(Default)]
pub(super) struct Ready {
    epoll: Option<OwnedFd>,
    events: Vec<Event>,
}

impl Ready {
    pub(super) fn of(connections: &[Connection]) -> Result<Self, Errno> {
        if connections.len() < 2 {
            return Ok(Self::default());
        }
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        for (index, connection) in connections.iter().enumerate() {
            epoll::add(
                &epoll,
                connection.output(),
                EventData::new_u64(index as u64),
                EventFlags::IN,
            )?;
        }
        Ok(Self { epoll: Some(epoll), events: Vec::with_capacity(connections.len()) })
    }

    /// Waits and puts the readable connections into `indices`; a single one is taken for readable, and its read waits.
    pub(super) fn wait(&mut self, indices: &mut Vec<usize>) -> Result<(), String> {
        indices.clear();
        let Some(epoll) = &self.epoll else {
            indices.push(0);
            return Ok(());
        };
        self.events.clear();
        match epoll::wait(epoll, spare_capacity(&mut self.events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(format!("cannot wait for it: {error}")),
        }
        indices.extend(self.events.iter().map(|event| event.data.u64() as usize));
        Ok(())
    }
}
