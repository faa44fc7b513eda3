//! Calls over REST with an idempotency key: whether such a call is to be run, and what is known of the one that has the
//! key.

use trunkline_gateway::{KeptAnswer, KeyClaim, KeyFault, KeyTicket, KeyedCall, claim_key};

use super::call::ToolCallRequest;
use super::routed::{Refused, refused};
use super::service::ToolService;
use crate::fault::{Problem, ProblemKind};
use crate::keys::Actor;

/// Answers over MCP are other bytes.
const INTERFACE: &str = "rest";

/// What becomes of a call with a key.
#[derive(Debug)]
pub(crate) enum KeyedCallClaim {
    /// It is to be run.
    Run(KeyTicket),
    /// It has run: its answer.
    Answered(KeptAnswer),
}

impl ToolService {
    /// Asks for the key of a call, if the caller may make it: what it was answered is no other's business.
    pub(crate) async fn claim(
        &self,
        call: ToolCallRequest<'_>,
        key: &str,
        by: Actor<'_>,
    ) -> Result<KeyedCallClaim, Problem> {
        self.recorded(self.claimed(call, key, by).await, by)
    }

    async fn claimed(
        &self,
        call: ToolCallRequest<'_>,
        key: &str,
        by: Actor<'_>,
    ) -> Result<KeyedCallClaim, Refused> {
        let directory = self.live.directory();
        let routed = self.route(&directory, call, by)?;
        let Some(keys) = self.call_keys.clone() else {
            let why = "the store is locked, and keeps no idempotency keys; the call did not run";
            let problem = Problem::new(ProblemKind::StoreUnavailable, why);
            return Err(refused(problem, None, &routed.tool));
        };
        let caller = by.principal.credential().to_string();
        let place = (&*routed.entry.id, &*routed.tool);
        let keyed = KeyedCall::new((caller.as_bytes(), key), place, INTERFACE, routed.arguments);
        match claim_key(keys, keyed).await {
            KeyClaim::First(ticket) => Ok(KeyedCallClaim::Run(ticket)),
            KeyClaim::Answered(answer) => Ok(KeyedCallClaim::Answered(answer)),
            KeyClaim::Refused(fault) => {
                let about = self.live.about(routed.entry);
                Err(refused(problem(&fault), Some(about), &routed.tool))
            }
        }
    }
}

fn problem(fault: &KeyFault) -> Problem {
    let kind = match fault {
        KeyFault::OtherCall => ProblemKind::KeyReused,
        KeyFault::Running => ProblemKind::KeyInUse,
        KeyFault::Unknown => ProblemKind::OutcomeUnknown,
        KeyFault::NotKept => ProblemKind::AnswerNotKept,
        KeyFault::Away(_) => ProblemKind::StoreUnavailable,
        KeyFault::Busy => ProblemKind::TooMany,
    };
    let problem = Problem::new(kind, fault.to_string());
    match fault.again() {
        Some(again) => problem.retry_after(again),
        None => problem,
    }
}
