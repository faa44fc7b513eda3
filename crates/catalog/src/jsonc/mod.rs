//! JSON with or without comments and trailing commas: every value with its place in the text.

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
pub use tree::{Document, JsonText, Member, Node, Value};
