//! Parses a client's JSON for the editor, and words its syntax errors.

use serde_json::Value;
use trunkline_catalog::jsonc::{
    self, Dialect, Document, ExpectedToken, HalfPairs, JsonFault, JsonMember, Node, NumberFault,
    Options, StringFault,
};
use trunkline_catalog::place::{LineColumn, Lines};

/// Deeper than any client's settings; bounds the recursion.
const DEPTH: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::install::document) struct SyntaxError {
    pub(in crate::install::document) line: usize,
    pub(in crate::install::document) column: usize,
    pub(in crate::install::document) problem: String,
}

/// The document; `None` when there is nothing but spaces and comments.
pub(in crate::install::document) fn parse(
    text: &str,
    dialect: Dialect,
) -> Result<Option<Document>, SyntaxError> {
    // A client's file may hold what JavaScript takes, such as half a pair in a chat history.
    let options = Options { dialect, half_pairs: HalfPairs::Replaced, depth: DEPTH };
    match jsonc::parse(text, options) {
        Ok(document) => Ok(Some(document)),
        Err(error) if error.fault == JsonFault::Empty => Ok(None),
        Err(error) => {
            let LineColumn { line, column } = Lines::new(text).place(error.at);
            let at_end = error.at == text.len();
            Err(SyntaxError { line, column, problem: problem(error.fault, at_end) })
        }
    }
}

/// The member of this name; the last one, as JavaScript has it, where there are several.
pub(in crate::install::document) fn member<'n>(
    node: &'n Node,
    key: &str,
) -> Option<&'n JsonMember> {
    let jsonc::Value::Object(members) = &node.value else {
        return None;
    };
    members.iter().rfind(|member| member.key.value == key)
}

pub(in crate::install::document) fn to_value(node: &Node) -> Value {
    match &node.value {
        jsonc::Value::Null => Value::Null,
        jsonc::Value::Bool(flag) => Value::Bool(*flag),
        // As text where it is too large for a number of ours.
        jsonc::Value::Number(raw) => {
            serde_json::from_str(raw).unwrap_or_else(|_| Value::String(raw.clone()))
        }
        jsonc::Value::String(text) => Value::String(text.value.clone()),
        jsonc::Value::Array(items) => items.iter().map(to_value).collect(),
        jsonc::Value::Object(members) => {
            members.iter().map(|m| (m.key.value.clone(), to_value(&m.value))).collect()
        }
    }
}

fn problem(fault: JsonFault, at_end: bool) -> String {
    let problem = match fault {
        JsonFault::Unexpected { wanted: ExpectedToken::CommaOr(close), .. } => {
            return format!("expected `,` or `{close}`");
        }
        JsonFault::Unexpected { wanted: ExpectedToken::Key, .. } => {
            "expected a name in double quotes"
        }
        JsonFault::Unexpected { wanted: ExpectedToken::Colon, .. } => "expected `:`",
        JsonFault::Unexpected { wanted: ExpectedToken::Value, .. } if at_end => {
            "the text ends where a value should stand"
        }
        JsonFault::Unexpected { wanted: ExpectedToken::Value, .. } | JsonFault::Empty => {
            "expected a value"
        }
        JsonFault::Unexpected { wanted: ExpectedToken::End, .. } => {
            "text after the end of the value"
        }
        JsonFault::Comment => "the client does not accept comments here",
        JsonFault::TrailingComma => "the client does not accept a trailing comma here",
        JsonFault::OpenComment => "the text ends inside a comment",
        JsonFault::SingleSlash => "a single `/`",
        JsonFault::TooDeep => "nested too deeply",
        JsonFault::Number { why, .. } => match why {
            NumberFault::NoDigit => "expected a digit",
            NumberFault::LeadingZero => "a number with a leading zero",
            NumberFault::Overlong => "a number with something behind it",
        },
        JsonFault::String { why, .. } => match why {
            StringFault::Unclosed => "the text ends inside a string",
            StringFault::Control(_) => "a control character inside a string",
            StringFault::UnknownEscape => "not an escape sequence",
            StringFault::HexDigits { .. } => "expected four hexadecimal digits",
            StringFault::HalfPair { .. } => "half of a surrogate pair",
        },
    };
    problem.to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn value(text: &str) -> Value {
        to_value(&parse(text, Dialect::Comments).unwrap().unwrap().root)
    }

    #[test]
    fn comments_and_trailing_commas_are_read_over() {
        let text =
            "\u{FEFF}// top\n{ /* a */ \"a\": [1, 2,], // one\n \"b\" : {\"c\": null,},\n}\n//";
        assert_eq!(value(text), json!({"a": [1, 2], "b": {"c": null}}));
    }

    #[test]
    fn strict_json_reads_as_serde_json_reads_it() {
        let table =
            ["{}", "[]", "1", "-0.5e+3", "\"\\u00e9\\n\"", "[true,false,null]", "{\"a\":[{}]}"];
        for text in table {
            let document = parse(text, Dialect::Strict).unwrap().unwrap();
            assert_eq!(to_value(&document.root), serde_json::from_str::<Value>(text).unwrap());
        }
    }

    #[test]
    fn what_javascript_takes_is_taken() {
        for text in [r#"{"chat": "\ud83d", "n": 1e999}"#, r#"{"\ud83d": 1}"#] {
            assert!(parse(text, Dialect::Strict).is_ok(), "{text}");
        }
    }

    #[test]
    fn the_last_of_equal_names_counts() {
        let document = parse(r#"{"a": 1, "a": 2}"#, Dialect::Strict).unwrap().unwrap();
        assert_eq!(to_value(&member(&document.root, "a").unwrap().value), json!(2));
    }

    #[test]
    fn a_fault_is_named_with_its_line_and_column() {
        let strict = Dialect::Strict;
        let table = [
            ("{\n  \"a\": 1\n  \"b\": 2\n}", Dialect::Comments, 3, 3, "expected `,` or `}`"),
            ("{\"é\" 1}", strict, 1, 6, "expected `:`"),
            ("{\"a\": 1,}", strict, 1, 9, "the client does not accept a trailing comma here"),
            ("// x\n{}", strict, 1, 1, "the client does not accept comments here"),
            ("{\"a\": 1} x", strict, 1, 10, "text after the end of the value"),
            ("{\"a\": \"b\n\"}", strict, 1, 9, "a control character inside a string"),
            ("{\"a\": ", strict, 1, 7, "the text ends where a value should stand"),
            ("{\"a", strict, 1, 4, "the text ends inside a string"),
            ("{a: 1}", strict, 1, 2, "expected a name in double quotes"),
            ("[01]", strict, 1, 4, "a number with a leading zero"),
            ("[\"\\x\"]", strict, 1, 4, "not an escape sequence"),
            ("{} /* x", Dialect::Comments, 1, 4, "the text ends inside a comment"),
            ("{,}", Dialect::Comments, 1, 2, "expected a name in double quotes"),
            ("nul", strict, 1, 1, "expected a value"),
        ];
        for (text, dialect, line, column, problem) in table {
            let expected = SyntaxError { line, column, problem: problem.to_owned() };
            assert_eq!(parse(text, dialect).unwrap_err(), expected, "{text}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(parse(&deep, strict).unwrap_err().problem, "nested too deeply");
    }
}
