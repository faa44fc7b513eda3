//! `ServerSignals`: what the supervisor of a server is told.

use std::sync::atomic::AtomicBool;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::lock::{Mutex, rank};

#[derive(Debug, Default)]
pub(crate) struct ServerSignals {
    /// It is to end although the gateway goes on.
    pub(crate) dismissed: CancellationToken,
    /// It is to be tried again now.
    pub(in crate::upstream) wake: Notify,
    /// It is to be given up as it is; `verdict` says why.
    condemned: Notify,
    verdict: Mutex<Option<LifeVerdict>, rank::ServerVerdict>,
    /// It is to be tried although it waits for a login.
    pub(in crate::upstream) insisted: Notify,
    /// A supervisor looks after it.
    pub(crate) is_attended: AtomicBool,
}

/// Why a life of a server is to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LifeVerdict {
    /// It is of no use; why, completing "server X …".
    Useless(String),
    /// A person wants another one: that is no failure.
    Restarted,
}

/// What the calls of a server are told that a person restarts.
pub(in crate::upstream) const RESTARTED: &str = "was restarted by `trunkline restart`";

impl ServerSignals {
    /// The life that it has now is to end, for this reason.
    pub(in crate::upstream) fn condemn(&self, verdict: LifeVerdict) {
        *self.verdict.lock() = Some(verdict);
        self.condemned.notify_one();
    }

    /// It is to end and not to come again, because a person wants another one in its place.
    pub(crate) fn dismiss_for_another(&self) {
        *self.verdict.lock() = Some(LifeVerdict::Restarted);
        self.dismissed.cancel();
    }

    pub(in crate::upstream) async fn condemned(&self) -> LifeVerdict {
        self.condemned.notified().await;
        self.verdict.lock().take().unwrap_or(LifeVerdict::Restarted)
    }

    /// What its calls are told when it ends and does not come again.
    pub(in crate::upstream) fn farewell(&self) -> &'static str {
        match *self.verdict.lock() {
            Some(LifeVerdict::Restarted) => RESTARTED,
            _ => "was stopped",
        }
    }
}
