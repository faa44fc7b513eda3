//! The clock behind the deadlines of calls. It ticks while calls are open and costs a call nothing
//! but reading a counter: a timer per call (or any timer of the runtime that is always pending)
//! would make every wait of the event loop arm a kernel timer.

use std::io;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::sync::Notify;

use crate::stream::Slow;

/// A moment, in milliseconds for which the clock has run, and one: never nothing, so that no moment
/// takes no room beside one.
pub(crate) type Tick = NonZeroU64;

#[derive(Debug)]
pub(crate) struct Deadlines {
    /// `None`: calls may take for ever, unless their server has a limit of its own.
    limit: Option<Duration>,
    // Relaxed for the numbers where nothing else is said: one may be read a tick old. A span counts the running tick for
    // nothing, so a call still has its whole limit while the length of a tick stays the same.
    now: AtomicU64,
    /// How long the usual call has, as the clock counts it: worked out once, not for every call.
    usual: AtomicU64,
    /// How often the clock ticks, in milliseconds, and how often it should.
    pause: AtomicU64,
    wanted_pause: AtomicU64,
    ticking: AtomicBool,
    wanted: Notify,
}

impl Deadlines {
    pub(crate) fn new(limit: Option<Duration>) -> Self {
        let pause = limit.map_or(LONGEST_PAUSE, pause);
        Self {
            limit,
            now: AtomicU64::new(0),
            usual: AtomicU64::new(limit.map_or(0, |limit| span(pause, limit))),
            pause: AtomicU64::new(pause),
            wanted_pause: AtomicU64::new(pause),
            ticking: AtomicBool::new(false),
            wanted: Notify::new(),
        }
    }

    /// When a call that starts now is late. Starts the clock if it stands.
    pub(crate) fn for_call(&self) -> Option<Tick> {
        self.limit?;
        self.tick();
        // In this order, and Acquire (pairs with `start`): whoever finds the shorter span of a finer clock also finds the
        // ticks before it counted. Else the call would be late a coarse tick early.
        let usual = self.usual.load(Ordering::Acquire);
        Some(tick(self.now.load(Ordering::Relaxed) + usual))
    }

    /// When a call that starts now and may take so long is late.
    pub(crate) fn within(&self, limit: Duration) -> Tick {
        let wanted = self.wanted_pause.fetch_min(pause(limit), Ordering::Relaxed).min(pause(limit));
        // One that stood starts as fine as is wanted; one that runs ends its tick first.
        // Acquire, as in `for_call`.
        let running = if self.tick() { wanted } else { self.pause.load(Ordering::Acquire) };
        let now = self.now.load(Ordering::Relaxed);
        // Rounded up to whole ticks: a call is never late before its time.
        tick(now.saturating_add(running.max(wanted)).saturating_add(behind(wanted, limit)))
    }

    /// Calls that may take so long are going to come: the clock is fine enough before the first does.
    pub(crate) fn expect(&self, limit: Duration) {
        // Relaxed: a clock that reads it late becomes finer a tick later.
        self.wanted_pause.fetch_min(pause(limit), Ordering::Relaxed);
    }

    /// How long it is until then, as far as the clock knows.
    pub(crate) fn left(&self, deadline: Tick) -> Duration {
        let now = tick(self.now.load(Ordering::Relaxed));
        Duration::from_millis(deadline.get().saturating_sub(now.get()))
    }

    /// Starts the clock if it stands. Did it?
    #[inline]
    fn tick(&self) -> bool {
        // What was wanted before is seen by whoever sees that it ticks.
        // Relaxed at first: it is called with the open calls locked, and the clock looks at them
        // under that lock after it has stopped. So it sees the call, or the call sees that it
        // stands.
        let starts =
            !self.ticking.load(Ordering::Relaxed) && !self.ticking.swap(true, Ordering::Release);
        if starts {
            self.wanted.notify_one();
        }
        starts
    }

