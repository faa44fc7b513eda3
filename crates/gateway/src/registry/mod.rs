//! The configured servers and the catalog made of those that run: knowledge, no behaviour.

mod call_rules;
mod custom;
mod view;
mod views;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout_at};
use trunkline_catalog::config::CustomTool;

use crate::call::{Audience, Client};
use crate::deadlines::Tick;
use crate::finder::Finder;
use crate::instance::Instance;
use crate::limits::{LISTENED_BYTES, LISTENERS, PRIVATE_PROCESSES, WAITING_SWEEP};
use crate::lock::{Mutex, rank};
use crate::upstream::{OfferChanges, Parking, Server, WaitQueue, make_room};

pub(crate) use call_rules::{CallDecision, CallRule};
pub(crate) use custom::read_tools;
pub(crate) use view::{Snapshot, View};
pub(crate) use views::Views;

#[derive(Debug)]
pub(crate) struct Registry {
    /// Who we are among those who may be connected in a circle.
    pub(crate) instance: Arc<Instance>,
    /// Every client.
    pub(crate) audience: Arc<Audience>,
    /// What is remembered between the requests of stateless clients.
    pub(crate) parking: Arc<Parking>,
    // Held to copy or replace the two `Arc`s: readers see one config, never parts of two.
    wanted: Mutex<WantedServers, rank::RegistryWanted>,
    /// Processes that serve one client alone.
    // Weak: a process belongs to its session, which ends it.
    privates: Mutex<Vec<Weak<Server>>, rank::RegistryPrivates>,
    /// Servers that are not wanted any more and end their calls.
    // Weak: a server that has ended its calls goes; its entry is swept when the next one leaves.
    leaving: Mutex<Vec<Weak<Server>>, rank::RegistryLeaving>,
    /// Counts the changes of what views are made of.
    pub(crate) offers: Arc<OfferChanges>,
    /// Subscriptions that are open.
    listeners: Arc<Listeners>,
    /// Which tool is meant; empty until somebody asks.
    finder: Finder,
}

/// The subscriptions that are open, and the bytes of their URIs.
#[derive(Debug, Default)]
struct Listeners {
    count: AtomicUsize,
    bytes: AtomicUsize,
}

/// One of the subscriptions that may be open; given back when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    all: Arc<Listeners>,
    bytes: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        // Relaxed: counters, and nothing else is read because of them.
        self.all.count.fetch_sub(1, Ordering::Relaxed);
        self.all.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// What the config asks for, in its order.
#[derive(Clone, Debug, Default)]
struct WantedServers {
    servers: Arc<[Arc<Server>]>,
    /// Where each stands, by its id.
    places: Arc<HashMap<Arc<str>, usize>>,
    custom: Arc<[CustomTool]>,
}

impl WantedServers {
    fn new(servers: Arc<[Arc<Server>]>, custom: Arc<[CustomTool]>) -> Self {
        let place = |(at, server): (usize, &Arc<Server>)| (Arc::clone(server.key.id()), at);
        let places = servers.iter().enumerate().map(place).collect::<HashMap<_, _>>();
        Self { servers, places: Arc::new(places), custom }
    }
}

impl Registry {
    pub(crate) fn new(audience: Arc<Audience>) -> Self {
        Self {
            instance: Arc::new(Instance::new()),
            audience,
            parking: Arc::new(Parking::new()),
            wanted: Mutex::default(),
            privates: Mutex::default(),
            leaving: Mutex::default(),
            offers: Arc::new(OfferChanges::new()),
            listeners: Arc::default(),
            finder: Finder::default(),
        }
    }

    /// The index beside the catalog. Waits for what it has to read: not for the thread that moves
    /// bytes, nor for the runtime's.
    pub(crate) fn finder(&self) -> &Finder {
        &self.finder
    }

    /// A place for one more subscription with so many bytes of URIs, if there is one.
    pub(crate) fn place_for_listener(&self, bytes: usize) -> Option<Place> {
        // Counted first and given back by `Place` if it was one too many: two threads cannot both
        // take the last.
        let count = self.listeners.count.fetch_add(1, Ordering::Relaxed) + 1;
        let held = self.listeners.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let place = Place { all: Arc::clone(&self.listeners), bytes };
        (count <= LISTENERS && held <= LISTENED_BYTES).then_some(place)
    }

    /// This client does not want to hear of any resource any more.
    pub(crate) fn unsubscribe(&self, client: &Arc<Client>) {
        for connection in self.servers().iter().filter_map(|server| server.connection()) {
            for uri in connection.subscriptions.leave(client) {
                connection.listens.unfollow(&connection.link, &uri);
            }
        }
    }

    /// These are the servers and custom tools from now on.
    pub(crate) fn set(&self, servers: Vec<Arc<Server>>, custom: Vec<CustomTool>) {
        // Replaced as a whole: who reads sees the old servers or the new ones, never some of both.
        let wanted = WantedServers::new(servers.into(), custom.into());
        *self.wanted.lock() = wanted;
        self.changed();
    }

    /// Are these the custom tools?
    pub(crate) fn has_custom(&self, custom: &[CustomTool]) -> bool {
        *self.wanted.lock().custom == *custom
    }

