//! `Diagnosis`: why a server is not well, and what to do about it.

use trunkline_gateway::{ServerInfo, State};

use super::servers::LiveServers;
use crate::clock;
use crate::health::{DegradedReason, Incident, ServerHealth};
use crate::services::directory::ServerEntry;

/// What went wrong with a server: when (ms since 1970), what, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Diagnosis {
    pub(crate) at: i64,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

const CALLS_FAIL: &str = "call one of its tools to see what it says: an expired token or a service \
                          that is down are the usual causes";

impl Diagnosis {
    pub(crate) fn of_call(call: &Incident) -> Self {
        let message = format!("a call failed: {}", call.what);
        Self { at: call.at, message, hint: Some(CALLS_FAIL.to_owned()) }
    }

    /// Why the connection was last lost or not made. What a server writes on stderr, and what its walls refused, is for
    /// operators.
    pub(crate) fn last_failure(info: Option<&ServerInfo>, is_operator: bool) -> Option<Self> {
        let (at, failure) = info
            .and_then(|info| info.last_failure.clone())
            .and_then(|past| Some((past.at?, past.why)))?;
        let failure = if is_operator { failure } else { failure.brief() };
        let hint = Some(failure.advice.clone()).filter(|advice| !advice.is_empty());
        Some(Self { at: clock::at(at), message: failure.to_string(), hint })
    }
}

impl LiveServers {
    /// Why a server is not well now; none if it is. What it writes on stderr is for operators.
    pub(crate) fn diagnose(
        &self,
        entry: &ServerEntry,
        info: Option<&ServerInfo>,
        health: Option<&ServerHealth>,
        is_operator: bool,
    ) -> Option<Diagnosis> {
        if let Some(problem) = self.connect_problem(&entry.id) {
            return Some(Diagnosis { at: problem.at, message: problem.message, hint: None });
        }
        match info.map(|info| &info.state) {
            Some(State::Failed(_)) => return Diagnosis::last_failure(info, is_operator),
            Some(State::Running) => {}
            _ => return None,
        }
        let (reason, incident) = health.and_then(|health| health.reason.as_ref())?;
        let before = || Diagnosis::last_failure(info, false).map(|why| (why.at, why.message));
        let last = match incident {
            Some(incident) => Some((incident.at, incident.what.clone())),
            None if matches!(reason, DegradedReason::Restarts { .. }) => before(),
            None => None,
        };
        let hint = match reason {
            DegradedReason::Errors { .. } => CALLS_FAIL,
            DegradedReason::Restarts { .. } => "its last lines on stderr say why it ends",
            DegradedReason::Checks { .. } => {
                "calls to it are refused; it is started or connected again when it has no calls open, at the latest after ten failed checks in a row"
            }
            DegradedReason::Slow { .. } => "look at what it depends on",
        };
        let at = last.as_ref().map_or_else(clock::now, |(at, _)| *at);
        let last = last.map(|(_, what)| format!("; last: {what}")).unwrap_or_default();
        Some(Diagnosis { at, message: format!("{reason}{last}"), hint: Some(hint.to_owned()) })
    }
}
