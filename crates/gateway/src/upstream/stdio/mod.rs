//! Servers that are processes: started, read, and what they write to stderr.

mod broad;
mod container;
pub(in crate::upstream) mod host_proxy;
pub(in crate::upstream) mod launch;
pub(in crate::upstream) mod named_paths;
mod planted;
pub(in crate::upstream) mod process;
mod proxy_head;
mod refused;
pub(in crate::upstream) mod sandbox;
pub(in crate::upstream) mod sandbox_policy;
mod standard;
pub(in crate::upstream) mod stderr;
