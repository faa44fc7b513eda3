//! The thin front of a client: decides whether a runtime is shared, and relays to it.

mod link;
mod relay;
mod requests;
mod run;
mod watch;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use trunkline_catalog::config::Style;

pub(crate) use link::{greeted, is_silence};

use crate::cli::Stdio;
use crate::environment::Environment;
use crate::nesting::ConfigChain;
use crate::settings::{self, StartOptions};
use crate::shared::directory::RuntimeDirectory;
use crate::shared::hello::ClientHello;
use crate::shared::identity::{RuntimeIdentity, depends_on_directory, digests, neutral_directory};
use crate::{OK, console};
use link::{RuntimeLink, RuntimeLocation};

/// `on` (default) or `off`.
const SHARED: &str = "TRUNKLINE_SHARED";
/// Seconds, or a time like `10m`.
const LINGER: &str = "TRUNKLINE_LINGER";
/// How long a runtime stays after its last client: a client that is restarted finds its servers running.
const USUAL_LINGER: Duration = Duration::from_secs(600);

/// A runtime with one client and a few servers has about as many files open. With fewer it starts, and can then
/// neither start a server nor serve a client.
const LEAST_FILES: u64 = 64;

/// What came of it.
#[derive(Debug)]
pub(crate) enum Fronted {
    /// The client was served by a shared runtime.
    Served(u8),
    /// Nothing is to be shared here.
    Alone,
    /// Why nothing can be shared, for one line; the client is to be served by this process.
    Impossible(String),
    /// The command line or the environment is wrong.
    Usage(String),
}

/// Serves the client of this process through the runtime of its user, if it may and can. Called before
/// this process has any other thread.
pub(crate) fn attach(
    stdio: &Stdio,
    wanted: &StartOptions<'_>,
    environment: &Environment,
) -> Fronted {
    match is_wanted(stdio, environment) {
        Ok(true) => {}
        Ok(false) => return Fronted::Alone,
        Err(why) => return Fronted::Usage(why),
    }
    let linger = match linger(stdio, environment) {
        Ok(linger) => linger,
        Err(why) => return Fronted::Usage(why),
    };
    // A Trunkline behind another one ends with it, and so would a runtime that others share.
    if ConfigChain::is_nested(environment) {
        return Fronted::Alone;
    }
    if let Some(few) = getrlimit(Resource::Nofile).current.filter(|most| *most < LEAST_FILES) {
        return Fronted::Usage(format!(
            "only {few} files may be open at a time here, and Trunkline needs {LEAST_FILES}: raise the limit \
             (`ulimit -n`, or `LimitNOFILE=` of a service)"
        ));
    }
    let locate = || locate(stdio, wanted, environment);
    let first = match locate() {
        Ok(Some(first)) => first,
        Ok(None) => return Fronted::Alone,
        Err(why) => return Fronted::Impossible(why),
    };
    // Each front says it: its user reads this front's standard error.
    if !first.warnings.is_empty() {
        console::problem(&first.warnings, OK);
    }
    let hello = ClientHello {
        pid: std::process::id(),
        kind: stdio.servers.client,
        linger,
        last_question: 0,
        variables: BTreeMap::new(), // those that belong to the key of each runtime
    };
    let mut link = RuntimeLink { at: first, hello, locate: &locate, started: Vec::new() };
    let connected = match link.connect(0) {
        Ok(connected) => connected,
        Err(why) => return Fronted::Impossible(why),
    };
    match run::run(link, connected, wanted.limits().message) {
        Ok(code) => Fronted::Served(code),
        Err(error) => {
            Fronted::Served(console::problem(&format!("error: {error}\n"), crate::FAILED))
        }
    }
}

fn is_wanted(stdio: &Stdio, environment: &Environment) -> Result<bool, String> {
    let by_variable = match environment.filled(SHARED).as_deref() {
        None | Some("on" | "1" | "true" | "yes") => true,
        Some("off" | "0" | "false" | "no") => false,
        Some(other) => return Err(format!("{SHARED} is {other:?}; it must be on or off")),
    };
    Ok(by_variable && !stdio.no_shared && !stdio.simple && !is_script())
}

/// Is standard input a file? Then it is a recorded session and no client that comes again: nothing that it
/// starts should stay behind.
fn is_script() -> bool {
    rustix::fs::fstat(rustix::stdio::stdin()).is_ok_and(|about| {
        rustix::fs::FileType::from_raw_mode(about.st_mode) == rustix::fs::FileType::RegularFile
    })
}

