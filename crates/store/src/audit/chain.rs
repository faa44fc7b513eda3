//! Appends to the audit log: one chain, however many replicas write to it.

use crate::audit::head::{self, AuditHead, AuditKey};
use crate::audit::record::{AuditRecord, COLUMNS, NewAudit};
use crate::error::StoreError;
use crate::records::setting;
use crate::session::{Lock, PlannedStatement, Session, checked, split};

/// What is committed together with records.
#[derive(Debug, Default)]
pub(crate) struct AuditAppend {
    /// Before the records: the changes they tell of. In the trip that takes the lock.
    pub(crate) first: Vec<PlannedStatement>,
    pub(crate) records: Vec<NewAudit>,
    /// A setting that says how far a writer is: it stands there if and only if the records do.
    pub(crate) mark: Option<(String, Vec<u8>)>,
}

/// Appends the records and ends the transaction. Returns the number of the last record, or 0 if there is nothing to
/// append. To Postgres two trips: the first has the lock and reads the end of the log, the second writes and commits.
///
/// A log whose end cannot be trusted is not continued: that would hide what happened to it.
pub(crate) async fn append(
    session: &mut Session,
    append: AuditAppend,
    keys: &[AuditKey],
) -> Result<i64, StoreError> {
    let AuditAppend { first, records: new, mark } = append;
    let (mut statements, nothings) = split(first);
    let mut last_statements: Vec<_> =
        mark.into_iter().map(|(name, value)| setting::put_statement(&name, value)).collect();
    if new.is_empty() {
        // What touches nothing and should have must not be committed: it is known before the commit is said.
        if !statements.is_empty() {
            checked(&session.trip(statements).await?, nothings)?;
        }
        session.finish(last_statements).await?;
        return Ok(0);
    }
    // The lock is the last of the first trip, because replicas take it one after the other.
    statements.extend(session.lock_statements(Lock::Audit));
    statements.push(head::statement());
    let mut results = session.trip(statements).await?;
    let stored = results.pop().unwrap_or_default();
    checked(&results, nothings)?;
    let mut last = match head::read(stored, keys)? {
        Some(head) => head,
        None if last_seq(session).await?.is_some() => {
            return Err(StoreError::corrupt("the end of the audit log is not remembered"));
        }
        None => AuditHead::EMPTY,
    };
    let mut rows = Vec::with_capacity(new.len());
    for what in new {
        let record = AuditRecord::new(last.seq + 1, what, last.hash);
        last = AuditHead { seq: record.seq, hash: record.hash };
        rows.push(record.into_row());
    }
    let mut statements = session.inserts(&format!("INSERT INTO audit ({COLUMNS})"), rows, "");
    statements.push(head::remember(session, last, keys).await?);
    statements.append(&mut last_statements);
    session.finish(statements).await?;
    Ok(last.seq)
}

pub(super) async fn last_seq(session: &mut Session) -> Result<Option<i64>, StoreError> {
    match session.row("SELECT max(seq) FROM audit", vec![]).await? {
        Some(mut row) => row.maybe_int(),
        None => Ok(None),
    }
}
