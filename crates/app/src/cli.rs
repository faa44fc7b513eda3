//! The command line: raw arguments -> what was asked for.

use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use trunkline_catalog::name::Client;

use crate::{Program, USAGE, speak};

/// One MCP endpoint in front of every MCP server you have.
///
/// Without a command, Trunkline is an MCP server on standard input and output: it starts the
/// servers of a plain `mcpServers` config and exposes their tools as `server:tool`.
#[derive(Debug, Parser)]
#[command(
    name = "trunkline",
    disable_version_flag = true,
    disable_help_subcommand = true,
    subcommand_negates_reqs = true,
    args_conflicts_with_subcommands = true,
    after_help = "Exit codes: 0 ok, 1 it failed, 2 usage or config error."
)]
struct Cli {
    #[command(flatten)]
    serve: Serve,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Validate the config, start every server, print a table, stop them again
    Check(Check),
    /// Write Trunkline's entry into a client's own config file (with a backup)
    Install(Install),
}

/// What concerns the config and its servers.
#[derive(Args, Clone, Debug)]
pub(crate) struct Common {
    /// The `mcpServers` file [default: `$MCP_PROXY_CONFIG_PATH`]
    #[arg(long, value_name = "PATH")]
    pub(crate) config: Option<PathBuf>,
    /// Be the literal simple aggregator: stdio servers and tools only, standard config keys only
    #[arg(long)]
    pub(crate) simple: bool,
    /// Put S between server key and tool name [default: `:`]
    #[arg(long, value_name = "S", value_parser = separator)]
    pub(crate) separator: Option<String>,
    /// Give tools names that CLIENT accepts (claude-desktop, claude-code, cursor, codex, vscode,
    /// gemini, zed, openai)
    #[arg(long = "for", value_name = "CLIENT", value_parser = client)]
    pub(crate) client: Option<Client>,
    /// Pass these variables of the environment on to every server (A,B or repeated; `*` = all)
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = variable)]
    pub(crate) pass_env: Vec<String>,
    /// Log more than errors and warnings (to stderr)
    #[arg(long)]
    pub(crate) debug: bool,
    /// How long servers that are still starting are waited for: by the first tool list [default: 5],
    /// by `check` [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) start_timeout: Option<Duration>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Start a server that failed again, with growing pauses
    #[arg(long)]
    pub(crate) restart: bool,
    /// The name told to clients [default: trunkline]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The version told to clients; without a value: print the program's version
    #[arg(long, short = 'V', value_name = "VERSION", num_args = 0..=1, default_missing_value = "")]
    pub(crate) version: Option<String>,
    /// How long a call may take before its caller gets an error; 0 = for ever [default: 600]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) call_timeout: Option<Duration>,
    /// The longest message accepted from a client or a server [default: 64M]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) max_message: Option<usize>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) common: Common,
    /// One JSON object on standard output instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Install {
    /// claude-desktop, claude-code, cursor, codex, vscode, gemini or zed
    #[arg(value_name = "CLIENT", value_parser = client)]
    pub(crate) client: Client,
    /// The `mcpServers` file Trunkline shall serve [default: `$MCP_PROXY_CONFIG_PATH`]
    #[arg(long, value_name = "PATH")]
    pub(crate) config: Option<PathBuf>,
    /// The name of the entry [default: trunkline]
    #[arg(long, value_name = "KEY")]
    pub(crate) name: Option<String>,
    /// Write into the project's config in DIR instead of the user's
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Write into this file instead of the client's usual one
    #[arg(long, value_name = "PATH", conflicts_with = "project")]
    pub(crate) file: Option<PathBuf>,
    /// Show what would be written, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Replace an entry of the same name that is not Trunkline's
    #[arg(long)]
    pub(crate) force: bool,
}

impl Serve {
    /// The settings of a check: the same servers, started with more patience, once.
    pub(crate) fn for_check(check: &Check, patience: Duration) -> Self {
        let mut common = check.common.clone();
        common.start_timeout.get_or_insert(patience);
        Self {
            common,
            restart: false,
            name: None,
            version: None,
            call_timeout: None,
            max_message: None,
        }
    }
}

/// What the user wants.
#[derive(Debug)]
pub(crate) enum Asked {
    Serve(Serve),
    Check(Check),
    Install(Install),
    Version,
}

/// Something to tell instead of working: help, or what is wrong with the arguments.
#[derive(Debug)]
pub(crate) struct Told(clap::Error);

