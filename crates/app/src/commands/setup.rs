//! `trunkline setup`: moves the servers of all clients behind Trunkline, checks them, and undoes it.

use std::io::{BufRead as _, stdin};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Value, json};
use trunkline_catalog::Exposure;
use trunkline_catalog::client::Client;
use trunkline_catalog::config::{self, ConfigSource, Rules, ServerSpec};
use trunkline_gateway::{Gateway, ServerInfo};

use crate::cli::{Servers, Setup};
use crate::client::counted;
use crate::commands::check::{PATIENCE, Row, started_and, table};
use crate::commands::install::{config_or_own, own_program, user_folders, variables_in};
use crate::commands::runtime::{broke, refuse, start_logging};
use crate::environment::Environment;
use crate::install::{ATTEMPTS, CurrentFile, InstallError, UserFolders};
use crate::settings::{self, SettingsError, StartOptions};
use crate::setup::{
    Applied, ListedTools, MeasuredServer, ProcessTree, Savings, SetupPlan, SetupRequest, apply,
    estimated, find, measured, plan, plan_json, plan_words, undo,
};
use crate::{FAILED, OK, USAGE, console, listing_cache};

pub(crate) fn run(asked: &Setup, environment: &Environment) -> u8 {
    if let Err(code) = start_logging(&asked.log, environment) {
        return code;
    }
    let (executable, folders) = match (own_program(), user_folders(environment)) {
        (Ok(executable), Ok(folders)) => (executable, folders),
        (Err(code), _) | (_, Err(code)) => return code,
    };
    let config = match config_or_own(asked.config.as_deref(), environment) {
        Ok(config) => folders.absolute(&config),
        Err(error) => return refuse(&error, environment),
    };
    if asked.undo {
        return put_back(asked, &config, &folders);
    }
    let every = Client::with_config().map(|(client, _)| client);
    let clients = if asked.client.is_empty() { every.collect() } else { asked.client.clone() };
    let request = SetupRequest {
        clients,
        config,
        executable,
        flags: flags(asked.expose),
        separate: asked.separate,
        project: asked.project.clone(),
        folders,
        now: SystemTime::now(),
    };
    let plan = match planned(&request, environment) {
        Ok(plan) => plan,
        Err(error) => return failed(&error),
    };
    if let Err(problems) = load(&plan.config_text, environment) {
        let code = refuse(&SettingsError::Invalid(problems), environment);
        return console::problem("nothing was changed\n", code);
    }
    let listed = match (asked.expose, asked.separate) {
        (Some(Exposure::Search), _) => ListedTools::Search,
        (_, true) => ListedTools::Own,
        (_, false) => ListedTools::All,
    };
    let savings = estimated(&plan, listed);
    if !asked.json {
        console::out(&plan_words(&plan, &savings, console::width(), environment.paint()));
    }
    if plan.is_done() || !is_wanted(asked, &plan) {
        return match asked.json {
            true => told(plan_json(&plan, &savings), json!({"done": false})),
            false => OK,
        };
    }
    match carry_out(&request, &plan, environment) {
        Ok(applied) => finish(asked, &plan, &applied, &savings, environment),
        Err(error) => failed(&error),
    }
}

fn flags(exposure: Option<Exposure>) -> Vec<String> {
    let word = match exposure {
        None => return Vec::new(),
        Some(Exposure::Auto) => "auto",
        Some(Exposure::Full) => "full",
        Some(Exposure::Search) => "search",
    };
    vec!["--expose".to_owned(), word.to_owned()]
}

fn planned(request: &SetupRequest, environment: &Environment) -> Result<SetupPlan, InstallError> {
    let config = CurrentFile::read(&request.config)?;
    let variables = |text: &str| variables_in(text.as_bytes(), environment);
    let mut plan = plan(request, find(request), config.content(), &variables)?;
    let text = &plan.config_text;
    let is_needed = |name: &String| {
        let is_set = environment.get(name).is_some();
        !is_set && text.contains(&format!("${{{name}:-}}"))
    };
    let unset: Vec<String> = variables(text).into_iter().filter(is_needed).collect();
    if !unset.is_empty() && !plan.is_done() {
        let (is, it) = if unset.len() == 1 { ("is", "it") } else { ("are", "them") };
        let names = unset.join(", ");
        plan.notes.push(format!("{names} {is} not set here; servers that need {it} get nothing"));
    }
    if request.executable.components().any(|part| part.as_os_str() == "_npx") {
        let program = request.executable.display();
        plan.notes.push(format!(
            "the clients will start {program}, which npm may remove; install Trunkline first, and run \
             `trunkline setup` then"
        ));
    }
    Ok(plan)
}

