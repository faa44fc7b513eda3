//! `trunkline prompts`: the prompts, or one of them filled in.

use trunkline_catalog::ListKind;
use trunkline_wire::encode_into;

use crate::cli::Prompts;
use crate::client::{self, Schema};
use crate::commands::input::{arguments, read_pairs};
use crate::commands::visit::{self, Manner, Trouble};
use crate::environment::Environment;
use crate::{USAGE, speak};

pub(crate) fn run(asked: &Prompts, environment: &Environment) -> u8 {
    let target = &asked.target;
    let pairs = match read_pairs(&asked.pairs) {
        Ok(pairs) => pairs,
        Err(text) => return speak::problem(&format!("error: {text}\n"), USAGE),
    };
    let manner = Manner { target, wanted: None, person: speak::person_is_there() };
    visit::run(&manner, environment, async |visit| {
        let list = visit.ask("prompts/list", b"{}").await?;
        let Some(name) = &asked.name else {
            return Ok(if target.json {
                speak::out_line(&list)
            } else {
                speak::out(&client::prompt_list(&list, speak::width()))
            });
        };
        let definition = visit.find(ListKind::Prompts, &list, name)?;
        let schema = client::prompt_schema(definition);
        let given = arguments(None, pairs, Schema::new(&schema), name).map_err(Trouble::Usage)?;
        let result = visit.ask("prompts/get", &params(name, &given)).await?;
        Ok(if target.json {
            speak::out_line(&result)
        } else if speak::stdout_is_terminal() {
            speak::out(&client::block(&client::prompt(&result)))
        } else {
            speak::out(&client::prompt(&result))
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
