//! `trunkline undo`: takes the latest changes of a config back.

use serde_json::{Value, json};

use super::failure::ChangeFailure;
use super::planned::TargetConfig;
use crate::cli::Undo;
use crate::client::line;
use crate::environment::Environment;
use crate::own_config::{History, RecordedChange, undo_change};
use crate::{OK, console};

pub(crate) fn undo(asked: &Undo, environment: &Environment) -> u8 {
    run(asked, environment).unwrap_or_else(|failure| failure.tell(environment))
}

fn run(asked: &Undo, environment: &Environment) -> Result<u8, ChangeFailure> {
    let target = TargetConfig::new(&asked.at, environment)?;
    let path = target.path.display().to_string();
    if asked.list {
        let history = History::of(&target.path, environment);
        let all = history.map(|history| history.all()).unwrap_or_default();
        if all.is_empty() && !asked.at.json {
            console::problem(&format!("there is no change of {path} to undo\n"), OK);
        }
        return Ok(tell(asked.at.json, &path, "changes", "", &all));
    }
    let mut undone = Vec::new();
    for _ in 0..asked.steps {
        match undo_change(&target.path, asked.force, environment) {
            Ok(change) => undone.push(change),
            Err(error) if undone.is_empty() => return Err(error.into()),
            // There were fewer than that.
            Err(error) => {
                console::problem(&format!("note: {error}\n"), OK);
                break;
            }
        }
    }
    Ok(tell(asked.at.json, &path, "undone", "undone: ", &undone))
}

fn tell(json: bool, path: &str, key: &str, before: &str, changes: &[RecordedChange]) -> u8 {
    if json {
        let shown: Vec<Value> =
            changes.iter().map(|it| json!({ "what": it.what, "at": it.at })).collect();
        return console::out(&format!("{}\n", json!({ "config": path, key: shown })));
    }
    let words = changes.iter().map(|it| format!("{before}{} ({})\n", line(&it.what), it.at));
    console::out(&words.collect::<String>())
}
