//! The flags of the commands that change a config: `add`, `remove`, `enable`, `disable`, `edit`, `list`,
//! `undo`, `path`, `tools enable|disable`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use trunkline_catalog::client::Client;

use super::values::{Header, client, header, seconds};
use crate::logging::LogFlags;

/// Which config.
#[derive(Args, Clone, Debug)]
pub(crate) struct ConfigArg {
    /// The config [default: `$MCP_PROXY_CONFIG_PATH`, else your own (`trunkline path`)]
    #[arg(long, value_name = "PATH")]
    pub(crate) config: Option<PathBuf>,
    /// One JSON object on standard output instead of words
    #[arg(long)]
    pub(crate) json: bool,
}

/// The check before a change is written.
#[derive(Args, Clone, Debug)]
pub(crate) struct StartCheck {
    /// Write it without starting the server first
    #[arg(long)]
    pub(crate) no_check: bool,
    /// How long the server may take to start [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) start_timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) log: LogFlags,
}

#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  trunkline add git -- uvx mcp-server-git
  trunkline add sentry https://mcp.sentry.dev/mcp
  trunkline add 'claude mcp add --env KEY=… db -- npx -y some-server'
  wl-paste | trunkline add                  an mcpServers snippet, a server.json of the MCP registry
The server is started before it is written. Values may be references: --env 'KEY=${KEY}'.")]
pub(crate) struct Add {
    /// A name, then the server's URL or (better behind --) its command; or what was copied elsewhere:
    /// JSON with servers, or a line such as `claude mcp add …`. Without any, or with -: standard input
    #[arg(value_name = "NAME|TEXT")]
    pub(crate) words: Vec<String>,
    /// The command and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Set this variable for the server, as NAME=VALUE (repeatable)
    #[arg(long, short, value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) env: Vec<EnvPair>,
    /// Send this header to the URL, as 'Name: value' (repeatable)
    #[arg(long, short = 'H', value_name = "HEADER", value_parser = header)]
    pub(crate) header: Vec<Header>,
    /// How the URL is spoken to; without it both ways are tried
    #[arg(long, short, value_name = "HOW", value_parser = ["http", "sse", "stdio"])]
    pub(crate) transport: Option<String>,
    /// Accepted for lines of other programs, and not needed
    #[arg(long, short, value_name = "SCOPE", hide = true)]
    pub(crate) scope: Option<String>,
    /// The working directory of the command
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// Write it switched off, and do not start it
    #[arg(long)]
    pub(crate) disabled: bool,
    /// Replace a server of the same name
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) check: StartCheck,
    #[command(flatten)]
    pub(crate) at: ConfigArg,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Remove {
    /// The servers
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) at: ConfigArg,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Enable {
    /// The servers
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) check: StartCheck,
    #[command(flatten)]
    pub(crate) at: ConfigArg,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Edit {
    #[command(flatten)]
    pub(crate) check: StartCheck,
    #[command(flatten)]
    pub(crate) at: ConfigArg,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) at: ConfigArg,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Undo {
    /// Take so many changes back
    #[arg(long, short = 'n', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) steps: u32,
    /// Also if the file has been changed since by hand or by another program
    #[arg(long)]
    pub(crate) force: bool,
    /// Show the changes that can be taken back, and do nothing
    #[arg(long, conflicts_with = "force")]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) at: ConfigArg,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ConfigPath {
    /// One JSON object on standard output instead of the path
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Offer tools again, to every client or to one
    Enable(SwitchTools),
    /// Do not offer tools any more, to any client or to one
    Disable(SwitchTools),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct SwitchTools {
    /// The tools, as SERVER:TOOL; `*` in TOOL is anything
    #[arg(value_name = "TOOL", required = true)]
    pub(crate) names: Vec<String>,
    /// Only for this client
    #[arg(long = "for", value_name = "CLIENT", value_parser = client)]
    pub(crate) client: Option<Client>,
    #[command(flatten)]
    pub(crate) check: StartCheck,
    #[command(flatten)]
    pub(crate) at: ConfigArg,
}

/// A variable and its value. `Debug` shows the name only.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct EnvPair {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl std::fmt::Debug for EnvPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EnvPair").field("name", &self.name).finish_non_exhaustive()
    }
}

fn pair(text: &str) -> Result<EnvPair, String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => {
            Ok(EnvPair { name: name.to_owned(), value: value.to_owned() })
        }
        _ => Err("must be written as NAME=VALUE".to_owned()),
    }
}
