//! A small store: tools that change something, resources, a template, a prompt.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::demo::tool::{
    Arguments, Demo, ToolOutcome, failed, object, reads, structured, text, tool,
};

/// Gone when the process ends.
#[derive(Debug)]
pub(in crate::demo) struct Notes {
    notes: BTreeMap<i64, StoredNote>,
    next: i64,
}

#[derive(Debug)]
struct StoredNote {
    title: String,
    text: String,
    tags: Vec<String>,
}

/// Enough for a demo, and an end for who forgets it.
const MOST: usize = 1000;

impl Notes {
    pub(in crate::demo) fn new() -> Self {
        let mut notes = Self { notes: BTreeMap::new(), next: 1 };
        notes.keep("Welcome", "This note is a resource as well: read note://1.", &["demo"]);
        notes.keep("Shopping", "Tea, bread, a new kettle.", &["home"]);
        notes
    }

    fn keep(&mut self, title: &str, text: &str, tags: &[&str]) -> i64 {
        let id = self.next;
        self.next += 1;
        let tags = tags.iter().map(ToString::to_string).collect();
        let note = StoredNote { title: title.to_owned(), text: text.to_owned(), tags };
        self.notes.insert(id, note);
        id
    }

    fn add(&mut self, arguments: &Arguments<'_>) -> ToolOutcome {
        let (Some(title), Some(body)) = (arguments.text("title"), arguments.text("text")) else {
            return ToolOutcome::Done(failed("give a `title` and a `text`"));
        };
        if self.notes.len() >= MOST {
            return ToolOutcome::Done(failed(format!("there are {MOST} notes: remove one first")));
        }
        let tags = arguments.texts("tags");
        let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
        let id = self.keep(title, body, &tags);
        ToolOutcome::Changed(structured(&json!({ "id": id, "uri": uri(id) })))
    }

    fn remove(&mut self, arguments: &Arguments<'_>) -> ToolOutcome {
        match arguments.whole("id").and_then(|id| self.notes.remove(&id)) {
            Some(note) => ToolOutcome::Changed(text(format!("removed: {}", note.title))),
            None => ToolOutcome::Done(failed("there is no note with this `id`")),
        }
    }

    fn search(&self, arguments: &Arguments<'_>) -> Value {
        let wanted = arguments.text("text").unwrap_or_default().to_lowercase();
        let found = self.notes.iter().filter(|(_, note)| note.mentions(&wanted));
        let found = found.map(|(id, note)| {
            json!({ "id": id, "title": note.title, "tags": note.tags, "uri": uri(*id) })
        });
        structured(&json!({ "notes": found.collect::<Vec<_>>() }))
    }

    fn at(&self, uri: &str) -> Option<&StoredNote> {
        self.notes.get(&uri.strip_prefix("note://")?.parse().ok()?)
    }
}

impl StoredNote {
    fn mentions(&self, wanted: &str) -> bool {
        let has = |text: &str| text.to_lowercase().contains(wanted);
        has(&self.title) || has(&self.text) || self.tags.iter().any(|tag| has(tag))
    }
}

fn uri(id: i64) -> String {
    format!("note://{id}")
}

impl Demo for Notes {
    fn instructions(&self) -> &'static str {
        "Notes that are kept while this runs. Search before you add."
    }

    fn tools(&self) -> Value {
        let input = json!({
            "title": { "type": "string", "description": "One line" },
            "text": { "type": "string", "description": "The note itself" },
            "tags": { "type": "array", "items": { "type": "string" } },
        });
        let adds =
            json!({ "title": "Add a note", "destructiveHint": false, "openWorldHint": false });
        let removes = json!({
            "title": "Remove a note",
            "destructiveHint": true,
            "idempotentHint": true,
            "openWorldHint": false,
        });
        let wanted =
            json!({ "text": { "type": "string", "description": "A part of it; all without" } });
        let id = json!({ "id": { "type": "integer" } });
        json!([
            tool("add", "Add a note", "Keep a note.", object(input, &["title", "text"]), adds),
            reads("search", "Search notes", "Find notes by a part of them.", object(wanted, &[])),
            tool(
                "remove",
                "Remove a note",
                "Remove a note for good.",
                object(id, &["id"]),
                removes
            ),
        ])
    }

    fn call(
        &mut self,
        tool: &str,
        arguments: &Arguments<'_>,
        _answer: Option<&Value>,
    ) -> Option<ToolOutcome> {
        match tool {
            "add" => Some(self.add(arguments)),
            "search" => Some(ToolOutcome::Done(self.search(arguments))),
            "remove" => Some(self.remove(arguments)),
            _ => None,
        }
    }

    fn resources(&self) -> Vec<Value> {
        let listed = self.notes.iter().map(
            |(id, note)| json!({ "uri": uri(*id), "name": note.title, "mimeType": "text/plain" }),
        );
        listed.collect()
    }

    fn templates(&self) -> Vec<Value> {
        vec![json!({
            "uriTemplate": "note://{id}",
            "name": "note",
            "description": "A note by its number",
            "mimeType": "text/plain",
        })]
    }

    fn read(&self, uri: &str) -> Option<(&'static str, String)> {
        let note = self.at(uri)?;
        Some(("text/plain", format!("{}\n\n{}", note.title, note.text)))
    }

    fn prompts(&self) -> Vec<Value> {
        let topic = json!({ "name": "topic", "description": "Only notes that mention it", "required": false });
        vec![json!({
            "name": "summarise",
            "description": "Have the notes summarised",
            "arguments": [topic],
        })]
    }

    fn prompt(&self, name: &str, arguments: &Arguments<'_>) -> Option<String> {
        let topic = arguments.text("topic").unwrap_or_default();
        let mentioned = self.notes.values().filter(|note| note.mentions(&topic.to_lowercase()));
        let notes: Vec<String> =
            mentioned.map(|note| format!("- {}: {}", note.title, note.text)).collect();
        (name == "summarise")
            .then(|| format!("Summarise these notes in three lines:\n{}", notes.join("\n")))
    }

    fn completions(&self, argument: &str) -> Vec<&'static str> {
        if argument == "topic" { vec!["demo", "home"] } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_and_go() {
        let mut notes = Notes::new();
        let arguments = json!({ "title": "A", "text": "Zebra", "tags": ["x"] });
        let added = notes.call("add", &Arguments(Some(&arguments)), None).unwrap();
        assert!(matches!(added, ToolOutcome::Changed(_)), "{added:?}");
        assert_eq!(notes.read("note://3").unwrap().1, "A\n\nZebra");
        let found = notes.search(&Arguments(Some(&json!({ "text": "zebra" }))));
        assert_eq!(found["structuredContent"]["notes"][0]["id"], 3);
        let id = json!({ "id": 3 });
        assert!(matches!(notes.remove(&Arguments(Some(&id))), ToolOutcome::Changed(_)));
        assert!(matches!(notes.remove(&Arguments(Some(&id))), ToolOutcome::Done(_)));
        assert_eq!(notes.read("note://3"), None);
        assert_eq!(notes.resources().len(), 2);
    }
}
