//! The outboxes something was put into while what had been read was worked off: flushed once, at
//! the end, so that ten servers that answer together cost their client one `write`.

use crate::pump::{Outbox, SourceHandle};

#[derive(Debug, Default)]
pub(crate) struct Touched(Vec<Outbox>);

impl Touched {
    pub(crate) fn note(&mut self, outbox: &Outbox) {
        if !self.0.iter().any(|known| known.is(outbox)) {
            self.0.push(outbox.clone());
        }
    }

    pub(crate) fn flush(&mut self) {
        for outbox in self.0.drain(..) {
            outbox.flush();
        }
    }

    /// Reads no more from `source` while one of the outboxes is too long.
    pub(crate) fn hold_if_crowded(&self, source: &SourceHandle) {
        for outbox in &self.0 {
            outbox.hold_if_crowded(source);
        }
    }
}
