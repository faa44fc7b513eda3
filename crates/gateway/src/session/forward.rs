//! Requests that go on to a server, and what is said about those that have none to go to.

use std::sync::Arc;

use trunkline_catalog::config::Share;
use trunkline_catalog::{Route as Owner, ToolRoute};
use trunkline_wire::{Edits, Message, Span, decode, find};

use crate::call::{Client, Replay, ReplyTo};
use crate::era::Era;
use crate::error::CallError;
use crate::pump::FlushSet;
use crate::registry::Snapshot;
use crate::router::{Forward, ResourceAction, Subtool};
use crate::session::tasks::{Shown, is_about_tasks, is_task_list, only_with_tasks, unaddressed};
use crate::session::{Session, SessionRequest};
use crate::upstream::{Connection, Server};

/// What is replaced in a request.
type Changes<'a> = &'a [(Span, &'a [u8])];

/// Where a request may say which server it is for, when nothing else does.
const ADDRESS: [&str; 2] = ["_meta", "trunkline/server"];

/// The router has found a tool by its name.
const UNNAMED: CallError = CallError::Internal("a call was routed that names no tool");

impl Session {
    /// A tool call: the hot path.
    pub(super) fn call(
        self: &Arc<Self>,
        asked: SessionRequest<'_>,
        owner: &Owner,
        touched: &mut FlushSet,
    ) {
        let Some(name_at) = asked.message.params.name else {
            return asked.refuse(&UNNAMED, touched);
        };
        self.send(asked, owner.server, &[(name_at, &owner.name_token)], Shown::All, touched);
    }

    /// A call to a custom tool: the tool behind it gets its own name and its own arguments.
    pub(super) fn call_subtool(
        self: &Arc<Self>,
        asked: SessionRequest<'_>,
        subtool: &Subtool<'_>,
        touched: &mut FlushSet,
    ) {
        let Some(name_at) = asked.message.params.name else {
            return asked.refuse(&UNNAMED, touched);
        };
        let changes: Changes<'_> =
            &[(name_at, &subtool.owner.name_token), (subtool.arguments, subtool.args)];
        self.send(asked, subtool.owner.server, changes, Shown::All, touched);
    }

    pub(super) fn forward(
        self: &Arc<Self>,
        asked: SessionRequest<'_>,
        to: &Forward<'_>,
        touched: &mut FlushSet,
    ) {
        if let Some(connection) = asked.snapshot.connection(to.server)
            && let Some(uri) = decode(&to.token)
        {
            match noted(&asked, to, connection, &uri) {
                Noted::PassOn => {}
                Noted::Done => return asked.answer(b"{}", touched),
                Noted::ServerAsked => {
                    return self.confirm_when_asked(connection, uri.into_owned(), &asked);
                }
            }
        }
        if let (Some(server), None) =
            (asked.snapshot.server(to.server), asked.snapshot.connection(to.server))
            && to.deed != ResourceAction::Plain
        {
            // Who wants to hear of what is noted with the connection, and there is none.
            return asked.refuse(&absent(server), touched);
        }
        self.send(asked, to.server, &[(to.at, &to.token)], Shown::All, touched);
    }

    /// Passes the request on to the server at `place`.
    fn send(
        self: &Arc<Self>,
        asked: SessionRequest<'_>,
        place: usize,
        changes: Changes<'_>,
        shown: Shown,
        touched: &mut FlushSet,
    ) {
        let Some(server) = asked.snapshot.server(place) else {
            return asked.refuse(&CallError::Internal("a tool's server is not known"), touched);
        };
        let Some(connection) = asked.snapshot.connection(place) else {
            if server.definition.share == Share::PerSession {
                return asked.refuse(&absent(server), touched); // its calls are with other processes
            }
            return hold(asked, server, changes, shown, touched);
        };
        match self.own_process(server, Some(&asked)) {
            Err(error) => asked.refuse(&error, touched),
            Ok(None) => submit(asked, server, connection, (changes, shown), touched),
            Ok(Some(private)) => match private.connection() {
                Some(connection) => submit(asked, &private, &connection, (changes, shown), touched),
                None if private.is_settled() => asked.refuse(&absent(&private), touched),
                None => self.retry_when_ready(private, &asked),
            },
        }
    }

    /// A resource or prompt nobody has; perhaps a server that is still starting has it.
    pub(super) fn miss(
        self: &Arc<Self>,
        asked: &SessionRequest<'_>,
        error: &CallError,
        touched: &mut FlushSet,
    ) {
        if self.may_wait() && !self.context.registry.is_settled() {
            self.retry_when_settled(asked);
        } else {
            self.turn_away(asked, error, touched);
        }
    }

    /// A method Trunkline does not know goes to the one server it can be meant for.
    pub(super) fn unknown(self: &Arc<Self>, asked: SessionRequest<'_>, touched: &mut FlushSet) {
        let to = self.addressee(asked.message, asked.snapshot, asked.client);
        let to = to.filter(|to| asked.snapshot.is_whole(to.place));
        let shown = match self.judge_task(&asked, to.as_ref().map(|to| to.place)) {
            Ok(shown) => shown,
            Err(error) => return self.turn_away(&asked, &error, touched),
        };
        match to {
            Some(Addressee { place, change }) => {
                let change = change.as_ref().map(|(at, token)| (*at, &**token));
                let changes: Vec<(Span, &[u8])> = change.into_iter().collect();
                self.send(asked, place, &changes, shown, touched);
            }
            None if self.may_wait() && !self.context.registry.is_settled() => {
                self.retry_when_settled(&asked);
            }
            None if is_task_list(&asked) => self.list_tasks(&asked, touched),
            None => self.turn_away(&asked, &unaddressed(asked.message), touched),
        }
    }

    /// The server a message of an unknown kind is for: by the name or URI in it, by the address in
    /// its `_meta`, or because there is only one.
    fn addressee(
        &self,
        message: &Message<'_>,
        snapshot: &Snapshot,
        client: &Client,
    ) -> Option<Addressee> {
        let running = |place: &usize| snapshot.connection(*place).is_some();
        let text =
            |span: Option<Span>| span.and_then(|at| Some((at, decode(at.of(message.bytes))?)));
        let address = message.params.span.and_then(|params| find(message.bytes, params, &ADDRESS));
        if let Some((_, key)) = text(address) {
            let place = snapshot.place_of(&key)?;
            return Some(Addressee { place, change: None }).filter(|to| running(&to.place));
        }
        if let Some(place) = self.task_place(message, snapshot, client) {
            return Some(Addressee { place, change: None }).filter(|to| running(&to.place));
        }
        if let Some((at, name)) = text(message.params.name) {
            let catalog = &snapshot.catalog;
            if let Some(ToolRoute::Server(owner)) = catalog.route(&name) {
                return Some(Addressee::of(owner, at));
            }
            if let Some(owner) = catalog.prompt(&name) {
                return Some(Addressee::of(owner, at));
            }
        }
        if let Some((at, uri)) = text(message.params.uri)
            && let Some(owner) = snapshot.catalog.resource(&uri)
        {
            return Some(Addressee::of(&owner, at));
        }
        let only = match is_about_tasks(message) {
            true => only_with_tasks(message, snapshot),
            false => snapshot.only(),
        };
        only.map(|place| Addressee { place, change: None }).filter(|to| running(&to.place))
    }

    /// A notification Trunkline does not know, likewise. Nobody can be told that it found none.
    pub(super) fn pass_notification(
        &self,
        message: &Message<'_>,
        snapshot: &Snapshot,
        touched: &mut FlushSet,
    ) {
        let to = self.addressee(message, snapshot, &self.client);
        let to = to.filter(|to| snapshot.is_whole(to.place));
        let server = to.as_ref().and_then(|to| snapshot.server(to.place));
        let connection = server.and_then(|server| self.connection_of(server));
        let Some(connection) = connection else {
            let method = message.method();
            let method = String::from_utf8_lossy(&method);
            tracing::debug!(%method, "a notification that is for no server here is dropped");
            return;
        };
        let change = to.and_then(|to| to.change);
        let edits = change.as_ref().map(|(at, token)| Edits::one(*at, token));
        connection.link.tell(message.bytes, &edits.unwrap_or_default(), touched);
    }

    /// Something about the client itself: for the servers that are its own.
    pub(super) fn tell_own_servers(&self, message: &Message<'_>, touched: &mut FlushSet) {
        let servers: Vec<Arc<Server>> = match self.context.exclusive {
            true => self.context.registry.servers().to_vec(),
            false => self.privates.lock().values().cloned().collect(),
        };
        for connection in servers.iter().filter_map(|server| server.connection()) {
            connection.link.tell(message.bytes, &Edits::new(), touched);
        }
    }
}

/// What is left to do once it is noted who wants to hear of a resource.
enum Noted {
    /// The client tells the server itself.
    PassOn,
    /// The server has been asked in its own way; the client may rely on it when it has taken that.
    ServerAsked,
    Done,
}

/// Notes who wants to hear of a resource.
fn noted(
    asked: &SessionRequest<'_>,
    to: &Forward<'_>,
    connection: &Connection,
    uri: &str,
) -> Noted {
    let subscriptions = &connection.subscriptions;
    match to.deed {
        ResourceAction::Plain => Noted::PassOn,
        ResourceAction::Subscribe => {
            let is_first = !subscriptions.uris().iter().any(|known| known == uri);
            subscriptions.add(uri, asked.client, to.at.of(asked.message.bytes));
            if connection.link.era() == Era::Legacy {
                return Noted::PassOn;
            }
            if is_first {
                drop(connection.listens.follow(&connection.link, uri));
            }
            Noted::ServerAsked
        }
        // Others still want to hear of it: the server goes on telling.
        ResourceAction::Unsubscribe if !subscriptions.remove(uri, asked.client) => Noted::Done,
        ResourceAction::Unsubscribe if connection.link.era() == Era::Legacy => Noted::PassOn,
        ResourceAction::Unsubscribe => {
            connection.listens.unfollow(&connection.link, uri);
            Noted::Done
        }
    }
}

/// Hands a request over. A server that has gone at this moment and is expected back is waited for.
fn submit(
    asked: SessionRequest<'_>,
    server: &Arc<Server>,
    connection: &Arc<Connection>,
    (changes, shown): (Changes<'_>, Shown),
    touched: &mut FlushSet,
) {
    let message = asked.message;
    let mut path = way_back(asked);
    path.record = connection.record(message, changes, &path);
    path.lists_tasks = shown == Shown::OwnTasks;
    let note = path.record.clone();
    let onward = note.as_deref().and_then(|note| note.onward(message));
    let both = with(changes, onward.as_ref());
    let changes = both.as_deref().unwrap_or(changes);
    let Err(rejected) = connection.submit(message, changes, path, touched) else { return };
    let has_gone = matches!(rejected.error, CallError::ServerGone { may_have_run: false, .. });
    match server.waiting_room().filter(|_| has_gone) {
        Some(room) => {
            room.missed(connection);
            wait_for(message, rejected.reply, server, changes, touched);
        }
        None => rejected.answer(touched),
    }
}

/// A request for a server that is not there: something may be called by its key although it does not
/// run. One that is expected back is waited for.
fn hold(
    asked: SessionRequest<'_>,
    server: &Arc<Server>,
    changes: Changes<'_>,
    shown: Shown,
    touched: &mut FlushSet,
) {
    match server.connection() {
        // It has come while the request was read.
        Some(connection) => submit(asked, server, &connection, (changes, shown), touched),
        None => {
            let message = asked.message;
            let mut path = way_back(asked);
            path.record = server.note(message, changes, path.asker());
            path.lists_tasks = shown == Shown::OwnTasks;
            let onward = path.record.as_deref().and_then(|note| note.onward(message));
            let both = with(changes, onward.as_ref());
            let changes = both.as_deref().unwrap_or(changes);
            wait_for(message, path, server, changes, touched);
        }
    }
}

fn wait_for(
    message: &Message<'_>,
    mut path: ReplyTo,
    server: &Server,
    changes: Changes<'_>,
    touched: &mut FlushSet,
) {
    path.replay = Some(Replay::new(message, changes));
    if let Err(rejected) = server.hold(path, touched) {
        rejected.answer(touched);
    }
}

/// The changes and one more, if there is one more.
fn with<'a>(
    changes: Changes<'a>,
    more: Option<&'a (Span, Vec<u8>)>,
) -> Option<Vec<(Span, &'a [u8])>> {
    let (at, new) = more?;
    Some([changes, &[(*at, &new[..])]].concat())
}

fn way_back(asked: SessionRequest<'_>) -> ReplyTo {
    let SessionRequest { message, id, door, client, manner, .. } = asked;
    let token = message.params.meta_progress_token.map(|span| span.of(message.bytes));
    // Anything else is no token; it goes through as it is.
    let token = token.filter(|token| matches!(token.first(), Some(b'"' | b'-' | b'0'..=b'9')));
    let token = token.map(Into::into);
    ReplyTo::new(Arc::clone(client), id, token, door.clone(), manner.clone())
}

pub(super) fn absent(server: &Server) -> CallError {
    CallError::ServerAbsent { server: server.key.to_string(), why: server.absence() }
}

/// Whom a message is for, and what is replaced by the server's own name.
struct Addressee {
    place: usize,
    change: Option<(Span, Box<[u8]>)>,
}

impl Addressee {
    fn of(owner: &Owner, at: Span) -> Self {
        Self { place: owner.server, change: Some((at, owner.name_token.clone())) }
    }
}
