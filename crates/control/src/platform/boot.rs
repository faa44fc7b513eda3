//! From the operator's settings to a platform: the store is opened, the keys are found, everything that
//! runs beside the calls is started.

use std::collections::HashMap;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use trunkline_store::seal::Key;
use trunkline_store::{AuditKey, Options, Store, StoreError};

use super::context::Context;
use super::login::{CLIENT_NAME, DOCUMENT};
use super::occupancy::{MARK_EVERY, Occupancy, Occupied, leave_mark};
use super::roster::Roster;
use super::{Book, File, Inner, Newsroom, Platform, Settings, Strangers, clock};
use crate::access::{Pepper, Secret, Use};
use crate::audit::{Audit, Backlog, Bounds, LockedLog, Log};
use crate::health::{self, Checker, Rules, Wards};
use crate::issuer::{Clients, IssuerKeys};
use crate::keys::{AdminTokenError, Fixed, Keyholder, KeysError, admin_token};
use crate::logins::{How, Logins, Lost};
use crate::metrics::Metrics;
use crate::net::Client;
use crate::oauth::{self, OAuth};
use crate::secrets::{KeyFound, KeySource, KeySourceError, Safe, SecretError, StoredGrants};

/// A platform, and what its operator has to be told once.
#[derive(Debug)]
pub struct Booted {
    pub platform: Platform,
    /// Made just now, to be shown this once; and where it is kept.
    pub admin_token: Option<(Secret, PathBuf)>,
    /// The store was sealed with another key.
    pub is_locked: bool,
    /// A change of the key was interrupted and has to be finished: `trunkline key rotate`.
    pub is_rotating: bool,
}

