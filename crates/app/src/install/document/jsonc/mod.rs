//! JSON files of people: read with positions, edited in place, every other byte left alone.

mod edit;
mod layout;
mod parse;
mod token;

pub(super) use edit::{EditError, set};
pub(in crate::install) use layout::inline;
pub(super) use parse::{Node, SyntaxError, parse};

/// What the program that owns the file accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::install) enum Dialect {
    /// JSON as the standard has it.
    Strict,
    /// Comments and trailing commas too (`.jsonc`).
    Comments,
}
