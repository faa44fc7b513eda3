//! `trunkline call`: one call of a tool.

use serde_json::Value;
use trunkline_catalog::ListKind;
use trunkline_wire::{encode_into, is_json, member};

use crate::cli::Call;
use crate::client::{self, Pair, Schema};
use crate::commands::input::{arguments, read_argument, read_pairs};
use crate::commands::one_shot::{self, CommandError, OneShotOptions};
use crate::commands::output;
use crate::environment::Environment;
use crate::{FAILED, OK, console};

pub(crate) fn run(asked: &Call, environment: &Environment) -> u8 {
    let target = &asked.target;
    let (whole, pairs) = match given(asked) {
        Ok(given) => given,
        Err(text) => return console::problem(&format!("error: {text}\n"), crate::USAGE),
    };
    let manner = OneShotOptions {
        target,
        wanted: Some(&asked.name),
        person: console::person_is_there(),
        only_lists: false,
    };
    one_shot::run(&manner, environment, async |visit| {
        let list = visit.ask("tools/list", b"{}").await?;
        let definition = visit.find(ListKind::Tools, &list, &asked.name)?;
        let schema = member(definition, "inputSchema").map_or(Value::Bool(true), client::lenient);
        let given = arguments(whole.as_deref(), pairs, Schema::new(&schema), &asked.name)
            .map_err(CommandError::Usage)?;
        let result = visit.ask("tools/call", &params(&asked.name, &given)).await?;
        if target.json {
            let told = console::out_line(&result);
            return Ok(if client::call_result(&result).is_error { FAILED } else { told });
        }
        show(asked, &result)
    })
}

/// What the command line says, with the files it names.
fn given(asked: &Call) -> Result<(Option<Vec<u8>>, Vec<Pair>), String> {
    let whole = asked.args.as_deref().map(whole).transpose()?;
    Ok((whole, read_pairs(&asked.pairs)?))
}

/// `--args`: the text itself, `@FILE` or `-`.
fn whole(text: &str) -> Result<Vec<u8>, String> {
    let text = read_argument(text)?;
    let bytes = text.trim().as_bytes().to_vec();
    if bytes.starts_with(b"{") && is_json(&bytes) {
        return Ok(bytes);
    }
    let why = serde_json::from_slice::<Value>(&bytes).err();
    let why = why.map(|error| format!(": {error}")).unwrap_or_default();
    Err(format!("--args must be one JSON object{why}"))
}

fn params(name: &str, arguments: &[u8]) -> Vec<u8> {
    let mut out = b"{\"name\":".to_vec();
    encode_into(name, &mut out);
    out.extend_from_slice(b",\"arguments\":");
    out.extend_from_slice(arguments);
    if console::stderr_is_terminal() {
        // Servers report progress only when a token asks for it (MCP, Progress), and a person sees it here.
        out.extend_from_slice(b",\"_meta\":{\"progressToken\":1}");
    }
    out.push(b'}');
    out
}

fn show(asked: &Call, result: &[u8]) -> Result<u8, CommandError> {
    let result = client::call_result(result);
    if result.is_error {
        let text = client::text_of(&result.parts);
        let text = if text.is_empty() { "the tool failed and did not say why\n" } else { &text };
        return Ok(console::problem(&format!("error: {}", client::block(text)), FAILED));
    }
    let parts = match &asked.output {
        Some(output) => output::save(result.parts, output)?,
        None => result.parts,
    };
    Ok(if parts.is_empty() { OK } else { output::print(&parts) })
}
