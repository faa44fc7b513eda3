//! Takes the messages of a client, and decides what each leads to.

use std::sync::Arc;

use trunkline_wire::{FaultKind, Id, Kind, Message, MessageFault, Revision, scan};

use crate::call::{Client, RequestEra, ResponseSink, Stateless};
use crate::era::Era;
use crate::error::CallError;
use crate::pump::FlushSet;
use crate::registry::Snapshot;
use crate::router::{Route, route};
use crate::session::batch::take_batch;
use crate::session::cancel::cancelled;
use crate::session::client_session::Session;
use crate::session::request::{SessionRequest, refuse_in, refuse_unread, unknown_method};
use crate::session::unknown_tool::NamedIn;
use crate::session::{forward, legacy, meta_tools, stateless, unknown_tool};

/// Takes one message from the client, as bytes; its answer leaves through `sink`. What it leads to is
/// put into outboxes and noted in `touched`.
pub(crate) fn receive(
    session: &Arc<Session>,
    bytes: &[u8],
    sink: &ResponseSink,
    snapshot: &Snapshot,
    touched: &mut FlushSet,
) {
    // Borrowed where it lies: the message is large, and moving it shows in profiles.
    match &scan(bytes) {
        Ok(message) => take(session, message, sink, snapshot, touched),
        Err(MessageFault { kind: FaultKind::Batch, .. }) if session.allows_batches() => {
            take_batch(bytes, sink, touched, |message, sink, touched| {
                take(session, message, sink, snapshot, touched);
            });
        }
        Err(fault) => refuse_unread(bytes, *fault, sink, touched),
    }
}

/// Takes one message that was scanned already.
pub(crate) fn take(
    session: &Arc<Session>,
    message: &Message<'_>,
    sink: &ResponseSink,
    snapshot: &Snapshot,
    touched: &mut FlushSet,
) {
    let client = &session.client;
    match message.kind {
        Kind::Request
            if message.params.meta.version.is_some() && !session.context.gateway_info.simple =>
        {
            match Stateless::read(message, &session.principal) {
                Ok(how) => take_stateless(session, client, (message, how), sink, snapshot, touched),
                Err(error) => refuse_in(Era::Modern, message.id(), &error, sink, touched),
            }
        }
        Kind::Request => {
            let era = &RequestEra::Session;
            dispatch(request(session, message, sink, snapshot, (client, era)), touched);
        }
        Kind::Notification => notify(session, message, snapshot, touched),
        Kind::Answer | Kind::Refusal => {
            if !client.answered(message, touched) {
                tracing::debug!("a client answered what it was not asked");
            }
        }
    }
}

/// Takes a stateless request of this client.
pub(crate) fn take_stateless(
    session: &Arc<Session>,
    client: &Arc<Client>,
    (message, how): (&Message<'_>, Arc<Stateless>),
    sink: &ResponseSink,
    snapshot: &Snapshot,
    touched: &mut FlushSet,
) {
    let era = &RequestEra::Stateless(how);
    dispatch(request(session, message, sink, snapshot, (client, era)), touched);
}

/// Takes an `initialize` whose revision was negotiated already.
pub(crate) fn initialize(
    session: &Arc<Session>,
    (message, agreed): (&Message<'_>, Revision),
    sink: &ResponseSink,
    touched: &mut FlushSet,
) {
    let snapshot = session.context.view.snapshot();
    let asker = (&session.client, &RequestEra::Session);
    let asked = request(session, message, sink, &snapshot, asker);
    legacy::initialize(&asked, agreed, touched);
}

fn request<'a>(
    session: &'a Arc<Session>,
    message: &'a Message<'a>,
    sink: &'a ResponseSink,
    snapshot: &'a Snapshot,
    (client, era): (&'a Arc<Client>, &'a RequestEra),
) -> SessionRequest<'a> {
    let id = Id::new(message.id());
    SessionRequest { session, message, id, sink, snapshot, client, era, dispatch }
}

