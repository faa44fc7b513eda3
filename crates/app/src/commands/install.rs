//! `trunkline install|uninstall|consolidate|restore CLIENT`: edits a client's own config file.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Map, Value, json};
use trunkline_catalog::client::{ENTRY, Variables, path_variables};
use trunkline_catalog::config::{self, ConfigSource, Rules};
use trunkline_http::Url;

use crate::cli::{ClientFile, Consolidate, Install, Restore, Servers, Uninstall};
use crate::commands::runtime::refuse;
use crate::consolidate::ConsolidateRequest;
use crate::environment::Environment;
use crate::import::{self, FileOwner, ImportedServer, Section, config_servers};
use crate::install::{
    self, ConfigLocation, EntryTarget, Extent, InstallError, InstallRequest, Launch, UserFolders,
    this_system,
};
use crate::settings::{self, SettingsError, StartOptions};
use crate::shared::is_of_the_seat;
use crate::{FAILED, OK, USAGE, console, own_config};

pub(crate) fn run(asked: &Install, environment: &Environment) -> u8 {
    let (executable, folders) = match (own_program(), user_folders(environment)) {
        (Ok(executable), Ok(folders)) => (executable, folders),
        (Err(code), _) | (_, Err(code)) => return code,
    };
    let mut servers = Vec::new();
    let launch = match &asked.url {
        Some(url) => match address(asked, url) {
            Ok(launch) => launch,
            Err(error) => return tell(Err(error), asked.at.json),
        },
        None => {
            let named = asked.config.as_deref();
            let config = settings::config_path(named, environment);
            let config = match config.or_else(|_| config_or_own(named, environment)) {
                Ok(config) => config,
                Err(error) => return refuse(&error, environment),
            };
            let text = std::fs::read(&config).unwrap_or_default();
            if !asked.keep {
                servers = config_servers(&String::from_utf8_lossy(&text)).1;
            }
            let variables = variables_in(&text, environment);
            Launch::Command { config, variables, flags: Vec::new() }
        }
    };
    let target = target(&asked.at, asked.name.clone(), asked.force);
    let owner = FileOwner::Client(target.client);
    let now = SystemTime::now();
    let request = InstallRequest { target, launch, executable, folders, now };
    let behind = |location: &ConfigLocation, text: &str| doubles(owner, location, text, &servers);
    tell(install::run(&request, &behind).map(|it| (it.json(), it.to_string())), asked.at.json)
}

/// The config that is named, else the user's own, which need not be there yet.
pub(super) fn config_or_own(
    argument: Option<&Path>,
    environment: &Environment,
) -> Result<PathBuf, SettingsError> {
    let named = settings::given_config_path(argument, environment);
    named.or_else(|error| own_config::own_path(environment).ok_or(error))
}

/// The names of the servers in a client's file that are among `servers`.
fn doubles(
    owner: FileOwner,
    location: &ConfigLocation,
    text: &str,
    servers: &[ImportedServer],
) -> Vec<String> {
    let section = Section::main(owner, location.project.clone());
    let found = import::behind(owner, &location.file, text, &section, servers);
    found.into_iter().map(|double| double.name).collect()
}

/// An entry for a `serve` that runs.
fn address(asked: &Install, url: &Url) -> Result<Launch, InstallError> {
    let client = asked.at.client;
    let spec = client.config().ok_or(InstallError::NoConfigFile { client })?;
    let full = match url.target() {
        // The names of tools that this client accepts.
        "/" | "/mcp" | "/mcp/" => format!("{}/mcp/for/{client}", url.origin()),
        _ => url.to_string(),
    };
    let shown = full.split('?').next().unwrap_or(&full).to_owned();
    let Some(remote) = &spec.entry.remote else {
        return Err(InstallError::CommandsOnly { client, url: shown });
    };
    let by_name = remote.header_variables.is_some() || spec.variables != Variables::None;
    if asked.token_env.is_some() && !by_name {
        return Err(InstallError::NoVariables { client });
    }
    let named = asked.token_env.as_ref().map(|name| format!("${{{name}}}"));
    let token =
        named.or_else(|| asked.token.as_ref().map(|token| import::literal_text(token.reveal())));
    let mut server = Map::from_iter([
        ("type".to_owned(), Value::from("http")),
        ("url".to_owned(), Value::from(import::literal_text(&full))),
    ]);
    if let Some(token) = token {
        let headers = json!({ "Authorization": format!("Bearer {token}") });
        server.insert("headers".to_owned(), headers);
    }
    let name = asked.name.as_deref().unwrap_or(ENTRY);
    let members = import::client_entry(FileOwner::Client(client), name, &server)
        .map_err(|_| InstallError::CommandsOnly { client, url: shown.clone() })?;
    let token_variable = asked.token_env.iter().cloned().collect();
    Ok(Launch::Address { members, url: shown, token_variable })
}

pub(crate) fn uninstall(asked: &Uninstall, environment: &Environment) -> u8 {
    let folders = match user_folders(environment) {
        Ok(folders) => folders,
        Err(code) => return code,
    };
    let target = target(&asked.at, asked.name.clone(), asked.force);
    let owner = FileOwner::Client(target.client);
    let behind = |location: &ConfigLocation, entry: &Value, text: &str| {
        let Some(config) = install::flag_value(entry, "--config") else { return Vec::new() };
        let section = Section::main(owner, location.project.clone());
        let mut there = import::read_file(owner, &location.file, text, &section).servers;
        // Without the config nobody can tell which servers went behind it: rather one too many.
        if let Ok(config) = std::fs::read_to_string(config) {
            let (_, behind) = config_servers(&config);
            let has_name = |name: &str| behind.iter().any(|it| it.name == name);
            // One that was edited there is known by its name.
            there.retain(|it| import::known_as(it, &behind).is_some() || has_name(&it.name));
        }
        there.into_iter().map(|server| server.name).collect()
    };
    let done = install::uninstall(&target, &folders, SystemTime::now(), &behind);
    tell(done.map(|it| (it.json(), it.to_string())), asked.at.json)
}

