//! The screen of one record: who did what, when, from where, what came of it, and what happened around it.

use maud::{Markup, html};
use serde_json::Value;
use trunkline_control::api::paging::{List, cursor};
use trunkline_control::api::time;
use trunkline_control::clock::now;

use super::activity::{badge, table, what};
use super::tools::text;
use crate::api_client::ApiError;
use crate::form::encode;
use crate::format::{ago, millis, short};
use crate::layout::{self, Shell};
use crate::page::PageResult;
use crate::page_request::PageRequest;

/// Before and after it, in milliseconds.
const AROUND: i64 = 60_000;
/// Before and after it, in records of the whole log.
const WITHIN: i64 = 500;
/// … and in those that are shown.
const MOST: usize = 8;

pub(super) async fn show(request: &PageRequest<'_>) -> PageResult {
    let seq: i64 = request.id().parse().map_err(|_| missing())?;
    let record = find(request, seq).await?;
    let around = around(request, &record, seq).await?;
    let title = what(&record);
    let content = html! {
        div.columns {
            div {
                section.card { h2 { "Outcome" } (ended(&record)) }
                (nearby(&around))
            }
            section.card { h2 { "Record " (seq) } (facts(&record)) (neighbours(seq)) }
        }
    };
    let trail = [("/activity", "Activity")];
    let shell = Shell { title: &title, here: "/activity", trail: &trail, ..Shell::default() };
    Ok(layout::page(request, &shell, &content))
}

/// The log is a list that is read backwards: the one behind the next is it.
async fn find(request: &PageRequest<'_>, seq: i64) -> Result<Value, ApiError> {
    let behind = cursor(List::AUDIT, &seq.saturating_add(1).to_string());
    let told = &request.get(&format!("/api/v1/audit?limit=1&cursor={}", encode(&behind))).await?;
    let found = told["records"].get(0).filter(|record| record["seq"] == seq);
    found.cloned().ok_or_else(missing)
}

/// On the same server, or by the same one where there is none.
async fn around(
    request: &PageRequest<'_>,
    record: &Value,
    seq: i64,
) -> Result<Vec<Value>, ApiError> {
    let Some(at) = time::parse(&text(record, "at")) else { return Ok(Vec::new()) };
    let (name, value) = match record["server_id"].as_str() {
        Some(server) => ("server", server.to_owned()),
        None => ("principal", text(record, "principal")),
    };
    let path = format!(
        "/api/v1/audit?limit=1000&since={}&until={}&{name}={}&cursor={}",
        encode(&time::format(at - AROUND)),
        encode(&time::format(at + AROUND)),
        encode(&value),
        encode(&cursor(List::AUDIT, &seq.saturating_add(WITHIN).to_string()))
    );
    let told = &request.get(&path).await?;
    let all = told["records"].as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(nearest(all, seq).cloned().collect())
}

/// Those just before and just after it; the newest are first.
fn nearest(all: &[Value], seq: i64) -> impl Iterator<Item = &Value> {
    let is_after = |record: &&Value| record["seq"].as_i64().is_some_and(|it| it > seq);
    let after = all.iter().filter(is_after).count();
    let before = all.iter().skip(after).filter(move |it| it["seq"] != seq).take(MOST);
    all.iter().take(after).skip(after.saturating_sub(MOST)).chain(before)
}

fn ended(record: &Value) -> Markup {
    let outcome = text(record, "outcome");
    let took = record["duration_us"].as_f64().map(|micros| micros / 1_000.0);
    html! {
        p {
            (badge(&outcome)) " "
            (words(&outcome))
            @if took.is_some() { " It took " (millis(took)) "." }
        }
        @if let Some(count) = record["count"].as_u64() {
            p { "This record stands for " (count) " requests, counted over a minute." }
        }
        @let detail = text(record, "detail");
        @if !detail.is_empty() { p.dim { (short(&detail, 2_000)) } }
        @let (server, tool) = (text(record, "server_id"), text(record, "tool"));
        @if record["action"] == "call-tool" && !server.is_empty() && !tool.is_empty() {
            p { a href={ "/tools/" (encode(&format!("{server}/{tool}"))) } { "View tool" } }
        }
    }
}

/// What an outcome means for whoever made the call.
fn words(outcome: &str) -> &'static str {
    match outcome {
        "ok" => "Succeeded.",
        "tool-error" => "The tool reported an error; the caller received its message.",
        "rpc-error" => "The server returned a JSON-RPC error.",
        "timeout" => "The call timed out; the caller received an error.",
        "gone" => "The server disconnected before it answered.",
        "cancelled" => "The caller cancelled the call.",
        "refused" => "Trunkline refused the request; it did not reach a server.",
        "failed" => "The operation failed.",
        "lost" => "Records were dropped here: the audit queue was full.",
        _ => "",
    }
}

fn facts(record: &Value) -> Markup {
    let rows = [
        ("Who", "principal"),
        ("With", "credential_id"),
        ("From", "address"),
        ("Action", "action"),
        ("Server", "server_name"),
        ("Tool", "tool"),
        ("Request", "request_id"),
        ("Arguments (SHA-256)", "argument_hash"),
        ("Chain (SHA-256)", "hash"),
    ];
    html! {
        dl.facts {
            dt { "When" } dd { (ago(&text(record, "at"), now())) br; code { (text(record, "at")) } }
            @for (label, member) in rows {
                @let value = text(record, member);
                @if !value.is_empty() { dt { (label) } dd { code { (short(&value, 300)) } } }
            }
        }
        p.dim.small { "Arguments and results are not stored, only a hash of the arguments." }
    }
}

fn nearby(around: &[Value]) -> Markup {
    html! {
        @if around.is_empty() {
            section.card { p.dim { "No other records within a minute of this one." } }
        } @else {
            div.card.flush { (table(around, "Within a minute")) }
        }
    }
}

fn neighbours(seq: i64) -> Markup {
    html! {
        p.buttons {
            @if seq > 1 { a.button href={ "/activity/" (seq - 1) } { "Previous record" } }
            a.button href={ "/activity/" (seq.saturating_add(1)) } { "Next record" }
        }
    }
}

fn missing() -> ApiError {
    ApiError::new(
        404,
        "Record not found",
        "No record has this number.",
        "See Activity for the newest records.",
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_nearest_are_taken_on_both_sides() {
        let all: Vec<Value> = (1..=40).rev().map(|seq| json!({ "seq": seq })).collect();
        let near = |seq| -> Vec<i64> {
            nearest(&all, seq).filter_map(|record| record["seq"].as_i64()).collect()
        };
        let expected: Vec<i64> = (21..=28).rev().chain((12..=19).rev()).collect();
        assert_eq!(near(20), expected);
        assert_eq!(near(40), (32..=39).rev().collect::<Vec<_>>());
        assert_eq!(near(1), (2..=9).rev().collect::<Vec<_>>());
        assert_eq!(nearest(&[], 1).count(), 0);
    }
}
