//! `trunkline list` and `trunkline path`: looks at the config without starting anything.

use serde_json::{Value, json};
use trunkline_catalog::config::masked;

use super::failure::ChangeFailure;
use super::planned::TargetConfig;
use crate::cli::{ConfigPath, List};
use crate::client::{columns, counted, line};
use crate::environment::Environment;
use crate::own_config::{self, History};
use crate::{OK, console, settings};

pub(crate) fn list(asked: &List, environment: &Environment) -> u8 {
    run(asked, environment).unwrap_or_else(|failure| failure.tell(environment))
}

fn run(asked: &List, environment: &Environment) -> Result<u8, ChangeFailure> {
    let target = TargetConfig::new(&asked.at, environment)?;
    let servers = target.servers()?.all();
    let path = target.path.display().to_string();
    if asked.at.json {
        let shown: Vec<Value> = servers.iter().map(|(name, entry)| shown(name, entry)).collect();
        return Ok(console::out(&format!("{}\n", json!({ "config": path, "servers": shown }))));
    }
    if servers.is_empty() {
        let words = format!("no servers in {path}: `trunkline add NAME -- COMMAND` adds one\n");
        return Ok(console::problem(&words, OK));
    }
    let head = ["SERVER", "STATE", "TYPE", "RUNS"].map(str::to_owned);
    let rows = servers.iter().map(|(name, entry)| {
        let shown = shown(name, entry);
        let text = |key: &str| shown.get(key).and_then(Value::as_str).map(line).unwrap_or_default();
        let hidden = shown.get("hidden").and_then(Value::as_u64).unwrap_or_default();
        let off = match usize::try_from(hidden).unwrap_or(usize::MAX) {
            0 => String::new(),
            hidden => format!(" ({} off)", counted(hidden, "tool")),
        };
        [line(name), text("state"), text("type"), format!("{}{off}", text("runs"))]
    });
    let rows: Vec<[String; 4]> = std::iter::once(head).chain(rows).collect();
    Ok(console::out(&columns(&rows, "", console::width())))
}

/// What may be shown of a server: no value that may be a secret.
fn shown(name: &str, entry: &Value) -> Value {
    let flag = |key: &str| entry.get(key).and_then(Value::as_bool);
    let is_off = flag("disabled") == Some(true) || flag("enabled") == Some(false);
    let file = json!({ "mcpServers": { "s": entry } }).to_string();
    let safe: Value = serde_json::from_str(&masked(&file)).unwrap_or_default();
    let safe = safe.pointer("/mcpServers/s").cloned().unwrap_or_default();
    let text = |key: &str| safe.get(key).and_then(Value::as_str).map(str::to_owned);
    // A program's name is none; a whole command line in its place may hold one.
    let is_name = |program: &&str| !program.contains(['=', ' ']);
    let program = entry.get("command").and_then(Value::as_str).filter(is_name).map(str::to_owned);
    let address = ["url", "serverUrl", "httpUrl"].iter().find_map(|key| text(key));
    let runs = program.or_else(|| text("command")).map(|command| {
        let args = safe.get("args").and_then(Value::as_array).into_iter().flatten();
        let args = args.filter_map(Value::as_str).map(str::to_owned);
        std::iter::once(command).chain(args).collect::<Vec<_>>().join(" ")
    });
    let kind = match (&runs, text("type")) {
        (Some(_), _) => "stdio".to_owned(),
        (None, Some(kind)) => kind,
        (None, None) => "http or sse".to_owned(),
    };
    let hidden = entry.get("hiddenTools").and_then(Value::as_array).map_or(0, Vec::len);
    json!({
        "name": name,
        "state": if is_off { "disabled" } else { "enabled" },
        "type": kind,
        "runs": runs.or(address),
        "hidden": hidden,
    })
}

pub(crate) fn path(asked: &ConfigPath, environment: &Environment) -> u8 {
    let named = settings::given_config_path(None, environment);
    let path = match named {
        Ok(path) => path,
        Err(error) => match own_config::own_path(environment) {
            Some(path) => path,
            None => return ChangeFailure::Settings(error).tell(environment),
        },
    };
    if !asked.json {
        return console::out(&format!("{}\n", path.display()));
    }
    let changes = History::of(&path, environment).map_or(0, |history| history.all().len());
    let report = json!({ "config": path.display().to_string(), "exists": path.exists(), "changes": changes });
    console::out(&format!("{report}\n"))
}
