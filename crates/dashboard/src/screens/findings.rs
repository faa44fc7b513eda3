//! Texts that may lie, as the pages of a server and of everything show them.

use maud::{Markup, html};
use serde_json::Value;

use super::servers::word;
use crate::api_client::ApiError;
use crate::format::{plural, short};
use crate::page_request::PageRequest;

pub(super) const FINDINGS: &str = "/api/v1/findings";

/// More do not fit a page; `trunkline scan` has them all.
const MOST: usize = 20;

fn is_shown(finding: &&Value) -> bool {
    matches!(word(finding, "severity"), "high" | "medium")
}

/// Of one server: each with its place and its reason.
pub(super) fn card(findings: &Value, server: &str) -> Markup {
    let all = findings["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let own = all.iter().filter(|finding| word(finding, "server_id") == server);
    let own: Vec<_> = own.filter(is_shown).collect();
    html! {
        @if !own.is_empty() {
            section.card aria-labelledby="findings-title" {
                h2 #findings-title { "Texts that may lie" }
                ul.plain { @for finding in own.iter().take(MOST) { (one(finding)) } }
                @if own.len() > MOST {
                    p.dim { (plural(u64::try_from(own.len() - MOST).unwrap_or_default(), "more finding")) }
                }
            }
        }
    }
}

fn one(finding: &Value) -> Markup {
    html! {
        li {
            strong { (word(finding, "shown_severity")) } " "
            @if let Some(opinion) = finding.get("second_opinion").and_then(Value::as_str) {
                span.dim.small { "(the scanner says " (word(finding, "severity")) ", a language model: " (opinion) ") " }
            }
            code { (word(finding, "rule")) } " "
            (word(finding, "kind")) " " code { (short(word(finding, "item"), 80)) }
            p.small { (short(word(finding, "excerpt"), 300)) }
            p.small.dim { (word(finding, "reason")) }
        }
    }
}

/// Of one definition that waits.
pub(super) fn found_texts(findings: &[Value]) -> Markup {
    let shown: Vec<_> = findings.iter().filter(is_shown).collect();
    html! {
        @if !shown.is_empty() {
            p { "The scanner found:" }
            ul.plain { @for finding in shown.iter().take(MOST) { (one(finding)) } }
        }
    }
}

/// Of everything: how many, and of which servers.
pub(super) fn banner(findings: &Value) -> Markup {
    let number = |key: &str| findings[key].as_u64().unwrap_or_default();
    let all = findings["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut servers: Vec<(&str, &str)> = all
        .iter()
        .filter(is_shown)
        .map(|finding| (word(finding, "server_id"), word(finding, "server")))
        .collect();
    servers.sort_unstable();
    servers.dedup();
    html! {
        @if !servers.is_empty() {
            section.card aria-labelledby="lies" {
                h2 #lies { "Texts that may lie" }
                p {
                    (plural(number("high"), "finding")) " of severity high, "
                    (number("medium")) " of severity medium, in what these servers tell models:"
                }
                ul.plain.linked {
                    @for (id, name) in servers.iter().take(MOST) {
                        li { a href={ "/servers/" (trunkline_http::encode(id)) } { (name) } }
                    }
                }
            }
        }
    }
}

/// What the scanner found, as far as the reader may see it.
pub(super) async fn read(request: &PageRequest<'_>) -> Result<Value, ApiError> {
    request.get(FINDINGS).await
}
