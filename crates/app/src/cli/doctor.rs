//! The flags of `doctor`.

use std::path::PathBuf;

use clap::Args;

use super::servers::Servers;
use crate::listen::Listen;

#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Exit codes: 0 nothing is broken (warnings and notes may be there), 1 something is, 2 usage."
)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Do not start the servers: look at what can be seen without
    #[arg(long)]
    pub(crate) no_start: bool,
    /// Also call tools that say they change nothing and need no arguments, and compare the two halves of
    /// their results
    #[arg(long, conflicts_with = "no_start")]
    pub(crate) call: bool,
    /// Where `serve` is to listen [default: 127.0.0.1, `$PORT` or 3006]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<Listen>,
    /// The data directory of `serve`
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// One JSON object on standard output instead of words
    #[arg(long)]
    pub(crate) json: bool,
}
