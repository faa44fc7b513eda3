//! Takes the messages of a client, decides what each leads to, and hands those for a server on to it.

use std::sync::Arc;

use trunkline_catalog::Route as Owner;
use trunkline_catalog::config::Share;
use trunkline_wire::{FaultKind, Id, Kind, Message, MessageFault, Revision, Span, decode, scan};

use crate::call::{Client, ReplyTo, RequestEra, ResponseSink, Stateless};
use crate::era::Era;
use crate::error::CallError;
use crate::events::{EventSink, RecordRoom};
use crate::limiter::{Meter, Permit};
use crate::pump::FlushSet;
use crate::registry::Snapshot;
use crate::router::{Forward, ResourceAction, Route, Subtool, route};
use crate::session::addressee::{Addressee, addressee, pass_notification, tell_own_servers};
use crate::session::batch::take_batch;
use crate::session::cancel::cancelled;
use crate::session::client_session::Session;
use crate::session::own_process::{outdated, own_process};
use crate::session::policies::{ForwardAdmission, admit_other, admit_unknown};
use crate::session::request::{SessionRequest, absent, refuse_in, refuse_unread, unknown_method};
use crate::session::tasks::{TaskScope, is_task_list};
use crate::session::unknown_tool::NamedIn;
use crate::session::waiting_line::Awaited;
use crate::session::{
    keyed, legacy, limited, meta_tools, stateless, subscribe, tasks, unknown_tool, waiting,
};
use crate::upstream::{Connection, Server, result_subject};

/// Takes one message from the client, as bytes; its answer leaves through `sink`. What it leads to is
/// put into outboxes and noted in `touched`.
pub(crate) fn receive(
    session: &Arc<Session>,
    bytes: &[u8],
    sink: &ResponseSink,
    snapshot: &Snapshot,
    touched: &mut FlushSet,
) {
    // Borrowed where it lies: moving it shows in profiles.
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
    let registry = &session.context.registry;
    let is_over = |awaited: &Awaited| awaited.is_over(registry);
    let _behind = match message.kind {
        Kind::Request => session.line.behind(session, is_over, touched),
        _ => None,
    };
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
    SessionRequest { session, message, id, sink, snapshot, client, era, dispatch, place: None }
}

/// Handles a request, for the first time or again after it had to wait.
fn dispatch(asked: SessionRequest<'_>, touched: &mut FlushSet) {
    let SessionRequest { message, snapshot, era, .. } = asked;
    let admitted = match era {
        RequestEra::Session if asked.client.has_joined() => Ok(()),
        RequestEra::Session => legacy::admit_first(&asked),
        RequestEra::Stateless(how) => stateless::admit(&asked, how),
    };
    // Refused before it is routed: the era decides what may be asked at all.
    if let Err(error) = admitted {
        return asked.refuse(&error, touched);
    }
    let route = match (route(message, &snapshot.catalog), era) {
        // The hot path: nearly all requests are calls of one server's tool.
        (Ok(Route::Call(owner)), _) => return call(asked, owner, touched),
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
        Route::Call(owner) => call(asked, owner, touched),
        Route::UnknownTool(name) => unknown_tool::call(&asked, &name, NamedIn::Call, touched),
        Route::UnknownBehind(name) => {
            unknown_tool::call(&asked, &name, NamedIn::MetaTool, touched);
        }
        Route::Seek(query) => match limited::for_own_tool(&asked) {
            Ok(()) => meta_tools::search(&asked, query),
            Err(error) => asked.turn_away(&error, touched),
        },
        Route::Mistaken { about, why } => {
            meta_tools::refuse_call(&asked, about.as_deref(), why, touched);
        }
        Route::Subtool(subtool) => call_subtool(asked, &subtool, touched),
        Route::Forward(to) => forward(asked, &to, touched),
        Route::Missing(error) => miss(&asked, &error, touched),
        Route::Other => unknown(asked, touched),
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
            server.map_or(error, |server| absent(server))
        }
        // The simple product does not have most methods: their params cannot be wrong.
        CallError::InvalidParams(_) if context.gateway_info.simple => match &*message.method() {
            b"tools/call" | b"tools/list" | b"initialize" => error,
            _ => unknown_method(message),
        },
        _ => error,
    }
}

