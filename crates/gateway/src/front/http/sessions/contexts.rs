//! `Contexts`: what sessions share, by the kind of client (`/mcp/for/CLIENT`) and by the caller; and
//! the sessions that stateless requests go to.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use crate::lock::{Mutex, rank};
use trunkline_catalog::client::Client;

use crate::gate::Pass;
use crate::limits::{CALLER_SECONDS, SESSIONS};
use crate::session::{Session, SessionContext};

#[derive(Debug)]
pub(crate) struct Contexts {
    /// For stateless requests of callers that need not say who they are.
    anonymous: Arc<Session>,
    /// One more for each kind of client, by `/mcp/for/CLIENT`.
    // Held while a session is made, with its view.
    kinds: Mutex<HashMap<&'static str, Arc<Session>>, rank::StatelessSessions>,
    /// For authenticated callers: callers with the same rights share one; it goes with the last.
    // Held while a context is made, which takes `kinds`; never the other way round.
    granted: Mutex<HashMap<Rights, Weak<SessionContext>>, rank::GrantedContexts>,
    /// Where the stateless requests of authenticated callers go.
    // Not held while a session is made or ended: both take long, and every stateless request takes
    // this lock.
    callers: Mutex<Callers, rank::StatelessCallers>,
    /// Counts arrivals of callers, and sweeps in which some left.
    // Relaxed where it is used: readers only compare it with an earlier value.
    turnover: AtomicU64,
}

/// The kind of the client, and the number of its grant.
type Rights = (Option<&'static str>, Option<u64>);

/// By their rights and their identity.
type Callers = HashMap<(Rights, Arc<[u8]>), KnownCaller>;

#[derive(Debug)]
struct KnownCaller {
    session: Arc<Session>,
    seen: u32,
}

impl Contexts {
    pub(crate) fn new(context: Arc<SessionContext>) -> Self {
        Self {
            anonymous: Session::new(context),
            kinds: Mutex::default(),
            granted: Mutex::default(),
            callers: Mutex::default(),
            turnover: AtomicU64::new(0),
        }
    }

    /// What sessions opened at this path share.
    pub(crate) fn context(&self, path: &str, caller: Option<&Arc<Pass>>) -> Arc<SessionContext> {
        let kind = client_of(path);
        let open = || Arc::clone(&self.open_to_all(kind).context);
        let Some(caller) = caller else { return open() };
        // Held while the context is made: two callers with the same rights must share one.
        let mut granted = self.granted.lock();
        let rights = rights(kind, caller);
        if let Some(known) = granted.get(&rights).and_then(Weak::upgrade) {
            return known;
        }
        granted.retain(|_, context| context.strong_count() > 0);
        let context = Arc::new(open().for_caller(caller.grant.as_ref()));
        // Weak: the sessions keep it, so that it goes with the last of them.
        granted.insert(rights, Arc::downgrade(&context));
        context
    }

    /// Where stateless requests at this path go.
    pub(crate) fn stateless(
        &self,
        path: &str,
        caller: Option<&Arc<Pass>>,
        now: u32,
    ) -> Arc<Session> {
        let kind = client_of(path);
        let Some(caller) = caller else { return self.open_to_all(kind) };
        let key = (rights(kind, caller), Arc::clone(&caller.who));
        // Released before a session is made: that assembles a view, which takes long.
        if let Some(held) = self.callers.lock().get_mut(&key) {
            // Under the lock that `take_idle` needs: a caller that was just seen is not swept away.
            held.seen = now;
            return Arc::clone(&held.session);
        }
        let session = Session::of(self.context(path, Some(caller)), Some(Arc::clone(caller)));
        let mut callers = self.callers.lock();
        // Bounds the table: a caller costs a session.
        let crowded = callers.len() >= SESSIONS;
        // Two requests of a new caller may both come here; the later session replaces the earlier,
        // which lives as long as its request.
        let gone = if crowded { take_idle(&mut callers, |_| true) } else { Vec::new() };
        callers.insert(key, KnownCaller { session: Arc::clone(&session), seen: now });
        drop(callers); // ending a session takes other locks
        self.turnover.fetch_add(1, Ordering::Relaxed);
        end(gone);
        session
    }

    /// Forgets callers that have been silent for a while.
    pub(crate) fn forget(&self, now: u32) {
        let long = |held: &KnownCaller| now.saturating_sub(held.seen) > CALLER_SECONDS;
        let gone = take_idle(&mut self.callers.lock(), long);
        // Relaxed: readers only compare it with an earlier value. One step for a whole sweep is
        // enough to differ.
        self.turnover.fetch_add(u64::from(!gone.is_empty()), Ordering::Relaxed);
        end(gone);
        // Swept here as well as on arrival: without new callers, dead entries would stay.
        self.granted.lock().retain(|_, context| context.strong_count() > 0);
    }

    /// The sessions of all stateless requests.
    pub(crate) fn all(&self) -> Vec<Arc<Session>> {
        let mut all = vec![Arc::clone(&self.anonymous)];
        // One lock after the other; a caller that moves between the two is seen at most twice.
        all.extend(self.kinds.lock().values().cloned());
        all.extend(self.callers.lock().values().map(|held| Arc::clone(&held.session)));
        all
    }

    /// A number that changes with every arrival and departure.
    pub(crate) fn turnover(&self) -> u64 {
        // Relaxed: readers only compare it with an earlier value.
        self.turnover.load(Ordering::Relaxed)
    }

    /// Callers of stateless requests, and when each was last heard.
    pub(crate) fn callers(&self) -> Vec<(Arc<Session>, u32)> {
        let callers = self.callers.lock();
        callers.values().map(|held| (Arc::clone(&held.session), held.seen)).collect()
    }

    fn open_to_all(&self, kind: Option<Client>) -> Arc<Session> {
        let Some(client) = kind else { return Arc::clone(&self.anonymous) };
        // Held while the session is made: two requests of one kind must share it, and there are few
        // kinds.
        let mut kinds = self.kinds.lock();
        let new = || Session::new(Arc::new(self.anonymous.context.for_client(client)));
        Arc::clone(kinds.entry(client.id()).or_insert_with(new))
    }
}

/// Takes out the callers that `which` names and that no request uses now.
fn take_idle(callers: &mut Callers, which: impl Fn(&KnownCaller) -> bool) -> Vec<Arc<Session>> {
    // One reference is the table itself: no request uses the session.
    let idle = |held: &KnownCaller| Arc::strong_count(&held.session) == 1 && which(held);
    callers.extract_if(|_, held| idle(held)).map(|(_, held)| held.session).collect()
}

/// Ends the sessions, and the processes that were started for them.
fn end(gone: Vec<Arc<Session>>) {
    for session in gone {
        session.end();
    }
}

fn rights(kind: Option<Client>, caller: &Pass) -> Rights {
    (kind.map(Client::id), caller.grant.as_ref().map(|grant| grant.id()))
}

/// The client a path is for: `/mcp/for/CLIENT`.
pub(crate) fn client_of(path: &str) -> Option<Client> {
    path.strip_prefix("/mcp/for/")?.parse().ok()
}
