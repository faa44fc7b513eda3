//! The clients a server may speak to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use crate::call::{Client, Level};
use crate::lock::{Mutex, rank};

#[derive(Debug, Default)]
pub(crate) struct Audience {
    // Weak: a session that ends without leaving must not be kept alive by this list.
    clients: Mutex<Vec<Weak<Client>>, rank::Audience>,
    /// There is only ever one client: whatever a server says is meant for it.
    exclusive: AtomicBool,
}

impl Audience {
    pub(crate) fn make_exclusive(&self) {
        // Relaxed: set while the gateway is put together, before any client or server is there.
        self.exclusive.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_exclusive(&self) -> bool {
        self.exclusive.load(Ordering::Relaxed)
    }

    pub(crate) fn join(&self, client: &Arc<Client>) {
        let mut clients = self.clients.lock();
        // Here, where the list grows: so it never holds more than the clients there are, and a new
        // one.
        clients.retain(|known| known.strong_count() > 0);
        clients.push(Arc::downgrade(client));
    }

    pub(crate) fn leave(&self, client: &Arc<Client>) {
        let gone = Arc::downgrade(client);
        self.clients.lock().retain(|known| !known.ptr_eq(&gone));
    }

    pub(crate) fn all(&self) -> Vec<Arc<Client>> {
        // Copied out: the caller writes to the clients, which must not happen under this lock.
        self.clients.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// The clients that may hear what this server says outside of any call.
    pub(crate) fn of(&self, server: &str) -> Vec<Arc<Client>> {
        let mut all = self.all();
        all.retain(|client| client.may_hear(server));
        all
    }

    /// The one client everything is meant for, if there is only ever one.
    pub(crate) fn sole(&self) -> Option<Arc<Client>> {
        if !self.is_exclusive() {
            return None;
        }
        self.clients.lock().iter().find_map(Weak::upgrade)
    }

    /// The most talkative level any client has asked for.
    pub(crate) fn level(&self) -> Option<Level> {
        self.all().iter().filter_map(|client| client.level()).min()
    }
}
