//! `KeyFault`: why a call with an idempotency key is not run, and what is known of the call that has the key.

use std::time::Duration;

use super::KeyState;

/// After which a call that still runs may be asked for again.
const AGAIN: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    #[error(
        "the idempotency key was used for a call of this tool with other arguments (or over another interface); \
         nothing ran: use another key for another call"
    )]
    OtherCall,
    #[error(
        "the call with this idempotency key still runs; this one did not run, ask again for its answer"
    )]
    Running,
    #[error(
        "the call with this idempotency key may have run, and nobody knows its outcome; this one did not run: check \
         before you make it again under another key"
    )]
    Unknown,
    #[error(
        "the call with this idempotency key has run, and its answer was not kept (it is too large, or too many are \
         kept); this one did not run"
    )]
    NotKept,
    #[error(
        "what became of the idempotency key cannot be looked up ({0}); the call did not run, try again later"
    )]
    Away(String),
    #[error(
        "too many calls ask for their idempotency keys at this moment; the call did not run, try again later"
    )]
    Busy,
}

// Codes of JSON-RPC; docs/errors.md lists them. That it is the key of another call is a mistake in the params.
const INVALID_PARAMS: i32 = -32602;
const IN_USE: i32 = -31018;
const UNKNOWN: i32 = -31019;
const NOT_KEPT: i32 = -31020;
const AWAY: i32 = -31021;
/// Those of our own.
#[cfg(test)]
pub(crate) const CODES: [i32; 4] = [IN_USE, UNKNOWN, NOT_KEPT, AWAY];

impl KeyFault {
    /// Why a call does not go on whose key is in this state; `None`: it does, or has an answer.
    pub(super) fn of(state: &KeyState) -> Option<Self> {
        match state {
            KeyState::Running => Some(Self::Running),
            KeyState::OtherCall => Some(Self::OtherCall),
            KeyState::NotKept => Some(Self::NotKept),
            KeyState::Unknown => Some(Self::Unknown),
            KeyState::Taken(_) | KeyState::Answered(_) => None,
        }
    }

    /// Is the same call worth another try, under the same key?
    pub fn may_retry(&self) -> bool {
        matches!(self, Self::Running | Self::Away(_) | Self::Busy)
    }

    /// When.
    pub fn again(&self) -> Option<Duration> {
        self.may_retry().then_some(AGAIN)
    }

    pub(crate) fn code(&self) -> i32 {
        match self {
            Self::OtherCall => INVALID_PARAMS,
            Self::Running => IN_USE,
            Self::Unknown => UNKNOWN,
            Self::NotKept => NOT_KEPT,
            Self::Away(_) | Self::Busy => AWAY,
        }
    }

    /// What a program needs to decide what to do.
    pub(crate) fn data(&self) -> Vec<u8> {
        let again = self.again().map(|again| format!(",\"retryAfterMs\":{}", again.as_millis()));
        format!("{{\"mayRetry\":{}{}}}", self.may_retry(), again.unwrap_or_default()).into_bytes()
    }
}
