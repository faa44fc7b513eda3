//! The async runtime, and the words for what keeps a command from starting.

use std::io;

use trunkline_catalog::config::Style;

use crate::environment::Environment;
use crate::settings::SettingsError;
use crate::{FAILED, USAGE, speak};

/// Runs a future to its end on this one thread: for one client, a second thread would only add
/// the cost of waking it.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(future))
}

/// Tells why nothing was started.
pub(super) fn refuse(error: &SettingsError, environment: &Environment) -> u8 {
    let style = if environment.colours() { Style::Colour } else { Style::Plain };
    match error {
        SettingsError::Invalid(problems) => speak::problem(&problems.render(style), USAGE),
        other => speak::problem(&format!("error: {other}\n"), USAGE),
    }
}

/// Tells what kept the operating system from letting us work.
pub(super) fn broke(error: &io::Error) -> u8 {
    speak::problem(&format!("error: {error}\n"), FAILED)
}
