//! An embedding endpoint that the operator has named: asked where tools and questions point, and done
//! without whenever it is slow, broken or silent. What is sent is the text of tools and of questions.

mod answer;
mod ask;
mod desk;
mod known;

pub use desk::{EmbeddingProgress, Embeddings};
