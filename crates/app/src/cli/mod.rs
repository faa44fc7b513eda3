//! The command line: raw arguments -> what was asked for.

mod client;
mod front;
mod install;
mod login;
mod platform;
mod servers;
mod values;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

pub(crate) use client::{Call, Prompts, Resources, Search, Target, Tools};
pub(crate) use front::{Serve, Stdio};
pub(crate) use install::{Check, Install};
pub(crate) use login::{At, Login, Logout};
pub(crate) use platform::{
    Audit, AuditCommand, IssuerFlags, Key, KeyCommand, Maintained, ModelFlags, Place,
    PlatformFlags, RemoveSecret, Secret, SecretCommand, SetSecret,
};
pub(crate) use servers::{Bounds, Identity, Servers};
pub(crate) use values::Token;

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
    stdio: Stdio,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve many clients over HTTP: Streamable HTTP at /mcp, the older SSE at /sse
    Serve(Box<Serve>),
    /// List the tools, or describe one
    Tools(Tools),
    /// Find the tools that do something, in plain words
    Search(Search),
    /// Call a tool
    Call(Call),
    /// List the resources and templates, or read one
    Resources(Resources),
    /// List the prompts, or get one
    Prompts(Prompts),
    /// Validate the config, start every server, print a table, stop them again
    Check(Check),
    /// Write Trunkline's entry into a client's own config file (with a backup)
    Install(Install),
    /// Log in at a server that wants it, with a browser
    Login(Login),
    /// Forget a login
    Logout(Logout),
    /// The audit log of a platform
    Audit(Audit),
    /// The key that seals the secrets of a platform
    Key(Key),
    /// The secrets of a platform that servers refer to with `${secret:NAME}`
    Secret(Secret),
}

/// What the user wants.
#[derive(Debug)]
pub(crate) enum Asked {
    Stdio(Stdio),
    Serve(Box<Serve>),
    Tools(Tools),
    Search(Search),
    Call(Call),
    Resources(Resources),
    Prompts(Prompts),
    Check(Check),
    Install(Install),
    Login(Login),
    Logout(Logout),
    Audit(Audit),
    Key(Key),
    Secret(Secret),
    Version,
}

/// Something to tell instead of working: help, or what is wrong with the arguments.
#[derive(Debug)]
pub(crate) struct Told(clap::Error);

/// Flags whose values are secrets, or may hold some.
const SECRET: [&str; 7] = [
    "--token ",
    "--header ",
    "--url ",
    "--store ",
    "--otlp-endpoint ",
    "--llm-url ",
    "--embed-url ",
];

impl Told {
    /// An error that quotes no secret.
    fn new(mut error: clap::Error) -> Self {
        let flag = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
        if SECRET.iter().any(|secret| flag.starts_with(secret)) {
            error.insert(ContextKind::InvalidValue, ContextValue::String("…".to_owned()));
        }
        Self(error)
    }

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
    parse_from(program, std::env::args_os())
}

fn parse_from(
    program: Program,
    arguments: impl IntoIterator<Item = std::ffi::OsString>,
) -> Result<Asked, Told> {
    let arguments: Vec<_> = arguments.into_iter().collect();
    let mut command = Cli::command();
    if program == Program::SimpleAggregator {
        command = simple(command);
        // Whatever else is wrong with that command line, it is the wrong program.
        if arguments.get(1).is_some_and(|first| NOT_SIMPLE.iter().any(|name| first == name)) {
            return Err(not_simple(&mut command));
        }
    }
    let matches = command.clone().try_get_matches_from(arguments).map_err(Told::new)?;
    let cli = Cli::from_arg_matches(&matches).map_err(Told::new)?;
    let simple = program == Program::SimpleAggregator;
    Ok(match cli.command {
        Some(Command::Check(mut check)) => {
            check.simple |= simple;
            Asked::Check(check)
        }
        Some(Command::Install(install)) => Asked::Install(install),
        Some(_) if simple => return Err(not_simple(&mut command)),
        Some(Command::Serve(serve)) if serve.identity.asks_for_version() => Asked::Version,
        Some(Command::Serve(serve)) => Asked::Serve(serve),
        Some(Command::Tools(tools)) => Asked::Tools(tools),
        Some(Command::Search(search)) => Asked::Search(search),
        Some(Command::Call(call)) => Asked::Call(call),
        Some(Command::Resources(resources)) => Asked::Resources(resources),
        Some(Command::Prompts(prompts)) => Asked::Prompts(prompts),
        Some(Command::Login(login)) => Asked::Login(login),
        Some(Command::Logout(logout)) => Asked::Logout(logout),
        Some(Command::Audit(audit)) => Asked::Audit(audit),
        Some(Command::Key(key)) => Asked::Key(key),
        Some(Command::Secret(secret)) => Asked::Secret(secret),
        None if cli.stdio.identity.asks_for_version() => Asked::Version,
        None => Asked::Stdio(Stdio { simple: cli.stdio.simple || simple, ..cli.stdio }),
    })
}

/// The command line of the drop-in: what it does not do is not shown.
fn simple(command: clap::Command) -> clap::Command {
    let about = "Aggregates the stdio MCP servers of an mcpServers config: tools as `server:tool`";
    let name = "mcp-simple-aggregator";
    let mut command = command.name(name).bin_name(name).about(about).long_about(about);
    for hidden in NOT_SIMPLE {
        command = command.mut_subcommand(hidden, |sub| sub.hide(true));
    }
    let separator = "Put S between server key and tool name [default: `:`]";
    let plain = |command: clap::Command| {
        command
            .mut_arg("simple", |flag| flag.hide(true))
            .mut_arg("separator", |flag| flag.help(separator))
    };
    plain(command)
        .mut_subcommand("check", plain)
        .mut_arg("expose", |flag| flag.hide(true))
        .mut_arg("name", |flag| flag.help(format!("The name told to clients [default: {name}]")))
}

/// Commands that only `trunkline` has.
const NOT_SIMPLE: [&str; 11] = [
    "serve",
    "tools",
    "search",
    "call",
    "resources",
    "prompts",
    "login",
    "logout",
    "audit",
    "key",
    "secret",
];

fn not_simple(command: &mut clap::Command) -> Told {
    let what = "this is the simple aggregator; the program `trunkline` has that command";
    Told(command.error(ErrorKind::InvalidSubcommand, what))
}

pub(crate) fn version_line(program: Program) -> String {
    let name = match program {
        Program::Trunkline => "trunkline",
        Program::SimpleAggregator => "mcp-simple-aggregator",
    };
    format!("{name} {}", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests;
