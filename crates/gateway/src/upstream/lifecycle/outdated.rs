//! Whether a call that was made by an older definition of its tool may still be sent. Pure.
//!
//! Clients are listed tools before their server runs, from what it listed when it last ran. When it is up and
//! lists something else, calls that have waited for it were made by the older list.

use std::collections::BTreeMap;

use trunkline_catalog::Listing;
use trunkline_wire::{elements, member, members, pick};

use crate::error::CallError;

/// The longest schema that an error quotes: a model can call by it without asking for the list again.
const QUOTED_SCHEMA: usize = 4 * 1024;

/// Why calls of tools must not be sent any more, by the tools' own names.
#[derive(Debug, Default)]
pub(in crate::upstream) struct OutdatedTools(BTreeMap<String, ToolChange>);

/// What has become of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ToolChange {
    Gone,
    /// It takes other arguments: its `inputSchema` of now.
    OtherArguments(Vec<u8>),
}

impl OutdatedTools {
    /// Compares what clients were shown with what the server lists now.
    pub(in crate::upstream) fn between(shown: &Listing, now: &Listing) -> Self {
        let mut by_name: BTreeMap<_, _> =
            now.tools().iter().map(|tool| (tool.name.as_str(), &tool.definition)).collect();
        let outdated = shown.tools().iter().filter_map(|tool| {
            let change = match by_name.remove(tool.name.as_str()) {
                None => ToolChange::Gone,
                Some(definition) if **definition == *tool.definition => return None,
                Some(definition) => {
                    let schema = |definition| member(definition, "inputSchema").unwrap_or(b"{}");
                    let (old, new) = (schema(&tool.definition), schema(definition));
                    (!takes_old_calls(old, new))
                        .then(|| ToolChange::OtherArguments(new.to_vec()))?
                }
            };
            Some((tool.name.clone(), change))
        });
        Self(outdated.collect())
    }

    pub(in crate::upstream) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn change(&self, tool: &str) -> Option<&ToolChange> {
        self.0.get(tool)
    }

    /// What a call of this tool is answered with; `None`: it may be sent.
    pub(in crate::upstream) fn refusal(&self, server: &str, tool: &str) -> Option<CallError> {
        Some(match self.0.get(tool)? {
            ToolChange::Gone => {
                let hint = format!(
                    " (server `{server}` does not offer it any more: its list has changed since it \
                     was last seen; ask for tools/list again)"
                );
                CallError::UnknownTool { tool: tool.to_owned(), hint }
            }
            ToolChange::OtherArguments(schema) => {
                let schema = Some(schema).filter(|schema| schema.len() <= QUOTED_SCHEMA);
                let now = schema.map(|schema| String::from_utf8_lossy(schema).into_owned());
                CallError::ToolChanged {
                    tool: tool.to_owned(),
                    server: server.to_owned(),
                    now: now.map(|now| format!("; it is now {now}")).unwrap_or_default(),
                }
            }
        })
    }
}

/// Does a tool with the schema `new` mean the same by arguments that fit `old`? Where it cannot be told, no.
fn takes_old_calls(old: &[u8], new: &[u8]) -> bool {
    if old == new {
        return true;
    }
    let [old_properties, old_required] = pick(old, ["properties", "required"]);
    let [new_properties, new_required] = pick(new, ["properties", "required"]);
    let (properties, others) =
        (old_properties.unwrap_or_default(), new_properties.unwrap_or_default());
    let items = |list: Option<&[u8]>| -> Vec<Vec<u8>> {
        let list = list.unwrap_or_default();
        elements(list).map(|at| at.of(list).to_vec()).collect()
    };
    let before = items(old_required);
    let is_kept = |name: &str, before: &[u8]| {
        member(others, name).is_some_and(|now| is_same_but_for_words(before, now, &[]))
    };
    members(properties).all(|(name, at)| is_kept(&name, at.of(properties)))
        && items(new_required).iter().all(|name| before.contains(name))
        && is_same_but_for_words(old, new, &["properties", "required"])
}

/// Members that are for people.
const WORDS: [&str; 5] = ["title", "description", "examples", "$schema", "$id"];

/// Are both equal, apart from members for people and those that are left `out`?
fn is_same_but_for_words(one: &[u8], other: &[u8], out: &[&str]) -> bool {
    if one == other {
        return true;
    }
    let rest = |object: &[u8]| -> BTreeMap<String, Vec<u8>> {
        let all = members(object).map(|(key, at)| (key.into_owned(), at.of(object).to_vec()));
        all.filter(|(key, _)| !WORDS.contains(&&**key) && !out.contains(&&**key)).collect()
    };
    one.starts_with(b"{") && other.starts_with(b"{") && rest(one) == rest(other)
}

#[cfg(test)]
mod tests {
    use trunkline_catalog::ListKind;

    use super::*;

    fn listing(tools: &[(&str, &str)]) -> Listing {
        let tools = tools.iter().map(|(name, schema)| {
            format!(r#"{{"name":"{name}","description":"d","inputSchema":{schema}}}"#)
        });
        let page = format!(r#"{{"tools":[{}]}}"#, tools.collect::<Vec<_>>().join(","));
        let mut listing = Listing::default();
        listing.add_page(ListKind::Tools, page.as_bytes(), 99).unwrap();
        listing
    }

    #[test]
    fn calls_by_an_older_schema_are_sent_where_it_means_the_same() {
        let old = r#"{"type":"object","properties":{"a":{"type":"string","description":"x"}},"required":["a"]}"#;
        for (new, expected) in [
            (old, true),
            (r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}"#, true),
            (r#"{"type":"object","properties":{"a":{"type":"string"}}}"#, true),
            (
                r#"{"title":"t","type":"object","properties":{"b":{},"a":{"type":"string"}},"required":["a"]}"#,
                true,
            ),
            (
                r#"{"type":"object","properties":{"a":{"type":"string"},"b":{}},"required":["a","b"]}"#,
                false,
            ),
            (r#"{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}"#, false),
            (r#"{"type":"object","properties":{"b":{"type":"string"}},"required":[]}"#, false),
            (
                r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"oneOf":[]}"#,
                false,
            ),
            ("true", false),
        ] {
            assert_eq!(takes_old_calls(old.as_bytes(), new.as_bytes()), expected, "{new}");
        }
    }

    #[test]
    fn what_is_gone_or_takes_other_arguments_is_told_apart() {
        let object = r#"{"type":"object"}"#;
        let other = r#"{"type":"object","required":["x"]}"#;
        let shown = listing(&[("same", object), ("gone", object), ("other", object)]);
        let now = listing(&[("same", object), ("other", other), ("new", object)]);
        let outdated = OutdatedTools::between(&shown, &now);
        assert!(outdated.refusal("s", "same").is_none() && outdated.refusal("s", "new").is_none());
        let words = |tool| outdated.refusal("s", tool).unwrap().to_string();
        assert!(words("gone").starts_with("Tool not found: gone (server `s` does not offer"));
        assert!(words("other").contains(other), "{}", words("other"));
        assert!(OutdatedTools::between(&shown, &shown).is_empty());
    }
}
