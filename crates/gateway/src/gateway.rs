//! `Gateway`: the servers of one config, running, and the fronts through which clients reach them.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use trunkline_catalog::config::{CustomTool, ServerSpec};
use trunkline_catalog::name::Naming;
use trunkline_keeper::Keeper;
use trunkline_wire::encode;

use crate::call::Audience;
use crate::deadlines::Deadlines;
use crate::face::Face;
use crate::front::{self, http::HttpOptions};
use crate::limits::{Farewell, HTTP_BODY, Limits, ONE_SERVER};
use crate::local::LocalClient;
use crate::pump::Pump;
use crate::registry::{Registry, View};
use crate::session::{Session, SessionContext};
use crate::upstream::{
    Declared, Inherited, Restart, Server, Status, Supervisor, passed_on, supervise,
};

/// Everything a gateway is told from outside.
#[derive(Debug)]
pub struct Options {
    pub servers: Vec<ServerSpec>,
    pub custom: Vec<CustomTool>,
    pub naming: Naming,
    pub face: Face,
    pub limits: Limits,
    pub restart: Restart,
    pub inherited: Inherited,
    /// What servers are told that clients can do.
    pub declared: Declared,
}

#[derive(Debug)]
pub struct Gateway {
    staff: Staff,
    view: Arc<View>,
    face: Face,
    limits: Limits,
    started: Instant,
    housekeeping: JoinSet<()>,
    farewell: watch::Sender<Option<Farewell>>,
    pump: Pump,
    pump_thread: JoinHandle<()>,
}

/// The servers that are wanted, and those who look after them.
#[derive(Clone, Debug)]
struct Staff {
    registry: Arc<Registry>,
    supervisor: Supervisor,
    supervisors: TaskTracker,
    /// One change at a time.
    changing: Arc<Mutex<()>>,
}

/// Changes what a running gateway serves.
#[derive(Clone, Debug)]
pub struct Reloader(Staff);

/// What a change came to: the keys of the servers that were started (anew), ended, and left alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    pub started: Vec<String>,
    pub stopped: Vec<String>,
    pub kept: Vec<String>,
}

impl Reloader {
    /// Makes these the servers and custom tools. Only what changed is touched: a server that would
    /// be started in the same way keeps running, with its calls.
    pub fn apply(&self, servers: Vec<ServerSpec>, custom: Vec<CustomTool>) -> Applied {
        self.0.apply(servers, custom)
    }
}

impl Staff {
    fn apply(&self, servers: Vec<ServerSpec>, custom: Vec<CustomTool>) -> Applied {
        let _one_at_a_time = self.changing.lock();
        let before = self.registry.servers();
        let mut applied = Applied::default();
        let mut wanted = Vec::new();
        for spec in servers.into_iter().filter(|spec| !spec.disabled) {
            let key = spec.key.clone();
            if let Some(same) = before.iter().find(|server| server.is_same(&spec)) {
                same.set_filter(&spec.filter);
                wanted.push(Arc::clone(same));
                applied.kept.push(key);
            } else {
                let server = Arc::new(Server::new(spec, Arc::clone(&self.registry.audience)));
                if let Some(old) = before.iter().find(|old| *old.key == *key) {
                    server.succeed(old);
                }
                self.supervisors.spawn(supervise(Arc::clone(&server), self.supervisor.clone()));
                wanted.push(server);
                applied.started.push(key);
            }
        }
        let is_wanted = |server: &&Arc<Server>| wanted.iter().any(|kept| Arc::ptr_eq(kept, server));
        for gone in before.iter().filter(|server| !is_wanted(server)) {
            gone.dismissed.cancel();
            self.registry.dismiss_privates(gone);
            let key = gone.key.to_string();
            if !applied.started.contains(&key) {
                applied.stopped.push(key);
            }
        }
        self.registry.set(wanted, custom);
        applied
    }
}

impl Gateway {
    /// Starts every server at once and returns without waiting for any.
    pub fn start(options: Options) -> io::Result<Self> {
        let keeper = Keeper::start()?;
        let (pump, pump_thread) = Pump::start()?;
        let registry = Arc::new(Registry::new(Arc::new(Audience::default())));
        let farewell = watch::Sender::new(None);
        let deadlines = Arc::new(Deadlines::new(options.limits.call));
        let supervisor = Supervisor {
            keeper: keeper.clone(),
            pump: pump.clone(),
            registry: Arc::clone(&registry),
            inherited: Arc::new(options.inherited),
            limits: options.limits,
            deadlines: Arc::clone(&deadlines),
            declared: options.declared,
            restart: options.restart,
            simple: options.face.simple,
            farewell: farewell.subscribe(),
        };
        let staff = Staff {
            registry,
            supervisor,
            supervisors: TaskTracker::new(),
            changing: Arc::default(),
        };
        staff.apply(options.servers, options.custom);
        let view = Arc::new(View::new(Arc::clone(&staff.registry), options.naming));
        let mut housekeeping = JoinSet::new();
        let swept = Arc::clone(&staff.registry);
        housekeeping.spawn(async move {
            if let Err(error) = deadlines.run(|now| swept.expire_calls(now)).await {
                tracing::error!(%error, "calls have no deadline: the clock cannot run");
            }
        });
        housekeeping.spawn(async move {
            if let Err(error) = keeper.reap().await {
                tracing::warn!(%error, "ended processes are not being collected");
            }
        });
        Ok(Self {
            staff,
            view,
            face: options.face,
            limits: options.limits,
            started: Instant::now(),
            housekeeping,
            farewell,
            pump,
            pump_thread,
        })
    }

