//! Appends to the audit log: one chain, however many replicas write to it.

use crate::audit::head::{self, AuditHead, AuditKey};
use crate::audit::record::{AuditRecord, COLUMNS, NewAudit};
use crate::error::StoreError;
use crate::session::{Lock, Session};

/// Returns the number of the last record, or 0 if there is nothing to append.
///
/// A log whose end cannot be trusted is not continued: that would hide what happened to it.
pub(crate) async fn append(
    session: &mut Session,
    new: Vec<NewAudit>,
    keys: &[AuditKey],
) -> Result<i64, StoreError> {
    if new.is_empty() {
        return Ok(0);
    }
    session.lock(Lock::Audit).await?;
    let mut last = match head::current(session, keys).await? {
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
    session.insert(&format!("INSERT INTO audit ({COLUMNS})"), rows, "").await?;
    head::remember(session, last, keys).await?;
    Ok(last.seq)
}

pub(super) async fn last_seq(session: &mut Session) -> Result<Option<i64>, StoreError> {
    match session.row("SELECT max(seq) FROM audit", vec![]).await? {
        Some(mut row) => row.maybe_int(),
        None => Ok(None),
    }
}
