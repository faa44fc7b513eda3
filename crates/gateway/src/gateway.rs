//! `Gateway`: the servers of one config, running, and the fronts through which clients reach them.

use std::io;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::TaskTracker;
use trunkline_catalog::Exposure;
use trunkline_catalog::config::{CustomTool, SandboxProfile, SandboxRules, ServerSpec};
use trunkline_catalog::name::Naming;

use trunkline_keeper::{Keeper, raise_open_files, support};
use trunkline_wire::{Edits, encode};

use crate::call::{Audience, Level, Observers};
use crate::deadlines::Deadlines;
use crate::events::EventSink;
use crate::fleet::Fleet;
use crate::front::{self, http::HttpOptions, socket::SocketOrder};
use crate::gate::Grant;
use crate::gateway_info::GatewayInfo;
use crate::known_listings::KnownListings;
use crate::limiter::Limiter;
use crate::limits::{FIRST_WORD, LAST_GRANT, LAST_RECORD, Limits, ONE_SERVER, ShutdownGrace};
use crate::local::LocalClient;
use crate::login::Logins;
use crate::network::Network;
use crate::pins::PinHome;
use crate::pump::{FlushSet, PumpThreads, Pumps};
use crate::registry::{Registry, View, Views};
use crate::result_scan::ResultScanner;
use crate::scanner::{self, ServerFindings};
use crate::session::{Session, SessionContext};
use crate::traces::Traces;
use crate::upstream::{
    Declared, Inherited, Restart, RunPolicy, Services, StartGate, Status, Supervisor, passed_on,
};

/// Everything a gateway is told from outside.
#[derive(Debug)]
pub struct Options {
    pub servers: Vec<ServerSpec>,
    pub custom: Vec<CustomTool>,
    pub naming: Naming,
    pub shown: ShownTools,
    pub info: GatewayInfo,
    pub limits: Limits,
    /// How servers are run, where their entries do not say it.
    pub run: RunPolicy,
    /// The caller reports why servers failed: the log does not repeat it on stderr.
    pub caller_tells_failures: bool,
    pub inherited: Inherited,
    /// The client capabilities that servers are told.
    pub declared: Declared,
    /// How servers with an address are reached.
    pub network: Network,
    /// Receives events.
    pub events: Option<EventSink>,
    /// Receives traces.
    pub traces: Option<Arc<dyn Traces>>,
    /// Gives the logins of servers.
    pub logins: Option<Arc<dyn Logins>>,
    /// Remembers what servers offer, for clients that ask before the servers have started.
    pub listings: Option<KnownListings>,
}

/// What clients are shown of the servers' tools.
#[derive(Clone, Debug)]
pub struct ShownTools {
    /// How many of them the lists show.
    pub exposure: Exposure,
    /// The preset of the config that chooses among servers and tools.
    pub preset: Option<String>,
    /// Keeps what was approved of their definitions; `None`: nothing is pinned.
    pub pins: Option<Arc<dyn PinHome>>,
    /// What clients may see and use of which nobody asks who they are; `None`: everything.
    pub grant: Option<Arc<dyn Grant>>,
}

#[derive(Debug)]
pub struct Gateway {
    fleet: Fleet,
    info: GatewayInfo,
    limits: Limits,
    started: Instant,
    housekeeping: JoinSet<()>,
    shutdown: watch::Sender<Option<ShutdownGrace>>,
    logins: Option<Arc<dyn Logins>>,
    pumps: Pumps,
    threads: PumpThreads,
}

/// Says once what this kernel cannot hold, if a server is to be walled in.
fn warn_of_weak_walls(options: &Options) {
    let is_on = |rules: &SandboxRules| rules.profile != SandboxProfile::Off;
    let own = options.servers.iter().any(|server| server.sandbox.as_ref().is_some_and(is_on));
    if (own || options.inherited.sandbox.default != SandboxProfile::Off)
        && let Some(gap) = support().gap()
    {
        tracing::warn!("servers are walled in as far as this machine can: {gap}");
    }
}

