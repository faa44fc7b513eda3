//! `Server`: one configured server, for as long as its config entry lasts, through all its lives.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;
use tokio::time::Instant;
use trunkline_catalog::Listing;
use trunkline_catalog::config::{CallRules, ServerSpec, TextRules, ToolFilter, Transport};
use trunkline_wire::{Message, Span};

use crate::call::{Asker, Audience, CallRecord, Rejected, ReplyTo};
use crate::error::{Absence, CallError};
use crate::events::Event;
use crate::identity::Identity;
use crate::limits::{STDERR_SHOWN, WAITING_TIME};
use crate::lock::{Mutex, rank};
use crate::login::Bearer;
use crate::pump::FlushSet;
use crate::traces::SpanKind;
use crate::upstream::calls::wait_queue::WaitQueue;
use crate::upstream::calls::{WaitCause, WaitRules};
use crate::upstream::connection::{Connection, ConnectionOptions};
use crate::upstream::http::Spoken;
use crate::upstream::lifecycle::breaker::Breaker;
use crate::upstream::lifecycle::definition::{ServerDefinition, Services};
use crate::upstream::lifecycle::demand::Demand;
use crate::upstream::lifecycle::handshake::ServerHello;
use crate::upstream::lifecycle::offer::{Live, ServerOffer};
use crate::upstream::lifecycle::probe::EraMemory;
use crate::upstream::lifecycle::signals::ServerSignals;
use crate::upstream::lifecycle::state::{Failure, State, Status};
use crate::upstream::stdio::stderr::LastWords;

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) key: Identity,
    pub(crate) definition: Arc<ServerDefinition>,
    pub(in crate::upstream) bearer: Option<Arc<dyn Bearer>>,
    /// The clients it may speak to.
    pub(crate) audience: Arc<Audience>,
    pub(crate) services: Services,
    /// Where its calls wait, if they may.
    pub(crate) wait_queue: Option<Arc<WaitQueue>>,
    filter: Mutex<Arc<ToolFilter>, rank::ServerFilter>,
    status: watch::Sender<Status>,
    // Relaxed where it is used: it only becomes true. `status` is what others wait for.
    settled_once: AtomicBool,
    pub(in crate::upstream) offer: ServerOffer,
    pub(in crate::upstream) dialect: LearntDialect,
    pub(in crate::upstream) breaker: Mutex<Breaker, rank::ServerBreaker>,
    /// What its process has written to stderr, also when that has ended.
    words: Mutex<Option<Arc<LastWords>>, rank::ServerStderr>,
    pub(crate) signals: ServerSignals,
    pub(crate) demand: Demand,
}

/// How it is spoken to, as far as that was found out.
#[derive(Debug, Default)]
pub(in crate::upstream) struct LearntDialect {
    /// In the network: how it was last spoken to.
    pub(in crate::upstream) spoken: Spoken,
    /// As a process: the era it was found to be of.
    pub(in crate::upstream) known: EraMemory,
}

impl Server {
    pub(crate) fn new(spec: ServerSpec, audience: Arc<Audience>, provisions: &Services) -> Self {
        let key = Identity::new(&spec.id, &spec.key);
        let bearer = match (&spec.login, &spec.transport, &provisions.logins) {
            (Some(login), Transport::Remote { url, .. }, Some(logins)) => {
                Some(logins.bearer(login, &spec.key, url))
            }
            _ => None,
        };
        let offer = ServerOffer::remembered(&spec, provisions);
        let waits = provisions.waits_for_restart;
        let rules = WaitRules {
            waits_for_restart: waits,
            repeats: waits && provisions.run.repeat_calls,
            patience: provisions.patience.max(WAITING_TIME),
            ..WaitRules::of(&spec.calls)
        };
        let room = WaitQueue::for_server(&key, rules, &provisions.bell).map(Arc::new);
        if let Some(room) = room.as_ref().filter(|_| offer.listing().is_some()) {
            room.open(); // whoever is listed its tools may call them
        }
        let meters = provisions.limiter.server(&spec.id);
        meters.set(spec.calls.limits, &spec.tool_limits);
        let definition = Arc::new(ServerDefinition {
            meters,
            transport: spec.transport,
            secrets: Arc::new(spec.secrets),
            share: spec.share,
            era: spec.era,
            guarded: spec.guarded,
            login: spec.login,
            calls: spec.calls,
            run: spec.run,
            sandbox: spec.sandbox,
            scan: spec.texts.scan,
        });
        let new = Self::of(key, definition, audience, provisions.clone(), offer);
        Self { bearer, wait_queue: room, filter: Mutex::new(Arc::new(spec.filter)), ..new }
    }

