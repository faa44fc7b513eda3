//! JSON with comments and trailing commas, every value with its place in the text.

mod parse;
mod scan;
#[cfg(test)]
mod tests;
mod tree;

pub(crate) use parse::parse;
pub(crate) use scan::SyntaxError;
pub(crate) use tree::{Document, Member, Node, Text, Value};
