//! The server that a message of an unknown kind is for, and the servers that hear what a client notifies.

use std::sync::Arc;

use trunkline_catalog::config::Share;
use trunkline_catalog::{Route as Owner, ToolRoute};
use trunkline_wire::{Edits, Message, Span, decode, find};

use crate::call::Client;
use crate::pump::FlushSet;
use crate::registry::Snapshot;
use crate::session::client_session::Session;
use crate::session::tasks::{self, is_about_tasks};
use crate::upstream::{Connection, Server};

/// Where a request may name its server, when neither a name nor a URI identifies it.
const ADDRESS: [&str; 2] = ["_meta", "trunkline/server"];

/// Whom a message is for, and what is replaced by the server's own name.
pub(super) struct Addressee {
    pub(super) place: usize,
    pub(super) change: Option<(Span, Box<[u8]>)>,
}

impl Addressee {
    fn of(owner: &Owner, at: Span) -> Self {
        Self { place: owner.server, change: Some((at, owner.name_token.clone())) }
    }
}

/// The server a message of an unknown kind is for: by the name or URI in it, by the address in
/// its `_meta`, or because there is only one.
pub(super) fn addressee(
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

/// The connection that this client's notifications to a server take now.
fn connection_of(session: &Session, server: &Arc<Server>) -> Option<Arc<Connection>> {
    if !session.client.has_joined()
        || session.context.exclusive
        || server.definition.share == Share::Shared
    {
        return server.connection();
    }
    session.private_servers.for_session(server).ok()?.connection()
}
