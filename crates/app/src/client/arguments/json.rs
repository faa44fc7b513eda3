//! JSON arguments before they are sent. Numbers keep their spelling, so that none is rounded.

use trunkline_wire::{encode, encode_into};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json {
    /// One valid JSON value, as written.
    Token(Vec<u8>),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub(crate) fn text(text: &str) -> Self {
        Self::Token(encode(text))
    }

    pub(crate) fn token(text: &str) -> Self {
        Self::Token(text.trim().as_bytes().to_vec())
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Token(token) => out.extend_from_slice(token),
            Self::Array(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    comma(index, out);
                    item.write(out);
                }
                out.push(b']');
            }
            Self::Object(members) => {
                out.push(b'{');
                for (index, (name, value)) in members.iter().enumerate() {
                    comma(index, out);
                    encode_into(name, out);
                    out.push(b':');
                    value.write(out);
                }
                out.push(b'}');
            }
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }
}

fn comma(index: usize, out: &mut Vec<u8>) {
    if index > 0 {
        out.push(b',');
    }
}
