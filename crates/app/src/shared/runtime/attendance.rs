//! `Attendance`: the clients that a runtime has, and how long it stays without any.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until};
use trunkline_catalog::client::Client;

use crate::shared::hello::ClientHello;

/// How often a runtime without clients looks whether any could still find it: as often as at its socket.
const LOOK: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub(crate) struct Attendance {
    /// A leaf lock: held for a look or a change.
    clients: Mutex<Vec<Attendant>>,
    /// No client can find this runtime any more.
    is_outdated: AtomicBool,
    /// Why no client finds it, because its files were removed.
    // A leaf lock: held for a look or a change.
    hidden: Mutex<Option<&'static str>>,
    /// The runtime ends: it has given its socket up to the next one.
    is_ending: AtomicBool,
    /// What the clients of an edited config have to have in common with this runtime.
    // A leaf lock, too: taken behind `clients`.
    common: Mutex<Option<CommonVariables>>,
    /// How many there are, and how long to stay without any; `None`: none has come yet.
    now: watch::Sender<(usize, Option<Duration>)>,
}

/// Variables that a config uses, and keyed hashes of the values that this runtime has.
#[derive(Debug)]
struct CommonVariables {
    used: BTreeSet<String>,
    own: BTreeMap<String, String>,
}

impl CommonVariables {
    fn are_those_of(&self, client: &Attendant) -> bool {
        self.used.iter().all(|name| client.variables.get(name) == self.own.get(name))
    }
}

/// One client.
#[derive(Clone, Debug)]
pub(super) struct Attendant {
    number: u64,
    pub(super) pid: u32,
    pub(super) kind: Option<Client>,
    pub(super) since: SystemTime,
    variables: BTreeMap<String, String>,
    dismissed: Arc<Notify>,
}

/// Dropped when its client has gone.
#[derive(Debug)]
pub(super) struct Presence {
    attendance: Arc<Attendance>,
    number: u64,
    /// Rung when the client has to go to another runtime.
    pub(super) dismissed: Arc<Notify>,
}

impl Attendance {
    /// `None`: it has to look for another runtime. It may have read the config before an edit and come behind it.
    pub(super) fn enter(self: &Arc<Self>, hello: &ClientHello) -> Option<Presence> {
        let mut clients = self.clients.lock();
        let number = clients.last().map_or(0, |last| last.number + 1);
        let dismissed = Arc::new(Notify::new());
        let client = Attendant {
            number,
            pid: hello.pid,
            kind: hello.kind,
            since: SystemTime::now(),
            variables: hello.variables.clone(),
            dismissed: Arc::clone(&dismissed),
        };
        let is_parted =
            self.common.lock().as_ref().is_some_and(|common| !common.are_those_of(&client));
        if is_parted || self.is_ending() {
            return None;
        }
        clients.push(client);
        // The client that came last decides how long its servers stay.
        self.now.send_replace((clients.len(), Some(hello.linger)));
        Some(Presence { attendance: Arc::clone(self), number, dismissed })
    }

    pub(super) fn clients(&self) -> Vec<Attendant> {
        self.clients.lock().clone()
    }

    /// Dismisses the clients for which one of these variables has another value than in `own`: the config
    /// uses them from now on. Returns when they have gone: until then one of them could call a server that is
    /// started with the value of another.
    pub(crate) async fn part(&self, used: &BTreeSet<String>, own: &BTreeMap<String, String>) {
        let mut now = self.now.subscribe();
        let common = CommonVariables { used: used.clone(), own: own.clone() };
        let parted: Vec<u64> = {
            let clients = self.clients.lock();
            let parted: Vec<&Attendant> =
                clients.iter().filter(|client| !common.are_those_of(client)).collect();
            // A permit is stored: the one who waits for it may be busy.
            parted.iter().for_each(|client| client.dismissed.notify_one());
            *self.common.lock() = Some(common);
            parted.iter().map(|client| client.number).collect()
        };
        let is_here = |client: &Attendant| parted.contains(&client.number);
        while self.clients.lock().iter().any(is_here) {
            // An error: nobody can leave any more.
            if now.changed().await.is_err() {
                return;
            }
        }
    }

    /// Says whether clients that come from now on find another runtime.
    pub(crate) fn set_outdated(&self, is_outdated: bool) {
        // Relaxed: the flag publishes nothing else.
        self.is_outdated.store(is_outdated, Ordering::Relaxed);
    }

    pub(super) fn set_hidden(&self, why: Option<&'static str>) {
        *self.hidden.lock() = why;
    }

