//! The flags of `review`.

use clap::{Args, Subcommand};

use super::own::ConfigArg;

#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ReviewArgs {
    #[command(flatten)]
    pub(crate) at: ConfigArg,
    #[command(subcommand)]
    pub(crate) command: Option<ReviewCommand>,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ReviewCommand {
    /// Show what has changed, of one server or one definition
    Show(ReviewShow),
    /// Approve what has changed: clients are shown it from now on
    Approve(ReviewChoice),
    /// Reject what has changed: clients keep what was approved, until it changes again
    Reject(ReviewChoice),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ReviewChoice {
    /// The server
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    /// A tool, `prompt:NAME`, `template:URI` or `instructions`, perhaps with `@` and the hash that
    /// `trunkline review` shows; without any: everything that waits
    #[arg(value_name = "ITEM")]
    pub(crate) items: Vec<String>,
    #[command(flatten)]
    pub(crate) at: ConfigArg,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ReviewShow {
    #[command(flatten)]
    pub(crate) choice: ReviewChoice,
    /// Every line of the difference, and the whole hash: what is longer than `trunkline review` shows is
    /// approved with that
    #[arg(long)]
    pub(crate) full: bool,
}
