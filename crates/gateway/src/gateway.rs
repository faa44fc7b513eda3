//! `Gateway`: the servers of one config, running, and the fronts through which clients reach them.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use trunkline_catalog::config::ServerSpec;
use trunkline_catalog::name::Naming;
use trunkline_keeper::Keeper;

use crate::deadlines::Deadlines;
use crate::face::Face;
use crate::front;
use crate::limits::{Farewell, Limits, ONE_SERVER};
use crate::pump::Pump;
use crate::registry::Registry;
use crate::session::{Session, SessionContext};
use crate::upstream::{Inherited, Server, Status, Supervisor, supervise};

/// Everything a gateway is told from outside.
#[derive(Debug)]
pub struct Options {
    pub servers: Vec<ServerSpec>,
    pub naming: Naming,
    pub face: Face,
    pub limits: Limits,
    /// Start a failed server again.
    pub restart: bool,
    pub inherited: Inherited,
}

#[derive(Debug)]
pub struct Gateway {
    registry: Arc<Registry>,
    face: Face,
    limits: Limits,
    started: Instant,
    supervisors: JoinSet<()>,
    housekeeping: JoinSet<()>,
    farewell: watch::Sender<Option<Farewell>>,
    pump: Pump,
    pump_thread: JoinHandle<()>,
}

impl Gateway {
    /// Starts every server at once and returns without waiting for any.
    pub fn start(options: Options) -> io::Result<Self> {
        let keeper = Keeper::start()?;
        let (pump, pump_thread) = Pump::start()?;
        let wanted = options.servers.into_iter().filter(|spec| !spec.disabled);
        let servers: Vec<_> = wanted
            .enumerate()
            .map(|(index, spec)| {
                let secrets = Arc::new(spec.secrets);
                Arc::new(Server::new(index, &spec.key, spec.transport, secrets))
            })
            .collect();
        let registry = Arc::new(Registry::new(servers, options.naming));
        let farewell = watch::Sender::new(None);
        let deadlines = Arc::new(Deadlines::new(options.limits.call));
        let supervisor = Supervisor {
            keeper: keeper.clone(),
            pump: pump.clone(),
            registry: Arc::clone(&registry),
            inherited: Arc::new(options.inherited),
            limits: options.limits,
            deadlines: Arc::clone(&deadlines),
            restart: options.restart,
            farewell: farewell.subscribe(),
        };
        let mut supervisors = JoinSet::new();
        for server in registry.servers() {
            supervisors.spawn(supervise(Arc::clone(server), supervisor.clone()));
        }
        let mut housekeeping = JoinSet::new();
        let swept = Arc::clone(&registry);
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
        let (face, limits, started) = (options.face, options.limits, Instant::now());
        Ok(Self {
            registry,
            face,
            limits,
            started,
            supervisors,
            housekeeping,
            farewell,
            pump,
            pump_thread,
        })
    }

    /// Serves the client on standard input and output until it goes; then stops every server.
    pub async fn serve_stdio(mut self) -> io::Result<()> {
        let context = Arc::new(SessionContext {
            registry: Arc::clone(&self.registry),
            face: self.face.clone(),
            start_deadline: self.started + self.limits.start,
            tasks: TaskTracker::new(),
            runtime: Handle::current(),
        });
        let session = Session::new(Arc::clone(&context));
        let latecomers = Arc::clone(&context);
        context.tasks.spawn(async move { report_latecomers(&latecomers).await });
        let message_limit = self.limits.message;
        let pump = self.pump.clone();
        let stop = async |farewell| self.stop_servers(farewell).await;
        let served = front::serve(session, message_limit, &pump, stop).await;
        self.end();
        served
    }

    /// Waits until every server is running or has failed, at most until the start deadline.
    pub async fn settled(&self) {
        self.registry.settled(self.started + self.limits.start).await;
    }

    /// What is known about each server now, in the order of the config.
    pub fn statuses(&self) -> Vec<(String, Status)> {
        let servers = self.registry.servers().iter();
        servers.map(|server| (server.key.to_string(), server.status())).collect()
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
        while self.supervisors.join_next().await.is_some() {}
        self.housekeeping.shutdown().await;
    }
}

/// One line for each server that missed the start deadline, so that nobody wonders.
async fn report_latecomers(context: &SessionContext) {
    if context.registry.settled(context.start_deadline).await {
        return;
    }
    for server in context.registry.servers() {
        if !server.status().state.is_settled() {
            tracing::warn!(
                server = %server.key,
                "is still starting; its tools join the list when it is ready"
            );
        }
    }
}
