//! The clients a server may speak to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use crate::call::{Client, Level};
use crate::lock::{Mutex, rank};

#[derive(Debug, Default)]
pub(crate) struct Audience {
    // Weak: a session that ends without leaving must not be kept alive by this list.
    clients: Mutex<Vec<Weak<Client>>, rank::Audience>,
    /// There is only ever one client: whatever a server says is meant for it.
    exclusive: AtomicBool,
    /// Of a process that is not shared: the client that has it.
    holder: OnceLock<Weak<Client>>,
}

impl Audience {
    pub(crate) fn make_exclusive(&self) {
        // Relaxed: set while the gateway is put together, before any client or server is there.
        self.exclusive.store(true, Ordering::Relaxed);
    }

    /// For a process that this client has, which may hear of it or not.
    pub(crate) fn held_by(client: &Arc<Client>) -> Self {
        Self { holder: OnceLock::from(Arc::downgrade(client)), ..Self::default() }
    }

    /// The client that has the process, where it is not shared.
    pub(crate) fn holder(&self) -> Option<Arc<Client>> {
        self.holder.get().and_then(Weak::upgrade)
    }

    pub(crate) fn is_exclusive(&self) -> bool {
        // Relaxed: it does not change once clients or servers have the audience.
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
