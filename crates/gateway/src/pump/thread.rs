//! The thread itself.

use std::collections::HashMap;
use std::io;
use std::thread::{Builder, JoinHandle};

use foldhash::fast::RandomState;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventFlags};
use rustix::io::Errno;

use crate::pump::handle::{Order, WAKE};
use crate::pump::outbox::Outbox;
use crate::pump::source::{More, Source};
use crate::pump::{FlushSet, Pump};

/// How many events one wait may bring.
const EVENTS: usize = 64;

/// The other side of a stream is gone.
const GONE: EventFlags = EventFlags::ERR.union(EventFlags::HUP);

/// When this many messages moved in one round, many calls are open: whoever else is ready to run
/// goes first, so that the next round finds more to do at once. Costs nothing when nobody is.
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
            for order in self.pump.take_orders() {
                if !self.follow(order) {
                    return Ok(());
                }
            }
            self.touched.flush();
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
