//! Trunkline's side: asks the keeper for trees, holds them, and kills what a lost keeper leaves.

mod attempt;
mod control;
mod keeper;
mod link;
mod strays;
mod tree;

pub use keeper::{Custody, Keeper};
pub use tree::Tree;
