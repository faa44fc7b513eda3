//! A parsed file: values in file order, each with its span.

use std::ops::Range;

use crate::config::place::Span;

pub(crate) struct Document {
    pub(crate) root: Node,
    pub(crate) comments: Vec<Span>,
}

pub(crate) struct Node {
    pub(crate) span: Span,
    pub(crate) value: Value,
}

pub(crate) enum Value {
    Null,
    Bool(bool),
    /// As written: nothing here calculates.
    Number(String),
    String(Text),
    Array(Vec<Node>),
    /// Duplicate keys are kept; who reads the object decides about them.
    Object(Vec<Member>),
}

pub(crate) struct Member {
    pub(crate) key: Text,
    pub(crate) value: Node,
}

/// A decoded string that still knows where each of its bytes was written.
pub(crate) struct Text {
    pub(crate) value: String,
    /// With its quotes.
    pub(crate) span: Span,
    /// (decoded, source) offsets behind the opening quote and behind each escape; between two of
    /// them the decoded text and the source are the same bytes.
    anchors: Vec<(usize, usize)>,
}

impl Node {
    /// The value's type as a message says it.
    pub(crate) fn type_name(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }
}

impl Text {
    pub(crate) fn starting_at(quote: usize) -> Text {
        let span = Span::new(quote, quote + 1);
        Text { value: String::new(), span, anchors: vec![(0, quote + 1)] }
    }

    /// Notes that the source goes on at `offset` after an escape.
    pub(crate) fn anchor(&mut self, offset: usize) {
        self.anchors.push((self.value.len(), offset));
    }

    /// Where a part of the decoded value stands in the file.
    pub(crate) fn span_of(&self, part: Range<usize>) -> Span {
        Span::new(self.source_offset(part.start), self.source_offset(part.end))
    }

    fn source_offset(&self, decoded: usize) -> usize {
        let known = self.anchors.partition_point(|(at, _)| *at <= decoded);
        let anchor = known.checked_sub(1).and_then(|last| self.anchors.get(last));
        anchor.map_or(self.span.start, |(at, source)| source + (decoded - at))
    }
}
