//! The async runtime, and the messages when a command cannot start.

use std::io;
use std::path::PathBuf;

use trunkline_catalog::config::{Config, Style};

use crate::environment::Environment;
use crate::logging::LogFlags;
use crate::settings::{self, SettingsError, StartOptions};
use crate::{FAILED, OK, USAGE, console, logging};

/// Runs a future to its end on this one thread: for one client, a second thread would only add
/// the cost of waking it.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(future))
}

/// Starts the log; `Err` is the exit code.
pub(super) fn start_logging(flags: &LogFlags, environment: &Environment) -> Result<(), u8> {
    logging::start(flags, environment)
        .map_err(|error| console::problem(&format!("error: {error}\n"), USAGE))
}

/// Where the config is. The simple aggregator has none but the one it is given.
pub(super) fn config_path(
    wanted: &StartOptions<'_>,
    environment: &Environment,
) -> Result<PathBuf, SettingsError> {
    let named = wanted.servers.config.as_deref();
    match wanted.simple {
        true => settings::given_config_path(named, environment),
        false => settings::config_path(named, environment),
    }
}

/// The config a command works with, and where it is. What is odd about it is told.
pub(super) fn read_config(
    wanted: &StartOptions<'_>,
    environment: &Environment,
) -> Result<(PathBuf, Config), SettingsError> {
    let path = config_path(wanted, environment)?;
    let config = settings::load(&path, wanted, environment)?;
    for note in &config.notes {
        tracing::debug!("{note}");
    }
    if !config.warnings.is_empty() {
        console::problem(&config.warnings.render(Style::Plain), OK);
    }
    Ok((path, config))
}

/// Tells why nothing was started.
pub(super) fn refuse(error: &SettingsError, environment: &Environment) -> u8 {
    let style = if environment.colours() { Style::Colour } else { Style::Plain };
    match error {
        SettingsError::Invalid(problems) => {
            logging::told(&format!("{error}; nothing was started\n{problems}"));
            console::problem(&problems.render(style), USAGE)
        }
        other => {
            logging::told(&other.to_string());
            console::problem(&format!("error: {other}\n"), USAGE)
        }
    }
}

/// Tells what kept the operating system from letting us work.
pub(super) fn broke(error: &io::Error) -> u8 {
    logging::told(&error.to_string());
    console::problem(&format!("error: {error}\n"), FAILED)
}
