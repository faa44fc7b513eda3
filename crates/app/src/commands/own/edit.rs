//! `trunkline edit`: the config in the user's editor. Only a text that passes the check is written.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::failure::ChangeFailure;
use super::person::ask;
use super::planned::{ChangeReport, PlannedChange, TargetConfig};
use crate::cli::{Edit, StartCheck};
use crate::commands::runtime::start_logging;
use crate::environment::Environment;
use crate::own_config::{ConfigServers, EditDraft, OwnConfigError};
use crate::{OK, console};

pub(crate) fn edit(asked: &Edit, environment: &Environment) -> u8 {
    if let Err(code) = start_logging(&asked.check.log, environment) {
        return code;
    }
    run(asked, environment).unwrap_or_else(|failure| failure.tell(environment))
}

fn run(asked: &Edit, environment: &Environment) -> Result<u8, ChangeFailure> {
    let target = TargetConfig::new(&asked.at, environment)?;
    let text = target.text()?;
    let draft = EditDraft::create(&target.path, &text, environment)?;
    let mut check = asked.check.clone();
    loop {
        run_editor(draft.path(), environment)?;
        let new = fs::read_to_string(draft.path())?;
        if new == text {
            console::problem(&format!("{} was not changed\n", target.path.display()), OK);
            return Ok(OK);
        }
        match write(&target, &text, &new, &check) {
            Ok(code) => return Ok(code),
            Err(failure) => match after(&failure, environment) {
                NextStep::EditAgain => {}
                NextStep::WriteUnchecked => {
                    check.no_check = true;
                    return write(&target, &text, &new, &check);
                }
                NextStep::GiveUp => {
                    let kept = draft.keep();
                    console::problem(&format!("your text is in {}\n", kept.display()), OK);
                    return Err(failure);
                }
            },
        }
    }
}

enum NextStep {
    EditAgain,
    WriteUnchecked,
    GiveUp,
}

/// What the person wants after a mistake.
fn after(failure: &ChangeFailure, environment: &Environment) -> NextStep {
    if !console::person_is_there() {
        return NextStep::GiveUp;
    }
    let may_write = matches!(failure, ChangeFailure::NotStarted(_));
    match failure {
        ChangeFailure::Invalid(_) | ChangeFailure::NotStarted(_) => failure.tell(environment),
        ChangeFailure::Config(
            OwnConfigError::Syntax { .. } | OwnConfigError::NotAnObject { .. },
        ) => failure.tell(environment),
        _ => return NextStep::GiveUp,
    };
    let question = match may_write {
        true => "[e]dit again, [w]rite it all the same, or [q]uit without writing? ",
        false => "[e]dit again, or [q]uit without writing? ",
    };
    loop {
        match ask(question).as_deref().map(str::trim) {
            Some("" | "e" | "E") => return NextStep::EditAgain,
            Some("w" | "W") if may_write => return NextStep::WriteUnchecked,
            Some("q" | "Q") | None => return NextStep::GiveUp,
            Some(_) => {}
        }
    }
}

fn write(
    target: &TargetConfig<'_>,
    old: &str,
    new: &str,
    check: &StartCheck,
) -> Result<u8, ChangeFailure> {
    // The loader says more about what is wrong than the editor of entries does.
    target.validate(old, new)?;
    let edit = |now: &str| match now == old {
        true => Ok(new.to_owned()),
        false => Err(OwnConfigError::Usage(format!(
            "{} was changed by another program while you edited it; nothing was written",
            target.path.display()
        ))),
    };
    let edited = changed_servers(target, old, new)?;
    let planned = PlannedChange { what: "edit".to_owned(), edit: &edit, start: edited.clone() };
    let (changed, rows) = target.make(&planned, Some(check))?;
    let (changed, rows) = (&changed, &rows[..]);
    let (done, names) = (("edited", "in"), &edited[..]);
    Ok(target.tell(&ChangeReport { done, names, changed, rows, notes: &[] }))
}

/// Those that are new or say something else, and are on.
fn changed_servers(
    target: &TargetConfig<'_>,
    old: &str,
    new: &str,
) -> Result<Vec<String>, ChangeFailure> {
    // A broken file may be mended here.
    let before = ConfigServers::parse(&target.path, old).map(|config| config.all());
    let before = before.unwrap_or_default();
    let after = ConfigServers::parse(&target.path, new)?.all();
    let is_on = |entry: &Value| {
        entry.get("disabled") != Some(&Value::Bool(true))
            && entry.get("enabled") != Some(&Value::Bool(false))
    };
    let changed =
        after.iter().filter(|(name, entry)| before.get(*name) != Some(*entry) && is_on(entry));
    Ok(changed.map(|(name, _)| name.clone()).collect())
}

fn run_editor(draft: &Path, environment: &Environment) -> Result<(), ChangeFailure> {
    let named = ["VISUAL", "EDITOR"].iter().find_map(|name| environment.filled(name));
    let editor = named.clone().unwrap_or_else(|| "vi".to_owned());
    // A shell reads the variable, as other programs have it: it may hold flags and quotes.
    let script = format!("{editor} \"$1\"");
    let ran = Command::new("/bin/sh").args(["-c", &script, "sh"]).arg(draft).status();
    match ran {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(ChangeFailure::usage(format!(
            "the editor ({}) failed; nothing was written{}",
            named
                .map_or("vi, as EDITOR is not set".to_owned(), |_| "$VISUAL or $EDITOR".to_owned()),
            "; set EDITOR to one that works here"
        ))),
        Err(error) => Err(io::Error::other(format!("/bin/sh cannot be started: {error}")).into()),
    }
}
