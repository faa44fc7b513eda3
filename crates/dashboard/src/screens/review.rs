//! The screen of definitions that wait for a person: what has changed, and two buttons.

use maud::{Markup, html};
use serde_json::{Value, json};
use trunkline_control::clock::now;

use super::findings::found_texts;
use super::tools::text;
use crate::api_client::ApiError;
use crate::form::encode;
use crate::format::{ago, count, plural, short};
use crate::layout::{self, Shell};
use crate::page::{Page, PageResult};
use crate::page_request::PageRequest;
use crate::session::Notice;

const HERE: &str = "/review";

pub(super) async fn show(request: &PageRequest<'_>) -> PageResult {
    let content = match (request.query.filled("server"), request.query.filled("item")) {
        (Some(server), Some(item)) => whole(request, server, item).await?,
        _ => all(request).await?,
    };
    let shell =
        Shell { title: "Review", here: HERE, live: &["server", "tools"], ..Shell::default() };
    Ok(layout::page(request, &shell, &content))
}

async fn all(request: &PageRequest<'_>) -> Result<Markup, ApiError> {
    let told = request.get("/api/v1/reviews").await?;
    let servers = told.get("servers").and_then(Value::as_array);
    let servers = servers.map(Vec::as_slice).unwrap_or_default();
    Ok(html! {
        div #review data-live {
            @if servers.is_empty() {
                section.card {
                    p.dim { "Nothing waits. When a server changes a tool, a prompt or its instructions, or adds one, you see the difference here." }
                }
            }
            @for server in servers { (of_server(request, server)) }
        }
    })
}

/// The API gives a difference in pages; a definition that is kept does not have more.
const MOST_PAGES: usize = 200;

/// One definition with every line that differs.
async fn whole(request: &PageRequest<'_>, server: &str, item: &str) -> Result<Markup, ApiError> {
    let path =
        format!("/api/v1/aggregator/servers/{}/definitions?item={}", encode(server), encode(item));
    let lines = |page: &Value| -> Vec<Value> {
        page.pointer("/waiting/diff").and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let mut page = request.get(&path).await?;
    let mut fields = lines(&page);
    for _ in 1..MOST_PAGES {
        let Some(next) = page.get("next").and_then(Value::as_u64) else { break };
        page = request.get(&format!("{path}&from={next}")).await?;
        fields.extend(lines(&page));
    }
    let mut one = page.get("waiting").cloned().unwrap_or_default();
    if let Some(members) = one.as_object_mut() {
        members.insert("diff".to_owned(), Value::Array(fields));
    }
    Ok(html! {
        section.card {
            p { a href=(HERE) { "All that waits" } }
            ul.plain.review { (definition(request, server, &one, Shown::Whole)) }
        }
    })
}

/// How much of a definition is on the page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Short,
    Whole,
}

fn of_server(request: &PageRequest<'_>, server: &Value) -> Markup {
    let id = text(server, "server_id");
    let waiting = server["waiting"].as_array().map(Vec::as_slice).unwrap_or_default();
    html! {
        section.card data-key=(id) {
            h2 { a href={ "/servers/" (encode(&id)) } { (short(&text(server, "server"), 60)) } }
            p.dim.small {
                (plural(waiting.len() as u64, "definition"))
                " differ from what was approved. "
                @match text(server, "on_change").as_str() {
                    "hold" => "Callers keep what was approved until you approve the change.",
                    "allow" => "Changes are approved by themselves, unless they were rejected.",
                    _ => "Callers are shown the change, unless you reject it.",
                }
            }
            ul.plain.review { @for one in waiting { (definition(request, &id, one, Shown::Short)) } }
        }
    }
}

