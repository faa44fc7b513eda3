//! Who is connected, and the keys that clients and people come with.

use maud::{Markup, html};
use serde_json::{Map, Value};
use trunkline_control::access::{Action, Role};
use trunkline_control::clock::now;
use trunkline_http::encode;

use super::key_limits;
use super::servers::word;
use crate::api_client::{ApiError, is_for_people};
use crate::format::{ago, count, plural};
use crate::layout::{self, Shell};
use crate::page::{Page, PageResult};
use crate::page_request::PageRequest;
use crate::session::Notice;

const KEYS: &str = "/api/v1/keys";

pub(super) async fn show(request: &PageRequest<'_>) -> PageResult {
    page(request, None).await
}

async fn page(request: &PageRequest<'_>, trouble: Option<&ApiError>) -> PageResult {
    let clients = match request.may(Action::ReadClients) {
        true => Some(request.get("/api/v1/clients").await?),
        false => None,
    };
    let keys = match request.may(Action::ManageKeys) {
        true => Some(request.get(&format!("{KEYS}?limit=1000")).await?),
        false => None,
    };
    let me = request.get("/api/v1/me").await?;
    let shell = Shell {
        title: "Clients & keys",
        here: "/clients",
        live: &["calls", "server", "clients", "keys"],
        ..Shell::default()
    };
    let content = html! {
        @if let Some(clients) = &clients { div #clients data-live { (connected(clients)) } }
        (me_card(&me))
        @if let Some(keys) = &keys {
            div #keys data-live { (keys_card(keys)) }
            (new_key(request, trouble))
        }
    };
    let status = trouble.map_or(200, |trouble| trouble.status);
    Ok(layout::framed(request, status, &shell, &content))
}

fn connected(clients: &Value) -> Markup {
    let all = clients["clients"].as_array().map(Vec::as_slice).unwrap_or_default();
    if all.is_empty() {
        return layout::empty(
            "No clients connected",
            &html! { "To connect a client, give it the address of this page followed by " code { "/mcp" } ", or run " code { "trunkline install CLIENT" } "." },
        );
    }
    html! {
        section.card.flush aria-labelledby="connected" {
            h2 #connected { "Connected now" }
            div.wrap { table {
                caption { (plural(clients["total"].as_u64().unwrap_or_default(), "client")) }
                thead { tr {
                    th scope="col" { "Client" }
                    th scope="col" { "Who" }
                    th.wide scope="col" { "Revision" }
                    th.wide scope="col" { "Since" }
                    th.wide scope="col" { "Last seen" }
                    th.number scope="col" { "Open calls" }
                } }
                tbody { @for client in all { (client_row(client)) } }
            } }
        }
    }
}

fn client_row(client: &Value) -> Markup {
    let moment = |key: &str| client[key].as_str().map(|moment| ago(moment, now()));
    let way = match word(client, "way") {
        "sse" => "/sse stream",
        "stateless" => "stateless requests",
        _ => "/mcp session",
    };
    // A client has no id; who came when from where is as good as one.
    let key = ["way", "who", "name", "address", "since"].map(|key| word(client, key)).join(" ");
    html! {
        tr data-key=(key) {
            th scope="row" {
                (client["name"].as_str().unwrap_or("unnamed")) " " (word(client, "version"))
                span.sub { (way) }
                @if let Some(since) = moment("since") { span.sub.narrow { "since " (since) } }
            }
            td { (word(client, "who")) @if let Some(address) = client["address"].as_str() { span.sub { (address) } } }
            td.wide { (client["revision"].as_str().unwrap_or("–")) }
            td.wide { @if let Some(since) = moment("since") { (since) } @else { "–" } }
            td.wide { @if let Some(heard) = moment("last_heard") { (heard) } }
            td.number { (count(client["open_calls"].as_u64().unwrap_or_default())) }
        }
    }
}

fn me_card(me: &Value) -> Markup {
    let tools = me["tools"].as_array();
    html! {
        section.card aria-labelledby="me" {
            h2 #me { "You" }
            dl.facts {
                dt { "Name" } dd { (word(me, "name")) }
                dt { "Role" } dd { (word(me, "role")) }
                dt { "Signed in with" } dd { (word(me, "credential")) }
                dt { "Tools" }
                dd {
                    @if let Some(tools) = tools { @for tool in tools { code { (tool.as_str().unwrap_or_default()) } " " } }
                    @else { "all" }
                }
            }
        }
    }
}

fn keys_card(keys: &Value) -> Markup {
    let all = keys["keys"].as_array().map(Vec::as_slice).unwrap_or_default();
    if all.is_empty() {
        return layout::empty(
            "No keys yet",
            &html! { "An API key gives a client or a person a role and access to all tools or some. Create the first one below." },
        );
    }
    html! {
        section.card.flush aria-labelledby="keys-title" {
            h2 #keys-title { "Keys" }
            div.wrap { table {
                caption { (plural(keys["total"].as_u64().unwrap_or_default(), "key")) }
                thead { tr {
                    th scope="col" { "Key" }
                    th.wide scope="col" { "Role" }
                    th.wide scope="col" { "Tools" }
                    th.wide scope="col" { "Limits" }
                    th.wide scope="col" { "Made" }
                    th scope="col" { "Last used" }
                    th scope="col" { span.visually-hidden { "What to do" } }
                } }
                tbody { @for key in all { (key_row(key)) } }
            } }
        }
    }
}

fn key_row(key: &Value) -> Markup {
    let moment = |field: &str| key[field].as_str().map(|moment| ago(moment, now()));
    let tools = key["tools"].as_array();
    let is_over = key["expires_at"].as_str().is_some_and(is_past);
    html! {
        tr data-key=(word(key, "id")) {
            th scope="row" {
                (word(key, "name")) span.sub { code { (word(key, "id")) } }
                span.sub.narrow { (word(key, "role")) }
            }
            td.wide { (word(key, "role")) }
            td.wide {
                @if let Some(tools) = tools { @for tool in tools.iter().take(10) { code { (tool.as_str().unwrap_or_default()) } " " } }
                @else { "all" }
            }
            td.wide {
                @for limit in key_limits::in_words(&key["limits"]) { span.sub { (limit) } }
                @if key["revoked_at"].is_null() { a href={ "/clients/keys/" (encode(word(key, "id"))) "/limits" } aria-label={ "Limits of " (word(key, "name")) } { "Limits" } }
                @if let Some(limited) = key["limited_calls"].as_u64().filter(|count| *count > 0) { span.sub { (plural(limited, "call")) " refused" } }
            }
            td.wide { @if let Some(made) = moment("created_at") { (made) } }
            td {
                @if let Some(used) = moment("last_used_at") { (used) } @else { "never" }
                @if let Some(end) = key["expires_at"].as_str().filter(|_| !is_over) { span.sub { "expires " (end) } }
            }
            td.number {
                @if key["revoked_at"].is_string() { span.badge.bad { "revoked" } }
                @else if is_over { span.badge.warn { "expired" } }
                @else { a.button href={ "/clients/keys/" (encode(word(key, "id"))) "/revoke" } aria-label={ "Revoke " (word(key, "name")) } { "Revoke" } }
            }
        }
    }
}

fn is_past(moment: &str) -> bool {
    trunkline_control::api::time::parse(moment).is_some_and(|moment| moment <= now())
}

fn new_key(request: &PageRequest<'_>, trouble: Option<&ApiError>) -> Markup {
    let form = &request.form;
    let chosen = form.get("role").unwrap_or("caller");
    let wrong = |at: &str| -> Markup {
        let mistakes = trouble.into_iter().flat_map(|trouble| trouble.mistakes.iter());
        let mistakes: Vec<_> = mistakes.filter(|mistake| mistake.is_at(at)).collect();
        html! { @for mistake in mistakes { p.mistake { (mistake.message) @if let Some(hint) = mistake.hint.as_deref().filter(|hint| is_for_people(hint)) { " – " (hint) } } } }
    };
    html! {
        section.card aria-labelledby="new-key-title" {
            h2 #new-key-title { "Create API key" }
            form.form method="post" action="/clients/keys" novalidate {
                (layout::hidden(request))
                @if let Some(trouble) = trouble { p.notice.bad role="alert" { (trouble.sentence()) } }
                div.pair {
                    div.field {
                        label for="key-name" { "Name" }
                        p.help { "Who or what will use this key." }
                        input #key-name name="name" value=(form.get("name").unwrap_or_default()) autocomplete="off";
                        (wrong("/name"))
                    }
                    div.field {
                        label for="key-role" { "Role" }
                        p.help { "Each role includes the ones before it." }
                        select #key-role name="role" {
                            @for role in Role::ALL {
                                option value=(role.name()) selected[role.name() == chosen] { (role.name()) " – " (meaning(role)) }
                            }
                        }
                        (wrong("/role"))
                    }
                }
                div.field {
                    label for="key-tools" { "Tools" }
                    p.help { "One per line: server.tool, server.* or *.tool. Leave empty for all tools." }
                    textarea #key-tools name="tools" rows="2" spellcheck="false" { "\n" (form.get("tools").unwrap_or_default()) }
                    (wrong("/tools"))
                }
                div.field {
                    label for="key-days" { "Expires after (days)" }
                    p.help { "Leave empty for no expiry." }
                    input #key-days name="days" inputmode="numeric" value=(form.get("days").unwrap_or_default()) autocomplete="off";
                    (wrong("/expires_at"))
                }
                details open[!key_limits::written(request).is_empty()] {
                    summary { "Limits" }
                    p.help { "Leave empty for the defaults of this platform; 0 is no limit." }
                    (key_limits::fields(|it| form.get(it.name).unwrap_or_default().to_owned(), trouble))
                }
                button.primary type="submit" { "Create key" }
            }
        }
    }
}

