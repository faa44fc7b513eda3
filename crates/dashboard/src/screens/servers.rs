//! All servers with their states, and what is done to one: connected, disconnected, removed.

use maud::{Markup, html};
use serde_json::Value;
use trunkline_control::access::Action;
use trunkline_control::clock::now;
use trunkline_http::encode;

use super::state::badge;
use crate::api_client::is_for_people;
use crate::format::{ago, count, millis, plural, share, short};
use crate::layout::{self, Shell};
use crate::page::{Page, PageResult};
use crate::page_request::PageRequest;
use crate::session::Notice;

pub(super) const API: &str = "/api/v1/aggregator/servers";

pub(super) async fn show(request: &PageRequest<'_>) -> PageResult {
    let listed = &request.get(&format!("{API}?limit=1000")).await?;
    let all = listed["servers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let sought = request.query.filled("q").unwrap_or_default();
    let servers: Vec<&Value> = all.iter().filter(|server| is_sought(server, sought)).collect();
    let may_add = request.may(Action::RegisterServer);
    let shell = Shell {
        title: "Servers",
        here: "/servers",
        live: &["server", "status", "tools", "calls"],
        actions: may_add.then(|| html! { a.button.primary href="/servers/new" { "Add a server" } }),
        ..Shell::default()
    };
    let content = html! {
        @if all.len() > FEW || !sought.is_empty() { (search(sought)) }
        div #servers data-live {
            @if all.is_empty() { (nothing(may_add)) }
            @else if servers.is_empty() { p.dim { "No server matches this name, description or status." } }
            @else { (table(request, &servers)) }
        }
    };
    Ok(layout::page(request, &shell, &content))
}

/// So many are seen at a glance.
const FEW: usize = 8;

fn search(sought: &str) -> Markup {
    html! {
        form.search role="search" method="get" action="/servers" {
            label.visually-hidden for="q" { "Find servers" }
            input #q type="search" name="q" value=(sought) placeholder="Name, description or status";
            button type="submit" { "Find" }
        }
    }
}

/// Has it these words in its name, its description or its state?
fn is_sought(server: &Value, words: &str) -> bool {
    let text = ["name", "description", "status"].map(|key| word(server, key)).join(" ");
    let text = text.to_lowercase();
    words.to_lowercase().split_whitespace().all(|word| text.contains(word))
}

fn nothing(may_add: bool) -> Markup {
    layout::empty(
        "No servers yet",
        &html! {
            @if may_add {
                a href="/servers/new" { "Add one here" }
                ", or start Trunkline with a config file: "
                code { "trunkline serve --config FILE --data-dir DIR" } "."
            } @else {
                "No servers are available to you yet. Ask an operator for access."
            }
        },
    )
}

fn table(request: &PageRequest<'_>, servers: &[&Value]) -> Markup {
    let total = u64::try_from(servers.len()).unwrap_or(u64::MAX);
    html! {
        div.card.flush { div.wrap { table {
            caption { (plural(total, "server")) }
            thead { tr {
                th scope="col" { "Server" }
                th scope="col" { "State" }
                th.number scope="col" { "Tools" }
                th.number.wide scope="col" { "Median" }
                th.number.wide scope="col" { "95 of 100" }
                th.number.wide scope="col" { "Errors" }
                th.wide scope="col" { span.visually-hidden { "What to do" } }
            } }
            tbody { @for server in servers { (row(request, server)) } }
        } } }
    }
}

fn row(request: &PageRequest<'_>, server: &Value) -> Markup {
    let health = &server["health"];
    let times = &health["response_time_ms"];
    html! {
        tr data-key=(word(server, "id")) {
            th scope="row" {
                a href=(place(server)) { (word(server, "name")) }
                span.sub { (kind(server)) @if server["source"] == "file" { " · config file" } }
            }
            td {
                (badge(word(server, "status")))
                @if let Some(why) = why(server) { span.sub { (short(&why, 160)) } }
                // On a phone the last column is not there.
                div.sub.narrow { (switch(request, server)) }
            }
            td.number { (count(server["tools"].as_u64().unwrap_or_default())) }
            td.number.wide { (millis(times["p50"].as_f64())) }
            td.number.wide { (millis(times["p95"].as_f64())) }
            td.number.wide { (share(health["error_rate"].as_f64())) }
            td.number.wide { (switch(request, server)) }
        }
    }
}

/// Connect or disconnect, whichever there is to do.
pub(super) fn switch(request: &PageRequest<'_>, server: &Value) -> Markup {
    let is_off = server["status"] == "DISCONNECTED";
    let (action, verb, word) = match is_off {
        true => (Action::Connect, "connect", "Connect"),
        false => (Action::Disconnect, "disconnect", "Disconnect"),
    };
    let name = self::word(server, "name");
    html! {
        @if request.may(action) {
            form method="post" action={ (place(server)) "/" (verb) } {
                (layout::hidden(request))
                button type="submit" aria-label={ (word) " " (name) } { (word) }
            }
        }
    }
}

pub(super) async fn connect(request: &PageRequest<'_>) -> PageResult {
    act(request, "connect", |answer| {
        answer["message"].as_str().unwrap_or("Connection initiated").to_owned() + "."
    })
    .await
}

pub(super) async fn disconnect(request: &PageRequest<'_>) -> PageResult {
    act(request, "disconnect", |answer| match answer["pending_requests"].as_u64() {
        None | Some(0) => "Disconnected.".to_owned(),
        Some(calls) => format!("Disconnected; {} still running.", plural(calls, "call")),
    })
    .await
}

