//! Servers that are not shared (`share: per-session`): each client gets a process of its own when
//! it first asks something of such a server.

use std::sync::Arc;

use trunkline_catalog::config::Share;

use crate::call::{Audience, RequestEra};
use crate::error::CallError;
use crate::session::{Session, SessionRequest};
use crate::upstream::{Connection, Server, supervise};

impl Session {
    /// The client's own process of a server that is not shared; `None`: it is shared, or there is
    /// only ever one client.
    pub(super) fn own_process(
        &self,
        server: &Arc<Server>,
        asked: Option<&SessionRequest<'_>>,
    ) -> Result<Option<Arc<Server>>, CallError> {
        if self.context.exclusive || server.definition.share == Share::Shared {
            return Ok(None);
        }
        if let Some(SessionRequest { manner: RequestEra::Stateless(how), message, .. }) = asked {
            // Who comes again is known by its state; who cannot be asked needs nothing of its own.
            let needs = how.can_be_asked() && message.params.request_state.is_none();
            return if needs { self.free_process(server).map(Some) } else { Ok(None) };
        }
        let mut privates = self.privates.lock();
        let held = privates.get(server.key.id());
        // The entry may have changed since, or the process may have ended for good.
        let held = held.filter(|held| held.definition.transport == server.definition.transport);
        let held = held.filter(|held| held.connection().is_some() || !held.is_settled());
        if let Some(held) = held.filter(|held| !held.signals.dismissed.is_cancelled()) {
            return Ok(Some(Arc::clone(held)));
        }
        let audience = Arc::new(Audience::default());
        audience.make_exclusive();
        audience.join(&self.client);
        let own = self.start_private(server, audience)?;
        if let Some(before) = privates.insert(Arc::clone(server.key.id()), Arc::clone(&own)) {
            before.signals.dismissed.cancel();
        }
        Ok(Some(own))
    }

    /// A process that no other call is with: what it asks can only be for this one. Stateless
    /// clients have no session by which a process could be theirs.
    fn free_process(&self, server: &Arc<Server>) -> Result<Arc<Server>, CallError> {
        let mut pool = self.pool.lock();
        pool.retain(|held| {
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
        let own = self.start_private(server, Arc::default())?;
        pool.push(Arc::clone(&own));
        Ok(own)
    }

    fn start_private(
        &self,
        server: &Arc<Server>,
        audience: Arc<Audience>,
    ) -> Result<Arc<Server>, CallError> {
        let own = Arc::new(server.private(audience));
        let registry = &self.context.registry;
        let has_room = registry.add_private(&own)
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

    /// The connection this client's messages to a server take now.
    pub(super) fn connection_of(&self, server: &Arc<Server>) -> Option<Arc<Connection>> {
        if !self.has_joined() {
            return server.connection();
        }
        match self.own_process(server, None) {
            Ok(Some(own)) => own.connection(),
            Ok(None) => server.connection(),
            Err(_) => None,
        }
    }
}
