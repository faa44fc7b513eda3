//! What is started for a contender: its label, its command lines and its configuration file.

use super::contender::{Door, Guards, Kind};
use super::peers::{CONFIG, ENVIRONMENT, PORT};
use super::target::{Place, Program, Shape};
use crate::era::Era;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// What the children are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offer {
    pub(super) shape: Shape,
    pub(super) era: Era,
}

pub(super) fn label(place: &Place, kind: &Kind) -> String {
    match kind {
        Kind::Direct => "direct".to_owned(),
        Kind::Floor => "floor".to_owned(),
        Kind::Subject => {
            place.subject.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
        }
        Kind::Before => "before".to_owned(),
        Kind::Shared => format!("{}, shared runtime", label(place, &Kind::Subject)),
        Kind::Platform(door) => {
            let way = if *door == Door::Mcp { "MCP" } else { "REST" };
            format!("{}, platform, {way} with a key", label(place, &Kind::Subject))
        }
        Kind::Guarded(guards) => {
            let way = if *guards == Guards::On { "on" } else { "off" };
            format!("{}, guards {way}", label(place, &Kind::Subject))
        }
        Kind::Threads(1) => format!("{}, 1 thread", label(place, &Kind::Subject)),
        Kind::Threads(count) => format!("{}, {count} threads", label(place, &Kind::Subject)),
        Kind::Peer(peer) => peer.name.clone(),
    }
}

/// Who may do everything on a platform of the benchmark.
pub(super) const ADMIN: &str = "the-admin-token-of-the-benchmark";

/// `serve` with a fresh data directory that may use servers on this machine; its servers are those of `config`, or
/// none yet.
pub(super) fn platform(place: &Place, config: Option<&Path>) -> Command {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut command = place.subject.command();
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]);
    command.arg(place.directory.join(format!("data-{number}")));
    command.args(["--allow-net", "127.0.0.0/8", "--allow-stdio-registration"]);
    command.args(config.into_iter().flat_map(|path| [OsStr::new("--config"), path.as_os_str()]));
    command.env("TRUNKLINE_ADMIN_TOKEN", ADMIN).env_remove("TRUNKLINE_KEY");
    command.env_remove("MCP_PROXY_CONFIG_PATH");
    command
}

pub(super) fn commands(place: &Place, kind: &Kind, offer: Offer) -> Result<Vec<Command>, String> {
    let with_config = |mut command: Command| -> Result<Command, String> {
        command.arg("--config").arg(config(place, offer, &[])?);
        command.env("TRUNKLINE_SHARED", "off"); // one process for one client
        Ok(command)
    };
    Ok(match kind {
        Kind::Direct => {
            (0..offer.shape.servers).map(|server| direct(place, server, offer)).collect()
        }
        Kind::Floor => vec![with_config(Command::new(&place.floor))?],
        Kind::Subject => vec![with_config(place.subject.command())?],
        Kind::Before => vec![with_config(before(place)?.command())?],
        Kind::Shared => {
            let mut front = with_config(place.subject.command())?;
            // A runtime of its own, which ends with the front.
            front.env("TRUNKLINE_SHARED", "on").env("TRUNKLINE_LINGER", "0");
            front.env("XDG_RUNTIME_DIR", &place.directory);
            vec![front]
        }
        Kind::Platform(_) => return Err("a platform has no stdio".to_owned()),
        Kind::Guarded(_) => return Err("guards are measured over HTTP".to_owned()),
        Kind::Threads(_) => return Err("threads are measured over HTTP".to_owned()),
        Kind::Peer(peer) => {
            vec![peer_command(&peer.program, peer.args, &config(place, offer, &[])?, 0)]
        }
    })
}

fn before(place: &Place) -> Result<&Program, String> {
    place.before.as_ref().ok_or_else(|| "no other build was named".to_owned())
}

/// A middle behind HTTP; its servers are over HTTP at `ports`, or over stdio if there are none. A peer listens at
/// `port`, the others choose.
pub(super) fn serve(
    place: &Place,
    kind: &Kind,
    offer: Offer,
    ports: &[u16],
    port: u16,
) -> Result<Command, String> {
    let config = config(place, offer, ports)?;
    let mut command = match kind {
        Kind::Direct => return Err("nobody to start".to_owned()),
        Kind::Shared => return Err("a shared runtime has no HTTP".to_owned()),
        Kind::Floor => Command::new(&place.floor),
        Kind::Subject | Kind::Threads(_) => Command::new(&place.subject.path),
        Kind::Before => Command::new(&before(place)?.path),
        Kind::Platform(_) => return Ok(platform(place, Some(&config))),
        Kind::Guarded(guards) => return guarded(place, *guards, offer, ports),
        Kind::Peer(peer) => return Ok(peer_command(&peer.program, peer.http_args, &config, port)),
    };
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(config);
    if let Kind::Threads(count) = kind {
        command.arg("--threads").arg(count.to_string());
    }
    Ok(command)
}

