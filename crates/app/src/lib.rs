//! The program: command line, wiring, exit codes. `main` is a match on what was asked for.

mod attached;
mod browser;
mod chain;
mod circle;
mod cli;
mod client;
mod commands;
mod consolidate;
mod demo;
mod doctor;
mod environment;
mod import;
mod install;
mod listen;
mod logging;
mod logins;
mod memory;
mod moment;
mod overview;
mod remembered;
mod rest;
mod schema;
mod settings;
mod speak;
mod terminal;
mod watch;

use std::process::ExitCode;

use cli::Asked;
use environment::Environment;

/// Which of the two binaries runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    Trunkline,
    SimpleAggregator,
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
    let mut environment = Environment::read();
    if let Some(divisor) = environment.wait_divisor() {
        trunkline_gateway::shorten_waits(divisor);
    }
    let parsed = cli::parse(program).map(|(asked, colour)| {
        environment.choose(colour);
        asked
    });
    let code = match parsed {
        Ok(Asked::Stdio(stdio)) => commands::stdio::run(&stdio, &environment),
        Ok(Asked::Serve(serve)) => commands::serve::run(&serve, &environment),
        Ok(Asked::Tools(tools)) => commands::tools::run(&tools, &environment),
        Ok(Asked::Search(search)) => commands::search::run(&search, &environment),
        Ok(Asked::Call(call)) => commands::call::run(&call, &environment),
        Ok(Asked::Resources(resources)) => commands::resources::run(&resources, &environment),
        Ok(Asked::Prompts(prompts)) => commands::prompts::run(&prompts, &environment),
        Ok(Asked::Login(login)) => commands::login::login(&login, &environment),
        Ok(Asked::Logout(logout)) => commands::login::logout(&logout, &environment),
        Ok(Asked::Audit(audit)) => commands::maintain::audit(&audit, &environment),
        Ok(Asked::Key(key)) => commands::maintain::key(&key, &environment),
        Ok(Asked::Secret(secret)) => commands::secret::run(&secret, &environment),
        Ok(Asked::Check(check)) => commands::check::run(&check, &environment),
        Ok(Asked::Doctor(doctor)) => commands::doctor::run(&doctor, &environment),
        Ok(Asked::Install(install)) => commands::install::run(&install, &environment),
        Ok(Asked::DemoServer(asked)) => demo::run(asked.name),
        Ok(Asked::Schema) => speak::out(&schema::document()),
        Ok(Asked::Import(import)) => commands::import::run(&import, &environment),
        Ok(Asked::Consolidate(asked)) => commands::install::consolidate(&asked, &environment),
        Ok(Asked::Status(asked)) => commands::status::run(&asked, &environment),
        Ok(Asked::Logs(asked)) => commands::logs::run(&asked, &environment),
        Ok(Asked::Top(asked)) => commands::top::run(&asked, &environment),
        Ok(Asked::Servers(asked)) => commands::servers::run(&asked, &environment),
        Ok(Asked::Completions(asked)) => commands::shell::completions(&asked),
        Ok(Asked::Man(asked)) => commands::shell::man(&asked),
        Ok(Asked::Uninstall(uninstall)) => commands::install::uninstall(&uninstall, &environment),
        Ok(Asked::Restore(restore)) => commands::install::restore(&restore, &environment),
        Ok(Asked::Version) => speak::out(&format!("{}\n", cli::version_line(program))),
        Err(message) => message.tell(&environment),
    };
    ExitCode::from(code)
}
