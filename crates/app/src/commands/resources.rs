//! `trunkline resources`: resources and templates, or what one holds.

use trunkline_wire::{encode, member};

use crate::cli::Resources;
use crate::client;
use crate::commands::one_shot::{self, CommandError, OneShot, OneShotOptions};
use crate::commands::output;
use crate::environment::Environment;
use crate::{OK, console};

pub(crate) fn run(asked: &Resources, environment: &Environment) -> u8 {
    // An address says nothing about the server it belongs to.
    let manner = OneShotOptions {
        target: &asked.target,
        wanted: None,
        person: console::person_is_there(),
        only_lists: asked.uri.is_none(),
    };
    one_shot::run(&manner, environment, async |visit| match &asked.uri {
        None => list(asked, visit).await,
        Some(uri) => read(asked, uri, visit).await,
    })
}

async fn list(asked: &Resources, visit: &OneShot<'_>) -> Result<u8, CommandError> {
    let resources = visit.ask("resources/list", b"{}").await?;
    let templates = visit.ask("resources/templates/list", b"{}").await?;
    if !asked.target.json {
        return Ok(console::out(&client::resource_list(&resources, &templates, console::width())));
    }
    // Two results in one object, each list as it came.
    let list = |result, key| member(result, key).unwrap_or(b"[]");
    let both = [
        br#"{"resources":"#,
        list(&resources, "resources"),
        br#","resourceTemplates":"#,
        list(&templates, "resourceTemplates"),
        b"}",
    ]
    .concat();
    Ok(console::out_line(&both))
}

async fn read(asked: &Resources, uri: &str, visit: &OneShot<'_>) -> Result<u8, CommandError> {
    let params = [b"{\"uri\":", &encode(uri)[..], b"}"].concat();
    let result = match visit.ask("resources/read", &params).await {
        Err(CommandError::Refused(error)) => {
            return Err(not_read(uri, visit, CommandError::Refused(error)).await);
        }
        other => other?,
    };
    if asked.target.json {
        return Ok(console::out_line(&result));
    }
    let parts = client::resource_parts(&result);
    match &asked.output {
        None => Ok(output::print_exact(&parts)),
        Some(file) => {
            let rest = output::save(parts, file)?;
            Ok(if rest.is_empty() { OK } else { output::print(&rest) })
        }
    }
}

/// A resource that cannot be read is perhaps misspelt: then the list knows better.
async fn not_read(uri: &str, visit: &OneShot<'_>, trouble: CommandError) -> CommandError {
    let Ok(list) = visit.ask("resources/list", b"{}").await else {
        return trouble;
    };
    let known = client::names(&list, "resources", "uri");
    let near = client::did_you_mean(uri, known.iter().map(String::as_str));
    if near.is_empty() || known.iter().any(|known| known == uri) {
        return trouble;
    }
    visit.unknown("resource", uri, &known)
}
