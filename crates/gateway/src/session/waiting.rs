//! Requests that wait for servers that are still starting, up to the start deadline. They stay open, so
//! that the client can cancel them.

use std::sync::Arc;

use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use trunkline_wire::{Id, scan};

use crate::call::{CallHandle, Client, RequestEra, ResponseSink, Waiting};
use crate::error::CallError;
use crate::limits::{BLOCKED, SUBSCRIBED, WAITING_TIME};
use crate::pump::FlushSet;
use crate::session::client_session::Session;
use crate::session::context::SessionContext;
use crate::session::request::{SessionRequest, absent, refuse_unread};
use crate::session::waiting_line::Awaited;
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
    retry(asked, Awaited::Server(server), Instant::now() + patience, handle_again);
}

/// Handles a request again once its server is up or has failed, while the gateway may still wait for starts.
pub(super) fn retry_when_ready(asked: &SessionRequest<'_>, server: Arc<Server>) {
    retry(asked, Awaited::Server(server), asked.session.context.start_deadline, handle_again);
}

/// Handles a request again once the client's own process is up. It is waited for once: another try would start another
/// process, and one that cannot start would be started without end.
pub(super) fn retry_with_own(asked: &SessionRequest<'_>, own: Arc<Server>) {
    let limits = &asked.session.context.supervisor.limits;
    let patience = own.call_timeout().map_or(limits.start, |most| most.min(limits.start));
    let awaited = Awaited::Server(Arc::clone(&own));
    retry(asked, awaited, Instant::now() + patience, move |asked, touched| {
        match own.connection() {
            Some(_) => handle_again(asked, touched),
            None => asked.refuse(&absent(&own), touched),
        }
    });
}

/// Handles a request again once another server is known, or all are known or have failed.
pub(super) fn retry_when_listed(asked: &SessionRequest<'_>) {
    let context = &asked.session.context;
    let version = context.registry.version();
    // Looked at behind it: a change since the request was read is not waited for.
    let is_current = std::ptr::eq(&raw const *context.view.snapshot(), asked.snapshot);
    let awaited = Awaited::Listed(if is_current { version } else { NO_VERSION });
    retry(asked, awaited, context.start_deadline, handle_again);
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
        true => handle_again(asked, touched),
        false => asked.turn_away(&CallError::NotRecorded, touched),
    });
}

/// No registry has it: see `OfferChanges`.
const NO_VERSION: u64 = 0;

