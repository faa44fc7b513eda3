//! Tools over REST: listed, searched and called, as far as the asker's grants allow.

mod call;
mod custom;
mod embedding;
mod keyed;
mod routed;
mod search;
mod service;

pub use call::ToolCallRequest;
pub(crate) use call::server_error;
pub(crate) use embedding::EmbeddingStatus;
pub(crate) use keyed::KeyedCallClaim;
pub(crate) use search::{FoundToolInfo, SearchReport, ToolSearch};
pub use service::ToolService;
pub(crate) use service::{ListedTool, ToolGroup, ToolPage};
