//! What exists behind Trunkline and what it is called. Pure: no IO, no clock.

mod assemble;
pub mod config;
pub mod jsonc;
mod listing;
pub mod name;
pub mod place;

pub use assemble::{Catalog, Offer, Route};
pub use listing::{Listing, NotAList, Tool};
