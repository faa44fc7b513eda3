//! A server from its first start to its end: handshake, listing, restarts, what is known of it.

pub(in crate::upstream) mod answers;
pub(in crate::upstream) mod breaker;
pub(in crate::upstream) mod declared;
pub(in crate::upstream) mod definition;
pub(in crate::upstream) mod demand;
pub(in crate::upstream) mod handshake;
pub(in crate::upstream) mod listen;
pub(in crate::upstream) mod make_room;
pub(in crate::upstream) mod offer;
pub(in crate::upstream) mod offer_changes;
pub(in crate::upstream) mod outdated;
pub(in crate::upstream) mod pinned;
pub(in crate::upstream) mod probe;
pub(in crate::upstream) mod ready;
pub(in crate::upstream) mod reconsider;
pub(in crate::upstream) mod remembered;
pub(in crate::upstream) mod run_policy;
pub(in crate::upstream) mod screen;
pub(in crate::upstream) mod server;
pub(in crate::upstream) mod sign;
pub(in crate::upstream) mod signals;
pub(in crate::upstream) mod start_gate;
pub(in crate::upstream) mod state;
pub(in crate::upstream) mod supervise;
pub(in crate::upstream) mod supervisor;
