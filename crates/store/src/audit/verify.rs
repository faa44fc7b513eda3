//! Checks the audit log from its first record to its remembered end, and names the first bad one.

use crate::audit::chain::last_seq;
use crate::audit::head::{self, AuditHead, AuditKey};
use crate::audit::record::{AuditRecord, COLUMNS};
use crate::error::StoreError;
use crate::limits::PAGE;
use crate::records::page;
use crate::session::Session;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditVerdict {
    /// `first`: those before it were removed by the rules of retention.
    Verified {
        first: i64,
        records: i64,
        last_hash: [u8; 32],
    },
    Broken {
        seq: i64,
        why: String,
    },
}

/// Where the log ends: what comes later is checked another time.
pub(crate) async fn begin(
    session: &mut Session,
    keys: &[AuditKey],
) -> Result<AuditChecker, StoreError> {
    let last = last_seq(session).await?.unwrap_or(0);
    let start = match head::checkpoint(session, keys).await {
        Ok(pruned) => pruned.unwrap_or(AuditHead::EMPTY),
        // From its first record on: one that was removed is missing.
        Err(StoreError::Corrupt { .. }) => AuditHead::EMPTY,
        Err(error) => return Err(error),
    };
    Ok(match head::current(session, keys).await {
        Ok(head) => AuditChecker::new(start, head.unwrap_or(AuditHead::EMPTY), last),
        // Up to the last record all may be well, but nobody can say that it is the last.
        Err(StoreError::Corrupt { reason }) => AuditChecker::without_end(start, last, reason),
        Err(error) => return Err(error),
    })
}

/// The records that are to be checked next; none at the end.
pub(crate) async fn next(
    session: &mut Session,
    AuditRange { after, until, limit }: AuditRange,
) -> Result<Vec<AuditRecord>, StoreError> {
    let sql =
        format!("SELECT {COLUMNS} FROM audit WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3");
    let values = vec![after.into(), until.into(), page(limit).into()];
    session.rows(&sql, values).await?.into_iter().map(AuditRecord::read).collect()
}

/// What has been checked so far.
#[derive(Debug)]
pub(crate) struct AuditChecker {
    /// The last record that was removed.
    start: AuditHead,
    checked: AuditHead,
    end: Result<AuditHead, String>,
    /// The last record that was there at the beginning.
    last: i64,
    limit: usize,
}

/// What is to be read next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AuditRange {
    after: i64,
    until: i64,
    limit: usize,
}

impl AuditChecker {
    fn new(start: AuditHead, end: AuditHead, last: i64) -> Self {
        Self { start, checked: start, end: Ok(end), last, limit: PAGE }
    }

    fn without_end(start: AuditHead, last: i64, why: String) -> Self {
        Self { start, checked: start, end: Err(why), last, limit: PAGE }
    }

    pub(crate) fn wants(&self) -> AuditRange {
        AuditRange { after: self.checked.seq, until: self.last, limit: self.limit }
    }

    /// Among what was wanted is something that cannot even be read: from here on one by one, to
    /// find out which.
    pub(crate) fn unreadable(&mut self, why: &str) -> Result<(), AuditVerdict> {
        if self.limit > 1 {
            self.limit = 1;
            return Ok(());
        }
        Err(AuditVerdict::Broken { seq: self.checked.seq + 1, why: why.to_owned() })
    }

    pub(crate) fn take(&mut self, record: &AuditRecord) -> Result<(), AuditVerdict> {
        let seq = self.checked.seq + 1;
        let broken = |why: &str| Err(AuditVerdict::Broken { seq, why: why.to_owned() });
        if record.seq != seq {
            return broken("it is missing");
        }
        if record.prev_hash != self.checked.hash {
            return broken("it does not follow on the record before it");
        }
        if !record.is_intact() {
            return broken("it was changed");
        }
        self.checked = AuditHead { seq, hash: record.hash };
        Ok(())
    }

