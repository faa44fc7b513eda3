//! Makes the gateway's options from the command line, the environment and the config file.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};
use std::time::Duration;

use trunkline_catalog::Exposure;
use trunkline_catalog::config::{self, Config, ConfigSource, Problems, Rules, ServerSpec};
use trunkline_catalog::name::{DEFAULT_SEPARATOR, Naming};
use trunkline_control::otlp::HEADERS;
use trunkline_gateway::{
    Declared, GatewayInfo, Inherited, Limits, Logins, Network, Options, PinHome, Restart,
    RunPolicy, ShownTools,
};
use trunkline_http::proxy::Proxies;

use crate::cli::{Bounds, Identity, Servers, Stdio};
use crate::client::{did_you_mean, line};
use crate::config_loops;
use crate::environment::Environment;
use crate::logins;
use crate::nesting::{self, ConfigChain, Loop};
use crate::own_config;
use crate::pins;
use crate::walls;

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsError {
    #[error(
        "the required argument --config <PATH> is missing (or set MCP_PROXY_CONFIG_PATH)\n\n\
         For more information, try '--help'."
    )]
    NoConfig,
    #[error("cannot create your config {}: {error}; name another one with --config", path.display())]
    OwnConfig { path: PathBuf, error: io::Error },
    #[error("unknown preset `{name}`{near}; {known}")]
    UnknownPreset { name: String, near: String, known: String },
    #[error("the config is not valid")]
    Invalid(Problems),
    #[error("{0}")]
    Loop(#[from] Loop),
}

/// The config that a command works with: the one that is named, else the user's own, which is made if it is
/// not there.
pub(crate) fn config_path(
    argument: Option<&Path>,
    environment: &Environment,
) -> Result<PathBuf, SettingsError> {
    let own = match given_config_path(argument, environment) {
        Ok(path) => return Ok(path),
        Err(error) => own_config::own_path(environment).ok_or(error)?,
    };
    match own_config::ensure(&own) {
        Ok(()) => Ok(own),
        Err(error) => Err(SettingsError::OwnConfig { path: own, error }),
    }
}

/// The config that is named, by the command line or the environment.
pub(crate) fn given_config_path(
    argument: Option<&Path>,
    environment: &Environment,
) -> Result<PathBuf, SettingsError> {
    let given = argument.map(Path::to_owned).filter(|path| !path.as_os_str().is_empty());
    given.or_else(|| environment.path("MCP_PROXY_CONFIG_PATH")).ok_or(SettingsError::NoConfig)
}

/// A config without any server.
pub(crate) fn empty(wanted: &StartOptions<'_>) -> Result<Config, SettingsError> {
    let rules = if wanted.simple { Rules::Simple } else { Rules::Full };
    let source = ConfigSource { name: "(no config)", text: br#"{"mcpServers":{}}"# };
    config::load(&source, rules, &|_| None).map_err(SettingsError::Invalid)
}

/// What a command wants of the servers, besides the config itself.
#[derive(Debug)]
pub(crate) struct StartOptions<'w> {
    pub(crate) servers: &'w Servers,
    pub(crate) identity: &'w Identity,
    pub(crate) bounds: &'w Bounds,
    pub(crate) simple: bool,
    pub(crate) restart: Restart,
    /// What servers are told that clients can do.
    pub(crate) declared: Declared,
    /// Where the command line says nothing.
    pub(crate) separator: &'static str,
    pub(crate) patience: Option<Duration>,
    /// Which tools clients are shown.
    pub(crate) exposure: Exposure,
}

/// Nothing else is said than usual.
static USUAL: (Identity, Bounds) =
    (Identity { name: None, version: None }, Bounds { call_timeout: None, max_message: None });

impl<'w> StartOptions<'w> {
    /// For a client on standard input and output.
    pub(crate) fn stdio(stdio: &'w Stdio) -> Self {
        Self {
            servers: &stdio.servers,
            identity: &stdio.identity,
            bounds: &stdio.bounds,
            simple: stdio.simple,
            restart: match (stdio.simple, stdio.restart) {
                _ if stdio.no_restart => Restart::Never,
                (true, false) => Restart::Never,
                (true, true) => Restart::Limited,
                (false, _) => Restart::Always,
            },
            declared: if stdio.simple { Declared::nothing() } else { Declared::of_the_client() },
            separator: DEFAULT_SEPARATOR,
            patience: None,
            exposure: stdio.expose,
        }
    }

