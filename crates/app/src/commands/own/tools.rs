//! `trunkline tools enable|disable`: switches tools on and off, for every client or for one.

use trunkline_catalog::client::Client;
use trunkline_catalog::config::{ServerSpec, fits};

use super::failure::ChangeFailure;
use super::planned::{ChangeReport, PlannedChange, TargetConfig};
use crate::cli::{Servers, SwitchTools};
use crate::client::{did_you_mean, line};
use crate::commands::runtime::start_logging;
use crate::environment::Environment;
use crate::own_config::{ConfigServers, OwnConfigError, is_pattern, set_hidden, set_hidden_for};
use crate::settings::{self, StartOptions};

pub(crate) fn switch_tools(asked: &SwitchTools, hidden: bool, environment: &Environment) -> u8 {
    if let Err(code) = start_logging(&asked.check.log, environment) {
        return code;
    }
    run(asked, hidden, environment).unwrap_or_else(|failure| failure.tell(environment))
}

/// What one of the names means.
struct NamedTool {
    server: String,
    /// `None`: the whole server.
    tool: Option<String>,
}

fn run(asked: &SwitchTools, hidden: bool, environment: &Environment) -> Result<u8, ChangeFailure> {
    let target = TargetConfig::new(&asked.at, environment)?;
    let text = target.text()?;
    let config = ConfigServers::parse(&target.path, &text)?;
    let mut custom: Vec<String> = Vec::new();
    let mut named = Vec::new();
    for name in &asked.names {
        if config.has_custom_tool(name) && config.get(name).is_none() {
            custom.push(for_one_client(name, asked.client)?);
            continue;
        }
        let (server, tool) = config.tool(name)?;
        if tool.is_none() && asked.client.is_none() {
            let verb = if hidden { "disable" } else { "enable" };
            let server = line(&server);
            return Err(ChangeFailure::usage(format!(
                "`{server}` is a server: `trunkline {verb} {server}` switches it; tools are SERVER:TOOL"
            )));
        }
        named.push(NamedTool { server, tool: tool.map(str::to_owned) });
    }
    let named = resolve(&target, &text, named, asked)?;
    let edit = |text: &str| -> Result<String, OwnConfigError> {
        let mut config = ConfigServers::parse(&target.path, text)?;
        for NamedTool { server, tool } in &named {
            match (asked.client, tool) {
                (None, Some(tool)) => drop(set_hidden(&mut config, server, tool, hidden)?),
                (None, None) => {}
                (Some(client), tool) => {
                    let name = called(server, tool.as_deref());
                    set_hidden_for(&mut config, client, &name, hidden)?;
                }
            }
        }
        for name in &custom {
            if let Some(client) = asked.client {
                set_hidden_for(&mut config, client, name, hidden)?;
            }
        }
        Ok(config.text())
    };
    let verb = if hidden { "disable" } else { "enable" };
    let mut what = format!("tools {verb} {}", asked.names.join(" "));
    if let Some(client) = asked.client {
        what.push_str(&format!(" --for {client}"));
    }
    let (changed, _) =
        target.make(&PlannedChange { what, edit: &edit, start: Vec::new() }, None)?;
    if let Some(client) = asked.client.filter(|_| !hidden) {
        still_off(&target, client, &named)?;
    }
    let all = named.iter().map(|it| called(&it.server, it.tool.as_deref()));
    let names: Vec<String> = all.chain(custom.iter().cloned()).collect();
    let to = asked.client.map_or("in".to_owned(), |client| format!("for {client} in"));
    let done = (if hidden { "switched off" } else { "switched on" }, to.as_str());
    let (names, changed) = (&names[..], &changed);
    Ok(target.tell(&ChangeReport { done, names, changed, rows: &[], notes: &[] }))
}

