//! The screen of policies: those of files and of the store, with what is wrong with them.

use maud::{Markup, html};
use serde_json::Value;
use trunkline_control::access::Action;
use trunkline_control::clock::now;

use super::servers::word;
use crate::form::encode;
use crate::format::{ago, plural, short};
use crate::layout::{self, Shell};
use crate::page::PageResult;
use crate::page_request::PageRequest;

pub(super) const API: &str = "/api/v1/policies";
pub(super) const HERE: &str = "/policies";
pub(super) const TRAIL: [(&str, &str); 1] = [(HERE, "Policies")];

/// Rules of one text that the list names.
const MOST_RULES: usize = 8;

pub(super) async fn show(request: &PageRequest<'_>) -> PageResult {
    let listed = &request.get(&format!("{API}?limit=1000")).await?;
    let all = listed["policies"].as_array().map(Vec::as_slice).unwrap_or_default();
    let may_change = request.may(Action::ManagePolicies);
    let actions = html! {
        a.button href="/policies/test" { "Who may do what?" }
        @if may_change { a.button.primary href="/policies/new" { "Add a policy" } }
    };
    let shell = Shell { title: "Policies", here: HERE, actions: Some(actions), ..Shell::default() };
    let content = html! {
        @if all.is_empty() { (nothing(may_change)) } @else { (table(all)) }
    };
    Ok(layout::page(request, &shell, &content))
}

fn nothing(may_change: bool) -> Markup {
    layout::empty(
        "No policies",
        &html! {
            "Roles and the tools of keys decide who may use what. Policies say more: which users and groups, which arguments, when and from where. "
            @if may_change {
                a href="/policies/new" { "Add one here" } ", or start Trunkline with " code { "--policies PATH" } "."
            } @else {
                "An admin can add them."
            }
        },
    )
}

fn table(all: &[Value]) -> Markup {
    let total = u64::try_from(all.len()).unwrap_or(u64::MAX);
    html! {
        div.card.flush #policies { div.wrap { table {
            caption { (plural(total, "text")) ", together one set. What no policy permits is refused, and a forbid goes before every permit." }
            thead { tr {
                th scope="col" { "Policy" }
                th scope="col" { "Rules" }
                th.wide scope="col" { "Changed" }
            } }
            tbody { @for policy in all { (row(policy)) } }
        } } }
    }
}

fn row(policy: &Value) -> Markup {
    let id = word(policy, "id");
    let is_file = policy["source"] == "file";
    let rules = policy["policies"].as_array().map(Vec::as_slice).unwrap_or_default();
    html! {
        tr {
            th scope="row" {
                a href=(place(id)) { (name(id)) }
                span.sub { @if is_file { "file" } @else { "store" } }
            }
            td {
                @if let Some(problem) = policy["problem"].as_str() {
                    span.badge.bad { "Not in force" }
                    span.sub { (short(problem, 300)) }
                }
                (effects(rules.get(..MOST_RULES).unwrap_or(rules)))
                @if let Some(more) = rules.len().checked_sub(MOST_RULES).filter(|more| *more > 0) {
                    span.sub { "and " (more) " more" }
                }
            }
            td.wide {
                @if is_file { span.dim { "–" } }
                @else {
                    (ago(word(policy, "updated_at"), now()))
                    span.sub { "by " (short(word(policy, "updated_by"), 60)) }
                }
            }
        }
    }
}

/// Policies by their ids, with what they do.
pub(super) fn effects(rules: &[Value]) -> Markup {
    html! {
        ul.plain {
            @for rule in rules {
                li {
                    @let is_forbid = rule["effect"] == "forbid";
                    span.badge.warn[is_forbid] { (word(rule, "effect")) } " "
                    code { (short(word(rule, "id"), 80)) }
                    @if let Some(reason) = rule["reason"].as_str() { span.dim { " – " (short(reason, 160)) } }
                }
            }
        }
    }
}

/// The page of one.
pub(super) fn place(id: &str) -> String {
    format!("{HERE}/{}/text", encode(id))
}

/// A file by its path.
pub(super) fn name(id: &str) -> &str {
    id.strip_prefix("file:").unwrap_or(id)
}
