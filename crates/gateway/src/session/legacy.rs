//! A client of the era that opens with `initialize` (revisions 2024-11-05 to 2025-11-25).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use tokio_util::task::TaskTracker;
use trunkline_catalog::name::refuses;
use trunkline_wire::{
    Fault, FaultKind, Id, Kind, Message, Revision, decode, elements, member, scan, write_result,
};

use crate::call::{Client, ReturnPath, Ticket};
use crate::error::CallError;
use crate::face::Face;
use crate::limits::{BATCH_MEMBERS, CHANGE_PAUSE};
use crate::pump::Touched;
use crate::registry::{Registry, Snapshot};
use crate::router::{Route, route};
use crate::upstream::Connection;

/// What every session of a gateway shares.
#[derive(Debug)]
pub(crate) struct SessionContext {
    pub(crate) registry: Arc<Registry>,
    pub(crate) face: Face,
    /// Until when lists and calls wait for servers that are still starting.
    pub(crate) start_deadline: Instant,
    pub(crate) tasks: TaskTracker,
    /// Where tasks run: messages come on the pump's thread, which has no runtime.
    pub(crate) runtime: tokio::runtime::Handle,
}

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) context: Arc<SessionContext>,
    pub(crate) client: Arc<Client>,
    /// The tool list the client was given last.
    told: Mutex<Option<Bytes>>,
    advised: AtomicBool,
    /// A revision with batches was agreed on.
    batches: AtomicBool,
}

impl Session {
    pub(crate) fn new(context: Arc<SessionContext>) -> Arc<Self> {
        Arc::new(Self {
            context,
            client: Arc::new(Client::default()),
            told: Mutex::new(None),
            advised: AtomicBool::new(false),
            batches: AtomicBool::new(false),
        })
    }

    /// One line from the client. What it leads to is put into outboxes and noted in `touched`.
    pub(crate) fn receive(
        self: &Arc<Self>,
        line: &[u8],
        snapshot: &Snapshot,
        touched: &mut Touched,
    ) {
        let message = match scan(line) {
            Ok(message) => message,
            Err(Fault { kind: FaultKind::Batch, .. }) if self.batches.load(Ordering::Relaxed) => {
                return self.receive_batch(line, snapshot, touched);
            }
            Err(fault) => return self.refuse_line(line, fault),
        };
        match message.kind {
            Kind::Request => self.request(&message, snapshot, touched),
            Kind::Notification => self.notified(&message),
            // Trunkline asks its clients nothing (yet), so nothing can be an answer.
            Kind::Answer | Kind::Refusal => tracing::debug!("a client answered without a question"),
        }
    }

    /// Each message of a batch as if it had come alone; each is answered alone, which clients of
    /// that revision understand.
    fn receive_batch(self: &Arc<Self>, batch: &[u8], snapshot: &Snapshot, touched: &mut Touched) {
        let members: Vec<&[u8]> = elements(batch).map(|at| at.of(batch)).collect();
        if members.is_empty() || members.len() > BATCH_MEMBERS {
            let why = format!("a batch has 1 to {BATCH_MEMBERS} messages");
            return self.client.say(&CallError::InvalidRequest(why).response(b"null"));
        }
        for member in members {
            match scan(member) {
                Ok(message) if *message.method() == *b"initialize" => {
                    let why = "initialize must not be part of a batch".to_owned();
                    self.client.say(&CallError::InvalidRequest(why).response(message.id()));
                }
                Err(fault) => self.refuse_line(member, fault),
                Ok(_) => self.receive(member, snapshot, touched),
            }
        }
    }

