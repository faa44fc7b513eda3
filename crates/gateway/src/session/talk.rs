//! `Session`: one client's conversation. What it says is taken here, and goes on by the era it is
//! said in.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use trunkline_catalog::name::{Client as ClientKind, refuses};
use trunkline_wire::{Edits, Fault, FaultKind, Id, Kind, Message, scan};

use crate::call::{CallHandle, Cancel, Client, RequestEra, ResponseSink};
use crate::error::CallError;
use crate::events::EventSink;
use crate::gate::{Grant, ONLY_CLIENT, Pass};
use crate::gateway_info::GatewayInfo;
use crate::lock::{Mutex, rank};
use crate::pump::FlushSet;
use crate::registry::{Registry, Snapshot, View, Views};
use crate::session::announce::Told;
use crate::session::asked::{SessionRequest, refuse, refuse_unread};
use crate::upstream::{Declared, Server, Supervisor};

/// What every session of a gateway shares.
#[derive(Clone, Debug)]
pub(crate) struct SessionContext {
    pub(crate) registry: Arc<Registry>,
    /// The servers under the names these clients can use.
    pub(crate) view: Arc<View>,
    /// Views of the same servers for every kind of client.
    pub(crate) views: Arc<Views>,
    pub(crate) face: GatewayInfo,
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
    /// What one client is shown is not for every other.
    pub(crate) private: bool,
    /// Requests are followed: what a head says about where one comes from is kept.
    pub(crate) follows: bool,
    /// Who is told of what is turned away.
    pub(crate) events: Option<EventSink>,
}

impl SessionContext {
    /// The same for clients of one kind, under the names they can use.
    pub(crate) fn for_client(&self, client: ClientKind) -> Self {
        Self { view: self.views.of(Some(client)), ..self.clone() }
    }

    /// The same for callers who have to say who they are, as far as they may see it.
    pub(crate) fn for_caller(&self, grant: Option<&Arc<dyn Grant>>) -> Self {
        let mut context = self.clone();
        context.private = true;
        if let Some(grant) = grant {
            context.view = Arc::new(self.view.narrowed(Arc::clone(grant)));
        }
        context
    }
}

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) context: Arc<SessionContext>,
    pub(crate) client: Arc<Client>,
    /// The lists the client was given in the session,
    pub(super) told: Mutex<Told, rank::SessionAnnounced>,
    /// and those that requests which stand for themselves were given.
    pub(super) given: Mutex<Told, rank::SessionListed>,
    /// Look again whether the client's lists are out of date.
    pub(super) look_again: Notify,
    /// The session is over.
    pub(super) ended: CancellationToken,
    /// Nobody is listened for any more: the gateway goes.
    pub(super) closing: CancellationToken,
    /// The client is one that is spoken to of our own accord: it has opened a session.
    joined: AtomicBool,
    /// What the client can do was told to the servers.
    pub(super) declared: AtomicBool,
    advised: AtomicBool,
    /// A revision with batches was agreed on.
    pub(super) batches: AtomicBool,
    /// The client is a gateway of our kind: it is told who can be reached through this one.
    pub(super) kin: AtomicBool,
    /// Servers started for this client alone.
    pub(super) privates: Mutex<HashMap<Arc<str>, Arc<Server>>, rank::SessionPrivates>,
    /// Processes of servers that are not shared, for calls that stand for themselves: one at a time.
    pub(super) pool: Mutex<Vec<Arc<Server>>, rank::SessionPool>,
    /// Who makes requests that stand for themselves here.
    pub(super) principal: Arc<[u8]>,
    /// Whose session it is, where that has to be said.
    pub(crate) caller: Option<Arc<Pass>>,
}

impl Session {
    pub(crate) fn new(context: Arc<SessionContext>) -> Arc<Self> {
        Self::of(context, None)
    }

    /// The session of somebody who had to say who that is.
    pub(crate) fn of(context: Arc<SessionContext>, caller: Option<Arc<Pass>>) -> Arc<Self> {
        let grant = caller.as_ref().and_then(|caller| caller.grant.clone());
        let principal =
            caller.as_ref().map_or_else(|| ONLY_CLIENT.into(), |it| Arc::clone(&it.who));
        let client = Arc::new(Client::restricted_to(grant));
        if let Some(caller) = &caller {
            client.belongs_to(caller);
        }
        Arc::new(Self {
            context,
            client,
            caller,
            told: Mutex::default(),
            given: Mutex::default(),
            look_again: Notify::new(),
            ended: CancellationToken::new(),
            closing: CancellationToken::new(),
            joined: AtomicBool::new(false),
            declared: AtomicBool::new(false),
            advised: AtomicBool::new(false),
            batches: AtomicBool::new(false),
            kin: AtomicBool::new(false),
            privates: Mutex::default(),
            pool: Mutex::default(),
            principal,
        })
    }

    /// Opens the session: from now on requests need no `_meta`, and the client hears what servers say
    /// of their own accord. A client whose requests stand for themselves never does.
    pub(crate) fn join(&self) {
        if !self.has_joined() && !self.joined.swap(true, Ordering::Relaxed) {
            self.context.registry.audience.join(&self.client);
        }
    }

    pub(super) fn has_joined(&self) -> bool {
        self.joined.load(Ordering::Relaxed)
    }

