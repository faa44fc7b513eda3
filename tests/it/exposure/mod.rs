//! Exposure `search`: a short list with tools that find, describe and call the others, over every front
//! and in both eras.

mod auto;
mod calling;
mod finding;
mod meant;

use kit::config::Upstream;
use kit::line::Line;
use kit::mcp::Speak;
use kit::room::Room;
use kit::scan;
use kit::scene::Front;
use serde_json::Value;

/// What Trunkline has of its own, as the list has it.
const OWN: [&str; 4] = ["call_read_only_tool", "call_tool", "describe_tools", "search_tools"];

const SEARCH: [&str; 2] = ["--expose", "search"];

/// Every front, old and new.
fn fronts() -> Vec<Front> {
    Front::ALL.into_iter().chain(Front::MODERN).collect()
}

const READ: &str = r#"{"name":"read_file","description":"Read the whole content of a file","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"head":{"type":"integer"}},"required":["path"]},"annotations":{"readOnlyHint":true}}"#;
const DELETE: &str = r#"{"name":"delete_file","description":"Remove a file from the disk for good","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}},"annotations":{"destructiveHint":true}}"#;
const RAIN: &str = r#"{"name":"forecast","description":"Temperature, wind and rain for the next days","inputSchema":{"type":"object","properties":{"city":{ "type":"string" }}},"x":1.0}"#;

/// Two servers with tools that say what they do.
fn house(room: &Room, upstream: Upstream) {
    let files = room.fake("files").definitions(&[READ, DELETE]).tool("*", kit::say::mirror());
    let weather = room.fake("weather").definitions(&[RAIN]).tool("*", kit::say::mirror());
    room.config([("files", files.over(upstream)), ("weather", weather.over(upstream))]);
}

/// The text of a result of one of our own tools, and whether it tells of a mistake.
#[track_caller]
fn said(answer: &Line) -> (String, bool) {
    let content = scan::get(answer.result(), "content").and_then(scan::elements);
    let content = content.unwrap_or_else(|| panic!("no content: {answer}"));
    assert_eq!(content.len(), 1, "{answer}");
    let text = scan::get(content[0], "text").and_then(scan::text).expect("a text");
    (text, scan::get(answer.result(), "isError") == Some(b"true"))
}

/// The JSON of a search that has found something.
#[track_caller]
fn found(client: &impl Speak, tool: &str, arguments: &str) -> Value {
    let (text, is_error) = said(&client.call(tool, arguments));
    assert!(!is_error, "{text}");
    serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}"))
}

/// The text of a call that tells of a mistake.
#[track_caller]
fn mistake(client: &impl Speak, tool: &str, arguments: &str) -> String {
    let (text, is_error) = said(&client.call(tool, arguments));
    assert!(is_error, "{text}");
    text
}

/// The names of the tools that were found.
fn names(found: &Value) -> Vec<String> {
    let tools = found["tools"].as_array().into_iter().flatten();
    tools.map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()).collect()
}

/// The arguments of a call of this tool through ours.
fn through(name: &str, arguments: &str) -> String {
    format!(r#"{{"name":{},"arguments":{arguments}}}"#, scan::quote(name))
}
