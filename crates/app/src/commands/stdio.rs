//! `trunkline --config F`: the stdio front door.

use trunkline_catalog::config::Style;
use trunkline_gateway::{Gateway, Options};

use crate::cli::Serve;
use crate::commands::runtime::{block_on, broke, refuse};
use crate::environment::Environment;
use crate::settings::{self, SettingsError};
use crate::{OK, USAGE, logging, speak};

pub(crate) fn run(serve: &Serve, environment: &Environment) -> u8 {
    if let Err(error) = logging::start(serve.common.debug, environment) {
        return speak::problem(&format!("error: {error}\n"), USAGE);
    }
    let options = match prepare(serve, environment) {
        Ok(options) => options,
        Err(error) => return refuse(&error, environment),
    };
    let served = block_on(async { Gateway::start(options)?.serve_stdio().await });
    match served.and_then(|served| served) {
        Ok(()) => OK,
        Err(error) => broke(&error),
    }
}

fn prepare(serve: &Serve, environment: &Environment) -> Result<Options, SettingsError> {
    let path = settings::config_path(serve.common.config.as_deref(), environment)?;
    let config = settings::load(&path, &serve.common, environment)?;
    for note in &config.notes {
        tracing::debug!("{note}");
    }
    if !config.warnings.is_empty() {
        speak::problem(&config.warnings.render(Style::Plain), OK);
    }
    settings::options(serve, &path, config, environment)
}