    /// For changes while it serves.
    pub fn reloader(&self) -> Reloader {
        Reloader(self.staff.clone())
    }

    /// Serves the client on standard input and output until it goes; then stops every server.
    pub async fn serve_stdio(mut self) -> io::Result<()> {
        self.staff.registry.audience.make_exclusive();
        let context = self.context(true);
        let session = Session::new(Arc::clone(&context));
        let latecomers = Arc::clone(&context);
        context.tasks.spawn(async move { report_latecomers(&latecomers).await });
        let message_limit = self.limits.message;
        let pump = self.pump.clone();
        let stop = async |farewell| self.stop_servers(farewell).await;
        let served = front::stdio::serve(session, message_limit, &pump, stop).await;
        self.end();
        served
    }

    /// Serves clients over HTTP until a signal comes; then stops every server.
    pub async fn serve_http(mut self, options: HttpOptions) -> io::Result<()> {
        let context = self.context(false);
        let latecomers = Arc::clone(&context);
        self.housekeeping.spawn(async move { report_latecomers(&latecomers).await });
        let message_limit = body_limit(self.limits.message);
        let pump = self.pump.clone();
        let stop = async |farewell| self.stop_servers(farewell).await;
        let served = front::http::serve(options, context, message_limit, &pump, stop).await;
        self.end();
        served
    }

    /// A client inside this process. `capabilities`: what it can do, as in `initialize`.
    pub fn local(&self, capabilities: &[u8]) -> LocalClient {
        self.staff.registry.audience.make_exclusive();
        self.staff.supervisor.declared.settle(capabilities);
        let session = Session::new(self.context(true));
        session.client.declares(capabilities);
        let info = [
            br#"{"name":"#,
            &encode(&self.face.name)[..],
            br#","version":"#,
            &encode(&self.face.version),
            b"}",
        ];
        session.client.introduces_itself(&info.concat(), &passed_on(capabilities));
        session.join();
        LocalClient::new(session)
    }

    fn context(&self, exclusive: bool) -> Arc<SessionContext> {
        Arc::new(SessionContext {
            registry: Arc::clone(&self.staff.registry),
            view: Arc::clone(&self.view),
            face: self.face.clone(),
            start_deadline: self.started + self.limits.start,
            tasks: TaskTracker::new(),
            runtime: Handle::current(),
            declared: self.staff.supervisor.declared.clone(),
            supervisor: self.staff.supervisor.clone(),
            exclusive,
            private: false,
        })
    }

    /// Waits until every server is running or has failed, at most until the start deadline.
    pub async fn settled(&self) {
        self.staff.registry.settled(self.started + self.limits.start).await;
    }

    /// What is known about each server now, in the order of the config.
    pub fn statuses(&self) -> Vec<(String, Status)> {
        let servers = self.staff.registry.servers();
        servers.iter().map(|server| (server.key.to_string(), server.status())).collect()
    }

    /// How many tools of each server clients see now, in the same order.
    pub fn exposed(&self) -> Vec<usize> {
        let snapshot = self.view.snapshot();
        let servers = self.staff.registry.servers();
        (0..servers.len()).map(|place| snapshot.catalog.tools_of(place)).collect()
    }

    /// Stops every server and waits until nothing of them is left.
    pub async fn stop(mut self) {
        self.stop_servers(ONE_SERVER).await;
        self.end();
    }

    fn end(self) {
        self.pump.stop();
        if self.pump_thread.join().is_err() {
            tracing::error!("the pump's thread has panicked");
        }
    }

    async fn stop_servers(&mut self, farewell: Farewell) {
        self.farewell.send_replace(Some(farewell));
        self.staff.supervisors.close();
        self.staff.supervisors.wait().await;
        self.housekeeping.shutdown().await;
    }
}

/// The longest body of an HTTP request: what was asked for, or else what is usual.
fn body_limit(message: usize) -> usize {
    if message == Limits::default().message { HTTP_BODY } else { message }
}

/// One line for each server that missed the start deadline, so that nobody wonders.
async fn report_latecomers(context: &SessionContext) {
    if context.registry.settled(context.start_deadline).await {
        return;
    }
    for server in context.registry.servers().iter() {
        if !server.is_settled() {
            tracing::warn!(
                server = %server.key,
                "is still starting; its tools join the list when it is ready"
            );
        }
    }
}
