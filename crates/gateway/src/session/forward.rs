//! Requests that go on to a server, and what is said about those that have none to go to.

use std::sync::Arc;

use trunkline_catalog::{Route as Owner, ToolRoute};
use trunkline_wire::{Id, Message, Span, decode, find};

use crate::call::{Door, ReturnPath};
use crate::error::CallError;
use crate::pump::Touched;
use crate::registry::Snapshot;
use crate::router::{Deed, Forward, Subtool};
use crate::session::Session;
use crate::session::legacy::{answer, refuse, unknown_method};
use crate::upstream::{Connection, Server};

/// Where a request may say which server it is for, when nothing else does.
const ADDRESS: [&str; 2] = ["_meta", "trunkline/server"];

impl Session {
    /// A tool call: the hot path.
    pub(super) fn call(
        self: &Arc<Self>,
        message: &Message<'_>,
        id: Id,
        owner: &Owner,
        door: &Door,
        snapshot: &Snapshot,
        touched: &mut Touched,
    ) {
        let Some(name_at) = message.params.name else { return };
        let changes: &[(Span, &[u8])] = &[(name_at, &owner.name_token)];
        self.send(owner.server, message, changes, id, door, snapshot, touched);
    }

    /// A call to a custom tool: the tool behind it gets its own name and its own arguments.
    pub(super) fn call_subtool(
        self: &Arc<Self>,
        message: &Message<'_>,
        id: Id,
        subtool: &Subtool<'_>,
        door: &Door,
        snapshot: &Snapshot,
        touched: &mut Touched,
    ) {
        let Some(name_at) = message.params.name else { return };
        let changes: &[(Span, &[u8])] =
            &[(name_at, &subtool.owner.name_token), (subtool.arguments, subtool.args)];
        self.send(subtool.owner.server, message, changes, id, door, snapshot, touched);
    }

    pub(super) fn forward(
        self: &Arc<Self>,
        message: &Message<'_>,
        id: Id,
        to: &Forward<'_>,
        door: &Door,
        snapshot: &Snapshot,
        touched: &mut Touched,
    ) {
        if let Some(connection) = snapshot.connection(to.server)
            && let Some(uri) = decode(&to.token)
        {
            match to.deed {
                Deed::Plain => {}
                Deed::Subscribe => {
                    let token = to.at.of(message.bytes);
                    connection.subscriptions.add(&uri, &self.client, token);
                }
                // Others still want to hear of it: the server goes on telling.
                Deed::Unsubscribe if !connection.subscriptions.remove(&uri, &self.client) => {
                    return answer(message.id(), b"{}", door, touched);
                }
                Deed::Unsubscribe => {}
            }
        }
        let changes: &[(Span, &[u8])] = &[(to.at, &to.token)];
        self.send(to.server, message, changes, id, door, snapshot, touched);
    }

    #[expect(clippy::too_many_arguments, reason = "a request, where it goes, where it came from")]
    fn send(
        self: &Arc<Self>,
        place: usize,
        message: &Message<'_>,
        changes: &[(Span, &[u8])],
        id: Id,
        door: &Door,
        snapshot: &Snapshot,
        touched: &mut Touched,
    ) {
        let Some(server) = snapshot.server(place) else { return };
        let Some(connection) = snapshot.connection(place) else {
            // Something may be called by its server's key although that server does not run.
            return refuse(message.id(), &absent(server), door, touched);
        };
        match self.own_process(server) {
            None => self.submit(connection, message, changes, id, door, touched),
            Some(private) => match private.connection() {
                Some(connection) => self.submit(&connection, message, changes, id, door, touched),
                None if private.is_settled() => {
                    refuse(message.id(), &absent(&private), door, touched);
                }
                None => self.retry_when_ready(private, message, id, door),
            },
        }
    }

    fn submit(
        &self,
        connection: &Arc<Connection>,
        message: &Message<'_>,
        changes: &[(Span, &[u8])],
        id: Id,
        door: &Door,
        touched: &mut Touched,
    ) {
        let token = message.params.meta_progress_token.map(|span| span.of(message.bytes));
        // Anything else is no token; it goes through as it is.
        let token = token.filter(|token| matches!(token.first(), Some(b'"' | b'-' | b'0'..=b'9')));
        let path = ReturnPath {
            client: Arc::clone(&self.client),
            id,
            progress_token: token.map(Into::into),
            door: door.clone(),
        };
        if let Err(error) = connection.submit(message, changes, path, touched) {
            refuse(message.id(), &error, door, touched);
        }
    }

