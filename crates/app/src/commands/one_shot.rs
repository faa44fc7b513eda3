//! One run of the command-line client: start the servers, make a request, stop the servers.

use std::sync::Arc;
use std::time::Duration;

use tokio::signal::ctrl_c;
use tokio::signal::unix::{SignalKind, signal};
use trunkline_catalog::ListKind;
use trunkline_catalog::config::{Config, RemoteKind, Secrets, ServerSpec, Transport};
use trunkline_catalog::name::{DEFAULT_SEPARATOR, Naming};
use trunkline_gateway::{
    Declared, Gateway, LocalClient, LocalError, Options, PinHome, State, Status,
};
use trunkline_http::Url;

use crate::cli::ClientTarget;
use crate::client::{self, line};
use crate::commands::notifications::Listener;
use crate::commands::runtime::{block_on, broke, read_config, refuse, start_logging};
use crate::commands::starting::{UNREMARKED, settled};
use crate::environment::Environment;
use crate::pins::NoFirstPins;
use crate::settings::{self, SettingsError, StartOptions};
use crate::terminal::StatusLine;
use crate::{FAILED, USAGE, console};

/// As for `check`: a user who calls a server waits for it to start.
const PATIENCE: Duration = Duration::from_secs(30);

/// What we can do for servers: ask a person, if there is one.
const CAPABILITIES: &[u8] = br#"{"elicitation":{"form":{},"url":{}}}"#;

/// The started servers, for the work of one command.
pub(super) struct OneShot<'v> {
    client: &'v LocalClient,
    status: &'v StatusLine,
    statuses: Vec<(String, Status)>,
    gateway: &'v Gateway,
}

/// Why a command has no result.
#[derive(Debug)]
pub(super) enum CommandError {
    /// Asked for wrongly.
    Usage(String),
    Failed(String),
    /// The server said no.
    Refused(LocalError),
}

impl From<LocalError> for CommandError {
    fn from(error: LocalError) -> Self {
        Self::Refused(error)
    }
}

/// What one run needs to know.
#[derive(Debug)]
pub(super) struct OneShotOptions<'m> {
    pub(super) target: &'m ClientTarget,
    /// The name of what is wanted: servers it cannot belong to need not be started.
    pub(super) wanted: Option<&'m str>,
    /// Whether a person may be asked something meanwhile.
    pub(super) person: bool,
    /// Nothing but lists are asked for: servers are told what a shared runtime tells them, as by `check`.
    pub(super) only_lists: bool,
}

