//! Records that wait to be written: so many and no more, and those beyond are counted.

use std::collections::VecDeque;

use tokio::time::Instant;
use trunkline_store::NewAudit;

use super::refusals::{REFUSED, Refusals};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditBounds {
    /// Records that wait, those being written included. Some 300 bytes each.
    pub waiting: usize,
    /// Records of requests that did not run. They have their own room, so that they displace no call that ran.
    pub refused: usize,
    /// Records of one transaction: a change that is to be acknowledged waits for it.
    pub batch: usize,
}

impl Default for AuditBounds {
    fn default() -> Self {
        Self { waiting: 8_192, refused: 1_024, batch: 2_048 }
    }
}

#[derive(Debug)]
pub(super) struct Queue {
    bounds: AuditBounds,
    records: VecDeque<NewAudit>,
    /// Being written.
    out: usize,
    /// Of both, those of requests that did not run.
    refused: usize,
    refused_out: usize,
    refusals: Refusals,
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
        Self {
            bounds,
            records: VecDeque::new(),
            out: 0,
            refused: 0,
            refused_out: 0,
            refusals: Refusals::default(),
            lost,
            unsaid: lost,
            telling: 0,
        }
    }

    /// False if there is no room: the record is counted and gone. What was lost is told in its
    /// place, as soon as there is room for both.
    pub(super) fn push(&mut self, record: NewAudit) -> bool {
        if record.outcome == REFUSED {
            return self.refuse(record);
        }
        let room = self.room();
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

    /// A request that did not run: it is recorded, or counted with others.
    fn refuse(&mut self, record: NewAudit) -> bool {
        let now = Instant::now();
        let fits = self.refused < self.bounds.refused;
        if self.refusals.spell_out(&record, now) && fits {
            self.refused += 1;
            self.records.push_back(record);
        } else {
            self.refusals.count(record, 1, now);
        }
        true
    }

    /// So many requests like this one did not run.
    pub(super) fn count_refusals(&mut self, record: NewAudit, times: u64) {
        self.refusals.count(record, times, Instant::now());
    }

    /// When there will be something to write although nothing comes.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.refusals.next_due()
    }

    /// So many more records of requests that ran can wait.
    fn room(&self) -> usize {
        let ran = self.waiting().saturating_sub(self.refused);
        self.bounds.waiting.saturating_sub(ran)
    }

    /// Are the records that wait more than half of those that can? What runs now will soon be recorded, too.
    pub(super) fn is_crowded(&self) -> bool {
        self.room() < self.bounds.waiting / 2
    }

    /// The next records to write; then `written` is owed. Behind the last of them, what was lost is
    /// told even if nothing comes after it.
    pub(super) fn batch(&mut self, now: i64, is_last: bool) -> Vec<NewAudit> {
        let due = self.refusals.due(Some(Instant::now()).filter(|_| !is_last));
        self.refused += due.len();
        self.records.extend(due);
        let count = self.bounds.batch.max(1).min(self.records.len());
        let mut batch: Vec<_> = self.records.drain(..count).collect();
        self.out = batch.len();
        self.refused_out = batch.iter().filter(|record| record.outcome == REFUSED).count();
        if self.unsaid > 0 && self.records.is_empty() {
            self.telling += self.unsaid;
            batch.push(loss(std::mem::take(&mut self.unsaid), now));
        }
        batch
    }

    /// Records of one transaction.
    pub(super) fn batch_size(&self) -> u64 {
        self.bounds.batch.max(1) as u64
    }

    /// All that wait and are not being written, for a safer place.
    pub(super) fn take(&mut self, is_last: bool) -> Vec<NewAudit> {
        let due = self.refusals.due(Some(Instant::now()).filter(|_| !is_last));
        self.records.extend(due);
        self.refused = self.refused_out;
        if self.out == 0 {
            self.telling = 0;
        }
        self.records.drain(..).collect()
    }

    /// There was no room for these, the newest of those that were taken.
    pub(super) fn put_back(&mut self, records: Vec<NewAudit>) {
        self.refused += records.iter().filter(|record| record.outcome == REFUSED).count();
        for record in records.into_iter().rev() {
            self.records.push_front(record);
        }
    }

    /// So many records that waited elsewhere cannot be written any more.
    pub(super) fn lose(&mut self, count: u64) {
        self.lost += count;
        self.unsaid += count;
    }

    pub(super) fn written(&mut self) {
        self.out = 0;
        self.refused = self.refused.saturating_sub(std::mem::take(&mut self.refused_out));
        if self.records.is_empty() {
            self.telling = 0;
        }
    }

    /// How many would be lost without a trace if the process ended here.
    pub(super) fn unwritten(&self) -> u64 {
        self.waiting() as u64 + self.refusals.counted() + self.unsaid + self.telling
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
        let mut queue = Queue::new(AuditBounds { waiting: 3, refused: 2, batch: 2 }, 0);
        assert!(queue.batch(7, false).is_empty());
        for name in ["a", "b", "c", "d", "e"] {
            queue.push(record(name));
        }
        assert_eq!((queue.waiting(), queue.lost()), (3, 2));
        assert_eq!(actions(&queue.batch(7, false)), ["a", "b"]);
        assert!(!queue.push(record("f")), "those being written count");
        queue.written();
        let last = queue.batch(7, false);
        assert_eq!(actions(&last), ["c", "lose-audit-records"]);
        assert_eq!(last[1].at, 7);
        assert!(last[1].detail.as_deref().unwrap().starts_with("3 records"));
        queue.written();
        assert_eq!((queue.waiting(), queue.lost()), (0, 3), "the count stays");
        assert!(queue.batch(8, false).is_empty());
    }

    fn refusal(tool: &str) -> NewAudit {
        let tool = Some(tool.to_owned());
        NewAudit { tool, outcome: REFUSED.to_owned(), ..record("refused") }
    }

    #[test]
    fn refusals_displace_no_call_that_ran() {
        let mut queue = Queue::new(AuditBounds { waiting: 3, refused: 2, batch: 9 }, 0);
        queue.push(record("a"));
        for n in 0..1_000 {
            assert!(queue.push(refusal(&n.to_string())));
        }
        assert!(queue.push(record("b")) && queue.push(record("c")));
        assert!(!queue.push(record("d")), "the room of those that ran has its own bound");
        assert_eq!((queue.waiting(), queue.lost(), queue.unwritten()), (5, 1, 1_004));
        let batch = queue.batch(7, true);
        let written = ["a", "refused", "refused", "b", "c", "refused", "lose-audit-records"];
        assert_eq!(actions(&batch), written);
        assert_eq!(batch[5].count, Some(998));
        assert!(!queue.push(record("e")), "until they are written");
        queue.written();
        assert_eq!(queue.unwritten(), 1);
        assert!(queue.push(record("e")) && queue.push(refusal("x")));
    }

    #[test]
    fn what_the_one_before_has_left_is_told_first() {
        let mut queue = Queue::new(AuditBounds { waiting: 3, refused: 2, batch: 2 }, 5);
        assert_eq!((queue.lost(), queue.unwritten()), (5, 5));
        let batch = queue.batch(7, false);
        assert_eq!(actions(&batch), ["lose-audit-records"]);
        assert!(batch[0].detail.as_deref().unwrap().starts_with("5 records"));
        queue.push(record("a"));
        assert_eq!(queue.unwritten(), 6, "until it is written");
        queue.written();
        queue.batch(8, false);
        queue.written();
        assert_eq!((queue.lost(), queue.unwritten()), (5, 0));
    }

    #[test]
    fn a_loss_is_told_even_if_the_queue_never_empties() {
        let mut queue = Queue::new(AuditBounds { waiting: 3, refused: 2, batch: 2 }, 0);
        for name in ["a", "b", "c", "lost"] {
            queue.push(record(name));
        }
        let mut written = Vec::new();
        for name in ["d", "e", "f"] {
            let batch = queue.batch(7, false);
            written.extend(batch.into_iter().map(|record| record.action));
            queue.written();
            queue.push(record(name));
        }
        assert_eq!(written, ["a", "b", "c", "lose-audit-records", "d", "e"]);
    }
}