/// Refuses to say that a tool is on which another entry, or the client's preset, keeps off.
fn still_off(
    target: &TargetConfig<'_>,
    client: Client,
    named: &[NamedTool],
) -> Result<(), ChangeFailure> {
    let servers = Servers::default();
    let wanted = StartOptions::once(&servers);
    // A config with problems elsewhere says nothing about this.
    let Ok(config) = settings::load(&target.path, &wanted, target.environment) else {
        return Ok(());
    };
    for NamedTool { server, tool } in named {
        let spec = config.servers.iter().find(|spec| spec.key == *server);
        let seen = spec.map(|spec| spec.filter.seen_by(Some(client), None));
        let is_off = seen.is_some_and(|seen| match tool.as_deref() {
            Some(tool) if !is_pattern(tool) => !seen.shows(tool),
            _ => seen.is_nothing(),
        });
        if is_off {
            let name = line(&called(server, tool.as_deref()));
            return Err(ChangeFailure::usage(format!(
                "`{name}` stays off for {client}: its preset leaves it out, or another entry of \
                 `clients.{client}.hiddenTools` covers it (`trunkline edit`)"
            )));
        }
    }
    Ok(())
}

fn called(server: &str, tool: Option<&str>) -> String {
    match tool {
        Some(tool) => format!("{server}:{tool}"),
        None => server.to_owned(),
    }
}

fn for_one_client(name: &str, client: Option<Client>) -> Result<String, ChangeFailure> {
    match client {
        Some(_) => Ok(name.to_owned()),
        None => Err(ChangeFailure::usage(format!(
            "`{}` is a custom tool of the config: take it out of `tools` (`trunkline edit`), or name a client with --for",
            line(name)
        ))),
    }
}

/// The names as the servers spell them, which are started for it. A pattern becomes the tools it means, but
/// for one client, where the config takes patterns.
fn resolve(
    target: &TargetConfig<'_>,
    text: &str,
    named: Vec<NamedTool>,
    asked: &SwitchTools,
) -> Result<Vec<NamedTool>, ChangeFailure> {
    let with_tools = named.iter().filter(|it| it.tool.is_some());
    let mut servers: Vec<String> = with_tools.map(|it| it.server.clone()).collect();
    servers.dedup();
    if asked.check.no_check || servers.is_empty() {
        let pattern = |it: &&NamedTool| it.tool.as_deref().is_some_and(is_pattern);
        return match named.iter().find(pattern).filter(|_| asked.client.is_none()) {
            Some(_) => Err(ChangeFailure::usage(
                "a pattern needs the server's list of tools: leave out --no-check",
            )),
            None => Ok(named),
        };
    }
    let (rows, listed) = target.start(text, &servers, &asked.check, |gateway| {
        let fleet = gateway.fleet();
        let names = |server: &String| -> Option<(String, Vec<String>)> {
            let offer = fleet.tools(&ServerSpec::file_id(server))?;
            let tools = offer.tools().map(|tool| tool.name.to_owned()).collect();
            Some((server.clone(), tools))
        };
        servers.iter().filter_map(names).collect::<Vec<_>>()
    })?;
    let config = ConfigServers::parse(&target.path, text)?;
    let mut all = Vec::new();
    for NamedTool { server, tool } in named {
        let is_running = rows.iter().any(|row| row.key == server && row.is_running());
        let of_server = listed.iter().find(|(name, _)| *name == server && is_running);
        // A server that is off, or wants a login, lists nothing: its names are taken as they are.
        let (Some(tool), Some((_, tools))) = (&tool, of_server) else {
            all.push(NamedTool { server, tool });
            continue;
        };
        let tool = config.original_name(&server, tool);
        let meant: Vec<&String> = tools.iter().filter(|known| fits(&tool, known)).collect();
        if meant.is_empty() {
            let near = did_you_mean(&tool, tools.iter().map(String::as_str));
            let (server, tool) = (line(&server), line(&tool));
            return Err(ChangeFailure::usage(format!(
                "server `{server}` has no tool `{tool}`{near}; `trunkline tools` lists them"
            )));
        }
        if asked.client.is_some() {
            all.push(NamedTool { server, tool: Some(tool) });
        } else {
            let one =
                |tool: &String| NamedTool { server: server.clone(), tool: Some(tool.clone()) };
            all.extend(meant.into_iter().map(one));
        }
    }
    Ok(all)
}
