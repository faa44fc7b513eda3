//! The calls a server has open: their ids, their deadlines, and how they wait.

mod line;
pub(in crate::upstream) mod link;
pub(in crate::upstream) mod pending;
mod steps;
pub(in crate::upstream) mod wait_queue;
mod wait_rules;
mod waiting_call;

pub(in crate::upstream) use wait_rules::WaitRules;
pub(in crate::upstream) use waiting_call::WaitCause;
