//! `trunkline search`: finds tools by what they do.

use crate::cli::Search;
use crate::client::{self, ToolQuery};
use crate::commands::one_shot::{self, CommandError, OneShotOptions};
use crate::environment::Environment;
use crate::{OK, USAGE, console};

pub(crate) fn run(asked: &Search, environment: &Environment) -> u8 {
    let target = &asked.target;
    if asked.text.trim().is_empty() {
        return console::problem(
            "error: say what the tool should do: trunkline search \"read a file\"\n",
            USAGE,
        );
    }
    let manner = OneShotOptions {
        target,
        wanted: None,
        person: console::person_is_there(),
        only_lists: true,
    };
    one_shot::run(&manner, environment, async |visit| {
        let list = visit.ask("tools/list", b"{}").await?;
        let known = match target.url {
            // Its names are its own.
            Some(_) => Vec::new(),
            None => visit.servers(),
        };
        let sought = ToolQuery {
            text: &asked.text,
            limit: asked.limit,
            servers: &asked.server,
            known: &known,
        };
        if let Some(name) = asked.server.iter().find(|name| !known.contains(name)) {
            return Err(visit.unknown("server", name, &known));
        }
        let found = match client::finder(&list).filter(|_| target.url.is_some()) {
            // It shows a few, and looks for the others itself.
            Some(finder) => {
                let call = client::finding(&finder, &sought).to_string();
                client::found_there(&visit.ask("tools/call", call.as_bytes()).await?)
            }
            None => client::search_tools(&list, &sought),
        };
        let (found, searched) = found.map_err(CommandError::Failed)?;
        Ok(if target.json {
            console::out_line(
                client::found_json(&asked.text, &found, searched).to_string().as_bytes(),
            )
        } else if found.is_empty() {
            // Not on standard output: no tool is called so.
            console::problem("nothing found\n", OK)
        } else {
            console::out(&client::found_table(&found, console::width()))
        })
    })
}
