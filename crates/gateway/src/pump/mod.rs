//! Moves bytes: a few threads read what servers and clients write, hand it to their readers, and
//! continue writes that got stuck.
//!
//! Why not the async runtime: a call passes four pipe ends, and on each the runtime would spend
//! more on waking tasks, keeping its clock and counting than the bytes themselves cost. This loop
//! does `epoll_wait`, `read`, the work, `write`, and nothing else. Everything that has a life of
//! its own (supervisors, deadlines, signals) stays on the runtime.

mod decrypting;
mod group;
mod handle;
mod outbox;
mod queue;
mod thread;

#[cfg(test)]
mod tests;

pub(crate) use decrypting::{AtGoodbye, Decrypting};
pub use group::{MOST_THREADS, usual_threads};
pub(crate) use group::{PumpThreads, Pumps};
pub(crate) use handle::{Pump, Reader, SourceHandle};
pub(crate) use outbox::{FlushSet, Outbox, Remainder};
pub(crate) use queue::{Frame, LINE, Refused, Sink, Taker};
