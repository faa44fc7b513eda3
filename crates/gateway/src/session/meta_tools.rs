//! Calls of Trunkline's own tools, which search and describe the others. The search runs beside the
//! pump's thread, while the request waits like any other.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};
use trunkline_catalog::{Behind, MetaTool, ToolOrigin};
use trunkline_search::Vector;
use trunkline_wire::{decode, elements, encode_all_into, encode_into, member, members};

use crate::events::Outcome;
use crate::finder::{CUSTOM, FoundTool, SearchQuery};
use crate::limits::SEEK_TIME;
use crate::pump::FlushSet;
use crate::registry::{Snapshot, View, read_tools};
use crate::router::MetaToolQuery;
use crate::session::context::SessionContext;
use crate::session::request::SessionRequest;
use crate::session::waiting::{all_listed, wait};

/// Searches or describes tools. It waits for starting servers, so that their tools are found, too.
pub(super) fn search(asked: &SessionRequest<'_>, query: MetaToolQuery) {
    let context = &asked.session.context;
    let deadline = Instant::now().max(context.start_deadline) + SEEK_TIME;
    let settled = all_listed(context);
    let view = Arc::clone(&context.view);
    let found = async move {
        settled.await;
        let finder = view.registry.finder();
        let vector = match &query {
            MetaToolQuery::Search { text, .. } => finder.question(text).await,
            MetaToolQuery::Describe { .. } => None,
        };
        let _turn = finder.turn().await;
        let looking = {
            let view = Arc::clone(&view);
            spawn_blocking(move || result_of(&view, &query, vector.as_ref()))
        };
        looking.await.ok()
    };
    let ready = async move { timeout_at(deadline, found).await.ok().flatten() };
    wait(asked, ready, |asked, found, touched| {
        let result = found.unwrap_or_else(|| Err("the search took too long; try again".to_owned()));
        let outcome = if result.is_err() { Outcome::ToolError } else { Outcome::Ok };
        asked.record_without_server(None, outcome);
        answer_as_tool(asked, &result, touched);
    });
}

/// A client with a list that does not show every tool will search: the index is built now, once, so
/// that the first search does not wait for it.
pub(super) fn prepare_search(context: &SessionContext, snapshot: &Snapshot) {
    let registry = &context.registry;
    if snapshot.catalog.behind().is_none() || !registry.finder().begin_reading() {
        return;
    }
    let registry = Arc::clone(registry);
    let reading = async move {
        let _turn = registry.finder().turn().await;
        let reading = {
            let registry = Arc::clone(&registry);
            spawn_blocking(move || read_tools(&registry))
        };
        drop(reading.await);
    };
    drop(context.tasks.spawn_on(reading, &context.runtime));
}

/// Answers a call of one of our own tools that cannot be carried out.
pub(super) fn refuse_call(
    asked: &SessionRequest<'_>,
    about: Option<&str>,
    why: String,
    touched: &mut FlushSet,
) {
    asked.record_without_server(about, Outcome::ToolError);
    answer_as_tool(asked, &Err(why), touched);
}