fn meaning(role: Role) -> &'static str {
    match role {
        Role::Viewer => "looks",
        Role::Caller => "call tools",
        Role::Operator => "manage servers, read activity",
        Role::Admin => "everything",
    }
}

pub(super) async fn create(request: &PageRequest<'_>) -> PageResult {
    let form = &request.form;
    let mut body = Map::new();
    body.insert("name".to_owned(), form.get("name").unwrap_or_default().trim().into());
    body.insert("role".to_owned(), form.get("role").unwrap_or_default().into());
    let tools = form.get("tools").unwrap_or_default();
    let tools: Vec<&str> = tools.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if !tools.is_empty() {
        body.insert("tools".to_owned(), tools.into());
    }
    if let Some(days) = form.filled("days") {
        let end = expiry(days, now()).unwrap_or_else(|| days.to_owned());
        body.insert("expires_at".to_owned(), end.into());
    }
    let limits = key_limits::written(request);
    if !limits.is_empty() {
        body.insert("limits".to_owned(), limits.into());
    }
    match request.send("POST", KEYS, Some(&body.into())).await {
        Ok(made) => {
            let (name, key) = (word(&made, "name").to_owned(), word(&made, "key").to_owned());
            request.leave(Notice::Key { name, key });
            Ok(Page::see_other("/clients"))
        }
        Err(trouble) => page(request, Some(&trouble)).await,
    }
}

