//! What a list does not show and can be found: every tool as it would be listed.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use foldhash::fast::RandomState;
use trunkline_wire::member;

use super::meta::{MetaNames, MetaTool};
use crate::name::Assigned;

/// Whose a tool is: the server's place, or nobody's if the config has made it of several.
pub type ToolOrigin = Option<usize>;

#[derive(Debug)]
pub struct Behind {
    /// What Trunkline's own tools are called.
    pub names: MetaNames,
    definitions: Bytes,
    /// Where each definition lies in them, by every name of the tool.
    places: HashMap<Arc<str>, Range<usize>, RandomState>,
    /// What clients call a tool, by its origin and by the name it has there.
    called: BTreeMap<ToolOrigin, HashMap<String, Arc<str>, RandomState>>,
}

/// A tool that may be put behind.
pub(super) struct Hidden<'a> {
    pub(super) origin: ToolOrigin,
    /// As its server or the config calls it.
    pub(super) own: &'a str,
    pub(super) names: &'a Assigned,
    pub(super) definition: &'a [u8],
}

impl Behind {
    pub(super) fn new<'a>(names: MetaNames, tools: impl Iterator<Item = Hidden<'a>>) -> Self {
        let mut definitions = Vec::new();
        let (mut places, mut called) = (HashMap::default(), BTreeMap::<_, HashMap<_, _, _>>::new());
        for tool in tools {
            let start = definitions.len();
            definitions.extend_from_slice(tool.definition);
            let place = start..definitions.len();
            if let Some(canonical) = &tool.names.canonical {
                places.insert(canonical.clone(), place.clone());
            }
            places.insert(tool.names.wire.clone(), place);
            let of_origin = called.entry(tool.origin).or_default();
            of_origin.entry(tool.own.to_owned()).or_insert_with(|| tool.names.wire.clone());
        }
        for tool in MetaTool::ALL {
            let start = definitions.len();
            definitions.extend_from_slice(&names.definition(tool));
            places.insert(names.name(tool).as_str().into(), start..definitions.len());
        }
        Self { names, definitions: definitions.into(), places, called }
    }

    /// The tool of this name as it would be listed, or is.
    pub fn definition(&self, name: &str) -> Option<&[u8]> {
        self.definitions.get(self.places.get(name)?.clone())
    }

    /// Does the tool of this name say that it only reads? One that says as well that it destroys
    /// contradicts itself, and is not believed.
    pub fn reads_only(&self, name: &str) -> bool {
        let annotations = self.definition(name).and_then(|tool| member(tool, "annotations"));
        reads_only(annotations.unwrap_or_default())
    }

    /// The tools of an origin: what they are called there, and what clients call them.
    pub fn names_of(&self, origin: ToolOrigin) -> impl Iterator<Item = (&str, &str)> {
        let tools = self.called.get(&origin).into_iter().flatten();
        tools.map(|(own, name)| (own.as_str(), &**name))
    }

    /// What clients call this tool; `None`: it is not there for them.
    pub fn called(&self, origin: ToolOrigin, own: &str) -> Option<&str> {
        self.called.get(&origin)?.get(own).map(|name| &**name)
    }
}

fn reads_only(annotations: &[u8]) -> bool {
    let says = |key| member(annotations, key) == Some(b"true");
    says("readOnlyHint") && !says("destructiveHint")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_word_makes_a_tool_read_only() {
        for (annotations, expected) in [
            ("", false),
            ("{}", false),
            (r#"{"readOnlyHint":true}"#, true),
            (r#"{"readOnlyHint":false}"#, false),
            (r#"{"readOnlyHint":"true"}"#, false),
            (r#"{"readOnlyHint":true,"destructiveHint":false}"#, true),
            (r#"{"readOnlyHint":true,"destructiveHint":true}"#, false),
        ] {
            assert_eq!(reads_only(annotations.as_bytes()), expected, "{annotations}");
        }
    }
}
