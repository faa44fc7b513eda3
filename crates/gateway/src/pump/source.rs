//! A stream that is being read, and who gets what comes.

use std::fmt::Debug;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use trunkline_wire::Lines;

use crate::pump::{Pump, Touched};
use crate::stream::{Input, Nature};

/// Who gets what is read. Called on the pump's thread: must not wait.
pub(crate) trait Reader: Debug + Send + Sync {
    /// More bytes have come: take the lines that are complete. What is noted in `touched` is
    /// flushed afterwards.
    fn take(&self, lines: &mut Lines, source: &SourceHandle, touched: &mut Touched);
    /// The stream has ended; `rest` is a last line without its newline.
    fn ended(&self, rest: &[u8], touched: &mut Touched);
}

/// A source, for whoever wants to hold it for a while or end it.
#[derive(Clone, Debug)]
pub(crate) struct SourceHandle(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    pump: Pump,
    token: u64,
    fd: OwnedFd,
    nature: Nature,
    held: AtomicBool,
}

impl SourceHandle {
    pub(super) fn new(pump: Pump, token: u64, input: Input) -> Self {
        let Input { fd, nature } = input;
        Self(Arc::new(Shared { pump, token, fd, nature, held: AtomicBool::new(false) }))
    }

    /// Reads no more for now.
    pub(super) fn hold(&self) {
        self.0.held.store(true, Ordering::Relaxed);
        self.0.pump.rewatch(self.0.fd.as_fd(), self.0.token, EventFlags::empty());
    }

    pub(super) fn resume(&self) {
        self.0.held.store(false, Ordering::Relaxed);
        self.0.pump.rewatch(self.0.fd.as_fd(), self.0.token, self.0.events());
    }

    /// Reads no more at all; the reader is not told.
    pub(crate) fn forget(&self) {
        self.0.pump.forget(self.0.token);
    }
}

impl Shared {
    /// A pipe is told of once when something comes, and read until it is empty: the kernel then
    /// need not look at it again before the next wait.
    fn events(&self) -> EventFlags {
        match self.nature {
            Nature::Pipe => EventFlags::IN | EventFlags::ET,
            Nature::Piecemeal | Nature::File => EventFlags::IN,
        }
    }
}

/// The thread's side of a source.
#[derive(Debug)]
pub(super) struct Source {
    handle: SourceHandle,
    lines: Lines,
    reader: Arc<dyn Reader>,
}

/// A stream that always has more must not keep the others waiting.
const READS_AT_A_TIME: usize = 16;

/// Is there more to come?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum More {
    Maybe,
    Never,
}

impl Source {
    pub(super) fn new(handle: SourceHandle, limit: usize, reader: Arc<dyn Reader>) -> Self {
        Self { handle, lines: Lines::new(limit), reader }
    }

    pub(super) fn token(&self) -> u64 {
        self.handle.0.token
    }

    pub(super) fn is_file(&self) -> bool {
        self.handle.0.nature == Nature::File
    }

    pub(super) fn is_held(&self) -> bool {
        self.handle.0.held.load(Ordering::Relaxed)
    }

    pub(super) fn watch(&self) -> std::io::Result<()> {
        let shared = &self.handle.0;
        shared.pump.watch(shared.fd.as_fd(), shared.token, shared.events())
    }

    /// The handle may outlive the source, and so may the descriptor: it must leave the watch.
    pub(super) fn unwatch(&self) {
        self.handle.0.pump.unwatch(self.handle.0.fd.as_fd());
    }

    /// Reads what is there and hands it on. `hung_up`: the other side is gone, and there will be no
    /// further word of it.
    pub(super) fn read(&mut self, hung_up: bool, touched: &mut Touched) -> More {
        for _ in 0..READS_AT_A_TIME {
            let room = self.lines.room();
            let space = room.capacity() - room.len();
            match rustix::io::read(&self.handle.0.fd, spare_capacity(room)) {
                Ok(0) => return self.end(touched),
                Ok(count) => {
                    self.reader.take(&mut self.lines, &self.handle, touched);
                    let is_pipe = self.handle.0.nature == Nature::Pipe;
                    if !hung_up && (count < space || !is_pipe) || self.is_held() {
                        return More::Maybe;
                    }
                }
                Err(Errno::AGAIN) => return More::Maybe,
                Err(Errno::INTR) => {}
                Err(error) => {
                    tracing::debug!(%error, "a stream cannot be read any further");
                    return self.end(touched);
                }
            }
        }
        // The others' turn; this one is told of again at once.
        self.handle.resume();
        More::Maybe
    }

    /// Says that nothing more will come.
    pub(super) fn end(&self, touched: &mut Touched) -> More {
        self.reader.ended(self.lines.remainder(), touched);
        More::Never
    }
}
