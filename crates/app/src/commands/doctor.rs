//! `trunkline doctor`: examines clients, config, servers, port and data directory once.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;
use trunkline_catalog::Exposure;
use trunkline_catalog::client::{Client, StartedFrom};
use trunkline_catalog::config::{Config, Problem};
use trunkline_catalog::name::DEFAULT_SEPARATOR;
use trunkline_gateway::{Gateway, LocalClient, Options, Status};
use trunkline_http::Url;

use crate::cli::{Doctor, Servers};
use crate::client::counted;
use crate::commands::install::user_folders;
use crate::commands::runtime::{block_on, broke, start_logging};
use crate::commands::starting::settled;
use crate::doctor::{
    Finding, Grade, Installed, Offered, Served, changed, data_dir, harmless, installed, json,
    mismatch, names, programs, readable_secrets, repeated, sandboxes, start, words,
};
use crate::environment::Environment;
use crate::listen::{Guarded, ListenError};
use crate::rest::{Rest, Unanswered};
use crate::scan_view;
use crate::settings::{self, SettingsError, StartOptions};
use crate::terminal::StatusLine;
use crate::{FAILED, console};

/// As for `check`: a user who examines a config wants to know how long a slow start takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// A Trunkline on this machine answers at once; another program may never answer.
const GLANCE: Duration = Duration::from_secs(2);

/// What has been seen so far.
#[derive(Default)]
struct Examination {
    findings: Vec<Finding>,
    looked: Vec<String>,
}

pub(crate) fn run(asked: &Doctor, environment: &Environment) -> u8 {
    if let Err(code) = start_logging(&asked.servers.log, environment) {
        return code;
    }
    let mut seen = Examination::default();
    let clients = match user_folders(environment) {
        Ok(folders) => installed(&folders),
        Err(code) => return code,
    };
    for Installed { client, findings, .. } in &clients {
        seen.looked.push(format!("the entry of {}", client.title()));
        seen.findings.extend(findings.iter().cloned());
    }
    let clients: Vec<(Client, bool)> = clients.iter().map(|it| (it.client, it.lists_all)).collect();
    match settings::config_path(asked.servers.config.as_deref(), environment) {
        Ok(path) => {
            if let Err(error) = config(asked, &path, &clients, environment, &mut seen) {
                return broke(&error);
            }
        }
        Err(_) => seen.findings.push(
            Finding::new(Grade::Note, "config", "the config", "none was named".to_owned())
                .fix("give --config to have it and its servers looked at"),
        ),
    }
    port(asked, environment, &mut seen);
    if let Some(dir) = &asked.data_dir {
        seen.looked.push(format!("the data directory {}", dir.display()));
        seen.findings.extend(data_dir(dir));
    }
    let told = match asked.json {
        true => console::out(&format!("{}\n", json(&seen.findings, &seen.looked))),
        false => console::out(&words(&seen.findings, &seen.looked, environment.paint())),
    };
    let broken = seen.findings.iter().any(|finding| finding.grade == Grade::Error);
    if broken { FAILED } else { told }
}

