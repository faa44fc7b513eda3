//! JSON files of people: read with positions, edited in place, every other byte left alone.

// jsonc-parser's CST breaks one-line files over lines, refuses a byte order mark and half of a
// surrogate pair (Claude Code keeps chats in its file): the bytes would not come back. So by hand.
mod edit;
mod layout;
mod read;

pub(super) use edit::{EditError, remove, set};
pub(in crate::install) use layout::inline;
pub(super) use read::{SyntaxError, member, parse, to_value};