    /// For a command that looks and leaves: every server is started once, and all tools have their own names. Servers
    /// are told what a shared runtime tells them: what they list by it is what clients are shown, and what is pinned.
    pub(crate) fn once(servers: &'w Servers) -> Self {
        Self {
            servers,
            identity: &USUAL.0,
            bounds: &USUAL.1,
            simple: false,
            restart: Restart::OneShot,
            declared: Declared::everything(),
            separator: DEFAULT_SEPARATOR,
            patience: None,
            exposure: Exposure::Full,
        }
    }
}

/// Reads and validates the config. Nothing is started or changed before this has succeeded.
pub(crate) fn load(
    path: &Path,
    wanted: &StartOptions<'_>,
    environment: &Environment,
) -> Result<Config, SettingsError> {
    load_with(path, wanted, environment, &|name| environment.get(name))
}

/// Reads and validates the config; its variables are looked up so.
pub(crate) fn load_with(
    path: &Path,
    wanted: &StartOptions<'_>,
    environment: &Environment,
    look_up: &dyn Fn(&str) -> Option<String>,
) -> Result<Config, SettingsError> {
    let name = path.to_string_lossy();
    let text = read(path).map_err(|error| {
        SettingsError::Invalid(match error.kind() {
            io::ErrorKind::NotFound => Problems::file_not_found(&name),
            _ => Problems::file_unreadable(&name, &error.to_string()),
        })
    })?;
    load_text_with(path, &text, wanted, environment, look_up)
}

/// Validates the text of a config, which need not be in its file yet.
pub(crate) fn load_text(
    path: &Path,
    text: &[u8],
    wanted: &StartOptions<'_>,
    environment: &Environment,
) -> Result<Config, SettingsError> {
    load_text_with(path, text, wanted, environment, &|name| environment.get(name))
}

fn load_text_with(
    path: &Path,
    text: &[u8],
    wanted: &StartOptions<'_>,
    environment: &Environment,
    look_up: &dyn Fn(&str) -> Option<String>,
) -> Result<Config, SettingsError> {
    let name = path.to_string_lossy();
    let rules = if wanted.simple { Rules::Simple } else { Rules::Full };
    let source = ConfigSource { name: &name, text };
    let config = config::load(&source, rules, look_up);
    let mut config = config.map_err(SettingsError::Invalid)?;
    config.check_names(&wanted.naming()).map_err(SettingsError::Invalid)?;
    if let Some(name) = wanted.servers.preset.as_deref() {
        known_preset(name, &config.presets)?;
    }
    config.servers = logins::marked(config.servers);
    config_loops::warn(&mut config, path, environment, read);
    Ok(config)
}

fn known_preset(name: &str, presets: &[String]) -> Result<(), SettingsError> {
    if presets.iter().any(|known| known == name) {
        return Ok(());
    }
    let near = did_you_mean(name, presets.iter().map(String::as_str));
    let known = match presets {
        [] => "the config has none: add \"presets\": {\"NAME\": [\"SERVER\", …]}".to_owned(),
        presets => format!("the config has {}", presets.join(", ")),
    };
    Err(SettingsError::UnknownPreset { name: line(name), near, known })
}

/// The bytes of a config file. Bounded, so that `--config /dev/zero` ends.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    std::fs::File::open(path)?.take(LARGEST_CONFIG + 1).read_to_end(&mut text)?;
    if text.len() as u64 > LARGEST_CONFIG {
        return Err(io::Error::other(format!("it is larger than {} MiB", LARGEST_CONFIG >> 20)));
    }
    Ok(text)
}

/// Far above any real config; a device or a log file given by mistake ends here.
const LARGEST_CONFIG: u64 = 16 << 20;

