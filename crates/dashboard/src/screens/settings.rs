//! What this Trunkline runs with, colours, and the servers as a config file.

use maud::{Markup, html};
use serde_json::{Map, Value, json};
use trunkline_control::access::Action;

use super::servers::{API, word};
use super::sign_in::place_of;
use crate::guard::{self, SiteRule};
use crate::layout::{self, Shell};
use crate::page::{Page, PageResult};
use crate::page_request::{PageRequest, Theme};
use crate::signed_in;

pub(super) async fn show(request: &PageRequest<'_>) -> PageResult {
    let settings = match request.may(Action::ReadSettings) {
        true => Some(request.get("/api/v1/settings").await?),
        false => None,
    };
    let shell = Shell { title: "Settings", here: "/settings", ..Shell::default() };
    let content = html! {
        @if let Some(settings) = &settings { (instance(settings)) }
        (colours(request))
        (export_card())
        (api_card())
    };
    Ok(layout::page(request, &shell, &content))
}

fn instance(settings: &Value) -> Markup {
    let list = |key: &str| {
        let all = settings[key].as_array().into_iter().flatten();
        all.filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
    };
    let stdio = match word(settings, "stdio_registration") {
        "allowed" => "admins may add any".to_owned(),
        "only" => format!("admins may add {}", list("stdio_commands")),
        _ => "only from the config file".to_owned(),
    };
    let networks = match list("allowed_networks") {
        networks if networks.is_empty() => "public addresses only".to_owned(),
        networks => format!("public addresses, and {networks}"),
    };
    html! {
        section.card aria-labelledby="instance" {
            h2 #instance { "This Trunkline" }
            @if settings["is_locked"] == true {
                p.notice.bad { "The store was sealed with another key: registered servers are not connected, and nothing can be changed. Start Trunkline with the right key." }
            }
            dl.facts {
                dt { "Version" } dd { (word(settings, "version")) }
                dt { "Listens on" } dd { code { (word(settings, "listen")) } }
                @if let Some(public) = settings["public_url"].as_str() { dt { "Reached at" } dd { code { (public) } } }
                dt { "Clients use" } dd { code { (settings["public_url"].as_str().unwrap_or_default()) "/mcp" } }
                dt { "Without a token" } dd { @if settings["mcp_without_token"] == true { "clients on this machine may speak MCP" } @else { "nobody comes in" } }
                dt { "Store" } dd { code { (word(settings, "store_url")) } }
                dt { "Data directory" } dd { code { (word(settings, "data_dir")) } }
                dt { "Health is checked" } dd { "every " (settings["health_interval"]) " s" }
                dt { "Commands as servers" } dd { (stdio) }
                dt { "Servers may be at" } dd { (networks) }
                dt { "Access tokens of" } dd { (settings["issuer"].as_str().unwrap_or("nobody but Trunkline")) }
                dt { "People sign in at" } dd { (settings["people_issuer"].as_str().unwrap_or("no issuer: with keys only")) }
                dt { "Traces" } dd { @if settings["traces"] == true { "are sent" } @else { "are not sent" } }
                dt { "Language model" } dd { (settings["language_model"].as_str().unwrap_or("none; skills come from the model inside")) }
            }
            p.dim.small { "All of this is said with flags when Trunkline is started: " code { "trunkline serve --help" } "." }
        }
    }
}

fn colours(request: &PageRequest<'_>) -> Markup {
    let now = request.theme().map_or("auto", Theme::word);
    html! {
        section.card aria-labelledby="colours" {
            h2 #colours { "Colours" }
            form method="post" action="/ui/theme" {
                (layout::hidden(request))
                input type="hidden" name="back" value="/settings";
                div.buttons {
                    @for (word, title) in [("auto", "As the system"), ("light", "Light"), ("dark", "Dark")] {
                        button type="submit" name="theme" value=(word) aria-pressed=(if word == now { "true" } else { "false" }) { (title) }
                    }
                }
            }
        }
    }
}

fn export_card() -> Markup {
    html! {
        section.card aria-labelledby="export" {
            h2 #export { "Take the servers along" }
            p { "All servers as a config file that Trunkline and most clients read. Sealed values are not in it: " code { "${NAME}" } " stands for each, to be set in the environment." }
            p { a.button href="/settings/export" download="trunkline.json" { "Download trunkline.json" } }
        }
    }
}

