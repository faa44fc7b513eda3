//! Requests that wait for servers that are still starting, up to the start deadline. They stay open, so
//! that the client can cancel them.

use std::sync::Arc;

use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use trunkline_wire::scan;

use crate::call::{CallHandle, Waiting};
use crate::error::CallError;
use crate::limits::{BLOCKED, SUBSCRIBED, WAITING_TIME};
use crate::pump::FlushSet;
use crate::session::context::SessionContext;
use crate::session::request::{SessionRequest, absent, refuse_unread};
use crate::upstream::{Connection, Server};

/// Confirms a subscription once the server has been asked to tell, so that no change is missed from
/// then on; soon in any case.
pub(super) fn confirm_when_asked(
    asked: &SessionRequest<'_>,
    connection: &Arc<Connection>,
    uri: String,
) {
    let connection = Arc::clone(connection);
    let ready = async move {
        drop(
            timeout(SUBSCRIBED, connection.listens.until_asked(&connection.link, &uri, None)).await,
        );
    };
    wait(asked, ready, |asked, (), touched| asked.answer(b"{}", touched));
}

/// Wakes a server that sleeps, and handles the request again once it is up or has failed.
pub(super) fn retry_when_awake(asked: &SessionRequest<'_>, server: Arc<Server>) {
    server.wake();
    let patience = asked.session.context.supervisor.limits.start.max(WAITING_TIME);
    retry_by(asked, server, Instant::now() + patience);
}

/// Handles a request again once its server is up or has failed, while the gateway may still wait for starts.
pub(super) fn retry_when_ready(asked: &SessionRequest<'_>, server: Arc<Server>) {
    retry_by(asked, server, asked.session.context.start_deadline);
}

/// Handles a request again once the client's own process is up. It is waited for once: another try would start another
/// process, and one that cannot start would be started without end.
pub(super) fn retry_with_own(asked: &SessionRequest<'_>, own: Arc<Server>) {
    let limits = &asked.session.context.supervisor.limits;
    let patience = own.call_timeout().map_or(limits.start, |most| most.min(limits.start));
    let ready = async move {
        drop(timeout(patience, own.settled()).await);
        own
    };
    wait(asked, ready, |asked, own, touched| match own.connection() {
        Some(_) => (asked.dispatch)(asked.clone(), touched),
        None => asked.refuse(&absent(&own), touched),
    });
}

/// Handles a request again once it can be recorded. It is waited for once, and so many wait at a time: what takes
/// longer is refused.
pub(super) fn retry_when_recordable(asked: &SessionRequest<'_>, touched: &mut FlushSet) {
    let events = asked.session.context.events.clone();
    let Some((events, place)) = events.and_then(|events| Some((events.clone(), events.place()?)))
    else {
        return asked.turn_away(&CallError::NotRecorded, touched);
    };
    let ready = async move {
        let has_room = timeout(BLOCKED, events.until_room()).await.is_ok();
        drop(place);
        has_room
    };
    wait(asked, ready, |asked, has_room, touched| match has_room {
        true => (asked.dispatch)(asked.clone(), touched),
        false => asked.turn_away(&CallError::NotRecorded, touched),
    });
}

fn retry_by(asked: &SessionRequest<'_>, server: Arc<Server>, deadline: Instant) {
    let ready = async move {
        drop(timeout_at(deadline, server.settled()).await);
    };
    retry(asked, ready);
}

/// Handles a request again once what every server offers is known, or it has failed.
pub(super) fn retry_when_settled(asked: &SessionRequest<'_>) {
    retry(asked, all_listed(&asked.session.context));
}

/// Resolves once what every server offers is known or it has failed, or the start deadline has passed.
pub(super) fn all_listed(
    context: &SessionContext,
) -> impl Future<Output = ()> + Send + use<> + 'static {
    let (registry, deadline) = (Arc::clone(&context.registry), context.start_deadline);
    async move {
        registry.listed(deadline).await;
    }
}

fn retry(asked: &SessionRequest<'_>, ready: impl Future<Output = ()> + Send + 'static) {
    wait(asked, ready, |asked, (), touched| (asked.dispatch)(asked.clone(), touched));
}

/// Keeps the request open, where it can be cancelled, until `ready`; `then` owes it its answer.
pub(super) fn wait<T: Send + 'static>(
    asked: &SessionRequest<'_>,
    ready: impl Future<Output = T> + Send + 'static,
    then: impl FnOnce(&SessionRequest<'_>, T, &mut FlushSet) + Send + 'static,
) {
    let cancelled = CancellationToken::new();
    let waiting = Waiting { cancelled: cancelled.clone(), sink: asked.sink.clone() };
    if !asked.client.open(&asked.id, CallHandle::Waiting(waiting)) {
        let mut touched = FlushSet::default();
        asked.refuse(&CallError::duplicate_id(), &mut touched);
        touched.flush();
        return;
    }
    let (session, dispatch) = (Arc::clone(asked.session), asked.dispatch);
    // The bytes are the pump's: they are gone when this function returns.
    let bytes = asked.message.bytes.to_vec();
    let (id, sink) = (asked.id.clone(), asked.sink.clone());
    let (client, era) = (Arc::clone(asked.client), asked.era.clone());
    let task = async move {
        let value = tokio::select! {
            () = cancelled.cancelled() => return,
            value = ready => value,
        };
        // The one who takes the call out answers it: the client may have cancelled it just now.
        if client.take(&id).is_none() {
            return;
        }
        let mut touched = FlushSet::default();
        match &scan(&bytes) {
            Ok(message) => {
                let snapshot = &*session.context.view.snapshot();
                let (session, sink, client, era) = (&session, &sink, &client, &era);
                let asked =
                    SessionRequest { session, message, id, sink, snapshot, client, era, dispatch };
                then(&asked, value, &mut touched);
            }
            // Not reached: the same bytes were read before.
            Err(fault) => refuse_unread(&bytes, *fault, &sink, &mut touched),
        }
        touched.flush();
    };
    let context = &asked.session.context;
    drop(context.tasks.spawn_on(task, &context.runtime));
}