/// Everything the gateway needs, for the given config.
pub(crate) fn options(
    wanted: &StartOptions<'_>,
    path: &Path,
    config: Config,
    environment: &Environment,
) -> Result<Options, SettingsError> {
    // Links resolved: a loop is the same file, under whatever name.
    let absolute = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let chain = ConfigChain::extend(&absolute, environment)?;
    let mut inherited = inherited(wanted, environment);
    inherited.set(nesting::VARIABLE, &chain.value());
    inherited.sandbox = walls::policy(Some(&absolute), environment);
    let logins = logins::of(&config.servers, environment);
    let pins = pins::home(environment).filter(|_| !wanted.simple);
    let mut options = Options {
        logins: logins.map(|logins| Arc::new(logins) as Arc<dyn Logins>),
        custom: config.custom,
        limits: Limits { shared: config.limits, ..wanted.limits() },
        inherited,
        ..remote_options(wanted, config.servers, wanted.naming(), environment)
    };
    options.shown.pins = pins.map(|files| Arc::new(files) as Arc<dyn PinHome>);
    Ok(options)
}

/// What the gateway needs for servers that no config file names.
pub(crate) fn remote_options(
    wanted: &StartOptions<'_>,
    servers: Vec<ServerSpec>,
    naming: Naming,
    environment: &Environment,
) -> Options {
    Options {
        servers,
        custom: Vec::new(),
        naming,
        shown: ShownTools {
            exposure: if wanted.simple { Exposure::Full } else { wanted.exposure },
            preset: wanted.servers.preset.clone(),
            pins: None,
            grant: None,
        },
        info: wanted.face(),
        limits: wanted.limits(),
        run: RunPolicy { restart: wanted.restart, ..RunPolicy::default() },
        caller_tells_failures: false,
        inherited: inherited(wanted, environment),
        declared: wanted.declared.clone(),
        network: network(environment),
        events: None,
        traces: None,
        logins: None,
        listings: None,
    }
}

/// The proxies that the environment names. Of a variable that cannot be used its name is told, once.
fn network(environment: &Environment) -> Network {
    static TOLD: Once = Once::new();
    let (proxies, faults) = Proxies::read(&environment.all());
    TOLD.call_once(|| {
        for fault in &faults {
            tracing::warn!("{fault}; it is not used until it is corrected");
        }
    });
    Network { proxies, ..Network::default() }
}

/// Servers never get the token that lets clients in, not even with `--pass-env '*'`.
pub(crate) fn inherited(wanted: &StartOptions<'_>, environment: &Environment) -> Inherited {
    let mut variables = environment.all();
    // Before the choice, so that no pattern of `--pass-env` can name one of them.
    variables.retain(|(name, _)| !OWN.iter().any(|own| name == own));
    Inherited::choose(variables, &wanted.servers.pass_env)
}

/// Variables that only Trunkline needs. A server that has to send traces with the same headers is
/// given them in its own `env`.
const OWN: [&str; 10] = [
    TOKEN,
    STORE,
    KEY,
    ADMIN_TOKEN,
    LLM_KEY,
    EMBED_KEY,
    OIDC_CLIENT_SECRET,
    HEADERS[0],
    HEADERS[1],
    HEADERS[2],
];

/// The variables of the platform.
pub(crate) const STORE: &str = "TRUNKLINE_STORE";
pub(crate) const KEY: &str = "TRUNKLINE_KEY";
pub(crate) const ADMIN_TOKEN: &str = "TRUNKLINE_ADMIN_TOKEN";
pub(crate) const LLM_KEY: &str = "TRUNKLINE_LLM_KEY";
pub(crate) const EMBED_KEY: &str = "TRUNKLINE_EMBED_KEY";
pub(crate) const OIDC_CLIENT_SECRET: &str = "TRUNKLINE_OIDC_CLIENT_SECRET";

/// The variable for the token of `serve`.
pub(crate) const TOKEN: &str = "TRUNKLINE_TOKEN";

