//! `trunkline sandbox`: the walls around a server.

use clap::{Args, Subcommand};

use super::servers::Servers;

#[derive(Args, Clone, Debug)]
pub(crate) struct SandboxArgs {
    #[command(subcommand)]
    pub(crate) command: SandboxCommand,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Print what a server of the config may read, write and reach
    Show(ShowSandbox),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ShowSandbox {
    /// The key of the server
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    /// One JSON object on standard output instead of words
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) servers: Servers,
}
