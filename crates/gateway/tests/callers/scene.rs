//! One gateway for all tests, what they ask of it, and the running of them.

use std::ffi::OsString;
use std::net::{SocketAddr, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::thread;

use trunkline_catalog::Exposure;
use trunkline_catalog::config::{
    CallRules, CustomTool, Exposed, Secrets, ServerSpec, Share, Subtool, ToolFilter, Transport,
};
use trunkline_catalog::name::Naming;
use trunkline_gateway::{
    ConnectedClients, Declared, Embedder, Fleet, FrontNetwork, Gateway, GatewayInfo, HttpOptions,
    Inherited, Limits, Network, Options, Restart, RunPolicy, ShownTools,
};

use crate::keys::Keys;
use crate::server::WORD;
use crate::web::Pages;
use crate::wire::{Answer, Wire};

pub(crate) type Test = (&'static str, fn(&Scene));

pub(crate) struct Scene {
    pub(crate) address: SocketAddr,
    pub(crate) keys: Arc<Keys>,
    pub(crate) pages: Arc<Pages>,
}

/// A test with a gateway of its own, in a process of its own: that one has to be a program's only one.
/// It is run by the word.
pub(crate) type Apart = (&'static str, &'static str);

/// Runs the tests whose names hold one of these words, or all; `--list` names them. Whatever fails,
/// the others are run.
pub(crate) fn run(words: &[String], apart: &[Apart], tests: &[Test]) -> ExitCode {
    if words.iter().any(|word| word == "--list") {
        let names = apart.iter().map(|(name, _)| name).chain(tests.iter().map(|(name, _)| name));
        names.for_each(|name| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let wanted: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let is_wanted =
        |name: &str| wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str()));
    let mut failed = 0;
    let mut tell = |name: &str, passed: bool| {
        failed += u32::from(!passed);
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
    };
    for (name, word) in apart.iter().filter(|(name, _)| is_wanted(name)) {
        let program = std::env::current_exe().unwrap();
        tell(name, Command::new(program).arg(word).status().unwrap().success());
    }
    let scene = Scene::start();
    for (name, test) in tests.iter().filter(|(name, _)| is_wanted(name)) {
        tell(name, catch_unwind(AssertUnwindSafe(|| test(&scene))).is_ok());
    }
    println!("\ntest result: {failed} failed");
    // The servers end with this process.
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Scene {
    fn start() -> Self {
        Self::of(options(), |_| ())
    }

    /// Another gateway, which lists no tools but lets them be found; this one is asked where they
    /// point.
    pub(crate) fn searched(embedder: Arc<dyn Embedder>) -> Self {
        let exposure = Exposure::Search;
        Self::of(
            Options {
                shown: ShownTools { exposure, preset: None, pins: None, grant: None },
                ..options()
            },
            |fleet| {
                fleet.set_embedder(embedder);
            },
        )
    }

    fn of(options: Options, prepare: impl FnOnce(&Fleet) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (keys, pages) = (Arc::new(Keys::default()), Arc::new(Pages::default()));
        let front = HttpOptions {
            listener,
            token: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            network: FrontNetwork::default(),
            stay: true,
            gate: Some(Arc::clone(&keys) as _),
            attachment: Some(Arc::clone(&pages) as _),
            replicas: None,
            connected_clients: ConnectedClients::default(),
            signals: None,
        };
        thread::spawn(move || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().build().unwrap();
            let served = runtime.block_on(async {
                let gateway = Gateway::start(options)?;
                prepare(&gateway.fleet());
                gateway.serve_http(front).await
            });
            served.unwrap();
        });
        Self { address, keys, pages }
    }

    pub(crate) fn wire(&self) -> Wire {
        Wire::to(self.address)
    }

    /// A session of whoever has this key.
    pub(crate) fn session(&self, key: &str) -> Session {
        let mut wire = self.wire();
        let answer = wire.ask("POST /mcp", &fields(key), INITIALIZE);
        assert_eq!(answer.status, 200, "{answer:?}");
        let id = answer.header("Mcp-Session-Id").unwrap().to_owned();
        Session { wire, id, key: key.to_owned(), welcome: answer.body }
    }

    /// A request of the stateless era, on a connection of its own.
    pub(crate) fn stateless(&self, key: &str, method: &str, params: &str) -> Answer {
        let mut wire = self.wire();
        let (fields, body) = stateless(key, method, params);
        wire.ask("POST /mcp", &fields, &body)
    }
}

pub(crate) struct Session {
    pub(crate) wire: Wire,
    pub(crate) id: String,
    pub(crate) key: String,
    /// What `initialize` was answered.
    pub(crate) welcome: String,
}

impl Session {
    pub(crate) fn fields(&self) -> String {
        format!("{}Mcp-Session-Id: {}\r\n", fields(&self.key), self.id)
    }

    pub(crate) fn ask(&mut self, method: &str, params: &str) -> Answer {
        let fields = self.fields();
        self.wire.ask("POST /mcp", &fields, &request(method, params))
    }

    /// The body of an answer that is plain.
    pub(crate) fn said(&mut self, method: &str, params: &str) -> String {
        let answer = self.ask(method, params);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body
    }
}

pub(crate) fn fields(key: &str) -> String {
    format!(
        "Authorization: Bearer {key}\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\n"
    )
}

pub(crate) fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#)
}

/// The head and the body of a request that stands for itself; `params` without its braces.
pub(crate) fn stateless(key: &str, method: &str, params: &str) -> (String, String) {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
    let comma = if params.is_empty() { "" } else { "," };
    let body = request(method, &format!("{{{params}{comma}{meta}}}"));
    let name = params.split("\"name\":\"").nth(1).and_then(|rest| rest.split('"').next());
    let name = name.map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
    let fields = fields(key);
    (format!("{fields}MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}"), body)
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

fn options() -> Options {
    let rename = Exposed { original: "write".to_owned(), exposed: Some("put".to_owned()) };
    let plain = |name: &str| Exposed { original: name.to_owned(), exposed: None };
    let filter = ToolFilter {
        exposed: Some(vec![rename, plain("read"), plain("shout"), plain("wait")]),
        ..ToolFilter::default()
    };
    let subtool = |server: &str, tool: &str| Subtool {
        server: server.to_owned(),
        tool: tool.to_owned(),
        description: None,
    };
    let custom = CustomTool {
        name: "both".to_owned(),
        description: "reads".to_owned(),
        subtools: vec![subtool("alpha", "read"), subtool("beta", "read")],
        selection: None,
    };
    Options {
        servers: vec![spec("alpha", filter), spec("beta", ToolFilter::default())],
        custom: vec![custom],
        naming: Naming::default(),
        shown: ShownTools { exposure: Exposure::Full, preset: None, pins: None, grant: None },
        info: GatewayInfo { name: "t".to_owned(), version: "1".to_owned(), simple: false },
        limits: Limits::default(),
        run: RunPolicy { restart: Restart::Always, ..RunPolicy::default() },
        caller_tells_failures: false,
        inherited: Inherited::choose(Vec::<(OsString, OsString)>::new(), &[]),
        declared: Declared::everything(),
        network: Network::default(),
        events: None,
        traces: None,
        logins: None,
        listings: None,
    }
}

fn spec(key: &str, filter: ToolFilter) -> ServerSpec {
    let program = std::env::current_exe().unwrap();
    let transport = Transport::Stdio {
        command: program.to_str().unwrap().to_owned(),
        args: vec![WORD.to_owned(), key.to_owned()],
        env: Vec::new(),
        cwd: None,
    };
    let (key, secrets) = (key.to_owned(), Secrets::new());
    ServerSpec {
        id: key.clone(),
        key,
        transport,
        disabled: false,
        secrets,
        filter,
        share: Share::Shared,
        era: Default::default(),
        guarded: false,
        login: None,
        calls: CallRules::default(),
        tool_limits: Vec::new(),
        run: Default::default(),
        texts: Default::default(),
        sandbox: None,
    }
}
