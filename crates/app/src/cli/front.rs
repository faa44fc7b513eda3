//! The flags of the two fronts: stdio and HTTP.

use clap::Args;
use trunkline_catalog::Exposure;
use trunkline_http::Url;

use super::platform::PlatformFlags;
use super::servers::{Bounds, Identity, Servers};
use super::values::{Token, exposure, host, origin, url};
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
    /// Start a server that failed again, with growing pauses
    #[arg(long)]
    pub(crate) restart: bool,
    #[command(flatten)]
    pub(crate) identity: Identity,
    #[command(flatten)]
    pub(crate) bounds: Bounds,
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
    /// A name clients use for this machine, besides the address it listens on (repeatable)
    #[arg(long, value_name = "NAME", value_parser = host)]
    pub(crate) allow_host: Vec<String>,
    /// An origin from which web pages may connect (repeatable)
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    pub(crate) allow_origin: Vec<String>,
    /// Which tools are listed: all (full), or pinned ones and tools that find and call the others
    /// (search); auto: all, unless there are more than the client of `--for` carries
    #[arg(long, value_name = "HOW", value_parser = exposure, default_value = "auto")]
    pub(crate) expose: Exposure,
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
