//! `Front`: what all HTTP connections share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use trunkline_catalog::name::Client;

use crate::call::{Door, Nowhere};
use crate::front::http::budget::Budget;
use crate::front::http::clock::Clock;
use crate::front::http::conn::Conn;
use crate::front::http::guard::Guard;
use crate::front::http::sessions::Sessions;
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
    pub(super) nowhere: Door,
    /// The last client of `/sse` has gone, and it was not to be outlived.
    pub(super) done: CancellationToken,
    stay: bool,
    /// The same for clients that said what they are, by `/mcp/for/CLIENT`.
    contexts: Mutex<HashMap<&'static str, Arc<Session>>>,
    /// For requests that stand for themselves.
    stateless: Arc<Session>,
    conns: Mutex<Vec<Weak<Conn>>>,
    /// A connection came.
    visited: Notify,
    draining: AtomicBool,
    /// The same for those who wait for it.
    ending: CancellationToken,
    /// Every server was once up or had failed.
    settled: AtomicBool,
}

impl Front {
    pub(super) fn new(
        context: Arc<SessionContext>,
        pump: &Pump,
        guard: Guard,
        message_limit: usize,
        stay: bool,
    ) -> Arc<Self> {
        let stateless = Session::new(Arc::clone(&context));
        Arc::new(Self {
            context,
            stateless,
            pump: pump.clone(),
            guard,
            sessions: Sessions::default(),
            clock: Arc::new(Clock::new()),
            bodies: Arc::default(),
            message_limit,
            nowhere: Door::Exit(Arc::new(Nowhere)),
            done: CancellationToken::new(),
            stay,
            contexts: Mutex::default(),
            conns: Mutex::default(),
            visited: Notify::new(),
            draining: AtomicBool::new(false),
            ending: CancellationToken::new(),
            settled: AtomicBool::new(false),
        })
    }

    /// What sessions opened at this path share.
    pub(super) fn context_of(&self, path: &str) -> Arc<SessionContext> {
        Arc::clone(&self.stateless_of(path).context)
    }

    /// Where requests that stand for themselves go at this path.
    pub(super) fn stateless_of(&self, path: &str) -> Arc<Session> {
        let Some(client) = client_of(path) else { return Arc::clone(&self.stateless) };
        let mut contexts = self.contexts.lock();
        let session = contexts
            .entry(client.id())
            .or_insert_with(|| Session::new(Arc::new(self.context.for_client(client))));
        Arc::clone(session)
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
        self.stateless.close_listeners();
        for session in self.contexts.lock().values() {
            session.close_listeners();
        }
        for session in self.sessions.all() {
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

/// The client a path is for: `/mcp/for/CLIENT`.
pub(super) fn client_of(path: &str) -> Option<Client> {
    path.strip_prefix("/mcp/for/")?.parse().ok()
}
