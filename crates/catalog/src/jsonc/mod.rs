//! JSON with or without comments and trailing commas: every value with its place in the text.
//!
//! By hand: at a syntax error the libraries forget what they had read, and that is what has to be
//! masked before a line is quoted.

mod fault;
mod options;
mod parse;
mod scan;
#[cfg(test)]
mod tests;
mod tree;

pub use fault::{ExpectedToken, JsonFault, NumberFault, StringFault, SyntaxError};
pub use options::{Dialect, HalfPairs, Options};
pub use parse::parse;
pub use scan::bare_word;
pub use tree::{Document, JsonMember, JsonText, Node, Value};