impl Gateway {
    /// Starts every server at once and returns without waiting for any.
    pub fn start(options: Options) -> io::Result<Self> {
        warn_of_weak_walls(&options);
        let keeper = Keeper::start()?;
        // After the keeper: it passes the limits of now on to servers.
        raise_open_files();
        let (pumps, threads) = Pumps::start(options.limits.threads)?;
        let registry = Arc::new(Registry::new(Arc::new(Audience::default())));
        let farewell = watch::Sender::new(None);
        let deadlines = Arc::new(Deadlines::new(options.limits.call));
        let supervisor = Supervisor {
            network: Arc::new(options.network),
            keeper: keeper.clone(),
            pumps: pumps.clone(),
            offers: Arc::clone(&registry.offers),
            parking: Arc::clone(&registry.parking),
            instance: Arc::clone(&registry.instance),
            inherited: Arc::new(options.inherited),
            limits: options.limits,
            deadlines: Arc::clone(&deadlines),
            declared: options.declared,
            restart: options.run.restart,
            starts: StartGate::new(),
            caller_tells_failures: options.caller_tells_failures,
            simple: options.info.simple,
            shutdown: farewell.subscribe(),
        };
        let limiter = Arc::new(Limiter::default());
        limiter.set(options.limits.shared);
        limiter.set_platform_default(options.limits.platform);
        let (results, scanning) = ResultScanner::new(options.events.clone());
        let provisions = Services {
            limiter,
            results: Some(results),
            observers: Observers::new(options.events, options.traces),
            logins: options.logins.clone(),
            declared: supervisor.declared.clone(),
            listings: options.listings,
            pins: options.shown.pins.clone(),
            waits_for_restart: options.run.restart == Restart::Always,
            patience: options.limits.start,
            run: options.run,
            call: options.limits.call,
            ..Services::default()
        };
        let bell = Arc::clone(&provisions.bell);
        let ShownTools { exposure, preset, grant, .. } = options.shown;
        let any = View::new(Arc::clone(&registry), options.naming).exposing(exposure);
        let any = any.preset(preset.map(Arc::from)).granted(grant);
        let fleet = Fleet::new(registry, supervisor, provisions, &options.info, Views::new(any));
        fleet.apply(options.servers, options.custom);
        let mut housekeeping = JoinSet::new();
        // Whoever starts servers for one command looks at their texts itself, or not at all.
        if !options.info.simple && options.run.restart != Restart::OneShot {
            let latest = fleet.findings.clone();
            housekeeping.spawn(scanner::follow(Arc::clone(&fleet.registry), latest));
        }
        housekeeping.spawn(scanning);
        let swept = Arc::clone(&fleet.registry);
        housekeeping.spawn(async move { swept.sweep_waiting(&bell).await });
        let swept = Arc::clone(&fleet.registry);
        housekeeping.spawn(async move {
            if let Err(error) = deadlines.run(|now| swept.expire_calls(now)).await {
                tracing::error!(%error, "call timeouts are off: the timer could not be started");
            }
        });
        housekeeping.spawn(async move {
            if let Err(error) = keeper.reap().await {
                tracing::warn!(%error, "ended processes are not being collected");
            }
        });
        Ok(Self {
            fleet,
            info: options.info,
            limits: options.limits,
            started: Instant::now(),
            housekeeping,
            shutdown: farewell,
            logins: options.logins,
            pumps,
            threads,
        })
    }

    /// The servers, to be looked at, changed and called while it serves.
    pub fn fleet(&self) -> Fleet {
        self.fleet.clone()
    }

    /// Serves the client on standard input and output until it goes; then stops every server.
    pub async fn serve_stdio(mut self) -> io::Result<()> {
        self.fleet.registry.audience.make_exclusive();
        let context = self.context(true);
        let session = Session::new(Arc::clone(&context));
        let latecomers = Arc::clone(&context);
        context.tasks.spawn(async move {
            report_first_start(&latecomers).await;
            report_latecomers(&latecomers).await;
        });
        let message_limit = self.limits.message;
        let pumps = self.pumps.clone();
        let stop = async |farewell| self.stop_servers(farewell).await;
        let served = front::stdio::serve(session, message_limit, &pumps, stop).await;
        self.end().and(served)
    }

    /// Serves clients over HTTP until a signal comes; then stops every server.
    pub async fn serve_http(mut self, options: HttpOptions) -> io::Result<()> {
        let context = self.context(false);
        let latecomers = Arc::clone(&context);
        self.housekeeping.spawn(async move { report_latecomers(&latecomers).await });
        let message_limit = self.limits.body;
        let pumps = self.pumps.clone();
        let stop = async |farewell| self.stop_servers(farewell).await;
        let served = front::http::serve(options, context, message_limit, &pumps, stop).await;
        self.end().and(served)
    }

    /// Serves the clients that are attached over sockets until it is told to end or a signal comes; then
    /// stops every server.
    pub async fn serve_sockets(mut self, orders: mpsc::Receiver<SocketOrder>) -> io::Result<()> {
        let context = self.context(false);
        let latecomers = Arc::clone(&context);
        self.housekeeping.spawn(async move {
            report_first_start(&latecomers).await;
            report_latecomers(&latecomers).await;
        });
        let message_limit = self.limits.message;
        let pumps = self.pumps.clone();
        let stop = async |farewell| self.stop_servers(farewell).await;
        let served = front::socket::serve(orders, context, message_limit, &pumps, stop).await;
        self.end().and(served)
    }

    /// A client inside this process. `capabilities`: what it can do, as in `initialize`.
    pub fn local(&self, capabilities: &[u8]) -> LocalClient {
        self.fleet.registry.audience.make_exclusive();
        self.fleet.supervisor.declared.settle(capabilities);
        let session = Session::new(self.context(true));
        session.client.declares(capabilities);
        let info = [
            br#"{"name":"#,
            &encode(&self.info.name)[..],
            br#","version":"#,
            &encode(&self.info.version),
            b"}",
        ];
        session.client.introduces_itself(&info.concat(), &passed_on(capabilities));
        session.join();
        LocalClient::new(session)
    }

