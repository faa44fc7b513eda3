//! The outboxes something was put into while what had been read was worked off: flushed once, at
//! the end, so that ten servers that answer together cost their client one `write`.

use crate::pump::{Outbox, SourceHandle};

/// It has to be flushed before it is dropped: a debug build panics where that was forgotten.
#[derive(Debug, Default)]
#[must_use]
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

    /// What was put is written together with something that is put into the same outboxes next.
    pub(crate) fn leave_to_next(mut self) {
        self.outboxes.clear();
    }

    /// Reads no more from `source` while one of the outboxes is too long.
    pub(crate) fn hold_if_crowded(&self, source: &SourceHandle) {
        for outbox in &self.outboxes {
            outbox.hold_if_crowded(source);
        }
    }
}

#[cfg(debug_assertions)]
impl Drop for FlushSet {
    fn drop(&mut self) {
        let is_flushed = self.outboxes.is_empty() || std::thread::panicking();
        debug_assert!(is_flushed, "messages were put into an outbox that nobody flushes");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_flushed_or_left_on_purpose_may_be_dropped() {
        let outbox = Outbox::default();
        let mut flushed = FlushSet::default();
        flushed.note(&outbox);
        assert_eq!(flushed.flush(), 1);
        let mut left = FlushSet::default();
        left.note(&outbox);
        left.leave_to_next();
    }

    #[test]
    #[should_panic(expected = "nobody flushes")]
    fn a_forgotten_flush_fails_the_test() {
        let mut forgotten = FlushSet::default();
        forgotten.note(&Outbox::default());
        drop(forgotten);
    }
}