fn load(text: &str, environment: &Environment) -> Result<(), config::Problems> {
    let source = ConfigSource { name: "the new config", text: text.as_bytes() };
    config::load(&source, Rules::Full, &|name| environment.get(name)).map(|_| ())
}

/// Whether to go on: as the command line says, else as a person says.
fn is_wanted(asked: &Setup, plan: &SetupPlan) -> bool {
    if asked.yes {
        return true;
    }
    if asked.dry_run || asked.json || !console::person_is_there() {
        let why = if asked.dry_run { "dry run, nothing" } else { "nothing" };
        let words = format!("\n{why} was changed; `trunkline setup --yes` does it\n");
        if !asked.json {
            console::out(&words);
        }
        return false;
    }
    let files = plan.files.iter().filter(|file| file.text.is_some()).count();
    let files = counted(files, "file");
    let question = format!("\nchange {files}, each with a backup? [y/N] ");
    console::problem(&question, OK);
    let mut answer = String::new();
    let typed = stdin().lock().read_line(&mut answer);
    let is_yes = matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes");
    if typed.is_err() || !is_yes {
        console::out("nothing was changed\n");
        return false;
    }
    true
}

/// Writes. A client that writes its file at that moment is tried again with what it has written.
fn carry_out(
    request: &SetupRequest,
    first: &SetupPlan,
    environment: &Environment,
) -> Result<Applied, InstallError> {
    let mut all = apply(first, request.now)?;
    for _ in 1..ATTEMPTS {
        if all.overtaken.is_empty() {
            break;
        }
        let clients = all.overtaken.iter().map(|(client, _)| *client).collect();
        let again = SetupRequest { clients, ..request.clone() };
        let more = apply(&planned(&again, environment)?, request.now)?;
        all.written.extend(more.written);
        all.failed.extend(more.failed);
        all.overtaken = more.overtaken;
    }
    for (client, file) in std::mem::take(&mut all.overtaken) {
        all.failed.push((client, InstallError::KeepsChanging { file }));
    }
    Ok(all)
}

/// Tells what was written, starts the servers, and tells how they do.
fn finish(
    asked: &Setup,
    plan: &SetupPlan,
    applied: &Applied,
    estimate: &Savings,
    environment: &Environment,
) -> u8 {
    let paint = environment.paint();
    if !asked.json {
        let mut words = String::from("\n");
        for (file, backup) in &applied.written {
            let kept = backup.as_ref().map(|it| format!("  (backup: {})", it.display()));
            words.push_str(&format!("written: {}{}\n", file.display(), kept.unwrap_or_default()));
        }
        for (client, error) in &applied.failed {
            words.push_str(&format!("{}: {}: {error}\n", paint.red("failed"), client.title()));
        }
        let config = asked.config.as_ref().map(|it| format!(" --config {}", it.display()));
        let config = config.unwrap_or_default();
        words.push_str(&format!("undo:    trunkline setup --undo{config}\n\n"));
        console::out(&words);
    }
    let clients: Vec<Client> = estimate.contexts.iter().map(|it| it.client).collect();
    let checked = match asked.no_check {
        true => None,
        false => match check(asked, &plan.config, &clients, environment) {
            Ok(checked) => Some(checked),
            Err(code) => return code,
        },
    };
    let footprint = checked.as_ref().map(|(_, it)| it).filter(|_| !plan.moves_nothing());
    let mut savings = footprint.map(|it| measured(plan, &it.servers, &it.listed));
    if let (Some(savings), true) = (&mut savings, asked.separate) {
        savings.keep_to_own_servers();
    }
    let rows = checked.as_ref().map(|(rows, _)| rows.as_slice());
    let all_run = |rows: &[Row]| rows.iter().all(Row::is_good);
    let is_good = applied.failed.is_empty() && rows.is_none_or(all_run);
    let code = if is_good { OK } else { FAILED };
    if asked.json {
        let written = |(file, backup): &(PathBuf, Option<PathBuf>)| {
            json!({"file": file.display().to_string(),
                "backup": backup.as_ref().map(|it| it.display().to_string())})
        };
        let failed = |(client, error): &(Client, InstallError)| json!({"client": client.id(), "why": error.to_string()});
        let more = json!({
            "done": true,
            "written": applied.written.iter().map(written).collect::<Vec<_>>(),
            "failed": applied.failed.iter().map(failed).collect::<Vec<_>>(),
            "check": rows.map(|rows| json!({
                "ok": all_run(rows),
                "servers": rows.iter().map(Row::json).collect::<Vec<_>>(),
            })),
            "measured": savings.as_ref().map(Savings::json),
        });
        told(plan_json(plan, estimate), more);
        return code;
    }
    let mut words = rows.map(|rows| table(rows, paint)).unwrap_or_default();
    words.push_str(&savings.map(|it| it.words(console::width(), paint)).unwrap_or_default());
    words.push('\n');
    // One that was not set up has nothing to be started again for; above it says why.
    let is_set_up = |client: &Client| !applied.failed.iter().any(|(failed, _)| failed == client);
    for client in clients.into_iter().filter(is_set_up) {
        let next = client.config().map(|spec| spec.next).unwrap_or_default();
        words.push_str(&format!("next:    {}: {next}\n", client.title()));
    }
    console::out(&words);
    code
}

