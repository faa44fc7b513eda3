//! `trunkline sandbox`: the walls around a server.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use trunkline_catalog::config::SandboxProfile;

use super::servers::Servers;
use super::values::{sandbox, seconds};
use crate::logging::LogFlags;

#[derive(Args, Clone, Debug)]
pub(crate) struct SandboxArgs {
    #[command(subcommand)]
    pub(crate) command: SandboxCommand,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Print what a server of the config may read, write and reach
    Show(ShowSandbox),
    /// Run a server watched, without walls, and print the smallest ones it works in, for the config
    Learn(LearnSandbox),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct LearnSandbox {
    /// The key of the server
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    /// The `mcpServers` file [default: `$MCP_PROXY_CONFIG_PATH`, else your own (`trunkline path`)]
    #[arg(long, value_name = "PATH")]
    pub(crate) config: Option<PathBuf>,
    /// Watch on for so long, or until the input ends: each line `TOOL {ARGUMENTS}` is a call
    #[arg(long = "for", value_name = "TIME", value_parser = seconds)]
    pub(crate) time: Option<Duration>,
    /// Tools to call, each with its arguments as one JSON object
    #[arg(value_name = "CALL", last = true)]
    pub(crate) calls: Vec<String>,
    #[command(flatten)]
    pub(crate) log: LogFlags,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ShowSandbox {
    /// The key of the server
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    /// One JSON object on standard output instead of words
    #[arg(long)]
    pub(crate) json: bool,
    /// What holds for servers that do not say it themselves, as `serve` has it: a platform has `standard`
    #[arg(long, value_name = "PROFILE", value_parser = sandbox)]
    pub(crate) sandbox: Option<SandboxProfile>,
    #[command(flatten)]
    pub(crate) servers: Servers,
}
