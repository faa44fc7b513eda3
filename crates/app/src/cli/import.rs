//! The flags of `import` and `consolidate`.

use std::path::PathBuf;

use clap::Args;

use super::install::ClientFile;
use super::values::client_list;
use crate::import::FileOwner;

#[derive(Args, Clone, Debug)]
#[command(after_help = format!("\
Clients: {}.
Values that may be secrets go into the new config as they are; on a terminal they are shown as `*`.",
    client_list("and")))]
pub(crate) struct Import {
    /// Only the servers of these clients (A,B or repeated) [default: all that are found]
    #[arg(long, value_name = "CLIENT", value_delimiter = ',', conflicts_with = "file")]
    pub(crate) from: Vec<FileOwner>,
    /// Read this file instead of looking for the clients' own
    #[arg(long, value_name = "PATH", requires = "format")]
    pub(crate) file: Option<PathBuf>,
    /// Whose words that file is written in: a client, or `trunkline`
    #[arg(long, value_name = "CLIENT", requires = "file")]
    pub(crate) format: Option<FileOwner>,
    /// Write in this client's words instead of Trunkline's
    #[arg(long, value_name = "CLIENT", default_value = "trunkline")]
    pub(crate) to: FileOwner,
    /// Write the new config here (only its owner may read it) [default: standard output]
    #[arg(long, short, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Write over a file that is there, with a backup
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Show what was found and what would be written, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The folder whose project files count, too [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Also the servers Claude Code keeps for other projects
    #[arg(long)]
    pub(crate) all_projects: bool,
    /// What was found as one JSON object; the config goes to --output only
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Consolidate {
    #[command(flatten)]
    pub(crate) at: ClientFile,
    /// The `mcpServers` file that gets the servers; made if it is not there
    /// [default: `$MCP_PROXY_CONFIG_PATH`, else your own (`trunkline path`)]
    #[arg(long, value_name = "PATH")]
    pub(crate) config: Option<PathBuf>,
    /// The name of Trunkline's entry [default: trunkline]
    #[arg(long, value_name = "KEY")]
    pub(crate) name: Option<String>,
}
