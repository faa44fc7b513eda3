//! The grammar: text → `Document`, or the first place where it stops being JSON.

use super::fault::{ExpectedToken, JsonFault, SyntaxError};
use super::options::{Dialect, Options};
use super::scan::Scanner;
use super::tree::{Document, JsonMember, Node, Value};
use crate::place::Span;

pub fn parse(text: &str, options: Options) -> Result<Document, SyntaxError> {
    let scan = Scanner::new(text, options);
    let mut parser =
        Parser { scan, open: Vec::new(), values: Vec::new(), trailing_commas: Vec::new() };
    match parser.file() {
        Ok(root) => {
            let Parser { scan, trailing_commas, .. } = parser;
            Ok(Document { root, comments: scan.comments, trailing_commas })
        }
        Err(fault) => {
            // What was read before the fault is on the same lines: an error must not quote a
            // secret.
            let mut private = parser.values;
            private.append(&mut parser.scan.comments);
            Err(SyntaxError { at: parser.scan.pos, fault, private })
        }
    }
}

/// A fault is where the cursor stands.
struct Parser<'t> {
    scan: Scanner<'t>,
    /// The offsets of the brackets around the cursor.
    open: Vec<usize>,
    /// Strings and numbers read so far, for hiding them in an error's quote.
    values: Vec<Span>,
    trailing_commas: Vec<Span>,
}

impl Parser<'_> {
    fn file(&mut self) -> Result<Node, JsonFault> {
        self.scan.skip_blank()?;
        if self.scan.peek().is_none() {
            return Err(JsonFault::Empty);
        }
        let root = self.value()?;
        self.scan.skip_blank()?;
        match self.scan.peek() {
            None => Ok(root),
            Some(_) => Err(self.unexpected(ExpectedToken::End)),
        }
    }

    fn value(&mut self) -> Result<Node, JsonFault> {
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

    fn literal(&mut self) -> Result<Value, JsonFault> {
        let word = self.scan.word();
        let value = match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => return Err(self.unexpected(ExpectedToken::Value)),
        };
        self.scan.pos += word.len();
        Ok(value)
    }

    fn object(&mut self) -> Result<Value, JsonFault> {
        self.enter()?;
        let mut members = Vec::new();
        let mut comma = None;
        loop {
            self.scan.skip_blank()?;
            match self.scan.peek() {
                Some(b'}') => break,
                Some(b'"') => members.push(self.member()?),
                _ => return Err(self.unexpected(ExpectedToken::Key)),
            }
            comma = self.comma_or('}')?;
        }
        self.leave(comma)?;
        Ok(Value::Object(members))
    }

    fn member(&mut self) -> Result<JsonMember, JsonFault> {
        let key = self.scan.string()?;
        self.scan.skip_blank()?;
        if self.scan.peek() != Some(b':') {
            if matches!(self.scan.peek(), Some(b',' | b'}' | b']')) {
                // Nothing follows: this "key" is more likely a value that lost its own.
                self.values.push(key.span);
            }
            return Err(self.unexpected(ExpectedToken::Colon));
        }
        self.scan.pos += 1;
        let value = self.value()?;
        Ok(JsonMember { key, value })
    }

    fn array(&mut self) -> Result<Value, JsonFault> {
        self.enter()?;
        let mut items = Vec::new();
        let mut comma = None;
        loop {
            self.scan.skip_blank()?;
            if self.scan.peek() == Some(b']') {
                break;
            }
            items.push(self.value()?);
            comma = self.comma_or(']')?;
        }
        self.leave(comma)?;
        Ok(Value::Array(items))
    }

    /// After a value: takes a comma, leaves the closing bracket, refuses the rest.
    fn comma_or(&mut self, close: char) -> Result<Option<Span>, JsonFault> {
        self.scan.skip_blank()?;
        match self.scan.peek().map(char::from) {
            Some(',') => {
                self.scan.pos += 1;
                Ok(Some(Span::new(self.scan.pos - 1, self.scan.pos)))
            }
            Some(found) if found == close => Ok(None),
            _ => Err(self.unexpected(ExpectedToken::CommaOr(close))),
        }
    }

    fn enter(&mut self) -> Result<(), JsonFault> {
        // The parser recurses: the bound keeps a hostile file from overflowing the stack.
        if self.open.len() == self.scan.options.depth {
            return Err(JsonFault::TooDeep);
        }
        self.open.push(self.scan.pos);
        self.scan.pos += 1;
        Ok(())
    }

    /// Takes the closing bracket; `comma` is the one before it.
    fn leave(&mut self, comma: Option<Span>) -> Result<(), JsonFault> {
        if comma.is_some() && self.scan.options.dialect == Dialect::Strict {
            return Err(JsonFault::TrailingComma);
        }
        self.trailing_commas.extend(comma);
        self.open.pop();
        self.scan.pos += 1;
        Ok(())
    }

    fn unexpected(&self, wanted: ExpectedToken) -> JsonFault {
        JsonFault::Unexpected { wanted, open: self.open.last().copied() }
    }
}