/// What the servers take while they run, and how long each client's list of tools is.
struct Footprint {
    servers: Vec<MeasuredServer>,
    listed: Vec<(Client, usize)>,
}

/// Starts every server and stops it again, as `check` does; `Err` is the exit code.
fn check(
    asked: &Setup,
    config: &Path,
    clients: &[Client],
    environment: &Environment,
) -> Result<(Vec<Row>, Footprint), u8> {
    let servers = Servers { log: asked.log.clone(), ..Servers::default() };
    let wanted = StartOptions {
        patience: Some(PATIENCE),
        exposure: asked.expose.unwrap_or(Exposure::Auto),
        ..StartOptions::once(&servers)
    };
    let look = |gateway: &Gateway| {
        let fleet = gateway.fleet();
        let length = |client: &Client| (*client, fleet.listed(Some(*client), None).bytes());
        Footprint { servers: measure(gateway), listed: clients.iter().map(length).collect() }
    };
    let loaded = settings::load(config, &wanted, environment);
    let listings = listing_cache::listings_for(Some(config), environment);
    let started =
        loaded.and_then(|it| started_and(&wanted, config, it, environment, listings, look));
    match started {
        Ok(Ok(seen)) => Ok(seen),
        Ok(Err(error)) => Err(broke(&error)),
        Err(error) => Err(refuse(&error, environment)),
    }
}

fn measure(gateway: &Gateway) -> Vec<MeasuredServer> {
    let (fleet, processes) = (gateway.fleet(), ProcessTree::read());
    let one = |server: &ServerInfo| {
        let (processes, bytes) = server.pid.map(|pid| processes.below(pid)).unwrap_or_default();
        let offer = fleet.tools(&ServerSpec::file_id(&server.key));
        let tool_bytes = offer.map_or(0, |it| it.tools().map(|it| it.definition.len()).sum());
        MeasuredServer { key: server.key.clone(), processes, bytes, tool_bytes }
    };
    fleet.servers().iter().map(one).collect()
}

fn put_back(asked: &Setup, config: &Path, folders: &UserFolders) -> u8 {
    match undo(config, folders, SystemTime::now(), asked.dry_run) {
        Ok(None) if asked.json => {
            console::out("{\"restored\":[],\"servers_only\":[],\"left\":[]}\n")
        }
        Ok(None) => console::out("nothing to undo: `trunkline setup` has changed no file\n"),
        Ok(Some(undone)) => {
            let text = match asked.json {
                true => format!("{}\n", undone.json()),
                false => undone.to_string(),
            };
            let code = console::out(&text);
            if undone.left.is_empty() { code } else { FAILED }
        }
        Err(error) => failed(&error),
    }
}

fn told(mut plan: Value, more: Value) -> u8 {
    if let (Value::Object(members), Value::Object(more)) = (&mut plan, more) {
        members.extend(more);
    }
    console::out(&format!("{plan}\n"))
}

fn failed(error: &InstallError) -> u8 {
    let code = if error.is_usage() { USAGE } else { FAILED };
    console::problem(&format!("error: {error}\n"), code)
}
