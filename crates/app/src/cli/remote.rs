//! The flags of commands that talk to a running `serve`: `status`, `logs`, `top`, `servers`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args, Subcommand};
use trunkline_control::api::view::OUTCOMES;
use trunkline_http::Url;

use super::values::{Header, Token, header, interval, url, whole};

/// How the running `serve` is reached.
#[derive(Args, Clone, Debug)]
pub(crate) struct ServeTarget {
    /// Where it listens [default: `http://127.0.0.1:3006`, or `$PORT`]
    #[arg(long, value_name = "URL", value_parser = url)]
    pub(crate) url: Option<Url>,
    /// The token to show; better set as `TRUNKLINE_TOKEN` or `TRUNKLINE_ADMIN_TOKEN`
    #[arg(long, value_name = "TOKEN", value_parser = Token::parse)]
    pub(crate) token: Option<Token>,
    /// Its data directory, to take the admin's token from
    #[arg(long, value_name = "DIR", conflicts_with = "token")]
    pub(crate) data_dir: Option<PathBuf>,
    /// JSON instead of words: one object, or one a line where it goes on
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Exit codes: 0 it is ready and every server is up, 1 something is not, 2 usage."
)]
pub(crate) struct StatusArgs {
    /// Only this server, with what is known about it
    #[arg(value_name = "SERVER")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) at: ServeTarget,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Logs {
    /// Only of this server
    #[arg(value_name = "SERVER")]
    pub(crate) server: Option<String>,
    /// Go on: print what happens as it happens
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// How many records of the past
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50, value_parser = whole::<u16>)]
    pub(crate) lines: u16,
    /// Only this tool, as its server calls it
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Only what ended so
    #[arg(long, value_name = "WORD", value_parser = PossibleValuesParser::new(OUTCOMES))]
    pub(crate) outcome: Option<String>,
    /// Only of this shared runtime: its pid, or the beginning of its id, as `ps` shows them
    #[arg(long, value_name = "RUNTIME", conflicts_with_all = ["url", "token", "data_dir"])]
    pub(crate) runtime: Option<String>,
    #[command(flatten)]
    pub(crate) at: ServeTarget,
}

#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Keys: q leaves, s sorts by the next column. Without a terminal, plain lines are printed."
)]
pub(crate) struct Top {
    /// How often to look
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub(crate) interval: Duration,
    /// Stop after so many looks
    #[arg(long, short = 'n', value_name = "N", value_parser = whole::<u32>)]
    pub(crate) count: Option<u32>,
    #[command(flatten)]
    pub(crate) at: ServeTarget,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ServersArgs {
    #[command(subcommand)]
    pub(crate) command: ServersCommand,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ServersCommand {
    /// List the servers
    List {
        #[command(flatten)]
        at: ServeTarget,
    },
    /// Register a server: an address, or a command behind `--`
    Add(AddServer),
    /// Connect a server
    Connect(OneServer),
    /// Disconnect a server; open calls have 30 seconds to end
    Disconnect(OneServer),
    /// Remove a server that was registered
    Remove(OneServer),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct OneServer {
    /// Its name or id
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) at: ServeTarget,
}

#[derive(Args, Clone, Debug)]
#[command(group = ArgGroup::new("reached").args(["address", "command"]).required(true))]
pub(crate) struct AddServer {
    /// Its name: the prefix of its tools
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Where it is
    #[arg(long = "address", value_name = "URL", value_parser = url)]
    pub(crate) address: Option<Url>,
    /// It speaks the older HTTP+SSE
    #[arg(long, requires = "address")]
    pub(crate) sse: bool,
    /// Send this header to it, as 'Name: value' (repeatable)
    #[arg(long, value_name = "HEADER", value_parser = header, requires = "address")]
    pub(crate) header: Vec<Header>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Do not connect it now
    #[arg(long)]
    pub(crate) no_connect: bool,
    #[command(flatten)]
    pub(crate) at: ServeTarget,
    /// The command and its arguments (`serve` has to allow commands)
    #[arg(value_name = "COMMAND", last = true)]
    pub(crate) command: Vec<String>,
}
