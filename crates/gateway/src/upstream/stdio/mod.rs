//! Servers that are processes: started, read, and what they write to stderr.

pub(in crate::upstream) mod launch;
mod named_paths;
pub(in crate::upstream) mod process;
mod refused;
pub(in crate::upstream) mod sandbox;
pub(in crate::upstream) mod sandbox_policy;
mod standard;
pub(in crate::upstream) mod stderr;
