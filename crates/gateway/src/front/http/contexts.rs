//! What sessions share, by what kind of client they are for and by who it is that calls.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use trunkline_catalog::client::Client;

use crate::gate::Pass;
use crate::limits::{CALLER_SECONDS, SESSIONS};
use crate::lock::{Mutex, rank};
use crate::session::{Session, SessionContext};

#[derive(Debug)]
pub(super) struct Contexts {
    /// For requests that stand for themselves, of whoever makes them.
    anybody: Arc<Session>,
    /// The same for clients that said what they are, by `/mcp/for/CLIENT`.
    kinds: Mutex<HashMap<&'static str, Arc<Session>>, rank::StatelessSessions>,
    /// For callers who have to say who they are: shared by all with the same rights, and gone with
    /// the last of them.
    granted: Mutex<HashMap<Rights, Weak<SessionContext>>, rank::GrantedContexts>,
    /// Where their requests that stand for themselves go.
    callers: Mutex<Callers, rank::StatelessCallers>,
    /// Counts callers that have come, and times at which some have gone.
    turnover: AtomicU64,
}

/// The kind of the client, and the number of its grant.
type Rights = (Option<&'static str>, Option<u64>);

/// By their rights and by who they are.
type Callers = HashMap<(Rights, Arc<[u8]>), Held>;

#[derive(Debug)]
struct Held {
    session: Arc<Session>,
    seen: u32,
}

impl Contexts {
    pub(super) fn new(context: Arc<SessionContext>) -> Self {
        Self {
            anybody: Session::new(context),
            kinds: Mutex::default(),
            granted: Mutex::default(),
            callers: Mutex::default(),
            turnover: AtomicU64::new(0),
        }
    }

    /// What sessions opened at this path share.
    pub(super) fn context(&self, path: &str, caller: Option<&Arc<Pass>>) -> Arc<SessionContext> {
        let kind = client_of(path);
        let open = || Arc::clone(&self.open_to_all(kind).context);
        let Some(caller) = caller else { return open() };
        let mut granted = self.granted.lock();
        let rights = rights(kind, caller);
        if let Some(known) = granted.get(&rights).and_then(Weak::upgrade) {
            return known;
        }
        granted.retain(|_, context| context.strong_count() > 0);
        let context = Arc::new(open().for_caller(caller.grant.as_ref()));
        granted.insert(rights, Arc::downgrade(&context));
        context
    }

    /// Where requests that stand for themselves go at this path.
    pub(super) fn stateless(
        &self,
        path: &str,
        caller: Option<&Arc<Pass>>,
        now: u32,
    ) -> Arc<Session> {
        let kind = client_of(path);
        let Some(caller) = caller else { return self.open_to_all(kind) };
        let key = (rights(kind, caller), Arc::clone(&caller.who));
        if let Some(held) = self.callers.lock().get_mut(&key) {
            held.seen = now;
            return Arc::clone(&held.session);
        }
        let session = Session::of(self.context(path, Some(caller)), Some(Arc::clone(caller)));
        let mut callers = self.callers.lock();
        let crowded = callers.len() >= SESSIONS;
        let gone = if crowded { take_idle(&mut callers, |_| true) } else { Vec::new() };
        callers.insert(key, Held { session: Arc::clone(&session), seen: now });
        drop(callers);
        self.turnover.fetch_add(1, Ordering::Relaxed);
        end(gone);
        session
    }

    /// Forgets callers that have not been heard of for a while.
    pub(super) fn forget(&self, now: u32) {
        let long = |held: &Held| now.saturating_sub(held.seen) > CALLER_SECONDS;
        let gone = take_idle(&mut self.callers.lock(), long);
        self.turnover.fetch_add(u64::from(!gone.is_empty()), Ordering::Relaxed);
        end(gone);
        self.granted.lock().retain(|_, context| context.strong_count() > 0);
    }

    /// Everybody who makes requests that stand for themselves.
    pub(super) fn all(&self) -> Vec<Arc<Session>> {
        let mut all = vec![Arc::clone(&self.anybody)];
        all.extend(self.kinds.lock().values().cloned());
        all.extend(self.callers.lock().values().map(|held| Arc::clone(&held.session)));
        all
    }

    /// Another number whenever a caller has come or gone.
    pub(super) fn turnover(&self) -> u64 {
        self.turnover.load(Ordering::Relaxed)
    }

    /// Callers who make such requests, and when each was last heard of.
    pub(super) fn callers(&self) -> Vec<(Arc<Session>, u32)> {
        let callers = self.callers.lock();
        callers.values().map(|held| (Arc::clone(&held.session), held.seen)).collect()
    }

    fn open_to_all(&self, kind: Option<Client>) -> Arc<Session> {
        let Some(client) = kind else { return Arc::clone(&self.anybody) };
        let mut kinds = self.kinds.lock();
        let new = || Session::new(Arc::new(self.anybody.context.for_client(client)));
        Arc::clone(kinds.entry(client.id()).or_insert_with(new))
    }
}

/// Takes out those whom nobody uses now, as far as `which` says.
fn take_idle(callers: &mut Callers, which: impl Fn(&Held) -> bool) -> Vec<Arc<Session>> {
    let idle = |held: &Held| Arc::strong_count(&held.session) == 1 && which(held);
    callers.extract_if(|_, held| idle(held)).map(|(_, held)| held.session).collect()
}

/// Processes that were started for them end.
fn end(gone: Vec<Arc<Session>>) {
    for session in gone {
        session.end();
    }
}

fn rights(kind: Option<Client>, caller: &Pass) -> Rights {
    (kind.map(Client::id), caller.grant.as_ref().map(|grant| grant.id()))
}

/// The client a path is for: `/mcp/for/CLIENT`.
pub(super) fn client_of(path: &str) -> Option<Client> {
    path.strip_prefix("/mcp/for/")?.parse().ok()
}
