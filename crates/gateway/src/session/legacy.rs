//! The conversation that opens with `initialize`: revisions 2024-11-05 to 2025-11-25.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use trunkline_catalog::ListKind;
use trunkline_catalog::name::{Client as ClientKind, Naming, refuses};
use trunkline_wire::{
    Edits, Fault, FaultKind, Id, Kind, Message, Revision, decode, member, scan, write_result,
};

use crate::call::{Client, Door, Level, Payload, Ticket};
use crate::error::CallError;
use crate::face::Face;
use crate::instance;
use crate::pump::Touched;
use crate::registry::{Registry, Snapshot, View};
use crate::router::{Route, route};
use crate::session::announce::Told;
use crate::session::forward::absent;
use crate::upstream::{Declared, Server, Supervisor};

/// What every session of a gateway shares.
#[derive(Debug)]
pub(crate) struct SessionContext {
    pub(crate) registry: Arc<Registry>,
    /// The servers under the names these clients can use.
    pub(crate) view: Arc<View>,
    pub(crate) face: Face,
    /// Until when lists and calls wait for servers that are still starting.
    pub(crate) start_deadline: Instant,
    pub(crate) tasks: TaskTracker,
    /// Where tasks run: messages come on the pump's thread, which has no runtime.
    pub(crate) runtime: tokio::runtime::Handle,
    pub(crate) declared: Declared,
    /// For servers that are started for one client alone.
    pub(crate) supervisor: Supervisor,
    /// There is only ever one client: every server is its own.
    pub(crate) exclusive: bool,
}

impl SessionContext {
    /// The same for clients of one kind, under the names they can use.
    pub(crate) fn for_client(&self, client: ClientKind) -> Self {
        let naming = Naming::for_client(self.view.naming.separator(), client);
        Self {
            registry: Arc::clone(&self.registry),
            view: Arc::new(View::new(Arc::clone(&self.registry), naming)),
            face: self.face.clone(),
            start_deadline: self.start_deadline,
            tasks: self.tasks.clone(),
            runtime: self.runtime.clone(),
            declared: self.declared.clone(),
            supervisor: self.supervisor.clone(),
            exclusive: self.exclusive,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) context: Arc<SessionContext>,
    pub(crate) client: Arc<Client>,
    pub(super) told: Mutex<Told>,
    /// Look again whether the client's lists are out of date.
    pub(super) look_again: Notify,
    /// The session is over.
    pub(super) ended: CancellationToken,
    advised: AtomicBool,
    /// A revision with batches was agreed on.
    batches: AtomicBool,
    /// The client is a gateway of our kind: it is told who can be reached through this one.
    kin: AtomicBool,
    /// Servers started for this client alone.
    pub(super) privates: Mutex<HashMap<Arc<str>, Arc<Server>>>,
}

impl Session {
    pub(crate) fn new(context: Arc<SessionContext>) -> Arc<Self> {
        let client = Arc::new(Client::default());
        context.registry.audience.join(&client);
        Arc::new(Self {
            context,
            client,
            told: Mutex::default(),
            look_again: Notify::new(),
            ended: CancellationToken::new(),
            advised: AtomicBool::new(false),
            batches: AtomicBool::new(false),
            kin: AtomicBool::new(false),
            privates: Mutex::default(),
        })
    }

    /// One message from the client; answers leave through `door`. What it leads to is put into
    /// outboxes and noted in `touched`.
    pub(crate) fn receive(
        self: &Arc<Self>,
        bytes: &[u8],
        door: &Door,
        snapshot: &Snapshot,
        touched: &mut Touched,
    ) {
        match scan(bytes) {
            Ok(message) => self.take(&message, door, snapshot, touched),
            Err(Fault { kind: FaultKind::Batch, .. }) if self.allows_batches() => {
                self.receive_batch(bytes, door, snapshot, touched);
            }
            Err(fault) => refuse_unread(bytes, fault, door, touched),
        }
    }

    /// Has a revision been agreed on in which several messages may come at once?
    pub(crate) fn allows_batches(&self) -> bool {
        self.batches.load(Ordering::Relaxed)
    }

