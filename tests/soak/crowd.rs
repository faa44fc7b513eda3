//! Callers that call at given moments, whatever became of the calls before: a late answer counts
//! from when its call was due.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kit::platform::Platform;

use crate::caller::{Caller, Outcome};

/// One call and what came of it.
#[derive(Debug)]
pub struct Call {
    pub number: u64,
    /// Its place in [`Crowd::servers`].
    pub server: usize,
    pub over_mcp: bool,
    pub due: Instant,
    /// From when it was due.
    pub time: Duration,
    pub outcome: Outcome,
}

#[derive(Debug)]
pub struct Crowd<'a> {
    pub whom: Whom<'a>,
    pub servers: &'a [&'a str],
    /// Calls a second of all together.
    pub rate: u64,
    pub callers: u64,
    /// The number of the first call.
    pub first: u64,
}

/// Whom they ask.
#[derive(Debug, Clone, Copy)]
pub enum Whom<'a> {
    /// The platform, with this key; every second caller speaks MCP, the others REST.
    Platform(&'a Platform, &'a str),
    /// One server itself: what is left of a call when Trunkline is taken away.
    Server(SocketAddr),
}

impl<'a> Whom<'a> {
    fn caller(self, place: u64) -> Caller<'a> {
        match self {
            Self::Platform(platform, key) if place.is_multiple_of(2) => {
                Caller::over_mcp(platform, key)
            }
            Self::Platform(platform, key) => Caller::over_rest(platform, key),
            Self::Server(address) => Caller::direct(address),
        }
    }
}

/// When they stop.
#[derive(Debug, Clone, Copy)]
pub enum Until<'a> {
    Calls(u64),
    Told(&'a AtomicBool),
}

/// When the newest call that was answered rightly had been sent, in nanoseconds since the beginning.
#[derive(Debug)]
pub struct Newest {
    begin: Instant,
    sent: AtomicU64,
}

impl Newest {
    pub fn new() -> Self {
        Self { begin: Instant::now(), sent: AtomicU64::new(0) }
    }

    fn note(&self, sent: Instant) {
        let since = sent.saturating_duration_since(self.begin).as_nanos() as u64;
        self.sent.fetch_max(since, Ordering::Relaxed);
    }

    /// Has a call been answered that was sent after this moment?
    pub fn is_after(&self, moment: Instant) -> bool {
        let sent = Duration::from_nanos(self.sent.load(Ordering::Relaxed));
        self.begin + sent > moment
    }
}

impl Crowd<'_> {
    /// Every call that was made.
    pub fn run(&self, until: Until<'_>, newest: &Newest) -> Vec<Call> {
        let mut callers: Vec<Caller<'_>> =
            (0..self.callers).map(|place| self.whom.caller(place)).collect();
        let begin = Instant::now() + Duration::from_millis(50);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..)
                .zip(&mut callers)
                .map(|(place, caller)| {
                    scope.spawn(move || self.live(caller, place, begin, until, newest))
                })
                .collect();
            let joined = threads.into_iter().map(|thread| thread.join().expect("no caller panics"));
            joined.flatten().collect()
        })
    }

    /// The life of the caller at this place: every so-many-th call.
    fn live(
        &self,
        caller: &mut Caller<'_>,
        place: u64,
        begin: Instant,
        until: Until<'_>,
        newest: &Newest,
    ) -> Vec<Call> {
        let mut calls = Vec::new();
        for turn in (place..).step_by(self.callers as usize) {
            let due = begin + Duration::from_nanos(turn * 1_000_000_000 / self.rate);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let is_over = match until {
                Until::Calls(count) => turn >= count,
                Until::Told(flag) => flag.load(Ordering::Relaxed),
            };
            if is_over {
                break;
            }
            let number = self.first + turn;
            let server = (turn / self.callers + place) as usize % self.servers.len();
            let sent = Instant::now();
            let outcome = caller.call(self.servers[server], number);
            if outcome == Outcome::Right {
                newest.note(sent);
            }
            let over_mcp = place.is_multiple_of(2);
            let time = due.elapsed();
            calls.push(Call { number, server, over_mcp, due, time, outcome });
        }
        calls
    }
}
