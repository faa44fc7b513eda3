//! `Pump`: the handle through which the rest of the gateway talks to the thread that moves bytes, and
//! what it gives to it: a `Reader` for each stream, whose `SourceHandle` pauses and ends it.

use std::fmt::Debug;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::lock::{Mutex, rank};
use crate::pump::outbox::{FlushSet, Outbox};
use crate::pump::queue::Sink;
use crate::stream::{Input, Nature};

/// A cloneable handle to the thread.
#[derive(Clone, Debug)]
pub(crate) struct Pump(pub(super) Arc<PumpShared>);

#[derive(Debug)]
pub(super) struct PumpShared {
    pub(super) epoll: OwnedFd,
    pub(super) wake: OwnedFd,
    // Held to add orders or to take them all: following one may give another.
    pub(super) orders: Mutex<Vec<Order>, rank::PumpOrders>,
    pub(super) has_orders: AtomicBool,
    tokens: AtomicU64,
    /// Streams that are read, or will be with the next orders.
    // Relaxed where it is used: it chooses a thread for the next client, and nothing depends on it.
    pub(super) streams: AtomicUsize,
    /// Cancelled when a thread of its group has ended.
    pub(super) ended: CancellationToken,
}

/// What the thread is told to do.
#[derive(Debug)]
pub(super) enum Order {
    Read(SourceHandle, Box<dyn Reader>),
    /// Look after this outbox when its stream takes more, or breaks.
    Write {
        token: u64,
        outbox: Outbox,
    },
    Poke(u64),
    Forget(u64),
    /// Say that orders are followed.
    Answer(oneshot::Sender<()>),
    Stop,
}

/// The token of the wake-up call itself.
pub(super) const WAKE: u64 = 0;

impl Pump {
    pub(super) fn new(ended: &CancellationToken) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &wake, EventData::new_u64(WAKE), EventFlags::IN)?;
        Ok(Self(Arc::new(PumpShared {
            epoll,
            wake,
            orders: Mutex::new(Vec::new()),
            has_orders: AtomicBool::new(false),
            tokens: AtomicU64::new(WAKE + 1),
            streams: AtomicUsize::new(0),
            ended: ended.clone(),
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
        self.0.streams.fetch_add(1, Ordering::Relaxed);
        (handle.clone(), Order::Read(handle, reader))
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

    /// How many streams it reads.
    pub(super) fn streams(&self) -> usize {
        self.0.streams.load(Ordering::Relaxed)
    }

    pub(crate) fn stop(&self) {
        self.order([Order::Stop]);
    }

    /// Waits until the thread has come to its orders once: it is not stuck, or has ended.
    pub(super) async fn answers(&self) {
        let (sender, answer) = oneshot::channel();
        self.order([Order::Answer(sender)]);
        tokio::select! {
            _ = answer => {}
            () = self.ended() => {}
        }
    }

    /// Waits until a thread of its group has ended, which it does only when told to.
    pub(crate) async fn ended(&self) {
        self.0.ended.cancelled().await;
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
pub(crate) struct SourceHandle(pub(super) Arc<SourceShared>);

#[derive(Debug)]
pub(super) struct SourceShared {
    pub(super) pump: Pump,
    pub(super) token: u64,
    pub(super) fd: OwnedFd,
    pub(super) nature: Nature,
    pub(super) held: AtomicBool,
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
        let was_held = self.0.held.swap(false, Ordering::Relaxed);
        self.0.pump.rewatch(self.0.fd.as_fd(), self.0.token, self.0.events());
        // Nothing tells of a plain file: a thread that sleeps would not read on.
        if was_held && self.0.nature == Nature::File {
            self.0.pump.order([]);
        }
    }

    /// Lets the reader look again at what it has not taken yet.
    pub(crate) fn poke(&self) {
        self.0.pump.poke(self.0.token);
    }

    /// From now on the other side of this socket cannot write. What it has written is still read, and then the reader
    /// is told that the stream has ended.
    pub(crate) fn end_input(&self) {
        // An error: the other side is gone, which is read as well.
        let _ = rustix::net::shutdown(&self.0.fd, rustix::net::Shutdown::Read);
        // The kernel tells the other side only; looking anew makes it tell us.
        if !self.0.held.load(Ordering::Relaxed) {
            self.0.pump.rewatch(self.0.fd.as_fd(), self.0.token, self.0.events());
        }
    }

    /// Reads no more at all; the reader is not told.
    pub(crate) fn forget(&self) {
        self.0.pump.forget(self.0.token);
    }
}

impl SourceShared {
    /// A pipe is told of once when something comes, and read until it is empty: the kernel then
    /// need not look at it again before the next wait.
    pub(super) fn events(&self) -> EventFlags {
        match self.nature {
            Nature::Pipe => EventFlags::IN | EventFlags::ET,
            Nature::Piecemeal | Nature::File => EventFlags::IN,
        }
    }
}
