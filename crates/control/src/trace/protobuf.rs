//! Spans as OTLP over HTTP has them in protobuf: an `ExportTraceServiceRequest`, written by hand. Six
//! kinds of messages with a few fields each do not need a compiler for their schema.

use super::span::Span;

pub fn encode(spans: &[Span], resource: &[(String, String)]) -> Vec<u8> {
    let mut request = ProtobufMessage::default();
    request.message(1, |resource_spans| {
        resource_spans.message(1, |about| {
            resource.iter().for_each(|(key, value)| about.attribute(1, key, value));
        });
        resource_spans.message(2, |scope_spans| {
            scope_spans.message(1, |scope| {
                scope.bytes(1, b"trunkline");
                scope.bytes(2, env!("CARGO_PKG_VERSION").as_bytes());
            });
            for span in spans {
                scope_spans.message(2, |message| write(span, message));
            }
        });
    });
    request.0
}

const ERROR: u64 = 2;

fn write(span: &Span, message: &mut ProtobufMessage) {
    message.bytes(1, &span.trace);
    message.bytes(2, &span.id);
    if let Some(parent) = &span.parent {
        message.bytes(4, parent);
    }
    message.bytes(5, span.name.as_bytes());
    message.number(6, u64::from(span.kind.number()));
    message.fixed64(7, span.start);
    message.fixed64(8, span.end);
    for (key, value) in &span.attributes {
        message.attribute(9, key, value);
    }
    message.message(15, |status| {
        if let Some(error) = &span.error {
            status.bytes(2, error.as_bytes());
            status.number(3, ERROR);
        }
    });
    message.fixed32(16, span.flags());
}

/// A message that is being written.
#[derive(Default)]
struct ProtobufMessage(Vec<u8>);

/// How a field is written, as the last three bits of its tag.
const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const LENGTH: u32 = 2;
const FIXED32: u32 = 5;

impl ProtobufMessage {
    fn message(&mut self, field: u32, fill: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        fill(&mut inner);
        self.bytes(field, &inner.0);
    }

    fn attribute(&mut self, field: u32, key: &str, value: &str) {
        self.message(field, |pair| {
            pair.bytes(1, key.as_bytes());
            pair.message(2, |any| any.bytes(1, value.as_bytes()));
        });
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.tag(field, LENGTH);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn number(&mut self, field: u32, number: u64) {
        self.tag(field, VARINT);
        self.varint(number);
    }

    fn fixed64(&mut self, field: u32, number: u64) {
        self.tag(field, FIXED64);
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn fixed32(&mut self, field: u32, number: u32) {
        self.tag(field, FIXED32);
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn tag(&mut self, field: u32, kind: u32) {
        self.varint(u64::from(field << 3 | kind));
    }

    /// Seven bits a byte, the lowest first; all but the last have the highest bit set.
    fn varint(&mut self, mut number: u64) {
        loop {
            let [low, ..] = number.to_le_bytes();
            number >>= 7;
            if number == 0 {
                return self.0.push(low & 0x7f);
            }
            self.0.push(low | 0x80);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_as_many_bytes_as_they_need() {
        for (number, expected) in [
            (0, &[0][..]),
            (127, &[0x7f]),
            (128, &[0x80, 1]),
            (300, &[0xac, 2]),
            (u64::MAX, &[255, 255, 255, 255, 255, 255, 255, 255, 255, 1]),
        ] {
            let mut message = ProtobufMessage::default();
            message.varint(number);
            assert_eq!(message.0, expected, "{number}");
        }
    }

    #[test]
    fn fields_have_their_tag_and_their_length() {
        let mut message = ProtobufMessage::default();
        message.message(1, |inner| inner.attribute(16, "k", "vv"));
        message.fixed32(16, 0x0102);
        let pair = [10, 1, b'k', 18, 4, 10, 2, b'v', b'v'];
        let expected = [&[10, 12, 0x82, 1, 9], &pair[..], &[0x85, 1, 2, 1, 0, 0]].concat();
        assert_eq!(message.0, expected);
    }
}
