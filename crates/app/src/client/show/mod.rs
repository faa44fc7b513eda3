//! Results for people: what a server answered, as text and files.
//!
//! Everything is read from the bytes as they came. A server may send numbers, depths and strings
//! that no value of ours can hold; such a part is shown as the JSON it is, never left out.

mod content;
mod error;
mod files;
mod progress;
mod prompts;
mod resources;
mod tools;

pub(crate) use content::{Part, call_result, resource_parts, text_of};
pub(crate) use error::{error_json, error_text};
pub(crate) use files::{SavedFile, written};
pub(crate) use progress::progress_line;
pub(crate) use prompts::{prompt, prompt_list, prompt_schema};
pub(crate) use resources::resource_list;
pub(crate) use tools::{switched_off, tool, tool_list};

use std::borrow::Cow;

use trunkline_wire::{decode, elements, member};

/// The text of a member, if it is one that text can hold.
fn text<'v>(value: &'v [u8], key: &str) -> Option<Cow<'v, str>> {
    member(value, key).and_then(decode)
}

/// A member as words: its text, or its JSON where it is something else; nothing where there is none.
fn words<'v>(value: &'v [u8], key: &str) -> Cow<'v, str> {
    match member(value, key) {
        None | Some(b"null") => Cow::Borrowed(""),
        Some(raw) => decode(raw).unwrap_or_else(|| as_sent(raw)),
    }
}

/// JSON as it came.
fn as_sent(raw: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(raw.trim_ascii())
}

/// The elements of a member that is an array, itself if it is something else.
fn list<'v>(value: &'v [u8], key: &str) -> Vec<&'v [u8]> {
    match member(value, key) {
        None | Some(b"null") => Vec::new(),
        Some(array) if array.starts_with(b"[") => {
            elements(array).map(|span| span.of(array)).collect()
        }
        Some(single) => vec![single],
    }
}

/// An entry of a list by its name, or as it came if it has none.
fn title(entry: &[u8], key: &str) -> String {
    let name = crate::client::clean::line(&words(entry, key));
    if name.is_empty() { crate::client::clean::line(&as_sent(entry)) } else { name }
}

/// The first sentence or line of a description.
fn summary(description: &str) -> String {
    let line = description.trim().lines().next().unwrap_or_default();
    let sentence = line.split_once(". ").map_or(line, |(first, _)| first);
    crate::client::clean::line(sentence.trim_end_matches('.'))
}