    fn of(
        key: Identity,
        definition: Arc<ServerDefinition>,
        audience: Arc<Audience>,
        services: Services,
        offer: ServerOffer,
    ) -> Self {
        Self {
            key,
            definition,
            bearer: None,
            audience,
            services,
            wait_queue: None,
            filter: Mutex::default(),
            status: watch::Sender::new(Status::default()),
            settled_once: AtomicBool::new(false),
            offer,
            dialect: LearntDialect::default(),
            breaker: Mutex::default(),
            words: Mutex::default(),
            signals: ServerSignals::default(),
            demand: Demand::default(),
        }
    }

    /// Another process of the same server, for one client alone.
    pub(crate) fn private(&self, audience: Arc<Audience>) -> Self {
        let services = Services { waits_for_restart: false, ..self.services.clone() };
        let offer = ServerOffer::with(Arc::clone(&self.offer.pins));
        Self {
            bearer: self.bearer.clone(),
            wait_queue: self.wait_queue.as_ref().and_then(|room| room.private()).map(Arc::new),
            dialect: LearntDialect {
                spoken: self.dialect.spoken.passed_on(),
                known: self.dialect.known.passed_on(),
            },
            ..Self::of(self.key.clone(), Arc::clone(&self.definition), audience, services, offer)
        }
    }

    /// It takes the place of `old`: what clients had subscribed to there, they hear of from here; what
    /// was listed there stays listed, and whoever calls it before it is ready waits, as for a server
    /// that comes back.
    pub(crate) fn succeed(&self, old: &Self) {
        let before = old.connection().or_else(|| old.offer.before.lock().clone());
        *self.offer.before.lock() = before;
        let room = self.wait_queue.as_ref().filter(|room| room.rules.waits_for_restart);
        if let Some((room, offered)) = room.zip(old.offer.offered()) {
            self.offer.take_over(offered);
            room.open();
        }
    }

    /// Would `spec` start the same thing, by whatever name?
    pub(crate) fn is_same(&self, spec: &ServerSpec) -> bool {
        **self.key.id() == *spec.id && self.definition.is_same(spec)
    }

    /// What it was made of.
    pub(crate) fn spec(&self) -> ServerSpec {
        // Not the definition's: they may have changed since it was made.
        let (limits, tool_limits) = self.definition.meters.rules();
        let scan = self.definition.scan.clone();
        ServerSpec {
            id: self.key.id().to_string(),
            key: self.key.to_string(),
            transport: self.definition.transport.clone(),
            disabled: false,
            secrets: (*self.definition.secrets).clone(),
            filter: (*self.filter()).clone(),
            share: self.definition.share,
            era: self.definition.era,
            guarded: self.definition.guarded,
            login: self.definition.login.clone(),
            calls: CallRules { limits, ..self.definition.calls },
            tool_limits,
            run: self.definition.run,
            texts: TextRules { on_change: self.offer.pins.on_change(), scan },
            sandbox: self.definition.sandbox.clone(),
        }
    }

    pub(crate) fn filter(&self) -> Arc<ToolFilter> {
        Arc::clone(&self.filter.lock())
    }

    /// Changes what is shown of it. False if nothing changed.
    pub(crate) fn set_filter(&self, filter: &ToolFilter) -> bool {
        let mut held = self.filter.lock();
        let changed = **held != *filter;
        if changed {
            *held = Arc::new(filter.clone());
        }
        changed
    }

    pub(crate) fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// It has ended, or is told to, and will not come again.
    pub(crate) fn is_done(&self) -> bool {
        self.signals.dismissed.is_cancelled() || self.status.borrow().state == State::Stopped
    }

