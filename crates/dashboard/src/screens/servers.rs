//! All servers with their states, and what is done to one: connected, disconnected, removed.

use maud::{Markup, html};
use serde_json::Value;
use trunkline_control::access::Action;
use trunkline_control::clock::now;
use trunkline_http::encode;

use super::state::badge;
use crate::ask::is_for_people;
use crate::layout::{self, Shell};
use crate::page::{Outcome, Page};
use crate::session::Notice;
use crate::visitor::Visitor;
use crate::words::{ago, count, millis, plural, share, short};

pub(super) const API: &str = "/api/v1/aggregator/servers";

pub(super) async fn show(visitor: &Visitor<'_>) -> Outcome {
    let listed = &visitor.get(&format!("{API}?limit=1000")).await?;
    let all = listed["servers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let sought = visitor.query.filled("q").unwrap_or_default();
    let servers: Vec<&Value> = all.iter().filter(|server| is_sought(server, sought)).collect();
    let may_add = visitor.may(Action::RegisterServer);
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
            @else if servers.is_empty() { p.dim { "No server has these words in its name or description, or is in this state." } }
            @else { (table(visitor, &servers)) }
        }
    };
    Ok(layout::page(visitor, &shell, &content))
}

/// So many are seen at a glance.
const FEW: usize = 8;

fn search(sought: &str) -> Markup {
    html! {
        form.search role="search" method="get" action="/servers" {
            label.visually-hidden for="q" { "Find servers" }
            input #q type="search" name="q" value=(sought) placeholder="Name, description or state";
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
                "Whoever runs this Trunkline has not added any that you may use."
            }
        },
    )
}

fn table(visitor: &Visitor<'_>, servers: &[&Value]) -> Markup {
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
            tbody { @for server in servers { (row(visitor, server)) } }
        } } }
    }
}

fn row(visitor: &Visitor<'_>, server: &Value) -> Markup {
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
                div.sub.narrow { (switch(visitor, server)) }
            }
            td.number { (count(server["tools"].as_u64().unwrap_or_default())) }
            td.number.wide { (millis(times["p50"].as_f64())) }
            td.number.wide { (millis(times["p95"].as_f64())) }
            td.number.wide { (share(health["error_rate"].as_f64())) }
            td.number.wide { (switch(visitor, server)) }
        }
    }
}

/// Connect or disconnect, whichever there is to do.
pub(super) fn switch(visitor: &Visitor<'_>, server: &Value) -> Markup {
    let is_off = server["status"] == "DISCONNECTED";
    let (action, verb, word) = match is_off {
        true => (Action::Connect, "connect", "Connect"),
        false => (Action::Disconnect, "disconnect", "Disconnect"),
    };
    let name = self::word(server, "name");
    html! {
        @if visitor.may(action) {
            form method="post" action={ (place(server)) "/" (verb) } {
                (layout::hidden(visitor))
                button type="submit" aria-label={ (word) " " (name) } { (word) }
            }
        }
    }
}

pub(super) async fn connect(visitor: &Visitor<'_>) -> Outcome {
    act(visitor, "connect", |answer| {
        answer["message"].as_str().unwrap_or("Connection initiated").to_owned() + "."
    })
    .await
}

pub(super) async fn disconnect(visitor: &Visitor<'_>) -> Outcome {
    act(visitor, "disconnect", |answer| match answer["pending_requests"].as_u64() {
        None | Some(0) => "Disconnected.".to_owned(),
        Some(calls) => format!("Disconnected; {} had not ended.", plural(calls, "call")),
    })
    .await
}

async fn act(visitor: &Visitor<'_>, verb: &str, words: impl Fn(&Value) -> String) -> Outcome {
    let path = format!("{API}/{}/{verb}", encode(visitor.id()));
    let done = visitor.send("POST", &path, None).await;
    visitor.leave(match &done {
        Ok(answer) => Notice::Done(words(answer)),
        Err(trouble) => Notice::Failed(trouble.sentence()),
    });
    Ok(Page::see_other(format!("/servers/{}", encode(visitor.id()))))
}

/// Is it to be removed?
pub(super) async fn confirm(visitor: &Visitor<'_>) -> Outcome {
    let server = &visitor.get(&format!("{API}/{}", encode(visitor.id()))).await?;
    let name = word(server, "name");
    let title = format!("Remove {name}?");
    let place = place(server);
    let trail = [("/servers", "Servers"), (&*place, name)];
    let shell = Shell { title: &title, here: "/servers", trail: &trail, ..Shell::default() };
    let content = html! {
        div.card.form {
            @if server["source"] == "file" {
                p { "It comes from the config file. Remove it there: the file is read again when it changes." }
                p { a.button href=(place) { "Back" } }
            } @else {
                @let tools = server["tools"].as_u64().unwrap_or_default();
                p {
                    "Its " (plural(tools, "tool")) @if tools == 1 { " leaves" } @else { " leave" }
                    " every client's list at once, calls that run may end first, and its credentials are deleted."
                    " What was done with it stays in the activity log."
                }
                form method="post" action={ (place) "/remove" } {
                    (layout::hidden(visitor))
                    div.buttons {
                        button.danger type="submit" { "Remove " (name) }
                        a.button href=(place) { "Keep it" }
                    }
                }
            }
        }
    };
    Ok(layout::page(visitor, &shell, &content))
}

pub(super) async fn remove(visitor: &Visitor<'_>) -> Outcome {
    let id = encode(visitor.id());
    match visitor.send("DELETE", &format!("{API}/{id}"), None).await {
        Ok(_) => {
            visitor.leave(Notice::Done("The server is removed.".to_owned()));
            Ok(Page::see_other("/servers"))
        }
        Err(trouble) => {
            visitor.leave(Notice::Failed(trouble.sentence()));
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
    let is_well = matches!(word(server, "status"), "CONNECTED" | "DISCONNECTED");
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
            p.dim { "Nothing has gone wrong." }
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
