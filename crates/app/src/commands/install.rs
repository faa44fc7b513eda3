//! `trunkline install|uninstall|consolidate|restore CLIENT`: edits a client's own config file.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Value, json};
use trunkline_catalog::config::{self, ConfigSource, Rules};

use crate::cli::{ClientFile, Consolidate, Install, Restore, Uninstall};
use crate::commands::runtime::refuse;
use crate::consolidate::ConsolidateRequest;
use crate::environment::Environment;
use crate::install::{self, EntryTarget, Extent, InstallError, InstallRequest, Os, UserFolders};
use crate::{FAILED, OK, USAGE, console, own_config, settings};

pub(crate) fn run(asked: &Install, environment: &Environment) -> u8 {
    let config = match settings::config_path(asked.config.as_deref(), environment) {
        Ok(config) => config,
        Err(error) => return refuse(&error, environment),
    };
    let (executable, folders) = match (own_program(), user_folders(environment)) {
        (Ok(executable), Ok(folders)) => (executable, folders),
        (Err(code), _) | (_, Err(code)) => return code,
    };
    let request = InstallRequest {
        target: target(&asked.at, asked.name.clone(), asked.force),
        variables: variables(&config, environment),
        config,
        executable,
        folders,
        now: SystemTime::now(),
    };
    tell(install::run(&request).map(|it| (it.json(), it.to_string())), asked.at.json)
}

pub(crate) fn uninstall(asked: &Uninstall, environment: &Environment) -> u8 {
    let folders = match user_folders(environment) {
        Ok(folders) => folders,
        Err(code) => return code,
    };
    let target = target(&asked.at, asked.name.clone(), asked.force);
    let done = install::uninstall(&target, &folders, SystemTime::now());
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
    let named = settings::given_config_path(asked.config.as_deref(), environment).ok();
    let config = named.or_else(|| own_config::own_path(environment));
    let Some(config) = config else {
        return tell(Err(InstallError::NoHome), asked.at.json);
    };
    let variables = |text: &str| variables_in(text.as_bytes(), environment);
    let request = ConsolidateRequest {
        install: InstallRequest {
            target: target(&asked.at, asked.name.clone(), false),
            variables: Vec::new(),
            config,
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
    let variables = install::path_variables().into_iter();
    let variables = variables.filter_map(|name| Some((name, environment.path(name)?)));
    Ok(UserFolders {
        os: Os::current(),
        home: environment.path("HOME"),
        variables: variables.collect(),
        current_dir,
    })
}

/// The program that clients are to start.
fn own_program() -> Result<PathBuf, u8> {
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
fn variables(config: &Path, environment: &Environment) -> Vec<String> {
    let text = std::fs::read(config).unwrap_or_default();
    variables_in(&text, environment)
}

fn variables_in(text: &[u8], environment: &Environment) -> Vec<String> {
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
