//! The outboxes something was put into while what had been read was worked off: flushed once, at
//! the end, so that ten servers that answer together cost their client one `write`.

use crate::pump::{Outbox, SourceHandle};

#[derive(Debug, Default)]
pub(crate) struct FlushSet {
    outboxes: Vec<Outbox>,
    /// Messages put since the last flush.
    messages: usize,
}

impl FlushSet {
    pub(crate) fn note(&mut self, outbox: &Outbox) {
        self.messages += 1;
        if !self.outboxes.iter().any(|known| known.is(outbox)) {
            self.outboxes.push(outbox.clone());
        }
    }

    /// Writes what was put; returns how many messages that were.
    pub(crate) fn flush(&mut self) -> usize {
        for outbox in self.outboxes.drain(..) {
            outbox.flush();
        }
        std::mem::take(&mut self.messages)
    }

    /// Reads no more from `source` while one of the outboxes is too long.
    pub(crate) fn hold_if_crowded(&self, source: &SourceHandle) {
        for outbox in &self.outboxes {
            outbox.hold_if_crowded(source);
        }
    }
}