async fn act(
    request: &PageRequest<'_>,
    verb: &str,
    words: impl Fn(&Value) -> String,
) -> PageResult {
    let path = format!("{API}/{}/{verb}", encode(request.id()));
    let done = request.send("POST", &path, None).await;
    request.leave(match &done {
        Ok(answer) => Notice::Done(words(answer)),
        Err(trouble) => Notice::Failed(trouble.sentence()),
    });
    Ok(Page::see_other(format!("/servers/{}", encode(request.id()))))
}

/// Is it to be removed?
pub(super) async fn confirm(request: &PageRequest<'_>) -> PageResult {
    let server = &request.get(&format!("{API}/{}", encode(request.id()))).await?;
    let name = word(server, "name");
    let title = format!("Remove {name}?");
    let place = place(server);
    let trail = [("/servers", "Servers"), (&*place, name)];
    let shell = Shell { title: &title, here: "/servers", trail: &trail, ..Shell::default() };
    let content = html! {
        div.card.form {
            @if server["source"] == "file" {
                p { "This server is defined in the config file. Remove it there; Trunkline reloads the file when it changes." }
                p { a.button href=(place) { "Back" } }
            } @else {
                @let tools = server["tools"].as_u64().unwrap_or_default();
                p {
                    "Its " (plural(tools, "tool")) @if tools == 1 { " leaves" } @else { " leave" }
                    " every client's list at once. Running calls may finish first. Its credentials are deleted."
                    " Its activity records are kept."
                }
                form method="post" action={ (place) "/remove" } {
                    (layout::hidden(request))
                    div.buttons {
                        button.danger type="submit" { "Remove " (name) }
                        a.button href=(place) { "Cancel" }
                    }
                }
            }
        }
    };
    Ok(layout::page(request, &shell, &content))
}

pub(super) async fn remove(request: &PageRequest<'_>) -> PageResult {
    let id = encode(request.id());
    match request.send("DELETE", &format!("{API}/{id}"), None).await {
        Ok(_) => {
            request.leave(Notice::Done("Server removed.".to_owned()));
            Ok(Page::see_other("/servers"))
        }
        Err(trouble) => {
            request.leave(Notice::Failed(trouble.sentence()));
            Ok(Page::see_other(format!("/servers/{id}")))
        }
    }
}

/// The page of a server.
pub(super) fn place(server: &Value) -> String {
    format!("/servers/{}", encode(word(server, "id")))
}

pub(super) fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// How it is reached, in a few words.
fn kind(server: &Value) -> Markup {
    let config = &server["connection_config"];
    let target = config["url"].as_str().or_else(|| config["command"].as_str()).unwrap_or_default();
    html! {
        (word(server, "transport_type")) " · " (short(target, 60))
        @if let Some(era) = server["era"].as_str() { " · " (era) " era" }
    }
}

/// Why it is not connected, if it is not and somebody knows.
fn why(server: &Value) -> Option<String> {
    let is_well = matches!(word(server, "status"), "CONNECTED" | "DISCONNECTED" | "IDLE");
    message(server).filter(|_| !is_well)
}

/// What went wrong last. The API puts its advice in brackets behind it; a page gives its own.
pub(super) fn message(server: &Value) -> Option<String> {
    let error = &server["last_error"];
    let message = error["message"].as_str()?;
    let advice = error["hint"].as_str().map(|hint| format!(" ({hint})"));
    Some(advice.map_or_else(|| message.to_owned(), |advice| message.replacen(&advice, "", 1)))
}

/// What to do about it, for somebody who looks at its page.
fn advice(server: &Value) -> Option<&str> {
    match server.pointer("/auth/state").and_then(Value::as_str) {
        Some("needs-auth") => Some("Log in with the button at the top of this page."),
        _ => {
            let hint = server.pointer("/last_error/hint").and_then(Value::as_str);
            hint.filter(|hint| is_for_people(hint))
        }
    }
}

/// What went wrong last, with when.
pub(super) fn last_error(server: &Value) -> Markup {
    html! {
        @if let Some(message) = message(server) {
            pre.small { (message) }
            p.small.dim {
                (ago(word(&server["last_error"], "at"), now()))
                @if let Some(advice) = advice(server) { " · " (advice) }
            }
        } @else {
            p.dim { "No errors." }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_went_wrong_is_said_without_the_advice_for_programs() {
        let hint = "log in: `trunkline login a --url http://h`, or POST http://h/api/v1/x/login";
        let message = format!("asks for a login ({hint}); last stderr line: x");
        let server = json!({ "last_error": { "message": message, "hint": hint, "at": "" },
            "auth": { "state": "needs-auth" } });
        let shown = last_error(&server).into_string();
        assert!(shown.contains("asks for a login; last stderr line: x"), "{shown}");
        assert!(shown.contains("Log in with the button") && !shown.contains("POST"), "{shown}");
    }

    #[test]
    fn servers_are_found_by_words_and_by_state() {
        let server = json!({"name": "GitHub", "description": "Issues and code", "status": "ERROR"});
        for (words, expected) in [
            ("", true),
            ("hub", true),
            ("issues GITHUB", true),
            ("error", true),
            ("github connected", false),
            ("x", false),
        ] {
            assert_eq!(is_sought(&server, words), expected, "{words}");
        }
    }
}
