//! What people have on the clipboard, as servers of a config: snippets of clients' files, lines for other
//! programs, and files of the MCP registry. Pure.

mod command_line;
mod registry;
mod shell_words;
mod snippet;

use serde_json::{Map, Value};

pub(crate) use command_line::add_words;

type JsonObject = Map<String, Value>;

/// A server that was pasted, in the words of Trunkline's config.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct PastedServer {
    /// `None`: the text does not say.
    pub(crate) name: Option<String>,
    pub(crate) entry: JsonObject,
    /// What is to be said about it.
    pub(crate) notes: Vec<String>,
    /// What the entry refers to as `${NAME}` and somebody has to give.
    pub(crate) needs: Vec<NeededValue>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NeededValue {
    /// A variable.
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) is_secret: bool,
}

/// Names only: values may be secrets.
impl std::fmt::Debug for PastedServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let keys: Vec<&String> = self.entry.keys().collect();
        f.debug_struct("PastedServer").field("name", &self.name).field("entry", &keys).finish()
    }
}

/// The servers of a text, or why there are none. No part of the text is quoted: it may be a secret.
pub(crate) fn read_pasted(text: &str) -> Result<Vec<PastedServer>, String> {
    let text = fenced(text.trim_start_matches('\u{feff}').trim());
    if text.is_empty() {
        return Err("there is nothing to add: give a command (`add NAME -- COMMAND …`), an address (`add NAME URL`), or \
             paste a snippet on standard input"
            .to_owned());
    }
    if text.starts_with("[mcp_servers") {
        return snippet::codex(text);
    }
    if text.starts_with(['{', '"', '/', '[']) {
        return snippet::json(text);
    }
    command_line::read(text)
}

/// The text without the fence that Markdown puts around code.
fn fenced(text: &str) -> &str {
    let Some(inner) = text.strip_prefix("```") else { return text };
    let inner = inner.split_once('\n').map_or("", |(_, inner)| inner);
    inner.trim_end().strip_suffix("```").unwrap_or(inner).trim()
}

#[cfg(test)]
mod tests;
