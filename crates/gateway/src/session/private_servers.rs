//! `PrivateServers`: a client's own processes of servers that are not shared (`share: per-session`).
//! Each starts when the client first asks something of its server.

use std::collections::HashMap;
use std::sync::Arc;

use crate::lock::{Mutex, rank};

use crate::call::{Audience, Client};
use crate::error::CallError;
use crate::session::context::SessionContext;
use crate::upstream::{LifeVerdict, Server, supervise};

#[derive(Debug)]
pub(crate) struct PrivateServers {
    context: Arc<SessionContext>,
    client: Arc<Client>,
    /// For requests of the session, by the server's id.
    // Held while a process is told to start: two requests at once must not start two.
    of_session: Mutex<HashMap<Arc<str>, Arc<Server>>, rank::SessionPrivates>,
    /// For stateless calls: one call at a time each.
    // Held while a free process is looked for or told to start: two calls must not get the same
    // one.
    pool: Mutex<Vec<Arc<Server>>, rank::SessionPool>,
}

impl PrivateServers {
    pub(super) fn new(context: &Arc<SessionContext>, client: &Arc<Client>) -> Self {
        let (context, client) = (Arc::clone(context), Arc::clone(client));
        Self { context, client, of_session: Mutex::default(), pool: Mutex::default() }
    }

    /// The session's process of this server; it is started if need be.
    pub(super) fn for_session(&self, server: &Arc<Server>) -> Result<Arc<Server>, CallError> {
        // Held while the process is started: two requests must not start two.
        let mut privates = self.of_session.lock();
        let held = privates.get(server.key.id());
        // The config may have changed since, or the process may have ended for good.
        let held = held.filter(|held| held.definition.transport == server.definition.transport);
        let held = held.filter(|held| held.connection().is_some() || !held.is_settled());
        if let Some(held) = held.filter(|held| !held.signals.dismissed.is_cancelled()) {
            return Ok(Arc::clone(held));
        }
        let audience = Arc::new(Audience::held_by(&self.client));
        // What this process asks can only concern this client.
        audience.make_exclusive();
        audience.join(&self.client);
        let own = self.start(server, audience)?;
        // The process before is told to end; the calls it has may end first.
        if let Some(before) = privates.insert(Arc::clone(server.key.id()), Arc::clone(&own)) {
            before.signals.dismiss_for_another(LifeVerdict::Replaced);
        }
        Ok(own)
    }

    /// A process with no other call, so that what it asks can only concern this one. A stateless
    /// client has no session by which a process could be its own.
    pub(super) fn for_stateless_call(
        &self,
        server: &Arc<Server>,
    ) -> Result<Arc<Server>, CallError> {
        // Held while a process is started: two calls must not get the same one.
        let mut pool = self.pool.lock();
        pool.retain(|held| {
            // Neither connected nor settled: it is still starting, and counts as alive.
            let lives = held.connection().is_some() || !held.is_settled();
            lives && !held.signals.dismissed.is_cancelled()
        });
        let same = |held: &&Arc<Server>| {
            held.key == server.key && held.definition.transport == server.definition.transport
        };
        let is_free =
            |held: &&Arc<Server>| held.connection().is_some_and(|held| held.link.is_free());
        if let Some(free) = pool.iter().filter(same).find(is_free) {
            return Ok(Arc::clone(free));
        }
        let own = self.start(server, Arc::new(Audience::held_by(&self.client)))?;
        pool.push(Arc::clone(&own));
        Ok(own)
    }

    fn start(
        &self,
        server: &Arc<Server>,
        audience: Arc<Audience>,
    ) -> Result<Arc<Server>, CallError> {
        let own = Arc::new(server.private(audience));
        let registry = &self.context.registry;
        // Bounded over all sessions: a process costs far more than a session.
        let has_room = registry.add_private(&own)
            // Room is made once: if that is taken by another session meanwhile, this one is refused
            // rather than kept trying.
            || (registry.make_private_room() && registry.add_private(&own));
        if !has_room {
            let why = "too many processes of servers that are not shared are running";
            return Err(CallError::Busy { server: server.key.to_string(), why });
        }
        let supervisor = self.context.supervisor.clone();
        let task = supervise(Arc::clone(&own), supervisor);
        drop(self.context.tasks.spawn_on(task, &self.context.runtime));
        Ok(own)
    }

    /// The session's process of the server with this id, if it has one.
    pub(super) fn get(&self, id: &str) -> Option<Arc<Server>> {
        self.of_session.lock().get(id).cloned()
    }

    /// The session's processes.
    pub(super) fn all_of_session(&self) -> Vec<Arc<Server>> {
        self.of_session.lock().values().cloned().collect()
    }

    /// Ends all processes: the client has gone.
    pub(super) fn dismiss(&self) {
        // Both locks for a moment: cancelling a token wakes tasks and takes none of our locks.
        for server in self.of_session.lock().values().chain(self.pool.lock().iter()) {
            server.signals.dismissed.cancel();
        }
    }
}
