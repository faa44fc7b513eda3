//! Requests that wait for servers that are still starting, up to the start deadline.

use std::sync::Arc;

use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use trunkline_catalog::ListKind;
use trunkline_wire::{Id, Revision};

use crate::call::{Door, Ticket, Waiting};
use crate::error::CallError;
use crate::limits::WELCOME;
use crate::pump::Touched;
use crate::session::Session;
use crate::session::legacy::{Asked, refuse};
use crate::upstream::Server;

impl Session {
    /// Answers a list request once every server is up or has failed, or the deadline has passed.
    pub(super) fn list_when_ready(self: &Arc<Self>, kind: ListKind, id: Id, door: &Door) {
        let ready = self.all_settled(self.context.start_deadline);
        let to = door.clone();
        self.wait(id, door, ready, move |session, id, touched| {
            id.with_token(|token| session.send_list(kind, token, &to, touched));
        });
    }

    /// Answers `initialize` once the servers' own words are known, and soon in any case.
    pub(super) fn welcome_when_ready(self: &Arc<Self>, agreed: Revision, id: Id, door: &Door) {
        let deadline = self.context.start_deadline.min(Instant::now() + WELCOME);
        let ready = self.all_settled(deadline);
        let to = door.clone();
        self.wait(id, door, ready, move |session, id, touched| {
            id.with_token(|token| session.welcome(agreed, token, &to, touched));
        });
    }

    /// Looks at a request again once its server is up.
    pub(super) fn retry_when_ready(self: &Arc<Self>, server: Arc<Server>, asked: Asked<'_>) {
        // A process of the client's own starts when it is first wanted, whenever that is.
        let deadline = match self.context.start_deadline {
            deadline if Instant::now() < deadline => deadline,
            _ => Instant::now() + self.context.supervisor.limits.start,
        };
        let ready = async move {
            drop(timeout_at(deadline, server.settled()).await);
        };
        self.retry(asked, ready);
    }

    /// Looks at a request again once every server is up or has failed.
    pub(super) fn retry_when_settled(self: &Arc<Self>, asked: Asked<'_>) {
        let ready = self.all_settled(self.context.start_deadline);
        self.retry(asked, ready);
    }

    fn all_settled(&self, deadline: Instant) -> impl Future<Output = ()> + Send + 'static {
        let registry = Arc::clone(&self.context.registry);
        async move {
            registry.settled(deadline).await;
        }
    }

    fn retry(self: &Arc<Self>, asked: Asked<'_>, ready: impl Future<Output = ()> + Send + 'static) {
        let bytes = asked.message.bytes.to_vec();
        let to = asked.door.clone();
        self.wait(asked.id, asked.door, ready, move |session, _, touched| {
            session.receive(&bytes, &to, &session.context.view.snapshot(), touched);
        });
    }

    /// Keeps the request open here, where it can be cancelled, until it can be answered.
    fn wait(
        self: &Arc<Self>,
        id: Id,
        door: &Door,
        ready: impl Future<Output = ()> + Send + 'static,
        then: impl FnOnce(&Arc<Self>, &Id, &mut Touched) + Send + 'static,
    ) {
        let cancelled = CancellationToken::new();
        let waiting = Waiting { cancelled: cancelled.clone(), door: door.clone() };
        if !self.client.open(&id, Ticket::Waiting(waiting)) {
            let mut touched = Touched::default();
            id.with_token(|id| refuse(id, &CallError::duplicate_id(), door, &mut touched));
            touched.flush();
            return;
        }
        let session = Arc::clone(self);
        let task = async move {
            tokio::select! {
                () = cancelled.cancelled() => return,
                () = ready => {}
            }
            if session.client.take(&id).is_some() {
                let mut touched = Touched::default();
                then(&session, &id, &mut touched);
                touched.flush();
            }
        };
        drop(self.context.tasks.spawn_on(task, &self.context.runtime));
    }
}