    /// One message that was read already.
    pub(crate) fn take(
        self: &Arc<Self>,
        message: &Message<'_>,
        door: &Door,
        snapshot: &Snapshot,
        touched: &mut Touched,
    ) {
        match message.kind {
            Kind::Request => self.request(message, door, snapshot, touched),
            Kind::Notification => self.notified(message, snapshot, touched),
            Kind::Answer | Kind::Refusal => {
                if !self.client.answered(message, touched) {
                    tracing::debug!("a client answered what it was not asked");
                }
            }
        }
    }

    fn request(
        self: &Arc<Self>,
        message: &Message<'_>,
        door: &Door,
        snapshot: &Snapshot,
        touched: &mut Touched,
    ) {
        let asked = Asked { message, id: Id::new(message.id()), door, snapshot };
        let route = match route(message, &snapshot.catalog) {
            Ok(route) => route,
            Err(error) => return asked.refuse(&self.explained(error, message), touched),
        };
        if let Route::Call(owner) = route {
            return self.call(asked, owner, touched);
        }
        if !matches!(route, Route::Initialize | Route::Ping) {
            // Whoever asks without having said what it can do can do nothing.
            self.context.declared.settle(b"{}");
        }
        if self.client.is_open(&asked.id) {
            return asked.refuse(&CallError::duplicate_id(), touched);
        }
        match route {
            Route::Initialize => self.initialize(asked, touched),
            Route::Ping => asked.answer(b"{}", touched),
            Route::List(ListKind::Tools) => self.list(asked, ListKind::Tools, touched),
            Route::UnknownTool(name) => self.call_unknown(asked, &name, touched),
            _ if self.context.face.simple => asked.refuse(&unknown_method(message), touched),
            Route::List(kind) => self.list(asked, kind, touched),
            Route::SetLevel(level) => self.set_level(&asked, level, touched),
            Route::Subtool(subtool) => self.call_subtool(asked, &subtool, touched),
            Route::Forward(to) => self.forward(asked, &to, touched),
            Route::Missing(error) => self.miss(asked, &error, touched),
            Route::Other => self.unknown(asked, touched),
            Route::Call(_) => {} // was the first to be looked at
        }
    }

    /// What is wrong with a request, as far as this session knows.
    fn explained(&self, error: CallError, message: &Message<'_>) -> CallError {
        let servers = self.context.registry.servers();
        match &error {
            CallError::ServerAbsent { server, .. } => {
                let server = servers.iter().find(|known| *known.key == **server);
                server.map_or(error, |server| absent(server))
            }
            // Of methods the simple product does not have, nothing can be wrong.
            CallError::InvalidParams(_) if self.context.face.simple => match &*message.method() {
                b"tools/call" | b"tools/list" | b"initialize" => error,
                _ => unknown_method(message),
            },
            _ => error,
        }
    }

    fn list(self: &Arc<Self>, asked: Asked<'_>, kind: ListKind, touched: &mut Touched) {
        if self.may_wait() && !self.context.registry.is_settled() {
            self.list_when_ready(kind, asked.id, asked.door);
        } else {
            self.send_list(kind, asked.message.id(), asked.door, touched);
        }
    }

    /// May something still wait for servers that are starting?
    pub(super) fn may_wait(&self) -> bool {
        Instant::now() < self.context.start_deadline
    }

