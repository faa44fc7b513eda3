//! What the scripted server lists: flat, in pages, changing, or without end.

use std::collections::HashMap;

use serde_json::Value;

use super::request::Request;
use crate::{say, scan};

/// One list per kind the server offers; tools it always has.
#[derive(Debug)]
pub(super) struct Lists(HashMap<&'static str, Listing>);

/// Kind in the script, method, member of the result.
const KINDS: [(&str, &str, &str); 4] = [
    ("tools", "tools/list", "tools"),
    ("resources", "resources/list", "resources"),
    ("templates", "resources/templates/list", "resourceTemplates"),
    ("prompts", "prompts/list", "prompts"),
];

impl Lists {
    pub(super) fn of(script: &Value) -> Self {
        let list = |(kind, ..): (&'static str, &str, &str)| {
            let given = script["lists"].get(kind);
            match kind {
                "tools" => Some((kind, Listing::of_tools(script))),
                // Whoever has resources answers for templates, too, and the other way round.
                "resources" | "templates" => {
                    let any = ["resources", "templates"].iter();
                    let offered = any.clone().any(|kind| script["lists"].get(kind).is_some());
                    let none = Value::Array(Vec::new());
                    offered.then(|| (kind, Listing::of(given.unwrap_or(&none))))
                }
                _ => given.map(|given| (kind, Listing::of(given))),
            }
        };
        Self(KINDS.into_iter().filter_map(list).collect())
    }

    /// From now on lists these definitions.
    pub(super) fn change(&mut self, kind: &str, raw: &Value) {
        if let Some((kind, ..)) = KINDS.iter().find(|(known, ..)| *known == kind) {
            self.0.insert(kind, Listing::of(raw));
        }
    }

    /// The `"result":…` or `"error":…` member, if the request asks for a list this server has.
    pub(super) fn page(&mut self, request: &Request) -> Option<String> {
        let (kind, _, member) = KINDS.iter().find(|(_, method, _)| *method == request.method)?;
        Some(self.0.get_mut(kind)?.page(member, request))
    }
}

#[derive(Debug)]
struct Listing {
    kind: Kind,
    /// How many times a client has begun at the first page.
    sweeps: usize,
}

#[derive(Debug)]
enum Kind {
    /// One set of pages per sweep; the last one stays.
    Pages(Vec<Vec<Value>>),
    Generated {
        count: usize,
        per_page: usize,
    },
}

impl Listing {
    fn of_tools(script: &Value) -> Self {
        let pages = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let kind = if let Some(generate) = script.get("generate") {
            let number = |key: &str| generate[key].as_u64().unwrap_or(0) as usize;
            Kind::Generated { count: number("count"), per_page: number("per_page") }
        } else if let Some(sweeps) = script.get("sweeps").and_then(Value::as_array) {
            Kind::Pages(sweeps.iter().map(pages).collect())
        } else if let Some(all) = script.get("pages") {
            Kind::Pages(vec![pages(all)])
        } else if let Some(raw) = script.get("tools") {
            return Self::of(raw);
        } else {
            let calls = script["calls"].as_object().into_iter().flatten();
            let names = calls.map(|(name, _)| name).filter(|name| *name != "*");
            let raw: Vec<String> = names.map(|name| say::definition(name)).collect();
            return Self::of(&raw.into());
        };
        Self { kind, sweeps: 0 }
    }

    /// Raw definitions, or pages of them.
    fn of(raw: &Value) -> Self {
        let pages = match raw.get(0).is_some_and(Value::is_object) {
            true => raw.as_array().cloned().unwrap_or_default(),
            false => vec![serde_json::json!({ "at": null, "items": raw })],
        };
        Self { kind: Kind::Pages(vec![pages]), sweeps: 0 }
    }

    fn page(&mut self, member: &str, request: &Request) -> String {
        let cursor = scan::get(&request.params, "cursor").and_then(scan::text);
        if cursor.is_none() {
            self.sweeps += 1;
        }
        match &self.kind {
            Kind::Generated { count, per_page } => generated(*count, *per_page, cursor),
            Kind::Pages(sweeps) => {
                let sweep = sweeps.get(self.sweeps - 1).or(sweeps.last());
                given(member, sweep.map(Vec::as_slice).unwrap_or_default(), cursor)
            }
        }
    }
}

fn given(member: &str, pages: &[Value], cursor: Option<String>) -> String {
    let Some(page) = pages.iter().find(|page| page["at"].as_str() == cursor.as_deref()) else {
        return r#""error":{"code":-32602,"message":"unknown cursor"}"#.to_owned();
    };
    let items = page.get("items").unwrap_or(&page["tools"]);
    let raw = items.as_array().into_iter().flatten();
    let items: Vec<&str> = raw.map(|raw| raw.as_str().expect("a raw definition")).collect();
    result(member, &items.join(","), page["next"].as_str())
}

fn generated(count: usize, per_page: usize, cursor: Option<String>) -> String {
    let from: usize = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    let end = if count == 0 { from + per_page } else { count.min(from + per_page) };
    let tools: Vec<String> = (from..end).map(|n| say::definition(&format!("t{n}"))).collect();
    let more = count == 0 || end < count;
    result("tools", &tools.join(","), more.then(|| end.to_string()).as_deref())
}

fn result(member: &str, items: &str, next: Option<&str>) -> String {
    let next = next.map(|next| format!(r#","nextCursor":{}"#, scan::quote(next)));
    format!(r#""result":{{"{member}":[{items}]{}}}"#, next.unwrap_or_default())
}
