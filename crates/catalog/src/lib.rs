//! What exists behind Trunkline and what it is called. Pure: no IO, no clock.

mod assemble;
pub mod client;
pub mod config;
mod instructions;
pub mod jsonc;
mod listing;
pub mod name;
pub mod pins;
pub mod place;
pub mod scan;
mod template;

pub use assemble::{
    Behind, Catalog, CustomRoute, Exposure, MetaNames, MetaTool, Offer, Route, Scope, SeenParts,
    SubtoolRefusal, ToolOrigin, ToolRoute, custom_tools,
};
pub use instructions::{ServerWords, instructions, is_name};
pub use listing::{
    CacheHint, ListKind, Listing, ListingEntry, NotAList, ParamHeader, Substitute, Tool,
    param_headers,
};
pub use template::template_matches;
