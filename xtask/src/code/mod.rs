//! The product's sources, parsed: what the checks that need more than lines read. Production code
//! only: what is behind `#[cfg(test)]` is not there.

mod cycles;
mod edges;
mod files;
mod lines;
mod modules;
mod types;

pub use cycles::{components, largest};
pub use edges::{Edges, between_rooms, edges, sibling_cycles};
pub use files::{File, Product};
pub use types::{Type, types};

#[cfg(test)]
pub use files::product_of;
