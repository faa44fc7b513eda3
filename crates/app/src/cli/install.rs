//! The flags of `check`, and of the commands that change a client's own file.

use std::path::PathBuf;

use clap::Args;
use trunkline_catalog::client::Client;
use trunkline_http::Url;

use super::servers::Servers;
use super::values::{Token, client_list, url, variable_name, with_file};

#[derive(Args, Clone, Debug)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Check as the literal simple aggregator: stdio servers, standard config keys only
    #[arg(long)]
    pub(crate) simple: bool,
    /// One JSON object on standard output instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which file of which client.
#[derive(Args, Clone, Debug)]
pub(crate) struct ClientFile {
    #[arg(value_name = "CLIENT", value_parser = with_file, help = client_list("or"))]
    pub(crate) client: Client,
    /// The project's config in DIR instead of the user's
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// This file instead of the client's usual one
    #[arg(long, value_name = "PATH", conflicts_with = "project")]
    pub(crate) file: Option<PathBuf>,
    /// Show what would be written, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// One JSON object on standard output instead of words
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Install {
    #[command(flatten)]
    pub(crate) at: ClientFile,
    /// The `mcpServers` file Trunkline shall serve
    /// [default: `$MCP_PROXY_CONFIG_PATH`, else your own (`trunkline path`)]
    #[arg(long, value_name = "PATH")]
    pub(crate) config: Option<PathBuf>,
    /// Connect the client to a `serve` that runs, instead of starting a command: http://HOST:PORT
    #[arg(long, value_name = "URL", value_parser = url, conflicts_with = "config")]
    pub(crate) url: Option<Url>,
    /// The token of that `serve`; it is written into the client's file
    #[arg(long, value_name = "TOKEN", value_parser = Token::parse, requires = "url")]
    pub(crate) token: Option<Token>,
    /// The variable in which the client finds the token of that `serve`
    #[arg(long, value_name = "NAME", value_parser = variable_name, requires = "url", conflicts_with = "token")]
    pub(crate) token_env: Option<String>,
    /// Leave servers in the client's file that the config has, too: the client will have them twice
    #[arg(long, conflicts_with = "url")]
    pub(crate) keep: bool,
    /// The name of the entry [default: trunkline]
    #[arg(long, value_name = "KEY")]
    pub(crate) name: Option<String>,
    /// Replace an entry of the same name that is not Trunkline's
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Uninstall {
    #[command(flatten)]
    pub(crate) at: ClientFile,
    /// The name of the entry [default: trunkline]
    #[arg(long, value_name = "KEY")]
    pub(crate) name: Option<String>,
    /// Take out an entry of that name that is not Trunkline's
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Restore {
    #[command(flatten)]
    pub(crate) at: ClientFile,
    /// Put this backup back instead of the newest
    #[arg(long, value_name = "PATH")]
    pub(crate) backup: Option<PathBuf>,
    /// Put every byte back, also what the client itself has changed since
    #[arg(long)]
    pub(crate) whole: bool,
    /// Show the backups there are, and do nothing
    #[arg(long, conflicts_with_all = ["backup", "whole", "dry_run"])]
    pub(crate) list: bool,
}