    /// Sends the list of this moment and remembers that the client knows it.
    pub(super) fn send_list(&self, kind: ListKind, id: &[u8], door: &Door, touched: &mut Touched) {
        let snapshot = self.context.view.snapshot();
        let list = snapshot.catalog.list(kind);
        self.told.lock().set(kind, list);
        let mut head = [br#"{"jsonrpc":"2.0","id":"#, id, br#","result":"#].concat();
        let mut body = list.clone();
        if kind == ListKind::Tools && self.kin.load(Ordering::Relaxed) && !list.is_empty() {
            head.extend_from_slice(br#"{"_meta":{"trunkline/instances":"#);
            head.extend_from_slice(&self.context.registry.instances());
            head.extend_from_slice(b"},");
            body = list.slice(1..); // its opening brace stands in the head already
        }
        if !door.answer_shared(&head, &body, b"}", touched) {
            tracing::debug!("a list found its client gone");
        }
    }

    fn initialize(self: &Arc<Self>, asked: Asked<'_>, touched: &mut Touched) {
        let Asked { message, door, .. } = asked;
        let params = message.text(message.params.span);
        let Some(revision) = member(params, "protocolVersion").and_then(decode) else {
            let why = "initialize needs `protocolVersion`, a string".to_owned();
            return asked.refuse(&CallError::InvalidParams(why), touched);
        };
        let agreed = Revision::negotiate(&revision);
        self.batches.store(agreed.allows_batches(), Ordering::Relaxed);
        let capabilities = member(params, "capabilities").unwrap_or_default();
        self.client.declares(capabilities);
        self.context.declared.settle(capabilities);
        let info = member(params, "clientInfo").unwrap_or_default();
        let name = member(info, "name").and_then(decode);
        let version = member(info, "version").and_then(decode).unwrap_or_default();
        tracing::debug!(client = ?name, %version, revision = agreed.as_str(), "a client says hello");
        self.advise(name.as_deref());
        let kin = !self.context.face.simple && instance::is_asked_for(message);
        self.kin.store(kin, Ordering::Relaxed);
        // Gateways that wait for each other would wait until one gives up.
        let at_once = self.context.face.simple || kin || self.context.registry.is_settled();
        if at_once || !self.may_wait() {
            self.welcome(agreed, message.id(), door, touched);
        } else {
            self.welcome_when_ready(agreed, asked.id, door);
        }
    }

    /// The answer to `initialize`.
    pub(super) fn welcome(&self, agreed: Revision, id: &[u8], door: &Door, touched: &mut Touched) {
        let instances = match self.kin.load(Ordering::Relaxed) {
            true => self.context.registry.instances(),
            false => Vec::new(),
        };
        let instructions = match self.context.face.simple {
            true => String::new(),
            false => self.context.view.instructions(),
        };
        let result = self.context.face.initialize_result(agreed, &instructions, &instances);
        answer(id, &result, door, touched);
    }

    /// Tells the user once if this client is known to refuse the names it will be shown.
    fn advise(&self, client_name: Option<&str>) {
        let Some(name) = client_name else { return };
        if self.context.view.naming.profile().is_some() {
            return;
        }
        let example = format!("server{}tool", self.context.view.naming.separator());
        if let Some(advice) = refuses(name, [example.as_str()])
            && !self.advised.swap(true, Ordering::Relaxed)
        {
            tracing::warn!("{advice}");
        }
    }

    /// The client wants to hear what servers log from this level on.
    fn set_level(&self, asked: &Asked<'_>, level: Level, touched: &mut Touched) {
        let audience = &self.context.registry.audience;
        let before = audience.level();
        self.client.set_level(level);
        let now = audience.level();
        if let Some(now) = now.filter(|_| now != before) {
            let params = format!("{{\"level\":\"{}\"}}", now.name());
            for live in self.context.registry.servers().iter().filter_map(|server| server.live()) {
                if live.hello.logs {
                    live.connection.mention("logging/setLevel", params.as_bytes());
                }
            }
        }
        asked.answer(b"{}", touched);
    }

    fn notified(&self, message: &Message<'_>, snapshot: &Snapshot, touched: &mut Touched) {
        match &*message.method() {
            b"notifications/cancelled" => self.cancel(message, touched),
            b"notifications/progress" => self.client.progresses(message, touched),
            b"notifications/initialized" => {}
            _ if self.context.face.simple => {}
            b"notifications/roots/list_changed" => self.tell_own_servers(message, touched),
            method if method.starts_with(b"notifications/") => {
                self.pass_notification(message, snapshot, touched);
            }
            // A request without an id is none, and must not be carried out as one.
            _ => tracing::debug!("a request without an id is dropped"),
        }
    }

    /// Cancels one of the client's own calls. An id that is not open is no error: the answer may
    /// be on its way. A cancelled call gets no answer, as the protocol asks.
    fn cancel(&self, message: &Message<'_>, touched: &mut Touched) {
        let Some(span) = message.params.request_id else {
            return;
        };
        match self.client.take(&Id::new(span.of(message.bytes))) {
            Some(Ticket::Sent { carrier, id }) => carrier.cancel(id, message, touched),
            Some(Ticket::Waiting(waiting)) => {
                waiting.cancelled.cancel();
                waiting.door.unanswered(touched);
            }
            None => {}
        }
    }

    /// Ends whatever is still open: the gateway goes.
    pub(crate) fn abandon(&self) {
        let mut touched = Touched::default();
        for (id, ticket) in self.client.open_calls() {
            match ticket {
                Ticket::Sent { carrier, id } => carrier.abandon(id, &mut touched),
                Ticket::Waiting(waiting) => {
                    if self.client.take(&id).is_some() {
                        waiting.cancelled.cancel();
                        let error = CallError::ShuttingDown { may_have_run: false };
                        id.with_token(|id| refuse(id, &error, &waiting.door, &mut touched));
                    }
                }
            }
        }
        touched.flush();
    }

    /// The client has gone for good: nobody waits for it any more.
    pub(crate) fn end(&self) {
        self.ended.cancel();
        self.context.registry.audience.leave(&self.client);
        self.client.set_stream(None);
        let mut touched = Touched::default();
        self.client.leave_questions(&mut touched);
        touched.flush();
        for server in self.context.registry.servers().iter() {
            if let Some(connection) = server.connection() {
                for uri in connection.subscriptions.leave(&self.client) {
                    let uri = trunkline_wire::encode(&uri);
                    let params = [b"{\"uri\":", &uri[..], b"}"].concat();
                    connection.mention("resources/unsubscribe", &params);
                }
            }
        }
        for server in self.privates.lock().values() {
            server.dismissed.cancel();
        }
    }
}

/// A request on its way through a session.
pub(super) struct Asked<'a> {
    pub(super) message: &'a Message<'a>,
    pub(super) id: Id,
    /// Where the answer leaves.
    pub(super) door: &'a Door,
    pub(super) snapshot: &'a Snapshot,
}

impl Asked<'_> {
    pub(super) fn answer(&self, result: &[u8], touched: &mut Touched) {
        answer(self.message.id(), result, self.door, touched);
    }

