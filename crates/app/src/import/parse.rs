//! Parses a client's file of any format into one JSON value.

use serde_json::{Map, Value};
use trunkline_catalog::client::FileFormat;

use crate::install::{Document, DocumentProblem};

/// The value, or where and why it cannot be read: no part of the text is quoted, it may be a secret.
pub(super) fn parse(text: &str, format: FileFormat) -> Result<Value, String> {
    match Document::parse(text, format) {
        Ok(document) => Ok(document.get(&[]).unwrap_or_else(|| Value::Object(Map::new()))),
        Err(DocumentProblem::Syntax { line, column, problem }) => {
            Err(format!("line {line}, column {column}: {problem}"))
        }
        Err(DocumentProblem::NotAnObject { key }) => Err(format!("`{key}` is not an object")),
        Err(DocumentProblem::Unusual) => Err("it is written in an unusual way".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::install::COMMENTED;

    #[test]
    fn the_three_formats_say_the_same() {
        let expected = json!({"a": {"b": ["x", 1, true], "c": 1.5, "d": "yes # no"}});
        let json = "// c\n{\"a\": {\"b\": [\"x\", 1, true,], \"c\": 1.5, \"d\": \"yes # no\"}}";
        let toml = "[a]\nb = [\"x\", 1, true] # c\nc = 1.5\nd = \"yes # no\"\n";
        let yaml = "# c\na:\n  b:\n  - x\n  - 1\n  - true\n  c: 1.5\n  d: 'yes # no'\n";
        for (text, format) in
            [(json, COMMENTED), (toml, FileFormat::Toml), (yaml, FileFormat::Yaml)]
        {
            assert_eq!(parse(text, format).unwrap(), expected, "{format:?}");
        }
    }

    #[test]
    fn an_empty_file_has_no_servers() {
        for format in [COMMENTED, FileFormat::Toml, FileFormat::Yaml] {
            let value = parse("", format).unwrap();
            assert!(value.get("mcpServers").is_none(), "{format:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_place_and_without_its_text() {
        for (text, format) in [
            ("{\"a\": s3cret}", COMMENTED),
            ("a = s3cret", FileFormat::Toml),
            ("a: [s3cret\nb: \"s3cret", FileFormat::Yaml),
        ] {
            let why = parse(text, format).unwrap_err();
            assert!(why.starts_with("line ") && !why.contains("s3cret"), "{why}");
        }
    }
}
