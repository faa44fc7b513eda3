//! `trunkline prompts`: the prompts, or one of them filled in.

use trunkline_catalog::ListKind;
use trunkline_wire::encode_into;

use crate::cli::Prompts;
use crate::client::{self, Schema};
use crate::commands::input::{arguments, read_pairs};
use crate::commands::one_shot::{self, CommandError, OneShotOptions};
use crate::environment::Environment;
use crate::{USAGE, console};

pub(crate) fn run(asked: &Prompts, environment: &Environment) -> u8 {
    let target = &asked.target;
    let pairs = match read_pairs(&asked.pairs) {
        Ok(pairs) => pairs,
        Err(text) => return console::problem(&format!("error: {text}\n"), USAGE),
    };
    let manner = OneShotOptions {
        target,
        wanted: None,
        person: console::person_is_there(),
        only_lists: asked.name.is_none(),
    };
    one_shot::run(&manner, environment, async |visit| {
        let list = visit.ask("prompts/list", b"{}").await?;
        let Some(name) = &asked.name else {
            return Ok(if target.json {
                console::out_line(&list)
            } else {
                console::out(&client::prompt_list(&list, console::width()))
            });
        };
        let definition = visit.find(ListKind::Prompts, &list, name)?;
        let schema = client::prompt_schema(definition);
        let given =
            arguments(None, pairs, Schema::new(&schema), name).map_err(CommandError::Usage)?;
        let result = visit.ask("prompts/get", &params(name, &given)).await?;
        Ok(if target.json {
            console::out_line(&result)
        } else if console::stdout_is_terminal() {
            console::out(&client::block(&client::prompt(&result)))
        } else {
            console::out(&client::prompt(&result))
        })
    })
}

fn params(name: &str, arguments: &[u8]) -> Vec<u8> {
    let mut out = b"{\"name\":".to_vec();
    encode_into(name, &mut out);
    out.extend_from_slice(b",\"arguments\":");
    out.extend_from_slice(arguments);
    out.push(b'}');
    out
}