    /// One message from the client; answers leave through `door`. What it leads to is put into
    /// outboxes and noted in `touched`.
    pub(crate) fn receive(
        self: &Arc<Self>,
        bytes: &[u8],
        door: &ResponseSink,
        snapshot: &Snapshot,
        touched: &mut FlushSet,
    ) {
        // Looked at where it lies: it is large, and moving it is felt.
        match &scan(bytes) {
            Ok(message) => self.take(message, door, snapshot, touched),
            Err(Fault { kind: FaultKind::Batch, .. }) if self.allows_batches() => {
                self.receive_batch(bytes, door, snapshot, touched);
            }
            Err(fault) => refuse_unread(bytes, *fault, door, touched),
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
        door: &ResponseSink,
        snapshot: &Snapshot,
        touched: &mut FlushSet,
    ) {
        match message.kind {
            Kind::Request if message.params.meta_version.is_some() && !self.context.face.simple => {
                self.take_stateless(message, door, snapshot, touched);
            }
            Kind::Request => {
                let (client, manner) = (&self.client, &RequestEra::Session);
                let id = Id::new(message.id());
                self.asked(SessionRequest { message, id, door, snapshot, client, manner }, touched);
            }
            Kind::Notification => self.notified(message, snapshot, touched),
            Kind::Answer | Kind::Refusal => {
                if !self.client.answered(message, touched) {
                    tracing::debug!("a client answered what it was not asked");
                }
            }
        }
    }

    /// A request, for the first time or again after it had to wait.
    pub(crate) fn asked(self: &Arc<Self>, asked: SessionRequest<'_>, touched: &mut FlushSet) {
        match asked.manner {
            RequestEra::Session => self.request(asked, touched),
            RequestEra::Stateless(_) => self.request_alone(asked, touched),
        }
    }

    /// May something still wait for servers that are starting?
    pub(super) fn may_wait(&self) -> bool {
        Instant::now() < self.context.start_deadline
    }

    /// Tells the user once if this client is known to refuse the names it will be shown.
    pub(super) fn advise(&self, client_name: Option<&str>) {
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

    /// A message that has no answer.
    pub(crate) fn notified(
        &self,
        message: &Message<'_>,
        snapshot: &Snapshot,
        touched: &mut FlushSet,
    ) {
        match &*message.method() {
            b"notifications/cancelled" => self.cancel(message, touched),
            b"notifications/progress" => self.client.progresses(message, touched),
            b"notifications/initialized" => {}
            _ if self.context.face.simple => {}
            // Revision 2026-07-28 does not have it.
            b"notifications/roots/list_changed" if !self.has_joined() => {}
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
    fn cancel(&self, message: &Message<'_>, touched: &mut FlushSet) {
        if let Some(span) = message.params.request_id {
            let id = Id::new(span.of(message.bytes));
            cancel(&self.client, &id, Cancel::Said(message), touched);
        }
    }

    /// Ends what is listened for, in good order: the gateway goes.
    pub(crate) fn close_listeners(&self) {
        self.closing.cancel();
    }

    /// The client has gone for good: nobody waits for it any more.
    pub(crate) fn end(&self) {
        self.ended.cancel();
        self.context.registry.audience.leave(&self.client);
        self.client.set_stream(None);
        let mut touched = FlushSet::default();
        self.client.leave_questions(&mut touched);
        touched.flush();
        self.context.registry.unsubscribe(&self.client);
        for server in self.privates.lock().values().chain(self.pool.lock().iter()) {
            server.signals.dismissed.cancel();
        }
    }
}

/// The client does not wait for this request any more.
pub(crate) fn leave(client: &Client, id: &Id, touched: &mut FlushSet) {
    cancel(client, id, Cancel::Left, touched);
}

/// The client may not be here any more: what it waits for ends with an error that says so.
pub(crate) fn turn_out(client: &Client, touched: &mut FlushSet) {
    for (id, _) in client.open_calls() {
        cancel(client, &id, Cancel::TurnedOut, touched);
    }
}

/// The client has ended its session: each request that is open gets an error that says whether it may
/// have run, and its server is told.
pub(crate) fn end_calls(client: &Client, touched: &mut FlushSet) {
    let waits = |ticket: &CallHandle| match ticket {
        CallHandle::Sent { carrier, .. } => carrier.is_waiting_room(),
        CallHandle::Waiting(_) => true,
    };
    // Those that wait first: otherwise one would get the turn of another that ends.
    let (waiting, sent): (Vec<_>, Vec<_>) =
        client.open_calls().into_iter().partition(|(_, ticket)| waits(ticket));
    for (id, _) in waiting.iter().chain(&sent) {
        cancel(client, id, Cancel::SessionEnded, touched);
    }
}

fn cancel(client: &Client, id: &Id, how: Cancel<'_>, touched: &mut FlushSet) {
    match client.take(id) {
        Some(CallHandle::Sent { carrier, id }) => carrier.cancel(id, how, touched),
        Some(CallHandle::Waiting(waiting)) => {
            waiting.cancelled.cancel();
            match how {
                Cancel::SessionEnded => {
                    let error = CallError::SessionEnded { may_have_run: false };
                    return id.with_token(|id| refuse(id, &error, &waiting.door, touched));
                }
                Cancel::TurnedOut => {
                    let response = id.with_token(|id| CallError::TurnedOut.response(id));
                    waiting.door.say(&response, &Edits::new(), touched);
                }
                Cancel::Said(_) | Cancel::Left => {}
            }
            waiting.door.unanswered(touched);
        }
        None => {}
    }
}

/// Ends whatever a client has still open: the gateway goes.
pub(crate) fn abandon(client: &Client) {
    let mut touched = FlushSet::default();
    for (id, ticket) in client.open_calls() {
        match ticket {
            CallHandle::Sent { carrier, id } => carrier.abandon(id, &mut touched),
            CallHandle::Waiting(waiting) => {
                if client.take(&id).is_some() {
                    waiting.cancelled.cancel();
                    let error = CallError::ShuttingDown { may_have_run: false };
                    id.with_token(|id| refuse(id, &error, &waiting.door, &mut touched));
                }
            }
        }
    }
    touched.flush();
}
