//! `trunkline tools`: the tools, or one of them.

use trunkline_catalog::ListKind;

use crate::cli::Tools;
use crate::client;
use crate::commands::visit::{self, Manner};
use crate::environment::Environment;
use crate::speak;

pub(crate) fn run(asked: &Tools, environment: &Environment) -> u8 {
    let target = &asked.target;
    let manner = Manner { target, wanted: asked.name.as_deref(), person: speak::person_is_there() };
    visit::run(&manner, environment, async |visit| {
        let list = visit.ask("tools/list", b"{}").await?;
        let Some(name) = &asked.name else {
            return Ok(if target.json {
                speak::out_line(&list)
            } else {
                speak::out(&client::tool_list(&list, speak::width()))
            });
        };
        let definition = visit.find(ListKind::Tools, &list, name)?;
        Ok(if target.json {
            speak::out_line(definition)
        } else {
            speak::out(&client::tool(definition, speak::width()))
        })
    })
}