fn linger(stdio: &Stdio, environment: &Environment) -> Result<Duration, String> {
    match (stdio.linger, environment.filled(LINGER)) {
        (Some(linger), _) => Ok(linger),
        (None, Some(text)) => {
            crate::cli::seconds(&text).map_err(|why| format!("{LINGER} is {text:?}: {why}"))
        }
        (None, None) => Ok(USUAL_LINGER),
    }
}

/// Finds out which runtime is this client's, by what the config is now. `None`: the client is to be served
/// alone, by this process; a config that cannot be used is reported there.
fn locate(
    stdio: &Stdio,
    wanted: &StartOptions<'_>,
    environment: &Environment,
) -> Result<Option<RuntimeLocation>, String> {
    let Ok(path) = settings::config_path(stdio.servers.config.as_deref(), environment) else {
        return Ok(None);
    };
    // A pipe (`--config <(…)`) can be read once, by the process that serves.
    if !std::fs::metadata(&path).is_ok_and(|about| about.is_file()) {
        return Ok(None);
    }
    let used = RefCell::new(BTreeMap::new());
    let look_up = |name: &str| {
        let value = environment.get(name);
        used.borrow_mut().insert(name.to_owned(), value.clone());
        value
    };
    let Ok(config) = settings::load_with(&path, wanted, environment, &look_up) else {
        return Ok(None);
    };
    let (Ok(here), Ok(canonical)) = (std::env::current_dir(), std::fs::canonicalize(&path)) else {
        return Ok(None);
    };
    let directory = RuntimeDirectory::open(environment)?;
    let key = directory
        .key()
        .map_err(|error| format!("{}: {error}", directory.path().join("key").display()))?;
    let is_local = depends_on_directory(&config.servers);
    let id = RuntimeIdentity {
        config: &canonical,
        flags: stdio,
        directory: is_local.then_some(here.as_path()),
        used: &used.borrow(),
        inherited: settings::inherited(wanted, environment).variables(),
        environment,
    }
    .id(&key);
    let warnings = match config.warnings.is_empty() {
        true => String::new(),
        false => config.warnings.render(Style::Plain),
    };
    let mut arguments: Vec<OsString> = vec!["--id".into(), id.clone().into()];
    arguments.extend(std::env::args_os().skip(1));
    // The file itself, which the runtime is named by: a link may lead elsewhere tomorrow, and clients that name the
    // file would follow it. A descriptor of this process is none of the runtime's, either.
    // Behind the client's own, which it overrides: the runtime runs in another directory.
    arguments.extend(["--config".into(), canonical.into_os_string()]);
    let cwd = if is_local { here } else { neutral_directory(environment.path("HOME")) };
    let variables = digests(environment, &key);
    Ok(Some(RuntimeLocation { directory, key, variables, id, arguments, cwd, warnings }))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        stdio: Stdio,
    }

    fn flags(line: &str) -> Stdio {
        Line::parse_from(format!("trunkline {line}").split_whitespace()).stdio
    }

    #[test]
    fn sharing_is_usual_and_can_be_switched_off() {
        for (line, variable, expected) in [
            ("", None, Ok(true)),
            ("", Some("on"), Ok(true)),
            ("", Some(""), Ok(true)),
            ("", Some("off"), Ok(false)),
            ("", Some("0"), Ok(false)),
            ("--no-shared", Some("on"), Ok(false)),
            ("--simple", None, Ok(false)),
            ("", Some("maybe"), Err(())),
        ] {
            let variables: Vec<_> = variable.map(|value| (SHARED, value)).into_iter().collect();
            let is_wanted = is_wanted(&flags(line), &Environment::of(&variables));
            assert_eq!(is_wanted.map_err(|_| ()), expected, "{line} {variable:?}");
        }
    }

    #[test]
    fn a_runtime_lingers_as_the_flag_says_or_the_variable() {
        let lingers = |line: &str, variables: &[(&str, &str)]| {
            linger(&flags(line), &Environment::of(variables))
        };
        assert_eq!(lingers("", &[]), Ok(Duration::from_secs(600)));
        assert_eq!(lingers("", &[(LINGER, "2m")]), Ok(Duration::from_secs(120)));
        assert_eq!(lingers("--linger 0", &[(LINGER, "2m")]), Ok(Duration::ZERO));
        let why = lingers("", &[(LINGER, "soon")]).unwrap_err();
        assert!(why.starts_with("TRUNKLINE_LINGER is \"soon\": "), "{why}");
    }
}
