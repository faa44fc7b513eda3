//! Idempotency keys: a call that is made again under its key is not run again, at whatever replica. Here is what a key
//! stands for and what became of its call; where that is kept is decided elsewhere, or in memory.

mod bounds;
mod call;
mod fault;
mod memory;
mod progress;
mod rounds;
mod ticket;

use std::fmt::Debug;
use std::pin::Pin;

pub use bounds::{KEPT_ANSWER, KEYS_KEPT, QUEUED_ANSWERS, ROUNDS_KEPT};
pub use call::{KeyedCall, idempotency_key};
#[cfg(test)]
pub(crate) use fault::CODES;
pub use fault::KeyFault;
pub(crate) use memory::CallKeyHome;
pub(crate) use progress::KeyedProgress;
pub use ticket::{ClaimedCall, KeyClaim, KeyTicket, TakenKey, claim_key};

/// What comes of asking for a key, once that is known.
pub type ClaimFuture = Pin<Box<dyn Future<Output = Result<KeyState, KeyFault>> + Send>>;

/// Keeps what became of calls that carry a key. Nothing in it may wait but the futures that it returns.
pub trait CallKeys: Debug + Send + Sync {
    /// Takes the key for this call, or says what became of the call that has it. The error: that cannot be known now,
    /// and nothing was taken.
    fn claim(&self, call: KeyedCall) -> ClaimFuture;

    /// What became of a call that was taken by `claim`.
    fn settle(&self, claimed: ClaimedCall, outcome: KeyOutcome);
}

/// What is known of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// It is this call's now.
    Taken(TakenKey),
    /// Its call runs.
    Running,
    /// It stands for a call with other arguments.
    OtherCall,
    Answered(KeptAnswer),
    /// It has run; its answer was too large, or too many were kept.
    NotKept,
    /// It may have run: whoever ran it has gone.
    Unknown,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyOutcome {
    /// It did not run: the key is free again.
    NotRun,
    Answered(KeptAnswer),
    /// Its server has asked something: the call goes on with the next round.
    Asked(KeptAnswer),
    /// It has run, and its answer is not kept.
    NotKept,
    /// It may have run, and has no answer.
    Unknown,
}

/// An answer as its client got it.
#[derive(Clone, PartialEq, Eq)]
pub struct KeptAnswer {
    /// What went with the bytes: over REST the status, over MCP the code of an error and else 0.
    pub code: i64,
    pub body: Vec<u8>,
}

/// Sizes only: answers are their callers'.
impl Debug for KeptAnswer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "KeptAnswer({}, {} bytes)", self.code, self.body.len())
    }
}
