//! `trunkline install CLIENT`: put Trunkline into a client's own config.

use std::cell::RefCell;
use std::path::Path;
use std::time::SystemTime;

use trunkline_catalog::config::{self, Rules, Source};

use crate::cli::Install;
use crate::commands::runtime::refuse;
use crate::environment::Environment;
use crate::install::{Environment as Surroundings, InstallRequest, Os, run as install};
use crate::{FAILED, USAGE, settings, speak};

pub(crate) fn run(asked: &Install, environment: &Environment) -> u8 {
    let config = match settings::config_path(asked.config.as_deref(), environment) {
        Ok(config) => config,
        Err(error) => return refuse(&error, environment),
    };
    let (executable, current_dir) = match (std::env::current_exe(), std::env::current_dir()) {
        (Ok(executable), Ok(current_dir)) => (executable, current_dir),
        (Err(error), _) | (_, Err(error)) => {
            return speak::problem(&format!("error: cannot tell where I am: {error}\n"), FAILED);
        }
    };
    let request = InstallRequest {
        client: asked.client,
        variables: variables(&config, environment),
        config,
        executable,
        name: asked.name.clone(),
        project: asked.project.clone(),
        file: asked.file.clone(),
        dry_run: asked.dry_run,
        force: asked.force,
        environment: Surroundings {
            os: Os::current(),
            home: environment.path("HOME"),
            xdg_config: environment.path("XDG_CONFIG_HOME"),
            appdata: environment.path("APPDATA"),
            local_appdata: environment.path("LOCALAPPDATA"),
            claude_config_dir: environment.path("CLAUDE_CONFIG_DIR"),
            codex_home: environment.path("CODEX_HOME"),
            current_dir,
        },
        now: SystemTime::now(),
    };
    match install(&request) {
        Ok(report) => speak::out(&report.to_string()),
        Err(error) => {
            let code = if error.is_usage() { USAGE } else { FAILED };
            speak::problem(&format!("error: {error}\n"), code)
        }
    }
}

/// The variables the config refers to: found by letting it be loaded and listening to what it asks
/// for. Whether it is valid is not the question here.
fn variables(config: &Path, environment: &Environment) -> Vec<String> {
    let asked_for = RefCell::new(Vec::new());
    if let Ok(text) = std::fs::read(config) {
        let source = Source { name: &config.to_string_lossy(), text: &text };
        let listen = |name: &str| {
            let mut names = asked_for.borrow_mut();
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
            environment.get(name)
        };
        drop(config::load(&source, Rules::Full, &listen));
    }
    asked_for.into_inner()
}
