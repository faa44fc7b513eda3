//! JSON text to a tree that knows where everything stands.
//!
//! Strings and numbers are checked but not converted: a client's file may hold what `serde_json`
//! refuses and JavaScript takes, such as half a surrogate pair in a chat history.

use std::ops::Range;

use serde_json::Value;

use super::super::position;
use super::Dialect;
use super::token::{Cursor, Problem};

/// Nobody nests settings deeper; a bound keeps the recursion off the end of the stack.
const DEPTH: usize = 256;

#[derive(Debug)]
pub(in crate::install::document) struct Node {
    /// In bytes of the text.
    pub(in crate::install::document) span: Range<usize>,
    pub(in crate::install::document) kind: Kind,
}

#[derive(Debug)]
pub(in crate::install::document) enum Kind {
    Object {
        members: Vec<Member>,
        trailing_comma: Option<usize>,
    },
    Array(Vec<Node>),
    /// A string, number, `true`, `false` or `null`, as written.
    Scalar(String),
}

#[derive(Debug)]
pub(in crate::install::document) struct Member {
    pub(in crate::install::document) key: String,
    pub(in crate::install::document) start: usize,
    pub(in crate::install::document) value: Node,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::install::document) struct SyntaxError {
    pub(in crate::install::document) line: usize,
    pub(in crate::install::document) column: usize,
    pub(in crate::install::document) problem: String,
}

/// The document's value; `None` when there is nothing but spaces and comments.
pub(in crate::install::document) fn parse(
    text: &str,
    dialect: Dialect,
) -> Result<Option<Node>, SyntaxError> {
    let mut cursor = Cursor { text, at: 0, dialect };
    cursor.eat("\u{FEFF}");
    cursor.document().map_err(|problem| {
        let (line, column) = position(text, cursor.at);
        SyntaxError { line, column, problem: problem.to_owned() }
    })
}

impl Node {
    /// The member of this name; the last one, as JavaScript has it, where there are several.
    pub(in crate::install::document) fn member(&self, key: &str) -> Option<&Member> {
        let Kind::Object { members, .. } = &self.kind else {
            return None;
        };
        members.iter().rfind(|member| member.key == key)
    }

    pub(in crate::install::document) fn is_object(&self) -> bool {
        matches!(self.kind, Kind::Object { .. })
    }

    pub(in crate::install::document) fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Object { members, .. } => {
                members.iter().map(|m| (m.key.clone(), m.value.to_value())).collect()
            }
            Kind::Array(items) => items.iter().map(Self::to_value).collect(),
            Kind::Scalar(raw) => {
                serde_json::from_str(raw).unwrap_or_else(|_| Value::String(raw.clone()))
            }
        }
    }
}

impl Cursor<'_> {
    fn document(&mut self) -> Result<Option<Node>, Problem> {
        self.trivia()?;
        if self.rest().is_empty() {
            return Ok(None);
        }
        let root = self.value(0)?;
        self.trivia()?;
        if self.rest().is_empty() { Ok(Some(root)) } else { Err("text after the end of the value") }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Problem> {
        if depth > DEPTH {
            return Err("nested too deeply");
        }
        let start = self.at;
        let kind = match self.peek() {
            Some('{') => self.object(depth)?,
            Some('[') => self.array(depth)?,
            Some('"') => Kind::Scalar(self.string()?),
            Some('-' | '0'..='9') => Kind::Scalar(self.number()?),
            Some(_) => Kind::Scalar(self.word()?),
            None => return Err("the text ends where a value should stand"),
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn object(&mut self, depth: usize) -> Result<Kind, Problem> {
        self.eat("{");
        let mut members = Vec::new();
        let mut trailing_comma = None;
        loop {
            self.trivia()?;
            if self.peek() == Some('}') {
                self.closing(trailing_comma)?;
                return Ok(Kind::Object { members, trailing_comma });
            }
            if !members.is_empty() && trailing_comma.is_none() {
                return Err("expected `,` or `}`");
            }
            members.push(self.pair(depth)?);
            self.trivia()?;
            trailing_comma = self.eat(",").then_some(self.at);
        }
    }

    fn pair(&mut self, depth: usize) -> Result<Member, Problem> {
        let start = self.at;
        if self.peek() != Some('"') {
            return Err("expected a name in double quotes");
        }
        let raw = self.string()?;
        self.trivia()?;
        if !self.eat(":") {
            return Err("expected `:`");
        }
        self.trivia()?;
        let value = self.value(depth + 1)?;
        let key = serde_json::from_str(&raw).unwrap_or(raw);
        Ok(Member { key, start, value })
    }

    fn array(&mut self, depth: usize) -> Result<Kind, Problem> {
        self.eat("[");
        let mut items = Vec::new();
        let mut trailing_comma = None;
        loop {
            self.trivia()?;
            if self.peek() == Some(']') {
                self.closing(trailing_comma)?;
                return Ok(Kind::Array(items));
            }
            if !items.is_empty() && trailing_comma.is_none() {
                return Err("expected `,` or `]`");
            }
            items.push(self.value(depth + 1)?);
            self.trivia()?;
            trailing_comma = self.eat(",").then_some(self.at);
        }
    }

    fn closing(&mut self, trailing_comma: Option<usize>) -> Result<(), Problem> {
        if trailing_comma.is_some() && self.dialect == Dialect::Strict {
            return Err("the client does not accept a trailing comma here");
        }
        self.at += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn value(text: &str) -> Value {
        parse(text, Dialect::Comments).unwrap().unwrap().to_value()
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
            let node = parse(text, Dialect::Strict).unwrap().unwrap();
            assert_eq!(node.to_value(), serde_json::from_str::<Value>(text).unwrap());
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
        let node = parse(r#"{"a": 1, "a": 2}"#, Dialect::Strict).unwrap().unwrap();
        assert_eq!(node.member("a").unwrap().value.to_value(), json!(2));
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
