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
    /// A life is to be given up as it is; `verdicts` says which and why.
    condemned: Notify,
    // Taken out under it by the life that it is about: the next life has not earned it.
    verdicts: Mutex<Verdicts, rank::ServerVerdict>,
    /// It is to be tried although it waits for a login.
    pub(in crate::upstream) insisted: Notify,
    /// A supervisor looks after it.
    pub(crate) is_attended: AtomicBool,
}

#[derive(Debug, Default)]
struct Verdicts {
    /// With the number of the life that it was made of.
    of_life: Option<(u64, LifeVerdict)>,
    /// Another one has its place: no life follows.
    of_server: Option<LifeVerdict>,
}

/// Why a life of a server is to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LifeVerdict {
    /// It is of no use; why, completing "server X …".
    Useless(String),
    /// A person wants another one: that is no failure.
    Restarted,
    /// Its entry was edited, and another one has its place.
    Replaced,
}

/// What the calls of a server are told that a person restarts.
pub(in crate::upstream) const RESTARTED: &str = "was restarted by `trunkline restart`";

impl ServerSignals {
    /// The life of this number is to end, for this reason. One that has ended meanwhile needs no verdict, and the
    /// next has earned none. The first verdict of a life stays: a restart does not become a failure.
    pub(in crate::upstream) fn condemn(&self, life: u64, verdict: LifeVerdict) {
        let mut verdicts = self.verdicts.lock();
        if verdicts.of_life.as_ref().is_none_or(|(of, _)| *of != life) {
            verdicts.of_life = Some((life, verdict));
        }
        drop(verdicts);
        self.condemned.notify_one();
    }

    /// It is to end and not to come again, because another one has its place. Its open calls may end first.
    pub(crate) fn dismiss_for_another(&self, verdict: LifeVerdict) {
        self.verdicts.lock().of_server = Some(verdict);
        self.dismissed.cancel();
    }

    /// Has another one its place, so that its open calls may end first?
    pub(in crate::upstream) fn has_successor(&self) -> bool {
        let verdicts = self.verdicts.lock();
        matches!(verdicts.of_server, Some(LifeVerdict::Restarted | LifeVerdict::Replaced))
    }

    /// Resolves when the life of this number is to end.
    pub(in crate::upstream) async fn condemned(&self, life: u64) -> LifeVerdict {
        loop {
            self.condemned.notified().await;
            let verdict = self.verdicts.lock().of_life.take_if(|(of, _)| *of == life);
            if let Some((_, verdict)) = verdict {
                return verdict;
            }
        }
    }

    /// What its calls are told when it ends and does not come again.
    pub(in crate::upstream) fn farewell(&self) -> &'static str {
        match &self.verdicts.lock().of_server {
            Some(LifeVerdict::Restarted) => RESTARTED,
            Some(LifeVerdict::Replaced) => {
                "was replaced because its entry in the config was edited"
            }
            _ => "was stopped",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    fn useless(why: &str) -> LifeVerdict {
        LifeVerdict::Useless(why.to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn a_verdict_ends_the_life_it_was_made_of_and_no_other() {
        let signals = ServerSignals::default();
        let ends = async |life| timeout(Duration::from_secs(9), signals.condemned(life)).await.ok();
        for (verdicts, life, expected) in [
            (vec![], 1, None),
            (vec![(1, useless("a"))], 1, Some(useless("a"))),
            (vec![], 1, None),
            (vec![(1, useless("late"))], 2, None),
            (vec![(1, useless("late")), (2, useless("b"))], 2, Some(useless("b"))),
            (vec![(3, LifeVerdict::Restarted)], 4, None),
            // A person wants another one: what a check finds out then does not make that a failure.
            (vec![(5, LifeVerdict::Restarted), (5, useless("c"))], 5, Some(LifeVerdict::Restarted)),
        ] {
            let shown = format!("{verdicts:?} in life {life}");
            verdicts.into_iter().for_each(|(of, verdict)| signals.condemn(of, verdict));
            assert_eq!(ends(life).await, expected, "{shown}");
        }
    }

    #[test]
    fn what_was_said_of_a_life_is_no_farewell_to_its_server() {
        let signals = ServerSignals::default();
        signals.condemn(1, LifeVerdict::Restarted);
        assert_eq!((signals.farewell(), signals.has_successor()), ("was stopped", false));
        signals.dismiss_for_another(LifeVerdict::Restarted);
        assert_eq!((signals.farewell(), signals.has_successor()), (RESTARTED, true));
    }
}