fn api_card() -> Markup {
    html! {
        section.card aria-labelledby="api" {
            h2 #api { "For programs" }
            p { "Everything here can be done over REST, with the same tokens: see " a href="/api/v1/docs" { code { "/api/v1/docs" } } " and " a href="/api/v1/openapi.json" { code { "/api/v1/openapi.json" } } "; figures for Prometheus are at " code { "/metrics" } "." }
        }
    }
}

/// What the API says about itself, as it says it to programs.
pub(super) async fn api_page(request: &PageRequest<'_>) -> Page {
    let path = request.visit.path();
    let answer = request.raw("GET", path, Vec::new(), &[]).await;
    let kind = match path.rsplit('.').next() {
        _ if answer.status >= 400 => "application/problem+json",
        Some("css") => "text/css; charset=utf-8",
        Some("json") => "application/json",
        _ => "text/html; charset=utf-8",
    };
    Page::of(answer.status, kind, answer.body)
}

/// Keeps the choice in a cookie, and goes back to where it was made.
pub(super) fn theme(request: &PageRequest<'_>) -> Page {
    let secure = signed_in::is_secure(request.state, request.visit);
    let (value, age) = match request.form.get("theme") {
        Some(theme @ ("light" | "dark")) => (theme, "; Max-Age=31536000"),
        _ => ("", "; Max-Age=0"),
    };
    let cookie = guard::set_cookie(guard::THEME_COOKIE, value, SiteRule::OwnPages, age, secure);
    Page::see_other(place_of(request.form.get("back"))).header("Set-Cookie", cookie)
}

pub(super) async fn export(request: &PageRequest<'_>) -> PageResult {
    let listed = &request.get(&format!("{API}?limit=1000")).await?;
    let servers = listed["servers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = format!("{:#}\n", config(servers));
    let page = Page::of(200, "application/json", text.into_bytes());
    Ok(page.header("Content-Disposition", "attachment; filename=\"trunkline.json\""))
}

/// Servers of the API as the file of a config.
fn config(servers: &[Value]) -> Value {
    let entries: Map<String, Value> =
        servers.iter().map(|server| (word(server, "name").to_owned(), entry(server))).collect();
    json!({ "mcpServers": entries })
}

fn entry(server: &Value) -> Value {
    let config = &server["connection_config"];
    let mut entry = Map::new();
    let mut put = |key: &str, value: Value| {
        let is_empty = value.is_null()
            || value.as_array().is_some_and(Vec::is_empty)
            || value.as_object().is_some_and(Map::is_empty);
        if !is_empty {
            entry.insert(key.to_owned(), value);
        }
    };
    if server["transport_type"] == "STDIO" {
        put("command", config["command"].clone());
        put("args", config["args"].clone());
        put("env", referred(&config["env"]));
        put("cwd", config["cwd"].clone());
    } else {
        let kind = if server["transport_type"] == "SSE" { "sse" } else { "http" };
        put("type", kind.into());
        put("url", config["url"].clone());
        put("headers", referred(&config["headers"]));
    }
    entry.into()
}

/// A variable for each value that is not shown, named like it.
fn referred(map: &Value) -> Value {
    let pairs = map.as_object().into_iter().flatten();
    let variable = |name: &str| {
        let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        name.chars().map(letter).collect::<String>()
    };
    pairs
        .map(|(name, _)| (name.clone(), format!("${{{}}}", variable(name)).into()))
        .collect::<Map<_, Value>>()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_exported_without_their_secrets() {
        let servers = [
            json!({"name": "a", "transport_type": "STDIO", "connection_config": {
                "command": "npx", "args": ["-y"], "env": {"API_KEY": "***"}, "cwd": null}}),
            json!({"name": "b", "transport_type": "HTTP", "connection_config": {
                "url": "https://h/mcp", "headers": {"X-Api-Key": "***"}}}),
            json!({"name": "c", "transport_type": "SSE", "connection_config": {
                "url": "https://h/sse", "headers": {}}}),
        ];
        assert_eq!(
            config(&servers),
            json!({"mcpServers": {
                "a": {"command": "npx", "args": ["-y"], "env": {"API_KEY": "${API_KEY}"}},
                "b": {"type": "http", "url": "https://h/mcp", "headers": {"X-Api-Key": "${X_API_KEY}"}},
                "c": {"type": "sse", "url": "https://h/sse"},
            }})
        );
    }
}
