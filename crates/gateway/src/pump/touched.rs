//! The outboxes something was put into while one read was worked off: flushed once, at its end.

use crate::pump::Outbox;

#[derive(Debug, Default)]
pub(crate) struct Touched {
    /// Mostly there is one, which needs no list.
    first: Option<Outbox>,
    more: Vec<Outbox>,
}

impl Touched {
    pub(crate) fn note(&mut self, outbox: Option<Outbox>) {
        let Some(outbox) = outbox else { return };
        match &self.first {
            None => self.first = Some(outbox),
            Some(first) if first.is(&outbox) => {}
            Some(_) if self.more.iter().any(|known| known.is(&outbox)) => {}
            Some(_) => self.more.push(outbox),
        }
    }

    pub(crate) fn flush(self, after: impl Fn(&Outbox)) {
        for outbox in self.first.iter().chain(&self.more) {
            outbox.flush();
            after(outbox);
        }
    }
}
