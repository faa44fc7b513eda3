//! What tools' annotations say about calling them again.

use std::collections::HashSet;

use trunkline_catalog::Listing;
use trunkline_wire::scan;

use crate::lock::{Mutex, rank};
use trunkline_wire::member;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    pub read_only: bool,
    pub idempotent: bool,
    pub destructive: bool,
}

impl Hints {
    /// Of a tool's definition. Only a plain `true` counts: without a word nothing is promised.
    pub fn of(definition: &[u8]) -> Self {
        let annotations = member(definition, "annotations").unwrap_or_default();
        let says = |name| member(annotations, name) == Some(b"true");
        Self {
            read_only: says("readOnlyHint"),
            idempotent: says("idempotentHint"),
            destructive: says("destructiveHint"),
        }
    }

    /// May a call that may have run be made again? One that is said to read only and to destroy
    /// contradicts itself: it is not believed.
    pub fn may_repeat(self) -> bool {
        self.idempotent || (self.read_only && !self.destructive)
    }
}

/// What a tool says about itself, as far as it says anything (2025-11-25, `ToolAnnotations`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToolAnnotations {
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub idempotent: Option<bool>,
    pub open_world: Option<bool>,
}

impl ToolAnnotations {
    pub fn of(definition: &[u8]) -> Self {
        let annotations = member(definition, "annotations").unwrap_or_default();
        let says = |name| match member(annotations, name) {
            Some(b"true") => Some(true),
            Some(b"false") => Some(false),
            _ => None,
        };
        Self {
            read_only: says("readOnlyHint"),
            destructive: says("destructiveHint"),
            idempotent: says("idempotentHint"),
            open_world: says("openWorldHint"),
        }
    }
}

/// Tools that may be called again, as their server spells them.
// Replaced as a whole with each listing; looked at only when a call could not be finished.
#[derive(Debug, Default)]
pub(crate) struct RepeatableTools(Mutex<HashSet<Box<[u8]>>, rank::RepeatableTools>);

impl RepeatableTools {
    /// Does this request call a tool that says of itself that it may be called again?
    pub(in crate::upstream) fn may_repeat(&self, request: &[u8]) -> bool {
        let Ok(message) = scan(request) else { return false };
        let name = message.text(message.params.name);
        *message.method() == *b"tools/call" && self.0.lock().contains(name)
    }

    /// Learns which tools may be called again.
    pub(in crate::upstream) fn learn(&self, listing: &Listing) {
        let tools = listing.tools().iter();
        let repeatable = tools.filter(|tool| Hints::of(&tool.definition).may_repeat());
        *self.0.lock() = repeatable.map(|tool| tool.name_token().into()).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_word_lets_a_call_be_made_again() {
        for (annotations, expected) in [
            ("{}", false),
            (r#"{"readOnlyHint":true}"#, true),
            (r#"{"readOnlyHint":false}"#, false),
            (r#"{"readOnlyHint":"true"}"#, false),
            (r#"{"readOnlyHint":true,"destructiveHint":true}"#, false),
            (r#"{"idempotentHint":true}"#, true),
            (r#"{"idempotentHint":true,"destructiveHint":true}"#, true),
            (r#"{"destructiveHint":false}"#, false),
            ("[]", false),
        ] {
            let definition = format!(r#"{{"name":"x","annotations":{annotations}}}"#);
            assert_eq!(Hints::of(definition.as_bytes()).may_repeat(), expected, "{annotations}");
        }
        assert!(!Hints::of(b"{\"name\":\"x\"}").may_repeat());
    }
}
