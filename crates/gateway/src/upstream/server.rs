//! `Server`: one configured server, for as long as Trunkline runs, through all its lives.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use trunkline_catalog::Listing;
use trunkline_catalog::config::{Secrets, Transport};

use crate::upstream::connection::Connection;
use crate::upstream::state::{State, Status};

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) index: usize,
    pub(crate) key: Arc<str>,
    pub(crate) transport: Transport,
    pub(crate) secrets: Arc<Secrets>,
    status: watch::Sender<Status>,
    /// What its listings were warned about, so that it is said once.
    warned: Mutex<HashSet<String>>,
    live: Mutex<Option<Live>>,
}

/// After so many, a server's listings are not worth more words.
const MOST_WARNINGS: usize = 1000;

/// What a running server can be asked through, and what it offers.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    pub(crate) connection: Arc<Connection>,
    pub(crate) listing: Arc<Listing>,
}

impl Server {
    pub(crate) fn new(
        index: usize,
        key: &str,
        transport: Transport,
        secrets: Arc<Secrets>,
    ) -> Self {
        Self {
            index,
            key: key.into(),
            transport,
            secrets,
            status: watch::Sender::new(Status::default()),
            warned: Mutex::default(),
            live: Mutex::new(None),
        }
    }

    pub(crate) fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut Status)) {
        self.status.send_modify(change);
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
        *self.live.lock() = live;
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
            State::Running => format!("server `{key}` is running and has no such tool"),
            State::Failed(failure) => format!("server `{key}` {failure}"),
            State::Stopped => format!("server `{key}` is stopped"),
        }
    }
}
