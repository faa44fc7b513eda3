//! What came of a call, to look at: text, pictures, structures, and the answer as it came. Pure.
//!
//! Answers are written by strangers: all of it is text here, but for pictures of the few kinds that
//! browsers show and that hold no program. How much is shown is bounded, and says so.

mod parts;
mod show;

use parts::{Part, read};
pub(crate) use show::show;

/// The answer of a call over REST.
#[derive(Debug, Clone)]
pub(crate) struct ToolResult {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}
