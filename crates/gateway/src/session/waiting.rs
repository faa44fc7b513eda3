//! Requests that wait for servers that are still starting, up to the start deadline.

use std::sync::Arc;

use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use trunkline_catalog::ListKind;
use trunkline_wire::scan;

use crate::call::{CallHandle, Waiting};
use crate::error::CallError;
use crate::limits::SUBSCRIBED;
use crate::pump::FlushSet;
use crate::session::asked::refuse_in;
use crate::session::{Session, SessionRequest};
use crate::upstream::{Connection, Server};

impl Session {
    /// Answers a list request once every server is up or has failed, or the deadline has passed.
    pub(super) fn list_when_ready(self: &Arc<Self>, kind: ListKind, asked: &SessionRequest<'_>) {
        let ready = self.all_settled(self.context.start_deadline);
        self.wait(asked, ready, move |session, asked, (), touched| {
            match asked.manner.is_session() {
                true => session.send_list(kind, asked, touched),
                false => session.send_list_alone(kind, asked, touched),
            }
        });
    }

    /// Confirms a subscription once the server has been asked to tell, so that nothing is missed
    /// from then on; soon in any case.
    pub(super) fn confirm_when_asked(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        uri: String,
        asked: &SessionRequest<'_>,
    ) {
        let connection = Arc::clone(connection);
        let ready = async move {
            drop(
                timeout(SUBSCRIBED, connection.listens.until_asked(&connection.link, &uri, None))
                    .await,
            );
        };
        self.wait(asked, ready, |_, asked, (), touched| asked.answer(b"{}", touched));
    }

    /// Looks at a request again once its server is up.
    pub(super) fn retry_when_ready(
        self: &Arc<Self>,
        server: Arc<Server>,
        asked: &SessionRequest<'_>,
    ) {
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
    pub(super) fn retry_when_settled(self: &Arc<Self>, asked: &SessionRequest<'_>) {
        let ready = self.all_settled(self.context.start_deadline);
        self.retry(asked, ready);
    }

    pub(super) fn all_settled(
        &self,
        deadline: Instant,
    ) -> impl Future<Output = ()> + Send + 'static {
        let registry = Arc::clone(&self.context.registry);
        async move {
            registry.settled(deadline).await;
        }
    }

    fn retry(
        self: &Arc<Self>,
        asked: &SessionRequest<'_>,
        ready: impl Future<Output = ()> + Send + 'static,
    ) {
        self.wait(asked, ready, |session, asked, (), touched| {
            session.asked(asked.clone(), touched);
        });
    }

    /// Keeps the request open here, where it can be cancelled, until it can be answered.
    pub(super) fn wait<T: Send + 'static>(
        self: &Arc<Self>,
        asked: &SessionRequest<'_>,
        ready: impl Future<Output = T> + Send + 'static,
        then: impl FnOnce(&Arc<Self>, &SessionRequest<'_>, T, &mut FlushSet) + Send + 'static,
    ) {
        let cancelled = CancellationToken::new();
        let waiting = Waiting { cancelled: cancelled.clone(), door: asked.door.clone() };
        if !asked.client.open(&asked.id, CallHandle::Waiting(waiting)) {
            let mut touched = FlushSet::default();
            asked.refuse(&CallError::duplicate_id(), &mut touched);
            touched.flush();
            return;
        }
        let session = Arc::clone(self);
        let bytes = asked.message.bytes.to_vec();
        let (id, door) = (asked.id.clone(), asked.door.clone());
        let (client, manner) = (Arc::clone(asked.client), asked.manner.clone());
        let task = async move {
            let come = tokio::select! {
                () = cancelled.cancelled() => return,
                come = ready => come,
            };
            if client.take(&id).is_none() {
                return;
            }
            let Ok(message) = scan(&bytes) else {
                let mut touched = FlushSet::default();
                let error = CallError::Internal("a request that waited is unreadable");
                id.with_token(|id| refuse_in(manner.era(), id, &error, &door, &mut touched));
                touched.flush();
                return;
            };
            let snapshot = session.context.view.snapshot();
            let (door, client, manner) = (&door, &client, &manner);
            let asked =
                SessionRequest { message: &message, id, door, snapshot: &snapshot, client, manner };
            let mut touched = FlushSet::default();
            then(&session, &asked, come, &mut touched);
            touched.flush();
        };
        drop(self.context.tasks.spawn_on(task, &self.context.runtime));
    }
}
