//! Several `serve` processes that work with one store: the keys with which they seal what clients carry, where each
//! is reached, the way from one to another, and the idempotency keys of all.

mod call_keys;
mod ended_calls;
mod sender;
mod set;

pub use set::ReplicaSet;
