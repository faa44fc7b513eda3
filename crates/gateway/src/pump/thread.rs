//! `Pump`: the thread that moves bytes, and the handle through which the rest of the gateway talks to it.

use std::collections::HashMap;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};

use foldhash::fast::RandomState;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::lock::{Mutex, rank};
use crate::pump::FlushSet;
use crate::pump::outbox::Outbox;
use crate::pump::source::{More, Reader, Source, SourceHandle};
use crate::stream::{Input, Sink};

/// A cloneable handle to the thread.
#[derive(Clone, Debug)]
pub(crate) struct Pump(Arc<PumpShared>);

#[derive(Debug)]
pub(super) struct PumpShared {
    epoll: OwnedFd,
    wake: OwnedFd,
    orders: Mutex<Vec<Order>, rank::PumpOrders>,
    has_orders: AtomicBool,
    tokens: AtomicU64,
    ended: CancellationToken,
}

/// What the thread is told to do.
#[derive(Debug)]
pub(super) enum Order {
    Read(Source),
    /// Look after this outbox when its stream takes more, or breaks.
    Write {
        token: u64,
        outbox: Outbox,
    },
    Poke(u64),
    Forget(u64),
    Stop,
}

/// The token of the wake-up call itself.
pub(super) const WAKE: u64 = 0;

impl Pump {
    fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &wake, EventData::new_u64(WAKE), EventFlags::IN)?;
        Ok(Self(Arc::new(PumpShared {
            epoll,
            wake,
            orders: Mutex::new(Vec::new()),
            has_orders: AtomicBool::new(false),
            tokens: AtomicU64::new(WAKE + 1),
            ended: CancellationToken::new(),
        })))
    }

    /// Reads `input` from now on; `reader` gets what comes.
    pub(crate) fn read(&self, input: Input, reader: Box<dyn Reader>) -> SourceHandle {
        let (handle, order) = self.order_to_read(input, reader);
        self.order([order]);
        handle
    }

    /// Reads `input` for `reader` and connects `outbox` to `sink`: the thread is woken up once for both.
    pub(crate) fn attend(
        &self,
        input: Input,
        reader: Box<dyn Reader>,
        outbox: &Outbox,
        sink: Sink,
    ) -> SourceHandle {
        let (handle, read) = self.order_to_read(input, reader);
        let write = outbox.accept(sink).then(|| self.order_to_write(outbox));
        self.order([read].into_iter().chain(write));
        outbox.flush();
        handle
    }

    /// Cares for an outbox whose stream may get stuck or break.
    pub(super) fn write(&self, outbox: &Outbox) {
        self.order([self.order_to_write(outbox)]);
    }

    fn order_to_read(&self, input: Input, reader: Box<dyn Reader>) -> (SourceHandle, Order) {
        let handle = SourceHandle::new(self.clone(), self.token(), input);
        (handle.clone(), Order::Read(Source::new(handle, reader)))
    }

    fn order_to_write(&self, outbox: &Outbox) -> Order {
        Order::Write { token: self.token(), outbox: outbox.clone() }
    }

    pub(super) fn poke(&self, token: u64) {
        self.order([Order::Poke(token)]);
    }

    pub(super) fn forget(&self, token: u64) {
        self.order([Order::Forget(token)]);
    }

    pub(crate) fn stop(&self) {
        self.order([Order::Stop]);
    }

    /// Waits until the thread has ended, which it does only when told to.
    pub(crate) async fn ended(&self) {
        self.0.ended.cancelled().await;
    }

    pub(super) fn end_guard(&self) -> DropGuard {
        self.0.ended.clone().drop_guard()
    }

    fn token(&self) -> u64 {
        // Relaxed: tokens have to differ, not to be ordered. 64 bits never come round.
        self.0.tokens.fetch_add(1, Ordering::Relaxed)
    }

    fn order(&self, orders: impl IntoIterator<Item = Order>) {
        // The orders first, then the flag: the thread takes the flag down before it takes the
        // orders, so that it never sleeps over one. Only the first order of a round costs a system
        // call.
        self.0.orders.lock().extend(orders);
        if !self.0.has_orders.swap(true, Ordering::AcqRel) {
            // Full: it is awake already.
            let _ = rustix::io::write(&self.0.wake, &1_u64.to_ne_bytes());
        }
    }

    pub(super) fn take_orders(&self) -> Vec<Order> {
        if !self.0.has_orders.swap(false, Ordering::AcqRel) {
            return Vec::new();
        }
        // Taken out: orders are followed without the lock, since following one may give another.
        std::mem::take(&mut *self.0.orders.lock())
    }

    /// Swallows the wake-up call.
    pub(super) fn awake(&self) {
        let _ = rustix::io::read(&self.0.wake, &mut [0; 8]);
    }

    pub(super) fn epoll(&self) -> &OwnedFd {
        &self.0.epoll
    }

    pub(super) fn watch(&self, fd: BorrowedFd<'_>, token: u64, what: EventFlags) -> io::Result<()> {
        Ok(epoll::add(&self.0.epoll, fd, EventData::new_u64(token), what)?)
    }

    pub(super) fn unwatch(&self, fd: BorrowedFd<'_>) {
        let _ = epoll::delete(&self.0.epoll, fd); // a plain file was never watched
    }

    /// Changes what is watched for. On a descriptor that is not watched (a plain file) this does
    /// nothing, and nothing is needed: a file never gets stuck.
    pub(super) fn rewatch(&self, fd: BorrowedFd<'_>, token: u64, what: EventFlags) {
        let _ = epoll::modify(&self.0.epoll, fd, EventData::new_u64(token), what);
    }
}

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
    pub(crate) fn start() -> io::Result<(Self, JoinHandle<io::Result<()>>)> {
        let pump = Self::new()?;
        let guard = pump.end_guard();
        let mut thread = Thread {
            pump: pump.clone(),
            watched: HashMap::default(),
            files: Vec::new(),
            touched: FlushSet::default(),
        };
        let handle = Builder::new().name("pump".to_owned()).spawn(move || {
            let _guard = guard; // dropped when it unwinds, too
            thread.run()
        })?;
        Ok((pump, handle))
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
            for order in self.pump.take_orders() {
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
            match epoll::wait(self.pump.epoll(), spare_capacity(&mut events), patience) {
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
            Order::Read(source) => self.add_source(source),
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
            Order::Stop => return false,
        }
        true
    }

    fn add_source(&mut self, mut source: Source) {
        let token = source.token();
        if source.is_file() {
            self.files.push(token);
        } else if let Err(error) = source.watch() {
            tracing::error!(%error, "a stream cannot be watched");
            source.guarded(&mut self.touched, Source::end);
            return;
        }
        self.watched.insert(token, Watched::Source(source));
    }

    fn happened(&mut self, token: u64, flags: EventFlags) {
        if token == WAKE {
            return self.pump.awake();
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
        }
    }
}
