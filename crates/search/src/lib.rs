//! Which tool is meant: words, a small embedding, and skills. Pure: no IO, no clock.
//!
//! A request is compared with every tool twice: by its words (`lexical`, BM25F over name,
//! description, parameters and server) and by its meaning (`model`, a static embedding). `fuse`
//! makes one score in \[0, 1\] of the two that means the same for every request. `skills` says which
//! fields a tool belongs to. docs/search.md tells how the model was made and how good all this is.
//!
//! By hand: the search libraries want a disk or a fixed corpus; this index changes with every list
//! of tools and is exact at once.

mod alias;
mod bytes;
mod calibration;
mod definition;
mod document;
mod dot;
mod fuse;
mod index;
mod lexical;
mod model;
mod nearby;
mod pieces;
mod scratch;
mod skills;
mod terms;
mod top;
mod vector;
mod words;

pub use bytes::ModelError;
pub use definition::Definition;
pub use document::{Parameter, Server, Tool, text as tool_text};
pub use fuse::ScoreParts;
pub use index::{Hit, Index, May, Query};
pub use model::Model;
pub use skills::{Classifier, Judgement, Skill};
pub use vector::Vector;
