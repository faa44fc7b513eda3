//! The part of JSON Schema that a command line needs: properties, types, defaults, alternatives.
//!
//! Not a validator: the server is the judge. What cannot be understood counts as "anything".

mod kind;
mod lenient;
mod words;

use serde_json::{Map, Value};

pub(crate) use kind::{ValueKind, ValueKinds};
pub(crate) use lenient::lenient;
pub(crate) use words::{parameters, spelling, type_words};

/// Parts looked at in one schema: references may form a ring, and combinations may multiply.
const MOST_PARTS: usize = 64;

/// A place in a schema; `root` is what `$ref` points into.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schema<'s> {
    root: &'s Value,
    here: &'s Value,
}

/// Anything.
static OPEN: Value = Value::Bool(true);

impl<'s> Schema<'s> {
    pub(crate) fn new(root: &'s Value) -> Self {
        Self { root, here: root }
    }

    pub(crate) fn anything() -> Self {
        Self::new(&OPEN)
    }

    fn at(self, here: &'s Value) -> Self {
        Self { here, ..self }
    }

    /// A text member (`title`, `description`, `format`) of this place itself.
    pub(crate) fn text(self, member: &str) -> Option<&'s str> {
        self.here.get(member)?.as_str()
    }

    pub(crate) fn default(self) -> Option<&'s Value> {
        self.here.get("default")
    }

    /// A property by its name, wherever the schema's parts declare it.
    pub(crate) fn property(self, name: &str) -> Option<Self> {
        let declared = self.parts().find_map(|part| part.get("properties")?.get(name));
        declared.map(|here| self.at(here))
    }

    /// Every declared property, in the schema's order, each once.
    pub(crate) fn properties(self) -> Vec<(&'s str, Self)> {
        let mut found: Vec<(&str, Self)> = Vec::new();
        for part in self.parts() {
            let declared = part.get("properties").and_then(Value::as_object);
            for (name, here) in declared.into_iter().flatten() {
                if !found.iter().any(|(known, _)| known == name) {
                    found.push((name, self.at(here)));
                }
            }
        }
        found
    }

    /// What a property must be that is not declared; `None`: it may not be there.
    ///
    /// A schema that declares properties and says nothing of others is open by the letter; on a
    /// command line another name there is a typing error. One that declares an empty list of them
    /// has nothing that could be mistyped: many servers write that for "whatever you like".
    pub(crate) fn further(self) -> Option<Self> {
        let mut declares = false;
        for part in self.parts() {
            match part.get("additionalProperties") {
                Some(Value::Bool(false)) => return None,
                Some(Value::Bool(true)) => return Some(Self::anything()),
                Some(here) => return Some(self.at(here)),
                None if part.contains_key("patternProperties") => return Some(Self::anything()),
                None => {
                    let properties = part.get("properties").and_then(Value::as_object);
                    declares |= properties.is_some_and(|properties| !properties.is_empty());
                }
            }
        }
        (!declares).then(Self::anything)
    }

    /// The names that must be there, whichever alternative is meant.
    pub(crate) fn required(self) -> Vec<&'s str> {
        let mut names = Vec::new();
        for part in self.sure_parts() {
            let list = part.get("required").and_then(Value::as_array);
            names.extend(list.into_iter().flatten().filter_map(Value::as_str));
        }
        names
    }

    /// The schema of an array's element.
    pub(crate) fn item(self, index: usize) -> Self {
        let item = self.parts().find_map(|part| {
            part.get("prefixItems").and_then(|first| first.get(index)).or_else(|| part.get("items"))
        });
        item.map_or(Self::anything(), |here| self.at(here))
    }

    /// The parts that say what a value is: its type or its allowed values. A value is right if one
    /// of them takes it; without any, everything is right.
    pub(crate) fn leaves(self) -> Vec<Self> {
        let says = |part: &&Map<String, Value>| {
            ["type", "enum", "const", "properties", "items", "prefixItems"]
                .iter()
                .any(|key| part.contains_key(*key))
        };
        // A map is looked at through its value again: `Schema` holds values.
        self.values()
            .filter(|value| value.as_object().as_ref().is_some_and(says))
            .map(|here| self.at(here))
            .collect()
    }

    /// `enum` or `const` of this very place.
    pub(crate) fn choices(self) -> Option<Vec<&'s Value>> {
        if let Some(only) = self.here.get("const") {
            return Some(vec![only]);
        }
        Some(self.here.get("enum")?.as_array()?.iter().collect())
    }

    /// The types this very place allows.
    pub(crate) fn own_kinds(self) -> ValueKinds {
        ValueKinds::of(self.here)
    }

    /// The types all alternatives allow together.
    pub(crate) fn kinds(self) -> ValueKinds {
        let leaves = self.leaves();
        if leaves.is_empty() {
            return ValueKinds::ALL;
        }
        leaves.iter().fold(ValueKinds::NONE, |sum, leaf| sum.and(leaf.own_kinds()))
    }

    /// A numeric bound (`minimum`, `maxLength`) of this very place.
    pub(crate) fn bound(self, name: &str) -> Option<f64> {
        self.here.get(name)?.as_f64()
    }

    fn parts(self) -> impl Iterator<Item = &'s Map<String, Value>> {
        self.values().filter_map(Value::as_object)
    }

    /// This place and all it is combined of, through references, nearest first.
    fn values(self) -> impl Iterator<Item = &'s Value> {
        self.walk(&["allOf", "anyOf", "oneOf"])
    }

    /// This schema without its alternatives.
    fn sure_parts(self) -> impl Iterator<Item = &'s Map<String, Value>> {
        self.walk(&["allOf"]).filter_map(Value::as_object)
    }

    fn walk(self, combined: &[&str]) -> std::vec::IntoIter<&'s Value> {
        let mut found: Vec<&Value> = vec![self.here];
        let mut next = 0;
        while let Some(part) = found.get(next).copied().filter(|_| next < MOST_PARTS) {
            next += 1;
            if let Some(target) = self.target(part) {
                found.push(target);
            }
            let members = combined.iter().filter_map(|key| part.get(*key)?.as_array());
            found.extend(members.flatten());
        }
        found.truncate(MOST_PARTS);
        found.into_iter()
    }

    /// What a `$ref` within the same schema points at.
    fn target(self, part: &Value) -> Option<&'s Value> {
        let pointer = part.get("$ref")?.as_str()?.strip_prefix('#')?;
        self.root.pointer(pointer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn properties_are_found_through_references_and_combinations() {
        let root = json!({
            "$defs": { "Base": { "properties": { "id": { "type": "integer" } }, "required": ["id"] } },
            "allOf": [{ "$ref": "#/$defs/Base" }],
            "anyOf": [{ "properties": { "a": {} }, "required": ["a"] }, { "properties": { "b": {} } }],
            "properties": { "name": { "type": "string" } },
            "required": ["name"]
        });
        let schema = Schema::new(&root);
        let names: Vec<&str> = schema.properties().iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["name", "a", "b", "id"]);
        assert_eq!(schema.required(), ["name", "id"]);
        let id = schema.property("id").unwrap();
        assert_eq!(id.kinds(), ValueKinds::from(ValueKind::Integer));
        assert!(schema.property("c").is_none());
    }

    #[test]
    fn what_else_may_be_there() {
        for (schema, may) in [
            (json!({}), true),
            (json!({ "type": "object" }), true),
            (json!({ "properties": {} }), true),
            (json!({ "properties": { "a": {} } }), false),
            (json!({ "properties": {}, "additionalProperties": false }), false),
            (json!({ "properties": {}, "additionalProperties": true }), true),
            (json!({ "additionalProperties": false }), false),
            (json!({ "properties": {}, "patternProperties": {} }), true),
        ] {
            assert_eq!(Schema::new(&schema).further().is_some(), may, "{schema}");
        }
    }

    #[test]
    fn a_ring_of_references_ends() {
        let root = json!({ "$ref": "#", "anyOf": [{ "$ref": "#" }, { "$ref": "#/anyOf/0" }] });
        assert!(Schema::new(&root).leaves().is_empty());
        assert_eq!(Schema::new(&root).kinds(), ValueKinds::ALL);
    }

    #[test]
    fn items_by_position() {
        let root = json!({ "prefixItems": [{ "type": "string" }], "items": { "type": "number" } });
        let schema = Schema::new(&root);
        assert_eq!(schema.item(0).kinds(), ValueKinds::from(ValueKind::String));
        assert_eq!(schema.item(1).kinds(), ValueKinds::from(ValueKind::Number));
        let open = json!({});
        assert_eq!(Schema::new(&open).item(0).kinds(), ValueKinds::ALL);
    }
}
