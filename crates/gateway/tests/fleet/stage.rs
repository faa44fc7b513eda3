//! A gateway with its servers, and what the scenes look at.

use std::collections::HashMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use trunkline_catalog::config::{CallRules, Secrets, ServerSpec, Transport};
use trunkline_catalog::name::Naming;
use trunkline_gateway::{
    CallEnded, Declared, Event, EventSink, Fleet, Gateway, GatewayInfo, Inherited, Limits, Options,
    Restart, RunPolicy, ToolCall,
};

use crate::server;

/// Only reached when something is wrong.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Stage {
    pub(crate) fleet: Fleet,
    place: PathBuf,
    events: Mutex<mpsc::Receiver<Event>>,
}

impl Stage {
    /// A scene with these servers, which are running when it begins.
    pub(crate) fn run(keys: &[&str], scene: impl AsyncFnOnce(&Self)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let number = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            let name = format!("fleet-{}-{}", std::process::id(), number.unwrap().as_nanos());
            let place = std::env::temp_dir().join(name);
            let (sink, events) = EventSink::new(65_536);
            let servers = keys.iter().map(|key| spec(key, &place)).collect();
            let gateway = Gateway::start(options(servers, sink)).unwrap();
            let stage = Self { fleet: gateway.fleet(), place, events: Mutex::new(events) };
            for key in keys {
                stage.wait("it runs", || stage.state(key) == "running").await;
            }
            timeout(LIMIT * 2, scene(&stage)).await.expect("the scene ends");
            gateway.stop().await;
            std::fs::remove_dir_all(&stage.place).unwrap();
        });
    }

    pub(crate) fn state(&self, key: &str) -> &'static str {
        self.fleet.server(key).map_or("none", |info| info.state.word())
    }

    pub(crate) async fn wait(&self, what: &str, is_so: impl Fn() -> bool) {
        let until = Instant::now() + LIMIT;
        while !is_so() {
            assert!(Instant::now() < until, "not so in time: {what}; {:?}", self.fleet.servers());
            sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) fn ledger(&self, key: &str) -> String {
        server::read(&self.place.join(key))
    }

    pub(crate) fn kill(&self, key: &str) {
        let pid = self.fleet.server(key).unwrap().pid.unwrap();
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
    }

    pub(crate) fn open_gate(&self, key: &str) {
        std::fs::write(self.place.join(key).join("gate"), "").unwrap();
    }

    pub(crate) fn break_server(&self, key: &str) {
        std::fs::write(self.place.join(key).join("broken"), "").unwrap();
    }

    pub(crate) fn mend_server(&self, key: &str) {
        std::fs::remove_file(self.place.join(key).join("broken")).unwrap();
    }

    fn runs(&self, key: &str) -> HashMap<String, usize> {
        let mut runs = HashMap::new();
        for line in self.ledger(key).lines().filter(|line| line.starts_with("call ")) {
            *runs.entry(line.to_owned()).or_default() += 1;
        }
        runs
    }

    pub(crate) fn none_ran_twice(&self, key: &str) -> bool {
        self.runs(key).values().all(|count| *count == 1)
    }

    pub(crate) fn each_ran_once(&self, key: &str, calls: usize) {
        assert!(self.none_ran_twice(key), "{:?}", self.runs(key));
        assert_eq!(self.runs(key).len(), calls);
    }

    /// The calls that have ended so far, at least so many.
    pub(crate) async fn ended(&self, count: usize) -> Vec<CallEnded> {
        let ended = Mutex::new(Vec::new());
        let enough = || {
            for event in self.news() {
                if let Event::CallEnded(call) = event {
                    ended.lock().push(call);
                }
            }
            ended.lock().len() >= count
        };
        self.wait("calls have ended", enough).await;
        ended.into_inner()
    }

    /// What has been told since it was last asked for.
    pub(crate) fn news(&self) -> Vec<Event> {
        let mut events = self.events.lock();
        std::iter::from_fn(|| events.try_recv().ok()).collect()
    }
}

fn spec(key: &str, place: &std::path::Path) -> ServerSpec {
    let own = place.join(key);
    std::fs::create_dir_all(&own).unwrap();
    let program = std::env::current_exe().unwrap();
    let calls = match key {
        "limited" => CallRules { max_concurrency: Some(2), ..CallRules::default() },
        "hasty" => CallRules { timeout: Some(Duration::from_secs(2)), ..CallRules::default() },
        _ => CallRules::default(),
    };
    ServerSpec {
        guarded: false,
        login: None,
        id: key.to_owned(),
        key: key.to_owned(),
        transport: Transport::Stdio {
            command: program.to_str().unwrap().to_owned(),
            args: vec!["server".to_owned(), own.to_str().unwrap().to_owned()],
            env: Vec::new(),
            cwd: None,
        },
        disabled: false,
        secrets: Secrets::new(),
        filter: Default::default(),
        share: Default::default(),
        era: Default::default(),
        calls,
        tool_limits: Vec::new(),
        run: Default::default(),
        texts: Default::default(),
        sandbox: None,
    }
}

fn options(servers: Vec<ServerSpec>, sink: EventSink) -> Options {
    Options {
        network: trunkline_gateway::Network::default(),
        servers,
        custom: Vec::new(),
        naming: Naming::canonical(":"),
        shown: trunkline_gateway::ShownTools {
            exposure: trunkline_catalog::Exposure::Full,
            preset: None,
            pins: None,
            grant: None,
        },
        info: GatewayInfo { name: "t".to_owned(), version: "1".to_owned(), simple: false },
        limits: Limits::default(),
        run: RunPolicy { restart: Restart::Always, ..RunPolicy::default() },
        caller_tells_failures: false,
        inherited: Inherited::default(),
        declared: Declared::everything(),
        events: Some(sink),
        traces: None,
        logins: None,
        listings: None,
    }
}

pub(crate) fn call(server: &str, tool: &str, arguments: &str) -> ToolCall {
    let arguments = arguments.as_bytes().to_vec();
    ToolCall { server: server.to_owned(), tool: tool.to_owned(), arguments, ..ToolCall::default() }
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Waits for all, which run beside each other.
pub(crate) async fn all<T>(futures: Vec<Pin<Box<impl Future<Output = T>>>>) -> Vec<T> {
    let mut futures: Vec<_> = futures.into_iter().map(Some).collect();
    let mut outcomes: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, outcome) in futures.iter_mut().zip(&mut outcomes) {
            if let Some(running) = future
                && let std::task::Poll::Ready(done) = running.as_mut().poll(context)
            {
                (*future, *outcome) = (None, Some(done));
            }
        }
        match futures.iter().all(Option::is_none) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    outcomes.into_iter().flatten().collect()
}
