//! `trunkline remove|enable|disable NAME…`.

use super::failure::ChangeFailure;
use super::planned::{ChangeReport, PlannedChange, TargetConfig};
use crate::cli::{Enable, Remove, StartCheck};
use crate::commands::runtime::start_logging;
use crate::environment::Environment;
use crate::own_config::{ConfigServers, OwnConfigError, set_disabled};

pub(crate) fn remove(asked: &Remove, environment: &Environment) -> u8 {
    let edit = |config: &mut ConfigServers, name: &str| config.remove_everywhere(name);
    change(
        asked,
        &VerbWords { verb: "remove", done: ("removed", "from") },
        None,
        environment,
        &edit,
    )
}

pub(crate) fn disable(asked: &Remove, environment: &Environment) -> u8 {
    let edit = |config: &mut ConfigServers, name: &str| set_disabled(config, name, true).map(drop);
    change(
        asked,
        &VerbWords { verb: "disable", done: ("disabled", "in") },
        None,
        environment,
        &edit,
    )
}

pub(crate) fn enable(asked: &Enable, environment: &Environment) -> u8 {
    if let Err(code) = start_logging(&asked.check.log, environment) {
        return code;
    }
    let edit = |config: &mut ConfigServers, name: &str| set_disabled(config, name, false).map(drop);
    let named = Remove { names: asked.names.clone(), at: asked.at.clone() };
    let words = VerbWords { verb: "enable", done: ("enabled", "in") };
    change(&named, &words, Some(&asked.check), environment, &edit)
}

struct VerbWords {
    verb: &'static str,
    done: (&'static str, &'static str),
}

fn change(
    asked: &Remove,
    words: &VerbWords,
    check: Option<&StartCheck>,
    environment: &Environment,
    edit_one: &dyn Fn(&mut ConfigServers, &str) -> Result<(), OwnConfigError>,
) -> u8 {
    let done = || -> Result<u8, ChangeFailure> {
        let target = TargetConfig::new(&asked.at, environment)?;
        let edit = |text: &str| {
            let mut config = ConfigServers::parse(&target.path, text)?;
            for name in &asked.names {
                edit_one(&mut config, name)?;
            }
            Ok(config.text())
        };
        let start = check.map(|_| asked.names.clone()).unwrap_or_default();
        let what = format!("{} {}", words.verb, asked.names.join(" "));
        let notes = match words.verb {
            "remove" => references(&target.servers()?, &asked.names),
            _ => Vec::new(),
        };
        let (changed, rows) = target.make(&PlannedChange { what, edit: &edit, start }, check)?;
        let (done, names) = (words.done, &asked.names[..]);
        let (changed, rows) = (&changed, &rows[..]);
        Ok(target.tell(&ChangeReport { done, names, changed, rows, notes: &notes }))
    };
    done().unwrap_or_else(|failure| failure.tell(environment))
}

/// What goes with the servers.
fn references(config: &ConfigServers, names: &[String]) -> Vec<String> {
    let all = names.iter().flat_map(|name| config.references(name));
    all.map(|(path, item)| format!("`{item}` goes out of `{}`, too", path.join("."))).collect()
}
