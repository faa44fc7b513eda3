//! A client of the gateway, for the suite's scenarios that judge clients: the gateway is judged by
//! what it sends to the suite's server when everything that server offers is used once.

mod answers;
mod session;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::era::Era;
use session::Session;

/// What the gateway knows the suite's server by.
const SERVER: &str = "mock";
/// Its server lists a tool it cannot be asked to call.
const LISTED_ONLY: &str = "json-schema-ref-no-deref";

/// One run before one of the suite's servers.
#[derive(Debug)]
pub struct Client {
    /// The gateway's program.
    pub program: PathBuf,
    /// Where its config is written to.
    pub config: PathBuf,
    /// How the gateway is spoken to: `Modern`, or anything else for a session.
    pub era: Era,
    /// Where the suite's server listens.
    pub url: String,
    /// Which of its scenarios this is.
    pub scenario: String,
    /// What it wants to be called with, where it says so.
    pub context: Value,
}

/// Uses everything once. The error says what was not to be had.
pub fn run(client: &Client) -> Result<(), String> {
    let entry = json!({ "type": "http", "url": client.url });
    let config = json!({ "mcpServers": { SERVER: entry } }).to_string();
    std::fs::write(&client.config, config).map_err(|error| error.to_string())?;
    let mut session = Session::open(&client.program, &client.config, client.era)?;
    let used = use_everything(&mut session, client);
    session.close()?;
    used
}

fn use_everything(session: &mut Session, client: &Client) -> Result<(), String> {
    let tools = session.list("tools")?;
    if client.scenario != LISTED_ONLY {
        call(session, calls(&tools, &client.context)?)?;
    }
    for resource in session.list("resources")? {
        let uri = resource.get("uri").cloned().unwrap_or_default();
        session.ask("resources/read", json!({ "uri": uri }))?;
    }
    for prompt in session.list("prompts")? {
        let name = prompt.get("name").cloned().unwrap_or_default();
        session.ask("prompts/get", json!({ "name": name }))?;
    }
    Ok(())
}

/// Every tool with something that fits its schema, or those calls the scenario names.
fn calls(tools: &[Value], context: &Value) -> Result<Vec<Value>, String> {
    let listed: BTreeMap<&str, &Value> = tools
        .iter()
        .filter_map(|tool| {
            let name = tool.get("name")?.as_str()?;
            Some((name.strip_prefix(SERVER)?.get(1..)?, tool))
        })
        .collect();
    let name = |own: &str| {
        let tool = listed.get(own).ok_or_else(|| format!("no tool {own}: {tools:?}"))?;
        Ok::<_, String>(tool.get("name").cloned().unwrap_or_default())
    };
    if let Some(wanted) = context.get("toolCalls").and_then(Value::as_array) {
        let wanted = wanted.iter().map(|call| {
            let own = call.get("name").and_then(Value::as_str).unwrap_or_default();
            Ok(json!({ "name": name(own)?, "arguments": call.get("arguments") }))
        });
        return wanted.collect();
    }
    let every = listed.iter().map(|(own, tool)| {
        let schema = tool.get("inputSchema").unwrap_or(&Value::Null);
        Ok(json!({ "name": name(own)?, "arguments": answers::filled_in(schema) }))
    });
    every.collect()
}

/// All at once, and what needs input again when all have been heard: one call's state must not get
/// into another's.
fn call(session: &mut Session, calls: Vec<Value>) -> Result<(), String> {
    let mut calls = calls;
    while !calls.is_empty() {
        let ids: Vec<u64> = calls
            .iter()
            .map(|params| session.send("tools/call", params.clone()))
            .collect::<Result<_, _>>()?;
        let mut again = Vec::new();
        for (id, mut params) in ids.into_iter().zip(calls) {
            let result = session.answer(id)?;
            if result.get("isError") == Some(&json!(true)) {
                return Err(format!("{params}: {result}"));
            }
            if let Some(answered) = answers::to_required(&result) {
                params
                    .as_object_mut()
                    .into_iter()
                    .for_each(|params| params.extend(answered.clone()));
                again.push(params);
            }
        }
        calls = again;
    }
    Ok(())
}
