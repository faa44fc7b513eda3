//! How a server leaves: nobody can call it any more, and those who have called get their answers.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::fleet::Fleet;
use crate::limits::LEAVING_LOOK;
use crate::upstream::Server;

/// A server that leaves.
#[derive(Debug)]
pub struct Retired {
    /// Calls it had open.
    pub pending: usize,
    done: CancellationToken,
}

impl Retired {
    /// Waits until its calls have ended and it was told to stop.
    pub async fn finished(&self) {
        self.done.cancelled().await;
    }
}

impl Fleet {
    /// Takes a server away: out of the lists at once; the calls it has may take as long as `patience`,
    /// then they end with an error that says that they may have run. `None`: there is no such server.
    pub fn retire(&self, id: &str, patience: Duration) -> Option<Retired> {
        let _one_at_a_time = self.changing.lock();
        let server = self.find(id)?;
        self.registry.remove(&server);
        let retired = self.dismiss(&server, patience);
        self.provisions.news.send_replace(());
        Some(retired)
    }

    /// Ends a server that is in no list any more.
    pub(super) fn dismiss(&self, server: &Arc<Server>, patience: Duration) -> Retired {
        let mut leaving = self.registry.privates_of(server);
        leaving.push(Arc::clone(server));
        let (pending, done) = (calls(&leaving), CancellationToken::new());
        if pending == 0 || patience.is_zero() {
            leaving.iter().for_each(|server| server.signals.dismissed.cancel());
            done.cancel();
            return Retired { pending, done };
        }
        self.registry.leaves(server);
        let until = Instant::now() + patience;
        let (supervisor, server) = (self.supervisor.clone(), Arc::clone(server));
        let guard = done.clone().drop_guard();
        let task = async move {
            tokio::select! {
                () = ended(&leaving, until) => {}
                _ = supervisor.ending(&server) => {} // with all the others
            }
            leaving.iter().for_each(|server| server.signals.dismissed.cancel());
            drop(guard);
        };
        drop(self.supervisors.spawn_on(task, &self.runtime));
        Retired { pending, done }
    }
}

fn calls(servers: &[Arc<Server>]) -> usize {
    servers.iter().map(|server| server.open_calls() + server.waiting_calls()).sum()
}

/// Waits until no call is left, or the time is up. Looks now and then: a bell at the end of each call
/// would cost every call something, and few servers leave.
async fn ended(servers: &[Arc<Server>], until: Instant) {
    while calls(servers) > 0 && Instant::now() < until {
        sleep(LEAVING_LOOK).await;
    }
}
