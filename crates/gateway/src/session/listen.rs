//! `subscriptions/listen` (2026-07-28): a client hears of changes until it or the gateway goes.

use std::sync::Arc;

use crate::lock::{Mutex, rank};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use trunkline_catalog::{ListKind, Route};
use trunkline_wire::{Edits, Id, decode, encode, write_result};

use crate::call::{CallHandle, Client, Payload, ResponseSink, Waiting};
use crate::error::CallError;
use crate::limiter::SubscriptionRoom;
use crate::limits::{CHANGE_PAUSE, LISTENED_BYTES, LISTENERS, SUBSCRIBED};
use crate::pump::FlushSet;
use crate::registry::{Place, Snapshot};
use crate::session::client_session::Session;
use crate::session::context::SessionContext;
use crate::session::filter::Filter;
use crate::session::known_lists::{KnownLists, announce};
use crate::session::request::SessionRequest;
use crate::session::tag::{TaggedSink, mark};
use crate::upstream::{Answer, Connection};

/// One open `subscriptions/listen`.
#[derive(Debug)]
struct Subscription {
    filter: Filter,
    /// The client that servers see as the subscriber: what they say to it gets the subscription's id.
    ear: Arc<Client>,
    // One thread at a time uses a subscription: first the pump, then its task. So the client may be
    // told while it is held.
    lists: Mutex<KnownLists, rank::ListenerAnnounced>,
    /// The servers that had the subscribed resources last.
    // Held for a whole change: what a server is asked for and what is given up must belong
    // together.
    followed: Mutex<Vec<FollowedResource>, rank::ListenerFollowed>,
    /// The id of the request that opened it.
    id: Id,
    asker: Arc<Client>,
    sink: ResponseSink,
    _place: Place,
    _room: Option<SubscriptionRoom>,
}

#[derive(Debug)]
struct FollowedResource {
    connection: Arc<Connection>,
    /// The server's own URI.
    uri: String,
}

impl FollowedResource {
    fn is(&self, connection: &Arc<Connection>, uri: &str) -> bool {
        Arc::ptr_eq(&self.connection, connection) && self.uri == uri
    }
}

/// A server that has been asked to tell of a resource.
#[derive(Debug)]
struct ServerRequest {
    connection: Arc<Connection>,
    uri: String,
    answer: Option<Answer>,
}

async fn all_asked(requests: Vec<ServerRequest>) {
    for ServerRequest { connection, uri, answer } in requests {
        connection.listens.until_asked(&connection.link, &uri, answer).await;
    }
}

/// Opens a subscription. It stays open, like a call, until it is cancelled.
pub(super) fn open(asked: &SessionRequest<'_>, touched: &mut FlushSet) {
    let session = asked.session;
    let message = asked.message;
    let capabilities = message.text(message.params.meta.capabilities);
    let filter = match Filter::read(message.text(message.params.span), capabilities) {
        Ok(filter) => honoured(session, filter, asked.snapshot),
        Err(error) => return asked.refuse(&error, touched),
    };
    // Bounded: each subscription holds a task for as long as its client likes.
    let Some(place) = session.context.registry.place_for_listener(filter.bytes()) else {
        let why = format!(
            "{LISTENERS} subscriptions, or {LISTENED_BYTES} bytes of their URIs, are open already; end one of \
             them first"
        );
        return asked.refuse(&CallError::InvalidRequest(why), touched);
    };
    // What one caller has is bounded, too: one key must not take the places of all.
    let uris = filter.uris.as_ref().map_or(0, Vec::len);
    let room = match asked.session.client.subscribed.room(uris, filter.bytes()) {
        Ok(room) => room,
        Err(error) => return asked.turn_away(&error, touched),
    };
    let cancelled = CancellationToken::new();
    let waiting = Waiting { cancelled: cancelled.clone(), sink: asked.sink.clone() };
    // After the place was taken and before the call is open: a refusal gives the place back by
    // dropping it.
    if session.closing.is_cancelled() {
        return asked.refuse(&CallError::ShuttingDown { may_have_run: false }, touched);
    }
    // Registered before anything is subscribed: a cancellation that follows at once finds it.
    if !asked.client.open(&asked.id, CallHandle::Waiting(waiting)) {
        return asked.refuse(&CallError::duplicate_id(), touched);
    }
    let listener = Subscription {
        filter,
        ear: Arc::new(session.client.with_same_rights()),
        // A copy: the subscription compares with what its client was given when it began.
        lists: Mutex::new(session.stateless_lists.lock().clone()),
        followed: Mutex::default(),
        id: asked.id.clone(),
        asker: Arc::clone(asked.client),
        sink: asked.sink.clone(),
        _place: place,
        _room: room,
    };
    let requests = listener.follow(asked.snapshot);
    if requests.is_empty() {
        // Nothing to wait for: the acknowledgement leaves with the same flush as the request came.
        listener.acknowledge(cancelled.clone(), touched);
    }
    let (session, context) = (Arc::clone(session), &session.context);
    let task = async move { look_after(&session, listener, requests, cancelled).await };
    drop(context.tasks.spawn_on(task, &context.runtime));
}

