//! `subscriptions/listen`: what a client hears of its own will, until it or the gateway goes.

use std::sync::Arc;

use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use trunkline_catalog::ListKind;
use trunkline_wire::{Edits, Id, decode, encode, write_result};

use crate::call::{CallHandle, Client, Payload, ResponseSink, Waiting};
use crate::error::CallError;
use crate::limits::{CHANGE_PAUSE, LISTENERS, SUBSCRIBED};
use crate::lock::{Mutex, rank};
use crate::pump::FlushSet;
use crate::registry::{Place, Snapshot};
use crate::session::announce::{Told, announce};
use crate::session::filter::Filter;
use crate::session::tag::{Tagged, mark};
use crate::session::{Session, SessionRequest};
use crate::upstream::{Answer, Connection};

/// One open `subscriptions/listen`.
#[derive(Debug)]
struct Listener {
    filter: Filter,
    /// What the servers know as the one who hears: everything said to it is marked.
    ear: Arc<Client>,
    told: Mutex<Told, rank::ListenerAnnounced>,
    /// Where the resources it wants to hear of were found last.
    followed: Mutex<Vec<Followed>, rank::ListenerFollowed>,
    /// The request.
    id: Id,
    asker: Arc<Client>,
    door: ResponseSink,
    _place: Place,
}

#[derive(Debug)]
struct Followed {
    connection: Arc<Connection>,
    /// The server's own URI.
    uri: String,
}

impl Followed {
    fn is(&self, connection: &Arc<Connection>, uri: &str) -> bool {
        Arc::ptr_eq(&self.connection, connection) && self.uri == uri
    }
}

/// What a server has been asked for somebody who wants to hear of a resource.
#[derive(Debug)]
struct Request {
    connection: Arc<Connection>,
    uri: String,
    answer: Option<Answer>,
}

async fn all_asked(requests: Vec<Request>) {
    for Request { connection, uri, answer } in requests {
        connection.listens.until_asked(&connection.link, &uri, answer).await;
    }
}

impl Session {
    pub(super) fn listen(self: &Arc<Self>, asked: &SessionRequest<'_>, touched: &mut FlushSet) {
        let message = asked.message;
        let capabilities = message.text(message.params.meta_capabilities);
        let filter = match Filter::read(message.text(message.params.span), capabilities) {
            Ok(filter) => self.honoured(filter, asked.snapshot),
            Err(error) => return asked.refuse(&error, touched),
        };
        let Some(place) = self.context.registry.place_for_listener() else {
            let why = format!("{LISTENERS} subscriptions are open already; end one of them first");
            return asked.refuse(&CallError::InvalidRequest(why), touched);
        };
        let cancelled = CancellationToken::new();
        let waiting = Waiting { cancelled: cancelled.clone(), door: asked.door.clone() };
        if self.closing.is_cancelled() {
            return asked.refuse(&CallError::ShuttingDown { may_have_run: false }, touched);
        }
        if !asked.client.open(&asked.id, CallHandle::Waiting(waiting)) {
            return asked.refuse(&CallError::duplicate_id(), touched);
        }
        let listener = Listener {
            filter,
            ear: Arc::default(),
            told: Mutex::new(self.given.lock().clone()),
            followed: Mutex::default(),
            id: asked.id.clone(),
            asker: Arc::clone(asked.client),
            door: asked.door.clone(),
            _place: place,
        };
        let requests = listener.follow(asked.snapshot);
        if requests.is_empty() {
            listener.acknowledge(cancelled.clone(), touched);
        }
        let session = Arc::clone(self);
        let task = async move { session.look_after(listener, requests, cancelled).await };
        drop(self.context.tasks.spawn_on(task, &self.context.runtime));
    }

    /// Of what is asked for, what can be had: no resources of servers that do not tell of theirs;
    /// those that nobody has only if there are servers that do not run now.
    fn honoured(&self, mut filter: Filter, snapshot: &Snapshot) -> Filter {
        let servers = self.context.registry.servers();
        let absent = servers.iter().any(|server| server.connection().is_none());
        if let Some(uris) = &mut filter.uris {
            uris.retain(|uri| match snapshot.catalog.resource(uri) {
                None => absent,
                Some(owner) => {
                    let live = snapshot.server(owner.server).and_then(|server| server.live());
                    live.is_none_or(|live| live.hello.subscribes)
                }
            });
        }
        filter
    }

