//! `Front`: what all HTTP connections share. It knows no handler: handlers know it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use crate::lock::{Mutex, rank};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::call::{Discard, ResponseSink};
use crate::front::http::access::Guard;
use crate::front::http::attached::Attachment;
use crate::front::http::connection::{BodyBudget, Clock, Conn};
use crate::front::http::replicas::FrontReplicas;
use crate::front::http::sessions::{Contexts, SessionNames, Sessions};
use crate::gate::Gate;
use crate::pump::Pumps;
use crate::replicas::ReplicaAccess;
use crate::session::{Session, SessionContext};

/// Between two requests of somebody who has not shown who they are, while all places are taken: whoever opens
/// connections to keep others out has to open them again and again.
pub(crate) const CROWDED_IDLE_SECONDS: u32 = 2;

#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) context: Arc<SessionContext>,
    pub(crate) pumps: Pumps,
    pub(crate) guard: Guard,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) contexts: Contexts,
    pub(crate) clock: Arc<Clock>,
    pub(crate) bodies: Arc<BodyBudget>,
    /// The longest body of a message.
    pub(crate) message_limit: usize,
    /// For messages that have no answer.
    pub(crate) discard: ResponseSink,
    /// Decides which callers may speak MCP; `None`: the guard's token decides.
    pub(crate) gate: Option<Arc<dyn Gate>>,
    /// Other routes on this listener.
    pub(crate) attachment: Option<Arc<dyn Attachment>>,
    /// The other replicas of a platform.
    pub(crate) replicas: Option<FrontReplicas>,
    conns: OpenConns,
    pub(crate) shutdown: Shutdown,
    /// It was once known of every server what it offers, or it had failed.
    settled: AtomicBool,
}

/// The open connections.
#[derive(Debug, Default)]
struct OpenConns {
    // Held to add one or to copy them all: the sweeper closes connections without it.
    all: Mutex<Vec<Weak<Conn>>, rank::HttpConns>,
    /// Rung when a connection comes.
    added: Notify,
    /// All places are taken, or nearly.
    crowded: AtomicBool,
}

/// How far the end of the front has come.
#[derive(Debug, Default)]
pub(crate) struct Shutdown {
    /// Cancelled when the last client of `/sse` has left and the front should not outlive it.
    pub(crate) deserted: CancellationToken,
    /// Nobody should be sent here any more.
    leaving: AtomicBool,
    draining: AtomicBool,
    /// Cancelled when draining begins.
    ending: CancellationToken,
    /// Open requests of attached routes.
    pub(crate) attached: TaskTracker,
}

/// What a front is given besides its context and the pumps.
#[derive(Debug)]
pub(crate) struct FrontOptions {
    pub(crate) guard: Guard,
    pub(crate) message_limit: usize,
    /// False: the front ends when the last client of `/sse` has left.
    pub(crate) stay: bool,
    pub(crate) gate: Option<Arc<dyn Gate>>,
    pub(crate) attachment: Option<Arc<dyn Attachment>>,
    pub(crate) replicas: Option<ReplicaAccess>,
}

/// What clients carry is sealed for all replicas from now on. Returns the others, if there may be any.
fn known_replicas(context: &SessionContext, access: ReplicaAccess) -> Option<FrontReplicas> {
    let ReplicaAccess { seal, others, call_keys } = access;
    context.call_keys.share(&call_keys);
    let parking = &context.registry.parking;
    parking.share(&seal);
    let others = others?;
    parking.tasks.tell(&others);
    Some(FrontReplicas::new(seal, others))
}

impl Shutdown {
    /// Resolves when draining begins.
    pub(crate) async fn ending(&self) {
        self.ending.cancelled().await;
    }
}

