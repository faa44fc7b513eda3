//! `trunkline servers …`: lists, registers, connects and removes servers of a running `serve`.

use serde_json::{Map, Value, json};

use crate::cli::{AddServer, OneServer, ServersArgs, ServersCommand};
use crate::commands::running_serve::{ServeError, find, lines, path_of, run as reach, servers};
use crate::console;
use crate::environment::Environment;
use crate::rest::Rest;
use crate::serve_view::list;

pub(crate) fn run(asked: &ServersArgs, environment: &Environment) -> u8 {
    match &asked.command {
        ServersCommand::List { at } => reach(at, environment, async |rest| {
            let all = servers(rest).await?;
            if at.json {
                return Ok(console::out(&format!("{}\n", json!({ "servers": all }))));
            }
            let lines = lines(rest, &all).await;
            let text = match lines.as_slice() {
                [] => "no servers yet: `trunkline servers add` registers one".to_owned(),
                lines => list(lines, console::width(), environment.paint()).join("\n"),
            };
            Ok(console::out(&format!("{text}\n")))
        }),
        ServersCommand::Add(add) => {
            reach(&add.at, environment, async |rest| register(rest, add).await)
        }
        ServersCommand::Connect(one) => {
            act(one, environment, "POST", "/connect", "is being connected")
        }
        ServersCommand::Disconnect(one) => {
            act(one, environment, "POST", "/disconnect", "is disconnected")
        }
        ServersCommand::Remove(one) => act(one, environment, "DELETE", "", "is removed"),
    }
}

fn act(
    one: &OneServer,
    environment: &Environment,
    method: &'static str,
    what: &str,
    words: &str,
) -> u8 {
    reach(&one.at, environment, async |rest| {
        let all = servers(rest).await?;
        let server = find(&all, &one.server)?;
        let answer = rest.ask(method, &path_of(server, what), None).await?;
        let name = server.get("name").and_then(Value::as_str).unwrap_or_default();
        Ok(match one.at.json {
            true => console::out(&format!("{}\n", json!({"name": name, "answer": answer}))),
            false => console::out(&format!("`{name}` {words}\n")),
        })
    })
}

async fn register(rest: &Rest, add: &AddServer) -> Result<u8, ServeError> {
    let made = rest.ask("POST", "/api/v1/aggregator/servers", Some(&registration(add))).await?;
    let text = |key: &str| made.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(match add.at.json {
        true => console::out(&format!("{made}\n")),
        false => {
            let (name, state) = (text("name"), text("status").to_lowercase());
            console::out(&format!(
                "`{name}` is registered and {state}; `trunkline status {name}` shows it\n"
            ))
        }
    })
}

/// What the API is told.
fn registration(add: &AddServer) -> Value {
    let mut config = Map::new();
    let kind = match (&add.address, add.command.split_first()) {
        (Some(url), _) => {
            config.insert("url".to_owned(), url.to_string().into());
            let headers = add.header.iter().map(|it| (it.name.clone(), it.value.clone().into()));
            let headers: Map<String, Value> = headers.collect();
            if !headers.is_empty() {
                config.insert("headers".to_owned(), headers.into());
            }
            if add.sse { "SSE" } else { "HTTP" }
        }
        (None, command) => {
            let (program, args) = command.map_or(("", &[][..]), |(program, args)| (program, args));
            config.insert("command".to_owned(), program.into());
            config.insert("args".to_owned(), args.into());
            "STDIO"
        }
    };
    let mut body = json!({
        "name": add.name,
        "transport_type": kind,
        "connection_config": config,
        "auto_connect": !add.no_connect,
    });
    if let (Some(text), Some(members)) = (&add.description, body.as_object_mut()) {
        members.insert("description".to_owned(), text.as_str().into());
    }
    body
}
