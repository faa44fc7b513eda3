//! `Server`: one configured server, for as long as its config entry lasts, through all its lives.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use trunkline_catalog::Listing;
use trunkline_catalog::config::{Secrets, ServerSpec, Share, ToolFilter, Transport};

use crate::call::Audience;
use crate::upstream::connection::Connection;
use crate::upstream::handshake::Hello;
use crate::upstream::probe::Known;
use crate::upstream::remote::Spoken;
use crate::upstream::state::{State, Status};

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) key: Arc<str>,
    pub(crate) transport: Transport,
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) share: Share,
    /// The clients it may speak to.
    pub(crate) audience: Arc<Audience>,
    /// It is to end although the gateway goes on.
    pub(crate) dismissed: CancellationToken,
    filter: Mutex<Arc<ToolFilter>>,
    settled_once: AtomicBool,
    status: watch::Sender<Status>,
    /// What its listings were warned about, so that it is said once.
    warned: Mutex<HashSet<String>>,
    live: Mutex<Option<Live>>,
    /// The connection before this one, for what clients had subscribed to.
    before: Mutex<Option<Arc<Connection>>>,
    /// In the network: how it was last spoken to.
    pub(super) spoken: Spoken,
    /// As a process: the era it was found to be of.
    pub(super) known: Known,
}

/// After so many, a server's listings are not worth more words.
const MOST_WARNINGS: usize = 1000;

/// What a running server can be asked through, and what it offers.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    pub(crate) connection: Arc<Connection>,
    pub(crate) listing: Arc<Listing>,
    pub(crate) hello: Arc<Hello>,
}

impl Server {
    pub(crate) fn new(spec: ServerSpec, audience: Arc<Audience>) -> Self {
        Self {
            key: spec.key.as_str().into(),
            transport: spec.transport,
            secrets: Arc::new(spec.secrets),
            share: spec.share,
            audience,
            dismissed: CancellationToken::new(),
            filter: Mutex::new(Arc::new(spec.filter)),
            settled_once: AtomicBool::new(false),
            status: watch::Sender::new(Status::default()),
            warned: Mutex::default(),
            live: Mutex::new(None),
            before: Mutex::new(None),
            spoken: Spoken::default(),
            known: Known::default(),
        }
    }

    /// Another process of the same server, for one client alone.
    pub(crate) fn private(&self, audience: Arc<Audience>) -> Self {
        Self {
            key: Arc::clone(&self.key),
            transport: self.transport.clone(),
            secrets: Arc::clone(&self.secrets),
            share: self.share,
            audience,
            dismissed: CancellationToken::new(),
            filter: Mutex::default(),
            settled_once: AtomicBool::new(false),
            status: watch::Sender::new(Status::default()),
            warned: Mutex::default(),
            live: Mutex::new(None),
            before: Mutex::new(None),
            spoken: self.spoken.passed_on(),
            known: self.known.passed_on(),
        }
    }

    /// It takes the place of `old`: what clients had subscribed to there, they hear of from here.
    pub(crate) fn succeed(&self, old: &Self) {
        let before = old.connection().or_else(|| old.before.lock().clone());
        *self.before.lock() = before;
    }

    /// Would `spec` start the same thing?
    pub(crate) fn is_same(&self, spec: &ServerSpec) -> bool {
        *self.key == *spec.key && self.transport == spec.transport && self.share == spec.share
    }

    pub(crate) fn filter(&self) -> Arc<ToolFilter> {
        Arc::clone(&self.filter.lock())
    }

    /// Changes what is shown of it. False if nothing changed.
    pub(crate) fn set_filter(&self, filter: &ToolFilter) -> bool {
        let mut held = self.filter.lock();
        let changed = **held != *filter;
        if changed {
            *held = Arc::new(filter.clone());
        }
        changed
    }

    pub(crate) fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// It has ended, or is told to, and will not come again.
    pub(crate) fn is_done(&self) -> bool {
        self.dismissed.is_cancelled() || self.status.borrow().state == State::Stopped
    }

    /// Was it ever running, failed or stopped?
    pub(crate) fn has_settled(&self) -> bool {
        self.settled_once.load(Ordering::Relaxed)
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.status.borrow().state.is_settled()
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut Status)) {
        self.status.send_modify(change);
        if self.is_settled() {
            self.settled_once.store(true, Ordering::Relaxed);
        }
    }

    /// Waits until the server is running, failed or stopped.
    pub(crate) async fn settled(&self) {
        // The sender lives in `self`: it cannot be gone.
        drop(self.status.subscribe().wait_for(|status| status.state.is_settled()).await);
    }

    /// Of these warnings, those that were not given before.
    pub(crate) fn new_warnings(&self, warnings: &[String]) -> Vec<String> {
        let mut warned = self.warned.lock();
        if warned.len() > MOST_WARNINGS {
            return Vec::new();
        }
        warnings.iter().filter(|warning| warned.insert((*warning).clone())).cloned().collect()
    }

    pub(crate) fn set_live(&self, live: Option<Live>) {
        let before = std::mem::replace(&mut *self.live.lock(), live);
        if let Some(before) = before {
            let mut held = self.before.lock();
            *held = Some(before.connection);
        }
    }

    /// The connection before this one, once.
    pub(crate) fn take_subscriptions(&self) -> Option<Arc<Connection>> {
        let before = self.before.lock().take()?;
        let now = self.connection();
        Some(before).filter(|before| !now.is_some_and(|now| Arc::ptr_eq(&now, before)))
    }

    pub(crate) fn live(&self) -> Option<Live> {
        self.live.lock().clone()
    }

    pub(crate) fn connection(&self) -> Option<Arc<Connection>> {
        self.live.lock().as_ref().map(|live| Arc::clone(&live.connection))
    }

    /// Why a call to this server cannot be made now, in words for whoever called.
    pub(crate) fn absence(&self) -> String {
        let key = &self.key;
        match &self.status.borrow().state {
            State::Initializing => format!("server `{key}` is still starting; try again soon"),
            State::Running => format!("server `{key}` is running and does not offer this"),
            State::Failed(failure) => format!("server `{key}` {failure}"),
            State::Stopped => format!("server `{key}` is stopped"),
        }
    }
}
