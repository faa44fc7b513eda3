//! A parsed file: values in file order, each with its span.

use std::fmt;
use std::ops::Range;

use crate::place::Span;

#[derive(Debug)]
pub struct Document {
    pub root: Node,
    pub comments: Vec<Span>,
    pub trailing_commas: Vec<Span>,
}

#[derive(Debug)]
pub struct Node {
    pub span: Span,
    pub value: Value,
}

/// `Debug` shows types and places, never values: they may be secrets.
pub enum Value {
    Null,
    Bool(bool),
    /// As written: nothing here calculates.
    Number(String),
    String(JsonText),
    Array(Vec<Node>),
    /// Duplicate keys are kept; who reads the object decides about them.
    Object(Vec<JsonMember>),
}

#[derive(Debug)]
pub struct JsonMember {
    pub key: JsonText,
    pub value: Node,
}

/// A decoded string that still knows where each of its bytes was written.
pub struct JsonText {
    pub value: String,
    /// With its quotes.
    pub span: Span,
    /// (decoded, source) offsets behind each escape; before, between and behind them the decoded
    /// text and the source are the same bytes.
    anchors: Vec<(usize, usize)>,
}

impl Value {
    /// The value's type as a message says it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }
}

impl JsonText {
    pub(crate) fn starting_at(quote: usize) -> JsonText {
        let span = Span::new(quote, quote + 1);
        JsonText { value: String::new(), span, anchors: Vec::new() }
    }

    /// Notes that the source goes on at `offset` after an escape.
    pub(crate) fn anchor(&mut self, offset: usize) {
        self.anchors.push((self.value.len(), offset));
    }

    /// Where a part of the decoded value stands in the file.
    pub fn span_of(&self, part: Range<usize>) -> Span {
        Span::new(self.source_offset(part.start), self.source_offset(part.end))
    }

    fn source_offset(&self, decoded: usize) -> usize {
        let known = self.anchors.partition_point(|(at, _)| *at <= decoded);
        let anchor = known.checked_sub(1).and_then(|last| self.anchors.get(last));
        let (at, source) = anchor.copied().unwrap_or((0, self.span.start + 1));
        source + (decoded - at)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Array(items) => f.debug_list().entries(items).finish(),
            Value::Object(members) => f.debug_list().entries(members).finish(),
            scalar => f.write_str(scalar.type_name()),
        }
    }
}

impl fmt::Debug for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Text").field("span", &self.span).finish_non_exhaustive()
    }
}
