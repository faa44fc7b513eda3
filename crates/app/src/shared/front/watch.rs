//! `SilenceWatch`: notices that nothing was heard of the runtime for long while the client waits.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use trunkline_gateway::shortened;

/// A runtime that has said nothing for so long while its client waits is asked whether it is well; calls that take
/// longer are rare enough.
const SILENCE: Duration = Duration::from_secs(30);
/// One that is not is asked once more after this time, before it is ended.
const SECOND_LOOK: Duration = Duration::from_secs(5);

/// A timer that runs as long as the client waits. It is not set anew for each message, so a call costs nothing here:
/// silence is noticed after once to twice its time.
#[derive(Debug)]
pub(super) struct SilenceWatch {
    timer: OwnedFd,
    is_running: bool,
    /// Something was heard since it was set.
    has_heard: bool,
    /// The runtime did not answer when it was asked last.
    is_suspect: bool,
}

impl SilenceWatch {
    /// `None`: the system has no such timer. Then nobody looks after the runtime, as after one that works.
    pub(super) fn new() -> Option<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        // It does not go on while a laptop sleeps.
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags).ok()?;
        Some(Self { timer, is_running: false, has_heard: false, is_suspect: false })
    }

    /// The client waits: silence counts.
    pub(super) fn begin(&mut self) {
        if !self.is_running {
            self.run_for(if self.is_suspect { SECOND_LOOK } else { SILENCE });
        }
    }

    pub(super) fn heard(&mut self) {
        (self.has_heard, self.is_suspect) = (true, false);
    }

    /// The timer has rung: `true` if there was nothing but silence. It runs again when the client waits.
    pub(super) fn take_silence(&mut self) -> bool {
        self.is_running = false;
        // It has nothing to say but that it has rung.
        let _ = rustix::io::read(&self.timer, &mut [0; 8]);
        !self.has_heard
    }

    /// Notes whether the runtime, which was asked, hangs; returns whether it did when it was asked before.
    pub(super) fn note_hung(&mut self, is_hung: bool) -> bool {
        std::mem::replace(&mut self.is_suspect, is_hung)
    }

    fn run_for(&mut self, time: Duration) {
        let Ok(it_value) = Timespec::try_from(shortened(time)) else { return };
        let once = Itimerspec { it_interval: Timespec::default(), it_value };
        self.is_running = timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once).is_ok();
        self.has_heard = false;
    }
}

impl AsFd for SilenceWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}
