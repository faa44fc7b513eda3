//! `Fleet`: the servers of a running gateway, for whoever looks after them: what they are, which there
//! are, and calls to them from inside this process.

mod ask;
mod call;
mod custom;
mod find;
mod info;
mod leave;
mod lists;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;
use trunkline_catalog::config::{CustomTool, ServerSpec};
use trunkline_wire::encode;

pub use call::{Answer, CallFailure, FailureKind, ToolCall};
pub use custom::CustomInfo;
pub use info::{Offer, OfferMark, ServerInfo, ToolInfo};
pub use leave::Retired;
pub use lists::Listed;

use crate::gateway_info::GatewayInfo;
use crate::lock::{Mutex, rank};
use crate::registry::{Registry, Views};
use crate::upstream::{Server, Services, Supervisor, supervise};

/// A handle; all of them are the same fleet.
#[derive(Clone, Debug)]
pub struct Fleet {
    pub(crate) registry: Arc<Registry>,
    pub(crate) supervisor: Supervisor,
    pub(crate) supervisors: TaskTracker,
    pub(crate) provisions: Services,
    /// Supervisors run here, whoever asks for them.
    runtime: Handle,
    /// Who calls from inside, as `clientInfo` says it.
    info: Arc<[u8]>,
    /// One change at a time.
    changing: Arc<Mutex<(), rank::FleetChange>>,
    /// What each kind of client is served.
    pub(crate) views: Arc<Views>,
}

/// What a change came to: the keys of the servers that were started (anew), ended, and left alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    pub started: Vec<String>,
    pub stopped: Vec<String>,
    pub kept: Vec<String>,
}

/// What somebody outside has found out about a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is well: if it is being waited for, it is tried at once.
    Well,
    /// It fails its health checks: its calls are refused at once until it passes one or is replaced.
    Failing,
    /// It passes its health checks.
    Passing,
    /// It is of no use; why, completing "server X …". It is connected to or started again.
    Useless(String),
}

impl Fleet {
    pub(crate) fn new(
        registry: Arc<Registry>,
        supervisor: Supervisor,
        provisions: Services,
        face: &GatewayInfo,
        views: Views,
    ) -> Self {
        let (name, version) = (encode(&face.name), encode(&face.version));
        let info = [br#"{"name":"#, &name[..], br#","version":"#, &version, b"}"].concat();
        Self {
            registry,
            supervisor,
            supervisors: TaskTracker::new(),
            provisions,
            runtime: Handle::current(),
            info: info.into(),
            changing: Arc::default(),
            views: Arc::new(views),
        }
    }

    /// Makes these the servers and custom tools, because somebody has changed something: those that
    /// are down are tried again. Only what changed is touched: a server that would be started in the
    /// same way keeps running, with its calls. Calls to servers that go end at once.
    pub fn apply(&self, servers: Vec<ServerSpec>, custom: Vec<CustomTool>) -> Applied {
        let applied = self.apply_within(servers, custom, Duration::ZERO);
        let servers = self.registry.servers();
        servers.iter().for_each(|server| server.try_again());
        applied
    }

    /// The same; servers that go have so long to end the calls they have, and those that are down are
    /// left to their pauses.
    pub fn apply_within(
        &self,
        servers: Vec<ServerSpec>,
        custom: Vec<CustomTool>,
        patience: Duration,
    ) -> Applied {
        let _one_at_a_time = self.changing.lock();
        let before = self.registry.servers();
        let mut applied = Applied::default();
        let mut wanted = Vec::new();
        for spec in servers.into_iter().filter(|spec| !spec.disabled) {
            let key = spec.key.clone();
            if let Some(same) = before.iter().find(|server| server.is_same(&spec)) {
                same.set_filter(&spec.filter);
                same.key.rename(&spec.key);
                wanted.push(Arc::clone(same));
                applied.kept.push(key);
            } else {
                wanted.push(self.start(spec, &before));
                applied.started.push(key);
            }
        }
        let is_wanted = |server: &&Arc<Server>| wanted.iter().any(|kept| Arc::ptr_eq(kept, server));
        let gone: Vec<_> = before.iter().filter(|server| !is_wanted(server)).cloned().collect();
        self.registry.set(wanted, custom);
        for server in gone {
            drop(self.dismiss(&server, patience));
            let key = server.key.to_string();
            if !applied.started.contains(&key) {
                applied.stopped.push(key);
            }
        }
        self.provisions.news.send_replace(());
        applied
    }

    fn start(&self, spec: ServerSpec, before: &[Arc<Server>]) -> Arc<Server> {
        let audience = Arc::clone(&self.registry.audience);
        let server = Arc::new(Server::new(spec, audience, &self.provisions));
        if let Some(old) = before.iter().find(|old| old.key == server.key) {
            server.succeed(old);
        }
        self.attend(&server);
        server
    }

    fn attend(&self, server: &Arc<Server>) {
        server.signals.is_attended.store(true, Ordering::Relaxed);
        let task = supervise(Arc::clone(server), self.supervisor.clone());
        drop(self.supervisors.spawn_on(task, &self.runtime));
    }

    /// Does anybody follow requests?
    pub(crate) fn follows(&self) -> bool {
        self.provisions.watch.as_ref().is_some_and(|watch| watch.traces.is_some())
    }

    fn find(&self, id: &str) -> Option<Arc<Server>> {
        self.registry.servers().iter().find(|server| **server.key.id() == *id).cloned()
    }

    /// Calls a server something else from now on; everything else about it stays. False: there is none
    /// of this id, or another one has the name.
    pub fn rename(&self, id: &str, name: &str) -> bool {
        let _one_at_a_time = self.changing.lock();
        let servers = self.registry.servers();
        let is_taken = |other: &Arc<Server>| **other.key.id() != *id && other.key.is_called(name);
        let Some(server) = self.find(id) else { return false };
        if servers.iter().any(is_taken) {
            return false;
        }
        if server.key.rename(name) {
            self.registry.changed();
            self.provisions.news.send_replace(());
        }
        true
    }

    /// Tries a server that is down again, now, however often it has failed. False: there is none of
    /// this id.
    pub fn reconnect(&self, id: &str) -> bool {
        let Some(server) = self.find(id) else { return false };
        if server.signals.is_attended.swap(true, Ordering::Relaxed) {
            server.insist();
        } else {
            server.starts_over();
            self.attend(&server);
        }
        true
    }

    /// Somebody outside has found this out about a server. False: there is none of this id.
    pub fn mark(&self, id: &str, verdict: Verdict) -> bool {
        let Some(server) = self.find(id) else { return false };
        match verdict {
            Verdict::Well => server.try_again(),
            Verdict::Failing => server.set_failing(true),
            Verdict::Passing => server.set_failing(false),
            Verdict::Useless(why) if self.supervisor.restarts(&server) => server.condemn(why),
            Verdict::Useless(_) => {} // it would only be lost
        }
        true
    }

    /// Rung when the state of a server or what it offers has changed.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.provisions.news.subscribe()
    }
}
