//! `Source`: a stream that is being read, and the `Reader` that gets its bytes.

use std::any::Any;
use std::fmt::Debug;
use std::os::fd::{AsFd as _, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use crate::pump::{FlushSet, Pump};
use crate::stream::{Input, Nature, USUAL_PIPE_BYTES, widen};

/// Receives what is read from one stream. Called on the pump's thread: must not wait.
pub(crate) trait Reader: Debug + Send {
    /// The buffer to append the next bytes to, with spare room for a good read.
    fn room(&mut self) -> &mut Vec<u8>;
    /// More bytes have come (or a poke): take what is complete. What is noted in `touched` is
    /// flushed afterwards.
    fn take(&mut self, source: &SourceHandle, touched: &mut FlushSet);
    /// The stream has ended; what is left in the buffer is all there will be.
    fn ended(&mut self, touched: &mut FlushSet);
    /// A call of this reader has panicked: nothing more is read, and what belongs to the stream ends
    /// with an error.
    fn panicked(&mut self, touched: &mut FlushSet) {
        self.ended(touched);
    }
}

/// A handle on a source: pauses it, resumes it, ends it.
#[derive(Clone, Debug)]
pub(crate) struct SourceHandle(Arc<SourceShared>);

#[derive(Debug)]
struct SourceShared {
    pump: Pump,
    token: u64,
    fd: OwnedFd,
    nature: Nature,
    held: AtomicBool,
}

impl SourceHandle {
    pub(super) fn new(pump: Pump, token: u64, input: Input) -> Self {
        let Input { fd, nature } = input;
        Self(Arc::new(SourceShared { pump, token, fd, nature, held: AtomicBool::new(false) }))
    }

    /// Reads no more for now.
    pub(crate) fn hold(&self) {
        // Relaxed: the flag guards no other data, and the watch is changed right behind it.
        self.0.held.store(true, Ordering::Relaxed);
        self.0.pump.rewatch(self.0.fd.as_fd(), self.0.token, EventFlags::empty());
    }

    pub(crate) fn resume(&self) {
        self.0.held.store(false, Ordering::Relaxed);
        self.0.pump.rewatch(self.0.fd.as_fd(), self.0.token, self.0.events());
    }

    /// Lets the reader look again at what it has not taken yet.
    pub(crate) fn poke(&self) {
        self.0.pump.poke(self.0.token);
    }

    /// Reads no more at all; the reader is not told.
    pub(crate) fn forget(&self) {
        self.0.pump.forget(self.0.token);
    }
}

impl SourceShared {
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
    reader: Box<dyn Reader>,
    /// It has been full, and has been given more room if there was any.
    widened: bool,
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
    pub(super) fn new(handle: SourceHandle, reader: Box<dyn Reader>) -> Self {
        Self { handle, reader, widened: false }
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
    pub(super) fn read(&mut self, hung_up: bool, touched: &mut FlushSet) -> More {
        for _ in 0..READS_AT_A_TIME {
            let room = self.reader.room();
            let space = room.capacity() - room.len();
            match rustix::io::read(&self.handle.0.fd, spare_capacity(room)) {
                Ok(0) => return self.end(touched),
                Ok(count) => {
                    if count >= USUAL_PIPE_BYTES {
                        self.widen_once();
                    }
                    self.reader.take(&self.handle, touched);
                    // A short read has emptied a pipe, and what comes next raises a new edge.
                    // Others are watched by level: they are told of again without another read that
                    // finds nothing. After a hang-up nothing more is told, so that all of it is
                    // read now.
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

    #[cold]
    fn widen_once(&mut self) {
        let shared = &self.handle.0;
        if !std::mem::replace(&mut self.widened, true) && shared.nature == Nature::Pipe {
            widen(&shared.fd);
        }
    }

    /// The reader was asked to look again.
    pub(super) fn poked(&mut self, touched: &mut FlushSet) -> More {
        self.reader.take(&self.handle, touched);
        More::Maybe
    }

    /// Runs the reader's code. A panic in it ends this stream, and not the thread that moves the
    /// bytes of everybody else: once per read, not per message, so that it costs nothing.
    pub(super) fn guarded(
        &mut self,
        touched: &mut FlushSet,
        run: impl FnOnce(&mut Self, &mut FlushSet) -> More,
    ) -> More {
        // What a panic leaves half done is this reader's own, which ends.
        match catch_unwind(AssertUnwindSafe(|| run(self, touched))) {
            Ok(more) => more,
            Err(panic) => self.panicked(&*panic, touched),
        }
    }

    #[cold]
    fn panicked(&mut self, panic: &(dyn Any + Send), touched: &mut FlushSet) -> More {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let what = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
        tracing::error!(
            "an internal error ends one connection; the others go on (please report this): {what}"
        );
        // What ends the connection runs the code of the same reader: it may panic again.
        let ended = catch_unwind(AssertUnwindSafe(|| self.reader.panicked(touched)));
        if ended.is_err() {
            tracing::error!("and another one while it was ended");
        }
        More::Never
    }

    /// Says that nothing more will come.
    pub(super) fn end(&mut self, touched: &mut FlushSet) -> More {
        self.reader.ended(touched);
        More::Never
    }
}
