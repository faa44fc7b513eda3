//! The flags of `setup`.

use std::path::PathBuf;

use clap::Args;
use trunkline_catalog::Exposure;
use trunkline_catalog::client::Client;

use super::values::{client_list, exposure, with_file};
use crate::logging::LogFlags;

#[derive(Args, Clone, Debug)]
#[command(after_help = format!("\
Shows what it will do and asks once. Where nobody can be asked it shows the plan and changes nothing,
unless --yes is given. Every file that is changed has a backup; --undo puts all of them back.
Clients: {}.
Exit codes: 0 done (or nothing to do), 1 a file could not be changed or a server does not start, 2 usage.",
    client_list("and")))]
pub(crate) struct Setup {
    /// Do it without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Show what would be done, and write nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Put every file back that `setup` has changed
    #[arg(long, conflicts_with_all = ["project", "client", "expose", "separate", "no_check"])]
    pub(crate) undo: bool,
    /// Only these clients (A,B or repeated) [default: all that are found]
    #[arg(long, value_name = "CLIENT", value_delimiter = ',', value_parser = with_file)]
    pub(crate) client: Vec<Client>,
    /// Also move the servers of the project in DIR [default: the current folder]
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    pub(crate) project: Option<PathBuf>,
    /// The config that gets the servers; made if it is not there
    /// [default: `$MCP_PROXY_CONFIG_PATH`, else your own (`trunkline path`)]
    #[arg(long, value_name = "PATH")]
    pub(crate) config: Option<PathBuf>,
    /// Which tools the clients list: `auto`, `full` or `search` (four tools that find the others)
    #[arg(long, value_name = "MODE", value_parser = exposure)]
    pub(crate) expose: Option<Exposure>,
    /// Each client goes on seeing only the servers it has now: `presets` in the config say which
    #[arg(long)]
    pub(crate) separate: bool,
    /// Do not start the servers afterwards to see how they do
    #[arg(long)]
    pub(crate) no_check: bool,
    /// One JSON object on standard output instead of words; without --yes: the plan
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) log: LogFlags,
}
