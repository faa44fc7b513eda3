//! `ControlPlane`: the services of one `serve`, wired; and the way to the end of all of them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use trunkline_catalog::config::{CustomTool, ServerSpec, SharedLimits};
use trunkline_gateway::{Event, EventSink, Fleet, KnownListings, ReplicaAccess};
use trunkline_store::Store;

use super::activity::{ClientService, EventConsumer, RejectedLogins};
use super::background::Background;
use super::connections::with_logins;
use super::events::EventBus;
use super::gate::KeyGate;
use super::live::LiveServers;
use super::logins::LoginService;
use super::monitor::Monitor;
use super::overview::OverviewService;
use super::people::PeopleService;
use super::policies::PolicyService;
use super::reconcile::Reconciler;
use super::reviews::ReviewService;
use super::secrets::SecretService;
use super::servers::ServerService;
use super::settings::Settings;
use super::skills::SkillService;
use super::store_lock::StoreLock;
use super::tools::ToolService;
use crate::access::{Principal, Refusal};
use crate::audit::{Audit, AuditAnchor, AuditArchive, AuditFollower, AuditFull, RenderRecord};
use crate::clock;
use crate::issuer::IssuerKeys;
use crate::keys::ApiKeys;
use crate::policies::PolicyHolder;
use crate::replicas::ReplicaSet;

// Three steps of five seconds stay below the ninety that systemd waits by default before it kills.
/// How long each step of the shutdown may take.
const SHUTDOWN_STEP: Duration = Duration::from_secs(5);

/// Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct ControlPlane(pub(super) Arc<ControlPlaneParts>);

#[derive(Debug)]
pub(super) struct ControlPlaneParts {
    pub(super) settings: Arc<Settings>,
    pub(super) place: StorePlace,
    pub(super) store: Store,
    pub(super) audit: Audit,
    pub(super) background: Background,
    pub(super) events: Arc<EventBus>,
    pub(super) identity: Identity,
    pub(super) loops: Loops,
    pub(super) servers: ServerService,
    pub(super) tools: Arc<ToolService>,
    pub(super) skills: Arc<SkillService>,
    pub(super) secrets: SecretService,
    pub(super) logins: LoginService,
    pub(super) clients: ClientService,
    pub(super) overview: OverviewService,
}

/// This process among those that work with the store.
#[derive(Debug)]
pub(super) struct StorePlace {
    /// While it is held, the key of the store is not changed.
    pub(super) _lock: StoreLock,
    /// `None`: the store is locked.
    pub(super) replicas: Option<ReplicaSet>,
}

/// Who may come in.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) keys: Arc<ApiKeys>,
    /// Whose access tokens are taken, if any are.
    pub(super) issuer: Option<Arc<IssuerKeys>>,
    pub(super) rejected: Arc<RejectedLogins>,
    /// People who sign in to the dashboard at an issuer, if any do.
    pub(super) people: Option<PeopleService>,
}

/// What runs beside the requests, once there is a data plane.
#[derive(Debug)]
pub(super) struct Loops {
    pub(super) live: Arc<LiveServers>,
    pub(super) monitor: Arc<Monitor>,
    pub(super) reconciler: Arc<Reconciler>,
    pub(super) consumer: Arc<EventConsumer>,
}

impl ControlPlane {
    pub fn servers(&self) -> &ServerService {
        &self.0.servers
    }

    pub fn tools(&self) -> &ToolService {
        &self.0.tools
    }

    pub fn skills(&self) -> &SkillService {
        &self.0.skills
    }

    pub fn secrets(&self) -> &SecretService {
        &self.0.secrets
    }

    pub fn logins(&self) -> &LoginService {
        &self.0.logins
    }

    pub fn clients(&self) -> &ClientService {
        &self.0.clients
    }

    pub fn reviews(&self) -> ReviewService {
        let ControlPlaneParts { loops, settings, .. } = &*self.0;
        let recall = loops.reconciler.recall.clone();
        let opinions = settings.second_opinions.clone();
        ReviewService { recall, live: Arc::clone(&loops.live), opinions }
    }

    /// Where the data plane keeps what servers list; what is kept of these is ready to be listed.
    pub async fn listings(&self, servers: &[ServerSpec]) -> KnownListings {
        let recall = &self.0.loops.reconciler.recall;
        recall.before_start(None, servers.iter()).await;
        KnownListings::Store(recall.listing_home())
    }

    /// Resolves when what is registered was told to the data plane, or so much time has passed.
    pub async fn applied(&self, within: Duration) {
        let applied = self.0.loops.live.applied();
        drop(tokio::time::timeout(within, applied.cancelled()).await); // elapsed: `/readyz` waits for it
    }

    pub fn overview(&self) -> &OverviewService {
        &self.0.overview
    }

    pub fn events(&self) -> &EventBus {
        &self.0.events
    }

    pub fn keys(&self) -> &ApiKeys {
        &self.0.identity.keys
    }

    pub fn issuer(&self) -> Option<&IssuerKeys> {
        self.0.identity.issuer.as_deref()
    }

    /// `None`: nobody signs in at an issuer.
    pub fn people(&self) -> Option<&PeopleService> {
        self.0.identity.people.as_ref()
    }

    pub fn store(&self) -> &Store {
        &self.0.store
    }

    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub fn background(&self) -> &Background {
        &self.0.background
    }

    /// Decides who may speak MCP.
    pub fn gate(&self) -> KeyGate {
        let Identity { keys, issuer, rejected, .. } = &self.0.identity;
        KeyGate {
            keys: Arc::clone(keys),
            issuer: issuer.clone(),
            rejected: Arc::clone(rejected),
            policies: Arc::clone(&self.0.settings.policies),
            applied: self.0.loops.live.applied().clone(),
        }
    }

