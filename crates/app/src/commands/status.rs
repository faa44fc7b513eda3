//! `trunkline status`: whether a `serve` is ready, and the state of its servers.

use serde_json::{Value, json};

use crate::cli::StatusArgs;
use crate::commands::running_serve::{ServeError, find, lines, run as reach, servers};
use crate::environment::Environment;
use crate::rest::Rest;
use crate::serve_view::{ServerLine, detail, list, summary};
use crate::{FAILED, console};

pub(crate) fn run(asked: &StatusArgs, environment: &Environment) -> u8 {
    reach(&asked.at, environment, async |rest| match &asked.server {
        Some(name) => one(rest, name, asked.at.json, environment).await,
        None => all(rest, asked.at.json, environment).await,
    })
}

async fn all(rest: &Rest, json: bool, environment: &Environment) -> Result<u8, ServeError> {
    let ready = rest.send("GET", "/readyz", None).await?;
    let state: Value = serde_json::from_slice(&ready.body).unwrap_or_default();
    let state = state.get("status").and_then(Value::as_str).unwrap_or("unknown").to_owned();
    let is_ready = ready.is_success();
    let raw = match servers(rest).await {
        Ok(servers) => servers,
        // A `serve` without a platform says whether it is ready, and no more.
        Err(ServeError::Failed(why)) if why.contains("has no REST API") => {
            return Ok(bare(rest, &state, is_ready, json));
        }
        Err(trouble) => return Err(trouble),
    };
    let lines = lines(rest, &raw).await;
    let is_well = is_ready && lines.iter().all(ServerLine::is_well);
    let told = if json {
        let told = json!({"url": rest.address(), "state": state, "ok": is_well, "servers": raw});
        console::out(&format!("{told}\n"))
    } else {
        let paint = environment.paint();
        let shown = if is_ready { paint.green(&state) } else { paint.red(&state) };
        let mut out = vec![format!("{}: {shown}", rest.address()), String::new()];
        match lines.as_slice() {
            [] => out.push("no servers yet: `trunkline servers add` registers one".to_owned()),
            lines => out.extend(list(lines, console::width(), paint)),
        }
        out.extend([String::new(), summary(&lines), String::new()]);
        console::out(&out.join("\n"))
    };
    Ok(if is_well { told } else { FAILED })
}

fn bare(rest: &Rest, state: &str, is_ready: bool, json: bool) -> u8 {
    let told = match json {
        true => json!({"url": rest.address(), "state": state, "ok": is_ready, "servers": null})
            .to_string(),
        false => format!(
            "{}: {state}\nit has no REST API, so no more is known; --data-dir of `serve` gives it one",
            rest.address()
        ),
    };
    let told = console::out(&format!("{told}\n"));
    if is_ready { told } else { FAILED }
}

async fn one(
    rest: &Rest,
    name: &str,
    json: bool,
    environment: &Environment,
) -> Result<u8, ServeError> {
    let all = servers(rest).await?;
    let server = find(&all, name)?;
    let told = match json {
        true => console::out(&format!("{server}\n")),
        false => console::out(&detail(server, environment.paint())),
    };
    Ok(if ServerLine::read(server).is_well() { told } else { FAILED })
}
