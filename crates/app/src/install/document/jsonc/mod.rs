//! JSON files of people: read with positions, edited in place, every other byte left alone.

mod edit;
mod layout;
mod read;

pub(super) use edit::{EditError, remove, set};
pub(in crate::install) use layout::inline;
pub(super) use read::{SyntaxError, member, parse, to_value};
