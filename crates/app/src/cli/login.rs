//! The flags of `login` and `logout`.

use std::path::PathBuf;

use clap::Args;
use trunkline_http::Url;

use super::values::{Token, url};

#[derive(Args, Clone, Debug)]
pub(crate) struct Login {
    #[command(flatten)]
    pub(crate) at: LoginTarget,
    /// Open the address in a browser: `$BROWSER`, or the one of this desktop
    #[arg(long)]
    pub(crate) open: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Logout {
    #[command(flatten)]
    pub(crate) at: LoginTarget,
}

/// Which server, and who knows it.
#[derive(Args, Clone, Debug)]
pub(crate) struct LoginTarget {
    /// The server, by its name
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    /// The `mcpServers` file it is in [default: `$MCP_PROXY_CONFIG_PATH`, else your own]
    #[arg(long, value_name = "PATH")]
    pub(crate) config: Option<PathBuf>,
    /// At the platform that is reached at URL instead
    #[arg(long, value_name = "URL", value_parser = url, conflicts_with = "config")]
    pub(crate) url: Option<Url>,
    /// What the platform is shown; better set as `TRUNKLINE_TOKEN`
    #[arg(long, value_name = "TOKEN", value_parser = Token::parse, requires = "url")]
    pub(crate) token: Option<Token>,
    /// JSON on standard output instead of words, one object in each line
    #[arg(long)]
    pub(crate) json: bool,
}
