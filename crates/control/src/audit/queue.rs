//! Records that wait to be written: so many and no more, and those beyond are counted.

use std::collections::VecDeque;

use trunkline_store::NewAudit;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditBounds {
    /// Records that wait, those being written included. Some 300 bytes each.
    pub waiting: usize,
    /// Records of one transaction: a change that is to be acknowledged waits for it.
    pub batch: usize,
}

impl Default for AuditBounds {
    fn default() -> Self {
        Self { waiting: 8_192, batch: 512 }
    }
}

#[derive(Debug)]
pub(super) struct Queue {
    bounds: AuditBounds,
    records: VecDeque<NewAudit>,
    /// Being written.
    out: usize,
    /// In all.
    lost: u64,
    /// Of those, how many no record tells of yet.
    unsaid: u64,
    /// And how many those being written tell of.
    telling: u64,
}

impl Queue {
    /// `lost`: so many the process before has left.
    pub(super) fn new(bounds: AuditBounds, lost: u64) -> Self {
        Self { bounds, records: VecDeque::new(), out: 0, lost, unsaid: lost, telling: 0 }
    }

    /// False if there is no room: the record is counted and gone. What was lost is told in its
    /// place, as soon as there is room for both.
    pub(super) fn push(&mut self, record: NewAudit) -> bool {
        let room = self.bounds.waiting.saturating_sub(self.waiting());
        if room == 0 {
            self.lost += 1;
            self.unsaid += 1;
            return false;
        }
        if room > 1 && self.unsaid > 0 {
            // The record itself is counted as one that waits.
            self.telling += self.unsaid.saturating_sub(1);
            self.records.push_back(loss(std::mem::take(&mut self.unsaid), record.at));
        }
        self.records.push_back(record);
        true
    }

    /// The next records to write; then `written` is owed. Behind the last of them, what was lost is
    /// told even if nothing comes after it.
    pub(super) fn batch(&mut self, now: i64) -> Vec<NewAudit> {
        let count = self.bounds.batch.max(1).min(self.records.len());
        let mut batch: Vec<_> = self.records.drain(..count).collect();
        self.out = batch.len();
        if self.unsaid > 0 && self.records.is_empty() {
            self.telling += self.unsaid;
            batch.push(loss(std::mem::take(&mut self.unsaid), now));
        }
        batch
    }

    pub(super) fn written(&mut self) {
        self.out = 0;
        if self.records.is_empty() {
            self.telling = 0;
        }
    }

    /// How many would be lost without a trace if the process ended here.
    pub(super) fn unwritten(&self) -> u64 {
        self.waiting() as u64 + self.unsaid + self.telling
    }

    pub(super) fn waiting(&self) -> usize {
        self.records.len() + self.out
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost
    }
}

fn loss(count: u64, at: i64) -> NewAudit {
    NewAudit {
        at,
        principal: "trunkline".to_owned(),
        action: "lose-audit-records".to_owned(),
        outcome: "lost".to_owned(),
        detail: Some(format!("{count} records were lost: they could not be written")),
        ..NewAudit::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str) -> NewAudit {
        NewAudit { action: name.to_owned(), ..NewAudit::default() }
    }

    fn actions(batch: &[NewAudit]) -> Vec<&str> {
        batch.iter().map(|record| record.action.as_str()).collect()
    }

    #[test]
    fn what_does_not_fit_is_counted_and_told_behind_what_did() {
        let mut queue = Queue::new(AuditBounds { waiting: 3, batch: 2 }, 0);
        assert!(queue.batch(7).is_empty());
        for name in ["a", "b", "c", "d", "e"] {
            queue.push(record(name));
        }
        assert_eq!((queue.waiting(), queue.lost()), (3, 2));
        assert_eq!(actions(&queue.batch(7)), ["a", "b"]);
        assert!(!queue.push(record("f")), "those being written count");
        queue.written();
        let last = queue.batch(7);
        assert_eq!(actions(&last), ["c", "lose-audit-records"]);
        assert_eq!(last[1].at, 7);
        assert!(last[1].detail.as_deref().unwrap().starts_with("3 records"));
        queue.written();
        assert_eq!((queue.waiting(), queue.lost()), (0, 3), "the count stays");
        assert!(queue.batch(8).is_empty());
    }

    #[test]
    fn what_the_one_before_has_left_is_told_first() {
        let mut queue = Queue::new(AuditBounds { waiting: 3, batch: 2 }, 5);
        assert_eq!((queue.lost(), queue.unwritten()), (5, 5));
        let batch = queue.batch(7);
        assert_eq!(actions(&batch), ["lose-audit-records"]);
        assert!(batch[0].detail.as_deref().unwrap().starts_with("5 records"));
        queue.push(record("a"));
        assert_eq!(queue.unwritten(), 6, "until it is written");
        queue.written();
        queue.batch(8);
        queue.written();
        assert_eq!((queue.lost(), queue.unwritten()), (5, 0));
    }

    #[test]
    fn a_loss_is_told_even_if_the_queue_never_empties() {
        let mut queue = Queue::new(AuditBounds { waiting: 3, batch: 2 }, 0);
        for name in ["a", "b", "c", "lost"] {
            queue.push(record(name));
        }
        let mut written = Vec::new();
        for name in ["d", "e", "f"] {
            let batch = queue.batch(7);
            written.extend(batch.into_iter().map(|record| record.action));
            queue.written();
            queue.push(record(name));
        }
        assert_eq!(written, ["a", "b", "c", "lose-audit-records", "d", "e"]);
    }
}
