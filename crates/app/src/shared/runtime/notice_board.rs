//! `NoticeBoard`: what a runtime logs, for the standard error of its clients; its first client also gets what was
//! logged before it came.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::broadcast::{Receiver, Sender};

/// Lines that may wait for a client: of one that is slow, and of the first one before it is there. Older ones are lost.
const NOTICES: usize = 256;

#[derive(Debug)]
pub(crate) struct NoticeBoard {
    lines: Sender<Arc<str>>,
    /// What was logged since the start, until somebody takes it.
    // A leaf lock: held to take the receiver out, which the first client gets.
    early: Mutex<Option<Receiver<Arc<str>>>>,
}

impl NoticeBoard {
    /// To be made before the first line is logged.
    pub(crate) fn new() -> Self {
        let lines = Sender::new(NOTICES);
        let early = Mutex::new(Some(lines.subscribe()));
        Self { lines, early }
    }

    /// Where the log goes.
    pub(crate) fn lines(&self) -> Sender<Arc<str>> {
        self.lines.clone()
    }

    /// For a client that has come. Its first lines may have been logged already.
    pub(super) fn subscribe(&self) -> Receiver<Arc<str>> {
        self.early.lock().take().unwrap_or_else(|| self.lines.subscribe())
    }
}