/// Why there is no platform.
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
    Occupied(#[from] Occupied),
    #[error("the store cannot be opened: {0}")]
    Store(#[from] StoreError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    AdminToken(#[from] AdminTokenError),
    #[error(transparent)]
    Keys(#[from] KeysError),
}

/// Another replica may have been logged in at.
const LOOK: Duration = Duration::from_secs(5);
/// In the data directory: how many records could not be written.
const AUDIT_LOST: &str = "audit-lost";

/// What waits at the end may take so long.
const FAREWELL: Duration = Duration::from_secs(5);

impl Platform {
    /// Opens everything; nothing is connected before `attend`.
    pub async fn boot(settings: Settings) -> Result<Booted, BootError> {
        make_directory(&settings)?;
        let occupancy = Occupancy::shared(&settings.store)?;
        let found = settings.key.resolve()?;
        let store = Store::open(&settings.store, options(&found)).await?;
        let safe = Arc::new(Safe::unlock(&store, found.keyring()).await?);
        let is_locked = safe.is_locked();
        if found.is_new && is_locked {
            store.close().await;
            return Err(withdrawn(&settings.key));
        }
        let pepper = pepper(&safe, &store).await?;
        let admin = admin_token(&settings.data_dir, settings.admin_token.as_deref(), &pepper)?;
        let fixed = Fixed {
            static_token: settings.static_token.as_deref().map(|t| pepper.mac(Use::StaticToken, t)),
            admin_token: Some(admin.mac),
            without_token: settings.without_token,
            pepper: Arc::new(pepper),
            is_locked,
        };
        let keys = Arc::new(Keyholder::open(store.clone(), fixed).await?);
        if settings.store.file().is_none() {
            // Before anybody is served: who wants the store alone looks for this mark.
            leave_mark(&store).await?;
        }
        let platform = Self::start(settings, store, safe, keys, occupancy);
        platform.reload().await?;
        platform.read_taxonomy().await?;
        let admin_token = admin.fresh.zip(admin.file);
        let is_rotating = found.next.is_some();
        Ok(Booted { platform, admin_token, is_locked, is_rotating })
    }

    fn start(
        settings: Settings,
        store: Store,
        safe: Arc<Safe>,
        keys: Arc<Keyholder>,
        occupancy: Occupancy,
    ) -> Self {
        let tasks = TaskTracker::new();
        let end = CancellationToken::new();
        let backlog = Backlog::at(settings.data_dir.join(AUDIT_LOST));
        let log: Arc<dyn Log> = match safe.is_locked() {
            true => Arc::new(LockedLog { why: SecretError::Locked.to_string() }),
            false => Arc::new(store.clone()),
        };
        let audit = Audit::start(log, Bounds::default(), Some(backlog), &tasks);
        let wards = Arc::new(Wards::new(Rules::default()));
        let policy = settings.reach.clone();
        let judge = move |address| policy.judge(address).map_err(|refused| refused.to_string());
        let (samples, kept) = mpsc::channel(health::WAITING);
        let checker = Checker {
            wards: Arc::clone(&wards),
            client: Client::new(Arc::new(judge)),
            samples,
            clock: clock::now,
        };
        let keeping = (store.clone(), end.clone());
        tasks.spawn(async move { health::keep(&keeping.0, kept, clock::now, &keeping.1).await });
        let holding = (Arc::clone(&keys), end.clone());
        tasks.spawn(async move { holding.0.run(clock::now, holding.1).await });
        let issuer = settings.issuer.clone().map(|trusted| {
            let clients = Clients::new(settings.reach.clone());
            Arc::new(IssuerKeys::new(trusted, clients, Arc::clone(&keys)))
        });
        if let Some(issuer) = issuer.clone() {
            let end = end.clone();
            tasks.spawn(async move { issuer.run(end).await });
        }
        if settings.store.file().is_none() {
            let marking = (store.clone(), end.clone());
            tasks.spawn(async move { leave_marks(&marking.0, &marking.1).await });
        }
        let grants = Arc::new(StoredGrants::new(store.clone(), Arc::clone(&safe)));
        let (outside, oauth_settings) = (checker.client.clone(), oauth_settings(&settings));
        let oauth = OAuth::new(outside, grants, oauth_settings);
        let how = How::Platform { base: settings.public.clone().unwrap_or_default() };
        Self(Arc::new_cyclic(|inner: &Weak<Inner>| Inner {
            logins: Logins::new(oauth, how, LOOK, lost(inner.clone())),
            settings,
            _occupancy: occupancy,
            store,
            safe,
            keys,
            issuer,
            strangers: Arc::new(Strangers::new(audit.clone())),
            audit,
            wards,
            metrics: Metrics::default(),
            checker,
            fleet: OnceLock::new(),
            file: Mutex::new(File::default()),
            roster: Mutex::new(Arc::new(Roster::default())),
            reloading: Semaphore::new(1),
            changing: Semaphore::new(1),
            troubles: Mutex::new(HashMap::new()),
            health_urls: Mutex::new(HashMap::new()),
            made: Mutex::default(),
            is_store_away: AtomicBool::new(false),
            seen: Mutex::default(),
            context: Context::default(),
            book: Book::default(),
            sort: Notify::new(),
            sink: Mutex::new(None),
            wish: Notify::new(),
            news: Newsroom::new(u64::try_from(clock::now()).unwrap_or_default()),
            tasks,
            end,
        }))
    }

    /// Writes down what waits, and closes everything.
    pub async fn close(&self) {
        self.0.end.cancel();
        // What was granted is kept, also at the last moment.
        drop(tokio::time::timeout(FAREWELL, self.0.logins.oauth().close()).await);
        self.0.audit.close(Instant::now() + FAREWELL).await;
        self.0.tasks.close();
        if tokio::time::timeout(FAREWELL, self.0.tasks.wait()).await.is_err() {
            tracing::warn!("some work of the control plane did not end");
        }
        self.0.store.close().await;
    }
}

/// A document says who we are where it can be fetched.
fn oauth_settings(settings: &Settings) -> oauth::Settings {
    let base = settings.public.as_ref().filter(|base| base.starts_with("https://"));
    let client_document = base.map(|base| format!("{base}{DOCUMENT}"));
    oauth::Settings {
        client_name: CLIENT_NAME.to_owned(),
        client_document,
        ..oauth::Settings::default()
    }
}

fn lost(inner: Weak<Inner>) -> Lost {
    Arc::new(move |login, why| {
        if let Some(inner) = inner.upgrade() {
            Platform(inner).login_lost(login, why);
        }
    })
}

/// A store that is opened with these keys.
pub(super) fn options(found: &KeyFound) -> Options {
    let keys = std::iter::once(&found.key).chain(&found.next);
    Options { audit_keys: keys.map(audit_key).collect() }
}

/// A key was made just now for a store that has another: it is taken back, lest it be mistaken for
/// the right one.
pub(super) fn withdrawn(key: &KeySource) -> BootError {
    let path = match key {
        KeySource::File(path) => path.clone(),
        KeySource::Given(_) | KeySource::Keyring(_) => PathBuf::new(),
    };
    if let Err(error) = std::fs::remove_file(&path) {
        tracing::warn!(%error, path = %path.display(), "the key file made for this start cannot be removed; delete it, for it opens nothing of this store");
    }
    BootError::KeyMissing { path }
}

/// Until the end.
async fn leave_marks(store: &Store, end: &CancellationToken) {
    loop {
        tokio::select! {
            () = end.cancelled() => return,
            () = tokio::time::sleep(MARK_EVERY) => {}
        }
        if let Err(error) = leave_mark(store).await {
            tracing::debug!(%error, "the store does not know that it is being served");
        }
    }
}

/// The key that the end of the audit log is authenticated with: made of the operator's.
pub(super) fn audit_key(key: &Key) -> AuditKey {
    AuditKey::new(key.derive(b"trunkline audit head"))
}

/// Without the store's key there is none of the store's: one that no API key fits.
async fn pepper(safe: &Safe, store: &Store) -> Result<Pepper, SecretError> {
    match safe.pepper(store).await {
        Ok(bytes) => Ok(Pepper::new(&bytes)),
        Err(SecretError::Locked) => {
            let bytes = crate::access::random().map_err(|_| SecretError::NoRandom)?;
            Ok(Pepper::new(&bytes))
        }
        Err(error) => Err(error),
    }
}

fn make_directory(settings: &Settings) -> Result<(), BootError> {
    let path = &settings.data_dir;
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| BootError::Directory { path: path.clone(), error })
}