    fn refuse_line(&self, line: &[u8], fault: Fault) {
        let error = match fault.kind {
            kind if kind.is_parse_error() => CallError::Unreadable(kind),
            FaultKind::Batch => CallError::InvalidRequest(
                "batches are part of revision 2025-03-26 only; send one message per line"
                    .to_owned(),
            ),
            kind => CallError::InvalidRequest(kind.to_string()),
        };
        // A request gets its error under its own id where that can be told.
        let id = fault.id.map(|span| span.of(line)).unwrap_or_default();
        let usable = matches!(id.first(), Some(b'"' | b'-' | b'0'..=b'9'));
        let twice = matches!(fault.kind, FaultKind::Duplicate("id"));
        self.client.say(&error.response(if usable && !twice { id } else { b"null" }));
    }

    /// A message over the limit.
    pub(crate) fn refuse_oversize(&self, id: &[u8], limit: usize) {
        let why = format!("the message is over the limit of {limit} bytes (see --max-message)");
        self.client.say(&CallError::InvalidRequest(why).response(id));
    }

    fn request(
        self: &Arc<Self>,
        message: &Message<'_>,
        snapshot: &Snapshot,
        touched: &mut Touched,
    ) {
        let id = Id::new(message.id());
        match route(message, &snapshot.catalog) {
            Ok(Route::Call(tool)) => {
                // A snapshot has no tools of a server it has no connection to.
                if let Some(connection) = snapshot.connection(tool.server) {
                    self.call(message, id, &tool.name_token, connection, touched);
                }
            }
            Ok(_) if self.client.is_open(&id) => {
                self.client.say(&CallError::duplicate_id().response(message.id()));
            }
            Ok(Route::UnknownTool(name)) => self.call_unknown(message, id, &name),
            Ok(Route::ListTools) => self.list_tools(message, id),
            Ok(Route::Initialize) => self.initialize(message),
            Ok(Route::Ping) => self.answer(message.id(), b"{}"),
            Err(error) => self.client.say(&error.response(message.id())),
        }
    }

    fn call(
        &self,
        message: &Message<'_>,
        id: Id,
        name_token: &[u8],
        connection: &Connection,
        touched: &mut Touched,
    ) {
        let token = message.params.meta_progress_token.map(|span| span.of(message.bytes));
        // Anything else is no token; it goes through as it is.
        let token = token.filter(|token| matches!(token.first(), Some(b'"' | b'-' | b'0'..=b'9')));
        let path = ReturnPath {
            client: Arc::clone(&self.client),
            id,
            progress_token: token.map(Into::into),
        };
        match connection.submit(message, name_token, path) {
            Ok(()) => touched.note(&connection.outbox),
            Err(error) => self.client.say(&error.response(message.id())),
        }
    }

    fn call_unknown(self: &Arc<Self>, message: &Message<'_>, id: Id, name: &str) {
        let may_wait = Instant::now() < self.context.start_deadline;
        match self.context.registry.by_prefix(name) {
            Some(server) if may_wait && !server.status().state.is_settled() => {
                self.call_when_ready(Arc::clone(server), message, id);
            }
            _ => self.client.say(&self.unknown_tool(name).response(message.id())),
        }
    }

    pub(crate) fn unknown_tool(&self, name: &str) -> CallError {
        let registry = &self.context.registry;
        let tool = name.to_owned();
        if let Some(server) = registry.by_prefix(name)
            && !self.context.face.simple
            && server.connection().is_none()
        {
            let (server, why) = (server.key.to_string(), server.absence());
            return CallError::ToolOfAbsentServer { tool, server, why };
        }
        let separators = [registry.naming.separator(), "__"];
        let prefixed = separators.iter().any(|separator| name.contains(separator));
        if prefixed { CallError::UnknownTool(tool) } else { CallError::NoPrefix(tool) }
    }

    fn list_tools(self: &Arc<Self>, message: &Message<'_>, id: Id) {
        let context = &self.context;
        if context.registry.is_settled() || context.start_deadline <= Instant::now() {
            self.send_list(message.id());
        } else {
            self.list_when_ready(id);
        }
    }