    /// The server with this id.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<Server>> {
        let wanted = self.wanted.lock();
        wanted.places.get(id).and_then(|&at| wanted.servers.get(at)).cloned()
    }

    pub(crate) fn servers(&self) -> Arc<[Arc<Server>]> {
        Arc::clone(&self.wanted.lock().servers)
    }

    /// A process that serves one client alone: its calls have deadlines, too. False if there are
    /// too many of them.
    pub(crate) fn add_private(&self, server: &Arc<Server>) -> bool {
        let mut privates = self.privates.lock();
        privates.retain(|known| known.upgrade().is_some_and(|known| !known.is_done()));
        let room = privates.len() < PRIVATE_PROCESSES;
        if room {
            privates.push(Arc::downgrade(server));
        }
        room
    }

    /// One of them ends for another, if one can: see `make_room`.
    pub(crate) fn make_private_room(&self) -> bool {
        // Copied out: the processes are looked at without the lock, and one of them may be ended.
        let privates: Vec<_> = self.privates.lock().iter().filter_map(Weak::upgrade).collect();
        let running: Vec<_> = privates.into_iter().filter(|private| !private.is_done()).collect();
        make_room(&running)
    }

    /// The processes of this server that serve one client alone; some may have ended.
    pub(crate) fn privates_of(&self, server: &Server) -> Vec<Arc<Server>> {
        let privates = self.privates.lock();
        let privates = privates.iter().filter_map(Weak::upgrade);
        privates.filter(|private| private.key == server.key).collect()
    }

    /// This server is not wanted any more. False: it was not before.
    pub(crate) fn remove(&self, server: &Arc<Server>) -> bool {
        let mut wanted = self.wanted.lock();
        let others = wanted.servers.iter().filter(|known| !Arc::ptr_eq(known, server)).cloned();
        let others: Arc<[Arc<Server>]> = others.collect();
        let was_there = others.len() < wanted.servers.len();
        *wanted = WantedServers::new(others, Arc::clone(&wanted.custom));
        // Before the change is told: who is woken by it looks at the servers at once.
        drop(wanted);
        self.changed();
        was_there
    }

    /// Every Trunkline that can be reached through this one, itself among them.
    pub(crate) fn instances(&self) -> Vec<u8> {
        let live: Vec<_> = self.servers().iter().filter_map(|server| server.live()).collect();
        self.instance.with(live.iter().flat_map(|live| &live.hello.instances))
    }

    /// Another number after every change of what views are made of.
    pub(crate) fn version(&self) -> u64 {
        self.offers.version.load(Ordering::Acquire)
    }

    /// A server's offer has changed.
    pub(crate) fn changed(&self) {
        self.offers.bump();
    }

    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.offers.subscribe()
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.servers().iter().all(|server| server.is_settled())
    }

    /// Is what every server offers known, or not to be had by waiting for the start?
    pub(crate) fn is_listed(&self) -> bool {
        self.servers().iter().all(|server| server.is_listed())
    }

    /// Waits until every server of which nothing is known is running or failed, or `deadline` passes.
    pub(crate) async fn listed(&self, deadline: Instant) {
        let servers = self.servers();
        let all = async {
            for server in servers.iter().filter(|server| !server.is_listed()) {
                server.settled().await;
            }
        };
        drop(timeout_at(deadline, all).await); // elapsed: the others are listed
    }

    /// Waits until every server is running or failed, or `deadline` passes. False: it passed.
    pub(crate) async fn settled(&self, deadline: Instant) -> bool {
        let servers = self.servers();
        let all = async {
            for server in servers.iter() {
                server.settled().await;
            }
        };
        timeout_at(deadline, all).await.is_ok()
    }

    /// Ends the waiting of calls that have waited for their server too long, for ever.
    pub(crate) async fn sweep_waiting(&self, bell: &Notify) {
        loop {
            bell.notified().await;
            while self.sweep_rooms() {
                sleep(WAITING_SWEEP).await;
            }
        }
    }

    /// True if anybody waits.
    fn sweep_rooms(&self) -> bool {
        let rooms = self.everybody().into_iter().filter_map(|server| server.wait_queue.clone());
        rooms.filter(WaitQueue::sweep).count() > 0
    }

    /// This server is not wanted any more, and has calls to end.
    pub(crate) fn leaves(&self, server: &Arc<Server>) {
        let mut leaving = self.leaving.lock();
        leaving.retain(|known| known.strong_count() > 0);
        leaving.push(Arc::downgrade(server));
    }

    /// Every server with its calls: those of the config, those of one client alone, those that leave.
    pub(crate) fn everybody(&self) -> Vec<Arc<Server>> {
        // One after the other, never both: neither is needed while the servers are looked at.
        let privates = self.privates.lock().clone();
        let leaving = self.leaving.lock().clone();
        let others = privates.iter().chain(&leaving).filter_map(Weak::upgrade);
        self.servers().iter().cloned().chain(others).collect()
    }

    /// Ends the calls that are late. True if any call is left open.
    pub(crate) fn expire_calls(&self, now: Tick) -> bool {
        let servers = self.everybody();
        let connections = servers.iter().flat_map(|server| server.connections());
        connections.filter(|connection| connection.expire(now)).count() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscriptions_are_bounded() {
        let registry = Registry::new(Arc::default());
        let place = |bytes| registry.place_for_listener(bytes);
        let held: Vec<_> = (0..LISTENERS).map(|_| place(1).unwrap()).collect();
        assert!(place(1).is_none());
        drop(held);
        let held = place(LISTENED_BYTES).unwrap();
        assert!(place(1).is_none() && place(0).is_some());
        drop(held);
        assert!(place(1).is_some());
    }
}