    /// The tools that servers list and clients cannot call, as `SERVER:TOOL` with the servers' own names.
    pub fn switched_off(&self) -> Vec<String> {
        self.fleet.views.of(None).switched_off()
    }

    /// What is found in the texts of the servers as they are now. Takes its time.
    pub fn scan(&self) -> Vec<ServerFindings> {
        scanner::scan(&self.fleet.registry)
    }

    fn context(&self, exclusive: bool) -> Arc<SessionContext> {
        let observers = self.fleet.services.observers.as_ref();
        Arc::new(SessionContext {
            registry: Arc::clone(&self.fleet.registry),
            view: self.fleet.views.of(None),
            views: Arc::clone(&self.fleet.views),
            gateway_info: self.info.clone(),
            start_deadline: self.started + self.limits.start,
            tasks: TaskTracker::new(),
            runtime: Handle::current(),
            declared: self.fleet.supervisor.declared.clone(),
            supervisor: self.fleet.supervisor.clone(),
            exclusive,
            private: false,
            traced: observers.is_some_and(|watch| watch.traces.is_some()),
            events: observers.and_then(|watch| watch.events.clone()),
            limiter: Arc::clone(&self.fleet.services.limiter),
            call_keys: Arc::default(),
        })
    }

    /// Waits until every server is running or has failed, at most until the start deadline.
    pub async fn settled(&self) {
        self.fleet.registry.settled(self.started + self.limits.start).await;
    }

    /// What is known about each server now, in the order of the config.
    pub fn statuses(&self) -> Vec<(String, Status)> {
        let servers = self.fleet.registry.servers();
        servers.iter().map(|server| (server.key.to_string(), server.status())).collect()
    }

    /// How many tools of each server clients see now, in the order of the config.
    pub fn exposed(&self) -> Vec<usize> {
        let snapshot = self.fleet.views.of(None).snapshot();
        let servers = self.fleet.registry.servers();
        (0..servers.len()).map(|place| snapshot.catalog.tools_of(place)).collect()
    }

    /// Stops every server and waits until nothing of them is left.
    pub async fn stop(mut self) {
        self.stop_servers(ONE_SERVER).await;
        if let Err(error) = self.end() {
            tracing::error!(%error, "the shutdown did not complete cleanly");
        }
    }

    /// Stops the pumps. An error if one had stopped by itself before.
    fn end(self) -> io::Result<()> {
        // Last of all: answers and errors of the shutdown are written by it.
        self.pumps.stop();
        self.threads.join()
    }

    async fn stop_servers(&mut self, farewell: ShutdownGrace) {
        self.shutdown.send_replace(Some(farewell));
        // A tracker that is not closed could still grow: waiting for it would never end.
        self.fleet.supervisors.close();
        self.fleet.supervisors.wait().await;
        // Behind the servers: until they are gone, their calls have deadlines and their processes
        // are collected.
        self.housekeeping.shutdown().await;
        if let Some(listings) = &self.fleet.services.listings {
            // Elapsed: a slow disk; the servers are asked anew.
            drop(timeout(LAST_RECORD, listings.written()).await);
        }
        if let Some(logins) = &self.logins {
            // Elapsed: the issuer takes too long; the next login grants anew.
            drop(timeout(LAST_GRANT, logins.close()).await);
        }
    }
}

/// Says what the first list of tools waits for, where that takes a while: servers that were never seen before.
async fn report_first_start(context: &SessionContext) {
    sleep(FIRST_WORD).await;
    let servers = context.registry.servers();
    let unknown: Vec<_> = servers.iter().filter(|server| !server.is_listed()).collect();
    if unknown.is_empty() || context.gateway_info.simple {
        return;
    }
    let names: Vec<_> = unknown.iter().map(|server| server.key.to_string()).collect();
    let left = context.start_deadline.saturating_duration_since(Instant::now()).as_secs_f64();
    let words = format!(
        "waiting for {} of {} servers to start: {}; the first list of tools waits for them up to \
         {left:.0} s more, the next start will not",
        unknown.len(),
        servers.len(),
        names.join(", "),
    );
    tracing::warn!("{words}");
    tell_loggers(context, &words);
}

/// Tells it to the clients that have asked for logs; others may not expect any.
fn tell_loggers(context: &SessionContext, words: &str) {
    let notice = Level::known("notice");
    let message = [
        br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"notice","logger":"#,
        &encode(&context.gateway_info.name)[..],
        br#","data":"#,
        &encode(words),
        b"}}",
    ]
    .concat();
    let mut touched = FlushSet::default();
    for client in context.registry.audience.all() {
        if client.level().is_some() && client.hears(notice) {
            client.say(&message, &Edits::new(), &mut touched);
        }
    }
    touched.flush();
}

/// Logs each server that missed the start deadline.
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
