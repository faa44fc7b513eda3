//! What servers ask clients: whose question it is, and calls that wait for their client.

pub(in crate::upstream) mod asked;
pub(in crate::upstream) mod attribution;
pub(in crate::upstream) mod cancelled;
pub(in crate::upstream) mod concern;
pub(in crate::upstream) mod eviction;
pub(in crate::upstream) mod park;
pub(in crate::upstream) mod parked;
pub(in crate::upstream) mod parking;
pub(in crate::upstream) mod rounds;
pub(in crate::upstream) mod task_owners;
