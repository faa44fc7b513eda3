//! The thread: it waits for events, hands what is read from a `Source` to its `Reader`, and goes on
//! with writes that got stuck.

use std::any::Any;
use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::thread::{Builder, JoinHandle};

use foldhash::fast::RandomState;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventFlags};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use crate::pump::handle::{Order, Pump, Reader, SourceHandle, WAKE};
use crate::pump::outbox::{FlushSet, Outbox};
use crate::stream::{Nature, USUAL_PIPE_BYTES, widen};

/// How many events one wait may bring.
// More of them come with the next wait: the bound is that of one round, after which outboxes are
// flushed.
const EVENTS: usize = 64;

/// The other side of a stream is gone.
const GONE: EventFlags = EventFlags::ERR.union(EventFlags::HUP);

/// When this many messages moved in one round, many calls are open: other threads that are ready to
/// run go first, so that the next round finds more to do at once. Costs nothing if there are none.
const CROWD: usize = 4;

impl Pump {
    /// Starts the thread. What it ends with is an error unless it was told to end.
    pub(super) fn start_thread(
        name: &str,
        ended: &CancellationToken,
    ) -> io::Result<(Self, JoinHandle<io::Result<()>>)> {
        let pump = Self::new(ended)?;
        let guard = pump.0.ended.clone().drop_guard();
        let mut thread = Thread {
            pump: pump.clone(),
            watched: HashMap::default(),
            files: Vec::new(),
            touched: FlushSet::default(),
        };
        let handle = Builder::new().name(name.to_owned()).spawn(move || {
            let _guard = guard; // dropped when it unwinds, too
            thread.run()
        })?;
        Ok((pump, handle))
    }

    /// One thread alone.
    #[cfg(test)]
    pub(crate) fn start() -> io::Result<(Self, JoinHandle<io::Result<()>>)> {
        Self::start_thread("pump", &CancellationToken::new())
    }
}

struct Thread {
    pump: Pump,
    watched: HashMap<u64, Watched, RandomState>,
    /// Plain files among the sources: always ready.
    files: Vec<u64>,
    touched: FlushSet,
}

enum Watched {
    Source(Source),
    Outbox(Outbox),
}

