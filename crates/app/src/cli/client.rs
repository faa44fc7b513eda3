//! The flags of the command-line client: `tools`, `search`, `call`, `resources`, `prompts`.

use std::path::PathBuf;

use clap::Args;
use trunkline_http::Url;

use super::own::ToolsCommand;
use super::servers::{Bounds, Servers};
use super::values::{Header, Token, header, url};

/// What is talked to: the servers of a config, or one that runs elsewhere.
#[derive(Args, Clone, Debug)]
pub(crate) struct ClientTarget {
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Talk to the MCP server at URL instead (Streamable HTTP or SSE)
    #[arg(long, value_name = "URL", value_parser = url, conflicts_with_all = ["config", "client", "preset", "separator", "pass_env"])]
    pub(crate) url: Option<Url>,
    /// Send this header to URL, as 'Name: value' (repeatable)
    #[arg(long, value_name = "HEADER", value_parser = header, requires = "url", conflicts_with = "config")]
    pub(crate) header: Vec<Header>,
    /// Send `Authorization: Bearer TOKEN` to URL
    #[arg(long, value_name = "TOKEN", value_parser = Token::parse, requires = "url", conflicts_with = "config")]
    pub(crate) token: Option<Token>,
    #[command(flatten)]
    pub(crate) bounds: Bounds,
    /// Print the result as it came, as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Tools {
    #[command(subcommand)]
    pub(crate) command: Option<ToolsCommand>,
    /// Describe this tool
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) target: ClientTarget,
}

#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Arguments are read as the tool's schema says:
  count=5 loud=true      by type; text stays text
  tags=a tags=b          an array: repeat it, or tags='[\"a\",\"b\"]'
  place.city=Rome        inside an object, or place='{\"city\":\"Rome\"}'
  key:=JSON              JSON as it is, whatever the schema says
  key=@FILE              the text of a file (@- is standard input; @@ is a real @)")]
pub(crate) struct Call {
    /// The tool
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Its arguments
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) pairs: Vec<String>,
    /// All arguments as one JSON object: the text itself, @FILE, or - for standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) args: Option<String>,
    /// Write images, audio and files of the result (else its text) to FILE
    #[arg(long, short, value_name = "FILE", conflicts_with = "json")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) target: ClientTarget,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Search {
    /// What the tool should do, or its name
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
    /// Show so many at most
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = many)]
    pub(crate) limit: usize,
    /// Only tools of this server (repeatable)
    #[arg(long, value_name = "SERVER", conflicts_with = "url")]
    pub(crate) server: Vec<String>,
    #[command(flatten)]
    pub(crate) target: ClientTarget,
}

fn many(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=1000).contains(number));
    number.ok_or_else(|| "a whole number from 1 to 1000".to_owned())
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Resources {
    /// Read this resource
    #[arg(value_name = "URI")]
    pub(crate) uri: Option<String>,
    /// Write what was read to FILE
    #[arg(long, short, value_name = "FILE", requires = "uri", conflicts_with = "json")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) target: ClientTarget,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Prompts {
    /// Get this prompt
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Its arguments
    #[arg(value_name = "KEY=VALUE", requires = "name")]
    pub(crate) pairs: Vec<String>,
    #[command(flatten)]
    pub(crate) target: ClientTarget,
}
