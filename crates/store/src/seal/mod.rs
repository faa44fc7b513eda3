//! Secrets at rest: each is encrypted with a key of its own, and that one with the operator's.
//!
//! Whoever has the database but not the operator's key learns nothing, and cannot put one secret in
//! the place of another: what is sealed is bound to its row.

mod envelope;
mod file;
mod key;
mod keyring;
mod locked;
mod rotate;

pub use envelope::{Aad, SealError};
pub use file::{KeyFileError, create, load};
pub use key::{KeyError, SealKey};
pub use keyring::Keyring;
pub use rotate::{Rewrapped, RotateError, Unlocked};
