//! The flags of `scan`.

use clap::Args;

use super::servers::Servers;

#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Exit codes: 0 nothing of severity medium or high was found, 1 something was (or a server did not \
                  start), 2 usage or config error."
)]
pub(crate) struct Scan {
    /// A server of the config, or a JSON file with definitions: a list of tools, the result of
    /// `tools/list`, or one tool [default: every server of the config]
    #[arg(value_name = "FILE|SERVER")]
    pub(crate) what: Option<String>,
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Also show what is of severity low and info
    #[arg(long)]
    pub(crate) all: bool,
    /// List the rules, with the reason of each
    #[arg(long, conflicts_with = "what")]
    pub(crate) rules: bool,
    /// One JSON object on standard output instead of words
    #[arg(long)]
    pub(crate) json: bool,
}
