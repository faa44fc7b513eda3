//! Parses a YAML text into one JSON value.

use serde_json::{Map, Number, Value};
use yaml_rust2::{Yaml, YamlLoader};

use crate::install::document::DocumentProblem;

/// Deeper than any client's settings; bounds the recursion.
const DEPTH: usize = 64;

/// The value of the first document; no part of the text is quoted in a problem, it may be a secret.
pub(super) fn parse(text: &str) -> Result<Value, DocumentProblem> {
    let documents = YamlLoader::load_from_str(text).map_err(|error| {
        let at = error.marker();
        let (line, column) = (at.line(), at.col() + 1);
        DocumentProblem::Syntax { line, column, problem: without_quotes(error.info()) }
    })?;
    let deep =
        || DocumentProblem::Syntax { line: 1, column: 1, problem: "nested too deeply".to_owned() };
    match documents.first() {
        None | Some(Yaml::Null) => Ok(Value::Object(Map::new())),
        Some(first) => from_yaml(first, DEPTH).ok_or_else(deep),
    }
}

/// The parser shows the name that is there twice.
fn without_quotes(info: &str) -> String {
    match info.split_once(": duplicated key") {
        Some(_) => "a name is there twice".to_owned(),
        None => info.to_owned(),
    }
}

fn from_yaml(yaml: &Yaml, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    Some(match yaml {
        Yaml::String(text) => text.as_str().into(),
        Yaml::Integer(number) => (*number).into(),
        Yaml::Real(text) => {
            let number = text.parse().ok().and_then(Number::from_f64);
            number.map_or_else(|| text.as_str().into(), Value::Number)
        }
        Yaml::Boolean(flag) => (*flag).into(),
        Yaml::Array(items) => {
            Value::Array(items.iter().map(|item| from_yaml(item, depth)).collect::<Option<_>>()?)
        }
        Yaml::Hash(members) => {
            let member = |(key, value): (&Yaml, &Yaml)| {
                let key = match from_yaml(key, depth)? {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                Some((key, from_yaml(value, depth)?))
            };
            Value::Object(members.iter().map(member).collect::<Option<_>>()?)
        }
        Yaml::Null | Yaml::BadValue | Yaml::Alias(_) => Value::Null,
    })
}
