//! The clock behind the deadlines of calls. It ticks while calls are open and costs a call nothing
//! but reading a counter: a timer per call (or any timer of the runtime that is always pending)
//! would make every wait of the event loop arm a kernel timer.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::sync::Notify;

use crate::stream::Slow;

/// A moment, counted in ticks.
pub(crate) type Tick = u64;

#[derive(Debug)]
pub(crate) struct Deadlines {
    /// `None`: calls may take for ever.
    limit: Option<Duration>,
    /// The same in ticks.
    ticks: Tick,
    now: AtomicU64,
    ticking: AtomicBool,
    wanted: Notify,
}

impl Deadlines {
    pub(crate) fn new(limit: Option<Duration>) -> Self {
        Self {
            limit,
            ticks: limit.map(ticks).unwrap_or_default(),
            now: AtomicU64::new(0),
            ticking: AtomicBool::new(false),
            wanted: Notify::new(),
        }
    }

    /// When a call that starts now is late. Starts the clock if it stands.
    pub(crate) fn for_call(&self) -> Option<Tick> {
        self.limit?;
        if !self.ticking.load(Ordering::Relaxed) && !self.ticking.swap(true, Ordering::Relaxed) {
            self.wanted.notify_one();
        }
        Some(self.now.load(Ordering::Relaxed) + self.ticks)
    }

    /// Runs the clock. `sweep` ends the calls that are late and says whether any is left open;
    /// with none, the clock stands still.
    pub(crate) async fn run(&self, sweep: impl Fn(Tick) -> bool) -> io::Result<()> {
        let Some(limit) = self.limit else {
            return Ok(());
        };
        let mut timer = Timer::new()?;
        loop {
            self.wanted.notified().await;
            timer.every(pause(limit))?;
            while self.ticking.load(Ordering::Relaxed) {
                timer.tick().await?;
                let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
                if sweep(now) {
                    continue;
                }
                // Stand still first and look again: a call may have come in between.
                self.ticking.store(false, Ordering::Relaxed);
                if sweep(now) {
                    self.ticking.store(true, Ordering::Relaxed);
                }
            }
            timer.every(Duration::ZERO)?;
        }
    }
}

/// How often deadlines are looked at: a tenth of the wait, between these two.
fn pause(limit: Duration) -> Duration {
    (limit / 10).clamp(Duration::from_millis(10), Duration::from_secs(1))
}

/// Never less than the limit: the running tick counts for nothing.
fn ticks(limit: Duration) -> Tick {
    let ticks = limit.as_nanos().div_ceil(pause(limit).as_nanos()) + 1;
    Tick::try_from(ticks).unwrap_or(Tick::MAX / 2)
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
            let certain = u32::try_from(ticks(limit) - 1).unwrap() * pause(limit);
            assert!(certain >= limit, "{limit:?}");
            assert!(certain <= limit + pause(limit) * 2, "{limit:?}");
        }
    }
}