    /// When there are no more records.
    pub(crate) fn verdict(self) -> AuditVerdict {
        let broken = |seq, why: String| AuditVerdict::Broken { seq, why };
        let AuditHead { seq, hash } = self.checked;
        match self.end {
            Err(why) => broken(seq, why),
            Ok(end) if end.seq > seq => {
                broken(seq + 1, format!("it is missing: the log had {} records", end.seq))
            }
            Ok(end) if end.seq < seq => {
                broken(end.seq + 1, format!("it was added: the log had {} records", end.seq))
            }
            Ok(end) if end.hash != hash => broken(seq, "it is not the one that was last".into()),
            Ok(_) => {
                let records = seq - self.start.seq;
                AuditVerdict::Verified { first: self.start.seq + 1, records, last_hash: hash }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::NewAudit;

    fn log(length: i64) -> Vec<AuditRecord> {
        let mut last = AuditHead::EMPTY;
        (1..=length)
            .map(|seq| {
                let what = NewAudit { at: seq, action: "test".to_owned(), ..NewAudit::default() };
                let record = AuditRecord::new(seq, what, last.hash);
                last = AuditHead { seq, hash: record.hash };
                record
            })
            .collect()
    }

    fn end(log: &[AuditRecord]) -> AuditHead {
        log.last().map_or(AuditHead::EMPTY, |last| AuditHead { seq: last.seq, hash: last.hash })
    }

    fn judge(records: &[AuditRecord], end: AuditHead) -> AuditVerdict {
        let last = records.last().map_or(0, |record| record.seq);
        let mut checker = AuditChecker::new(AuditHead::EMPTY, end, last);
        for record in records {
            if let Err(verdict) = checker.take(record) {
                return verdict;
            }
        }
        checker.verdict()
    }

    type Tamper = fn(&mut Vec<AuditRecord>);

    #[test]
    fn the_first_bad_record_is_named() {
        let table: &[(&str, Tamper, Option<i64>)] = &[
            ("whole", |_| {}, None),
            ("changed", |log| log[2].what.at = 99, Some(3)),
            (
                "changed and hashed anew",
                |log| {
                    let old = log[2].clone();
                    let what = NewAudit { at: 99, ..old.what };
                    log[2] = AuditRecord::new(3, what, old.prev_hash);
                },
                Some(4),
            ),
            (
                "the last changed and hashed anew",
                |log| {
                    let old = log[4].clone();
                    log[4] = AuditRecord::new(5, NewAudit { at: 99, ..old.what }, old.prev_hash);
                },
                Some(5),
            ),
            ("one missing", |log| drop(log.remove(1)), Some(2)),
            ("the first missing", |log| drop(log.remove(0)), Some(1)),
            ("the tail cut", |log| log.truncate(3), Some(4)),
            ("all gone", Vec::clear, Some(1)),
            (
                "one added",
                |log| {
                    let prev = log[4].hash;
                    log.push(AuditRecord::new(6, NewAudit::default(), prev));
                },
                Some(6),
            ),
            (
                "two swapped",
                |log| {
                    let (a, b) = (log[1].what.clone(), log[2].what.clone());
                    log[1].what = b;
                    log[2].what = a;
                },
                Some(2),
            ),
        ];
        for (name, tamper, expected) in table {
            let mut records = log(5);
            let end = end(&records);
            tamper(&mut records);
            let found = match judge(&records, end) {
                AuditVerdict::Broken { seq, .. } => Some(seq),
                AuditVerdict::Verified { first, records, last_hash } => {
                    assert_eq!((first, records, last_hash), (1, 5, end.hash), "{name}");
                    None
                }
            };
            assert_eq!(found, *expected, "{name}");
        }
    }

    #[test]
    fn an_empty_log_is_whole() {
        let whole = AuditVerdict::Verified { first: 1, records: 0, last_hash: [0; 32] };
        assert_eq!(judge(&[], AuditHead::EMPTY), whole);
    }
}
