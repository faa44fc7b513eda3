//! From the operator's settings to a `ControlPlane`: opens the store, finds the keys, wires the services and
//! starts what runs beside the calls.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use trunkline_store::seal::SealKey;
use trunkline_store::{AuditKey, Store, StoreError, StoreOptions};

use super::activity::{ClientService, EventConsumer, RejectedLogins};
use super::background::Background;
use super::connections::ConnectionOpener;
use super::control_plane::{ControlPlane, ControlPlaneParts, Identity, Loops, StorePlace};
use super::directory::KnownServers;
use super::events::EventBus;
use super::live::LiveServers;
use super::logins::{CLIENT_NAME, DOCUMENT, LoginService};
use super::monitor::Monitor;
use super::overview::{ListSizes, OverviewService};
use super::people::PeopleService;
use super::policies::PolicyService;
use super::recall::Recall;
use super::reconcile::Reconciler;
use super::secrets::SecretService;
use super::servers::ServerService;
use super::settings::Settings;
use super::skills::{SkillIndex, SkillService};
use super::store_lock::{MARK_EVERY, StoreInUse, StoreLock, leave_mark};
use super::tools::ToolService;
use crate::access::{Pepper, Secret, Use};
use crate::audit::{
    Audit, AuditBounds, AuditLog, AuditPlaces, Backlog, LockedLog, Spool, SpoolKey,
};
use crate::clock;
use crate::health::{self, Checker, HealthRules, HealthTable};
use crate::issuer::{IssuerClients, IssuerKeys};
use crate::keys::{AdminTokenError, ApiKeys, FixedTokens, KeysError, admin_token};
use crate::logins::{How, Logins, Lost};
use crate::metrics::Metrics;
use crate::net::Client;
use crate::oauth::{self, OAuth};
use crate::people::PeopleDesk;
use crate::replicas::ReplicaSet;
use crate::secrets::{KeyFound, KeySource, KeySourceError, Safe, SecretError, StoredGrants};
use crate::skills::SkillSource;

/// A control plane, and what its operator has to be told once.
#[derive(Debug)]
pub struct StartedControlPlane {
    pub plane: ControlPlane,
    /// Made just now, to be shown this once; and where it is kept.
    pub admin_token: Option<(Secret, PathBuf)>,
    /// The store was sealed with another key.
    pub is_locked: bool,
    /// A change of the key was interrupted and has to be finished: `trunkline key rotate`.
    pub is_rotating: bool,
}