/// Handles a request, for the first time or again after it had to wait.
fn dispatch(asked: SessionRequest<'_>, touched: &mut FlushSet) {
    let SessionRequest { message, snapshot, era, .. } = asked;
    let admitted = match era {
        RequestEra::Session if asked.session.has_joined() => Ok(()),
        RequestEra::Session => legacy::admit_first(&asked),
        RequestEra::Stateless(how) => stateless::admit(&asked, how),
    };
    // Refused before it is routed: the era decides what may be asked at all.
    if let Err(error) = admitted {
        return asked.refuse(&error, touched);
    }
    let route = match (route(message, &snapshot.catalog), era) {
        // The hot path: nearly all requests are calls of one server's tool.
        (Ok(Route::Call(owner)), _) => return forward::call(asked, owner, touched),
        (Ok(route), RequestEra::Session) => legacy::answer_own(&asked, route, touched).map(Ok),
        (Err(error), RequestEra::Session) => Some(Err(error)),
        (route, RequestEra::Stateless(_)) => stateless::answer_own(&asked, route, touched),
    };
    match route {
        Some(Ok(route)) => carry_out(asked, route, touched),
        Some(Err(error)) => asked.refuse(&explained(&asked, error), touched),
        None => {}
    }
}

/// What goes on to a server, or finds none, in every era.
fn carry_out(asked: SessionRequest<'_>, route: Route<'_>, touched: &mut FlushSet) {
    match route {
        Route::Call(owner) => forward::call(asked, owner, touched),
        Route::UnknownTool(name) => unknown_tool::call(&asked, &name, NamedIn::Call, touched),
        Route::UnknownBehind(name) => {
            unknown_tool::call(&asked, &name, NamedIn::MetaTool, touched);
        }
        Route::Seek(query) => meta_tools::search(&asked, query),
        Route::Mistaken { about, why } => {
            meta_tools::refuse_call(&asked, about.as_deref(), why, touched);
        }
        Route::Subtool(subtool) => forward::call_subtool(asked, &subtool, touched),
        Route::Forward(to) => forward::forward(asked, &to, touched),
        Route::Missing(error) => forward::miss(&asked, &error, touched),
        Route::Other => forward::unknown(asked, touched),
        // Each era answers these itself, or does not have them.
        Route::Initialize | Route::Ping | Route::List(_) | Route::SetLevel(_) => {
            asked.refuse(&unknown_method(asked.message), touched);
        }
    }
}

/// Completes an error of routing with what the session knows.
fn explained(asked: &SessionRequest<'_>, error: CallError) -> CallError {
    let (context, message) = (&asked.session.context, asked.message);
    match &error {
        CallError::ServerAbsent { server, .. } => {
            let servers = context.registry.servers();
            let server = servers.iter().find(|known| known.key.is_called(server));
            server.map_or(error, |server| forward::absent(server))
        }
        // The simple product does not have most methods: their params cannot be wrong.
        CallError::InvalidParams(_) if context.gateway_info.simple => match &*message.method() {
            b"tools/call" | b"tools/list" | b"initialize" => error,
            _ => unknown_method(message),
        },
        _ => error,
    }
}

/// Takes a message that has no answer.
pub(crate) fn notify(
    session: &Session,
    message: &Message<'_>,
    snapshot: &Snapshot,
    touched: &mut FlushSet,
) {
    match &*message.method() {
        b"notifications/cancelled" => cancelled(&session.client, message, touched),
        b"notifications/progress" => session.client.progresses(message, touched),
        b"notifications/initialized" => {}
        _ if session.context.gateway_info.simple => {}
        // Revision 2026-07-28 does not have it.
        b"notifications/roots/list_changed" if !session.has_joined() => {}
        b"notifications/roots/list_changed" => forward::tell_own_servers(session, message, touched),
        method if method.starts_with(b"notifications/") => {
            forward::pass_notification(session, message, snapshot, touched);
        }
        // A request without an id is none (JSON-RPC 2.0, 4.1): it must not be carried out.
        _ => tracing::debug!("a request without an id is dropped"),
    }
}
