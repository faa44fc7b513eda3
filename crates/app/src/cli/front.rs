//! The flags of the two fronts: stdio and HTTP.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use trunkline_catalog::Exposure;
use trunkline_catalog::config::SandboxProfile;
use trunkline_http::Url;

use super::network::NetworkFlags;
use super::platform::PlatformFlags;
use super::servers::{Bounds, Identity, Servers};
use super::values::{Token, exposure, host, origin, sandbox, seconds, url};
use crate::demo::DemoName;
use crate::listen::Listen;

/// Without a command.
#[derive(Args, Clone, Debug)]
pub(crate) struct Stdio {
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Be the literal simple aggregator: stdio servers and tools only, standard config keys only
    #[arg(long, conflicts_with = "preset")]
    pub(crate) simple: bool,
    /// Which tools are listed: all (full), or pinned ones and tools that find and call the others
    /// (search); auto: all, unless there are more than the client of `--for` carries
    #[arg(long, value_name = "HOW", value_parser = exposure, default_value = "auto", conflicts_with = "simple")]
    pub(crate) expose: Exposure,
    /// Start a server that failed again, with growing pauses: the default, but for `--simple`
    #[arg(long)]
    pub(crate) restart: bool,
    /// Leave a server that failed down: the default of `--simple`
    #[arg(long, conflicts_with = "restart")]
    pub(crate) no_restart: bool,
    /// Start servers for this client alone, in this process [default: share them with the other clients
    /// of this user and config, or `$TRUNKLINE_SHARED`]
    #[arg(long)]
    pub(crate) no_shared: bool,
    /// How long the shared servers stay after the last client [default: 10m, or `$TRUNKLINE_LINGER`]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(crate) linger: Option<Duration>,
    #[command(flatten)]
    pub(crate) identity: Identity,
    #[command(flatten)]
    pub(crate) bounds: Bounds,
}

/// `runtime`: what a front starts.
#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
pub(crate) struct Runtime {
    /// The name of its socket
    #[arg(long, value_name = "ID", value_parser = runtime_id)]
    pub(crate) id: String,
    /// As its front was started
    #[command(flatten)]
    pub(crate) stdio: Stdio,
}

/// Only what a front makes: it becomes the name of files.
fn runtime_id(text: &str) -> Result<String, String> {
    match !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => Ok(text.to_owned()),
        false => Err("must be hexadecimal digits".to_owned()),
    }
}

/// Which runtimes a command is about.
#[derive(Args, Clone, Debug)]
pub(crate) struct RuntimeTarget {
    /// Only the runtimes of this config [default: all]
    #[arg(long, value_name = "PATH")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Ps {
    #[command(flatten)]
    pub(crate) at: RuntimeTarget,
    /// One JSON object on standard output instead of words
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Stop {
    /// Only this runtime: its pid, or the beginning of its id, as `ps` shows them
    #[arg(value_name = "RUNTIME", conflicts_with_all = ["config", "all"])]
    pub(crate) runtime: Option<String>,
    #[command(flatten)]
    pub(crate) at: RuntimeTarget,
    /// All runtimes, where there are several
    #[arg(long, conflicts_with = "config")]
    pub(crate) all: bool,
    /// Give open calls no time to end
    #[arg(long)]
    pub(crate) now: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct RestartArgs {
    /// Only this server [default: the whole runtime with all its servers]
    #[arg(value_name = "SERVER")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) at: RuntimeTarget,
    /// Only this runtime: its pid, or the beginning of its id, as `ps` shows them
    #[arg(long, value_name = "RUNTIME", conflicts_with = "config")]
    pub(crate) runtime: Option<String>,
}

/// `serve`: servers that fail are always started again.
#[derive(Args, Clone, Debug)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Show everything with servers inside the program, and keep nothing
    #[arg(long, conflicts_with_all = ["config", "data_dir", "store", "key_file", "keyring"])]
    pub(crate) demo: bool,
    /// Where to listen: ADDRESS:PORT, ADDRESS or PORT [default: 127.0.0.1, `$PORT` or 3006]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<Listen>,
    /// What clients must show as `Authorization: Bearer TOKEN`; better set as `TRUNKLINE_TOKEN`, where
    /// the process list does not show it
    #[arg(long, value_name = "TOKEN", value_parser = Token::parse)]
    pub(crate) token: Option<Token>,
    /// Let clients on this machine use a platform's MCP endpoint without a token; not with an address that
    /// others reach, and not while an API key exists
    #[arg(long)]
    pub(crate) open: bool,
    /// A name clients use for this machine, besides the address it listens on (repeatable)
    #[arg(long, value_name = "NAME", value_parser = host)]
    pub(crate) allow_host: Vec<String>,
    /// An origin from which web pages may connect (repeatable)
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    pub(crate) allow_origin: Vec<String>,
    #[command(flatten)]
    pub(crate) network: NetworkFlags,
    /// Which tools are listed: all (full), or pinned ones and tools that find and call the others
    /// (search); auto: all, unless there are more than the client of `--for` carries
    #[arg(long, value_name = "HOW", value_parser = exposure, default_value = "auto")]
    pub(crate) expose: Exposure,
    /// The walls around servers that are commands and do not say it themselves: off, standard or strict
    /// [default: standard for a platform, else off]
    #[arg(long, value_name = "PROFILE", value_parser = sandbox)]
    pub(crate) sandbox: Option<SandboxProfile>,
    /// Who may see and use what: a file with Cedar policies, or a directory with `*.cedar`, besides what the
    /// config names (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) policies: Vec<PathBuf>,
    /// Send traces of calls to the OpenTelemetry collector at URL, over OTLP/HTTP
    /// [default: `$OTEL_EXPORTER_OTLP_ENDPOINT`, or none]
    #[arg(long, value_name = "URL", value_parser = url)]
    pub(crate) otlp_endpoint: Option<Url>,
    #[command(flatten)]
    pub(crate) platform: PlatformFlags,
    #[command(flatten)]
    pub(crate) identity: Identity,
    #[command(flatten)]
    pub(crate) bounds: Bounds,
}

/// `demo-server`: what `serve --demo` starts.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct DemoServer {
    pub(crate) name: DemoName,
}
