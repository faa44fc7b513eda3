//! `trunkline tools`: the tools, or one of them.

use trunkline_catalog::ListKind;

use crate::cli::{Tools, ToolsCommand};
use crate::client;
use crate::commands::one_shot::{self, OneShotOptions};
use crate::commands::own::switch_tools;
use crate::console;
use crate::environment::Environment;

pub(crate) fn run(asked: &Tools, environment: &Environment) -> u8 {
    match &asked.command {
        Some(ToolsCommand::Enable(switch)) => return switch_tools(switch, false, environment),
        Some(ToolsCommand::Disable(switch)) => return switch_tools(switch, true, environment),
        None => {}
    }
    let target = &asked.target;
    let manner = OneShotOptions {
        target,
        wanted: asked.name.as_deref(),
        person: console::person_is_there(),
        only_lists: true,
    };
    one_shot::run(&manner, environment, async |visit| {
        let list = visit.ask("tools/list", b"{}").await?;
        let Some(name) = &asked.name else {
            return Ok(if target.json {
                console::out_line(&list)
            } else {
                let off = client::switched_off(&visit.switched_off());
                console::out(&(client::tool_list(&list, console::width()) + &off))
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