impl Front {
    pub(crate) fn new(
        context: Arc<SessionContext>,
        pumps: &Pumps,
        options: FrontOptions,
    ) -> Arc<Self> {
        let FrontOptions { guard, message_limit, stay, gate, attachment, replicas } = options;
        let replicas = replicas.and_then(|access| known_replicas(&context, access));
        let names = SessionNames::new(replicas.as_ref().map(|replicas| Arc::clone(&replicas.seal)));
        let shutdown = Shutdown::default();
        Arc::new(Self {
            contexts: Contexts::new(Arc::clone(&context)),
            context,
            pumps: pumps.clone(),
            guard,
            sessions: Sessions::new(names, (!stay).then(|| shutdown.deserted.clone())),
            clock: Arc::new(Clock::new()),
            bodies: Arc::default(),
            message_limit,
            discard: Arc::new(Discard),
            gate,
            attachment,
            replicas,
            conns: OpenConns::default(),
            shutdown,
            settled: AtomicBool::new(false),
        })
    }

    /// The gate's version: its decisions hold while this stays the same.
    pub(crate) fn gate_version(&self) -> u64 {
        self.gate.as_ref().map_or(0, |gate| gate.version())
    }

    pub(crate) fn add(&self, conn: &Arc<Conn>) {
        // Weak: the pump owns the connection, and drops it when it ends.
        self.conns.all.lock().push(Arc::downgrade(conn));
        self.conns.added.notify_one();
    }

    /// All open connections.
    pub(crate) fn conns(&self) -> Vec<Arc<Conn>> {
        let mut conns = self.conns.all.lock();
        let mut alive = Vec::with_capacity(conns.len());
        conns.retain(|conn| conn.upgrade().map(|conn| alive.push(conn)).is_some());
        alive
    }

    /// Says whether there are places for further connections.
    pub(crate) fn set_crowded(&self, is_crowded: bool) {
        // Relaxed: the sweeper may learn of it a second later.
        self.conns.crowded.store(is_crowded, Ordering::Relaxed);
    }

    pub(crate) fn is_crowded(&self) -> bool {
        self.conns.crowded.load(Ordering::Relaxed)
    }

    /// Waits while there is neither a connection nor a session to sweep.
    pub(crate) async fn wait_for_work(&self) {
        if self.conns.all.lock().is_empty() && self.sessions.is_empty() {
            self.conns.added.notified().await;
        }
    }

    /// Tells the client of this session about changed lists, until it or the front ends: at the end
    /// all servers go, which is no news to a client.
    pub(crate) fn announce(&self, session: &Arc<Session>) {
        // The task belongs to the context, which waits for its tasks at the end.
        let (session, ending) = (Arc::clone(session), self.shutdown.ending.clone());
        let task = async move { ending.run_until_cancelled(session.announce_changes()).await };
        drop(self.context.tasks.spawn_on(task, &self.context.runtime));
    }

    /// Says from now on that nobody should be sent here. Those who come are served.
    pub(crate) fn announce_end(&self) {
        // Relaxed: a probe that reads the old value comes again.
        self.shutdown.leaving.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_leaving(&self) -> bool {
        self.shutdown.leaving.load(Ordering::Relaxed)
    }

    /// Refuses new calls from now on, and ends every subscription.
    pub(crate) fn drain(&self) {
        self.announce_end();
        // Relaxed: a request that slips in is drained like those before it.
        self.shutdown.draining.store(true, Ordering::Relaxed);
        self.shutdown.ending.cancel();
        self.shutdown.attached.close();
        for session in self.contexts.all().into_iter().chain(self.sessions.all()) {
            session.close_listeners();
        }
    }

    pub(crate) fn is_draining(&self) -> bool {
        // Relaxed: a request that reads the old value is drained like those before it.
        self.shutdown.draining.load(Ordering::Relaxed)
    }

    /// The keys of servers of which it is not known yet what they offer.
    pub(crate) fn starting_servers(&self) -> Vec<String> {
        // Relaxed: the flag is only ever set, and a stale one costs another look.
        if self.settled.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let servers = self.context.registry.servers();
        let starting = servers.iter().filter(|server| !server.is_listed());
        let missing: Vec<_> = starting.map(|server| server.key.to_string()).collect();
        // Relaxed: a late `false` over a `true` costs another look, no more.
        self.settled.store(missing.is_empty(), Ordering::Relaxed);
        missing
    }
}
