//! The command line: parses arguments into an `Invocation`.

mod cache;
mod client;
mod doctor;
mod front;
mod import;
mod install;
mod login;
mod network;
mod own;
mod people;
mod platform;
mod policy;
mod remote;
mod review;
mod sandbox;
mod scan;
mod servers;
mod setup;
mod shell;
mod values;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

pub(crate) use cache::{CacheArgs, CacheClear, CacheCommand, CacheShow};
pub(crate) use client::{Call, ClientTarget, Prompts, Resources, Search, Tools};
pub(crate) use doctor::Doctor;
pub(crate) use front::{DemoServer, Ps, RestartArgs, Runtime, Serve, Stdio, Stop};
pub(crate) use import::{Consolidate, Import};
pub(crate) use install::{Check, ClientFile, Install, Restore, Uninstall};
pub(crate) use login::{Login, LoginTarget, Logout};

pub(crate) use own::{
    Add, ConfigArg, ConfigPath, Edit, Enable, EnvPair, List, Remove, StartCheck, SwitchTools,
    ToolsCommand, Undo,
};
pub(crate) use people::PeopleFlags;
pub(crate) use platform::{
    Audit, AuditCommand, AuditFlags, Backup, BackupCommand, ExportAudit, ExportFormat, IssuerFlags,
    KeyArgs, KeyCommand, MaintenanceArgs, ModelFlags, PlatformFlags, RemoveSecret, Secret,
    SecretCommand, SetSecret, StoreArgs, VerifyAudit,
};
pub(crate) use policy::{PolicyArgs, PolicyCommand, TestPolicies};
pub(crate) use remote::{
    AddServer, Logs, OneServer, ServeTarget, ServersArgs, ServersCommand, StatusArgs, Top,
};
pub(crate) use review::{ReviewArgs, ReviewChoice, ReviewCommand, ReviewShow};
pub(crate) use sandbox::{LearnSandbox, SandboxArgs, SandboxCommand, ShowSandbox};
pub(crate) use scan::Scan;
pub(crate) use servers::{Bounds, Identity, Servers};
pub(crate) use setup::Setup;
pub(crate) use shell::{Completions, Man};
pub(crate) use values::{Token, seconds};

use crate::environment::Environment;
use crate::terminal::Colour;
use crate::{Program, USAGE, console};

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
    /// Colours: auto (on a terminal, unless `NO_COLOR` is set), always or never
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: Colour,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add a server to your config: a command, a URL, or what was copied elsewhere
    Add(Box<Add>),
    /// Take servers out of your config
    Remove(Remove),
    /// Switch servers of your config on
    Enable(Enable),
    /// Switch servers of your config off, without taking them out
    Disable(Remove),
    /// List the servers of your config
    List(List),
    /// Edit your config in `$VISUAL` or `$EDITOR`; what is wrong is not written
    Edit(Edit),
    /// Take the latest changes of your config back
    Undo(Undo),
    /// Print where your config is
    Path(ConfigPath),
    /// Serve many clients over HTTP: Streamable HTTP at /mcp, the older SSE at /sse
    Serve(Box<Serve>),
    /// List the tools, describe one, or switch some off and on
    Tools(Box<Tools>),
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
    /// Look for texts that lie in what servers tell models: hidden characters, instructions, look-alikes
    Scan(Scan),
    /// Read policies, test one decision, print their schema
    Policy(PolicyArgs),
    /// Look for what may go wrong, and say what to do about it
    Doctor(Doctor),
    /// Move the servers of all your clients behind Trunkline (with backups), and check them
    Setup(Setup),
    /// Write Trunkline's entry into a client's own config file (with a backup)
    Install(Install),
    /// Collect the servers that clients already have into one config
    Import(Import),
    /// Move a client's servers behind Trunkline, which takes their place (with a backup)
    Consolidate(Consolidate),
    /// Take Trunkline's entry out of a client's own config file again
    Uninstall(Uninstall),
    /// Put a backup of a client's own config file back
    Restore(Restore),
    /// Log in at a server that wants it, with a browser
    Login(Login),
    /// Forget a login
    Logout(Logout),
    /// Is a `serve` up, and how are its servers?
    Status(StatusArgs),
    /// What a server of a shared runtime wrote last; of a `serve` that runs, its audit log
    Logs(Logs),
    /// Watch the servers and calls of a `serve` that runs
    Top(Top),
    /// The servers of a `serve` that runs: list, add, connect, disconnect, remove
    Servers(ServersArgs),
    /// What is remembered of servers between two starts: show it, or forget it
    Cache(CacheArgs),
    /// Definitions of servers that have changed since they were approved: show, approve, reject them
    Review(ReviewArgs),
    /// The shared runtimes of this user: clients, servers, processes, memory
    Ps(Ps),
    /// Stop a shared runtime and its servers; clients start another one when they need it
    Stop(Stop),
    /// Restart a server of a shared runtime, or the whole runtime
    Restart(RestartArgs),
    /// Print what makes a shell complete Trunkline's commands
    Completions(Completions),
    /// Print the manual page
    Man(Man),
    /// The audit log of a platform
    Audit(Audit),
    /// Backups of a platform's store: write, check, restore
    Backup(Backup),
    /// The key that seals the secrets of a platform
    Key(KeyArgs),
    /// The secrets of a platform that servers refer to with `${secret:NAME}`
    Secret(Secret),
    /// The walls around the servers of a config
    Sandbox(SandboxArgs),
    /// Print the JSON Schema of the config file, for editors
    Schema,
    /// The shared runtime itself, started by its first client
    #[command(hide = true)]
    Runtime(Box<Runtime>),
    /// One of the servers of `serve --demo`, on standard input and output
    #[command(hide = true)]
    DemoServer(DemoServer),
}