impl Thread {
    fn run(&mut self) -> io::Result<()> {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        loop {
            // Before the wait: a source that is to be read must be watched before the thread
            // sleeps.
            for order in self.take_orders() {
                if !self.follow(order) {
                    return Ok(());
                }
            }
            self.touched.flush();
            // Epoll takes no plain files (EPERM), which are always ready: as long as one is read,
            // nothing is waited for.
            let at_once = Timespec::default();
            let patience = if self.any_file_ready() { Some(&at_once) } else { None };
            events.clear();
            match epoll::wait(&self.pump.0.epoll, spare_capacity(&mut events), patience) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                self.happened(event.data.u64(), event.flags);
            }
            // A copy: a file that has ended leaves the list.
            for token in self.files.clone() {
                self.happened(token, EventFlags::IN);
            }
            if self.touched.flush() >= CROWD {
                rustix::thread::sched_yield();
            }
        }
    }

    fn take_orders(&self) -> Vec<Order> {
        let shared = &self.pump.0;
        if !shared.has_orders.swap(false, Ordering::AcqRel) {
            return Vec::new();
        }
        // Taken out: orders are followed without the lock, since following one may give another.
        std::mem::take(&mut *shared.orders.lock())
    }

    fn any_file_ready(&self) -> bool {
        let ready = |token| match self.watched.get(token) {
            Some(Watched::Source(source)) => !source.is_held(),
            _ => false,
        };
        self.files.iter().any(ready)
    }

    /// False: it was the order to stop.
    fn follow(&mut self, order: Order) -> bool {
        match order {
            Order::Read(handle, reader) => self.add_source(handle, reader),
            Order::Write { token, outbox } => {
                outbox.watched(&self.pump, token);
                self.watched.insert(token, Watched::Outbox(outbox));
            }
            Order::Poke(token) => {
                let more = match self.watched.get_mut(&token) {
                    Some(Watched::Source(source)) => {
                        source.guarded(&mut self.touched, Source::poked)
                    }
                    _ => More::Maybe,
                };
                if more == More::Never {
                    self.forget(token);
                }
            }
            Order::Forget(token) => self.forget(token),
            // An error: who asked does not wait any more.
            Order::Answer(sender) => drop(sender.send(())),
            Order::Stop => return false,
        }
        true
    }

    fn add_source(&mut self, handle: SourceHandle, reader: Box<dyn Reader>) {
        let token = handle.0.token;
        let mut source = Source { handle, reader, widened: false };
        if source.is_file() {
            self.files.push(token);
        } else if let Err(error) = source.watch() {
            tracing::error!(%error, "a stream cannot be watched");
            source.guarded(&mut self.touched, Source::end);
            self.count_ended();
            return;
        }
        self.watched.insert(token, Watched::Source(source));
    }

    fn happened(&mut self, token: u64, flags: EventFlags) {
        if token == WAKE {
            // Swallows the wake-up call.
            let _ = rustix::io::read(&self.pump.0.wake, &mut [0; 8]);
            return;
        }
        let more = match self.watched.get_mut(&token) {
            Some(Watched::Source(source)) if source.is_file() && source.is_held() => More::Maybe,
            Some(Watched::Source(source)) => {
                let is_gone = flags.intersects(GONE);
                source.guarded(&mut self.touched, |source, touched| source.read(is_gone, touched))
            }
            Some(Watched::Outbox(outbox)) => {
                if flags.intersects(GONE) {
                    outbox.close();
                } else {
                    outbox.flush();
                }
                More::Maybe
            }
            // Forgotten while its event was on the way.
            None => More::Maybe,
        };
        if more == More::Never {
            self.forget(token);
        }
    }

    /// Drops what is known about a token; a descriptor leaves the watch when it is closed.
    fn forget(&mut self, token: u64) {
        self.files.retain(|file| *file != token);
        if let Some(Watched::Source(source)) = self.watched.remove(&token) {
            source.unwatch();
            self.count_ended();
        }
    }

    fn count_ended(&self) {
        // Relaxed: see `PumpShared::streams`.
        self.pump.0.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The thread's side of a source.
#[derive(Debug)]
struct Source {
    handle: SourceHandle,
    reader: Box<dyn Reader>,
    /// It has been full, and has been given more room if there was any.
    widened: bool,
}

/// A stream that always has more must not keep the others waiting.
const READS_AT_A_TIME: usize = 16;

/// Is there more to come?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum More {
    Maybe,
    Never,
}

impl Source {
    fn is_file(&self) -> bool {
        self.handle.0.nature == Nature::File
    }

    fn is_held(&self) -> bool {
        // Relaxed: an old value costs one read more. That a source is resumed after it was held is
        // ordered by the lock of the outbox that holds it.
        self.handle.0.held.load(Ordering::Relaxed)
    }

    fn watch(&self) -> io::Result<()> {
        let shared = &self.handle.0;
        shared.pump.watch(shared.fd.as_fd(), shared.token, shared.events())
    }

    /// The handle may outlive the source, and so may the descriptor: it must leave the watch.
    fn unwatch(&self) {
        self.handle.0.pump.unwatch(self.handle.0.fd.as_fd());
    }

    /// Reads what is there and hands it on. `hung_up`: the other side is gone, and there will be no
    /// further word of it.
    fn read(&mut self, hung_up: bool, touched: &mut FlushSet) -> More {
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
    fn poked(&mut self, touched: &mut FlushSet) -> More {
        self.reader.take(&self.handle, touched);
        More::Maybe
    }

    /// Runs the reader's code. A panic in it ends this stream, and not the thread that moves the
    /// bytes of everybody else: once per read, not per message, so that it costs nothing.
    fn guarded(
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
    fn end(&mut self, touched: &mut FlushSet) -> More {
        self.reader.ended(touched);
        More::Never
    }
}
