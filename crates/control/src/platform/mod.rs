//! `Platform`: the control plane of a running `serve`. What was asked for is in the store; here it is
//! made so, watched, and told to whoever may know.

mod asking;
mod attend;
mod book;
mod boot;
mod call;
mod change;
mod clients;
mod clock;
mod command;
mod context;
mod custom;
mod details;
mod edits;
mod embedding;
mod entrust;
mod gate;
mod hear;
mod instance;
mod login;
mod made;
mod maintain;
mod news;
mod occupancy;
mod overview;
mod reconcile;
mod requests;
mod roster;
mod search;
mod secrets;
mod settings;
mod show;
mod skills;
mod sorting;
mod strangers;
mod tools;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, broadcast};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use trunkline_catalog::config::{CustomTool, ServerSpec};
use trunkline_gateway::{ConnectedClients, EventSink, Fleet};
use trunkline_store::Store;

use crate::audit::Audit;
use crate::health::{Checker, HealthTable};
use crate::issuer::IssuerKeys;
use crate::keys::ApiKeys;
use crate::logins::Logins;
use crate::metrics::Metrics;
use crate::secrets::Safe;

pub use boot::{BootError, StartedPlatform};
pub use call::Called;
pub use clock::now;
pub use command::ProgramSearch;
pub use gate::KeyGate;
pub use maintain::{ChangeKeyError, SecretsError, StoreSecrets, change_key, verify_audit};
pub use news::{NumberedEvent, ServerEvent};
pub use occupancy::StoreInUse;
pub use secrets::{Removal, SecretNotRemoved, SecretWrite};
pub use settings::{Settings, StdioRegistration, VariableLookup};
pub(crate) use show::sees;
pub use show::{Shown, store_problem};
pub use skills::SuggestionDecision;

use attend::Observations;
use book::SkillIndex;
use context::Context;
pub use login::with_logins;
pub(crate) use login::{CALLBACK, DOCUMENT};
use made::AppliedRevisions;
use news::EventBus;
use occupancy::StoreLock;
use roster::{EntryTimes, ServerDirectory};
use strangers::RejectedLogins;
pub use tools::Tagged;

/// Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Platform(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Settings,
    /// Nobody changes the key of the store meanwhile.
    _occupancy: StoreLock,
    store: Store,
    safe: Arc<Safe>,
    keys: Arc<ApiKeys>,
    /// The keys of whose tokens are taken.
    issuer: Option<Arc<IssuerKeys>>,
    audit: Audit,
    logins: Logins,
    /// Who came with a token that is none.
    strangers: Arc<RejectedLogins>,
    wards: Arc<HealthTable>,
    metrics: Metrics,
    checker: Checker,
    /// The data plane, once it runs.
    fleet: OnceLock<Fleet>,
    /// What the config file asks for.
    file: Mutex<ConfigFileState>,
    roster: Mutex<Arc<ServerDirectory>>,
    /// Held from reading the store to replacing the roster: an older reading must not come last.
    reloading: Semaphore,
    /// One change of a server at a time.
    changing: Semaphore,
    /// Why a registered server cannot even be tried, by its id.
    troubles: Mutex<HashMap<String, ConnectProblem>>,
    /// Where the health of a registered server is asked for, by its id; with its secrets.
    health_urls: Mutex<HashMap<String, Option<String>>>,
    /// What the running servers were made of.
    made: Mutex<AppliedRevisions>,
    /// The store could not be read when it was last tried.
    is_store_away: AtomicBool,
    seen: Mutex<Observations>,
    /// How long the lists are that clients are served.
    context: Context,
    /// What is known about skills.
    book: SkillIndex,
    /// Tools are to be given their skills.
    sort: Notify,
    sink: Mutex<Option<EventSink>>,
    /// What is wanted has changed.
    wish: Notify,
    news: EventBus,
    tasks: TaskTracker,
    end: CancellationToken,
}

/// The config file's part.
#[derive(Debug, Default)]
struct ConfigFileState {
    servers: Vec<ServerSpec>,
    custom: Vec<CustomTool>,
    /// It was read and has not been made so yet.
    is_new: bool,
    /// Disconnected over REST, until they are connected again or Trunkline restarts.
    disconnected: HashSet<String>,
    /// By the servers' ids.
    times: HashMap<String, EntryTimes>,
    /// Servers of which the store has not said yet when they were first seen.
    undated: HashSet<String>,
}

#[derive(Debug, Clone)]
struct ConnectProblem {
    at: i64,
    message: String,
}

impl Platform {
    pub fn keys(&self) -> &ApiKeys {
        &self.0.keys
    }

    pub fn issuer(&self) -> Option<&IssuerKeys> {
        self.0.issuer.as_deref()
    }

    pub fn store(&self) -> &Store {
        &self.0.store
    }

    pub fn wards(&self) -> &HealthTable {
        &self.0.wards
    }

    /// Where work for requests is done: it is waited for at the end.
    pub fn tasks(&self) -> &TaskTracker {
        &self.0.tasks
    }

    /// What was told after this, as far as that is kept, and everything from now on.
    pub fn listen(
        &self,
        after: Option<u64>,
    ) -> (Vec<NumberedEvent>, broadcast::Receiver<NumberedEvent>) {
        self.0.news.listen(after)
    }

    /// How browsers reach this, if that is known; without a slash at the end.
    pub fn public(&self) -> Option<&str> {
        self.0.settings.public.as_deref()
    }

    /// Shows who is connected to the front that it is given to.
    pub fn guests(&self) -> ConnectedClients {
        self.0.settings.guests.clone()
    }

    /// Counts calls of tools, whatever came of them.
    pub fn calls_ended(&self) -> u64 {
        self.0.metrics.calls_ended()
    }

    pub fn is_ending(&self) -> CancellationToken {
        self.0.end.clone()
    }
}
