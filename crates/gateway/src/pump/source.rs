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
use crate::stream::Input;

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
    /// A plain file is always ready and not watched.
    is_file: bool,
    held: AtomicBool,
}

impl SourceHandle {
    pub(super) fn new(pump: Pump, token: u64, input: Input) -> Self {
        let Input { fd, is_file } = input;
        Self(Arc::new(Shared { pump, token, fd, is_file, held: AtomicBool::new(false) }))
    }

    /// Reads no more for now.
    pub(super) fn hold(&self) {
        self.0.held.store(true, Ordering::Relaxed);
        self.0.pump.rewatch(self.0.fd.as_fd(), self.0.token, EventFlags::empty());
    }

    pub(super) fn resume(&self) {
        self.0.held.store(false, Ordering::Relaxed);
        self.0.pump.rewatch(self.0.fd.as_fd(), self.0.token, EventFlags::IN);
    }

    /// Reads no more at all; the reader is not told.
    pub(crate) fn forget(&self) {
        self.0.pump.forget(self.0.token);
    }
}

/// The thread's side of a source.
#[derive(Debug)]
pub(super) struct Source {
    handle: SourceHandle,
    lines: Lines,
    reader: Arc<dyn Reader>,
}

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
        self.handle.0.is_file
    }

    pub(super) fn is_held(&self) -> bool {
        self.handle.0.held.load(Ordering::Relaxed)
    }

    pub(super) fn watch(&self) -> std::io::Result<()> {
        let shared = &self.handle.0;
        shared.pump.watch(shared.fd.as_fd(), shared.token, EventFlags::IN)
    }

    /// The handle may outlive the source, and so may the descriptor: it must leave the watch.
    pub(super) fn unwatch(&self) {
        self.handle.0.pump.unwatch(self.handle.0.fd.as_fd());
    }

    /// Reads once and hands on what came.
    pub(super) fn read(&mut self, touched: &mut Touched) -> More {
        match rustix::io::read(&self.handle.0.fd, spare_capacity(self.lines.room())) {
            Ok(1..) => {
                self.reader.take(&mut self.lines, &self.handle, touched);
                More::Maybe
            }
            Err(Errno::AGAIN | Errno::INTR) => More::Maybe,
            Ok(0) => self.end(touched),
            Err(error) => {
                tracing::debug!(%error, "a stream cannot be read any further");
                self.end(touched)
            }
        }
    }

    /// Says that nothing more will come.
    pub(super) fn end(&self, touched: &mut Touched) -> More {
        self.reader.ended(self.lines.remainder(), touched);
        More::Never
    }
}
