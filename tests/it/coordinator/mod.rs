//! The Coordinator requirements, one or more tests per ID, over every front they concern.

mod custom;
mod declared;
mod environment;
mod filters;
mod fronts;
mod passage;
mod prompts;
mod questions;
mod remembered;
mod remembered_lists;
mod remote;
mod resources;
mod templates;

use kit::line::Line;
use kit::mcp::{Speak, Tool};
use kit::scan;

/// Every resource: URI and raw definition.
#[track_caller]
fn resources(client: &impl Speak) -> Vec<Tool> {
    client.list_of("resources/list", "resources", "uri")
}

#[track_caller]
fn uris(client: &impl Speak) -> Vec<String> {
    resources(client).into_iter().map(|resource| resource.name).collect()
}

#[track_caller]
fn read(client: &impl Speak, uri: &str) -> Line {
    client.ask("resources/read", &format!(r#"{{"uri":{}}}"#, scan::quote(uri)))
}

/// The server that has answered a read.
#[track_caller]
fn reader(client: &impl Speak, uri: &str) -> String {
    let answer = read(client, uri);
    let contents = scan::get(answer.result(), "contents").and_then(scan::elements);
    let first = contents.and_then(|all| all.first().map(|content| content.to_vec()));
    let text = first.as_deref().and_then(|content| scan::get(content, "text"));
    let text = text.and_then(scan::text).unwrap_or_else(|| panic!("no text: {answer}"));
    text.trim_start_matches("from ").to_owned()
}

/// Every prompt: name and raw definition.
#[track_caller]
fn prompts(client: &impl Speak) -> Vec<Tool> {
    client.list_of("prompts/list", "prompts", "name")
}

/// What a member of a raw definition says.
fn said(entry: &Tool, member: &str) -> Option<String> {
    scan::get(&entry.raw, member).and_then(scan::text)
}
