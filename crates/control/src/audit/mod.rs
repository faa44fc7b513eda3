//! The audit log of calls: never in the way of one, and nothing is lost unsaid.
//!
//! Changes by admins do not go through here: they are in the same transaction as the change.

mod backlog;
mod log;
mod queue;
#[cfg(test)]
mod tests;
mod writer;

pub use backlog::Backlog;
pub use log::{AuditLog, BoxFuture, LockedLog};
pub use queue::AuditBounds;
pub use writer::{Audit, AuditState};
