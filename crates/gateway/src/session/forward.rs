//! Requests that go on to a server, and those for which no server is found.

use std::sync::Arc;

use trunkline_catalog::config::Share;
use trunkline_catalog::{Route as Owner, ToolRoute};
use trunkline_wire::{Edits, Message, Span, decode, find};

use crate::call::{Client, Replay, ReplyTo, RequestEra};
use crate::era::Era;
use crate::error::CallError;
use crate::pump::FlushSet;
use crate::registry::Snapshot;
use crate::router::{Forward, ResourceAction, Subtool};
use crate::session::client_session::Session;
use crate::session::request::SessionRequest;
use crate::session::tasks::{self, TaskScope, is_about_tasks, is_task_list};
use crate::session::waiting::{
    confirm_when_asked, retry_when_awake, retry_when_ready, retry_when_settled,
};
use crate::upstream::{Connection, Server, State};

/// What is replaced in a request.
type Changes<'a> = &'a [(Span, &'a [u8])];

/// Where a request may name its server, when neither a name nor a URI identifies it.
const ADDRESS: [&str; 2] = ["_meta", "trunkline/server"];

/// The router has found a tool by its name.
const UNNAMED: CallError = CallError::Internal("a call was routed that names no tool");

/// A tool call: the hot path.
pub(super) fn call(asked: SessionRequest<'_>, owner: &Owner, touched: &mut FlushSet) {
    let Some(name_at) = asked.message.params.name else {
        return asked.refuse(&UNNAMED, touched);
    };
    note_state(&asked, owner);
    send(asked, owner.server, &[(name_at, &owner.name_token)], TaskScope::All, touched);
}

/// A server whose tools say that they change something may hold state: it is not stopped by itself.
fn note_state(asked: &SessionRequest<'_>, owner: &Owner) {
    if owner.keeps_state
        && let Some(server) = asked.snapshot.server(owner.server)
    {
        server.demand.note_state();
    }
}

/// A call to a custom tool: the tool behind it gets its own name and its own arguments.
pub(super) fn call_subtool(
    asked: SessionRequest<'_>,
    subtool: &Subtool<'_>,
    touched: &mut FlushSet,
) {
    let Some(name_at) = asked.message.params.name else {
        return asked.refuse(&UNNAMED, touched);
    };
    note_state(&asked, subtool.owner);
    let changes: Changes<'_> =
        &[(name_at, &subtool.owner.name_token), (subtool.arguments, subtool.args)];
    send(asked, subtool.owner.server, changes, TaskScope::All, touched);
}

pub(super) fn forward(asked: SessionRequest<'_>, to: &Forward<'_>, touched: &mut FlushSet) {
    if let Some(connection) = asked.snapshot.connection(to.server)
        && let Some(uri) = decode(&to.token)
    {
        match subscribe(&asked, to, connection, &uri) {
            Subscribed::PassOn => {}
            Subscribed::Done => return asked.answer(b"{}", touched),
            Subscribed::ServerAsked => {
                return confirm_when_asked(&asked, connection, uri.into_owned());
            }
            Subscribed::Refused(error) => return asked.refuse(&error, touched),
        }
    }
    if let (Some(server), None) =
        (asked.snapshot.server(to.server), asked.snapshot.connection(to.server))
        && to.action != ResourceAction::Plain
    {
        // Subscriptions are recorded with the connection, and there is none yet.
        return match server.status().state {
            _ if to.action != ResourceAction::Subscribe => asked.refuse(&absent(server), touched),
            State::Idle => retry_when_awake(&asked, Arc::clone(server)),
            State::Initializing if asked.session.context.may_wait() => {
                retry_when_ready(&asked, Arc::clone(server));
            }
            _ => asked.refuse(&absent(server), touched),
        };
    }
    send(asked, to.server, &[(to.at, &to.token)], TaskScope::All, touched);
}

/// Passes the request on to the server at `place`.
fn send(
    asked: SessionRequest<'_>,
    place: usize,
    changes: Changes<'_>,
    shown: TaskScope,
    touched: &mut FlushSet,
) {
    let Some(server) = asked.snapshot.server(place) else {
        return asked.refuse(&CallError::Internal("a tool's server is not known"), touched);
    };
    let Some(connection) = asked.snapshot.connection(place) else {
        let is_shared = server.definition.share == Share::Shared;
        if is_shared || asked.session.context.exclusive {
            return hold(asked, server, changes, shown, touched);
        }
        // Its calls are with other processes; what it offers may be known before it runs.
        return match server.listing() {
            Some(_) => send_to_own(asked, server, (changes, shown), touched),
            None => asked.refuse(&absent(server), touched),
        };
    };
    // Nearly all servers are shared: their calls take the connection of the snapshot.
    if asked.session.context.exclusive || server.definition.share == Share::Shared {
        return submit(asked, server, connection, (changes, shown), touched);
    }
    send_to_own(asked, server, (changes, shown), touched);
}

/// Passes the request on to the client's own process of a server, or to any where it needs none.
fn send_to_own(
    asked: SessionRequest<'_>,
    server: &Arc<Server>,
    (changes, shown): (Changes<'_>, TaskScope),
    touched: &mut FlushSet,
) {
    match own_process(&asked, server) {
        Err(error) => asked.refuse(&error, touched),
        Ok(None) => hold(asked, server, changes, shown, touched),
        Ok(Some(private)) => match private.connection() {
            Some(connection) => submit(asked, &private, &connection, (changes, shown), touched),
            None if private.is_settled() => asked.refuse(&absent(&private), touched),
            None => retry_when_ready(&asked, private),
        },
    }
}

/// A resource or prompt that no server has; perhaps one that is still starting has it.
pub(super) fn miss(asked: &SessionRequest<'_>, error: &CallError, touched: &mut FlushSet) {
    if asked.session.context.is_starting() {
        retry_when_settled(asked);
    } else if !asked.retry_if_outdated(touched) {
        asked.turn_away(error, touched);
    }
}

/// A method Trunkline does not know goes to the one server it can be meant for.
pub(super) fn unknown(asked: SessionRequest<'_>, touched: &mut FlushSet) {
    let to = addressee(asked.session, asked.message, asked.snapshot, asked.client);
    let to = to.filter(|to| asked.snapshot.is_whole(to.place));
    let shown = match tasks::check(&asked, to.as_ref().map(|to| to.place)) {
        Ok(shown) => shown,
        Err(error) => return asked.turn_away(&error, touched),
    };
    match to {
        Some(Addressee { place, change }) => {
            let change = change.as_ref().map(|(at, token)| (*at, &**token));
            let changes: Vec<(Span, &[u8])> = change.into_iter().collect();
            send(asked, place, &changes, shown, touched);
        }
        None if asked.session.context.is_starting() => retry_when_settled(&asked),
        None if is_task_list(&asked) => tasks::list(&asked, touched),
        None => asked.turn_away(&tasks::unaddressed(asked.message), touched),
    }
}

/// The server a message of an unknown kind is for: by the name or URI in it, by the address in
/// its `_meta`, or because there is only one.
fn addressee(
    session: &Session,
    message: &Message<'_>,
    snapshot: &Snapshot,
    client: &Client,
) -> Option<Addressee> {
    let is_expected =
        |place| snapshot.server(place).is_some_and(|it| it.open_wait_queue().is_some());
    let running = |place: &usize| snapshot.connection(*place).is_some() || is_expected(*place);
    let text = |span: Option<Span>| span.and_then(|at| Some((at, decode(at.of(message.bytes))?)));
    let address = message.params.span.and_then(|params| find(message.bytes, params, &ADDRESS));
    if let Some((_, key)) = text(address) {
        let place = snapshot.place_of(&key)?;
        return Some(Addressee { place, change: None }).filter(|to| running(&to.place));
    }
    if let Some(place) = tasks::place_of_task(session, message, snapshot, client) {
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
        true => tasks::only_with_tasks(message, snapshot),
        false => snapshot.only(),
    };
    only.map(|place| Addressee { place, change: None }).filter(|to| running(&to.place))
}

/// A notification that Trunkline does not know goes to the one server it can be meant for. It has no
/// answer, so one without a server is dropped.
pub(super) fn pass_notification(
    session: &Session,
    message: &Message<'_>,
    snapshot: &Snapshot,
    touched: &mut FlushSet,
) {
    let to = addressee(session, message, snapshot, &session.client);
    let to = to.filter(|to| snapshot.is_whole(to.place));
    let server = to.as_ref().and_then(|to| snapshot.server(to.place));
    let connection = server.and_then(|server| connection_of(session, server));
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

/// Tells something about the client itself to the servers that are its own.
pub(super) fn tell_own_servers(session: &Session, message: &Message<'_>, touched: &mut FlushSet) {
    let servers: Vec<Arc<Server>> = match session.context.exclusive {
        true => session.context.registry.servers().to_vec(),
        false => session.private_servers.all_of_session(),
    };
    for connection in servers.iter().filter_map(|server| server.connection()) {
        connection.link.tell(message.bytes, &Edits::new(), touched);
    }
}

/// The client's own process of a server that is not shared; `None`: any process will do.
fn own_process(
    asked: &SessionRequest<'_>,
    server: &Arc<Server>,
) -> Result<Option<Arc<Server>>, CallError> {
    let private_servers = &asked.session.private_servers;
    match asked.era {
        RequestEra::Session => private_servers.for_session(server).map(Some),
        // A retry is known by its `requestState`; a client that cannot be asked needs no process
        // of its own.
        RequestEra::Stateless(how)
            if how.can_be_asked() && asked.message.params.request_state.is_none() =>
        {
            private_servers.for_stateless_call(server).map(Some)
        }
        RequestEra::Stateless(_) => Ok(None),
    }
}

/// The connection that this client's notifications to a server take now.
fn connection_of(session: &Session, server: &Arc<Server>) -> Option<Arc<Connection>> {
    if !session.has_joined()
        || session.context.exclusive
        || server.definition.share == Share::Shared
    {
        return server.connection();
    }
    session.private_servers.for_session(server).ok()?.connection()
}

/// What is left to do once a subscription is recorded.
enum Subscribed {
    /// The client tells the server itself.
    PassOn,
    /// The server has been asked in its own way; the client may rely on it when it has taken that.
    ServerAsked,
    Done,
    Refused(CallError),
}

/// Records that the client subscribes to a resource, or does so no longer.
fn subscribe(
    asked: &SessionRequest<'_>,
    to: &Forward<'_>,
    connection: &Connection,
    uri: &str,
) -> Subscribed {
    let subscriptions = &connection.subscriptions;
    match to.action {
        ResourceAction::Plain => Subscribed::PassOn,
        ResourceAction::Subscribe => {
            let added = subscriptions.add(uri, asked.client, to.at.of(asked.message.bytes));
            let is_first = match added {
                Ok(is_first) => is_first,
                Err(error) => return Subscribed::Refused(error),
            };
            if connection.link.era() == Era::Legacy {
                return Subscribed::PassOn;
            }
            if is_first {
                drop(connection.listens.follow(&connection.link, uri));
            }
            Subscribed::ServerAsked
        }
        // Another client still subscribes: the server goes on telling.
        ResourceAction::Unsubscribe if !subscriptions.remove(uri, asked.client) => Subscribed::Done,
        ResourceAction::Unsubscribe if connection.link.era() == Era::Legacy => Subscribed::PassOn,
        ResourceAction::Unsubscribe => {
            connection.listens.unfollow(&connection.link, uri);
            Subscribed::Done
        }
    }
}

/// Hands a request to its server. If the server has gone just now and is expected back, the request
/// waits for it.
fn submit(
    asked: SessionRequest<'_>,
    server: &Arc<Server>,
    connection: &Arc<Connection>,
    (changes, shown): (Changes<'_>, TaskScope),
    touched: &mut FlushSet,
) {
    let message = asked.message;
    let mut reply = reply_to(asked);
    reply.record = connection.record(message, changes, &reply);
    reply.lists_tasks = shown == TaskScope::OwnTasks;
    let record = reply.record.clone();
    let onward = record.as_deref().and_then(|record| record.onward(message));
    let both = with(changes, onward.as_ref());
    let changes = both.as_deref().unwrap_or(changes);
    let Err(rejected) = connection.submit(message, changes, reply, touched) else { return };
    let has_gone = matches!(rejected.error, CallError::ServerGone { may_have_run: false, .. });
    match server.open_wait_queue().filter(|_| has_gone) {
        Some(queue) => {
            // The queue must not send it to the connection that is just gone.
            queue.missed(connection);
            wait_for(message, rejected.reply, server, changes, touched);
        }
        None => rejected.answer(touched),
    }
}

/// A request for a server without a connection: a name may lead to it although it does not run. If
/// the server is expected back, the request waits for it.
fn hold(
    asked: SessionRequest<'_>,
    server: &Arc<Server>,
    changes: Changes<'_>,
    shown: TaskScope,
    touched: &mut FlushSet,
) {
    match server.connection() {
        // The connection has come since the snapshot was taken.
        Some(connection) => submit(asked, server, &connection, (changes, shown), touched),
        None => {
            let message = asked.message;
            let mut reply = reply_to(asked);
            reply.record = server.note(message, changes, reply.asker());
            reply.lists_tasks = shown == TaskScope::OwnTasks;
            let record = reply.record.clone();
            let onward = record.as_deref().and_then(|record| record.onward(message));
            let both = with(changes, onward.as_ref());
            let changes = both.as_deref().unwrap_or(changes);
            wait_for(message, reply, server, changes, touched);
        }
    }
}

fn wait_for(
    message: &Message<'_>,
    mut reply: ReplyTo,
    server: &Server,
    changes: Changes<'_>,
    touched: &mut FlushSet,
) {
    reply.replay = Some(Replay::new(message, changes));
    if let Err(rejected) = server.hold(reply, touched) {
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

fn reply_to(asked: SessionRequest<'_>) -> ReplyTo {
    let SessionRequest { message, id, sink, client, era, .. } = asked;
    let token = message.params.meta.progress_token.map(|span| span.of(message.bytes));
    // Anything else is no token; it goes through as it is.
    let token = token.filter(|token| matches!(token.first(), Some(b'"' | b'-' | b'0'..=b'9')));
    ReplyTo::new(Arc::clone(client), id, token.map(Into::into), sink.clone(), era.clone())
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