    /// Was it ever running, failed or stopped?
    pub(crate) fn has_settled(&self) -> bool {
        self.settled_once.load(Ordering::Relaxed)
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.status.borrow().state.is_settled()
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut Status)) {
        let mut news = None;
        // Whoever waits for a state is woken by this, and sees the whole change.
        self.status.send_modify(|status| {
            let before = status.state.word();
            change(status);
            if status.state.word() != before {
                status.since = Instant::now();
                news = Some((status.state.word(), status.state.why()));
            }
        });
        self.services.news.send_replace(());
        let events = self.services.observers.as_ref().and_then(|watch| watch.events.as_ref());
        if let (Some(sink), Some((state, why))) = (events, news) {
            let server = self.key.name();
            sink.put(Event::ServerChanged { server, state, why });
        }
        if self.is_settled() {
            self.settled_once.store(true, Ordering::Relaxed);
        }
    }

    /// Waits until the server is running, failed or stopped.
    pub(crate) async fn settled(&self) {
        // The sender lives in `self`: it cannot be gone.
        drop(self.status.subscribe().wait_for(|status| status.state.is_settled()).await);
    }

    /// Is what it offers known, or will it not be known by waiting for the start? One that has failed and is
    /// tried again is not waited for.
    pub(crate) fn is_listed(&self) -> bool {
        self.has_settled() || self.offer.listing().is_some()
    }

    /// It is out of sight: whoever needs it finds no connection.
    pub(in crate::upstream) fn set_gone(&self) {
        let before = self.offer.live.lock().take();
        self.note_before(before);
    }

    /// `before` has left the lock: it may be the last holder of a connection.
    pub(super) fn note_before(&self, before: Option<Live>) {
        if let Some(before) = before {
            let mut held = self.offer.before.lock();
            *held = Some(before.connection);
        }
    }

    /// The connection before this one, once.
    pub(crate) fn take_subscriptions(&self) -> Option<Arc<Connection>> {
        let before = self.offer.before.lock().take()?;
        let now = self.connection();
        Some(before).filter(|before| !now.is_some_and(|now| Arc::ptr_eq(&now, before)))
    }

    pub(crate) fn live(&self) -> Option<Live> {
        self.offer.live.lock().clone()
    }

    /// What it said of itself in its handshake, now or when it last ran, perhaps in an earlier process.
    pub(crate) fn hello(&self) -> Option<Arc<ServerHello>> {
        self.offer.hello()
    }

    /// It runs, and has said and listed this; `shown`: what callers are told that it said.
    pub(in crate::upstream) fn remember(
        &self,
        connection: &Connection,
        said: (&ServerHello, &Listing),
        shown: &Arc<ServerHello>,
    ) {
        // By what it was told, and not by what the client has said since.
        if let Some((memory, told)) = self.offer.memory().zip(connection.facts.told.get()) {
            memory.keep(&self.key.name(), said, shown, told, &self.definition.secrets);
        }
    }

    /// A life has begun that writes there.
    pub(in crate::upstream) fn listens_to(&self, words: &Arc<LastWords>) {
        *self.words.lock() = Some(Arc::clone(words));
    }

    /// The last lines on stderr.
    pub(crate) fn stderr(&self) -> Vec<String> {
        let words = self.words.lock().clone();
        words.map(|words| words.last(STDERR_SHOWN)).unwrap_or_default()
    }

    pub(crate) fn connection(&self) -> Option<Arc<Connection>> {
        self.offer.live.lock().as_ref().map(|live| Arc::clone(&live.connection))
    }

    /// The connection that it has, and the one before, which may still have calls to end.
    pub(crate) fn connections(&self) -> impl Iterator<Item = Arc<Connection>> + use<> {
        self.connection().into_iter().chain(self.offer.before.lock().clone())
    }

    /// What a connection to it is given.
    pub(in crate::upstream) fn connection_options(&self) -> ConnectionOptions {
        // A queue that only keeps calls while the server is away is none of a connection's business: each
        // call would have to be looked at.
        let wait_queue = self.wait_queue.clone().filter(|room| room.rules.looks_at_calls());
        ConnectionOptions { wait_queue, timeout: self.definition.calls.timeout }
    }

    /// It is away and expected back: what it offered stays in the lists, and whoever calls waits.
    pub(in crate::upstream) fn expect_back(&self) {
        let Some(room) = self.wait_queue.as_ref().filter(|room| room.rules.waits_for_restart)
        else {
            return;
        };
        if let Some(live) = self.live() {
            self.offer.keep(live.offered());
        }
        room.open();
    }

    /// It is not expected back soon, or ever. True: it is out of the lists now and was in them.
    pub(in crate::upstream) fn give_up(&self, what: impl Into<Absence>) -> bool {
        let kept = self.offer.kept.lock().take();
        let was_kept = kept.is_some();
        if let Some(offered) = kept.or_else(|| self.live().map(|live| live.offered())) {
            *self.offer.given_up.lock() = Some(offered);
        }
        if let Some(room) = &self.wait_queue {
            room.shut(&what.into());
        }
        was_kept
    }

    /// What it offers, or offered before it went and is expected back.
    pub(crate) fn listing(&self) -> Option<Arc<Listing>> {
        self.offer.listing()
    }

    /// May it be listed otherwise once the client has said what it can do?
    pub(crate) fn is_listed_by_client(&self) -> bool {
        self.offer.is_by_client()
    }

    /// Its calls may wait for it now.
    pub(crate) fn open_wait_queue(&self) -> Option<&Arc<WaitQueue>> {
        self.wait_queue.as_ref().filter(|room| room.takes_calls())
    }

    /// Keeps a call that waits for the server, or says why it cannot wait.
    pub(crate) fn hold(&self, path: ReplyTo, touched: &mut FlushSet) -> Result<(), Box<Rejected>> {
        let Some(room) = self.open_wait_queue() else {
            let error =
                CallError::ServerAbsent { server: self.key.to_string(), why: self.absence() };
            return Err(Rejected::new(path, error));
        };
        room.admit(path, WaitCause::Away, self.call_timeout())?;
        self.wake();
        room.release(touched); // it may have come back at this moment
        Ok(())
    }

    /// How long a call to it may take, if that is bounded.
    pub(crate) fn call_timeout(&self) -> Option<std::time::Duration> {
        self.definition.calls.timeout.or(self.services.call)
    }

    /// What is to be told about a call to it at its end, if anybody wants to know.
    pub(crate) fn note(
        &self,
        message: &Message<'_>,
        changes: &[(Span, &[u8])],
        asker: Asker<'_>,
    ) -> Option<Arc<CallRecord>> {
        let watch = self.services.observers.as_ref()?;
        let hop = match self.definition.transport {
            Transport::Stdio { .. } => SpanKind::Pipe,
            Transport::Remote { .. } => SpanKind::Network,
        };
        CallRecord::of(message, changes, (&self.key, hop), asker, watch)
    }

    /// Calls that are with it, and calls that wait for it.
    pub(crate) fn open_calls(&self) -> usize {
        self.connection().map_or(0, |connection| connection.link.open_calls())
    }

    pub(crate) fn waiting_calls(&self) -> usize {
        self.wait_queue.as_ref().map_or(0, |room| room.len())
    }

    /// Somebody needs it: if it sleeps, it is started, before others that nobody needs yet.
    pub(crate) fn wake(&self) {
        if self.demand.call() {
            // Those who wait for its start have something to wait for from now on.
            if self.status.borrow().state == State::Idle {
                self.update(|status| {
                    if status.state == State::Idle {
                        status.state = State::Initializing;
                    }
                });
            }
            self.demand.ring();
        }
    }

    /// It is to be tried again now, as if it had never failed.
    pub(crate) fn try_again(&self) {
        self.breaker.lock().close();
        self.signals.wake.notify_waiters(); // whoever does not wait needs no waking
    }

    /// It is to be tried again now, even if it waits for a login.
    pub(crate) fn insist(&self) {
        self.try_again();
        self.wake();
        self.signals.insisted.notify_waiters();
    }

    /// It is going to be started although it had been given up for good.
    pub(crate) fn starts_over(&self) {
        self.breaker.lock().close();
        self.update(|status| {
            status.state = State::Initializing;
            status.restarts += 1;
        });
    }

    /// Why a call to this server cannot be made now, in words for whoever called.
    pub(crate) fn absence(&self) -> Absence {
        let key = &self.key;
        let status = self.status.borrow();
        let retry = status.retry.map(|retry| format!("; {retry}")).unwrap_or_default();
        let told = |what: &Failure| format!("server `{key}` {what}{retry}");
        let what = match &status.state {
            State::Initializing => "is still starting; try again soon",
            State::Idle => "sleeps until it is needed; try again",
            State::Running => "is running and does not offer this",
            State::Failed(failure) => return failure.absence(told),
            State::Stopped => "is stopped",
        };
        format!("server `{key}` {what}").into()
    }
}

/// Why a call by the list of `shown` must not go to `own`, a client's process. The server then lists anew.
pub(crate) fn outdated_call(shown: &Server, own: &Server, tool: &str) -> Option<CallError> {
    let (listing, listed) = shown.listing().zip(own.listing())?;
    let refusal = own.offer.compared.lock().refusal((&listing, &listed), &own.key.name(), tool)?;
    shown.wake();
    Some(refusal)
}