/// Why there is no control plane.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    #[error("the data directory {path} cannot be used: {error}")]
    Directory { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Key(#[from] KeySourceError),
    #[error(
        "the store is sealed, and the file with its key is missing: put {path} back; nothing was \
         changed"
    )]
    KeyMissing { path: PathBuf },
    #[error(transparent)]
    Occupied(#[from] StoreInUse),
    #[error("the store cannot be opened: {0}")]
    Store(#[from] StoreError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    AdminToken(#[from] AdminTokenError),
    #[error(transparent)]
    Keys(#[from] KeysError),
}

// Short, for a person waits in a browser meanwhile; not shorter, for each look is a query.
/// A login may have been made at another replica.
const LOOK: Duration = Duration::from_secs(5);
/// In the data directory: how many records could not be written.
const AUDIT_LOST: &str = "audit-lost";

impl ControlPlane {
    /// Opens everything; nothing is connected before `attach`.
    pub async fn boot(settings: Settings) -> Result<StartedControlPlane, BootError> {
        // First: the key file and the lock of the store lie in it.
        make_directory(&settings)?;
        // Before the key is read: `trunkline key rotate` may be replacing it.
        let lock = StoreLock::shared(&settings.storage.store)?;
        let found = settings.storage.key.resolve()?;
        let store = Store::open(&settings.storage.store, options(&found)).await?;
        let safe = Arc::new(Safe::unlock(&store, found.keyring()).await?);
        let is_locked = safe.is_locked();
        // The key file was missing, and a new key opens nothing: better no start than a locked one.
        if found.is_new && is_locked {
            // Waits until the file is closed: the operator may start it again at once.
            store.close().await;
            return Err(withdrawn(&settings.storage.key));
        }
        let pepper = pepper(&safe, &store).await?;
        let admin = admin_token(
            &settings.storage.data_dir,
            settings.tokens.admin_token.as_deref(),
            &pepper,
        )?;
        // Locked, nothing can be told from what others wrote there: what waits stays as it is, and nothing is added.
        let spool = (!is_locked).then(|| spool(&settings, &pepper)).flatten();
        let fixed = FixedTokens {
            static_token: settings
                .tokens
                .static_token
                .as_deref()
                .map(|t| pepper.mac(Use::StaticToken, t)),
            admin_token: Some(admin.mac),
            without_token: settings.tokens.without_token,
            certificates: Arc::new(settings.tokens.certificates.clone()),
            people: settings.tokens.people.as_ref().map(|people| Arc::new(people.rules.clone())),
            pepper: Arc::new(pepper),
            max_stale: settings.replicas.max_stale,
            is_locked,
        };
        let keys = Arc::new(ApiKeys::open(store.clone(), fixed).await?);
        // Only a shared store: that of a file is guarded by the lock of the file.
        if settings.storage.store.file().is_none() {
            // Before the first request: `trunkline key rotate` looks for this mark.
            leave_mark(&store).await?;
        }
        let address = settings.replicas.address.clone();
        let replicas = ReplicaSet::join(&store, &safe, address).await?;
        let wiring = Wiring::new(settings, store, safe, keys, spool);
        let plane = wiring.start(StorePlace { _lock: lock, replicas });
        // Before anybody is served: a request in the first second must not find an empty directory.
        plane.0.loops.live.known.reload().await?;
        plane.0.skills.read_taxonomy().await?;
        plane.policy_service().load().await?;
        let admin_token = admin.fresh.zip(admin.file);
        let is_rotating = found.next.is_some();
        Ok(StartedControlPlane { plane, admin_token, is_locked, is_rotating })
    }
}

/// What the services share, on the way to a `ControlPlane`.
struct Wiring {
    settings: Arc<Settings>,
    store: Store,
    safe: Arc<Safe>,
    keys: Arc<ApiKeys>,
    background: Background,
    audit: Audit,
    live: Arc<LiveServers>,
    events: Arc<EventBus>,
    metrics: Arc<Metrics>,
}

impl Wiring {
    fn new(
        settings: Settings,
        store: Store,
        safe: Arc<Safe>,
        keys: Arc<ApiKeys>,
        spool: Option<Spool>,
    ) -> Self {
        let background = Background::default();
        let places = AuditPlaces {
            backlog: Some(Backlog::at(settings.storage.data_dir.join(AUDIT_LOST))),
            spool,
        };
        // Without the key the chain of the log cannot be continued, only damaged.
        let log: Arc<dyn AuditLog> = match safe.is_locked() {
            true => Arc::new(LockedLog { why: SecretError::Locked.to_string() }),
            false => Arc::new(store.clone()),
        };
        let audit = Audit::start(log, AuditBounds::default(), places, background.tasks());
        let known = Arc::new(KnownServers::new(store.clone(), safe.is_locked()));
        let health = Arc::new(HealthTable::new(HealthRules::default()));
        // Event numbers go on after a restart: they begin with the time.
        let first_event = u64::try_from(clock::now()).unwrap_or_default();
        Self {
            settings: Arc::new(settings),
            store,
            safe,
            keys,
            background,
            audit,
            live: Arc::new(LiveServers::new(known, health)),
            events: Arc::new(EventBus::new(first_event)),
            metrics: Arc::new(Metrics::default()),
        }
    }

    fn start(self, place: StorePlace) -> ControlPlane {
        if let Some(replicas) = place.replicas.clone() {
            let end = self.background.end().clone();
            let (keys, until) = (replicas.call_keys(), end.clone());
            self.background.spawn(async move { Box::pin(keys.run(until)).await });
            self.background.spawn(async move { Box::pin(replicas.run(end)).await });
        }
        let checker = self.start_checker();
        let identity = self.start_identity();
        if self.settings.storage.store.file().is_none() {
            // A task, because a mark is only good for a while.
            let (store, end) = (self.store.clone(), self.background.end().clone());
            self.background.spawn(async move { leave_marks(&store, &end).await });
        }
        // One client for checks and logins: both reach only where registered servers may be.
        let logins = self.logins(checker.client.clone());
        let opener = ConnectionOpener {
            store: self.store.clone(),
            safe: Arc::clone(&self.safe),
            settings: Arc::clone(&self.settings),
        };
        let monitor = Arc::new(Monitor {
            store: self.store.clone(),
            live: Arc::clone(&self.live),
            audit: self.audit.clone(),
            events: Arc::clone(&self.events),
            metrics: Arc::clone(&self.metrics),
            logins: logins.clone(),
            checker,
            interval: self.settings.health_interval,
            background: self.background.clone(),
            health_urls: Mutex::default(),
            observed: Mutex::default(),
        });
        let policies = Arc::new(PolicyService {
            store: self.store.clone(),
            holder: Arc::clone(&self.settings.policies),
            keys: Arc::clone(&self.keys),
            turn: Semaphore::new(1),
            applied: Mutex::default(),
        });
        let loops = Loops {
            live: Arc::clone(&self.live),
            reconciler: Arc::new(Reconciler {
                live: Arc::clone(&self.live),
                opener: opener.clone(),
                monitor: Arc::clone(&monitor),
                logins: logins.clone(),
                policies: Arc::clone(&policies),
                background: self.background.clone(),
                recall: Recall::new(&self.store, self.safe.is_locked()),
                applied: Mutex::default(),
                reviewed: Mutex::default(),
            }),
            consumer: Arc::new(EventConsumer {
                known: Arc::clone(&self.live.known),
                health: Arc::clone(&self.live.health),
                keys: Arc::clone(&self.keys),
                metrics: Arc::clone(&self.metrics),
                audit: self.audit.clone(),
                policies: Arc::clone(&self.settings.policies),
                background: self.background.clone(),
            }),
            monitor,
        };
        self.services(place, identity, loops, opener, logins)
    }

    fn services(
        self,
        place: StorePlace,
        identity: Identity,
        loops: Loops,
        opener: ConnectionOpener,
        logins: Logins,
    ) -> ControlPlane {
        let Self { settings, store, safe, keys, background, audit, live, events, metrics } = self;
        let index = Arc::new(SkillIndex::default());
        let (servers, assigned) = (Arc::clone(&live), Arc::clone(&index));
        settings.policies.set_skills(Box::new(move |server, tool| {
            let directory = servers.directory();
            let id = directory.by_name(server).map(|entry| entry.id.as_str()).unwrap_or_default();
            let said = assigned.of_tool(id, tool).filter(|it| it.source == SkillSource::Manual);
            said.map(|it| it.ids()).unwrap_or_default()
        }));
        let wake = Arc::new(Notify::new());
        let skills = Arc::new(SkillService {
            store: store.clone(),
            live: Arc::clone(&live),
            index: Arc::clone(&index),
            llm: settings.llm.clone(),
            policies: Arc::clone(&settings.policies),
            wake: Arc::clone(&wake),
            background: background.clone(),
        });
        let tools = Arc::new(ToolService {
            live: Arc::clone(&live),
            skills: index,
            audit: audit.clone(),
            settings: Arc::clone(&settings),
            background: background.clone(),
            keys: Arc::clone(&keys),
            call_keys: place.replicas.as_ref().map(|set| Arc::new(set.call_keys()) as _),
        });
        let servers = ServerService {
            live: Arc::clone(&live),
            opener: opener.clone(),
            audit: audit.clone(),
            events: Arc::clone(&events),
            logins: logins.clone(),
            settings: Arc::clone(&settings),
            background: background.clone(),
            monitor: Arc::clone(&loops.monitor),
            classify: wake,
            // One permit: each change is judged by what the one before has left.
            changing: Semaphore::new(1),
        };
        let overview = OverviewService {
            keys: Arc::clone(&keys),
            live: Arc::clone(&live),
            tools: Arc::clone(&tools),
            audit: audit.clone(),
            rejected: Arc::clone(&identity.rejected),
            metrics,
            settings: Arc::clone(&settings),
            background: background.clone(),
            sizes: ListSizes::default(),
            sink: Mutex::new(None),
        };
        ControlPlane(Arc::new(ControlPlaneParts {
            place,
            servers,
            tools,
            skills,
            secrets: SecretService { store: store.clone(), safe, known: Arc::clone(&live.known) },
            logins: LoginService {
                logins,
                live,
                opener,
                audit: audit.clone(),
                events: Arc::clone(&events),
                settings: Arc::clone(&settings),
            },
            clients: ClientService { connected: settings.connected_clients.clone(), keys },
            overview,
            settings,
            store,
            audit,
            background,
            events,
            identity,
            loops,
        }))
    }

    fn start_checker(&self) -> Checker {
        let policy = self.settings.registration.reach.clone();
        let judge = move |address| policy.judge(address).map_err(|refused| refused.to_string());
        // Bounded: when the store is slow, samples are dropped and checks go on.
        let (samples, kept) = mpsc::channel(health::WAITING);
        let (store, end) = (self.store.clone(), self.background.end().clone());
        self.background.spawn(async move { health::keep(&store, kept, clock::now, &end).await });
        Checker {
            table: Arc::clone(&self.live.health),
            client: Client::new(Arc::new(judge)),
            samples,
            clock: clock::now,
        }
    }

    fn start_identity(&self) -> Identity {
        let (keys, end) = (Arc::clone(&self.keys), self.background.end().clone());
        self.background.spawn(async move { keys.run(clock::now, end).await });
        let issuer = self.settings.tokens.issuer.clone().map(|trusted| {
            let clients = IssuerClients::new(self.settings.registration.reach.clone());
            Arc::new(IssuerKeys::new(trusted, clients, Arc::clone(&self.keys)))
        });
        if let Some(issuer) = issuer.clone() {
            let end = self.background.end().clone();
            self.background.spawn(async move { issuer.run(end).await });
        }
        let rejected = Arc::new(RejectedLogins::new(self.audit.clone()));
        let people = self.settings.tokens.people.clone().map(|settings| {
            let clients = IssuerClients::new(self.settings.registration.reach.clone());
            PeopleService {
                desk: PeopleDesk::new(settings, clients),
                audit: self.audit.clone(),
                rejected: Arc::clone(&rejected),
            }
        });
        Identity { keys: Arc::clone(&self.keys), issuer, rejected, people }
    }

    fn logins(&self, outside: Client) -> Logins {
        let grants = Arc::new(StoredGrants::new(self.store.clone(), Arc::clone(&self.safe)));
        let oauth = OAuth::new(outside, grants, oauth_settings(&self.settings));
        let how = How::Platform { base: self.settings.public_url.clone().unwrap_or_default() };
        Logins::new(oauth, how, LOOK, lost(Arc::clone(&self.live), self.audit.clone()))
    }
}

/// Without one Trunkline runs all the same, as with one that has no room.
fn spool(settings: &Settings, pepper: &Pepper) -> Option<Spool> {
    let (dir, limit) = (&settings.storage.data_dir, settings.audit.spool);
    let opened = Spool::open(dir, limit, SpoolKey::of(pepper));
    let told = |error: &io::Error| {
        tracing::error!(%error, "the spool of audit records in the data directory cannot be used");
    };
    opened.inspect_err(told).ok()
}

/// With a client document, where authorization servers can fetch it.
fn oauth_settings(settings: &Settings) -> oauth::Settings {
    // An authorization server refuses a document that it cannot fetch over https.
    let base = settings.public_url.as_ref().filter(|base| base.starts_with("https://"));
    let client_document = base.map(|base| format!("{base}{DOCUMENT}"));
    oauth::Settings {
        client_name: CLIENT_NAME.to_owned(),
        client_document,
        ..oauth::Settings::default()
    }
}

/// Records that a grant could not be renewed.
fn lost(live: Arc<LiveServers>, audit: Audit) -> Lost {
    Arc::new(move |login, why| LoginService::record_lost(&live, &audit, login, why))
}

/// A store that is opened with these keys.
pub(super) fn options(found: &KeyFound) -> StoreOptions {
    // Both keys while a rotation is under way: the head of the log may be sealed with either.
    let keys = std::iter::once(&found.key).chain(&found.next);
    StoreOptions { audit_keys: keys.map(audit_key).collect() }
}

/// A key was made just now for a store that has another: it is taken back, lest it be mistaken for
/// the right one.
pub(super) fn withdrawn(key: &KeySource) -> BootError {
    let path = match key {
        KeySource::File(path) => path.clone(),
        KeySource::Given(_) | KeySource::Keyring(_) => PathBuf::new(),
    };
    if let Err(error) = std::fs::remove_file(&path) {
        tracing::warn!(
            %error,
            path = %path.display(),
            "this new key does not open the store, and its file cannot be removed: remove it and put the \
             store's own key there"
        );
    }
    BootError::KeyMissing { path }
}

/// Until the end.
async fn leave_marks(store: &Store, end: &CancellationToken) {
    loop {
        tokio::select! {
            () = end.cancelled() => return,
            // Slept after the first mark, which `boot` has left itself.
            () = tokio::time::sleep(MARK_EVERY) => {}
        }
        if let Err(error) = leave_mark(store).await {
            // Not fatal: the mark only helps `key rotate` to refuse, and the next one comes soon.
            tracing::debug!(%error, "the mark that this store is being served cannot be written");
        }
    }
}

/// The key that the end of the audit log is authenticated with: made of the operator's.
pub(super) fn audit_key(key: &SealKey) -> AuditKey {
    // Derived and not the key itself: who could forge the log's head could otherwise open secrets.
    AuditKey::new(key.derive(b"trunkline audit head"))
}

/// Without the store's key there is none of the store's: one that no API key fits.
async fn pepper(safe: &Safe, store: &Store) -> Result<Pepper, SecretError> {
    match safe.pepper(store).await {
        Ok(bytes) => Ok(Pepper::new(&bytes)),
        Err(SecretError::Locked) => {
            // Random and thrown away: with any fixed pepper, keys of another installation might
            // fit.
            let bytes = crate::access::random().map_err(|_| SecretError::NoRandom)?;
            Ok(Pepper::new(&bytes))
        }
        Err(error) => Err(error),
    }
}

fn make_directory(settings: &Settings) -> Result<(), BootError> {
    let path = &settings.storage.data_dir;
    DirBuilder::new()
        .recursive(true)
        // 0700 at creation: the directory holds the key and the admin token.
        .mode(0o700)
        .create(path)
        .map_err(|error| BootError::Directory { path: path.clone(), error })
}