/// The config and, if that is wanted, its servers. `clients`: those that start Trunkline, and whether
/// their entries have every tool listed.
fn config(
    asked: &Doctor,
    path: &Path,
    clients: &[(Client, bool)],
    environment: &Environment,
    seen: &mut Examination,
) -> std::io::Result<()> {
    // The names as they are, whatever a client would make of them: that is looked at apart.
    let servers = Servers { client: None, ..asked.servers.clone() };
    // Lists as `install` makes clients get them.
    let exposure = Exposure::Auto;
    let wanted =
        StartOptions { patience: Some(PATIENCE), exposure, ..StartOptions::once(&servers) };
    let about = path.display().to_string();
    let tell = |problem: &Problem| {
        let grade = if problem.is_error() { Grade::Error } else { Grade::Warning };
        let place = problem.place.map(|place| format!("{about}:{}:{}", place.line, place.column));
        let about = place.unwrap_or_else(|| about.clone());
        Finding::new(grade, "config", &about, problem.message.clone())
            .fix(problem.help.clone().unwrap_or_default())
    };
    let loaded: Config = match settings::load(path, &wanted, environment) {
        Ok(config) => config,
        Err(SettingsError::Invalid(problems)) => {
            seen.findings.extend(problems.iter().map(tell));
            return Ok(());
        }
        Err(error) => {
            seen.findings.push(Finding::new(Grade::Error, "config", &about, error.to_string()));
            return Ok(());
        }
    };
    seen.looked.push(format!("{about} with {}", counted(loaded.servers.len(), "server")));
    seen.findings.extend(loaded.warnings.iter().map(tell));
    let text = std::fs::read_to_string(path).unwrap_or_default();
    seen.findings.extend(repeated(&about, &text));
    seen.findings.extend(readable_secrets(path, &text));
    let search = environment.filled("PATH").unwrap_or_else(|| "/usr/bin:/bin".to_owned());
    let from_desktop = |client: &Client| client.spec().started_from != StartedFrom::Terminal;
    let installed = clients.iter().map(|(client, _)| client);
    let desktop = asked.servers.client.iter().chain(installed).any(from_desktop);
    seen.findings.extend(programs(&loaded.servers, &search, desktop));
    seen.findings.extend(sandboxes(&loaded.servers));
    if asked.no_start {
        return Ok(());
    }
    match settings::options(&wanted, path, loaded, environment) {
        Ok(mut options) => {
            options.caller_tells_failures = true; // among the findings
            living(asked, options, clients, seen)
        }
        Err(error) => {
            seen.findings.push(Finding::new(Grade::Error, "config", &about, error.to_string()));
            Ok(())
        }
    }
}

/// The servers as they run.
fn living(
    asked: &Doctor,
    options: Options,
    clients: &[(Client, bool)],
    seen: &mut Examination,
) -> std::io::Result<()> {
    let status = StatusLine::new();
    let clients = match (asked.servers.client, clients) {
        (Some(client), _) => vec![(client, false)],
        (None, []) => Client::ALL.map(|client| (client, false)).to_vec(),
        (None, clients) => clients.to_vec(),
    };
    let (statuses, tools, served, (results, scanned)) = block_on(async {
        let gateway = Gateway::start(options)?;
        let client = gateway.local(b"{}");
        settled(&gateway, &status, Duration::ZERO).await;
        let statuses = gateway.statuses();
        let listed = client.request("tools/list", b"{}").await.unwrap_or_default();
        let tools: Value = serde_json::from_slice(&listed).unwrap_or_default();
        let tools = tools.get("tools").and_then(Value::as_array).cloned().unwrap_or_default();
        let fleet = gateway.fleet();
        let served = clients.iter().map(|(client, lists_all)| {
            let listed = fleet.listed(Some(*client), None);
            let (tools, bytes) = (listed.tools(), listed.bytes());
            Served { client: *client, lists_all: *lists_all, tools, bytes }
        });
        let served: Vec<Served> = served.collect();
        let results = if asked.call { tried(&client, &tools, &status).await } else { Vec::new() };
        let scanned = gateway.scan();
        status.show("stopping them again …");
        // Before the servers are stopped: its session ends in order.
        drop(client);
        gateway.stop().await;
        Ok::<_, std::io::Error>((statuses, tools, served, (results, scanned)))
    })??;
    status.clear();
    for (server, status) in &statuses {
        let known = |finding: &Finding| {
            finding.check == "command" && finding.grade == Grade::Error && finding.about == *server
        };
        // A missing program was found before the start: the failed start would say it a second
        // time.
        let is_known = seen.findings.iter().any(known);
        seen.findings.extend(start(server, status).filter(|_| !is_known));
        seen.findings.extend(changed(server, status));
        let through = |proxy: &String| format!("{server} through the proxy {proxy}");
        seen.looked.extend(status.proxy.as_ref().map(through));
    }
    let separator = asked.servers.separator.as_deref().unwrap_or(DEFAULT_SEPARATOR);
    let offered = offered(&tools, &statuses, separator);
    let (tools, servers) = (counted(offered.len(), "tool"), counted(statuses.len(), "server"));
    seen.looked.push(format!("{tools} of {servers}"));
    seen.findings.extend(names(&offered, &served, separator));
    seen.findings.extend(results);
    for server in &scanned {
        let shown = server.findings.iter().filter(|finding| finding.is_shown());
        seen.findings.extend(shown.map(|it| scan_view::for_doctor(&server.key, it)));
    }
    Ok(())
}

