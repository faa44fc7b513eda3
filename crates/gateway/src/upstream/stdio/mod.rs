//! Servers that are processes: started, read, and what they write to stderr.

pub(in crate::upstream) mod launch;
pub(in crate::upstream) mod process;
pub(in crate::upstream) mod stderr;