pub(crate) fn restore(asked: &Restore, environment: &Environment) -> u8 {
    let folders = match user_folders(environment) {
        Ok(folders) => folders,
        Err(code) => return code,
    };
    let target = target(&asked.at, None, false);
    if asked.list {
        return tell(list(&target, &folders, asked.at.json), asked.at.json);
    }
    let extent = if asked.whole { Extent::Whole } else { Extent::AsFits };
    let now = SystemTime::now();
    let done = install::restore(&target, asked.backup.as_deref(), extent, &folders, now);
    tell(done.map(|it| (it.json(), it.to_string())), asked.at.json)
}

pub(crate) fn consolidate(asked: &Consolidate, environment: &Environment) -> u8 {
    let (executable, folders) = match (own_program(), user_folders(environment)) {
        (Ok(executable), Ok(folders)) => (executable, folders),
        (Err(code), _) | (_, Err(code)) => return code,
    };
    let Ok(config) = config_or_own(asked.config.as_deref(), environment) else {
        return tell(Err(InstallError::NoHome), asked.at.json);
    };
    let variables = |text: &str| variables_in(text.as_bytes(), environment);
    let request = ConsolidateRequest {
        install: InstallRequest {
            target: target(&asked.at, asked.name.clone(), false),
            launch: Launch::Command { config, variables: Vec::new(), flags: Vec::new() },
            executable,
            folders,
            now: SystemTime::now(),
        },
        variables: &variables,
    };
    let done = crate::consolidate::consolidate(&request);
    tell(done.map(|it| (it.json(), it.to_string())), asked.at.json)
}

fn list(
    target: &EntryTarget,
    folders: &UserFolders,
    json: bool,
) -> Result<(Value, String), InstallError> {
    let (file, kept) = install::kept(target, folders)?;
    if kept.is_empty() && !json {
        console::problem(&format!("there is no backup beside {}\n", file.display()), OK);
    }
    let shown = |backup: &install::Backup| json!({ "path": backup.path.display().to_string(), "stamp": backup.stamp });
    let told: Vec<Value> = kept.iter().map(shown).collect();
    let told = json!({ "file": file.display().to_string(), "backups": told });
    let words = kept.iter().map(|it| format!("{}  {}\n", it.stamp, it.path.display())).collect();
    Ok((told, words))
}

fn target(at: &ClientFile, name: Option<String>, force: bool) -> EntryTarget {
    EntryTarget {
        client: at.client,
        name,
        project: at.project.clone(),
        file: at.file.clone(),
        dry_run: at.dry_run,
        force,
    }
}

/// Where the clients of this user keep their files; `Err` is the exit code.
pub(super) fn user_folders(environment: &Environment) -> Result<UserFolders, u8> {
    let current_dir = std::env::current_dir().map_err(|error| {
        let words = format!("error: cannot determine the current directory: {error}\n");
        console::problem(&words, FAILED)
    })?;
    let system = this_system();
    let variables = path_variables().into_iter();
    let variables = variables.filter_map(|name| Some((name, environment.path(name)?)));
    Ok(UserFolders {
        system,
        home: environment.path(system.home_variable()),
        variables: variables.collect(),
        current_dir,
        inherited: inherited_names(environment),
    })
}

/// Names of the variables that servers inherit, and by which clients share a runtime.
fn inherited_names(environment: &Environment) -> Vec<String> {
    let servers = Servers::default();
    let inherited = settings::inherited(&StartOptions::once(&servers), environment);
    let names = inherited.variables().iter().filter_map(|(name, _)| name.to_str());
    names.filter(|name| !is_of_the_seat(name)).map(str::to_owned).collect()
}

/// The program that clients are to start.
pub(super) fn own_program() -> Result<PathBuf, u8> {
    std::env::current_exe().map_err(|error| {
        let words = format!("error: cannot determine the path of this program: {error}\n");
        console::problem(&words, FAILED)
    })
}

/// As JSON or in words; or why nothing was done.
pub(super) fn tell(outcome: Result<(Value, String), InstallError>, json: bool) -> u8 {
    match outcome {
        Ok((told, _)) if json => console::out(&format!("{told}\n")),
        Ok((_, words)) => console::out(&words),
        Err(error) => {
            let code = if error.is_usage() { USAGE } else { FAILED };
            console::problem(&format!("error: {error}\n"), code)
        }
    }
}

/// The variables a config refers to: found by letting it be loaded and listening to what it asks for.
/// Whether it is valid is not the question here.
pub(super) fn variables_in(text: &[u8], environment: &Environment) -> Vec<String> {
    let asked_for = RefCell::new(Vec::new());
    let listen = |name: &str| {
        let mut names = asked_for.borrow_mut();
        // The escape for `$` that `import` writes is no variable of the user's.
        if name != "TRUNKLINE_DOLLAR" && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
        environment.get(name)
    };
    drop(config::load(&ConfigSource { name: "config", text }, Rules::Full, &listen));
    asked_for.into_inner()
}
