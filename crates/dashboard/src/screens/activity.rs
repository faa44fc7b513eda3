//! The screen of what was done: the audit log, filtered, as it grows.

use maud::{Markup, html};
use serde_json::Value;
use trunkline_control::access::Action;
use trunkline_control::api::time;
use trunkline_control::clock::now;

use super::tools::text;
use crate::form::{Form, encode};
use crate::format::{ago, millis, short};
use crate::layout::{self, Shell};
use crate::page::PageResult;
use crate::page_request::PageRequest;

const MOST: usize = 60;

/// How far back: its word in the address, what people read, and milliseconds.
const SPANS: [(&str, &str, i64); 4] = [
    ("15m", "the last 15 minutes", 15 * 60 * 1_000),
    ("1h", "the last hour", 60 * 60 * 1_000),
    ("1d", "the last day", 24 * 60 * 60 * 1_000),
    ("7d", "the last 7 days", 7 * 24 * 60 * 60 * 1_000),
];

const OUTCOMES: [(&str, &str); 12] = [
    ("ok", "Done"),
    ("tool-error", "Tool error"),
    ("rpc-error", "Server's error"),
    ("timeout", "Too late"),
    ("gone", "Disconnected"),
    ("cancelled", "Cancelled"),
    ("refused", "Refused"),
    ("failed", "Failed"),
    ("lost", "Not recorded"),
    // What has become of a server.
    ("connected", "Connected"),
    ("degraded", "Degraded"),
    ("error", "Error"),
];

/// What is written down without anybody having asked for it.
const UNASKED: [&str; 7] = [
    "change-status",
    "login",
    "lose-audit-records",
    "lose-login",
    "prune-audit",
    "show-token",
    "use-mcp",
];

pub(super) async fn show(request: &PageRequest<'_>) -> PageResult {
    let wish = ActivityFilter::read(&request.query);
    let servers = request.get("/api/v1/aggregator/servers?limit=1000").await?;
    let told = request.get(&wish.path(&names(&servers))).await;
    let known = FilterChoices::ask(request, told.as_ref().ok()).await;
    let content = html! {
        (filters(&wish, &servers, &known))
        @if wish.cursor.is_none() { (arrivals()) }
        div #records data-live {
            @match &told {
                Ok(told) => (records(told, &wish)),
                Err(trouble) => p.notice.bad role="alert" { (trouble.sentence()) },
            }
        }
    };
    // What is further back does not change.
    let topics: &[&str] = match wish.cursor {
        None => &["calls", "server", "status", "tools"],
        Some(_) => &[],
    };
    let shell = Shell { title: "Activity", here: "/activity", live: topics, ..Shell::default() };
    Ok(layout::page(request, &shell, &content))
}

/// What `arrivals.js` needs: nothing is live without it, and then there is nothing to pause.
fn arrivals() -> Markup {
    html! {
        div.arrivals data-arrivals="records" hidden {
            button type="button" aria-pressed="false" { "Pause" }
            button.primary type="button" hidden {}
        }
    }
}

/// What is looked for: the names are the API's but for `span`.
#[derive(Debug, Default)]
struct ActivityFilter {
    filters: Vec<(&'static str, String)>,
    span: Option<&'static str>,
    cursor: Option<String>,
}

const FILTERS: [&str; 5] = ["server", "tool", "outcome", "principal", "action"];
/// Those of them that somebody types: a part of what the list shows is enough.
const TYPED: [&str; 3] = ["tool", "principal", "action"];

/// What the typed filters offer to choose from.
#[derive(Debug, Default)]
struct FilterChoices {
    tools: Vec<String>,
    principals: Vec<String>,
}

impl FilterChoices {
    /// More would make the page heavy; what is not offered can be typed all the same.
    const MOST: usize = 200;