/// Calls those tools that change nothing.
async fn tried(client: &LocalClient, tools: &[Value], status: &StatusLine) -> Vec<Finding> {
    let mut findings = Vec::new();
    for tool in tools.iter().filter(|tool| harmless(tool)) {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        status.show(&format!("calling {} …", crate::client::line(name)));
        let params = serde_json::json!({"name": name, "arguments": {}}).to_string();
        if let Ok(result) = client.request("tools/call", params.as_bytes()).await {
            let result: Value = serde_json::from_slice(&result).unwrap_or_default();
            findings.extend(mismatch(name, &result));
        }
    }
    findings
}

/// The listed names, cut into server and tool.
fn offered(tools: &[Value], statuses: &[(String, Status)], separator: &str) -> Vec<Offered> {
    let cut = |name: &str| {
        let fits =
            |key: &&str| name.strip_prefix(*key).is_some_and(|rest| rest.starts_with(separator));
        let keys = statuses.iter().map(|(key, _)| key.as_str());
        // The longest: a server's name may begin with another's and the separator.
        let key = keys.filter(fits).max_by_key(|key| key.len())?;
        let tool = name.strip_prefix(key)?.strip_prefix(separator)?;
        Some(Offered { server: key.to_owned(), tool: tool.to_owned() })
    };
    tools.iter().filter_map(|tool| cut(tool.get("name")?.as_str()?)).collect()
}

/// Whether `serve` could listen.
fn port(asked: &Doctor, environment: &Environment, seen: &mut Examination) {
    let listen = asked.listen.clone().unwrap_or_default();
    let finding = match listen.open(environment.filled("PORT"), Guarded::Keys, None) {
        Ok(listener) => {
            let address = listener.local_addr().map(|address| address.to_string());
            seen.looked.push(format!("the address {}", address.unwrap_or_default()));
            return;
        }
        Err(ListenError::Bind { address, error })
            if error.kind() == std::io::ErrorKind::AddrInUse =>
        {
            let about = address.to_string();
            let (grade, problem) = match is_trunkline(&about) {
                true => (Grade::Note, "a Trunkline is running there"),
                false if speaks_tls(&about) => {
                    (Grade::Note, "a Trunkline is running there, over https")
                }
                false => (Grade::Warning, "another program listens there"),
            };
            seen.findings
                .extend((grade == Grade::Note && is_open(&about)).then(|| open_finding(&about)));
            Finding::new(grade, "port", &about, problem.to_owned())
                .fix("choose another with --listen or PORT to run `serve` beside it")
        }
        Err(error) => {
            let words = error.to_string();
            let problem = words.lines().next().unwrap_or_default().to_owned();
            Finding::new(Grade::Warning, "port", "serve", problem)
                .fix("choose another address with --listen or PORT")
        }
    };
    seen.findings.push(finding);
}

fn is_trunkline(address: &str) -> bool {
    let answer = glance(address, "/healthz");
    matches!(answer, Some(Ok(value)) if value.get("status").and_then(Value::as_str) == Some("ok"))
}

/// Is it a Trunkline with `--tls-cert`? To whoever does not speak TLS it says so.
fn speaks_tls(address: &str) -> bool {
    let Ok(url) = Url::parse(&format!("http://{address}")) else { return false };
    let rest = Rest::new(url, None);
    let asked = block_on(async { timeout(GLANCE, rest.send("GET", "/healthz", None)).await });
    // The words are those of the front; they are text, because whoever hears them speaks no TLS.
    asked.is_ok_and(|asked| {
        matches!(asked, Ok(Ok(said)) if said.status == 400 && String::from_utf8_lossy(&said.body).contains("--tls-cert"))
    })
}

/// Does its MCP endpoint look at a request without a token? Of this one it says that it has no session.
fn is_open(address: &str) -> bool {
    matches!(glance(address, "/mcp"), Some(Err(Unanswered::Refused(400 | 406, _))))
}

fn open_finding(address: &str) -> Finding {
    let problem =
        "it is open: every user and program of this machine may call every tool without a token";
    Finding::new(Grade::Warning, "open", address, problem.to_owned()).fix(
        "set TRUNKLINE_TOKEN (or --token); of a platform, leave --open away or make an API key",
    )
}

/// What is said there to whoever shows no token; `None`: nothing, in time.
fn glance(address: &str, path: &str) -> Option<Result<Value, Unanswered>> {
    let rest = Rest::new(Url::parse(&format!("http://{address}")).ok()?, None);
    block_on(async { timeout(GLANCE, rest.get(path)).await }).ok()?.ok()
}
