//! The grammar: text → `Document`, or the first place where it stops being JSON.

use super::scan::{Scanner, SyntaxError};
use super::tree::{Document, Member, Node, Value};
use crate::config::place::{Lines, Span};

/// Deeper nesting is refused: the parser is recursive and no config needs it.
const MAX_DEPTH: usize = 128;

pub(crate) fn parse(text: &str) -> Result<Document, SyntaxError> {
    let mut parser = Parser { scan: Scanner::new(text), open: Vec::new(), values: Vec::new() };
    match parser.file() {
        Ok(root) => Ok(Document { root, comments: parser.scan.comments }),
        Err(mut error) => {
            error.private.append(&mut parser.values);
            error.private.append(&mut parser.scan.comments);
            Err(error)
        }
    }
}

struct Parser<'t> {
    scan: Scanner<'t>,
    /// The brackets around the cursor: character and offset.
    open: Vec<(char, usize)>,
    /// Strings and numbers read so far, for hiding them in an error's quote.
    values: Vec<Span>,
}

/// What stands before the cursor: decides how an unexpected word is explained.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Key,
    Colon,
    Value,
    CommaOr(char),
}

impl Parser<'_> {
    fn file(&mut self) -> Result<Node, SyntaxError> {
        self.scan.skip_blank()?;
        if self.scan.peek().is_none() {
            return Err(SyntaxError::new(Span::new(0, 0), "the file is empty")
                .help("the smallest config is {\"mcpServers\": {}}"));
        }
        let root = self.value()?;
        self.scan.skip_blank()?;
        match self.scan.peek() {
            None => Ok(root),
            Some(_) => {
                let message = format!("expected the end of the file, found {}", self.found());
                Err(SyntaxError::new(self.scan.here(), message))
            }
        }
    }

    fn value(&mut self) -> Result<Node, SyntaxError> {
        self.scan.skip_blank()?;
        let start = self.scan.pos;
        let value = match self.scan.peek() {
            Some(b'{') => self.object()?,
            Some(b'[') => self.array()?,
            Some(b'"') => Value::String(self.scan.string()?),
            Some(b'-' | b'+' | b'.' | b'0'..=b'9') => Value::Number(self.scan.number()?.to_owned()),
            _ => self.literal()?,
        };
        let span = Span::new(start, self.scan.pos);
        match value {
            Value::String(_) => self.values.push(Span::new(span.start + 1, span.end - 1)),
            Value::Number(_) => self.values.push(span),
            _ => {}
        }
        Ok(Node { span, value })
    }

    fn literal(&mut self) -> Result<Value, SyntaxError> {
        let word = self.scan.word();
        let value = match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => return Err(self.unexpected(Wanted::Value)),
        };
        self.scan.pos += word.len();
        Ok(value)
    }

    fn object(&mut self) -> Result<Value, SyntaxError> {
        self.enter('{')?;
        let mut members = Vec::new();
        loop {
            self.scan.skip_blank()?;
            match self.scan.peek() {
                Some(b'}') => break,
                Some(b'"') => members.push(self.member()?),
                _ => return Err(self.unexpected(Wanted::Key)),
            }
            self.comma_or('}')?;
        }
        self.leave();
        Ok(Value::Object(members))
    }

    fn member(&mut self) -> Result<Member, SyntaxError> {
        let key = self.scan.string()?;
        self.scan.skip_blank()?;
        if self.scan.peek() != Some(b':') {
            if matches!(self.scan.peek(), Some(b',' | b'}' | b']')) {
                // Nothing follows: this "key" is more likely a value that lost its own.
                self.values.push(key.span);
            }
            return Err(self.unexpected(Wanted::Colon));
        }
        self.scan.pos += 1;
        let value = self.value()?;
        Ok(Member { key, value })
    }

    fn array(&mut self) -> Result<Value, SyntaxError> {
        self.enter('[')?;
        let mut items = Vec::new();
        loop {
            self.scan.skip_blank()?;
            if self.scan.peek() == Some(b']') {
                break;
            }
            items.push(self.value()?);
            self.comma_or(']')?;
        }
        self.leave();
        Ok(Value::Array(items))
    }

    /// After a value: takes a comma, leaves the closing bracket, refuses the rest.
    fn comma_or(&mut self, close: char) -> Result<(), SyntaxError> {
        self.scan.skip_blank()?;
        match self.scan.peek().map(char::from) {
            Some(',') => self.scan.pos += 1,
            Some(found) if found == close => {}
            _ => return Err(self.unexpected(Wanted::CommaOr(close))),
        }
        Ok(())
    }

    fn enter(&mut self, bracket: char) -> Result<(), SyntaxError> {
        if self.open.len() == MAX_DEPTH {
            let message = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(SyntaxError::new(self.scan.here(), message));
        }
        self.open.push((bracket, self.scan.pos));
        self.scan.pos += 1;
        Ok(())
    }

    fn leave(&mut self) {
        self.open.pop();
        self.scan.pos += 1;
    }

    fn unexpected(&self, wanted: Wanted) -> SyntaxError {
        let Some(next) = self.scan.rest().chars().next() else {
            return self.unclosed();
        };
        let expected = match wanted {
            Wanted::Key => "a key in double quotes or `}`".to_owned(),
            Wanted::Colon => "`:` after the key".to_owned(),
            Wanted::Value => "a value".to_owned(),
            Wanted::CommaOr(close) => format!("`,` or `{close}`"),
        };
        let word = self.scan.word();
        let shown_word = match wanted {
            Wanted::Key => Some(word).filter(|word| self.is_bare_key(word)),
            Wanted::Value => foreign_literal(word).map(|_| word),
            Wanted::Colon | Wanted::CommaOr(_) => None,
        };
        let (span, found) = match shown_word {
            Some(word) => {
                (Span::new(self.scan.pos, self.scan.pos + word.len()), format!("`{word}`"))
            }
            None => (self.scan.here(), self.found()),
        };
        let error = SyntaxError::new(span, format!("expected {expected}, found {found}"));
        match self.help(wanted, next, word) {
            Some(help) => error.help(help),
            None => error,
        }
    }

    fn help(&self, wanted: Wanted, next: char, word: &str) -> Option<String> {
        match (wanted, next) {
            (_, '\'' | '`' | '\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}') => {
                Some("strings and keys are written in straight double quotes: \"…\"".to_owned())
            }
            (_, '#') => Some("a comment starts with //".to_owned()),
            (Wanted::Key, _) if self.is_bare_key(word) => Some(format!("write \"{word}\"")),
            (Wanted::Key | Wanted::Value, ',') => Some("remove this comma".to_owned()),
            (Wanted::Value, _) if !word.is_empty() => Some(match foreign_literal(word) {
                Some(json) => format!("write {json}"),
                None => "put text in double quotes".to_owned(),
            }),
            (Wanted::CommaOr(_), '}' | ']') => self.opened(),
            (Wanted::CommaOr(_), '"') => Some("a `,` is missing before it".to_owned()),
            (Wanted::CommaOr(_), _) if !word.is_empty() => {
                Some("a quote inside a string is written \\\"".to_owned())
            }
            _ => None,
        }
    }

    /// A word before `:` is a key without its quotes; any other may be a part of a value.
    fn is_bare_key(&self, word: &str) -> bool {
        let after = self.scan.rest().get(word.len()..).unwrap_or_default();
        !word.is_empty() && after.trim_start().starts_with(':')
    }

    /// The file ended although something is still open: the opening is what the reader needs.
    fn unclosed(&self) -> SyntaxError {
        match self.open.last() {
            Some((bracket, at)) => {
                let close = if *bracket == '{' { '}' } else { ']' };
                let message = format!("this `{bracket}` is never closed");
                SyntaxError::new(Span::new(*at, at + 1), message)
                    .help(format!("the file ends where a `{close}` was expected"))
            }
            None => SyntaxError::new(self.scan.here(), "expected a value, found the end"),
        }
    }

    fn opened(&self) -> Option<String> {
        let (bracket, at) = self.open.last()?;
        let place = Lines::new(self.scan.text).place(*at);
        Some(format!("the `{bracket}` to close is at line {}, column {}", place.line, place.column))
    }

    /// What is under the cursor, without quoting text that may be a value.
    fn found(&self) -> String {
        match self.scan.rest().chars().next() {
            None => "the end of the file".to_owned(),
            Some('"') => "a string".to_owned(),
            Some('0'..='9') => "a number".to_owned(),
            Some(c) if c.is_alphanumeric() => "unquoted text".to_owned(),
            Some(c) if c.is_ascii_graphic() || matches!(c, '\u{2018}'..='\u{201d}') => {
                format!("`{c}`")
            }
            Some(c) => format!("the character U+{:04X}", u32::from(c)),
        }
    }
}

/// The JSON spelling of another language's literal.
fn foreign_literal(word: &str) -> Option<&'static str> {
    match word {
        "True" | "TRUE" | "yes" | "on" => Some("true"),
        "False" | "FALSE" | "no" | "off" => Some("false"),
        "None" | "nil" | "undefined" | "Null" | "NULL" => Some("null"),
        "NaN" | "Infinity" => Some("null, or put it in double quotes"),
        _ => None,
    }
}
