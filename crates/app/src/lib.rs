//! The program: parses the command line, runs one command, returns its exit code.

mod browser;
mod cli;
mod client;
mod commands;
mod config_loops;
mod console;
mod consolidate;
mod core_dumps;
mod demo;
mod doctor;
mod environment;
mod import;
mod install;
mod learned;
mod listen;
mod listing_cache;
mod logging;
mod logins;
mod memory;
mod nesting;
mod openness;
mod own_config;
mod pins;
mod policy_files;
mod rest;
mod scan_view;
mod schema;
mod serve_view;
mod settings;
mod setup;
mod shared;
mod terminal;
mod timestamp;
mod tls_watch;
mod walls;
mod watch;
mod web_services;

use std::process::ExitCode;

use cli::{Command, Invocation};
use environment::Environment;

/// Which of the two programs runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    Trunkline,
    SimpleAggregator,
}

impl Program {
    /// By the name that it is called by: packages have one file, and the drop-in is a link to it.
    pub fn called() -> Self {
        let name = std::env::args_os().next().unwrap_or_default();
        match std::path::Path::new(&name).file_stem() {
            Some(name) if name == "mcp-simple-aggregator" => Self::SimpleAggregator,
            _ => Self::Trunkline,
        }
    }
}

/// Exit codes: everything went well; it was tried and failed; it was asked for wrongly.
pub(crate) const OK: u8 = 0;
pub(crate) const FAILED: u8 = 1;
pub(crate) const USAGE: u8 = 2;

pub fn main(program: Program) -> ExitCode {
    // The process that watches over the servers is this program, too.
    if let Some(code) = trunkline_keeper::run_if_asked() {
        return code;
    }
    // So is the one that starts a shared runtime.
    if let Some(code) = shared::launch_if_asked() {
        return code.into();
    }
    let mut environment = Environment::read();
    if let Some(divisor) = environment.wait_divisor() {
        trunkline_gateway::shorten_waits(divisor);
    }
    let parsed = cli::parse(program).map(|(invocation, colour)| {
        environment.choose(colour);
        if matches!(&invocation, Invocation::Command(Command::Runtime(_))) {
            environment.become_runtime();
        }
        invocation
    });
    let code = match parsed {
        Ok(Invocation::Stdio(stdio)) => {
            if stdio.servers.config.is_none() && !stdio.simple {
                greet();
            }
            commands::stdio::run(&stdio, &environment)
        }
        Ok(Invocation::Command(command)) => run(command, &environment),
        Ok(Invocation::Version) => console::out(&format!("{}\n", cli::version_line(program))),
        Err(message) => message.tell(&environment),
    };
    logging::finish();
    ExitCode::from(code)
}

/// Somebody who has typed the program's name would wait for an answer that never comes.
fn greet() {
    if console::person_is_there() {
        let words = "Trunkline speaks MCP on standard input and output, for a client that starts it.\n\
                     `trunkline --help` lists its commands, `trunkline add NAME -- COMMAND` adds a server; \
                     Ctrl-D ends this.\n";
        console::problem(words, OK);
    }
}

fn run(command: Command, environment: &Environment) -> u8 {
    match command {
        Command::Add(add) => commands::own::add(&add, environment),
        Command::Remove(asked) => commands::own::remove(&asked, environment),
        Command::Enable(asked) => commands::own::enable(&asked, environment),
        Command::Disable(asked) => commands::own::disable(&asked, environment),
        Command::List(asked) => commands::own::list(&asked, environment),
        Command::Edit(asked) => commands::own::edit(&asked, environment),
        Command::Undo(asked) => commands::own::undo(&asked, environment),
        Command::Path(asked) => commands::own::path(&asked, environment),
        Command::Serve(serve) => commands::serve::run(&serve, environment),
        Command::Tools(tools) => commands::tools::run(&tools, environment),
        Command::Search(search) => commands::search::run(&search, environment),
        Command::Call(call) => commands::call::run(&call, environment),
        Command::Resources(resources) => commands::resources::run(&resources, environment),
        Command::Prompts(prompts) => commands::prompts::run(&prompts, environment),
        Command::Login(login) => commands::login::login(&login, environment),
        Command::Logout(logout) => commands::login::logout(&logout, environment),
        Command::Backup(backup) => commands::backup::backup(&backup, environment),
        Command::Audit(audit) => commands::maintain::audit(&audit, environment),
        Command::Key(key) => commands::maintain::key(&key, environment),
        Command::Secret(secret) => commands::secret::run(&secret, environment),
        Command::Check(check) => commands::check::run(&check, environment),
        Command::Policy(policy) => commands::policy::run(&policy),
        Command::Scan(scan) => commands::scan::run(&scan, environment),
        Command::Doctor(doctor) => commands::doctor::run(&doctor, environment),
        Command::Setup(setup) => commands::setup::run(&setup, environment),
        Command::Install(install) => commands::install::run(&install, environment),
        Command::DemoServer(asked) => demo::run(asked.name),
        Command::Sandbox(asked) => commands::sandbox::run(&asked, environment),
        Command::Schema => console::out(&schema::document()),
        Command::Import(import) => commands::import::run(&import, environment),
        Command::Consolidate(asked) => commands::install::consolidate(&asked, environment),
        Command::Status(asked) => commands::status::run(&asked, environment),
        Command::Logs(asked) => commands::logs::run(&asked, environment),
        Command::Ps(asked) => commands::runtimes::ps(&asked, environment),
        Command::Stop(asked) => commands::runtimes::stop(&asked, environment),
        Command::Restart(asked) => commands::runtimes::restart(&asked, environment),
        Command::Runtime(asked) => commands::shared_runtime::run(&asked, environment),
        Command::Top(asked) => commands::top::run(&asked, environment),
        Command::Servers(asked) => commands::servers::run(&asked, environment),
        Command::Cache(asked) => commands::cache::run(&asked, environment),
        Command::Review(asked) => commands::review::run(&asked, environment),
        Command::Completions(asked) => commands::shell::completions(&asked),
        Command::Man(asked) => commands::shell::man(&asked),
        Command::Uninstall(uninstall) => commands::install::uninstall(&uninstall, environment),
        Command::Restore(restore) => commands::install::restore(&restore, environment),
    }
}
