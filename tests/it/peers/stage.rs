//! Where the clients play: server-everything in its three modes, and a gateway before each of them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use kit::client::Client;
use kit::room::{MARK, Room};
use kit::serve::Serve;
use kit::{LIMIT, bin, port, yardstick};
use serde_json::{Value, json};

/// The modes of server-everything, and what a config calls them.
pub(super) const UPSTREAMS: [&str; 3] = ["stdio", "sse", "http"];

/// The fronts of Trunkline.
pub(super) const FRONTS: [&str; 3] = ["http", "sse", "stdio"];

/// Which era a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    Legacy,
    Modern,
}

impl Era {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }

    /// The transport of `/sse` ended before the stateless era began.
    fn has(self, front: &str) -> bool {
        self == Self::Legacy || front != "sse"
    }
}

/// The server's key in every config.
const KEY: &str = "everything";

/// Dropping it ends everything that plays on it.
pub(super) struct Stage {
    /// One for each upstream, in their order, with its `mcp.json`.
    rooms: Vec<Room>,
    gateways: Vec<Serve>,
    _servers: Servers,
}

/// The modes that listen.
pub(super) struct Servers {
    _processes: [Client; 2],
    sse: String,
    http: String,
}

impl Stage {
    #[track_caller]
    pub(super) fn set() -> Self {
        let servers = Servers::start();
        let rooms: Vec<Room> = UPSTREAMS.iter().map(|upstream| room(&servers, upstream)).collect();
        let gateways: Vec<Serve> = rooms.iter().map(|room| room.serve(&["--debug"])).collect();
        // This server asks for roots of its own accord when it is up. On a pipe nothing says that no
        // call has caused it: it is to be over before there are any.
        gateways[0].process().wait_stderr(&["request roots"], LIMIT);
        Self { rooms, gateways, _servers: servers }
    }

    /// Every front of this era before every upstream. The deep ones are a third of them, in which
    /// each front and each upstream has its turn. In the stateless era every second client asks for
    /// the era, and the others take it for granted.
    pub(super) fn targets(&self, era: Era) -> Vec<Value> {
        let upstreams = UPSTREAMS.iter().zip(&self.rooms).zip(&self.gateways).enumerate();
        let targets = upstreams.flat_map(|(at, ((upstream, room), gateway))| {
            let fronts = FRONTS.iter().enumerate().filter(move |(_, front)| era.has(front));
            fronts.map(move |(turn, front)| {
                let mut target = through(front, room, gateway);
                target["name"] = format!("{front}-before-{upstream}").into();
                target["deep"] = (at == turn).into();
                target["era"] = era.word().into();
                target["asks"] = (era == Era::Modern && (at + turn) % 2 == 0).into();
                target
            })
        });
        targets.collect()
    }
}

/// What the scripts have for one of their steps, on a machine that does nothing else.
const PATIENCE: Duration = Duration::from_secs(60);

/// Lets a script of `tests/peers` visit these targets; the result is its report.
#[track_caller]
pub(super) fn play(program: &Path, script: &str, targets: &[Value]) -> Value {
    play_with(program, script, targets, &[])
}

/// [`play`] with these variables.
#[track_caller]
pub(super) fn play_with(
    program: &Path,
    script: &str,
    targets: &[Value],
    variables: &[(&str, &Path)],
) -> Value {
    let home = Room::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(script);
    let mut command = Command::new(program);
    command.arg(&script).arg(json!(targets).to_string());
    command.env("PEERS", place()).env("HOME", home.path("")).env(MARK, home.marker());
    command.env("PYTHONDONTWRITEBYTECODE", "1").envs(variables.iter().copied());
    let lately = Instant::now().checked_sub(Duration::from_secs(10)).unwrap_or_else(Instant::now);
    let patience = yardstick::allowed(PATIENCE, yardstick::slowed_since(lately));
    command.env("PATIENCE", patience.as_secs().to_string());
    // The scripts limit each of their steps, so this ends.
    let end = command.output().expect("the client can be started");
    let (said, cried) = (&end.stdout, String::from_utf8_lossy(&end.stderr));
    serde_json::from_slice(said).unwrap_or_else(|error| {
        panic!("{}: {error}: {}\n{cried}", script.display(), String::from_utf8_lossy(said))
    })
}

fn room(servers: &Servers, upstream: &str) -> Room {
    let room = Room::new();
    let entry = match upstream {
        "stdio" => {
            let env = json!({ MARK: room.marker() });
            json!({ "command": node(), "args": [everything()], "env": env })
        }
        "sse" => json!({ "type": "sse", "url": servers.sse }),
        _ => json!({ "type": "http", "url": servers.http }),
    };
    room.config([(KEY, entry)]);
    room
}

fn through(front: &str, room: &Room, gateway: &Serve) -> Value {
    let address = gateway.address();
    match front {
        "http" => json!({ "front": front, "url": format!("http://{address}/mcp"),
                          "prefix": format!("{KEY}.") }),
        "sse" => json!({ "front": front, "url": format!("http://{address}/sse"),
                         "prefix": format!("{KEY}.") }),
        // A Node that starts is waited for: on a busy machine it needs more than the usual five seconds.
        _ => json!({ "front": front, "command": bin::trunkline(),
                     "args": ["--config", room.path("mcp.json"), "--start-timeout", "300", "--no-shared"],
                     "prefix": format!("{KEY}:") }),
    }
}

impl Servers {
    #[track_caller]
    pub(super) fn start() -> Self {
        let (sse, http) = (port::free(), port::free());
        let _processes = [listening("sse", sse), listening("streamableHttp", http)];
        Self {
            _processes,
            sse: format!("http://127.0.0.1:{sse}/sse"),
            http: format!("http://127.0.0.1:{http}/mcp"),
        }
    }

    /// The servers themselves.
    pub(super) fn targets(&self) -> Vec<Value> {
        vec![
            json!({ "name": "sse", "front": "sse", "url": self.sse, "prefix": "",
                    "era": "legacy", "asks": false }),
            json!({ "name": "http", "front": "http", "url": self.http, "prefix": "",
                    "era": "legacy", "asks": false }),
            direct(),
        ]
    }
}

/// server-everything with nothing in between, as one client's own process.
pub(super) fn direct() -> Value {
    json!({ "name": "direct", "front": "stdio", "command": node(), "args": [everything()],
            "prefix": "", "deep": false, "era": "legacy", "asks": false })
}

#[track_caller]
fn listening(mode: &str, port: u16) -> Client {
    let mut command = Command::new(node());
    command.arg(everything()).arg(mode).env("PORT", port.to_string());
    let server = Client::spawn(command);
    server.wait_stderr(&[&format!("on port {port}")], LIMIT);
    server
}

/// The Node that was installed for the clients.
pub(super) fn node() -> PathBuf {
    installed("node_modules/.bin/node")
}

pub(crate) fn python() -> PathBuf {
    installed("venv/bin/python")
}

pub(super) fn everything() -> PathBuf {
    installed("node_modules/@modelcontextprotocol/server-everything/dist/index.js")
}

pub(crate) fn installed(name: &str) -> PathBuf {
    let path = place().join(name);
    let shown = path.display();
    assert!(path.exists(), "{shown} is missing: run `cargo xtask peers`, which installs it");
    path
}

/// Without links: the Inspector does nothing, and says nothing, where its own path has one.
fn place() -> PathBuf {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/peers");
    place.canonicalize().unwrap_or(place)
}
