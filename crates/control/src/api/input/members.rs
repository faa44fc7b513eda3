//! The members of an object that was checked, read as types.

use trunkline_catalog::jsonc::{JsonMember, Node, Value};

use super::RequestBody;
use crate::api::schema::FromJson;

/// What is absent, null or of another type than it should be is `None`: the check reports that.
#[derive(Debug, Clone, Copy)]
pub struct Members<'a>(&'a [JsonMember]);

impl<'a> Members<'a> {
    pub(super) fn of(node: &'a Node) -> Self {
        Self::of_value(&node.value).unwrap_or(Self(&[]))
    }

    fn of_value(value: &'a Value) -> Option<Self> {
        match value {
            Value::Object(members) => Some(Self(members)),
            _ => None,
        }
    }

    pub(super) fn value(&self, name: &str) -> Option<&'a Value> {
        self.0.iter().find(|member| member.key.value == name).map(|member| &member.value.value)
    }

    pub(in crate::api) fn read<T: FromJson>(&self, name: &str) -> Option<T> {
        self.value(name).and_then(T::from_json)
    }

    pub(super) fn read_object<T: RequestBody>(&self, name: &str) -> Option<T> {
        let members = self.value(name).and_then(Self::of_value)?;
        Some(T::from_members(&members))
    }

    /// Without members where there is none of this name.
    pub(super) fn object(&self, name: &str) -> Self {
        self.value(name).and_then(Self::of_value).unwrap_or(Self(&[]))
    }

    /// Keys and values in their order; a null is `None`.
    pub(super) fn pairs(&self, name: &str) -> Vec<(String, Option<String>)> {
        let pair = |member: &JsonMember| {
            (member.key.value.clone(), String::from_json(&member.value.value))
        };
        self.object(name).0.iter().map(pair).collect()
    }
}
