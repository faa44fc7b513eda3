//! Results for people: what a server answered, as text and files.

mod content;
mod error;
mod files;
mod progress;
mod prompts;
mod resources;
mod tools;

pub(crate) use content::{Part, call_result, resource_parts, text_of};
pub(crate) use error::{error_json, error_text};
pub(crate) use files::{Written, written};
pub(crate) use progress::progress_line;
pub(crate) use prompts::{prompt, prompt_list, prompt_schema};
pub(crate) use resources::resource_list;
pub(crate) use tools::{tool, tool_list};

use serde_json::Value;

/// A result as a value, for looking at it; the bytes are what is passed on.
fn parsed(result: &[u8]) -> Value {
    serde_json::from_slice(result).unwrap_or_default()
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

fn list<'v>(value: &'v Value, member: &str) -> &'v [Value] {
    value.get(member).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The first sentence or line of a description.
fn summary(description: &str) -> String {
    let line = description.trim().lines().next().unwrap_or_default();
    let sentence = line.split_once(". ").map_or(line, |(first, _)| first);
    crate::client::clean::line(sentence.trim_end_matches('.'))
}