/// Answers a call of one of our own tools. Err: what went wrong, as the text of the result.
pub(super) fn answer_as_tool(
    asked: &SessionRequest<'_>,
    result: &Result<String, String>,
    touched: &mut FlushSet,
) {
    let (Ok(text) | Err(text)) = result;
    let mut out = Vec::with_capacity(text.len() + 128);
    out.push(b'{');
    if !asked.era.is_session() {
        out.extend_from_slice(br#""resultType":"complete","_meta":"#);
        out.extend_from_slice(&asked.own_meta(false));
        out.push(b',');
    }
    out.extend_from_slice(br#""content":[{"type":"text","text":"#);
    encode_into(text, &mut out);
    out.extend_from_slice(b"}]");
    if result.is_err() {
        out.extend_from_slice(br#","isError":true"#);
    }
    out.push(b'}');
    asked.answer(&out, touched);
}

/// The text of the result. `vector`: the question's, where an external embedder gives one. Takes a
/// while: not for the pump's thread.
fn result_of(
    view: &View,
    query: &MetaToolQuery,
    vector: Option<&Vector>,
) -> Result<String, String> {
    let bytes = match query {
        MetaToolQuery::Search { text, limit, server } => {
            found(view, (text, vector), *limit, server.as_deref())
        }
        MetaToolQuery::Describe { names } => describe(&view.snapshot(), names),
    };
    bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// How much of a description is shown; `describe_tools` shows all of it. In characters.
const DESCRIPTION: usize = 300;
/// So many arguments are named.
const ARGUMENTS: usize = 16;

fn found(
    view: &View,
    (text, vector): (&str, Option<&Vector>),
    limit: usize,
    server: Option<&str>,
) -> Result<Vec<u8>, String> {
    read_tools(&view.registry);
    let snapshot = view.snapshot();
    let Some(behind) = snapshot.catalog.behind() else { return Err(ALL_LISTED.to_owned()) };
    let places = places(view, &snapshot, server)?;
    let called = |id: &str, tool: &str| behind.called(places.get(id)?.0, tool);
    let is_narrow = view.is_narrow();
    let may = |id: &str, tool: &str| !is_narrow || called(id, tool).is_some();
    let ids: Vec<&str> = places.keys().map(String::as_str).collect();
    let query = SearchQuery { text, limit, servers: Some(&ids), may: &may, vector };
    let found = view.registry.finder().search(&query);
    let mut out = b"{\"tools\":[".to_vec();
    let mut count = 0;
    for tool in &found.tools {
        let Some(name) = called(&tool.server, &tool.name) else { continue };
        let Some((_, server)) = places.get(&tool.server) else { continue };
        if count > 0 {
            out.push(b',');
        }
        push_found(name, server, tool, behind, &mut out);
        count += 1;
    }
    out.extend_from_slice(format!("],\"searched\":{}}}", found.compared).as_bytes());
    Ok(out)
}

const ALL_LISTED: &str = "all tools are listed: see tools/list";

/// Where tools are looked for: by the server's id, its place and its name.
fn places(
    view: &View,
    snapshot: &Snapshot,
    only: Option<&str>,
) -> Result<HashMap<String, (ToolOrigin, String)>, String> {
    let seen = view.seen();
    let of_servers = seen.iter().filter_map(|(server, name)| {
        let place = snapshot.place_of_id(server.key.id())?;
        Some((server.key.id().to_string(), (Some(place), name.to_string())))
    });
    let custom = (CUSTOM.to_owned(), (None, CUSTOM_NAME.to_owned()));
    let all: HashMap<_, _> = of_servers.chain([custom]).collect();
    let Some(only) = only else { return Ok(all) };
    let wanted: HashMap<_, _> = all.into_iter().filter(|(_, (_, name))| name == only).collect();
    if wanted.is_empty() {
        let names: Vec<String> = seen.iter().map(|(_, name)| format!("`{name}`")).collect();
        return Err(format!("there is no server `{only}`; there are {}", names.join(", ")));
    }
    Ok(wanted)
}

/// What custom tools are found under.
const CUSTOM_NAME: &str = "custom";

fn push_found(name: &str, server: &str, tool: &FoundTool, behind: &Behind, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"name\":");
    encode_into(name, out);
    out.extend_from_slice(b",\"server\":");
    encode_into(server, out);
    // As this caller sees it: a custom tool shows only those of its tools that the caller may call.
    let definition = behind.definition(name).unwrap_or_default();
    if let Some(description) = member(definition, "description").and_then(decode) {
        out.extend_from_slice(b",\"description\":");
        encode_into(&cut(&description), out);
    }
    out.extend_from_slice(b",\"arguments\":");
    encode_into(&arguments(definition), out);
    let reads = behind.reads_only(name);
    let score = format!("{:.3}", tool.score);
    out.extend_from_slice(format!(",\"read_only\":{reads},\"score\":{score}}}").as_bytes());
}

fn cut(text: &str) -> String {
    let mut words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = words.char_indices().nth(DESCRIPTION) {
        words.truncate(end);
        words.push('…');
    }
    words
}

/// The names of a tool's arguments; those it can do without have a question mark.
fn arguments(definition: &[u8]) -> String {
    let schema = member(definition, "inputSchema").unwrap_or_default();
    let required = member(schema, "required").unwrap_or_default();
    let required: Vec<_> = elements(required).filter_map(|at| decode(at.of(required))).collect();
    let properties = member(schema, "properties").unwrap_or_default();
    let shown = |name: &str| match required.iter().any(|needed| *needed == *name) {
        true => name.to_owned(),
        false => format!("{name}?"),
    };
    let mut names = members(properties).map(|(name, _)| shown(&name));
    let mut text = names.by_ref().take(ARGUMENTS).collect::<Vec<_>>().join(", ");
    if names.next().is_some() {
        text.push_str(", …");
    }
    text
}

/// The definitions as they would be listed. An error if there is none of them.
fn describe(snapshot: &Snapshot, names: &[String]) -> Result<Vec<u8>, String> {
    let catalog = &snapshot.catalog;
    let Some(behind) = catalog.behind() else { return Err(ALL_LISTED.to_owned()) };
    let mut out = b"{\"tools\":[".to_vec();
    let (mut known, mut unknown) = (0, Vec::new());
    for name in names {
        let Some(definition) = behind.definition(name) else {
            unknown.push((name.as_str(), catalog.near(name)));
            continue;
        };
        if known > 0 {
            out.push(b',');
        }
        out.extend_from_slice(definition);
        known += 1;
    }
    out.push(b']');
    if known == 0 {
        let search = behind.names.name(MetaTool::Search);
        let each = unknown.iter().map(|(name, near)| no_such(name, near));
        let each = each.collect::<Vec<_>>().join("; ");
        let stop = if each.ends_with('?') { "" } else { "." };
        return Err(format!("{each}{stop} Find tools with `{search}`"));
    }
    if !unknown.is_empty() {
        out.extend_from_slice(b",\"unknown\":[");
        for (index, (name, near)) in unknown.iter().enumerate() {
            out.extend_from_slice(if index > 0 { b",{\"name\":" } else { b"{\"name\":" });
            encode_into(name, &mut out);
            out.extend_from_slice(b",\"did_you_mean\":");
            encode_all_into(near.iter().copied(), &mut out);
            out.push(b'}');
        }
        out.push(b']');
    }
    out.push(b'}');
    Ok(out)
}

fn no_such(name: &str, near: &[&str]) -> String {
    let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    match near.is_empty() {
        true => format!("there is no tool `{name}`"),
        false => format!("there is no tool `{name}`, did you mean {}?", near.join(" or ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_named_in_a_line() {
        let many: Vec<String> = (0..20).map(|n| format!(r#""a{n}":{{}}"#)).collect();
        let many = format!(r#"{{"inputSchema":{{"properties":{{{}}}}}}}"#, many.join(","));
        for (definition, expected) in [
            ("{}", ""),
            (r#"{"inputSchema":{"type":"object"}}"#, ""),
            (
                r#"{"inputSchema":{"properties":{"path":{},"head":{"type":"integer"}},"required":["path"]}}"#,
                "path, head?",
            ),
        ] {
            assert_eq!(arguments(definition.as_bytes()), expected);
        }
        assert!(arguments(many.as_bytes()).ends_with("a14?, a15?, …"));
    }

    #[test]
    fn a_description_is_cut_to_one_line() {
        assert_eq!(cut("a\n\n b\tc"), "a b c");
        let long = cut(&"ä".repeat(400));
        assert_eq!((long.chars().count(), long.ends_with('…')), (301, true));
    }
}
