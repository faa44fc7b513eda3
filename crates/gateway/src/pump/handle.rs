//! `Pump`: how the rest of the gateway talks to the thread.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::lock::{Mutex, rank};
use crate::pump::outbox::Outbox;
use crate::pump::source::{Reader, Source, SourceHandle};
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
    pub(super) fn new() -> io::Result<Self> {
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
        self.0.tokens.fetch_add(1, Ordering::Relaxed)
    }

    fn order(&self, orders: impl IntoIterator<Item = Order>) {
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
