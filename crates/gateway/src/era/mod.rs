//! Between the two eras of the protocol: what a message of one becomes in the other. Pure.

mod header;
mod object;
mod question;
mod request;
mod result;
mod seal;

pub(crate) use header::{decoded, encoded};
pub(crate) use question::{InputRequest, answered, input_required, requests_in, retried};
pub(crate) use request::{Stamp, digest, for_legacy, for_modern, untagged};
pub(crate) use result::{Translated, additions, code_of, refusal_for_modern};
pub(crate) use seal::{FOR_EVER, SealUse, Unsealable};
pub use seal::{ReplicaId, Seal, SealKeys};

/// How a server is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Era {
    /// It was opened with `initialize`.
    #[default]
    Legacy,
    /// Every request stands for itself: revision 2026-07-28.
    Modern,
}
