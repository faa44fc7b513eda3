//! The members of an object that was checked, as types.

use std::time::Duration;

use trunkline_catalog::jsonc::{JsonMember, Node, Value};

/// What is absent, null or of another type than it should be is `None`: the check has said so.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a>(&'a [JsonMember]);

impl<'a> Fields<'a> {
    pub(super) fn of(node: &'a Node) -> Self {
        match &node.value {
            Value::Object(members) => Self(members),
            _ => Self(&[]),
        }
    }

    pub(super) fn value(&self, name: &str) -> Option<&'a Value> {
        self.0.iter().find(|member| member.key.value == name).map(|member| &member.value.value)
    }

    pub(super) fn is_null(&self, name: &str) -> bool {
        matches!(self.value(name), Some(Value::Null))
    }

    pub(super) fn is_object(&self, name: &str) -> bool {
        matches!(self.value(name), Some(Value::Object(_)))
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.value(name).and_then(text)
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        match self.value(name) {
            Some(Value::Bool(flag)) => Some(*flag),
            _ => None,
        }
    }

    pub(super) fn whole(&self, name: &str) -> Option<u32> {
        let Some(Value::Number(number)) = self.value(name) else { return None };
        if let Ok(number) = number.parse() {
            return Some(number);
        }
        let number: f64 = number.parse().ok()?;
        format!("{number:.0}").parse().ok()
    }

    pub(super) fn seconds(&self, name: &str) -> Option<Duration> {
        self.whole(name).map(|seconds| Duration::from_secs(seconds.into()))
    }

    pub(super) fn object(&self, name: &str) -> Self {
        match self.value(name) {
            Some(Value::Object(members)) => Self(members),
            _ => Self(&[]),
        }
    }

    pub(super) fn texts(&self, name: &str) -> Option<Vec<String>> {
        let Some(Value::Array(items)) = self.value(name) else { return None };
        Some(items.iter().filter_map(|item| text(&item.value)).map(str::to_owned).collect())
    }

    /// Keys and values in their order; a null is `None`.
    pub(super) fn pairs(&self, name: &str) -> Vec<(String, Option<String>)> {
        let pair = |member: &JsonMember| {
            (member.key.value.clone(), text(&member.value.value).map(str::to_owned))
        };
        self.object(name).0.iter().map(pair).collect()
    }
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(&text.value),
        _ => None,
    }
}
