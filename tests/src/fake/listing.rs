//! What the scripted server answers to `tools/list`: flat, in pages, changing, or without end.

use serde_json::Value;

use super::request::Request;
use crate::{say, scan};

#[derive(Debug)]
pub(super) struct Listing {
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
    pub(super) fn of(script: &Value) -> Self {
        let pages = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let kind = if let Some(generate) = script.get("generate") {
            let number = |key: &str| generate[key].as_u64().unwrap_or(0) as usize;
            Kind::Generated { count: number("count"), per_page: number("per_page") }
        } else if let Some(sweeps) = script.get("sweeps").and_then(Value::as_array) {
            Kind::Pages(sweeps.iter().map(pages).collect())
        } else if let Some(all) = script.get("pages") {
            Kind::Pages(vec![pages(all)])
        } else if let Some(raw) = script.get("tools") {
            return Self::flat(raw);
        } else {
            let calls = script["calls"].as_object().into_iter().flatten();
            let names = calls.map(|(name, _)| name).filter(|name| *name != "*");
            let raw: Vec<String> = names.map(|name| say::definition(name)).collect();
            return Self::flat(&raw.into());
        };
        Self { kind, sweeps: 0 }
    }

    pub(super) fn flat(raw: &Value) -> Self {
        let page = serde_json::json!({ "at": null, "tools": raw });
        Self { kind: Kind::Pages(vec![vec![page]]), sweeps: 0 }
    }

    /// The `"result":…` or `"error":…` member for this request.
    pub(super) fn page(&mut self, request: &Request) -> String {
        let cursor = scan::get(&request.params, "cursor").and_then(scan::text);
        if cursor.is_none() {
            self.sweeps += 1;
        }
        match &self.kind {
            Kind::Generated { count, per_page } => generated(*count, *per_page, cursor),
            Kind::Pages(sweeps) => {
                let sweep = sweeps.get(self.sweeps - 1).or(sweeps.last());
                given(sweep.map(Vec::as_slice).unwrap_or_default(), cursor)
            }
        }
    }
}

fn given(pages: &[Value], cursor: Option<String>) -> String {
    let Some(page) = pages.iter().find(|page| page["at"].as_str() == cursor.as_deref()) else {
        return r#""error":{"code":-32602,"message":"unknown cursor"}"#.to_owned();
    };
    let raw = page["tools"].as_array().into_iter().flatten();
    let tools: Vec<&str> = raw.map(|raw| raw.as_str().expect("a raw definition")).collect();
    result(&tools.join(","), page["next"].as_str())
}

fn generated(count: usize, per_page: usize, cursor: Option<String>) -> String {
    let from: usize = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    let end = if count == 0 { from + per_page } else { count.min(from + per_page) };
    let tools: Vec<String> = (from..end).map(|n| say::definition(&format!("t{n}"))).collect();
    let more = count == 0 || end < count;
    result(&tools.join(","), more.then(|| end.to_string()).as_deref())
}

fn result(tools: &str, next: Option<&str>) -> String {
    let next = next.map(|next| format!(r#","nextCursor":{}"#, scan::quote(next)));
    format!(r#""result":{{"tools":[{tools}]{}}}"#, next.unwrap_or_default())
}
