//! `Attendance`: the clients that a runtime has, and how long it stays without any.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::sync::watch;
use trunkline_catalog::client::Client;

use crate::shared::hello::ClientHello;

#[derive(Debug, Default)]
pub(crate) struct Attendance {
    /// A leaf lock: held for a look or a change.
    clients: Mutex<Vec<Attendant>>,
    /// How many there are, and how long to stay without any; `None`: none has come yet.
    now: watch::Sender<(usize, Option<Duration>)>,
}

/// One client.
#[derive(Clone, Debug)]
pub(super) struct Attendant {
    number: u64,
    pub(super) pid: u32,
    pub(super) kind: Option<Client>,
    pub(super) since: SystemTime,
}

/// Dropped when its client has gone.
#[derive(Debug)]
pub(super) struct Presence {
    attendance: Arc<Attendance>,
    number: u64,
}

impl Attendance {
    pub(super) fn enter(self: &Arc<Self>, hello: &ClientHello) -> Presence {
        let mut clients = self.clients.lock();
        let number = clients.last().map_or(0, |last| last.number + 1);
        clients.push(Attendant {
            number,
            pid: hello.pid,
            kind: hello.kind,
            since: SystemTime::now(),
        });
        // The client that came last decides how long its servers stay.
        self.now.send_replace((clients.len(), Some(hello.linger)));
        Presence { attendance: Arc::clone(self), number }
    }

    pub(super) fn clients(&self) -> Vec<Attendant> {
        self.clients.lock().clone()
    }

    /// Resolves when no client has been here for as long as the last one wanted, or at most for `first`
    /// if none has ever come. `is_outdated`: nobody will come any more, so nobody is waited for.
    pub(super) async fn lingered(&self, first: Duration, is_outdated: impl Fn() -> bool) {
        let mut now = self.now.subscribe();
        loop {
            let (clients, linger) = *now.borrow_and_update();
            let wait = match linger {
                None => first,
                Some(_) if clients == 0 && is_outdated() => Duration::ZERO,
                Some(linger) => linger,
            };
            tokio::select! {
                changed = now.changed() => if changed.is_err() { return },
                () = tokio::time::sleep(wait), if clients == 0 => return,
            }
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mut clients = self.attendance.clients.lock();
        clients.retain(|client| client.number != self.number);
        let left = clients.len();
        self.attendance.now.send_modify(|(clients, _)| *clients = left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(linger: u64) -> ClientHello {
        ClientHello { pid: 1, kind: None, linger: Duration::from_secs(linger), last_question: 0 }
    }

    #[tokio::test(start_paused = true)]
    async fn a_runtime_stays_as_long_as_its_last_client_wanted() {
        let attendance = Arc::new(Attendance::default());
        let first = attendance.enter(&hello(500));
        let second = attendance.enter(&hello(60));
        assert_eq!(attendance.clients().len(), 2);
        let begun = tokio::time::Instant::now();
        let waiting = tokio::spawn({
            let attendance = Arc::clone(&attendance);
            async move { attendance.lingered(Duration::from_secs(1), || false).await }
        });
        tokio::time::sleep(Duration::from_secs(1000)).await;
        drop(first);
        tokio::time::sleep(Duration::from_secs(1000)).await;
        drop(second);
        tokio::time::sleep(Duration::from_secs(30)).await;
        drop(attendance.enter(&hello(60)));
        waiting.await.unwrap();
        assert_eq!(begun.elapsed().as_secs(), 2090);
    }

    #[tokio::test(start_paused = true)]
    async fn an_outdated_runtime_and_one_without_clients_do_not_stay() {
        let attendance = Arc::new(Attendance::default());
        let begun = tokio::time::Instant::now();
        attendance.lingered(Duration::from_secs(7), || false).await;
        assert_eq!(begun.elapsed().as_secs(), 7);
        drop(attendance.enter(&hello(600)));
        attendance.lingered(Duration::from_secs(7), || true).await;
        assert_eq!(begun.elapsed().as_secs(), 7);
    }
}
