//! A call of one of Trunkline's own tools: what it looks for, or which tool is called through it.

use std::borrow::Cow;

use trunkline_catalog::{Catalog, MetaTool, ToolRoute};
use trunkline_wire::{Message, Span, decode, elements, find};

use crate::router::route::{Route, Subtool, subtool};

/// Something that is looked up here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MetaToolQuery {
    Search { text: String, limit: usize, server: Option<String> },
    Describe { names: Vec<String> },
}

/// How many tools are found if nothing is said, and at most.
const LIMIT: usize = 10;
const MOST: usize = 50;

/// So many tools are described at a time.
const MOST_DESCRIBED: usize = 20;

/// A longer question says what it is about in its first words. In characters.
const LONGEST_TEXT: usize = 4_000;

/// What is wrong with it is said in a result: those who make such calls read results, and correct
/// themselves.
pub(super) fn meta<'a>(message: &Message<'a>, tool: MetaTool, catalog: &'a Catalog) -> Route<'a> {
    let arguments = message.params.arguments.filter(|at| at.of(message.bytes).starts_with(b"{"));
    let read = match (tool, arguments) {
        (_, None) => Err(needs(tool)),
        (MetaTool::Search, Some(at)) => search(message, at).map(Route::Seek),
        (MetaTool::Describe, Some(at)) => describe(message, at).map(Route::Seek),
        (MetaTool::Call | MetaTool::CallReadOnly, Some(at)) => call(message, at, tool, catalog),
    };
    read.unwrap_or_else(|why| Route::Mistaken { about: None, why })
}

fn needs(tool: MetaTool) -> String {
    let needed = match tool {
        MetaTool::Search => r#"{"query": "…"}"#,
        MetaTool::Describe => r#"{"names": ["…"]}"#,
        MetaTool::Call | MetaTool::CallReadOnly => r#"{"name": "…", "arguments": {…}}"#,
    };
    format!("the arguments of this tool are {needed}")
}

fn text<'a>(message: &Message<'a>, within: Span, key: &str) -> Option<Cow<'a, str>> {
    find(message.bytes, within, &[key]).and_then(|at| decode(at.of(message.bytes)))
}

fn search(message: &Message<'_>, arguments: Span) -> Result<MetaToolQuery, String> {
    let query = text(message, arguments, "query").ok_or_else(|| needs(MetaTool::Search))?;
    if query.trim().is_empty() {
        return Err("`query` says nothing: say what the tool is to do".to_owned());
    }
    let limit = match value(message, arguments, "limit") {
        None => LIMIT,
        Some(said) => {
            let said = std::str::from_utf8(said).unwrap_or_default();
            let said = said.strip_suffix(".0").unwrap_or(said).parse().ok();
            said.filter(|said| (1..=MOST).contains(said))
                .ok_or_else(|| format!("`limit` is a whole number from 1 to {MOST}"))?
        }
    };
    let server = text(message, arguments, "server").filter(|server| !server.is_empty());
    let text = query.chars().take(LONGEST_TEXT).collect();
    Ok(MetaToolQuery::Search { text, limit, server: server.map(Cow::into_owned) })
}

/// A member that says something.
fn value<'a>(message: &Message<'a>, within: Span, key: &str) -> Option<&'a [u8]> {
    let value = find(message.bytes, within, &[key]).map(|at| at.of(message.bytes));
    value.filter(|value| *value != b"null")
}

fn describe(message: &Message<'_>, arguments: Span) -> Result<MetaToolQuery, String> {
    let list = value(message, arguments, "names").unwrap_or_default();
    let names: Option<Vec<String>> = match list.first() {
        Some(b'[') => elements(list).map(|at| Some(decode(at.of(list))?.into_owned())).collect(),
        // One name that somebody did not put into a list.
        Some(b'"') => decode(list).map(|name| vec![name.into_owned()]),
        _ => None,
    };
    let names = names.ok_or_else(|| needs(MetaTool::Describe))?;
    match names.len() {
        0 => Err(needs(MetaTool::Describe)),
        1..=MOST_DESCRIBED => Ok(MetaToolQuery::Describe { names }),
        _ => Err(format!("at most {MOST_DESCRIBED} tools are described at a time")),
    }
}

/// The tool that is meant gets its own name and its own arguments: the rest of the request, and so
/// whatever goes with it, is as it was.
fn call<'a>(
    message: &Message<'a>,
    arguments: Span,
    through: MetaTool,
    catalog: &'a Catalog,
) -> Result<Route<'a>, String> {
    let name = text(message, arguments, "name").ok_or_else(|| needs(through))?;
    let args = value(message, arguments, "arguments").unwrap_or(b"{}");
    let mistaken = |why| Ok(Route::Mistaken { about: Some(name.to_string()), why });
    if !args.starts_with(b"{") {
        return mistaken("`arguments` is an object: the tool's own arguments".to_owned());
    }
    let Some(route) = catalog.route(&name) else { return Ok(Route::UnknownBehind(name)) };
    let reads = || catalog.behind().is_some_and(|behind| behind.reads_only(&name));
    if through == MetaTool::CallReadOnly && !matches!(route, ToolRoute::Meta(_)) && !reads() {
        let call = catalog.behind().map(|behind| behind.names.name(MetaTool::Call));
        return mistaken(format!(
            "`{name}` does not say that it only reads (readOnlyHint); call it with `{}`",
            call.unwrap_or_default()
        ));
    }
    match route {
        ToolRoute::Server(owner) => Ok(Route::Subtool(Subtool { owner, arguments, args })),
        ToolRoute::Custom(custom) => {
            let within = find(message.bytes, arguments, &["arguments"]);
            match subtool(message, custom, arguments, within) {
                Ok(route) => Ok(route),
                Err(error) => mistaken(error.to_string()),
            }
        }
        ToolRoute::Meta(_) => mistaken(format!("`{name}` is called directly")),
    }
}