    pub(super) fn why_hidden(&self) -> Option<&'static str> {
        *self.hidden.lock()
    }

    pub(super) fn set_ending(&self) {
        // Relaxed: the flag publishes nothing else.
        self.is_ending.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_ending(&self) -> bool {
        // Relaxed: the flag publishes nothing else.
        self.is_ending.load(Ordering::Relaxed)
    }

    pub(super) fn is_outdated(&self) -> bool {
        // Relaxed: the flag publishes nothing else.
        self.is_outdated.load(Ordering::Relaxed)
    }

    /// Resolves when no client has been here for as long as the last one wanted, or at most for `first`
    /// if none has ever come. `is_outdated`: nobody will come any more, so nobody is waited for.
    pub(super) async fn lingered(&self, first: Duration, is_outdated: impl Fn() -> bool) {
        let mut now = self.now.subscribe();
        let is_forgotten = || self.is_outdated() || self.why_hidden().is_some() || is_outdated();
        loop {
            let (clients, linger) = *now.borrow_and_update();
            let alone = async {
                let until = Instant::now() + linger.unwrap_or(first);
                while Instant::now() < until && !(linger.is_some() && is_forgotten()) {
                    // It may become outdated while it is empty, and nothing tells that.
                    sleep_until(until.min(Instant::now() + LOOK)).await;
                }
            };
            tokio::select! {
                changed = now.changed() => if changed.is_err() { return },
                () = alone, if clients == 0 => return,
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

    fn hello(linger_ms: u64) -> ClientHello {
        ClientHello {
            pid: 1,
            kind: None,
            linger: Duration::from_millis(linger_ms),
            last_question: 0,
            variables: BTreeMap::new(),
        }
    }

    #[tokio::test]
    async fn a_runtime_stays_as_long_as_its_last_client_wanted() {
        let attendance = Arc::new(Attendance::default());
        let enter = |linger| attendance.enter(&hello(linger)).expect("it is welcome");
        let (first, second) = (enter(500_000), enter(60));
        assert_eq!(attendance.clients().len(), 2);
        let pause = Duration::from_millis(80);
        let mut lingered = std::pin::pin!(attendance.lingered(Duration::ZERO, || false));
        let mut ends_within = async |time| tokio::time::timeout(time, &mut lingered).await.is_ok();
        assert!(!ends_within(pause).await, "two clients are here");
        drop(first);
        assert!(!ends_within(pause).await, "one client is here");
        drop(second);
        let third = enter(60);
        assert!(!ends_within(pause).await, "another one has come in time");
        let begun = std::time::Instant::now();
        drop(third);
        assert!(ends_within(Duration::from_secs(30)).await);
        assert!(begun.elapsed() >= Duration::from_millis(60), "{:?}", begun.elapsed());
    }

    #[tokio::test]
    async fn clients_with_another_value_of_a_variable_are_dismissed() {
        let attendance = Arc::new(Attendance::default());
        let variables = |value: &str| BTreeMap::from([("T".to_owned(), value.to_owned())]);
        let enter = |value: &str| {
            let hello = ClientHello { variables: variables(value), ..hello(1) };
            attendance.enter(&hello)
        };
        let [same, other] = ["a", "b"].map(|value| enter(value).expect("it is welcome"));
        let is_dismissed = async |presence: &Presence| {
            let waited = tokio::time::timeout(Duration::ZERO, presence.dismissed.notified());
            waited.await.is_ok()
        };
        attendance.part(&BTreeSet::from(["U".to_owned()]), &variables("a")).await;
        assert!(!is_dismissed(&same).await && !is_dismissed(&other).await);
        let (used, own) = (BTreeSet::from(["T".to_owned()]), variables("a"));
        let mut parted = std::pin::pin!(attendance.part(&used, &own));
        let waited = tokio::time::timeout(Duration::ZERO, &mut parted).await;
        assert!(waited.is_err(), "the other one is still here, and the config not applied");
        assert!(!is_dismissed(&same).await && is_dismissed(&other).await);
        drop(other);
        parted.await;
        assert!(enter("a").is_some() && enter("b").is_none(), "one that differs comes too late");
        attendance.set_ending();
        assert!(enter("a").is_none(), "nobody comes to a runtime that ends");
    }

    #[tokio::test]
    async fn an_outdated_runtime_and_one_without_clients_do_not_stay() {
        let attendance = Arc::new(Attendance::default());
        let begun = std::time::Instant::now();
        attendance.lingered(Duration::from_millis(40), || false).await;
        assert!(begun.elapsed() >= Duration::from_millis(40));
        drop(attendance.enter(&hello(600_000)));
        let outdated = attendance.lingered(Duration::ZERO, || true);
        assert!(tokio::time::timeout(Duration::from_secs(30), outdated).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_runtime_that_becomes_outdated_without_clients_does_not_stay() {
        let attendance = Arc::new(Attendance::default());
        drop(attendance.enter(&hello(600_000)));
        let replaced = AtomicBool::new(false);
        let outdated = || replaced.load(Ordering::Relaxed);
        let mut lingered = std::pin::pin!(attendance.lingered(Duration::ZERO, outdated));
        let mut ends_within = async |time| tokio::time::timeout(time, &mut lingered).await.is_ok();
        assert!(!ends_within(Duration::from_secs(60)).await);
        replaced.store(true, Ordering::Relaxed);
        assert!(ends_within(2 * LOOK).await);
    }
}