    /// Runs the clock. `sweep` ends the calls that are late and says whether any is left open;
    /// with none, the clock stands still.
    pub(crate) async fn run(&self, sweep: impl Fn(Tick) -> bool) -> io::Result<()> {
        let mut timer = Timer::new()?;
        loop {
            self.wanted.notified().await;
            let mut pause = self.start(&timer)?;
            while self.ticking.load(Ordering::Acquire) {
                // Before a tick, never within one: what it counts for was given to calls already.
                if self.wanted_pause.load(Ordering::Relaxed) < pause {
                    pause = self.start(&timer)?;
                }
                timer.tick().await?;
                // Relaxed: the count is all that is read. A call that reads it late is treated like
                // one that came just before this tick.
                let now = tick(self.now.fetch_add(pause, Ordering::Relaxed) + pause);
                if sweep(now) {
                    continue;
                }
                // Stand still first and look again: a call may have come in between.
                // Relaxed: `sweep` takes the lock of the open calls next, which orders the flag
                // before its look.
                self.ticking.store(false, Ordering::Relaxed);
                if sweep(now) {
                    self.ticking.store(true, Ordering::Relaxed);
                }
            }
            timer.every(Duration::ZERO)?;
        }
    }

    /// Ticks as often as is wanted from now on.
    fn start(&self, timer: &Timer) -> io::Result<u64> {
        let pause = self.wanted_pause.load(Ordering::Relaxed);
        // Release: behind the ticks that were counted so far. A pause only becomes shorter.
        self.pause.store(pause, Ordering::Release);
        if let Some(limit) = self.limit {
            self.usual.store(span(pause, limit), Ordering::Release);
        }
        timer.every(Duration::from_millis(pause))?;
        Ok(pause)
    }
}

fn tick(millis: u64) -> Tick {
    Tick::MIN.saturating_add(millis)
}

/// How often deadlines are looked at, in milliseconds: a tenth of the wait, between these two.
fn pause(limit: Duration) -> u64 {
    millis(limit / 10).clamp(10, LONGEST_PAUSE)
}

// However long the limit is, a late call is found within two of these.
const LONGEST_PAUSE: u64 = 1000;

/// Never less than the limit: the running tick counts for nothing.
fn span(pause: u64, limit: Duration) -> u64 {
    pause.saturating_add(behind(pause, limit))
}

/// From the end of the running tick on.
fn behind(pause: u64, limit: Duration) -> u64 {
    (millis(limit) + 1).div_ceil(pause).saturating_mul(pause).min(u64::MAX / 4)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX / 4).min(u64::MAX / 4)
}

/// A kernel timer that is read like a pipe.
struct Timer(Slow, rustix::fd::OwnedFd);

impl Timer {
    fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self(Slow::new(timer.try_clone()?)?, timer))
    }

    /// Ticks this often from now on; never, if zero.
    fn every(&self, pause: Duration) -> io::Result<()> {
        let pause = Timespec::try_from(pause).map_err(io::Error::other)?;
        let spec = Itimerspec { it_interval: pause, it_value: pause };
        timerfd_settime(&self.1, TimerfdTimerFlags::empty(), &spec)?;
        Ok(())
    }

    async fn tick(&mut self) -> io::Result<()> {
        let mut count = Vec::with_capacity(size_of::<u64>());
        self.0.read(&mut count).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_never_late_before_its_time() {
        for limit in [1, 10, 95, 1000, 5000, 600_000, 3_600_000].map(Duration::from_millis) {
            let pause = pause(limit);
            let certain = Duration::from_millis(span(pause, limit) - pause);
            assert!(certain >= limit, "{limit:?}");
            assert!(certain <= limit + Duration::from_millis(pause) * 2, "{limit:?}");
        }
    }

    #[test]
    fn a_server_with_a_shorter_limit_makes_the_clock_finer() {
        let deadlines = Deadlines::new(None);
        assert_eq!(deadlines.for_call(), None);
        assert!(deadlines.within(Duration::from_millis(200)) >= tick(200));
        assert_eq!(deadlines.wanted_pause.load(Ordering::Relaxed), 20);
    }

    #[test]
    fn the_first_call_with_a_short_limit_is_late_in_its_own_time() {
        let limit = Duration::from_secs(2);
        // The clock stood: it starts with the ticks of this call.
        let deadlines = Deadlines::new(Some(Duration::from_secs(600)));
        assert_eq!(deadlines.within(limit), tick(200 + 2200));
        // It runs: the tick it is in may end at once, and counts for a second then.
        let deadlines = Deadlines::new(Some(Duration::from_secs(600)));
        deadlines.for_call();
        assert_eq!(deadlines.within(limit), tick(1000 + 2200));
        // Finer than that already.
        let deadlines = Deadlines::new(Some(Duration::from_secs(1)));
        deadlines.for_call();
        assert_eq!(deadlines.within(limit), tick(100 + 2100));
    }
}