    pub(super) fn call_unknown(
        self: &Arc<Self>,
        message: &Message<'_>,
        id: Id,
        name: &str,
        door: &Door,
        touched: &mut Touched,
    ) {
        match self.context.view.by_prefix(name) {
            Some(server) if self.may_wait() && !server.is_settled() => {
                self.retry_when_ready(server, message, id, door);
            }
            _ => refuse(message.id(), &self.unknown_tool(name), door, touched),
        }
    }

    fn unknown_tool(&self, name: &str) -> CallError {
        let view = &self.context.view;
        let tool = name.to_owned();
        if let Some(server) = view.by_prefix(name)
            && !self.context.face.simple
            && server.connection().is_none()
        {
            let (server, why) = (server.key.to_string(), server.absence());
            return CallError::ToolOfAbsentServer { tool, server, why };
        }
        let separators = [view.naming.separator(), "__"];
        let prefixed = separators.iter().any(|separator| name.contains(separator));
        if prefixed { CallError::UnknownTool(tool) } else { CallError::NoPrefix(tool) }
    }

    /// A resource or prompt nobody has; perhaps a server that is still starting has it.
    pub(super) fn miss(
        self: &Arc<Self>,
        message: &Message<'_>,
        id: Id,
        error: &CallError,
        door: &Door,
        touched: &mut Touched,
    ) {
        if self.may_wait() && !self.context.registry.is_settled() {
            self.retry_when_settled(message, id, door);
        } else {
            refuse(message.id(), error, door, touched);
        }
    }

    /// A method Trunkline does not know goes to the one server it can be meant for.
    pub(super) fn unknown(
        self: &Arc<Self>,
        message: &Message<'_>,
        id: Id,
        door: &Door,
        snapshot: &Snapshot,
        touched: &mut Touched,
    ) {
        match self.addressee(message, snapshot) {
            Some(Addressee { place, change }) => {
                let change = change.as_ref().map(|(at, token)| (*at, &**token));
                let changes: Vec<(Span, &[u8])> = change.into_iter().collect();
                self.send(place, message, &changes, id, door, snapshot, touched);
            }
            None if self.may_wait() && !self.context.registry.is_settled() => {
                self.retry_when_settled(message, id, door);
            }
            None => {
                let CallError::UnknownMethod(method) = unknown_method(message) else { return };
                let error = CallError::Unaddressed { method };
                refuse(message.id(), &error, door, touched);
            }
        }
    }

    /// The server a message of an unknown kind is for: by the name or URI in it, by the address in
    /// its `_meta`, or because there is only one.
    fn addressee(&self, message: &Message<'_>, snapshot: &Snapshot) -> Option<Addressee> {
        let running = |place: &usize| snapshot.connection(*place).is_some();
        let text = |span: Option<Span>| span.and_then(|at| Some((at, decode(at.of(message.bytes))?)));
        let address = message.params.span.and_then(|params| find(message.bytes, params, &ADDRESS));
        if let Some((_, key)) = text(address) {
            let place = snapshot.place_of(&key)?;
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
        snapshot.only().map(|place| Addressee { place, change: None }).filter(|to| running(&to.place))
    }

    /// A notification Trunkline does not know, likewise. Nobody can be told that it found none.
    pub(super) fn pass_notification(
        &self,
        message: &Message<'_>,
        snapshot: &Snapshot,
        touched: &mut Touched,
    ) {
        let to = self.addressee(message, snapshot);
        let server = to.as_ref().and_then(|to| snapshot.server(to.place));
        let connection = server.and_then(|server| self.connection_of(server));
        let Some(connection) = connection else {
            let method = message.method();
            let method = String::from_utf8_lossy(&method);
            tracing::debug!(%method, "a notification that is for no server here is dropped");
            return;
        };
        let change = to.and_then(|to| to.change);
        let edits = change.as_ref().map(|(at, token)| trunkline_wire::Edits::one(*at, token));
        connection.line.tell(message.bytes, &edits.unwrap_or_default(), touched);
    }

    /// Something about the client itself: for the servers that are its own.
    pub(super) fn tell_own_servers(&self, message: &Message<'_>, touched: &mut Touched) {
        let servers: Vec<Arc<Server>> = match self.context.exclusive {
            true => self.context.registry.servers().to_vec(),
            false => self.privates.lock().values().cloned().collect(),
        };
        for connection in servers.iter().filter_map(|server| server.connection()) {
            connection.line.tell(message.bytes, &trunkline_wire::Edits::new(), touched);
        }
    }
}

fn absent(server: &Server) -> CallError {
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
