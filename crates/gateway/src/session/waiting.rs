//! Requests that wait for servers that are still starting, up to the start deadline.

use std::sync::Arc;

use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;
use trunkline_wire::{Id, Message};

use crate::call::Ticket;
use crate::pump::Touched;
use crate::session::Session;
use crate::upstream::Server;

impl Session {
    /// Answers `tools/list` once every server is up or has failed, or the deadline has passed.
    pub(super) fn list_when_ready(self: &Arc<Self>, id: Id) {
        let context = Arc::clone(&self.context);
        let ready = async move {
            context.registry.settled(context.start_deadline).await;
        };
        self.wait(id, ready, |session, id| {
            id.with_token(|token| session.send_list(token));
        });
    }

    /// Sends a call on once its server is up.
    pub(super) fn call_when_ready(
        self: &Arc<Self>,
        server: Arc<Server>,
        message: &Message<'_>,
        id: Id,
    ) {
        let deadline = self.context.start_deadline;
        let ready = async move {
            drop(timeout_at(deadline, server.settled()).await);
        };
        let line = message.bytes.to_vec();
        self.wait(id, ready, move |session, _| {
            let mut touched = Touched::default();
            session.receive(&line, &session.context.registry.snapshot(), &mut touched);
            touched.flush();
        });
    }

    /// Keeps the request open here, where it can be cancelled, until it can be answered.
    fn wait(
        self: &Arc<Self>,
        id: Id,
        ready: impl Future<Output = ()> + Send + 'static,
        then: impl FnOnce(&Arc<Self>, &Id) + Send + 'static,
    ) {
        let cancelled = CancellationToken::new();
        self.client.open(&id, Ticket::Waiting(cancelled.clone()));
        let session = Arc::clone(self);
        let task = async move {
            tokio::select! {
                () = cancelled.cancelled() => return,
                () = ready => {}
            }
            if session.client.take(&id).is_some() {
                then(&session, &id);
            }
        };
        drop(self.context.tasks.spawn_on(task, &self.context.runtime));
    }
}