fn definition(request: &PageRequest<'_>, server: &str, one: &Value, shown: Shown) -> Markup {
    let item = text(one, "item");
    let is_part = shown == Shown::Short && one.get("cut") == Some(&Value::Bool(true));
    let findings = one.get("findings").and_then(Value::as_array);
    let findings = findings.map(Vec::as_slice).unwrap_or_default();
    let name = text(one, "name");
    let fields = one["diff"].as_array().map(Vec::as_slice).unwrap_or_default();
    let versions = (one["approved_version"].as_str(), one["version"].as_str());
    html! {
        li data-key=(item) {
            div.heading {
                h3 {
                    (text(one, "kind")) " " @if !name.is_empty() { code { (short(&name, 80)) } } " "
                    span.badge { (text(one, "reason")) } " "
                    @if one["rejected"] == true { span.badge.bad { "rejected" } }
                    @else if one["held"] == true { span.badge.warn { "held" } }
                }
                div.buttons {
                    @if is_part {
                        a href={ (HERE) "?server=" (encode(server)) "&item=" (encode(&item)) } { "Show all of it to approve" }
                    } @else {
                        (button(request, server, "approve", &item, "Approve", "primary"))
                    }
                    @if one["rejected"] != true { (button(request, server, "reject", &item, "Reject", "")) }
                }
            }
            @if let Some(note) = one["note"].as_str() { p { (note) } }
            (found_texts(findings))
            p.dim.small {
                "Noticed " (ago(&text(one, "noticed_at"), now()))
                @if let (Some(before), Some(after)) = versions { @if before != after { ", " (short(before, 60)) " → " (short(after, 60)) } }
                ", hash " code { (short(&text(one, "hash"), if shown == Shown::Whole { 64 } else { 16 })) }
            }
            @if fields.is_empty() { p.dim { "Its text is not kept: a secret stands in it, or it is too long." } }
            @for field in fields { (field_diff(field)) }
        }
    }
}

fn button(
    request: &PageRequest<'_>,
    server: &str,
    verb: &str,
    item: &str,
    word: &str,
    class: &str,
) -> Markup {
    html! {
        form method="post" action={ "/review/" (encode(server)) "/" (verb) } {
            (layout::hidden(request))
            input type="hidden" name="item" value=(item);
            button class=(class) type="submit" { (word) }
        }
    }
}

fn field_diff(field: &Value) -> Markup {
    let name = text(field, "field");
    let lines = field["lines"].as_array().map(Vec::as_slice).unwrap_or_default();
    html! {
        p.small { code { @if name.is_empty() { "instructions" } @else { (short(&name, 80)) } } }
        pre.diff tabindex="0" { @for line in lines { (diff_line(line)) } }
    }
}

fn diff_line(line: &Value) -> Markup {
    let pieces = line["pieces"].as_array().map(Vec::as_slice).unwrap_or_default();
    let change = line["change"].as_str().unwrap_or_default();
    let words = html! {
        @for piece in pieces {
            @if piece["changed"] == true { mark { (text(piece, "text")) } } @else { (text(piece, "text")) }
        }
    };
    html! {
        @match change {
            "removed" => del { "- " (words) "\n" },
            "added" => ins { "+ " (words) "\n" },
            "skipped" => span.dim { "  (" (count(line["count"].as_u64().unwrap_or_default())) " lines as before)\n" },
            "cut" => strong { "  (" (count(line["count"].as_u64().unwrap_or_default())) " more lines)\n" },
            _ => span { "  " (words) "\n" },
        }
    }
}

/// `POST /review/{server}/approve` and `…/reject`.
pub(super) async fn decide(request: &PageRequest<'_>, verb: &str) -> PageResult {
    let path = format!("/api/v1/aggregator/servers/{}/definitions/{verb}", encode(request.id()));
    let body = json!({ "items": [request.form.get("item").unwrap_or_default()] });
    request.leave(match request.send("POST", &path, Some(&body)).await {
        Ok(told) => {
            let one = told.pointer("/decided/0").unwrap_or(&Value::Null);
            let (kind, name) = (text(one, "kind"), text(one, "name"));
            let what = if name.is_empty() { kind } else { format!("{kind} {}", short(&name, 80)) };
            Notice::Done(format!("The {what} is {}.", text(&told, "decision")))
        }
        Err(trouble) => Notice::Failed(trouble.sentence()),
    });
    Ok(Page::see_other(HERE))
}