impl StartOptions<'_> {
    fn naming(&self) -> Naming {
        let separator = self.servers.separator.as_deref().unwrap_or(self.separator);
        match self.servers.client {
            Some(client) => Naming::for_client(separator, client),
            None => Naming::canonical(separator),
        }
    }

    fn face(&self) -> GatewayInfo {
        let (name, version) = if self.simple {
            ("mcp-simple-aggregator", "1.0.0")
        } else {
            ("trunkline", env!("CARGO_PKG_VERSION"))
        };
        let identity = self.identity;
        GatewayInfo {
            name: identity.name.clone().unwrap_or_else(|| name.to_owned()),
            version: identity.version.clone().unwrap_or_else(|| version.to_owned()),
            simple: self.simple,
        }
    }

    pub(crate) fn limits(&self) -> Limits {
        let usual = Limits::default();
        let start = self.servers.start_timeout.or(self.patience).unwrap_or(usual.start);
        // `--call-timeout 0` means no timeout.
        let call = |limit| Some(limit).filter(|limit| *limit > Duration::ZERO);
        Limits {
            start,
            // A server must not be given up while a client still waits for its start.
            give_up: usual.give_up.max(start),
            call: self.bounds.call_timeout.map_or(usual.call, call),
            message: self.bounds.max_message.unwrap_or(usual.message),
            body: self.bounds.max_message.unwrap_or(usual.body),
            ..usual
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logging::LogFlags;

    fn servers(separator: Option<&str>, pass_env: &[&str]) -> Servers {
        Servers {
            config: None,
            separator: separator.map(str::to_owned),
            client: None,
            preset: None,
            pass_env: pass_env.iter().map(ToString::to_string).collect(),
            log: LogFlags::default(),
            start_timeout: None,
        }
    }

    fn wanted<'w>(
        servers: &'w Servers,
        identity: &'w Identity,
        bounds: &'w Bounds,
    ) -> StartOptions<'w> {
        StartOptions {
            servers,
            identity,
            bounds,
            simple: false,
            restart: Restart::Never,
            declared: Declared::nothing(),
            separator: ".",
            patience: Some(Duration::from_secs(30)),
            exposure: Exposure::Full,
        }
    }

    #[test]
    fn the_token_is_never_passed_on() {
        let environment =
            Environment::of(&[(TOKEN, "t0psecret"), (HEADERS[0], "t0psecret"), ("PATH", "/bin")]);
        for pass_env in [vec![], vec!["*"], vec![TOKEN, HEADERS[0]]] {
            let servers = servers(None, &pass_env);
            let (identity, bounds) = (Identity::default(), Bounds::default());
            let passed = inherited(&wanted(&servers, &identity, &bounds), &environment);
            let passed = format!("{passed:?}");
            assert!(passed.contains("PATH") && !passed.contains("t0psecret"), "{passed}");
        }
    }

    #[test]
    fn what_is_said_goes_before_what_is_usual() {
        let identity = Identity { name: Some("n".to_owned()), version: None };
        let (none, some) = (servers(None, &[]), servers(Some("/"), &[]));
        let bounds = Bounds { call_timeout: Some(Duration::ZERO), max_message: Some(4096) };
        let usual = wanted(&none, &identity, &bounds);
        assert_eq!(usual.naming().exposed("a", "b"), "a.b");
        assert_eq!(wanted(&some, &identity, &bounds).naming().exposed("a", "b"), "a/b");
        let limits = usual.limits();
        assert_eq!((limits.call, limits.message, limits.body), (None, 4096, 4096));
        assert_eq!(limits.start, Duration::from_secs(30));
        let face = usual.face();
        assert_eq!((face.name.as_str(), face.version.as_str()), ("n", env!("CARGO_PKG_VERSION")));
    }

    #[test]
    fn co_8_the_environment_names_the_config() {
        let environment = Environment::of(&[("MCP_PROXY_CONFIG_PATH", "/e")]);
        let path = |argument: &str| config_path(Some(Path::new(argument)), &environment).ok();
        assert_eq!(path("/a"), Some(PathBuf::from("/a")));
        assert_eq!(path(""), Some(PathBuf::from("/e")));
        assert!(config_path(None, &Environment::of(&[])).is_err());
    }
}