/// What is replaced in a request.
type Changes<'a> = &'a [(Span, &'a [u8])];

/// How a request goes to its server.
#[derive(Clone, Copy)]
struct Outgoing<'a> {
    changes: Changes<'a>,
    shown: TaskScope,
    /// What the tool that it calls may have, with the tool's name as a token; `None`: that is not limited.
    tool: Option<(&'a Arc<Meter>, &'a [u8])>,
    /// Is it a call, as limits count them?
    counts: bool,
}

impl<'a> Outgoing<'a> {
    fn new(changes: Changes<'a>, shown: TaskScope) -> Self {
        Self { changes, shown, tool: None, counts: true }
    }
}

/// The router has found a tool by its name.
const UNNAMED: CallError = CallError::Internal("a call was routed that names no tool");

/// A tool call: the hot path.
fn call(asked: SessionRequest<'_>, owner: &Owner, touched: &mut FlushSet) {
    let Some(name_at) = asked.message.params.name else {
        return asked.refuse(&UNNAMED, touched);
    };
    if !keyed::admit(&asked, owner, None, touched) {
        return;
    }
    note_state(&asked, owner);
    let changes: Changes<'_> = &[(name_at, &owner.name_token)];
    let tool = tool_meter(asked.snapshot, owner);
    let outgoing = Outgoing { tool, ..Outgoing::new(changes, TaskScope::All) };
    send(asked, owner.server, outgoing, touched);
}

/// What the tool may have. Most servers have no tool with a limit of its own.
fn tool_meter<'a>(snapshot: &'a Snapshot, owner: &'a Owner) -> Option<(&'a Arc<Meter>, &'a [u8])> {
    let meter = snapshot.tool_meters(owner.server)?.get(&owner.name_token)?;
    Some((meter, &owner.name_token))
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
fn call_subtool(asked: SessionRequest<'_>, subtool: &Subtool<'_>, touched: &mut FlushSet) {
    let Some(name_at) = asked.message.params.name else {
        return asked.refuse(&UNNAMED, touched);
    };
    if !keyed::admit(&asked, subtool.owner, Some(subtool.args), touched) {
        return;
    }
    note_state(&asked, subtool.owner);
    let changes: Changes<'_> =
        &[(name_at, &subtool.owner.name_token), (subtool.arguments, subtool.args)];
    let tool = tool_meter(asked.snapshot, subtool.owner);
    let outgoing = Outgoing { tool, ..Outgoing::new(changes, TaskScope::All) };
    send(asked, subtool.owner.server, outgoing, touched);
}

/// A request about a resource or a prompt.
fn forward(asked: SessionRequest<'_>, to: &Forward<'_>, touched: &mut FlushSet) {
    // Whoever may not read it any more may still unsubscribe.
    if to.action != ResourceAction::Unsubscribe {
        match admit_other(&asked, (to.server, &to.token), to.is_prompt, touched) {
            ForwardAdmission::Yes => {}
            ForwardAdmission::No => return,
            ForwardAdmission::Missing => {
                let said = String::from_utf8_lossy(to.at.of(asked.message.bytes));
                let name = decode(to.at.of(asked.message.bytes)).unwrap_or(said).into_owned();
                let error = match to.is_prompt {
                    true => CallError::UnknownPrompt(name),
                    false => CallError::UnknownResource(name),
                };
                return asked.turn_away(&error, touched);
            }
        }
    }
    if !subscribe::settle(&asked, to, touched) {
        let changes: Changes<'_> = &[(to.at, &to.token)];
        // A subscription that was recorded here must reach its server; its number has a limit of its own.
        let counts = to.action == ResourceAction::Plain;
        let outgoing = Outgoing { counts, ..Outgoing::new(changes, TaskScope::All) };
        send(asked, to.server, outgoing, touched);
    }
}

/// Passes the request on to the server at `place`.
fn send(asked: SessionRequest<'_>, place: usize, outgoing: Outgoing<'_>, touched: &mut FlushSet) {
    let Some(server) = asked.snapshot.server(place) else {
        return asked.refuse(&CallError::Internal("a tool's server is not known"), touched);
    };
    match asked.session.context.events.as_ref().map_or(RecordRoom::Yes, EventSink::room) {
        RecordRoom::Yes => {}
        RecordRoom::Later => return waiting::retry_when_recordable(&asked, touched),
        RecordRoom::No => return asked.turn_away(&CallError::NotRecorded, touched),
    }
    let Some(connection) = asked.snapshot.connection(place) else {
        let is_shared = server.definition.share == Share::Shared;
        if is_shared || asked.session.context.exclusive {
            return hold(asked, server, outgoing, touched);
        }
        // Its calls are with other processes; what it offers may be known before it runs.
        return match server.listing() {
            Some(_) => send_to_own(asked, server, outgoing, touched),
            None => asked.refuse(&absent(server), touched),
        };
    };
    // Nearly all servers are shared: their calls take the connection of the snapshot.
    if asked.session.context.exclusive || server.definition.share == Share::Shared {
        return submit(asked, server, connection, outgoing, touched);
    }
    send_to_own(asked, server, outgoing, touched);
}

/// Passes the request on to the client's own process of a server, or to any where it needs none.
fn send_to_own(
    asked: SessionRequest<'_>,
    server: &Arc<Server>,
    outgoing: Outgoing<'_>,
    touched: &mut FlushSet,
) {
    match own_process(&asked, server) {
        Err(error) => asked.refuse(&error, touched),
        Ok(None) => hold(asked, server, outgoing, touched),
        Ok(Some(private)) => match private.connection() {
            Some(connection) => {
                match outdated(asked.message, outgoing.changes, (server, &private)) {
                    Some(error) => asked.turn_away(&error, touched),
                    None => submit(asked, &private, &connection, outgoing, touched),
                }
            }
            None if private.is_settled() => asked.refuse(&absent(&private), touched),
            None => waiting::retry_with_own(&asked, private),
        },
    }
}

/// A resource or prompt that no server has; perhaps one that is still starting has it.
fn miss(asked: &SessionRequest<'_>, error: &CallError, touched: &mut FlushSet) {
    if asked.session.context.is_starting() {
        waiting::retry_when_listed(asked);
    } else if !asked.retry_if_outdated(touched) {
        asked.turn_away(error, touched);
    }
}

/// A method Trunkline does not know goes to the one server it can be meant for.
fn unknown(asked: SessionRequest<'_>, touched: &mut FlushSet) {
    let to = addressee(asked.session, asked.message, asked.snapshot, asked.client);
    let to = to.filter(|to| asked.snapshot.is_whole(to.place));
    let shown = match tasks::check(&asked, to.as_ref().map(|to| to.place)) {
        Ok(shown) => shown,
        Err(error) => return asked.turn_away(&error, touched),
    };
    match to {
        Some(Addressee { place, .. }) if !admit_unknown(&asked, place, touched) => {}
        Some(Addressee { place, change }) => {
            let change = change.as_ref().map(|(at, token)| (*at, &**token));
            let changes: Vec<(Span, &[u8])> = change.into_iter().collect();
            send(asked, place, Outgoing::new(&changes, shown), touched);
        }
        None if asked.session.context.is_starting() => waiting::retry_when_listed(&asked),
        None if is_task_list(&asked) => tasks::list(&asked, touched),
        None => asked.turn_away(&tasks::unaddressed(asked.message), touched),
    }
}

/// Hands a request to its server, or lets it wait if the server has gone just now and is expected back.
fn submit(
    asked: SessionRequest<'_>,
    server: &Arc<Server>,
    connection: &Arc<Connection>,
    outgoing: Outgoing<'_>,
    touched: &mut FlushSet,
) {
    let message = asked.message;
    let Some(reply) = reply_to(asked, server, outgoing, touched) else { return };
    let changes = outgoing.changes;
    let onward = reply.record.as_deref().and_then(|record| record.onward(message));
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

/// A request for a server that does not run (names of it are known): it waits if the server is expected back.
fn hold(
    asked: SessionRequest<'_>,
    server: &Arc<Server>,
    outgoing: Outgoing<'_>,
    touched: &mut FlushSet,
) {
    match server.connection() {
        // The connection has come since the snapshot was taken.
        Some(connection) => submit(asked, server, &connection, outgoing, touched),
        // Behind those that wait to be told whether the server has what they ask for.
        None if asked.session.line.waits_for(&Awaited::Server(Arc::clone(server))) => {
            waiting::retry_when_awake(&asked, Arc::clone(server));
        }
        None => {
            let message = asked.message;
            let Some(reply) = reply_to(asked, server, outgoing, touched) else { return };
            let onward = reply.record.as_deref().and_then(|record| record.onward(message));
            let both = with(outgoing.changes, onward.as_ref());
            let changes = both.as_deref().unwrap_or(outgoing.changes);
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
    reply.keep_for_later(message, changes);
    server.hold(reply, touched).unwrap_or_else(|rejected| rejected.answer(touched));
}

/// The changes and one more, if there is one more.
fn with<'a>(
    changes: Changes<'a>,
    more: Option<&'a (Span, Vec<u8>)>,
) -> Option<Vec<(Span, &'a [u8])>> {
    more.map(|(at, new)| [changes, &[(*at, &new[..])]].concat())
}

/// Where the answer of this server goes. `None`: a limit is reached, and the request was refused.
fn reply_to(
    asked: SessionRequest<'_>,
    server: &Server,
    Outgoing { changes, shown, tool, counts }: Outgoing<'_>,
    touched: &mut FlushSet,
) -> Option<ReplyTo> {
    // Decided here, where every request comes by once: one that has to wait for a process comes again until then.
    let permit = match counts.then(|| limited::for_server(&asked, server, tool)) {
        None => Permit::default(),
        Some(Ok(permit)) => permit,
        Some(Err(error)) => {
            asked.turn_away(&error, touched);
            return None;
        }
    };
    keyed::note_sent(&asked);
    let SessionRequest { message, id, sink, client, era, .. } = asked;
    let token = message.params.meta.progress_token.map(|span| span.of(message.bytes));
    // Anything else is no token and goes through as it is.
    let token = token.filter(|token| matches!(token.first(), Some(b'"' | b'-' | b'0'..=b'9')));
    let token = token.map(Into::into);
    let mut reply = ReplyTo::new(Arc::clone(client), id, token, sink.clone(), era.clone());
    reply.holds(permit);
    reply.lists_tasks = shown == TaskScope::OwnTasks;
    if server.services.observers.is_some() {
        reply.record = server.note(message, changes, reply.asker());
    }
    if server.definition.scan.scans_results() {
        reply.subject = result_subject(server, message, changes, reply.asker());
    }
    Some(reply)
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
        b"notifications/roots/list_changed" if !session.client.has_joined() => {}
        b"notifications/roots/list_changed" => tell_own_servers(session, message, touched),
        method if method.starts_with(b"notifications/") => {
            pass_notification(session, message, snapshot, touched);
        }
        // A request without an id is none (JSON-RPC 2.0, 4.1): it must not be carried out.
        _ => tracing::debug!("a request without an id is dropped"),
    }
}
