//! `KeyTicket`: the right to run the call of an idempotency key, once, and the duty to say what became of it.

use std::sync::Arc;

use super::{CallKeys, KeptAnswer, KeyFault, KeyOutcome, KeyState, KeyedCall};

/// What became of asking for a key.
#[derive(Debug)]
pub enum KeyClaim {
    /// The call is to be run.
    First(KeyTicket),
    /// It has run: its answer.
    Answered(KeptAnswer),
    Refused(KeyFault),
}

/// How a key was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenKey {
    /// The rounds that the call goes on from, if its server has asked something.
    pub before: Option<String>,
    /// Tells this from every other time that the key was taken.
    pub number: i64,
}

/// A call that has its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedCall {
    pub call: KeyedCall,
    pub taken: TakenKey,
}

/// Dropped, it gives the key back, unless the call may have run by then.
#[derive(Debug)]
pub struct KeyTicket {
    keys: Arc<dyn CallKeys>,
    claimed: Option<ClaimedCall>,
    may_have_run: bool,
}

/// Asks for the key of a call.
pub async fn claim_key(keys: Arc<dyn CallKeys>, call: KeyedCall) -> KeyClaim {
    match keys.claim(call.clone()).await {
        Err(fault) => KeyClaim::Refused(fault),
        Ok(KeyState::Taken(taken)) => {
            let claimed = Some(ClaimedCall { call, taken });
            KeyClaim::First(KeyTicket { keys, claimed, may_have_run: false })
        }
        Ok(KeyState::Answered(answer)) => KeyClaim::Answered(answer),
        Ok(state) => KeyClaim::Refused(KeyFault::of(&state).unwrap_or(KeyFault::Unknown)),
    }
}

impl KeyTicket {
    /// The call may run from here on.
    pub fn note_gone_out(&mut self) {
        self.may_have_run = true;
    }

    pub fn settle(mut self, outcome: KeyOutcome) {
        self.give(outcome);
    }

    fn give(&mut self, outcome: KeyOutcome) {
        if let Some(claimed) = self.claimed.take() {
            self.keys.settle(claimed, outcome);
        }
    }
}

impl Drop for KeyTicket {
    fn drop(&mut self) {
        self.give(match self.may_have_run {
            true => KeyOutcome::Unknown,
            false => KeyOutcome::NotRun,
        });
    }
}
