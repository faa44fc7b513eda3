//! `trunkline tools`: the tools, or one of them.

use trunkline_catalog::ListKind;

use crate::cli::Tools;
use crate::client;
use crate::commands::one_shot::{self, OneShotOptions};
use crate::console;
use crate::environment::Environment;

pub(crate) fn run(asked: &Tools, environment: &Environment) -> u8 {
    let target = &asked.target;
    let manner = OneShotOptions {
        target,
        wanted: asked.name.as_deref(),
        person: console::person_is_there(),
    };
    one_shot::run(&manner, environment, async |visit| {
        let list = visit.ask("tools/list", b"{}").await?;
        let Some(name) = &asked.name else {
            return Ok(if target.json {
                console::out_line(&list)
            } else {
                console::out(&client::tool_list(&list, console::width()))
            });
        };
        let definition = visit.find(ListKind::Tools, &list, name)?;
        Ok(if target.json {
            console::out_line(definition)
        } else {
            console::out(&client::tool(definition, console::width()))
        })
    })
}