/// The subject with guards or without. Nothing is remembered: its servers are started and listed.
fn guarded(place: &Place, guards: Guards, offer: Offer, ports: &[u16]) -> Result<Command, String> {
    let plain = config(place, offer, ports)?;
    let text = fs::read(&plain).map_err(|error| format!("{}: {error}", plain.display()))?;
    let mut file: Value = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    let (word, settings) = match guards {
        Guards::Off => ("off", json!({ "scan": "off", "sandbox": "off" })),
        Guards::On => ("on", guards_on()),
    };
    for (key, value) in settings.as_object().into_iter().flatten() {
        file[key] = value.clone();
    }
    if guards == Guards::On {
        for entry in file["mcpServers"].as_object_mut().into_iter().flat_map(|it| it.values_mut()) {
            entry["limits"] =
                json!({ "openCalls": HARDLY_EVER, "tools": { "*": { "openCalls": HARDLY_EVER } } });
        }
    }
    let path = plain.with_extension(format!("guards-{word}.json"));
    fs::write(&path, file.to_string()).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut command = Command::new(&place.subject.path);
    command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(path);
    command.env("TRUNKLINE_CACHE", "off");
    match guards {
        Guards::Off => command.env("TRUNKLINE_PINS", "off"),
        Guards::On => command.env("TRUNKLINE_PINS", place.directory.join("pins")),
    };
    if guards == Guards::On {
        command.arg("--policies").arg(&place.policies);
    }
    Ok(command)
}

/// A limit that is counted and never reached.
const HARDLY_EVER: u32 = 100_000;

fn guards_on() -> Value {
    let limits = json!({
        "callsPerSecond": HARDLY_EVER,
        "burst": HARDLY_EVER,
        "openCalls": HARDLY_EVER,
        "resultBytesPerMinute": 4_000_000_000_u32,
    });
    json!({
        "onChange": "hold",
        "scan": "hold",
        "sandbox": "standard",
        "limits": { "perCaller": limits, "perAddress": limits },
    })
}

/// A child over HTTP.
pub(super) fn over_http(place: &Place, server: usize, offer: Offer) -> Command {
    let mut command = direct(place, server, offer);
    command.args(["--http", "127.0.0.1:0"]);
    command
}

fn peer_command(program: &Path, args: &[&str], config: &Path, port: u16) -> Command {
    let (config, port) = (config.to_string_lossy(), port.to_string());
    let mut command = Command::new(program);
    command.args(args.iter().map(|&arg| match arg {
        CONFIG => &config,
        PORT => port.as_str(),
        other => other,
    }));
    command.envs(ENVIRONMENT.iter().copied());
    command
}

fn direct(place: &Place, server: usize, offer: Offer) -> Command {
    let mut command = Command::new(&place.child);
    command.args(child_args(server, offer));
    command
}

pub(super) fn child_args(server: usize, offer: Offer) -> Vec<String> {
    let (name, tools) = (format!("s{server}"), offer.shape.tools.to_string());
    let mut args = vec!["--name".to_owned(), name, "--tools".to_owned(), tools];
    if offer.era == Era::Modern {
        args.push("--modern".to_owned());
    }
    args
}

/// Writes the `mcpServers` file: children over HTTP at `ports`, or over stdio if there are none.
fn config(place: &Place, offer: Offer, ports: &[u16]) -> Result<PathBuf, String> {
    let entry = |server: usize| match ports.get(server) {
        Some(port) => json!({"type": "http", "url": format!("http://127.0.0.1:{port}/mcp")}),
        None => json!({"command": place.child, "args": child_args(server, offer)}),
    };
    let Offer { shape, era } = offer;
    let servers: serde_json::Map<_, _> =
        (0..shape.servers).map(|server| (format!("s{server}"), entry(server))).collect();
    let first = ports.first().copied().unwrap_or(0);
    let name = format!("{}x{}-{}-{first}.json", shape.servers, shape.tools, era.label());
    let path = place.directory.join(name);
    let text = json!({ "mcpServers": servers }).to_string();
    // Somebody may watch the file: what is right already is left alone.
    if fs::read_to_string(&path).is_ok_and(|written| written == text) {
        return Ok(path);
    }
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}
