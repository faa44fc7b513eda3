//! `ProtobufMessage`: writes a message of OTLP by hand. A few kinds of messages with a few fields each do not need a
//! compiler for their schema.

/// A message that is being written.
#[derive(Default)]
pub(crate) struct ProtobufMessage(Vec<u8>);

/// How a field is written, as the last three bits of its tag.
const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const LENGTH: u32 = 2;
const FIXED32: u32 = 5;

impl ProtobufMessage {
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn message(&mut self, field: u32, fill: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        fill(&mut inner);
        self.bytes(field, &inner.0);
    }

    /// What sends: a `Resource`.
    pub(crate) fn resource(&mut self, field: u32, resource: &[(String, String)]) {
        self.message(field, |about| {
            resource.iter().for_each(|(key, value)| about.attribute(1, key, value));
        });
    }

    /// The part of it that sends: an `InstrumentationScope`.
    pub(crate) fn scope(&mut self, field: u32) {
        self.message(field, |scope| {
            scope.bytes(1, b"trunkline");
            scope.bytes(2, env!("CARGO_PKG_VERSION").as_bytes());
        });
    }

    pub(crate) fn attribute(&mut self, field: u32, key: &str, value: &str) {
        self.message(field, |pair| {
            pair.bytes(1, key.as_bytes());
            pair.message(2, |any| any.bytes(1, value.as_bytes()));
        });
    }

    pub(crate) fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.tag(field, LENGTH);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn number(&mut self, field: u32, number: u64) {
        self.tag(field, VARINT);
        self.varint(number);
    }

    pub(crate) fn fixed64(&mut self, field: u32, number: u64) {
        self.tag(field, FIXED64);
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(crate) fn fixed32(&mut self, field: u32, number: u32) {
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
