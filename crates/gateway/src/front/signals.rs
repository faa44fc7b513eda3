//! The signals that ask Trunkline to end.

use std::io::{self, IsTerminal as _};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// From here on the signals end nothing by themselves; those that come wait for `any`.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    on_hangup: OnHangup,
    /// Standard error was a terminal when this began.
    had_terminal: bool,
}

/// What SIGHUP means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnHangup {
    /// Our starter has gone: end.
    End,
    /// Another listener reloads the config; we end only if our terminal was closed.
    Reload,
}

impl Signals {
    pub fn new(on_hangup: OnHangup) -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            on_hangup,
            had_terminal: io::stderr().is_terminal(),
        })
    }

    /// Waits for one that asks us to end.
    pub async fn any(&mut self) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                _ = self.hangup.recv() => {
                    if self.on_hangup == OnHangup::End || self.has_lost_terminal() {
                        return;
                    }
                }
            }
        }
    }

    /// The kernel sends SIGHUP when a terminal is closed, too; then stderr is no terminal any more.
    fn has_lost_terminal(&self) -> bool {
        self.had_terminal && !io::stderr().is_terminal()
    }
}
