//! What the program does when it is asked.

pub(crate) mod check;
pub(crate) mod install;
mod runtime;
pub(crate) mod stdio;
