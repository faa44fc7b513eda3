//! What can go wrong with a store, in the words a caller can act on.

use thiserror::Error;

/// Unless a variant says otherwise, nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StoreError {
    /// Another record has what must be unique.
    #[error("there is already {what}")]
    Conflict { what: String },
    /// The record was changed since the caller read it.
    #[error("the record has been changed in the meantime")]
    Stale,
    #[error("there is no such record")]
    NotFound,
    /// Postgres is gone, or the file stayed locked for too long.
    #[error("the store is not available: {reason}")]
    Unavailable { reason: String },
    /// The connection broke while Postgres was committing: nobody can say whether it did.
    #[error(
        "the connection broke during the commit; the commit may or may not have been applied: {reason}"
    )]
    Uncertain { reason: String },
    /// The disk is full, or it cannot be written to.
    #[error("the store cannot be written to ({reason}); nothing was written")]
    Full { reason: String },
    #[error("the store is damaged: {reason}")]
    Corrupt { reason: String },
    /// A newer Trunkline has written this store.
    #[error(
        "the store has schema version {found}, and this version of Trunkline knows {known}: \
         use the newer one; nothing was touched"
    )]
    Newer { found: i64, known: i64 },
    #[error("{reason}")]
    Invalid { reason: String },
}

impl StoreError {
    /// Making this call again later may work, and does no harm.
    pub fn may_retry(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Full { .. })
    }

    pub(crate) fn conflict(what: &str) -> Self {
        Self::Conflict { what: what.to_owned() }
    }

    pub(crate) fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable { reason: reason.into() }
    }

    pub(crate) fn corrupt(reason: impl Into<String>) -> Self {
        Self::Corrupt { reason: reason.into() }
    }

    pub(crate) fn invalid(reason: impl Into<String>) -> Self {
        Self::Invalid { reason: reason.into() }
    }

    pub(crate) fn full(reason: impl Into<String>) -> Self {
        Self::Full { reason: reason.into() }
    }
}