    /// Sends the list of this moment and remembers that the client knows it.
    pub(crate) fn send_list(&self, id: &[u8]) {
        let snapshot = self.context.registry.snapshot();
        let catalog = &snapshot.catalog;
        *self.told.lock() = Some(catalog.tools().clone());
        let head = [br#"{"jsonrpc":"2.0","id":"#, id, br#","result":"#].concat();
        if self.client.outbox.send_shared(&head, catalog.tools(), b"}").is_err() {
            tracing::debug!("a tool list found its client gone");
        }
    }

    fn initialize(&self, message: &Message<'_>) {
        let params = message.text(message.params.span);
        let asked = member(params, "protocolVersion").and_then(decode);
        let Some(asked) = asked else {
            let why = "initialize needs `protocolVersion`, a string".to_owned();
            return self.client.say(&CallError::InvalidParams(why).response(message.id()));
        };
        let agreed = Revision::negotiate(&asked);
        self.batches.store(agreed.allows_batches(), Ordering::Relaxed);
        self.answer(message.id(), &self.context.face.initialize_result(agreed));
        let name = member(params, "clientInfo").and_then(|info| member(info, "name"));
        self.advise(name.and_then(decode).as_deref());
    }

    /// Tells the user once if this client is known to refuse the names it will be shown.
    fn advise(&self, client_name: Option<&str>) {
        let Some(name) = client_name else { return };
        if self.context.registry.naming.profile().is_some() {
            return;
        }
        let example = format!("server{}tool", self.context.registry.naming.separator());
        if let Some(advice) = refuses(name, [example.as_str()])
            && !self.advised.swap(true, Ordering::Relaxed)
        {
            tracing::warn!("{advice}");
        }
    }

    fn answer(&self, id: &[u8], result: &[u8]) {
        let mut out = Vec::with_capacity(result.len() + 64);
        write_result(id, result, &mut out);
        self.client.say(&out);
    }

    fn notified(&self, message: &Message<'_>) {
        match &*message.method() {
            b"notifications/cancelled" => self.cancel(message),
            b"notifications/initialized" => {}
            other => {
                tracing::debug!(method = %String::from_utf8_lossy(other), "notification ignored");
            }
        }
    }

    /// Cancels one of the client's own calls. An id that is not open is no error: the answer may
    /// be on its way. A cancelled call gets no answer, as the protocol asks.
    fn cancel(&self, message: &Message<'_>) {
        let Some(span) = message.params.request_id else {
            return;
        };
        match self.client.take(&Id::new(span.of(message.bytes))) {
            Some(Ticket::Sent { server, id }) => {
                let server = self.context.registry.server(server);
                if let Some(connection) = server.and_then(|server| server.connection()) {
                    connection.cancel(id, message);
                }
            }
            Some(Ticket::Waiting(token)) => token.cancel(),
            None => {}
        }
    }

    /// Tells the client whenever its tool list is out of date, at most once a pause.
    pub(crate) async fn announce_changes(&self) {
        if self.context.face.simple {
            return;
        }
        let mut changes = self.context.registry.changes();
        while changes.changed().await.is_ok() {
            if !self.context.registry.is_settled() && Instant::now() < self.context.start_deadline {
                // Servers are still coming up: one word when they are up, not one for each.
                self.context.registry.settled(self.context.start_deadline).await;
            }
            if self.is_outdated() {
                self.client
                    .say(br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
                *self.told.lock() = Some(self.context.registry.snapshot().catalog.tools().clone());
                sleep(CHANGE_PAUSE).await;
            }
        }
    }

    fn is_outdated(&self) -> bool {
        let told = self.told.lock().clone();
        told.is_some_and(|told| told != *self.context.registry.snapshot().catalog.tools())
    }

    /// Ends whatever is still open: the gateway goes.
    pub(crate) fn abandon(&self) {
        for (id, ticket) in self.client.open_ids() {
            let may_have_run = matches!(ticket, Ticket::Sent { .. });
            if let Ticket::Waiting(token) = ticket {
                token.cancel();
            }
            self.client.fail(&id, &CallError::ShuttingDown { may_have_run });
        }
    }
}
