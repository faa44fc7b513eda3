//! Flags that several commands share: config, tool names, environment, log, timeouts and limits.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use trunkline_catalog::client::Client;

use super::values::{bytes, client, seconds, separator, variable};
use crate::logging::LogFlags;

/// The config and its servers.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Servers {
    /// The `mcpServers` file [default: `$MCP_PROXY_CONFIG_PATH`, else your own (`trunkline path`)]
    #[arg(long, value_name = "PATH")]
    pub(crate) config: Option<PathBuf>,
    /// Put S between server key and tool name [default: `:`; `serve`: `.`]
    #[arg(long, value_name = "S", value_parser = separator)]
    pub(crate) separator: Option<String>,
    #[arg(
        long = "for",
        value_name = "CLIENT",
        value_parser = client,
        help = format!(
            "Give tools names that CLIENT accepts ({})",
            Client::ALL.map(Client::id).join(", ")
        )
    )]
    pub(crate) client: Option<Client>,
    /// Show only the servers and tools of this preset of the config
    /// [default: the one the config gives the client of `--for`]
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<String>,
    /// Pass these variables of the environment on to every server (A,B or repeated; `*` = all)
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = variable)]
    pub(crate) pass_env: Vec<String>,
    #[command(flatten)]
    pub(crate) log: LogFlags,
    /// How long servers that are still starting are waited for: by the first list a client asks for
    /// [default: 5], by a command [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) start_timeout: Option<Duration>,
}

/// What clients are told about us.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Identity {
    /// The name told to clients [default: trunkline]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The version told to clients; without a value: print the program's version
    #[arg(long, short = 'V', value_name = "VERSION", num_args = 0..=1, default_missing_value = "")]
    pub(crate) version: Option<String>,
}

impl Identity {
    /// `--version` without a value.
    pub(super) fn asks_for_version(&self) -> bool {
        self.version.as_deref() == Some("")
    }
}

/// What passes through.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Bounds {
    /// How long a call may take before its caller gets an error; 0 = for ever [default: 600]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) call_timeout: Option<Duration>,
    /// The longest message accepted from a client or a server [default: 64M; over HTTP, of a client: 4M]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) max_message: Option<usize>,
}