/// The moment so many days from now, as the API wants it.
fn expiry(days: &str, now: i64) -> Option<String> {
    let days: i64 = days.parse().ok().filter(|days| (1..=36_500).contains(days))?;
    Some(trunkline_control::api::time::format(now + days * 86_400_000))
}

pub(super) async fn confirm(request: &PageRequest<'_>) -> PageResult {
    let keys = &request.get(&format!("{KEYS}?limit=1000")).await?;
    let mut all = keys["keys"].as_array().into_iter().flatten();
    let key = all.find(|key| key["id"] == request.id()).ok_or_else(ApiError::nothing_here)?;
    let title = format!("Revoke {}?", word(key, "name"));
    let trail = [("/clients", "Clients & keys")];
    let shell = Shell { title: &title, here: "/clients", trail: &trail, ..Shell::default() };
    let content = html! {
        div.card.form {
            p { "Clients that use this key are disconnected at once. This cannot be undone." }
            form method="post" action={ "/clients/keys/" (encode(request.id())) "/revoke" } {
                (layout::hidden(request))
                div.buttons {
                    button.danger type="submit" { "Revoke " (word(key, "name")) }
                    a.button href="/clients" { "Cancel" }
                }
            }
        }
    };
    Ok(layout::page(request, &shell, &content))
}

pub(super) async fn revoke(request: &PageRequest<'_>) -> PageResult {
    let path = format!("{KEYS}/{}", encode(request.id()));
    request.leave(match request.send("DELETE", &path, None).await {
        Ok(_) => Notice::Done("Key revoked.".to_owned()),
        Err(trouble) => Notice::Failed(trouble.sentence()),
    });
    Ok(Page::see_other("/clients"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_a_moment() {
        assert_eq!(expiry("1", 0).as_deref(), Some("1970-01-02T00:00:00Z"));
        for wrong in ["0", "-1", "x", "1.5", "99999999999999999999"] {
            assert_eq!(expiry(wrong, 0), None, "{wrong}");
        }
    }
}
