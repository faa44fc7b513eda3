//! Servers that are not shared (`share: per-session`): each client gets a process of its own when
//! it first asks something of such a server.

use std::sync::Arc;

use trunkline_catalog::config::Share;

use crate::call::{Audience, Manner};
use crate::error::CallError;
use crate::session::Session;
use crate::upstream::{Connection, Server, supervise};

impl Session {
    /// The client's own process of a server that is not shared; `None`: it is shared, or there is
    /// only ever one client. Requests that stand for themselves have nothing of their own.
    pub(super) fn own_process(
        &self,
        server: &Arc<Server>,
        manner: &Manner,
    ) -> Result<Option<Arc<Server>>, CallError> {
        if server.share == Share::Shared || self.context.exclusive || !manner.is_session() {
            return Ok(None);
        }
        let mut privates = self.privates.lock();
        let held = privates.get(&server.key);
        // The entry may have changed since, or the process may have ended for good.
        let held = held.filter(|held| held.transport == server.transport);
        let held = held.filter(|held| held.connection().is_some() || !held.is_settled());
        if let Some(held) = held.filter(|held| !held.dismissed.is_cancelled()) {
            return Ok(Some(Arc::clone(held)));
        }
        let audience = Arc::new(Audience::default());
        audience.make_exclusive();
        audience.join(&self.client);
        let own = Arc::new(server.private(audience));
        if !self.context.registry.add_private(&own) {
            let why = "too many processes of servers that are not shared are running";
            return Err(CallError::Busy { server: server.key.to_string(), why });
        }
        let supervisor = self.context.supervisor.clone();
        let task = supervise(Arc::clone(&own), supervisor);
        drop(self.context.tasks.spawn_on(task, &self.context.runtime));
        if let Some(before) = privates.insert(Arc::clone(&server.key), Arc::clone(&own)) {
            before.dismissed.cancel();
        }
        Ok(Some(own))
    }

    /// The connection this client's messages to a server take now.
    pub(super) fn connection_of(&self, server: &Arc<Server>) -> Option<Arc<Connection>> {
        if !self.has_joined() {
            return server.connection();
        }
        match self.own_process(server, &Manner::Session) {
            Ok(Some(own)) => own.connection(),
            Ok(None) => server.connection(),
            Err(_) => None,
        }
    }
}
