//! Reaches a running `serve` for a command: its address, its token, and the errors when it does not answer.

use std::collections::HashMap;

use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};
use trunkline_http::Url;

use crate::cli::ServeTarget;
use crate::client::did_you_mean;
use crate::commands::runtime::{block_on, broke, start_logging};
use crate::environment::Environment;
use crate::logging::LogFlags;
use crate::rest::{Rest, USUAL, Unanswered, admin_token};
use crate::serve_view::ServerLine;
use crate::settings::{ADMIN_TOKEN, TOKEN};
use crate::{FAILED, OK, USAGE, console};

/// Why a command has no result.
pub(super) enum ServeError {
    Failed(String),
    /// The reader of standard output has gone.
    Gone,
}

impl From<Unanswered> for ServeError {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            // The API's own hint is about headers; a user of the command line sets a variable or a flag.
            Unanswered::Stranger { .. } => Self::Failed(format!(
                "{unanswered}; set {ADMIN_TOKEN} to the token that `serve` printed, or give \
                 --data-dir DIR (its data directory) or --token"
            )),
            other => Self::Failed(other.to_string()),
        }
    }
}

/// Asks the `serve` that is meant. Ctrl-C ends it, as other signals do, and that is no failure: what it has
/// made of the terminal is given back.
pub(super) fn run(
    at: &ServeTarget,
    environment: &Environment,
    act: impl AsyncFnOnce(&Rest) -> Result<u8, ServeError>,
) -> u8 {
    if let Err(code) = start_logging(&LogFlags::default(), environment) {
        return code;
    }
    let rest = match rest(at, environment) {
        Ok(rest) => rest,
        Err(why) => return console::problem(&format!("error: {why}\n"), USAGE),
    };
    let outcome = block_on(async {
        tokio::select! {
            outcome = act(&rest) => outcome,
            () = told_to_end() => Ok(OK),
        }
    });
    match outcome {
        Ok(Ok(code)) => code,
        Ok(Err(ServeError::Gone)) => OK,
        Ok(Err(ServeError::Failed(why))) => console::problem(&format!("error: {why}\n"), FAILED),
        Err(error) => broke(&error),
    }
}

/// A signal that cannot be heard is not waited for.
async fn told_to_end() {
    let heard = async |kind: SignalKind| match signal(kind) {
        Ok(mut signal) => drop(signal.recv().await),
        Err(_) => std::future::pending().await,
    };
    tokio::select! {
        () = heard(SignalKind::interrupt()) => {}
        () = heard(SignalKind::terminate()) => {}
        () = heard(SignalKind::hangup()) => {}
    }
}

fn rest(at: &ServeTarget, environment: &Environment) -> Result<Rest, String> {
    let usual = match environment.filled("PORT") {
        // `serve` reads PORT, too: in the same shell both mean the same place.
        Some(port) => format!("http://127.0.0.1:{}", port.trim()),
        None => USUAL.to_owned(),
    };
    let base = match &at.url {
        Some(url) => url.clone(),
        None => Url::parse(&usual).map_err(|bad| format!("{usual}: {bad}"))?,
    };
    let token = at.token.as_ref().map(|token| token.reveal().to_owned());
    // A flag wins over a file, a file over the environment: the more precise was said on purpose.
    let kept = match &at.data_dir {
        Some(dir) => Some(admin_token(dir).ok_or_else(|| {
            format!("{} has no `admin-token` that can be read; give --token", dir.display())
        })?),
        None => None,
    };
    let set = || environment.filled(ADMIN_TOKEN).or_else(|| environment.filled(TOKEN));
    Ok(Rest::new(base, token.or(kept).or_else(set)))
}

const SERVERS: &str = "/api/v1/aggregator/servers";

/// All servers, page by page.
pub(super) async fn servers(rest: &Rest) -> Result<Vec<Value>, ServeError> {
    let mut all = Vec::new();
    let mut path = format!("{SERVERS}?limit=500");
    loop {
        let page = match rest.get(&path).await {
            Ok(page) => page,
            Err(Unanswered::Refused(404, _)) => return Err(no_platform(rest)),
            Err(unanswered) => return Err(unanswered.into()),
        };
        let servers = page.get("servers").and_then(Value::as_array);
        all.extend(servers.into_iter().flatten().cloned());
        match page.get("next_cursor").and_then(Value::as_str) {
            Some(cursor) => {
                path = format!("{SERVERS}?limit=500&cursor={}", crate::rest::escaped(cursor));
            }
            None => return Ok(all),
        }
    }
}

fn no_platform(rest: &Rest) -> ServeError {
    ServeError::Failed(format!(
        "{} has no REST API: start `trunkline serve` with --data-dir to have one",
        rest.address()
    ))
}

/// The server of this name or id.
pub(super) fn find<'s>(servers: &'s [Value], wanted: &str) -> Result<&'s Value, ServeError> {
    let is = |server: &&Value, key: &str| server.get(key).and_then(Value::as_str) == Some(wanted);
    let by_name = servers.iter().find(|server| is(server, "name"));
    by_name.or_else(|| servers.iter().find(|server| is(server, "id"))).ok_or_else(|| {
        let names = servers.iter().filter_map(|server| server.get("name")?.as_str());
        let near = did_you_mean(wanted, names);
        ServeError::Failed(format!("there is no server `{}`{near}", crate::client::line(wanted)))
    })
}

/// Calls a minute of each server over the last minutes, by its id; of one that cannot be asked about, nothing.
pub(super) async fn rates(rest: &Rest, servers: &[Value]) -> HashMap<String, f64> {
    let mut rates = HashMap::new();
    for server in servers {
        let Ok(health) = rest.get(&path_of(server, "/health")).await else { continue };
        let id = server.get("id").and_then(Value::as_str).unwrap_or_default();
        let rate = health.pointer("/windows/0").and_then(per_minute);
        rates.extend(rate.map(|rate| (id.to_owned(), rate)));
    }
    rates
}

/// Of something with `calls` in so many `seconds`.
pub(super) fn per_minute(of: &Value) -> Option<f64> {
    let number = |key: &str| of.get(key).and_then(Value::as_f64);
    let (calls, seconds) = (number("calls")?, number("seconds").filter(|it| *it > 0.0)?);
    Some(calls * 60.0 / seconds)
}

/// The servers as lines, with how often each is called.
pub(super) async fn lines(rest: &Rest, servers: &[Value]) -> Vec<ServerLine> {
    let rates = rates(rest, servers).await;
    let line = |server: &Value| {
        let mut line = ServerLine::read(server);
        line.rate = rates.get(&line.id).copied();
        line
    };
    servers.iter().map(line).collect()
}

/// The path of a server, or of something about it.
pub(super) fn path_of(server: &Value, rest: &str) -> String {
    let id = server.get("id").and_then(Value::as_str).unwrap_or_default();
    format!("{SERVERS}/{}{rest}", crate::rest::escaped(id))
}
