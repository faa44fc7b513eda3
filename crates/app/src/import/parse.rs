//! The text of a client's file, whatever it is written in, as one value.

use serde_json::{Map, Number, Value};
use yaml_rust2::{Yaml, YamlLoader};

use super::owner::Syntax;
use crate::install::{Dialect, Document, Format, Problem};

/// The value, or where and why it cannot be read: no part of the text is quoted, it may be a secret.
pub(super) fn parse(text: &str, syntax: Syntax) -> Result<Value, String> {
    match syntax {
        Syntax::Json => document(text, Format::Json(Dialect::Comments)),
        Syntax::Toml => document(text, Format::Toml),
        Syntax::Yaml => yaml(text),
    }
}

fn document(text: &str, format: Format) -> Result<Value, String> {
    match Document::parse(text, format) {
        Ok(document) => Ok(document.get(&[]).unwrap_or_else(|| Value::Object(Map::new()))),
        Err(Problem::Syntax { line, column, problem }) => {
            Err(format!("line {line}, column {column}: {problem}"))
        }
        Err(Problem::NotAnObject { key }) => Err(format!("`{key}` is not an object")),
    }
}

/// Nobody nests settings deeper.
const DEPTH: usize = 64;

fn yaml(text: &str) -> Result<Value, String> {
    let documents = YamlLoader::load_from_str(text.trim_start_matches('\u{FEFF}'));
    let documents = documents.map_err(|error| {
        let at = error.marker();
        format!("line {}, column {}: {}", at.line(), at.col() + 1, error.info())
    })?;
    match documents.first() {
        None => Ok(Value::Object(Map::new())),
        Some(first) => from_yaml(first, DEPTH).ok_or_else(|| "nested too deeply".to_owned()),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_three_syntaxes_say_the_same() {
        let expected = json!({"a": {"b": ["x", 1, true], "c": 1.5, "d": "yes # no"}});
        let json = "// c\n{\"a\": {\"b\": [\"x\", 1, true,], \"c\": 1.5, \"d\": \"yes # no\"}}";
        let toml = "[a]\nb = [\"x\", 1, true] # c\nc = 1.5\nd = \"yes # no\"\n";
        let yaml = "# c\na:\n  b:\n  - x\n  - 1\n  - true\n  c: 1.5\n  d: 'yes # no'\n";
        for (text, syntax) in [(json, Syntax::Json), (toml, Syntax::Toml), (yaml, Syntax::Yaml)] {
            assert_eq!(parse(text, syntax).unwrap(), expected, "{syntax:?}");
        }
    }

    #[test]
    fn an_empty_file_has_no_servers() {
        for syntax in [Syntax::Json, Syntax::Toml, Syntax::Yaml] {
            let value = parse("", syntax).unwrap();
            assert!(value.get("mcpServers").is_none(), "{syntax:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_place_and_without_its_text() {
        for (text, syntax) in [
            ("{\"a\": s3cret}", Syntax::Json),
            ("a = s3cret", Syntax::Toml),
            ("a: [s3cret\nb: \"s3cret", Syntax::Yaml),
        ] {
            let why = parse(text, syntax).unwrap_err();
            assert!(why.starts_with("line ") && !why.contains("s3cret"), "{why}");
        }
    }
}
