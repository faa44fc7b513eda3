//! What can go wrong with a secret, in words that name it and never show it.

use trunkline_store::StoreError;
use trunkline_store::seal::{RotateError, SealError};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// To be answered with 503 and this text: nothing that needs a key can be done.
    #[error(
        "the store is locked: its secrets were sealed with another key than the one Trunkline was \
         started with; start it with that key (TRUNKLINE_KEY, the key file or the keyring)"
    )]
    Locked,
    #[error("{what} cannot be kept: {why}")]
    Unkeepable { what: String, why: &'static str },
    #[error(
        "`{0}` is not a name a secret can have: letters, digits, `-`, `_` and `.`, no `.` at its \
         beginning"
    )]
    Name(String),
    /// The record is not what Trunkline has written.
    #[error("{what} cannot be opened: {why}")]
    Unusable { what: String, why: String },
    #[error("the kept configuration of the server cannot be read: {0}")]
    Config(&'static str),
    #[error("the system gives no random numbers")]
    NoRandom,
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub(super) const LINE_END: &str = "it has a line end or NUL in it";
pub(super) const NUL: &str = "it has a NUL in it";

impl SecretError {
    /// Is it a mistake of the request, which the caller can correct?
    pub fn is_the_callers(&self) -> bool {
        matches!(self, Self::Unkeepable { .. } | Self::Name(_))
    }

    pub(super) fn sealing(what: &str, error: SealError) -> Self {
        match error {
            SealError::NoRandom => Self::NoRandom,
            error => Self::Unusable { what: what.to_owned(), why: error.to_string() },
        }
    }
}

impl From<RotateError> for SecretError {
    fn from(error: RotateError) -> Self {
        match error {
            RotateError::Store(error) => Self::Store(error),
            RotateError::Seal { what, error } => Self::sealing(&what, error),
        }
    }
}
