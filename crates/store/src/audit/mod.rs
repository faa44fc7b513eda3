//! The audit log: append-only, each record bound to the one before it, its end remembered apart.

mod chain;
mod head;
mod prune;
mod query;
mod record;
mod verify;

pub use head::{AuditHead, AuditKey};
pub use prune::{AuditRetention, PrunedAudit};
pub use query::{AuditFilter, TextMatch};
pub use record::{AuditRecord, NewAudit};
pub use verify::AuditVerdict;

pub(crate) use chain::{AuditAppend, append};
pub(crate) use head::{checkpoint, current as head};
pub(crate) use prune::{prunable, prune};
pub(crate) use query::{explain, query};
pub(crate) use verify::{begin, next};
