//! One server: how it is, what it can do, its tools with the names that clients get, its times.

use maud::{Markup, html};
use serde_json::Value;
use trunkline_catalog::client::Client;
use trunkline_catalog::config::CALL_SETTINGS;
use trunkline_control::access::Action;
use trunkline_control::clock::now;
use trunkline_http::encode;

use super::servers::{API, last_error, place, switch, word};
use super::state::{badge, hints};
use super::time_range::Span;
use super::{findings, login};
use crate::format::{ago, count, millis, plural, share, short, until};
use crate::layout::{self, Shell};
use crate::page::PageResult;
use crate::page_request::PageRequest;

/// More do not fit a page; the screen of tools has them all.
const MOST_TOOLS: usize = 100;

pub(super) async fn show(request: &PageRequest<'_>) -> PageResult {
    let path = format!("{API}/{}", encode(request.id()));
    let server = &request.get(&path).await?;
    let details = &request.get(&format!("{path}/details")).await?;
    let tools = &request.get(&format!("{path}/tools?limit={MOST_TOOLS}")).await?;
    let found = &findings::read(request).await?;
    let stderr = match request.may(Action::ReadStderr) {
        true => request.get(&format!("{path}/stderr")).await?,
        false => Value::Null,
    };
    let chosen = Span::chosen(request);
    let shell = Shell {
        title: word(server, "name"),
        here: "/servers",
        live: &["server", "status", "tools", "calls"],
        trail: &[("/servers", "Servers")],
        actions: Some(html! { div.actions #actions data-live { (actions(request, server)) } }),
        ..Shell::default()
    };
    let content = html! {
        div.columns {
            div {
                div #state data-live { (state(server, details)) }
                (chosen.switch(&place(server)))
                div #times data-live { (chosen.times(details)) }
                div #tools data-live { (tools_card(server, tools, details)) }
            }
            div {
                div #config data-live { (config(server)) }
                div #error data-live { (error(server, &stderr)) }
                div #findings data-live { (findings::card(found, word(server, "id"))) }
                div #identity data-live { (words(details)) }
            }
        }
    };
    Ok(layout::page(request, &shell, &content))
}

fn actions(request: &PageRequest<'_>, server: &Value) -> Markup {
    let is_ours = server["source"] == "api";
    html! {
        (login::switch(request, server))
        (switch(request, server))
        @if is_ours && request.may(Action::EditServer) {
            a.button href={ (place(server)) "/edit" } { "Edit" }
        }
        @if is_ours && request.may(Action::DeleteServer) {
            a.button.danger href={ (place(server)) "/remove" } { "Remove" }
        }
    }
}

fn state(server: &Value, details: &Value) -> Markup {
    let (process, health) = (&details["process"], &server["health"]);
    let times = &health["response_time_ms"];
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let moment = |value: &Value| value.as_str().map(|moment| ago(moment, now()));
    html! {
        section.card aria-labelledby="how" {
            h2 #how { "How it is" }
            dl.facts {
                dt { "State" }
                dd {
                    (badge(word(server, "status")))
                    @if let Some(since) = moment(&process["since"]) { " " span.dim.small { "since " (since) } }
                    @if let Some(next) = process["next_try"].as_str() {
                        p.small.dim { "Tried " (plural(number(&process["failures"]), "time")) " in a row; next retry " (until(next, now())) "." }
                    }
                }
                dt { "Calls" } dd { (count(number(&process["open_calls"]))) " open, " (count(number(&process["waiting_calls"]))) " waiting, " (count(number(&process["limited_calls"]))) " refused by limits" }
                dt { "Times" } dd { (median(times)) }
                dt { "Errors" } dd { @match health["error_rate"].as_f64() { Some(rate) => { (share(Some(rate))) " in the last 5 min: " (count(number(&health["failed_calls"]))) " failed, " (plural(number(&health["tool_errors"]), "tool error")) ", of " (plural(number(&health["calls"]), "call")) } None => "–" } }
                @if let Some(speaks) = speaks(server) { dt { "Speaks" } dd { (speaks) } }
                dt { "Start-up time" } dd { (millis(process["started_in_ms"].as_f64())) }
                dt { "Restarts" } dd { (count(number(&process["restarts"]))) ", " (count(number(&health["restarts"]))) " in the last 10 min" }
                @if let Some(pid) = process["pid"].as_u64() { dt { "Process" } dd { (pid) } }
                dt { "Last check" } dd { @if let Some(last) = moment(&health["last_check"]) { (last) } @else { "–" } }
            }
        }
    }
}

/// How long calls took lately; nothing is said of a server that nobody called.
fn median(times: &Value) -> String {
    match (times["p50"].as_f64(), times["p95"].as_f64()) {
        (None, _) => millis(None),
        (p50, p95) => format!("{}, p95 {}", millis(p50), millis(p95)),
    }
}

/// The revision of MCP and its era; known while it runs.
fn speaks(server: &Value) -> Option<String> {
    let era = server["era"].as_str()?;
    let revision = server["protocol_version"].as_str().unwrap_or_default();
    Some(format!("MCP {} ({era} era)", short(revision, 20)))
}

fn config(server: &Value) -> Markup {
    let config = &server["connection_config"];
    let names = |key: &str| {
        let map = config[key].as_object();
        map.map(|map| map.keys().cloned().collect::<Vec<_>>()).unwrap_or_default()
    };
    let args = config["args"].as_array().map(Vec::as_slice).unwrap_or_default();
    html! {
        section.card aria-labelledby="reached" {
            h2 #reached { "How it is reached" }
            dl.facts {
                dt { "Transport" } dd { (word(server, "transport_type")) }
                @if let Some(url) = config["url"].as_str() { dt { "URL" } dd { code { (url) } } }
                @if let Some(command) = config["command"].as_str() {
                    dt { "Command" }
                    dd { code { (command) @for arg in args { " " (arg.as_str().unwrap_or_default()) } } }
                }
                @if let Some(cwd) = config["cwd"].as_str() { dt { "Directory" } dd { code { (cwd) } } }
                @for (key, title) in [("headers", "Headers"), ("env", "Variables")] {
                    @if !names(key).is_empty() {
                        dt { (title) }
                        dd { @for name in names(key) { code { (name) } " " } span.dim.small { "values are sealed" } }
                    }
                }
                @match &server["sandbox"] {
                    Value::Null => {}
                    Value::String(profile) => { dt { "Sandbox" } dd { (profile) } }
                    object => { dt { "Sandbox" } dd { code { (object.to_string()) } } }
                }
                dt { "From" } dd { @if server["source"] == "file" { "config file" } @else { "dashboard or REST API" } }
                dt { "Connects" } dd { @if server["auto_connect"] == true { "by itself" } @else { "when told to" } }
                @for (label, value) in calls(server) { dt { (label) } dd { (value) } }
                dt { "On change" } dd { (word(server, "on_change")) }
                @if let Some(url) = server["health_check_url"].as_str() { dt { "Checked at" } dd { code { (url) } } }
                @if let Some(auth) = server.pointer("/auth/state").and_then(Value::as_str) { dt { "Login" } dd { (auth) } }
                dt { "Id" } dd { code { (word(server, "id")) } }
            }
        }
    }
}

/// The settings of its calls that are set, in words.
fn calls(server: &Value) -> impl Iterator<Item = (&'static str, String)> {
    CALL_SETTINGS.iter().filter_map(|setting| {
        let value = setting.read(&server[setting.name].as_number()?.to_string())?;
        Some((setting.label, setting.in_words(value)))
    })
}

fn error(server: &Value, stderr: &Value) -> Markup {
    let lines = stderr["lines"].as_array().map(Vec::as_slice).unwrap_or_default();
    let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
    html! {
        section.card aria-labelledby="wrong" {
            h2 #wrong { "Last error" }
            (last_error(server))
            @if !lines.is_empty() {
                details {
                    summary { "Last stderr lines" }
                    pre.small tabindex="0" { (lines.join("\n")) }
                }
            }
        }
    }
}

fn words(details: &Value) -> Markup {
    let capabilities = details["capabilities"].as_array().map(Vec::as_slice).unwrap_or_default();
    html! {
        section.card aria-labelledby="itself" {
            h2 #itself { "Server info" }
            dl.facts {
                dt { "Name" } dd { (details["identity"].as_str().unwrap_or("–")) }
                dt { "Can do" }
                dd {
                    span.badges {
                        @for capability in capabilities { span.badge { (capability.as_str().unwrap_or_default()) } }
                    }
                    @if capabilities.is_empty() { "–" }
                }
            }
            @if let Some(instructions) = details["instructions"].as_str() {
                details { summary { "Instructions" } pre.small { (short(instructions, 20_000)) } }
            }
        }
    }
}

fn tools_card(server: &Value, tools: &Value, details: &Value) -> Markup {
    let all = tools["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let total = tools["total"].as_u64().unwrap_or_default();
    let shown = u64::try_from(all.len()).unwrap_or_default();
    html! {
        section.card.flush aria-labelledby="offers" {
            h2 #offers { "Tools" }
            @if all.is_empty() {
                p.dim.pad { "No tools. A server that is not connected lists none." }
            } @else {
                div.wrap { table {
                    caption {
                        (plural(total, "tool"))
                        @if shown < total { ", the first " (count(shown)) " of them. " a href={ "/tools?server=" (encode(word(server, "name"))) } { "All of them" } }
                    }
                    thead { tr { th scope="col" { "Tool" } th.wide scope="col" { "Name for clients" } } }
                    tbody { @for tool in all { (tool_row(tool, names(details, word(tool, "original_name")))) } }
                } }
            }
        }
    }
}

fn names<'a>(details: &'a Value, tool: &str) -> &'a Value {
    static NOTHING: Value = Value::Null;
    let mut all = details["names"].as_array().into_iter().flatten();
    all.find(|names| names["tool"] == tool).unwrap_or(&NOTHING)
}

/// Who gets a name, in words.
fn clients(other: &Value) -> String {
    let clients = other["clients"].as_array().into_iter().flatten();
    let clients: Vec<&str> = clients.filter_map(Value::as_str).collect();
    match clients.len() == Client::ALL.len() {
        true => "all known clients".to_owned(),
        false => clients.join(", "),
    }
}

fn tool_row(tool: &Value, names: &Value) -> Markup {
    html! {
        tr data-key=(word(tool, "id")) {
            th scope="row" {
                a href={ "/tools/" (encode(word(tool, "id"))) } { (short(word(tool, "original_name"), 100)) } " "
                (hints(&tool["annotations"]))
                @if let Some(description) = tool["description"].as_str() { span.sub { (short(description, 140)) } }
                // On a phone there is no room for a second column.
                div.sub.narrow { "Name for clients: " (called(tool, names)) }
            }
            td.wide { (called(tool, names)) }
        }
    }
}

/// What it is listed as, for each kind of client.
fn called(tool: &Value, names: &Value) -> Markup {
    let others = names["others"].as_array().map(Vec::as_slice).unwrap_or_default();
    html! {
        code { (short(names["name"].as_str().unwrap_or(word(tool, "name")), 160)) }
        @for other in others {
            span.sub { code { (short(word(other, "name"), 160)) } " " (clients(other)) }
        }
    }
}
