//! `ServerDefinition` and `Services`: what a server's entry says, and what its gateway gives it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::{Notify, watch};
use trunkline_catalog::config::{CallRules, Era, RunRules, Secrets, Share, Transport};

use crate::call::Observers;
use crate::known_listings::KnownListings;
use crate::login::Logins;
use crate::upstream::lifecycle::run_policy::RunDefaults;

/// What its entry in the config says, but for its name and what is shown of it.
#[derive(Debug)]
pub(crate) struct ServerDefinition {
    pub(crate) transport: Transport,
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) share: Share,
    /// In which era it is spoken to, if that is not to be found out.
    pub(in crate::upstream) era: Era,
    pub(crate) guarded: bool,
    /// Under what its login is kept.
    pub(in crate::upstream) login: Option<String>,
    pub(in crate::upstream) calls: CallRules,
    /// When it runs.
    pub(in crate::upstream) run: RunRules,
}

/// What every server is given by its gateway.
#[derive(Clone, Debug, Default)]
pub(crate) struct Services {
    /// Who is told what happens.
    pub(crate) observers: Option<Arc<Observers>>,
    /// Calls wait while a server is away.
    pub(crate) waits_for_restart: bool,
    /// Calls that a server has lost are made again, where their tool allows that.
    pub(crate) repeat_calls: bool,
    /// How long a call waits for a server that starts, at least.
    pub(crate) patience: Duration,
    /// When servers run whose entry does not say it.
    pub(crate) run: RunDefaults,
    /// When the config last changed.
    pub(crate) config_changed: Option<SystemTime>,
    /// Where it is remembered what servers say of themselves.
    pub(crate) listings: Option<Arc<KnownListings>>,
    /// Who knows the logins of servers.
    pub(crate) logins: Option<Arc<dyn Logins>>,
    /// When a call is late.
    pub(crate) call: Option<Duration>,
    /// Rung when somebody starts to wait.
    pub(crate) bell: Arc<Notify>,
    /// Rung when the state of a server or what it offers has changed.
    pub(crate) news: Arc<watch::Sender<()>>,
}