/// Do policies let this client read the resource?
fn may_follow(client: &Client, snapshot: &Snapshot, owner: &Route) -> bool {
    let server = snapshot.server(owner.server).map(|server| server.key.name());
    let uri = decode(&owner.name_token).unwrap_or_default();
    client.may_follow(server.as_deref().unwrap_or_default(), &uri)
}

/// Reduces the filter to what can be honoured: no resources of servers without subscriptions, and
/// unknown ones only while a server that may have them is down.
fn honoured(session: &Session, mut filter: Filter, snapshot: &Snapshot) -> Filter {
    let servers = session.context.registry.servers();
    let absent = servers.iter().any(|server| server.connection().is_none());
    if let Some(uris) = &mut filter.uris {
        uris.retain(|uri| match snapshot.catalog.resource(uri) {
            // A resource of a server that is down may come back with it; one that nobody can have
            // is not promised.
            None => absent,
            Some(owner) if !may_follow(&session.client, snapshot, &owner) => false,
            Some(owner) => {
                let hello = snapshot.server(owner.server).and_then(|server| server.hello());
                hello.is_none_or(|hello| hello.subscribes)
            }
        });
    }
    filter
}

async fn look_after(
    session: &Session,
    listener: Subscription,
    requests: Vec<ServerRequest>,
    cancelled: CancellationToken,
) {
    let telling = async {
        if !requests.is_empty() {
            // What changes after the acknowledgement is told.
            drop(timeout(SUBSCRIBED, all_asked(requests)).await);
            let mut touched = FlushSet::default();
            listener.acknowledge(cancelled.clone(), &mut touched);
            touched.flush();
        }
        keep_telling(&session.context, &listener).await;
    };
    let in_order = tokio::select! {
        // In this order: a cancelled subscription must not be concluded as well.
        biased;
        () = cancelled.cancelled() => false,
        () = session.ended.cancelled() => false,
        () = session.closing.cancelled() => true,
        () = telling => true,
    };
    session.context.registry.unsubscribe(&listener.ear);
    // Whoever takes the call out of the table answers it: a cancellation may have been first.
    if listener.asker.take(&listener.id).is_some() && in_order {
        listener.conclude();
    }
}

/// Tells of changes, at most once a pause.
async fn keep_telling(context: &SessionContext, listener: &Subscription) {
    let registry = &context.registry;
    let mut changes = registry.changes();
    registry.settled(context.start_deadline).await;
    let snapshot = context.view.snapshot();
    listener.lists.lock().begin(&snapshot);
    loop {
        let snapshot = context.view.snapshot();
        // The answers of servers are not waited for here: nobody is owed an acknowledgement any
        // more.
        drop(listener.follow(&snapshot));
        if listener.announce(&snapshot) {
            sleep(CHANGE_PAUSE).await;
        }
        if changes.changed().await.is_err() {
            return;
        }
        context.wait_while_starting().await;
    }
}

