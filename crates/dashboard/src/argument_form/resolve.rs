//! What a place in a schema comes to: references followed, `null` and lone alternatives taken off.

use serde_json::{Map, Value};

/// References and wrappers that are followed for one place: they may form a ring.
const MOST_STEPS: usize = 16;

pub(super) struct Resolved<'s> {
    /// The outermost first: it has the last word on titles and presets.
    layers: Vec<&'s Map<String, Value>>,
    /// Alternatives that are one value each.
    constants: Option<Vec<&'s Value>>,
    /// It is something that can be shown as one field or group.
    pub(super) is_plain: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaType {
    Text,
    Whole,
    Number,
    Flag,
    List,
    Object,
    /// Several of these, or nothing is said.
    Open,
}

enum ResolveStep<'s> {
    To(&'s Value),
    Stay,
    Constants(Vec<&'s Value>),
    Lost,
}

pub(super) fn resolve<'s>(root: &'s Value, here: &'s Value) -> Resolved<'s> {
    let mut found = Resolved { layers: Vec::new(), constants: None, is_plain: true };
    let mut here = here;
    for _ in 0..MOST_STEPS {
        let Some(layer) = here.as_object() else { return found };
        found.layers.push(layer);
        match step(root, layer) {
            ResolveStep::To(next) => here = next,
            ResolveStep::Stay => return found,
            ResolveStep::Constants(values) => {
                found.constants = Some(values);
                return found;
            }
            ResolveStep::Lost => break,
        }
    }
    found.is_plain = false;
    found
}

fn step<'s>(root: &'s Value, layer: &'s Map<String, Value>) -> ResolveStep<'s> {
    if let Some(reference) = layer.get("$ref") {
        let pointer = reference.as_str().and_then(|text| text.strip_prefix('#'));
        return pointer
            .and_then(|pointer| root.pointer(pointer))
            .map_or(ResolveStep::Lost, ResolveStep::To);
    }
    // `anyOf: [{"required": ["a"]}, …]` beside properties: the server judges that.
    if ["properties", "type", "enum", "const"].iter().any(|key| layer.contains_key(*key)) {
        return ResolveStep::Stay;
    }
    let list = |key: &str| layer.get(key).and_then(Value::as_array);
    if let Some(alternatives) = list("anyOf").or_else(|| list("oneOf")) {
        let is_null = |value: &&Value| value.get("type").is_some_and(|kind| kind == "null");
        let rest: Vec<&Value> = alternatives.iter().filter(|value| !is_null(value)).collect();
        let constants: Option<Vec<&Value>> = rest.iter().map(|value| value.get("const")).collect();
        return match (rest.as_slice(), constants) {
            ([only], _) => ResolveStep::To(only),
            (_, Some(values)) => ResolveStep::Constants(values),
            _ => ResolveStep::Lost,
        };
    }
    match list("allOf").map(Vec::as_slice) {
        None => ResolveStep::Stay,
        Some([only]) => ResolveStep::To(only),
        Some(_) => ResolveStep::Lost,
    }
}

impl<'s> Resolved<'s> {
    pub(super) fn get(&self, key: &str) -> Option<&'s Value> {
        self.layers.iter().find_map(|layer| layer.get(key))
    }

    pub(super) fn text(&self, key: &str) -> Option<&'s str> {
        self.get(key)?.as_str()
    }

    /// The values it has to be one of.
    pub(super) fn choices(&self) -> Option<Vec<&'s Value>> {
        let listed = || Some(self.get("enum")?.as_array()?.iter().collect());
        let only = || Some(vec![self.get("const")?]);
        self.constants.clone().or_else(listed).or_else(only)
    }

    pub(super) fn requires(&self, name: &str) -> bool {
        let lists = self.layers.iter().filter_map(|layer| layer.get("required")?.as_array());
        lists.flatten().any(|required| required == name)
    }

    pub(super) fn kind(&self) -> SchemaType {
        let word = match self.get("type") {
            Some(Value::Array(words)) => {
                let mut rest = words.iter().filter(|word| *word != "null");
                rest.next().filter(|_| rest.next().is_none()).and_then(Value::as_str)
            }
            Some(word) => word.as_str(),
            None if self.get("properties").is_some() => Some("object"),
            None if self.get("items").is_some() => Some("array"),
            None => None,
        };
        match word {
            Some("string") => SchemaType::Text,
            Some("integer") => SchemaType::Whole,
            Some("number") => SchemaType::Number,
            Some("boolean") => SchemaType::Flag,
            Some("array") => SchemaType::List,
            Some("object") => SchemaType::Object,
            _ => SchemaType::Open,
        }
    }
}