/// Starts the servers, does the work, stops them. Returns the exit code.
pub(super) fn run(
    manner: &OneShotOptions<'_>,
    environment: &Environment,
    work: impl AsyncFnOnce(&OneShot<'_>) -> Result<u8, CommandError>,
) -> u8 {
    let target = manner.target;
    if let Err(code) = start_logging(&target.servers.log, environment) {
        return code;
    }
    let options = match options(manner, environment) {
        Ok(options) => options,
        Err(error) => return refuse(&error, environment),
    };
    let outcome = block_on(async {
        let gateway = Gateway::start(options)?;
        let status = StatusLine::new();
        let outcome = tokio::select! {
            // Dropped by a signal, `visited` cancels its requests at the servers before they are
            // stopped.
            outcome = visited(&gateway, manner, &status, work) => outcome,
            () = interrupted() => Err(CommandError::Failed("cancelled".to_owned())),
        };
        status.clear();
        let code = outcome.unwrap_or_else(|trouble| tell(trouble, target.json));
        gateway.stop().await;
        Ok(code)
    });
    outcome.and_then(|outcome| outcome).unwrap_or_else(|error| broke(&error))
}

/// Ctrl-C, or SIGTERM as `timeout` sends it: open requests are cancelled at the servers.
async fn interrupted() {
    let Ok(mut terminated) = signal(SignalKind::terminate()) else {
        drop(ctrl_c().await);
        return;
    };
    tokio::select! {
        _ = ctrl_c() => {}
        _ = terminated.recv() => {}
    }
}

async fn visited(
    gateway: &Gateway,
    manner: &OneShotOptions<'_>,
    status: &StatusLine,
    work: impl AsyncFnOnce(&OneShot<'_>) -> Result<u8, CommandError>,
) -> Result<u8, CommandError> {
    let capabilities: &[u8] = if manner.person { CAPABILITIES } else { b"{}" };
    let client = gateway.local(capabilities);
    settled(gateway, status, UNREMARKED).await;
    status.clear();
    let statuses = gateway.statuses();
    if let (Some(url), [(_, only)]) = (&manner.target.url, statuses.as_slice()) {
        reached(url, only)?;
    }
    if manner.target.servers.log.debug {
        // A server without the `logging` capability refuses (MCP, Logging), and nothing is lost.
        drop(client.request("logging/setLevel", br#"{"level":"debug"}"#).await);
    }
    let visit = OneShot { client: &client, status, statuses, gateway };
    let who = manner.wanted.unwrap_or("a server");
    let mut listener = Listener::new(&client, status, who, manner.person);
    let outcome = tokio::select! {
        outcome = work(&visit) => outcome,
        never = listener.hear() => match never {},
    };
    listener.catch_up();
    outcome
}

/// Without the query of the URL, which may hold a secret.
fn reached(url: &Url, status: &Status) -> Result<(), CommandError> {
    let url = format!("{}{}", url.origin(), url.path());
    match &status.state {
        State::Failed(failure) => Err(CommandError::Failed(format!("{url}: {failure}"))),
        State::Initializing => Err(CommandError::Failed(format!(
            "{url} has not answered in time (--start-timeout gives it more)"
        ))),
        State::Running | State::Stopped | State::Idle => Ok(()),
    }
}

fn tell(trouble: CommandError, json: bool) -> u8 {
    match trouble {
        CommandError::Usage(text) => console::problem(&format!("error: {text}\n"), USAGE),
        CommandError::Failed(text) => console::problem(&format!("error: {text}\n"), FAILED),
        CommandError::Refused(LocalError { raw, .. }) if json => {
            let line = client::error_json(&raw);
            console::problem(&String::from_utf8_lossy(&line), FAILED)
        }
        CommandError::Refused(LocalError { code, message, data, .. }) => {
            console::problem(&client::error_text(code, &message, &data), FAILED)
        }
    }
}

impl OneShot<'_> {
    /// What the servers are called.
    pub(super) fn servers(&self) -> Vec<String> {
        self.statuses.iter().map(|(key, _)| key.clone()).collect()
    }

    /// The tools that the servers have and the config switches off.
    pub(super) fn switched_off(&self) -> Vec<String> {
        self.gateway.switched_off()
    }

    /// Asks the servers something; `params` is a JSON object.
    pub(super) async fn ask(&self, method: &str, params: &[u8]) -> Result<Vec<u8>, CommandError> {
        let answered = self.client.request(method, params).await;
        self.status.clear();
        Ok(answered?)
    }

    /// The tool or prompt of this name as it is listed. It may be listed under another name than the
    /// one it was asked for by: `--for` lists names that a client takes.
    pub(super) fn find<'l>(
        &self,
        kind: ListKind,
        list: &'l [u8],
        name: &str,
    ) -> Result<&'l [u8], CommandError> {
        let array = kind.member();
        let find = |name: &str| client::find(list, array, "name", name);
        let other = || find(&self.client.listed(kind, name)?);
        find(name).or_else(other).ok_or_else(|| {
            let what = if kind == ListKind::Tools { "tool" } else { "prompt" };
            self.unknown(what, name, &client::names(list, array, "name"))
        })
    }

    /// For a name that is not in a list: the names near it, and the servers that are missing.
    pub(super) fn unknown(&self, what: &str, name: &str, known: &[String]) -> CommandError {
        let near = client::did_you_mean(name, known.iter().map(String::as_str));
        let mut text = format!("there is no {what} `{}`{near}", line(name));
        if what == "tool" && self.switched_off().iter().any(|off| off == name) {
            text.push_str(
                "\n  the config switches it off; `trunkline tools enable` switches it on",
            );
        }
        for (key, status) in &self.statuses {
            if let State::Failed(failure) = &status.state {
                text.push_str(&format!("\n  server `{}` is not running: it {failure}", line(key)));
            }
        }
        CommandError::Failed(text)
    }
}

fn options(
    manner: &OneShotOptions<'_>,
    environment: &Environment,
) -> Result<Options, SettingsError> {
    let target = manner.target;
    let wanted = StartOptions {
        bounds: &target.bounds,
        declared: match manner.only_lists {
            true => Declared::everything(),
            false => Declared::of_the_client(),
        },
        patience: Some(PATIENCE),
        ..StartOptions::once(&target.servers)
    };
    if let Some(url) = &target.url {
        let servers = vec![remote(url, target)];
        return Ok(settings::remote_options(&wanted, servers, Naming::bare(), environment));
    }
    let (path, mut config) = read_config(&wanted, environment)?;
    let separator = wanted.servers.separator.as_deref().unwrap_or(DEFAULT_SEPARATOR);
    // With `--for` names are spelt as the client wants them: the prefix no longer tells the server.
    if let Some(name) = manner.wanted.filter(|_| target.servers.client.is_none()) {
        keep_owners(&mut config, name, separator);
    }
    let mut options = settings::options(&wanted, &path, config, environment)?;
    if !manner.only_lists {
        let home = options.shown.pins.take();
        options.shown.pins = home.map(|home| Arc::new(NoFirstPins(home)) as Arc<dyn PinHome>);
    }
    Ok(options)
}

/// Leaves only servers whose prefix the name has. A name that has none may be anybody's, or a custom
/// tool's.
fn keep_owners(config: &mut Config, name: &str, separator: &str) {
    let owns = |server: &ServerSpec| {
        name.strip_prefix(&server.key).is_some_and(|rest| rest.starts_with(separator))
    };
    if config.servers.iter().any(|server| owns(server) && !server.disabled) {
        config.servers.retain(owns);
        config.custom.clear();
    }
}

fn remote(url: &Url, target: &ClientTarget) -> ServerSpec {
    let mut headers: Vec<(String, String)> =
        target.header.iter().map(|header| (header.name.clone(), header.value.clone())).collect();
    if let Some(token) = &target.token {
        // Two Authorization headers contradict each other: the flag that is made for it wins.
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("Authorization"));
        headers.push(("Authorization".to_owned(), format!("Bearer {}", token.reveal())));
    }
    let mut secrets = Secrets::new();
    for (name, value) in &headers {
        secrets.add(name, value);
    }
    let (url_text, kind, network) = (url.to_string(), RemoteKind::Detect, Default::default());
    let transport = Transport::Remote { url: url_text, kind, headers, network };
    ServerSpec {
        id: url.authority(),
        key: url.authority(),
        transport,
        disabled: false,
        secrets,
        filter: Default::default(),
        share: Default::default(),
        era: Default::default(),
        guarded: false,
        login: None,
        calls: Default::default(),
        tool_limits: Vec::new(),
        run: Default::default(),
        texts: Default::default(),
        sandbox: None,
    }
}

#[cfg(test)]
mod tests {
    use trunkline_catalog::config::{ConfigSource, Rules, load};

    use super::*;

    #[test]
    fn only_servers_that_can_own_a_name_are_started() {
        let text = br#"{"mcpServers":{"a":{"command":"x"},"a:b":{"command":"x"},
            "c":{"command":"x","disabled":true}}}"#;
        for (name, expected) in [
            ("a:tool", vec!["a"]),
            ("a:b:tool", vec!["a", "a:b"]),
            ("tool", vec!["a", "a:b", "c"]),
            ("ab:tool", vec!["a", "a:b", "c"]),
            ("c:tool", vec!["a", "a:b", "c"]),
        ] {
            let source = ConfigSource { name: "f", text };
            let mut config = load(&source, Rules::Full, &|_| None).unwrap();
            keep_owners(&mut config, name, ":");
            let keys: Vec<&str> = config.servers.iter().map(|server| server.key.as_str()).collect();
            assert_eq!(keys, expected, "{name}");
        }
    }
}
