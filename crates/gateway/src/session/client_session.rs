//! `Session`: one client's session: what is known of the client, and the session's life.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::lock::{Mutex, rank};
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use trunkline_catalog::name::refuses;

use crate::call::Client;
use crate::gate::{ANYONE, ONLY_CLIENT, Pass};
use crate::limiter::CallerAccount;
use crate::limits::CHANGE_PAUSE;
use crate::pump::FlushSet;
use crate::session::context::SessionContext;
use crate::session::known_lists::{KnownLists, announce};
use crate::session::private_servers::PrivateServers;
use crate::session::waiting_line::WaitingLine;

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) context: Arc<SessionContext>,
    pub(crate) client: Arc<Client>,
    /// The lists that the client was given in its session,
    // Held for one comparison or note, and never while a client is told: a list that is given
    // meanwhile must be noted at once.
    pub(super) session_lists: Mutex<KnownLists, rank::SessionAnnounced>,
    /// and those that its stateless requests were given.
    pub(super) stateless_lists: Mutex<KnownLists, rank::SessionListed>,
    /// Rung to check again whether the client's lists are out of date.
    check_lists: Notify,
    /// The session is over.
    pub(super) ended: CancellationToken,
    /// The gateway goes: subscriptions end in order.
    pub(super) closing: CancellationToken,
    /// The servers were told what the client can do.
    pub(super) declared: AtomicBool,
    /// The user was warned of names that this client refuses.
    advised: AtomicBool,
    pub(super) agreed: Agreed,
    /// Requests that wait for servers.
    pub(super) line: WaitingLine<Self>,
    pub(super) private_servers: PrivateServers,
    /// Who makes stateless requests here.
    pub(super) principal: Arc<[u8]>,
    /// The authenticated caller, where one is needed.
    pub(crate) caller: Option<Arc<Pass>>,
    /// What its caller has and may have; `None`: nothing is limited for it.
    pub(super) account: Option<Arc<CallerAccount>>,
}

/// What `initialize` has found out.
#[derive(Debug, Default)]
pub(super) struct Agreed {
    /// A revision with batches was negotiated.
    pub(super) batches: AtomicBool,
    /// The client is another Trunkline: it is told which instances are behind this one.
    // Relaxed where it is used: `initialize` sets it, and lists are asked for after its answer.
    pub(super) is_trunkline: AtomicBool,
}

impl Session {
    pub(crate) fn new(context: Arc<SessionContext>) -> Arc<Self> {
        Self::of(context, None)
    }

    /// The session of an authenticated caller.
    pub(crate) fn of(context: Arc<SessionContext>, caller: Option<Arc<Pass>>) -> Arc<Self> {
        let grant = match &caller {
            Some(caller) => caller.grant.clone(),
            None => context.view.grant().cloned(),
        };
        let principal =
            caller.as_ref().map_or_else(|| ONLY_CLIENT.into(), |it| Arc::clone(&it.who));
        let client = Arc::new(Client::restricted_to(grant));
        if let Some(caller) = &caller {
            client.belongs_to(caller);
        }
        let account = match &caller {
            Some(caller) if *caller.who != *ANYONE => context.limiter.account_of(caller),
            // Nobody knows who it is: its session is all there is to go by.
            _ => Some(context.limiter.stranger()),
        };
        if let Some(account) = &account {
            client.subscribed.belongs_to(account);
        }
        Arc::new(Self {
            private_servers: PrivateServers::new(&context, &client),
            context,
            client,
            caller,
            account,
            session_lists: Mutex::default(),
            stateless_lists: Mutex::default(),
            check_lists: Notify::new(),
            ended: CancellationToken::new(),
            closing: CancellationToken::new(),
            declared: AtomicBool::new(false),
            advised: AtomicBool::new(false),
            agreed: Agreed::default(),
            line: WaitingLine::default(),
            principal,
        })
    }

    /// Opens the session: from now on requests need no `_meta`, and the client hears what servers say
    /// of their own accord. A stateless client never opens one.
    pub(crate) fn join(&self) {
        if self.client.join() {
            self.context.registry.audience.join(&self.client);
        }
    }