    async fn ask(request: &PageRequest<'_>, told: Option<&Value>) -> Self {
        // The filters of a page that keeps itself up to date stay as they are.
        if request.is_live() {
            return Self::default();
        }
        let listed = request.get(&format!("/api/v1/tools?limit={}", Self::MOST)).await;
        let listed = &listed.unwrap_or_default();
        let groups = listed["servers"].as_array().into_iter().flatten();
        let tools = groups.flat_map(|group| group["tools"].as_array().into_iter().flatten());
        let records = told.and_then(|told| told["records"].as_array()).into_iter().flatten();
        let mut principals: Vec<_> = records.map(|record| text(record, "principal")).collect();
        principals.sort_unstable();
        principals.dedup();
        Self { tools: tools.map(|tool| text(tool, "name")).collect(), principals }
    }
}

/// As the list shows them: in words. Nothing is written down of who only reads.
fn actions() -> Vec<String> {
    let names = Action::ALL.iter().map(|action| action.name()).chain(UNASKED);
    let names = names.filter(|name| !name.starts_with("read-"));
    let mut words: Vec<String> = names.map(|name| name.replace('-', " ")).collect();
    words.sort_unstable();
    words.dedup();
    words
}

fn names(servers: &Value) -> Vec<&str> {
    let all = servers["servers"].as_array().into_iter().flatten();
    let mut names: Vec<&str> = all.filter_map(|server| server["name"].as_str()).collect();
    names.sort_unstable();
    names
}

/// `change status flap` is an action and what it was done to, as the list shows them: the action, and the
/// filter for the rest. Servers are found by a part of their names, if only one has it.
fn action_and_object(typed: &str, servers: &[&str]) -> Option<(String, (&'static str, String))> {
    let words = typed.to_lowercase().replace('-', " ");
    let known = actions().into_iter().filter(|known| {
        words.strip_prefix(known.as_str()).is_some_and(|rest| rest.starts_with(' '))
    });
    let action = known.max_by_key(String::len)?;
    let object = typed.get(action.len()..)?.trim();
    let is_meant = |name: &&&str| name.to_lowercase().contains(&object.to_lowercase());
    let mut meant = servers.iter().filter(is_meant);
    let server = match (servers.contains(&object), meant.next(), meant.next()) {
        (false, Some(only), None) => Some(*only),
        (is_name, ..) => (is_name || !object.contains('.')).then_some(object),
    };
    let filter = server.map_or(("tool", object), |server| ("server", server));
    Some((action, (filter.0, filter.1.to_owned())))
}

impl ActivityFilter {
    fn read(query: &Form) -> Self {
        let given = |name| Some((name, query.filled(name)?.to_owned()));
        let span = query.filled("span");
        Self {
            filters: FILTERS.into_iter().filter_map(given).collect(),
            span: SPANS.iter().map(|(word, ..)| *word).find(|word| span == Some(word)),
            cursor: query.filled("cursor").map(str::to_owned),
        }
    }

    fn get(&self, name: &str) -> &str {
        let found = self.filters.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    fn is_anything(&self) -> bool {
        !self.filters.is_empty() || self.span.is_some()
    }

    /// What the API is asked for.
    fn path(&self, servers: &[&str]) -> String {
        let mut path = format!("/api/v1/audit?limit={MOST}");
        let since = SPANS.iter().find(|(word, ..)| self.span == Some(word));
        let since = since.map(|(.., back)| ("since", time::format(now() - back)));
        let cursor = self.cursor.clone().map(|cursor| ("cursor", cursor));
        let mut filters = self.filters.clone();
        // What is filtered by on its own is not chosen by what stands behind an action.
        if let Some((action, object)) = action_and_object(self.get("action"), servers)
            && self.get(object.0).is_empty()
        {
            filters.retain(|(name, _)| *name != "action");
            filters.extend([("action", action), object]);
        }
        let is_typed = filters.iter().any(|(name, _)| TYPED.contains(name));
        let part = is_typed.then(|| ("match", "contains".to_owned()));
        for (name, value) in filters.into_iter().chain(part).chain(since).chain(cursor) {
            path.push_str(&format!("&{name}={}", encode(&value)));
        }
        path
    }

    /// The address of these filters from `cursor` on, which is further back.
    fn address(&self, cursor: &str) -> String {
        let span = self.span.map(|span| ("span", span.to_owned()));
        let parts = self.filters.iter().cloned().chain(span).chain([("cursor", cursor.to_owned())]);
        let parts: Vec<String> =
            parts.map(|(name, value)| format!("{name}={}", encode(&value))).collect();
        format!("/activity?{}", parts.join("&"))
    }
}

fn filters(wish: &ActivityFilter, servers: &Value, known: &FilterChoices) -> Markup {
    let names = names(servers);
    let spans: Vec<(&str, &str)> = SPANS.iter().map(|(word, shown, _)| (*word, *shown)).collect();
    let servers: Vec<(&str, &str)> = names.iter().map(|name| (*name, *name)).collect();
    html! {
        form.card.filters method="get" action="/activity" role="search" {
            (choice("server", "Server", "Any", wish.get("server"), &servers))
            (line("tool", "Tool", wish.get("tool"), &known.tools))
            (choice("outcome", "Outcome", "Any", wish.get("outcome"), &OUTCOMES))
            (line("principal", "Who", wish.get("principal"), &known.principals))
            (line("action", "Action", wish.get("action"), &actions()))
            (choice("span", "When", "Any time", wish.span.unwrap_or_default(), &spans))
            div.field.buttons {
                button.primary type="submit" { "Filter" }
                @if wish.is_anything() { a href="/activity" { "Clear" } }
            }
        }
    }
}

fn choice(name: &str, label: &str, any: &str, now: &str, options: &[(&str, &str)]) -> Markup {
    html! {
        div.field {
            label for=(name) { (label) }
            select id=(name) name=(name) {
                option value="" { (any) }
                @for (value, shown) in options {
                    option value=(value) selected[*value == now] { (shown) }
                }
            }
        }
    }
}

fn line(name: &str, label: &str, now: &str, offered: &[String]) -> Markup {
    html! {
        div.field {
            label for=(name) { (label) }
            input id=(name) name=(name) type="text" value=(now) maxlength="200" autocomplete="off"
                list={ (name) "-offered" };
            datalist id={ (name) "-offered" } { @for value in offered { option value=(short(value, 200)) {} } }
        }
    }
}

fn records(told: &Value, wish: &ActivityFilter) -> Markup {
    let all = told["records"].as_array().map(Vec::as_slice).unwrap_or_default();
    if all.is_empty() {
        return match wish.is_anything() || wish.cursor.is_some() {
            true => layout::empty(
                "No results",
                &html! { "No record matches. " a href="/activity" { "Clear filters" } },
            ),
            false => layout::empty(
                "No activity yet",
                &html! { "Every call and every change is recorded here." },
            ),
        };
    }
    html! {
        div.card.flush { (table(all, "Activity, newest first")) }
        @if let Some(cursor) = told["next_cursor"].as_str() {
            p.buttons { a.button href=(wish.address(cursor)) { "Older" } }
        }
    }
}

/// Records, one a row; each leads to its story.
pub(super) fn table(records: &[Value], caption: &str) -> Markup {
    html! {
        div.wrap {
            table {
                caption { (caption) }
                thead { tr {
                    th scope="col" { "When" }
                    th scope="col" { "What" }
                    th.wide scope="col" { "Outcome" }
                    th.number.wide scope="col" { "Took" }
                    th.wide scope="col" { "Who" }
                } }
                tbody { @for record in records { (row(record)) } }
            }
        }
    }
}

fn row(record: &Value) -> Markup {
    let took = record["duration_us"].as_f64().map(|micros| micros / 1_000.0);
    let seq = record["seq"].as_i64().unwrap_or_default();
    html! {
        tr data-key=(seq) {
            td.nowrap { (ago(&text(record, "at"), now())) }
            th scope="row" {
                a href={ "/activity/" (seq) } { (what(record)) }
                @if let Some(count) = record["count"].as_u64() { " × " (count) }
                span.sub.narrow { (badge(&text(record, "outcome"))) }
                @let detail = text(record, "detail");
                @if !detail.is_empty() { span.sub { (short(&detail, 160)) } }
            }
            td.wide { (badge(&text(record, "outcome"))) }
            td.number.wide { @if took.is_some() { (millis(took)) } }
            td.wide { (short(&text(record, "principal"), 40)) }
        }
    }
}

/// `call-tool` of a tool is the tool; anything else is its action and what it was done to.
pub(super) fn what(record: &Value) -> String {
    let (action, server, tool) =
        (text(record, "action"), text(record, "server_name"), text(record, "tool"));
    let object = match (server.is_empty(), tool.is_empty()) {
        (false, false) => format!("{server}.{tool}"),
        (false, true) => server,
        (true, _) => tool,
    };
    let words = match (action.as_str(), object.is_empty()) {
        ("call-tool", false) => object,
        (_, true) => action.replace('-', " "),
        (_, false) => format!("{} {object}", action.replace('-', " ")),
    };
    short(&words, 120)
}

pub(super) fn badge(outcome: &str) -> Markup {
    let word = OUTCOMES.iter().find(|(known, _)| *known == outcome).map(|(_, word)| *word);
    let class = match outcome {
        "ok" | "connected" => "badge dot good",
        "cancelled" => "badge dot",
        "tool-error" | "refused" | "degraded" => "badge dot warn",
        _ => "badge dot bad",
    };
    html! { span class=(class) { (word.unwrap_or(outcome)) } }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_done_is_said_in_words() {
        for (record, expected) in [
            (json!({ "action": "call-tool", "server_name": "a", "tool": "t" }), "a.t"),
            (json!({ "action": "call-tool" }), "call tool"),
            (json!({ "action": "register-server", "server_name": "a" }), "register server a"),
            (json!({ "action": "set-tool-skills", "tool": "t" }), "set tool skills t"),
            (json!({}), ""),
        ] {
            assert_eq!(what(&record), expected, "{record}");
        }
    }

    #[test]
    fn filters_are_asked_for_and_kept() {
        let wish =
            ActivityFilter::read(&Form::read("server=a%26b&tool=+&outcome=gone&span=1h&other=x"));
        let path = wish.path(&[]);
        assert!(
            path.starts_with("/api/v1/audit?limit=60&server=a%26b&outcome=gone&since="),
            "{path}"
        );
        assert_eq!(wish.address("c/1"), "/activity?server=a%26b&outcome=gone&span=1h&cursor=c%2F1");
        let typed = ActivityFilter::read(&Form::read("tool=files.read&cursor=c"));
        assert_eq!(
            typed.path(&[]),
            "/api/v1/audit?limit=60&tool=files.read&match=contains&cursor=c",
            "a part of what is shown is enough"
        );
        let none = ActivityFilter::read(&Form::read("span=9y&cursor="));
        assert!(!none.is_anything() && none.path(&[]) == "/api/v1/audit?limit=60");
    }

    #[test]
    fn an_action_with_what_it_was_done_to_is_two_filters() {
        let servers = ["flap", "flip", "time.zone"];
        for (typed, expected) in [
            ("change status flap", Some(("change status", "server", "flap"))),
            ("Change-Status FLA", Some(("change status", "server", "flap"))),
            ("change status fl", Some(("change status", "server", "fl"))),
            ("change status removed", Some(("change status", "server", "removed"))),
            ("edit server time.zone", Some(("edit server", "server", "time.zone"))),
            ("edit skills a.t", Some(("edit skills", "tool", "a.t"))),
            ("change status", None),
            ("change statusx", None),
            ("flap", None),
        ] {
            let found = action_and_object(typed, &servers);
            let found = found.as_ref().map(|(action, object)| (&**action, object.0, &*object.1));
            assert_eq!(found, expected, "{typed}");
        }
    }
}