/// What the user wants.
#[derive(Debug)]
pub(crate) enum Invocation {
    /// No command: be an MCP server on standard input and output.
    Stdio(Stdio),
    Command(Command),
    /// Print the program's version.
    Version,
}

/// Something to tell instead of working: help, or what is wrong with the arguments.
#[derive(Debug)]
pub(crate) struct UsageMessage(clap::Error);

/// Flags whose values are secrets, or may hold some.
const SECRET: [&str; 8] = [
    "--token ",
    "--env ",
    "--header ",
    "--url ",
    "--store ",
    "--otlp-endpoint ",
    "--llm-url ",
    "--embed-url ",
];

impl UsageMessage {
    /// An error that quotes no secret.
    fn new(mut error: clap::Error) -> Self {
        let flag = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
        if SECRET.iter().any(|secret| flag.starts_with(secret)) {
            error.insert(ContextKind::InvalidValue, ContextValue::String("…".to_owned()));
        }
        Self(error)
    }

    pub(crate) fn tell(&self, environment: &Environment) -> u8 {
        match self.0.kind() {
            ErrorKind::DisplayHelp => console::out(&self.0.render().to_string()),
            _ if environment.colours() => {
                console::problem(&self.0.render().ansi().to_string(), USAGE)
            }
            _ => console::problem(&self.0.render().to_string(), USAGE),
        }
    }
}

/// What is wanted, and whether in colours.
pub(crate) fn parse(program: Program) -> Result<(Invocation, Colour), UsageMessage> {
    parse_from(program, std::env::args_os())
}

/// The whole command line, for those who describe it.
pub(crate) fn definition() -> clap::Command {
    Cli::command()
}

fn parse_from(
    program: Program,
    arguments: impl IntoIterator<Item = std::ffi::OsString>,
) -> Result<(Invocation, Colour), UsageMessage> {
    let arguments: Vec<_> = arguments.into_iter().collect();
    let mut command = Cli::command();
    if program == Program::SimpleAggregator {
        command = simple(command);
        // Whatever else is wrong with that command line, it is the wrong program.
        if arguments.get(1).is_some_and(|first| NOT_SIMPLE.iter().any(|name| first == name)) {
            return Err(not_simple(&mut command));
        }
    }
    let matches = command.clone().try_get_matches_from(arguments).map_err(UsageMessage::new)?;
    let cli = Cli::from_arg_matches(&matches).map_err(UsageMessage::new)?;
    let simple = program == Program::SimpleAggregator;
    let invocation = match cli.command {
        Some(Command::Check(mut check)) => {
            check.simple |= simple;
            Invocation::Command(Command::Check(check))
        }
        Some(command @ (Command::Install(_) | Command::Uninstall(_) | Command::Restore(_))) => {
            Invocation::Command(command)
        }
        Some(_) if simple => return Err(not_simple(&mut command)),
        Some(Command::Serve(serve)) if serve.identity.asks_for_version() => Invocation::Version,
        Some(command) => Invocation::Command(command),
        None if cli.stdio.identity.asks_for_version() => Invocation::Version,
        None => Invocation::Stdio(Stdio { simple: cli.stdio.simple || simple, ..cli.stdio }),
    };
    Ok((invocation, cli.color))
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
    let config = "The `mcpServers` file [default: `$MCP_PROXY_CONFIG_PATH`]";
    let plain = |command: clap::Command| {
        command
            .mut_arg("simple", |flag| flag.hide(true))
            .mut_arg("preset", |flag| flag.hide(true))
            .mut_arg("config", |flag| flag.help(config))
            .mut_arg("separator", |flag| flag.help(separator))
            .mut_arg("log", |flag| flag.hide(true))
            .mut_arg("log_format", |flag| flag.hide(true))
    };
    plain(command)
        .mut_subcommand("check", plain)
        .mut_arg("expose", |flag| flag.hide(true))
        .mut_arg("no_shared", |flag| flag.hide(true))
        .mut_arg("linger", |flag| flag.hide(true))
        .mut_arg("restart", |flag| {
            flag.help("Start a server that failed again, with growing pauses")
        })
        .mut_arg("no_restart", |flag| flag.hide(true))
        .mut_arg("name", |flag| flag.help(format!("The name told to clients [default: {name}]")))
}

/// Commands that only `trunkline` has.
const NOT_SIMPLE: [&str; 36] = [
    "ps",
    "stop",
    "restart",
    "runtime",
    "add",
    "remove",
    "enable",
    "disable",
    "list",
    "edit",
    "undo",
    "path",
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
    "schema",
    "demo-server",
    "import",
    "setup",
    "consolidate",
    "doctor",
    "completions",
    "man",
    "status",
    "logs",
    "top",
    "servers",
    "cache",
];

fn not_simple(command: &mut clap::Command) -> UsageMessage {
    let what = "this is the simple aggregator; the program `trunkline` has that command";
    UsageMessage(command.error(ErrorKind::InvalidSubcommand, what))
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
