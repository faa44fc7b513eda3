//! Command line + environment + config file -> what the gateway is told.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use trunkline_catalog::config::{self, Config, Problems, Rules, Source};
use trunkline_catalog::name::{DEFAULT_SEPARATOR, Naming};
use trunkline_gateway::{Face, Inherited, Limits, Options};

use crate::chain::{self, Chain, Loop};
use crate::cli::{Common, Serve};
use crate::environment::Environment;

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsError {
    #[error(
        "the required argument --config <PATH> is missing (or set MCP_PROXY_CONFIG_PATH)\n\n\
         For more information, try '--help'."
    )]
    NoConfig,
    #[error("the config is not valid")]
    Invalid(Problems),
    #[error("{0}")]
    Loop(#[from] Loop),
}

/// The path of the config file.
pub(crate) fn config_path(
    argument: Option<&Path>,
    environment: &Environment,
) -> Result<PathBuf, SettingsError> {
    let given = argument.map(Path::to_owned).filter(|path| !path.as_os_str().is_empty());
    given.or_else(|| environment.path("MCP_PROXY_CONFIG_PATH")).ok_or(SettingsError::NoConfig)
}

/// Reads and validates the config. Nothing is started before this has succeeded.
pub(crate) fn load(
    path: &Path,
    common: &Common,
    environment: &Environment,
) -> Result<Config, SettingsError> {
    let name = path.to_string_lossy();
    let text = read(path).map_err(|error| {
        SettingsError::Invalid(match error.kind() {
            io::ErrorKind::NotFound => Problems::file_not_found(&name),
            _ => Problems::file_unreadable(&name, &error.to_string()),
        })
    })?;
    let rules = if common.simple { Rules::Simple } else { Rules::Full };
    let source = Source { name: &name, text: &text };
    config::load(&source, rules, &|name| environment.get(name)).map_err(SettingsError::Invalid)
}

/// The file's bytes. `--config /dev/zero` must end, too.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    std::fs::File::open(path)?.take(LARGEST_CONFIG + 1).read_to_end(&mut text)?;
    if text.len() as u64 > LARGEST_CONFIG {
        return Err(io::Error::other(format!("it is larger than {} MiB", LARGEST_CONFIG >> 20)));
    }
    Ok(text)
}

const LARGEST_CONFIG: u64 = 16 << 20;

/// Everything the gateway needs, for the given config.
pub(crate) fn options(
    serve: &Serve,
    path: &Path,
    config: Config,
    environment: &Environment,
) -> Result<Options, SettingsError> {
    let common = &serve.common;
    let absolute = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let chain = Chain::extend(&absolute, environment)?;
    let mut inherited = Inherited::choose(environment.all(), &common.pass_env);
    inherited.set(chain::VARIABLE, &chain.value());
    Ok(Options {
        servers: config.servers,
        naming: naming(common),
        face: face(serve),
        limits: limits(serve),
        restart: serve.restart,
        inherited,
    })
}

fn naming(common: &Common) -> Naming {
    let separator = common.separator.as_deref().unwrap_or(DEFAULT_SEPARATOR);
    match common.client {
        Some(client) => Naming::for_client(separator, client),
        None => Naming::canonical(separator),
    }
}

fn face(serve: &Serve) -> Face {
    let simple = serve.common.simple;
    let (name, version) = if simple {
        ("mcp-simple-aggregator", "1.0.0")
    } else {
        ("trunkline", env!("CARGO_PKG_VERSION"))
    };
    Face {
        name: serve.name.clone().unwrap_or_else(|| name.to_owned()),
        version: serve.version.clone().unwrap_or_else(|| version.to_owned()),
        simple,
    }
}

fn limits(serve: &Serve) -> Limits {
    let usual = Limits::default();
    let start = serve.common.start_timeout.unwrap_or(usual.start);
    Limits {
        start,
        give_up: usual.give_up.max(start),
        call: serve
            .call_timeout
            .map_or(usual.call, |limit| Some(limit).filter(|limit| *limit > Duration::ZERO)),
        message: serve.max_message.unwrap_or(usual.message),
    }
}