fn handle_again(asked: &SessionRequest<'_>, touched: &mut FlushSet) {
    (asked.dispatch)(asked.clone(), touched);
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

/// Keeps a request that is for a server in the line of its client; `then` owes it its answer.
fn retry(
    asked: &SessionRequest<'_>,
    awaited: Awaited,
    until: Instant,
    then: impl FnOnce(&SessionRequest<'_>, &mut FlushSet) + Send + 'static,
) {
    let context = &asked.session.context;
    let over = over(context, awaited.clone());
    // Made where it runs: the thread that moves messages has no timers.
    let over = async move { drop(timeout_at(until, over).await) };
    // Stateless requests of several callers share a session, and each stands for itself.
    if !Arc::ptr_eq(asked.client, &asked.session.client) {
        return wait(asked, over, |asked, (), touched| then(asked, touched));
    }
    let Some(kept) = KeptRequest::open(asked) else { return };
    let place = asked.place.unwrap_or_else(|| asked.session.line.place());
    let (session, cancelled) = (Arc::clone(asked.session), kept.cancelled.clone());
    let resume = |session: &Arc<Session>, place, touched: &mut FlushSet| {
        kept.resume(session, Some(place), touched, then);
    };
    session.line.wait(place, awaited, until, Box::new(resume));
    let task = async move {
        tokio::select! {
            () = cancelled.cancelled() => session.line.leave(place),
            () = over => go_on(&session),
        }
    };
    drop(context.tasks.spawn_on(task, &context.runtime));
}

/// Requests of this client that need not wait any more go on, in their order.
fn go_on(session: &Arc<Session>) {
    let mut touched = FlushSet::default();
    let registry = &session.context.registry;
    session.line.go_on(session, |awaited| awaited.is_over(registry), &mut touched);
    touched.flush();
}

/// Resolves when who waits for this can go on.
fn over(context: &SessionContext, awaited: Awaited) -> impl Future<Output = ()> + Send + 'static {
    let registry = Arc::clone(&context.registry);
    // Subscribed before it is looked at: no change is missed in between.
    let mut changes = registry.changes();
    let deadline = context.start_deadline;
    async move {
        match &awaited {
            Awaited::Server(server) => server.settled().await,
            Awaited::Listed(_) => {
                let changed = async {
                    while !awaited.is_over(&registry) && changes.changed().await.is_ok() {}
                };
                tokio::select! {
                    () = changed => {}
                    () = registry.listed(deadline) => {}
                }
            }
        }
    }
}

/// Keeps the request open, where it can be cancelled, until `ready`; `then` owes it its answer.
pub(super) fn wait<T: Send + 'static>(
    asked: &SessionRequest<'_>,
    ready: impl Future<Output = T> + Send + 'static,
    then: impl FnOnce(&SessionRequest<'_>, T, &mut FlushSet) + Send + 'static,
) {
    let Some(kept) = KeptRequest::open(asked) else { return };
    let (session, cancelled) = (Arc::clone(asked.session), kept.cancelled.clone());
    let task = async move {
        let value = tokio::select! {
            () = cancelled.cancelled() => return,
            value = ready => value,
        };
        let mut touched = FlushSet::default();
        kept.resume(&session, None, &mut touched, |asked, touched| then(asked, value, touched));
        touched.flush();
    };
    let context = &asked.session.context;
    drop(context.tasks.spawn_on(task, &context.runtime));
}

/// A request that is open here, to be handled again.
struct KeptRequest {
    client: Arc<Client>,
    era: RequestEra,
    id: Id,
    sink: ResponseSink,
    dispatch: fn(SessionRequest<'_>, &mut FlushSet),
    bytes: Vec<u8>,
    cancelled: CancellationToken,
}

impl KeptRequest {
    /// `None`: another request is open under its id, and it was refused.
    fn open(asked: &SessionRequest<'_>) -> Option<Self> {
        let cancelled = CancellationToken::new();
        let waiting = Waiting { cancelled: cancelled.clone(), sink: asked.sink.clone() };
        if !asked.client.open(&asked.id, CallHandle::Waiting(waiting)) {
            let mut touched = FlushSet::default();
            asked.refuse(&CallError::duplicate_id(), &mut touched);
            touched.flush();
            return None;
        }
        Some(Self {
            client: Arc::clone(asked.client),
            era: asked.era.clone(),
            id: asked.id.clone(),
            sink: asked.sink.clone(),
            dispatch: asked.dispatch,
            // They are the pump's: they are gone when it has handled the request.
            bytes: asked.message.bytes.to_vec(),
            cancelled,
        })
    }

    fn resume(
        self,
        session: &Arc<Session>,
        place: Option<u64>,
        touched: &mut FlushSet,
        then: impl FnOnce(&SessionRequest<'_>, &mut FlushSet),
    ) {
        // The one who takes the call out answers it: the client may have cancelled it just now, and may have used
        // its id again since.
        if self.cancelled.is_cancelled() || self.client.take(&self.id).is_none() {
            return;
        }
        let Self { client, era, id, sink, dispatch, bytes, .. } = &self;
        match &scan(bytes) {
            Ok(message) => {
                let snapshot = &*session.context.view.snapshot();
                let (id, dispatch) = (id.clone(), *dispatch);
                let asked = SessionRequest {
                    session,
                    message,
                    id,
                    sink,
                    snapshot,
                    client,
                    era,
                    dispatch,
                    place,
                };
                then(&asked, touched);
            }
            // Not reached: the same bytes were read before.
            Err(fault) => refuse_unread(bytes, *fault, sink, touched),
        }
    }
}