    pub(super) fn refuse(&self, error: &CallError, touched: &mut Touched) {
        refuse(self.message.id(), error, self.door, touched);
    }
}

/// A message over the limit.
pub(crate) fn refuse_oversize(id: &[u8], limit: usize, door: &Door, touched: &mut Touched) {
    let why = format!("the message is over the limit of {limit} bytes (see --max-message)");
    refuse(id, &CallError::InvalidRequest(why), door, touched);
}

/// Bytes that are no message.
pub(super) fn refuse_unread(bytes: &[u8], fault: Fault, door: &Door, touched: &mut Touched) {
    let error = match fault.kind {
        kind if kind.is_parse_error() => CallError::Unreadable(kind),
        FaultKind::Batch => CallError::InvalidRequest(
            "batches are part of revision 2025-03-26 only; send one message at a time".to_owned(),
        ),
        kind => CallError::InvalidRequest(kind.to_string()),
    };
    // A request gets its error under its own id where that can be told.
    let id = fault.id.map(|span| span.of(bytes)).unwrap_or_default();
    let usable = matches!(id.first(), Some(b'"' | b'-' | b'0'..=b'9'));
    let twice = matches!(fault.kind, FaultKind::Duplicate("id"));
    refuse(if usable && !twice { id } else { b"null" }, &error, door, touched);
}

pub(super) fn refuse(id: &[u8], error: &CallError, door: &Door, touched: &mut Touched) {
    door.answer(Payload::Owned(error.response(id)), &Edits::new(), touched);
}

pub(super) fn answer(id: &[u8], result: &[u8], door: &Door, touched: &mut Touched) {
    let mut out = Vec::with_capacity(result.len() + 64);
    write_result(id, result, &mut out);
    door.answer(Payload::Owned(out), &Edits::new(), touched);
}

fn unknown_method(message: &Message<'_>) -> CallError {
    CallError::UnknownMethod(String::from_utf8_lossy(&message.method()).into_owned())
}
