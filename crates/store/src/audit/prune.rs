//! Removes the oldest records of the audit log. Where the rest begins is remembered and authenticated, so that the
//! rest can still be proven whole.

use crate::audit::chain::last_seq;
use crate::audit::head::{self, AuditHead, AuditKey};
use crate::audit::query::last_before;
use crate::error::StoreError;
use crate::limits::PRUNED;
use crate::session::{Lock, Session};

/// What may go: everything before this time, and everything beyond so many records. The newest record stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AuditRetention {
    /// Milliseconds since 1970.
    pub before: Option<i64>,
    pub records: Option<i64>,
    /// And nothing behind this record.
    pub upto: Option<i64>,
}

/// Some records were removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrunedAudit {
    pub removed: u64,
    /// The last of them.
    pub last: AuditHead,
    /// There may be more that can go.
    pub is_partial: bool,
}

/// The first and the last record that would go next; `None`: none can.
pub(crate) async fn prunable(
    session: &mut Session,
    retention: AuditRetention,
    keys: &[AuditKey],
) -> Result<Option<(i64, i64)>, StoreError> {
    let (start, until, _) = bounds(session, retention, keys).await?;
    Ok((until > start).then_some((start + 1, until)))
}

/// Behind which record the log begins, up to which a part of it goes, and up to which it may go.
async fn bounds(
    session: &mut Session,
    retention: AuditRetention,
    keys: &[AuditKey],
) -> Result<(i64, i64, i64), StoreError> {
    let Some(newest) = last_seq(session).await? else { return Ok((0, 0, 0)) };
    let start = head::checkpoint(session, keys).await?.map_or(0, |pruned| pruned.seq);
    let by_time = match retention.before {
        Some(before) => last_before(session, before).await?,
        None => None,
    };
    let by_number = retention.records.map(|records| newest - records.max(1));
    let wanted = by_time.max(by_number).unwrap_or(0).min(newest - 1);
    let wanted = wanted.min(retention.upto.unwrap_or(i64::MAX));
    Ok((start, wanted.min(start + PRUNED), wanted))
}

/// Whole prefixes only, a bounded part at a time: each transaction is short. `None`: nothing can go.
pub(crate) async fn prune(
    session: &mut Session,
    retention: AuditRetention,
    keys: &[AuditKey],
) -> Result<Option<PrunedAudit>, StoreError> {
    session.lock(Lock::Audit).await?;
    let (start, until, wanted) = bounds(session, retention, keys).await?;
    if until <= start {
        return Ok(None);
    }
    let row = session.row("SELECT hash FROM audit WHERE seq = $1", vec![until.into()]).await?;
    let Some(mut row) = row else {
        return Err(StoreError::corrupt("a record of the audit log is missing"));
    };
    let last = AuditHead { seq: until, hash: row.hash()? };
    // First: the database lets only those go that stand before this.
    session.execute("UPDATE audit_pruned SET seq = $1", vec![until.into()]).await?;
    let removed = session.execute("DELETE FROM audit WHERE seq <= $1", vec![until.into()]).await?;
    head::remember_checkpoint(session, last, keys).await?;
    Ok(Some(PrunedAudit { removed, last, is_partial: until < wanted }))
}
