//! The one repair: a definition that a strict client would refuse, and with it everybody's list.
//!
//! Definitions are passed on as their servers wrote them, with this exception: a member that the
//! protocol requires and that is missing, or one of the wrong type, gets the plainest value that is
//! valid. Clients check the whole list at once, so one bad entry would cost them every server.

use trunkline_wire::{Edits, Span, decode, encode, members, pick};

use super::ListKind;

/// The plainest schema of arguments.
const ANY_OBJECT: &[u8] = br#"{"type":"object"}"#;

/// A definition that had to be changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Repaired {
    pub(crate) definition: Vec<u8>,
    /// What was wrong with it, for a warning.
    pub(crate) why: String,
}

/// `None`: it is fine as it is. `name` is what the entry is called for by.
pub(crate) fn repair(kind: ListKind, name: &str, definition: &[u8]) -> Option<Repaired> {
    // Checked first: nearly all definitions stay as they are, and are not copied.
    if is_fine(kind, definition) {
        return None;
    }
    let mut work = Work { definition: definition.to_vec(), why: Vec::new() };
    if kind == ListKind::Tools {
        work.schema();
    }
    if matches!(kind, ListKind::Resources | ListKind::Templates) {
        // 2025-11-25, Resources, Data Types: `name` is required. What the entry is called for by is
        // the only text that is surely there.
        work.required_text("name", name);
    }
    for member in ["title", "description"] {
        work.optional(member, "a string", is_text, b"\"\"");
    }
    if kind == ListKind::Prompts {
        work.optional("arguments", "an array", is_array, b"[]");
    }
    let why = work.why.join(", ");
    (!why.is_empty()).then_some(Repaired { definition: work.definition, why })
}

/// Nearly every definition is, and one walk tells.
fn is_fine(kind: ListKind, definition: &[u8]) -> bool {
    let keys = ["inputSchema", "name", "arguments", "title", "description"];
    let [schema, name, arguments, title, description] = pick(definition, keys);
    let own = match kind {
        ListKind::Tools => schema.is_some_and(is_schema),
        ListKind::Resources | ListKind::Templates => name.is_some_and(is_text),
        ListKind::Prompts => arguments.is_none_or(is_array),
    };
    own && title.is_none_or(is_text) && description.is_none_or(is_text)
}

struct Work {
    definition: Vec<u8>,
    why: Vec<String>,
}

impl Work {
    fn schema(&mut self) {
        let Some(at) = self.find("inputSchema") else {
            self.why.push("has no `inputSchema`".to_owned());
            return self.add("inputSchema", ANY_OBJECT);
        };
        if !is_schema(at.of(&self.definition)) {
            self.why.push("has an `inputSchema` that is not a schema".to_owned());
            self.replace(at, ANY_OBJECT);
        }
    }

    fn required_text(&mut self, member: &str, text: &str) {
        match self.find(member) {
            Some(at) if is_text(at.of(&self.definition)) => return,
            Some(at) => self.replace(at, &encode(text)),
            None => self.add(member, &encode(text)),
        }
        self.why.push(format!("has no `{member}` that is a string"));
    }

    fn optional(&mut self, member: &str, what: &str, good: fn(&[u8]) -> bool, plain: &[u8]) {
        if let Some(at) = self.find(member).filter(|at| !good(at.of(&self.definition))) {
            self.why.push(format!("has a `{member}` that is not {what}"));
            self.replace(at, plain);
        }
    }

    /// The last one if there are several, as JSON parsers do.
    fn find(&self, member: &str) -> Option<Span> {
        members(&self.definition).filter(|(name, _)| name == member).last().map(|(_, at)| at)
    }

    fn replace(&mut self, at: Span, value: &[u8]) {
        let mut out = Vec::new();
        Edits::one(at, value).write(&self.definition, &mut out);
        self.definition = out;
    }

    /// Adds a member at the end of the object.
    fn add(&mut self, member: &str, value: &[u8]) {
        let is_empty = members(&self.definition).next().is_none();
        // The bytes are one JSON object: the last one is its brace.
        self.definition.pop();
        if !is_empty {
            self.definition.push(b',');
        }
        self.definition.extend_from_slice(&encode(member));
        self.definition.push(b':');
        self.definition.extend_from_slice(value);
        self.definition.push(b'}');
    }
}

/// Any object, and the two words that are schemas, are the server's own business.
fn is_schema(value: &[u8]) -> bool {
    value.starts_with(b"{") || matches!(value, b"true" | b"false")
}

fn is_array(value: &[u8]) -> bool {
    value.starts_with(b"[")
}

/// A string that can be read: one with half a surrogate pair is refused by clients, too.
fn is_text(value: &[u8]) -> bool {
    decode(value).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::ListKind::{Prompts, Resources, Templates, Tools};

    #[test]
    fn only_what_a_strict_client_refuses_is_changed() {
        let table = [
            (Tools, r#"{"name":"x"}"#, r#"{"name":"x","inputSchema":{"type":"object"}}"#),
            (
                Tools,
                r#"{"name":"x","inputSchema":null}"#,
                r#"{"name":"x","inputSchema":{"type":"object"}}"#,
            ),
            (
                Tools,
                r#"{"name":"x","title":5,"description":null,"inputSchema":{"type":"object"}}"#,
                r#"{"name":"x","title":"","description":"","inputSchema":{"type":"object"}}"#,
            ),
            (Resources, r#"{"uri":"x"}"#, r#"{"uri":"x","name":"x"}"#),
            (Resources, r#"{"name":5,"uri":"x"}"#, r#"{"name":"x","uri":"x"}"#),
            (
                Templates,
                r#"{"uriTemplate":"x","name":null,"description":[]}"#,
                r#"{"uriTemplate":"x","name":"x","description":""}"#,
            ),
            (
                Prompts,
                r#"{"name":"x","arguments":{},"description":7}"#,
                r#"{"name":"x","arguments":[],"description":""}"#,
            ),
        ];
        for (kind, written, expected) in table {
            let repaired = repair(kind, "x", written.as_bytes()).expect(written);
            assert_eq!(String::from_utf8_lossy(&repaired.definition), expected);
            assert_eq!(repair(kind, "x", &repaired.definition), None, "{expected}");
        }
    }

    #[test]
    fn what_is_fine_stays() {
        let table = [
            (Tools, r#"{"name":"x","inputSchema":{"type":"obj\u0065ct"},"outputSchema":true}"#),
            (Tools, r#"{"name":"x","inputSchema":1,"inputSchema":{"type":"object"}}"#),
            (Resources, r#"{"uri":"x","name":""}"#),
            (Prompts, r#"{"name":"x","arguments":[5]}"#),
        ];
        for (kind, definition) in table {
            assert_eq!(repair(kind, "x", definition.as_bytes()), None, "{definition}");
        }
    }

    #[test]
    fn the_reasons_are_told() {
        let why = |definition: &str| repair(Tools, "x", definition.as_bytes()).map(|it| it.why);
        let expected = "has no `inputSchema`, has a `title` that is not a string";
        assert_eq!(why(r#"{"name":"x","title":1}"#).as_deref(), Some(expected));
    }
}
