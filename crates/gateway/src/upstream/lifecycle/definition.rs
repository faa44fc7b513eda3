//! `ServerDefinition` and `Services`: what a server's entry says, and what its gateway gives it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use trunkline_catalog::config::{
    CallRules, Era, RunRules, SandboxRules, Secrets, ServerSpec, Share, Start, Transport,
};
use trunkline_catalog::scan::ScanPolicy;

use crate::call::Observers;
use crate::known_listings::KnownListings;
use crate::limiter::{Limiter, ServerMeters};
use crate::login::Logins;
use crate::pins::PinHome;
use crate::result_scan::ResultScanner;
use crate::upstream::lifecycle::declared::Declared;

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
    /// What is used of it, in all its processes.
    pub(crate) meters: Arc<ServerMeters>,
    /// The walls around it.
    pub(in crate::upstream) sandbox: Option<SandboxRules>,
    /// What is done about texts that lie.
    pub(crate) scan: ScanPolicy,
}

impl ServerDefinition {
    /// Would `spec` start the same thing? Limits are not compared: they change while it runs.
    pub(super) fn is_same(&self, spec: &ServerSpec) -> bool {
        self.transport == spec.transport
            && self.share == spec.share
            && self.era == spec.era
            && self.guarded == spec.guarded
            && self.login == spec.login
            && self.calls.without_limits() == spec.calls.without_limits()
            && self.run == spec.run
            && self.sandbox == spec.sandbox
            && self.scan == spec.texts.scan
    }
}

/// How the servers of a gateway are run, where their entries do not say it.
#[derive(Clone, Copy, Debug)]
pub struct RunPolicy {
    pub restart: Restart,
    /// Calls that a server has lost are made again, where their tool allows that: each request is copied for
    /// it. Only where servers are always started again.
    pub repeat_calls: bool,
    pub start: Start,
    /// After how long without use a server is stopped; `None`: never.
    pub idle_stop: Option<Duration>,
}

impl Default for RunPolicy {
    fn default() -> Self {
        Self { restart: Restart::Never, repeat_calls: true, start: Start::Eager, idle_stop: None }
    }
}

/// What becomes of a server that has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// It stays down, wherever it runs: the gateway is there for one command only.
    OneShot,
    /// It stays down; a server in the network is connected to again.
    Never,
    /// It is started again, until it has failed too often in a short time.
    Limited,
    /// It is started again for as long as the gateway runs, with ever longer pauses.
    Always,
}

/// What every server is given by its gateway.
#[derive(Clone, Debug, Default)]
pub(crate) struct Services {
    /// Who is told what happens.
    pub(crate) observers: Option<Arc<Observers>>,
    /// Calls wait while a server is away.
    pub(crate) waits_for_restart: bool,
    /// How long a call waits for a server that starts, at least.
    pub(crate) patience: Duration,
    /// When servers run, where their entries do not say it.
    pub(crate) run: RunPolicy,
    /// What servers are told that clients can do: their lists may depend on it.
    pub(crate) declared: Declared,
    /// Where it is remembered what servers say of themselves.
    pub(crate) listings: Option<KnownListings>,
    /// Where it is kept what was approved of servers' definitions.
    pub(crate) pins: Option<Arc<dyn PinHome>>,
    /// Who reads results; `None`: nobody.
    pub(crate) results: Option<Arc<ResultScanner>>,
    /// What servers, callers and addresses may have.
    pub(crate) limiter: Arc<Limiter>,
    /// Who knows the logins of servers.
    pub(crate) logins: Option<Arc<dyn Logins>>,
    /// When a call is late.
    pub(crate) call: Option<Duration>,
    /// Rung when somebody starts to wait.
    pub(crate) bell: Arc<Notify>,
    /// Rung when the state of a server or what it offers has changed.
    pub(crate) news: Arc<watch::Sender<()>>,
}
