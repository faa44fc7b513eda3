//! Notices that a file has changed: edited in place, replaced by a rename, or behind a symlink that
//! was turned elsewhere.
//!
//! The kernel says when something happens in a directory on the file's path (inotify); a look at the
//! file every few seconds covers file systems that say nothing. Whether it was our file, and whether
//! it is finished, is decided by its `Print` alone: events only say when to look.

mod path;
mod print;
mod waker;

use std::path::{Path, PathBuf};
use std::time::Duration;

use print::Print;
use waker::Waker;

/// How patient a watch is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// A file that has not changed for this long is finished.
    pub(crate) settle: Duration,
    /// Between two looks without an event.
    pub(crate) look: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { settle: Duration::from_millis(200), look: Duration::from_secs(5) }
    }
}

/// A file that is written to without end is taken as it is after this many pauses.
const MOST_PAUSES: usize = 50;

#[derive(Debug)]
pub(crate) struct Watch {
    file: PathBuf,
    pace: Pace,
    seen: Print,
    waker: Waker,
}

impl Watch {
    /// Watches from now on: to be called before the file is read, so that no change falls between.
    pub(crate) fn new(file: &Path, pace: Pace) -> Self {
        Self::with(file, pace, Waker::default())
    }

    fn with(file: &Path, pace: Pace, waker: Waker) -> Self {
        Self { file: file.to_owned(), pace, seen: Print::take(file), waker }
    }

    /// Returns when the file is no longer what it was at the last return and has come to rest. A
    /// file that is gone has changed, too.
    ///
    /// Cancel-safe: nothing is remembered before the change is returned.
    pub(crate) async fn changed(&mut self) {
        loop {
            // Armed before the look: what happens in between is an event.
            self.waker.arm(&self.file);
            if Print::take(&self.file) != self.seen
                && let now = self.rested().await
                && now != self.seen
                && now != Print::Special
            {
                self.seen = now;
                return;
            }
            self.waker.event(self.pace.look).await;
            // A save is several events, and other files may keep the directory busy.
            tokio::time::sleep(self.pace.settle / 4).await;
        }
    }

    /// Returns when something has happened in a directory on the file's path, or after a while: whoever watches
    /// several files looks at them itself.
    pub(crate) async fn stirred(&mut self) {
        self.waker.arm(&self.file);
        self.waker.event(self.pace.look).await;
        tokio::time::sleep(self.pace.settle / 4).await;
    }

    /// The file as it is now is known: it is about to be read.
    pub(crate) fn acknowledge(&mut self) {
        self.seen = Print::take(&self.file);
    }

    async fn rested(&self) -> Print {
        let mut now = Print::take(&self.file);
        for _ in 0..MOST_PAUSES {
            tokio::time::sleep(self.pace.settle).await;
            let then = std::mem::replace(&mut now, Print::take(&self.file));
            if then == now {
                break;
            }
        }
        now
    }
}

#[cfg(test)]
mod tests;
