//! The index beside the catalog: which tool is meant, of those that servers list now.

mod find;
mod read;

pub(crate) use find::{CUSTOM, Finder};
pub use find::{FoundTool, SearchQuery, SearchResult};