impl Subscription {
    /// Acknowledges the subscription. What follows carries its id.
    fn acknowledge(&self, cancelled: CancellationToken, touched: &mut FlushSet) {
        self.id.with_token(|id| {
            let words = [
                br#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"#,
                &mark(id)[..],
                br#"},"notifications":"#,
                &self.filter.written(),
                b"}}",
            ];
            self.sink.say(&words.concat(), &Edits::new(), touched);
            let tagged = TaggedSink { sink: self.sink.clone(), id: id.into(), cancelled };
            // 2026-07-28, subscriptions: nothing may be told before the acknowledgement, so the
            // stream is set after it.
            self.ear.set_stream(Some(Arc::new(tagged)));
        });
    }

    /// Subscribes at the servers that have the resources now. Returns what they have been asked.
    fn follow(&self, snapshot: &Snapshot) -> Vec<ServerRequest> {
        let mut requests = Vec::new();
        // One thread at a time uses a subscription: first the pump, then its task.
        let mut followed = self.followed.lock();
        let mut now = Vec::new();
        for uri in self.filter.uris.iter().flatten() {
            let Some(owner) = snapshot.catalog.resource(uri) else { continue };
            // Policies may have changed since: what may not be read any more is not told of any more.
            if !may_follow(&self.ear, snapshot, &owner) {
                continue;
            }
            let Some(connection) = snapshot.connection(owner.server) else {
                // One that sleeps is started: it is followed when it is up.
                snapshot.server(owner.server).iter().for_each(|server| server.wake());
                continue;
            };
            let Some(own) = decode(&owner.name_token) else { continue };
            if !followed.iter().any(|held| held.is(connection, &own)) {
                let subscriptions = &connection.subscriptions;
                // Only the first subscriber of a resource asks the server; the others share what it
                // hears.
                // The filter is as long as a client may have it; under an alias a URI may be longer at its server.
                let Ok(is_first) = subscriptions.add(&own, &self.ear, &encode(uri)) else {
                    continue;
                };
                let answer =
                    is_first.then(|| connection.listens.follow(&connection.link, &own)).flatten();
                let connection = Arc::clone(connection);
                requests.push(ServerRequest { connection, uri: own.clone().into_owned(), answer });
            }
            now.push(FollowedResource {
                connection: Arc::clone(connection),
                uri: own.into_owned(),
            });
        }
        let before = std::mem::replace(&mut *followed, now);
        for gone in before
            .iter()
            .filter(|gone| !followed.iter().any(|held| held.is(&gone.connection, &gone.uri)))
        {
            if gone.connection.subscriptions.remove(&gone.uri, &self.ear) {
                gone.connection.listens.unfollow(&gone.connection.link, &gone.uri);
            }
        }
        requests
    }

    /// True if a list was out of date.
    fn announce(&self, snapshot: &Snapshot) -> bool {
        let mut lists = self.lists.lock();
        let outdated: Vec<ListKind> =
            lists.outdated(snapshot).into_iter().filter(|kind| self.filter.wants(*kind)).collect();
        announce(&self.ear, &outdated);
        for kind in &outdated {
            lists.set(*kind, snapshot.catalog.list(*kind));
        }
        !outdated.is_empty()
    }

    /// Ends the subscription in good order.
    fn conclude(&self) {
        let mut touched = FlushSet::default();
        self.id.with_token(|id| {
            let result = [br#"{"resultType":"complete","_meta":{"#, &mark(id)[..], b"}}"].concat();
            let mut response = Vec::new();
            write_result(id, &result, &mut response);
            self.sink.answer(Payload::Owned(response), &Edits::new(), &mut touched);
            if self.sink.is_only_stream() {
                // One stream for everything: its end does not say it.
                let words = [
                    br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"#,
                    id,
                    br#","reason":"Trunkline is shutting down","_meta":{"#,
                    &mark(id)[..],
                    b"}}}",
                ];
                self.sink.say(&words.concat(), &Edits::new(), &mut touched);
            }
        });
        touched.flush();
    }
}