impl Told {
    pub(crate) fn tell(&self) -> u8 {
        match self.0.kind() {
            ErrorKind::DisplayHelp => speak::out(&self.0.render().to_string()),
            _ if speak::stderr_is_terminal() => {
                speak::problem(&self.0.render().ansi().to_string(), USAGE)
            }
            _ => speak::problem(&self.0.render().to_string(), USAGE),
        }
    }
}

pub(crate) fn parse(program: Program) -> Result<Asked, Told> {
    let mut command = Cli::command();
    if program == Program::SimpleAggregator {
        command = command.name("mcp-simple-aggregator").bin_name("mcp-simple-aggregator").about(
            "Aggregates the stdio MCP servers of an mcpServers config: tools as `server:tool`",
        );
    }
    let matches = command.try_get_matches().map_err(Told)?;
    let cli = Cli::from_arg_matches(&matches).map_err(Told)?;
    Ok(match cli.command {
        Some(Command::Check(mut check)) => {
            check.common.simple |= program == Program::SimpleAggregator;
            Asked::Check(check)
        }
        Some(Command::Install(install)) => Asked::Install(install),
        None if cli.serve.version.as_deref() == Some("") => Asked::Version,
        None => {
            let mut serve = cli.serve;
            serve.common.simple |= program == Program::SimpleAggregator;
            Asked::Serve(serve)
        }
    })
}

pub(crate) fn version_line(program: Program) -> String {
    let name = match program {
        Program::Trunkline => "trunkline",
        Program::SimpleAggregator => "mcp-simple-aggregator",
    };
    format!("{name} {}", env!("CARGO_PKG_VERSION"))
}

fn client(text: &str) -> Result<Client, String> {
    text.parse().map_err(|unknown: trunkline_catalog::name::UnknownClient| unknown.to_string())
}

fn variable(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains('=') {
        return Err("must be the name of a variable (or `*`)".to_owned());
    }
    Ok(text.to_owned())
}

fn separator(text: &str) -> Result<String, String> {
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err("must be at least one printable character".to_owned());
    }
    Ok(text.to_owned())
}

/// `5`, `0.5`, `500ms`, `30s`, `2m`.
fn seconds(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.find(|c: char| c.is_ascii_alphabetic()) {
        Some(at) => text.split_at(at),
        None => (text, "s"),
    };
    let factor = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("unknown unit (use ms, s, m or h)".to_owned()),
    };
    let number: f64 = number.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(number * factor)
        .ok()
        .filter(|duration| *duration <= LONGEST_WAIT)
        .ok_or_else(|| "must lie between 0 and 1000 hours".to_owned())
}

const LONGEST_WAIT: Duration = Duration::from_secs(3600 * 1000);

/// `1048576`, `512K`, `64M`, `1G`.
fn bytes(text: &str) -> Result<usize, String> {
    let bare = text.trim_end_matches("iB").trim_end_matches('B');
    let (number, factor) = match bare.char_indices().last() {
        Some((at, 'k' | 'K')) => (bare.get(..at), 1 << 10),
        Some((at, 'm' | 'M')) => (bare.get(..at), 1 << 20),
        Some((at, 'g' | 'G')) => (bare.get(..at), 1 << 30),
        _ => (Some(bare), 1),
    };
    let number: Option<usize> = number.and_then(|number| number.parse().ok());
    number
        .ok_or_else(|| "not a number of bytes (such as 1048576, 512K or 64M)".to_owned())?
        .checked_mul(factor)
        .filter(|bytes| (SMALLEST_MESSAGE..=LARGEST_MESSAGE).contains(bytes))
        .ok_or_else(|| "must lie between 1K and 2G".to_owned())
}

const SMALLEST_MESSAGE: usize = 1 << 10;
const LARGEST_MESSAGE: usize = 2 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn times() {
        for (text, expected) in [
            ("5", Some(5000)),
            ("0.5", Some(500)),
            ("250ms", Some(250)),
            ("2m", Some(120_000)),
            ("0", Some(0)),
            ("-1", None),
            ("nan", None),
            ("inf", None),
            ("5x", None),
            ("", None),
        ] {
            let got = seconds(text).ok().map(|duration| duration.as_millis());
            assert_eq!(got, expected, "{text}");
        }
    }

    #[test]
    fn sizes() {
        for (text, expected) in [
            ("4096", Some(4096)),
            ("64M", Some(64 << 20)),
            ("1GiB", Some(1 << 30)),
            ("1023", None),
            ("3G", None),
            ("x", None),
            ("", None),
            ("99999999999999999999M", None),
        ] {
            assert_eq!(bytes(text).ok(), expected, "{text}");
        }
    }
}
