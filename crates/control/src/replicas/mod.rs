//! Several `serve` processes that work with one store: the keys with which they seal what clients carry, where each
//! is reached, and the way from one to another.

mod sender;
mod set;

pub use set::ReplicaSet;
