//! `trunkline search`: the tools that a request means.

use crate::cli::Search;
use crate::client::{self, Sought};
use crate::commands::visit::{self, Manner, Trouble};
use crate::environment::Environment;
use crate::{OK, USAGE, speak};

pub(crate) fn run(asked: &Search, environment: &Environment) -> u8 {
    let target = &asked.target;
    if asked.text.trim().is_empty() {
        return speak::problem(
            "error: say what the tool should do: trunkline search \"read a file\"\n",
            USAGE,
        );
    }
    let manner = Manner { target, wanted: None, person: speak::person_is_there() };
    visit::run(&manner, environment, async |visit| {
        let list = visit.ask("tools/list", b"{}").await?;
        let known = match target.url {
            // Its names are its own.
            Some(_) => Vec::new(),
            None => visit.servers(),
        };
        let sought =
            Sought { text: &asked.text, limit: asked.limit, servers: &asked.server, known: &known };
        if let Some(name) = asked.server.iter().find(|name| !known.contains(name)) {
            return Err(visit.unknown("server", name, &known));
        }
        let found = match client::finder(&list).filter(|_| target.url.is_some()) {
            // It shows a few, and looks for the others itself.
            Some(finder) => {
                let call = client::finding(&finder, &sought).to_string();
                client::found_there(&visit.ask("tools/call", call.as_bytes()).await?)
            }
            None => client::seek(&list, &sought),
        };
        let (found, searched) = found.map_err(Trouble::Failed)?;
        Ok(if target.json {
            speak::out_line(
                client::found_json(&asked.text, &found, searched).to_string().as_bytes(),
            )
        } else if found.is_empty() {
            // Not on standard output: no tool is called so.
            speak::problem("nothing found\n", OK)
        } else {
            speak::out(&client::found_table(&found, speak::width()))
        })
    })
}