    /// What this process has in common with its replicas; `None`: the store is locked.
    pub fn replicas(&self) -> Option<ReplicaAccess> {
        self.0.place.replicas.as_ref().map(ReplicaSet::access)
    }

    /// A server with this id or name may have been registered at another replica a moment ago.
    pub(crate) async fn look_for_server(&self, id: &str) {
        if self.0.settings.storage.store.file().is_none() {
            self.0.loops.live.known.look_for(id).await;
        }
    }

    pub fn policy_service(&self) -> &PolicyService {
        &self.0.loops.reconciler.policies
    }

    pub fn policies(&self) -> &Arc<PolicyHolder> {
        &self.0.settings.policies
    }

    /// The principal with what policies leave of its grants.
    pub fn within_policies(&self, principal: Principal) -> Principal {
        match self.policies().rules_of(&principal) {
            Some(rules) => principal.within(rules),
            None => principal,
        }
    }

    /// Where nothing may run unrecorded: a flag that is true while what happens may not be recorded.
    pub fn audit_gate(&self) -> Option<Arc<AtomicBool>> {
        let may_drop = self.settings().audit.full == AuditFull::Drop;
        (!may_drop).then(|| Arc::clone(self.0.audit.is_stuck()))
    }

    /// Passes the audit log on, anchors and prunes it, as far as the operator wants that; `render` says how a
    /// record is written elsewhere.
    pub fn follow_audit(&self, render: RenderRecord) {
        let ControlPlaneParts { settings, store, background, audit, .. } = &*self.0;
        let wanted = &settings.audit;
        let follower = AuditFollower {
            store: store.clone(),
            keep: wanted.keep,
            archive: wanted.archive.clone().map(AuditArchive::at),
            anchor: wanted.anchor.clone().map(AuditAnchor::at),
            export: wanted.export.clone(),
            render,
            export_lost: Arc::clone(audit.export_lost()),
        };
        if follower.is_needed() {
            let end = audit.end();
            background.spawn(Box::pin(follower.run(end)));
        }
    }

    /// How often callers were refused because of their limits, by their credentials.
    pub fn limited_callers(&self) -> HashMap<String, u64> {
        let fleet = self.0.loops.live.fleet();
        let callers = fleet.map(Fleet::limited_callers).unwrap_or_default();
        let name = |who: &[u8]| String::from_utf8_lossy(who).into_owned();
        callers.into_iter().map(|(who, count)| (name(&who), count)).collect()
    }

    /// Limits of callers and addresses, as the config file has them from now on.
    pub fn set_limits(&self, shared: SharedLimits) {
        if let Some(fleet) = self.0.loops.live.fleet() {
            fleet.set_limits(shared);
        }
    }

    /// Counts a request over REST that was not let in. Returns the seconds that its sender is to wait, if it has
    /// shown too many wrong tokens.
    pub fn reject(&self, refusal: Refusal, source: IpAddr) -> Option<u64> {
        self.0.identity.rejected.count_rejected(refusal, source, clock::now())
    }

    /// The config file says this from now on.
    pub fn set_file(&self, servers: Vec<ServerSpec>, custom: Vec<CustomTool>) {
        self.0.loops.live.known.set_file(with_logins(servers), custom);
    }

    /// The data plane runs: from now on what is wanted is applied to it.
    pub fn attach(&self, fleet: Fleet, events: mpsc::Receiver<Event>, sink: EventSink) {
        let ControlPlaneParts { loops, background, skills, tools, overview, .. } = &*self.0;
        self.policies().attach(fleet.clone());
        // There is one data plane: a second one is ignored.
        if !loops.live.set_fleet(fleet) {
            return;
        }
        // Set once, before the first event can be lost; read by the metrics only.
        *overview.sink.lock() = Some(sink.clone());
        let reconciler = Arc::clone(&loops.reconciler);
        background.spawn(async move { reconciler.run().await });
        let (recall, end) = (loops.reconciler.recall.clone(), background.end().clone());
        background.spawn(async move { recall.run(&end).await });
        let consumer = Arc::clone(&loops.consumer);
        background.spawn(async move { consumer.run(events, &sink).await });
        let monitor = Arc::clone(&loops.monitor);
        background.spawn(async move { monitor.run().await });
        let skills = Arc::clone(skills);
        background.spawn(async move { skills.run().await });
        let plane = self.clone();
        background.spawn(async move { plane.servers().ask_for_opinions().await });
        tools.start_embedding();
    }

    /// Writes down what waits, and closes everything.
    pub async fn close(&self) {
        let ControlPlaneParts { background, audit, logins, store, .. } = &*self.0;
        // First, so that loops stop asking the store before it is closed.
        background.end().cancel();
        // A grant that was just given is kept.
        drop(tokio::time::timeout(SHUTDOWN_STEP, logins.oauth().close()).await);
        // Before the tasks: its writer is one of them, and needs the store.
        audit.close(Instant::now() + SHUTDOWN_STEP).await;
        // `wait` ends only once the tracker is closed and empty.
        background.tasks().close();
        if tokio::time::timeout(SHUTDOWN_STEP, background.tasks().wait()).await.is_err() {
            let (tasks, seconds) = (background.tasks().len(), SHUTDOWN_STEP.as_secs());
            tracing::warn!(
                tasks,
                "tasks of the control plane did not end within {seconds} s; they are cut off"
            );
        }
        // Last: every task above may write up to its end.
        store.close().await;
    }
}
