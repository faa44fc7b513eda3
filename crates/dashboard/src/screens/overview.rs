//! How everything does: servers, calls, times, clients, and what the tools cost a model's context.

use maud::{Markup, html};
use serde_json::Value;
use trunkline_control::access::Action;

use super::findings;
use super::servers::{self, place, word};
use super::state::badge;
use super::time_range::Span;
use crate::format::{count, millis, plural, share, short};
use crate::layout::{self, Shell};
use crate::page::PageResult;
use crate::page_request::PageRequest;

pub(super) async fn show(request: &PageRequest<'_>) -> PageResult {
    let overview = &request.get("/api/v1/overview").await?;
    let listed = &request.get(&format!("{}?limit=1000", servers::API)).await?;
    let found = &findings::read(request).await?;
    let all = listed["servers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let shell = Shell {
        title: "Overview",
        here: "/",
        live: &["server", "status", "tools", "calls", "clients"],
        ..Shell::default()
    };
    let chosen = Span::chosen(request);
    let content = html! {
        @if all.is_empty() { (welcome(request)) }
        div #figures data-live { (figures(overview)) }
        div #trouble data-live { (trouble(all)) }
        div #findings data-live { (findings::banner(found)) }
        @if !all.is_empty() { (chosen.switch("/")) }
        div.grid #charts data-live {
            (chosen.calls(overview))
            (chosen.times(overview))
        }
        div #context data-live { (context(&overview["context"])) }
    };
    Ok(layout::page(request, &shell, &content))
}

fn welcome(request: &PageRequest<'_>) -> Markup {
    layout::empty(
        "No servers yet",
        &html! {
            @if request.may(Action::RegisterServer) {
                a href="/servers/new" { "Add one" }
                ", or start Trunkline with a config file. Clients connect to "
            } @else {
                "Servers appear here as soon as you have access to one. Clients connect to "
            }
            code { "/mcp" } " at this address."
        },
    )
}

/// The rest of the times, if there were any.
fn below(times: &Value) -> String {
    times["p95"].as_f64().map(|p95| format!("p95 {}", millis(Some(p95)))).unwrap_or_default()
}

/// How many calls did not do what they should, by whose fault.
fn failures(overview: &Value, calls: u64) -> String {
    let number = |key: &str| overview[key].as_u64().unwrap_or_default();
    let tool_errors = plural(number("tool_errors"), "tool error");
    format!("{} failed, {tool_errors}, of {}", count(number("failed_calls")), plural(calls, "call"))
}

fn figures(overview: &Value) -> Markup {
    let servers = &overview["servers"];
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let up = number(&servers["connected"]) + number(&servers["degraded"]);
    let down = number(&servers["error"]);
    let times = &overview["response_time_ms"];
    let calls = number(&overview["calls"]);
    html! {
        dl.figures {
            (figure("Servers up", &format!("{} of {}", count(up), count(number(&servers["total"]))), &others(servers, down)))
            (figure("Tools", &count(number(&overview["tools"])), ""))
            (figure("Calls per minute", &count(number(&overview["calls_per_minute"])), &format!("{} in the last 5 min", count(calls))))
            (figure("p50 latency", &millis(times["p50"].as_f64()), &below(times)))
            (figure("Errors", &share(overview["error_rate"].as_f64()), &failures(overview, calls)))
            (figure("Open calls", &count(number(&overview["open_calls"])), &open_calls_note(overview)))
            @if let Some(clients) = overview["clients"].as_u64() {
                (figure("Clients", &count(clients), "connected"))
            }
        }
    }
}

/// What else became of calls: those that wait, and those that were never taken.
fn open_calls_note(overview: &Value) -> String {
    let number = |key: &str| overview[key].as_u64().unwrap_or_default();
    let waiting = format!("{} waiting", count(number("waiting_calls")));
    match number("limited_calls") {
        0 => waiting,
        limited => format!("{waiting}, {} refused by limits", count(limited)),
    }
}

/// The word stands below its number.
fn figure(word: &str, number: &str, note: &str) -> Markup {
    html! {
        div.figure {
            dt { (word) }
            dd { (number) @if !note.is_empty() { span.note { (note) } } }
        }
    }
}

/// Those that are not up, in words.
fn others(servers: &Value, down: u64) -> String {
    let number = |key: &str| servers[key].as_u64().unwrap_or_default();
    let parts = [
        (down, "with an error"),
        (number("connecting"), "connecting"),
        (number("degraded"), "degraded"),
        (number("disconnected"), "off"),
    ];
    let said = parts.iter().filter(|(number, _)| *number > 0);
    let said: Vec<_> = said.map(|(number, word)| format!("{} {word}", count(*number))).collect();
    said.join(", ")
}

/// More do not fit the first page; that there are more is said.
const MOST_TROUBLED: usize = 10;

/// What needs somebody's attention.
fn trouble(all: &[Value]) -> Markup {
    let is_bad = |server: &&Value| matches!(word(server, "status"), "ERROR" | "DEGRADED");
    let bad: Vec<_> = all.iter().filter(is_bad).collect();
    let more = u64::try_from(bad.len().saturating_sub(MOST_TROUBLED)).unwrap_or_default();
    html! {
        @if !bad.is_empty() {
            section.card aria-labelledby="needs" {
                h2 #needs { "Needs attention" }
                ul.plain.linked {
                    @for server in bad.iter().take(MOST_TROUBLED) {
                        li data-key=(word(server, "id")) {
                            a href=(place(server)) { (word(server, "name")) } " "
                            (badge(word(server, "status"))) " "
                            @if let Some(why) = servers::message(server) {
                                span.dim.small { (short(&why, 200)) }
                            }
                        }
                    }
                }
                @if more > 0 {
                    p { a href="/servers" { "All servers" } span.dim { ": " (count(more)) " more need attention" } }
                }
            }
        }
    }
}

fn context(context: &Value) -> Markup {
    let rows = context.as_array().map(Vec::as_slice).unwrap_or_default();
    let number = |row: &Value, key: &str| count(row[key].as_u64().unwrap_or_default());
    html! {
        @if rows.iter().any(|row| row["tools"].as_u64().unwrap_or_default() > 0) {
            section.card.flush {
                h2 { "What the tools cost a model's context" }
                div.wrap { table {
                    caption { "The answer to tools/list for each kind of client; a token is counted as four bytes." }
                    thead { tr {
                        th scope="col" { "Client" }
                        th.number scope="col" { "Tools" }
                        th.number scope="col" { "Tokens, about" }
                        th.number.wide scope="col" { "Bytes" }
                        th.wide scope="col" { "Address" }
                    } }
                    tbody {
                        @for row in rows {
                            tr data-key=(word(row, "title")) {
                                th scope="row" { (word(row, "title")) }
                                td.number { (number(row, "tools")) }
                                td.number { (number(row, "tokens")) }
                                td.number.wide { (number(row, "bytes")) }
                                td.wide { code { "/mcp" @if let Some(client) = row["client"].as_str() { "/for/" (client) } } }
                            }
                        }
                    }
                } }
            }
        }
    }
}
