//! The flags of `cache`.

use clap::{Args, Subcommand};

#[derive(Args, Clone, Debug)]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    pub(crate) command: CacheCommand,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// Show which servers are remembered, and how much of them
    Show(CacheShow),
    /// Forget what is remembered: the next start asks the servers again
    Clear(CacheClear),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct CacheShow {
    /// Only the server with this key (in whatever config)
    #[arg(value_name = "SERVER")]
    pub(crate) server: Option<String>,
    /// JSON instead of words
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct CacheClear {
    /// Only the servers with these keys (in whatever config); without any: all
    #[arg(value_name = "SERVER")]
    pub(crate) servers: Vec<String>,
    /// JSON instead of words
    #[arg(long)]
    pub(crate) json: bool,
}
