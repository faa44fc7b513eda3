//! What servers listed last, and what was approved of it, kept in the store for the data plane.

mod pins;
mod stored;

pub(super) use pins::{definition_words, some_of, stored};
pub(crate) use stored::Recall;
