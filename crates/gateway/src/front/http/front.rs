//! `Front`: what all HTTP connections share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::call::{Discard, ResponseSink};
use crate::front::http::attach::Attachment;
use crate::front::http::budget::Budget;
use crate::front::http::clock::Clock;
use crate::front::http::conn::Conn;
use crate::front::http::contexts::Contexts;
use crate::front::http::guard::Guard;
use crate::front::http::sessions::Sessions;
use crate::gate::Gate;
use crate::lock::{Mutex, rank};
use crate::pump::Pump;
use crate::session::{Session, SessionContext};

#[derive(Debug)]
pub(super) struct Front {
    pub(super) context: Arc<SessionContext>,
    pub(super) pump: Pump,
    pub(super) guard: Guard,
    pub(super) sessions: Sessions,
    pub(super) clock: Arc<Clock>,
    pub(super) bodies: Arc<Budget>,
    /// The longest body.
    pub(super) message_limit: usize,
    /// For messages that have no answer.
    pub(super) nowhere: ResponseSink,
    /// The last client of `/sse` has gone, and it was not to be outlived.
    pub(super) done: CancellationToken,
    stay: bool,
    pub(super) contexts: Contexts,
    /// Who may come in; `None`: the guard's token decides.
    pub(super) gate: Option<Arc<dyn Gate>>,
    /// Other routes, and the requests of theirs that are open.
    pub(super) attachment: Option<Arc<dyn Attachment>>,
    pub(super) attached: TaskTracker,
    conns: Mutex<Vec<Weak<Conn>>, rank::HttpConns>,
    /// A connection came.
    visited: Notify,
    draining: AtomicBool,
    /// The same for those who wait for it.
    ending: CancellationToken,
    /// Every server was once up or had failed.
    settled: AtomicBool,
}

/// What may be there besides.
#[derive(Debug, Default)]
pub(super) struct Others {
    pub(super) gate: Option<Arc<dyn Gate>>,
    pub(super) attachment: Option<Arc<dyn Attachment>>,
}

impl Front {
    pub(super) fn new(
        context: Arc<SessionContext>,
        pump: &Pump,
        guard: Guard,
        message_limit: usize,
        stay: bool,
        others: Others,
    ) -> Arc<Self> {
        let Others { gate, attachment } = others;
        Arc::new(Self {
            contexts: Contexts::new(Arc::clone(&context)),
            gate,
            attachment,
            attached: TaskTracker::new(),
            context,
            pump: pump.clone(),
            guard,
            sessions: Sessions::default(),
            clock: Arc::new(Clock::new()),
            bodies: Arc::default(),
            message_limit,
            nowhere: ResponseSink::Responder(Arc::new(Discard)),
            done: CancellationToken::new(),
            stay,
            conns: Mutex::default(),
            visited: Notify::new(),
            draining: AtomicBool::new(false),
            ending: CancellationToken::new(),
            settled: AtomicBool::new(false),
        })
    }

    /// Of the gate: what was decided holds while this stays the same.
    pub(super) fn version(&self) -> u64 {
        self.gate.as_ref().map_or(0, |gate| gate.version())
    }

    pub(super) fn add(&self, conn: &Arc<Conn>) {
        self.conns.lock().push(Arc::downgrade(conn));
        self.visited.notify_one();
    }

    /// The connections there are.
    pub(super) fn conns(&self) -> Vec<Arc<Conn>> {
        let mut conns = self.conns.lock();
        let mut alive = Vec::with_capacity(conns.len());
        conns.retain(|conn| conn.upgrade().map(|conn| alive.push(conn)).is_some());
        alive
    }

    /// Waits while there is nothing to look after.
    pub(super) async fn visited(&self) {
        if self.conns.lock().is_empty() && self.sessions.is_empty() {
            self.visited.notified().await;
        }
    }

    /// Tells the client of this session about changes, until it or everything ends: that the
    /// servers go then is no news.
    pub(super) fn announce(&self, session: &Arc<Session>) {
        let (session, ending) = (Arc::clone(session), self.ending.clone());
        let task = async move { ending.run_until_cancelled(session.announce_changes()).await };
        drop(self.context.tasks.spawn_on(task, &self.context.runtime));
    }

    /// No new calls from now on, and nobody is listened for any more.
    pub(super) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.ending.cancel();
        self.attached.close();
        for session in self.contexts.all().into_iter().chain(self.sessions.all()) {
            session.close_listeners();
        }
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    pub(super) fn last_left(&self) {
        if !self.stay {
            self.done.cancel();
        }
    }

    /// The servers whose first start is not over yet.
    pub(super) fn missing(&self) -> Vec<String> {
        if self.settled.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let servers = self.context.registry.servers();
        let starting = servers.iter().filter(|server| !server.has_settled());
        let missing: Vec<_> = starting.map(|server| server.key.to_string()).collect();
        self.settled.store(missing.is_empty(), Ordering::Relaxed);
        missing
    }
}