    /// Was a revision negotiated in which several messages may come at once (2025-03-26)?
    pub(crate) fn allows_batches(&self) -> bool {
        // Relaxed: set by `initialize`, which the client waits for before it sends a batch.
        self.agreed.batches.load(Ordering::Relaxed)
    }

    /// Tells the user once if this client is known to refuse the names it will be shown.
    pub(super) fn advise(&self, client_name: Option<&str>) {
        let Some(name) = client_name else { return };
        if self.context.view.naming.client().is_some() {
            return;
        }
        let example = format!("server{}tool", self.context.view.naming.separator());
        if let Some(advice) = refuses(name, [example.as_str()])
            // Relaxed: at worst the advice is given twice.
            && !self.advised.swap(true, Ordering::Relaxed)
        {
            tracing::warn!("{advice}");
        }
    }

    /// Tells the client of changed lists for as long as the session lasts, at most once a pause.
    pub(crate) async fn announce_changes(self: Arc<Self>) {
        // The simple product declares no `listChanged` (2025-11-25, Lifecycle), so that nothing may
        // be announced.
        if self.context.gateway_info.simple {
            return;
        }
        let registry = Arc::clone(&self.context.registry);
        // Subscribed before the servers are waited for: a change in between is not missed.
        let mut changes = registry.changes();
        registry.settled(self.context.start_deadline).await;
        self.session_lists.lock().begin(&self.context.view.snapshot());
        loop {
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                () = self.check_lists.notified() => {}
                () = self.ended.cancelled() => return,
            }
            self.end_forbidden_subscriptions();
            self.context.wait_while_starting().await;
            if self.announce() {
                // A server that changes its list all the time must not flood its clients.
                sleep(CHANGE_PAUSE).await;
            }
        }
    }

    /// Policies may have changed: what the client may not read any more it does not follow any more, and a server that
    /// nobody else asks about it is told so.
    fn end_forbidden_subscriptions(&self) {
        if !self.client.subscribed.has_any() {
            return;
        }
        let own = self.private_servers.all_of_session();
        for server in self.context.registry.servers().iter().chain(&own) {
            let Some(connection) = server.connection() else { continue };
            let name = server.key.name();
            let may = |uri: &str| self.client.may_follow(&name, uri);
            for uri in connection.subscriptions.revoke(&self.client, may) {
                connection.listens.unfollow(&connection.link, &uri);
            }
        }
    }

    /// Checks again whether the client's lists are out of date: it can be reached now.
    pub(crate) fn check_lists(&self) {
        // A permit is stored: one that comes while the task is busy is not lost.
        self.check_lists.notify_one();
    }

    /// True if a list was out of date.
    fn announce(&self) -> bool {
        let snapshot = self.context.view.snapshot();
        if !self.client.has_joined() {
            // Without `initialize` the client is told nothing that it has not asked for.
            let mut lists = self.session_lists.lock();
            *lists = KnownLists::default();
            lists.begin(&snapshot);
            return false;
        }
        // Not held while the client is told: that takes the locks of its connection.
        let outdated = self.session_lists.lock().outdated(&snapshot);
        if announce(&self.client, &outdated) {
            for kind in &outdated {
                // Only after it was told: a client that could not be reached is told at the next
                // check.
                self.session_lists.lock().set(*kind, snapshot.catalog.list(*kind));
            }
        }
        !outdated.is_empty()
    }

    /// Ends the client's subscriptions in order: the gateway goes.
    pub(crate) fn close_listeners(&self) {
        self.closing.cancel();
    }

    /// Ends the session: the client has gone for good.
    pub(crate) fn end(&self) {
        // First: the tasks of the session stop before what they use is taken away.
        self.ended.cancel();
        self.context.registry.audience.leave(&self.client);
        self.client.set_stream(None);
        let mut touched = FlushSet::default();
        // Servers that wait for an answer of this client get an error now.
        self.client.leave_questions(&mut touched);
        touched.flush();
        self.context.registry.unsubscribe(&self.client);
        // Last: a process may still be owed the errors above.
        self.private_servers.dismiss();
    }
}
