//! Waits for an event in a directory (inotify) or for a timeout.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use tokio::net::unix::pipe::Receiver;

use super::path::directories;

#[derive(Debug, Default)]
pub(super) struct Waker {
    events: Option<Receiver>,
    watched: Vec<PathBuf>,
    /// Tests: what happens where the kernel says nothing.
    deaf: bool,
}

impl Waker {
    #[cfg(test)]
    pub(super) fn deaf() -> Self {
        Self { deaf: true, ..Self::default() }
    }

    /// Watches the directories the path leads through now. Where that does not work (no inotify, no
    /// watches left, directory gone), the clock has to do.
    pub(super) fn arm(&mut self, file: &Path) {
        let wanted = directories(file);
        if self.deaf || (self.events.is_some() && wanted == self.watched) {
            return;
        }
        match listen(&wanted) {
            Ok(events) => self.events = Some(events),
            Err(error) => {
                tracing::debug!(%error, "the config file is looked at now and then only");
                self.events = None;
            }
        }
        self.watched = wanted;
    }

    /// Returns after an event, at the latest after `look`.
    pub(super) async fn event(&mut self, look: Duration) {
        let Some(events) = &self.events else {
            tokio::time::sleep(look).await;
            return;
        };
        // An event and a timeout mean the same: look at the file.
        let drained = tokio::time::timeout(look, drained(events)).await;
        if !matches!(drained, Ok(Ok(WatchEvent::Change)) | Err(_)) {
            // A directory is gone; one made again under its name is another.
            self.events = None;
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum WatchEvent {
    Change,
    /// A directory is no longer watched.
    End,
}

fn listen(directories: &[PathBuf]) -> io::Result<Receiver> {
    // Directories, not the file: editors replace a file by renaming another over it, and a watch on
    // the old one would stay silent.
    let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    let flags = WatchFlags::CREATE
        | WatchFlags::MODIFY
        | WatchFlags::CLOSE_WRITE
        | WatchFlags::ATTRIB
        | WatchFlags::MOVED_FROM
        | WatchFlags::MOVED_TO
        | WatchFlags::DELETE
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE_SELF
        | WatchFlags::ONLYDIR;
    for directory in directories {
        inotify::add_watch(&events, directory, flags)?;
    }
    // An inotify descriptor is no pipe, but is polled and read like one; tokio has no type for it.
    Receiver::from_owned_fd_unchecked(events)
}

/// Waits for an event and takes those that are there.
async fn drained(events: &Receiver) -> io::Result<WatchEvent> {
    events.readable().await?;
    drain(|buffer| events.try_read(buffer))
}

/// A file that is written to without end, a log beside the config, has a new event for each one that
/// is read: what is still there after this many reads is for the next time.
const MOST_READS: usize = 64;

fn drain(mut read: impl FnMut(&mut [u8]) -> io::Result<usize>) -> io::Result<WatchEvent> {
    let mut heard = WatchEvent::Change;
    let mut buffer = [0; 4096];
    for _ in 0..MOST_READS {
        match read(&mut buffer) {
            Ok(length) => {
                let read = buffer.get(..length).unwrap_or_default();
                if masks(read).any(|mask| mask & ReadFlags::IGNORED.bits() != 0) {
                    heard = WatchEvent::End;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(heard),
            Err(error) => return Err(error),
        }
    }
    Ok(heard)
}

/// What happened, of each event: `struct inotify_event { wd, mask, cookie, len: u32, name: [len] }`.
fn masks(mut events: &[u8]) -> impl Iterator<Item = u32> {
    let word = |bytes: &[u8], at: usize| Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    std::iter::from_fn(move || {
        let mask = word(events, 4)?;
        let length = usize::try_from(word(events, 12)?).ok()?;
        events = events.get(16 + length..)?;
        Some(mask)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One event: something about a file called `log`.
    fn event(mask: ReadFlags) -> Vec<u8> {
        let head = [1, mask.bits(), 0, 16].map(u32::to_ne_bytes).concat();
        [&head[..], b"log\0\0\0\0\0\0\0\0\0\0\0\0\0"].concat()
    }

    #[test]
    fn a_file_that_is_written_to_without_end_does_not_hold_up_the_program() {
        let event = event(ReadFlags::MODIFY);
        let mut reads = 0;
        let heard = drain(|buffer| {
            reads += 1;
            assert!(reads < 100_000, "it goes on reading");
            buffer[..event.len()].copy_from_slice(&event);
            Ok(event.len())
        });
        assert_eq!(heard.unwrap(), WatchEvent::Change);
    }

    #[test]
    fn the_end_of_a_directory_is_heard_among_other_events() {
        for (events, expected) in [
            (vec![ReadFlags::MODIFY], WatchEvent::Change),
            (vec![ReadFlags::MODIFY, ReadFlags::IGNORED, ReadFlags::MODIFY], WatchEvent::End),
        ] {
            let mut events = events.into_iter();
            let heard = drain(|buffer| {
                let event = event(events.next().ok_or(io::ErrorKind::WouldBlock)?);
                buffer[..event.len()].copy_from_slice(&event);
                Ok(event.len())
            });
            assert_eq!(heard.unwrap(), expected);
        }
    }
}
