//! The calls a server has open: their ids, their deadlines, and how they wait.

pub(in crate::upstream) mod link;
pub(in crate::upstream) mod pending;
pub(in crate::upstream) mod wait_queue;