    async fn look_after(
        &self,
        listener: Listener,
        requests: Vec<Request>,
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
            self.keep_telling(&listener).await;
        };
        let in_order = tokio::select! {
            biased;
            () = cancelled.cancelled() => false,
            () = self.ended.cancelled() => false,
            () = self.closing.cancelled() => true,
            () = telling => true,
        };
        self.context.registry.unsubscribe(&listener.ear);
        if listener.asker.take(&listener.id).is_some() && in_order {
            listener.conclude();
        }
    }

    /// Follows the changes, at most one word a pause.
    async fn keep_telling(&self, listener: &Listener) {
        let registry = &self.context.registry;
        let mut changes = registry.changes();
        registry.settled(self.context.start_deadline).await;
        let snapshot = self.context.view.snapshot();
        listener.told.lock().begin(&snapshot);
        loop {
            let snapshot = self.context.view.snapshot();
            drop(listener.follow(&snapshot));
            if listener.announce(&snapshot) {
                sleep(CHANGE_PAUSE).await;
            }
            if changes.changed().await.is_err() {
                return;
            }
            self.together().await;
        }
    }
}

impl Listener {
    /// The first word of a subscription. What follows leaves marked by the same id.
    fn acknowledge(&self, cancelled: CancellationToken, touched: &mut FlushSet) {
        self.id.with_token(|id| {
            let words = [
                br#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"#,
                &mark(id)[..],
                br#"},"notifications":"#,
                &self.filter.written(),
                b"}}",
            ];
            self.door.say(&words.concat(), &Edits::new(), touched);
            let tagged = Tagged { door: self.door.clone(), id: id.into(), cancelled };
            self.ear.set_stream(Some(ResponseSink::Responder(Arc::new(tagged))));
        });
    }

    /// Listens to the servers that have the resources now; what they have been asked for that.
    fn follow(&self, snapshot: &Snapshot) -> Vec<Request> {
        let mut requests = Vec::new();
        let mut followed = self.followed.lock();
        let mut now = Vec::new();
        for uri in self.filter.uris.iter().flatten() {
            let Some(owner) = snapshot.catalog.resource(uri) else { continue };
            let Some(connection) = snapshot.connection(owner.server) else { continue };
            let Some(own) = decode(&owner.name_token) else { continue };
            if !followed.iter().any(|held| held.is(connection, &own)) {
                let subscriptions = &connection.subscriptions;
                let is_first = !subscriptions.uris().iter().any(|known| **known == *own);
                subscriptions.add(&own, &self.ear, &encode(uri));
                let answer =
                    is_first.then(|| connection.listens.follow(&connection.link, &own)).flatten();
                let connection = Arc::clone(connection);
                requests.push(Request { connection, uri: own.clone().into_owned(), answer });
            }
            now.push(Followed { connection: Arc::clone(connection), uri: own.into_owned() });
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

    /// True if there was something to tell.
    fn announce(&self, snapshot: &Snapshot) -> bool {
        let mut told = self.told.lock();
        let outdated: Vec<ListKind> =
            told.outdated(snapshot).into_iter().filter(|kind| self.filter.wants(*kind)).collect();
        announce(&self.ear, &outdated);
        for kind in &outdated {
            told.set(*kind, snapshot.catalog.list(*kind));
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
            self.door.answer(Payload::Owned(response), &Edits::new(), &mut touched);
            if matches!(self.door, ResponseSink::Line(_)) {
                // One stream for everything: its end does not say it.
                let words = [
                    br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"#,
                    id,
                    br#","reason":"Trunkline is shutting down","_meta":{"#,
                    &mark(id)[..],
                    b"}}}",
                ];
                self.door.say(&words.concat(), &Edits::new(), &mut touched);
            }
        });
        touched.flush();
    }
}
