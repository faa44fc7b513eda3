//! The audit log of calls: never in the way of one, and nothing is lost unsaid. And what becomes of the log: it is
//! passed on, anchored and pruned.
//!
//! Changes by admins do not go through here: they are in the same transaction as the change.

mod anchor;
mod archive;
mod backlog;
mod delivery;
mod destination;
mod export;
mod follower;
mod full;
mod log;
mod otlp_logs;
mod queue;
mod refusals;
mod spool;
mod spool_file;
mod spool_key;
mod spooled;
#[cfg(test)]
mod tests;
mod writer;

pub use anchor::AuditAnchor;
pub use archive::{ArchivedAudit, AuditArchive};
pub use backlog::Backlog;
pub use destination::AuditExport;
pub use export::LineExport;
pub(crate) use follower::AuditFollower;
pub use follower::{AuditKeep, RenderRecord};
pub use full::AuditFull;
pub use log::{AuditLog, AuditMark, BoxFuture, LockedLog};
pub use queue::AuditBounds;
pub use spool::Spool;
pub use spool_key::SpoolKey;
pub use writer::{Audit, AuditPlaces, AuditState, SpoolState};
