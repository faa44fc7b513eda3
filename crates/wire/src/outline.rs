//! What can be made out of text that is not a message: its top-level members, and an id.

use crate::skip::{colon, is_json, white};

/// The top-level members of an object that may be broken or cut, read without trusting its structure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outline<'a> {
    /// The first `id` that is a whole number or string token.
    pub id: Option<&'a [u8]>,
    pub has_jsonrpc: bool,
    /// `jsonrpc` is "2.0".
    pub is_version_two: bool,
    pub has_method: bool,
    pub has_result: bool,
    pub has_error: bool,
}

impl<'a> Outline<'a> {
    pub fn of(bytes: &'a [u8]) -> Self {
        let mut outline = Self::default();
        let mut depth = 0_usize;
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'{' | b'[' => depth += 1,
                // A broken text may close more than it has opened.
                b'}' | b']' => depth = depth.saturating_sub(1),
                b'"' => {
                    let end = rough_string_end(bytes, at);
                    if depth == 1 {
                        outline.note(bytes, bytes.get(at..end).unwrap_or_default(), end);
                    }
                    at = end;
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        outline
    }

    /// Notes the member whose key, with its quotes, ends at `end`, if it is one.
    fn note(&mut self, bytes: &'a [u8], key: &[u8], end: usize) {
        let Ok(value) = colon(bytes, end) else { return };
        match key {
            // The first one: the text may have broken behind it, and what looks like a second may
            // be part of a payload.
            b"\"id\"" => self.id = self.id.or_else(|| token_after(bytes, end)),
            b"\"jsonrpc\"" => {
                self.has_jsonrpc = true;
                let rest = bytes.get(value..).unwrap_or_default();
                self.is_version_two = rest.starts_with(b"\"2.0\"");
            }
            b"\"method\"" => self.has_method = true,
            b"\"result\"" => self.has_result = true,
            b"\"error\"" => self.has_error = true,
            _ => {}
        }
    }

    pub fn has_outcome(&self) -> bool {
        self.has_result || self.has_error
    }
}

/// The id of a message that is broken or cut, if one can be made out: the top-level `id`, read
/// without trusting the structure, else an `"id":…}` that ends the text. A token cut off by the end
/// of the text does not count: it may be the beginning of somebody else's id.
pub fn salvage_token(bytes: &[u8]) -> Option<&[u8]> {
    if let Some(token) = Outline::of(bytes).id {
        return Some(token);
    }
    let last = memchr::memmem::rfind(bytes, b"\"id\"")?;
    let token = token_after(bytes, last + 4)?;
    let behind = bytes.len() - bytes.get(last..)?.len() + 4;
    let rest = bytes.get(behind..)?;
    let rest = rest.get(memchr::memmem::find(rest, token)? + token.len()..)?;
    rest.iter().all(|byte| b" }\r\t".contains(byte)).then_some(token)
}

/// Reads an id, if it is one that Trunkline has given.
pub fn salvage_id(bytes: &[u8]) -> Option<u32> {
    let token = salvage_token(bytes)?;
    if token.first() == Some(&b'"') { None } else { crate::message::upstream_id(token) }
}

fn rough_string_end(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    loop {
        match bytes.get(at) {
            Some(b'\\') => at += 2,
            Some(b'"') => return at + 1,
            Some(_) => at += 1,
            None => return bytes.len(),
        }
    }
}

/// The whole number or string token behind a key that ends at `at`.
fn token_after(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let start = colon(bytes, at).ok()?;
    let rest = bytes.get(start..)?;
    let len = match rest.first()? {
        b'"' => rough_string_end(bytes, start) - start,
        b'-' | b'0'..=b'9' => rest.iter().position(|byte| !b"+-.eE0123456789".contains(byte))?,
        _ => return None,
    };
    let token = rest.get(..len)?;
    // `12` at the cut end of a text may be the start of `123`: the id of another call, which must
    // not be failed.
    let whole = matches!(rest.get(white(rest, len)), Some(b',' | b'}'));
    (whole && is_json(token)).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_members_at_the_top_count() {
        let outline = |text: &'static str| Outline::of(text.as_bytes());
        let log = outline(
            r#"{"msg":"method","request":{"jsonrpc":"2.0","id":5,"method":"m"},"raw":"{\"id\":5}"}"#,
        );
        assert_eq!(log, Outline::default());
        let answer = outline(r#"{"jsonrpc":"2.0","id":null,"error":{"id":7,"method":1"#);
        let expected = Outline {
            has_jsonrpc: true,
            is_version_two: true,
            has_error: true,
            ..Outline::default()
        };
        assert_eq!(answer, expected);
        let old = outline(r#"{"jsonrpc" : "1.0", "id" : 5 , "method":"m", "result":{}}"#);
        assert_eq!((old.id, old.is_version_two), (Some(&b"5"[..]), false));
        assert!(old.has_jsonrpc && old.has_method && old.has_outcome());
    }

    #[test]
    fn an_id_is_salvaged_only_when_it_is_whole_and_at_the_top() {
        let cases: [(&[u8], Option<u32>); 9] = [
            (br#"{"jsonrpc":"2.0","id":42,"result":{"#, Some(42)),
            (b"{\"id\": 42 ,\"result\":\"\xff\"}", Some(42)),
            (br#"{"jsonrpc":"2.0","id":4"#, None),
            (br#"{"result":{"id":5},"#, None),
            (br#"{"result":{"id":5,},"id":6}"#, Some(6)),
            (br#"{"result":{"a":"unclosed},"id":6}"#, Some(6)),
            (br#"{"id":"5"}"#, None),
            (br#"{"id":12345678901234567890,"a":"#, None),
            (b"plain text", None),
        ];
        for (bytes, expected) in cases {
            assert_eq!(salvage_id(bytes), expected, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_clients_id_is_salvaged_as_it_is_spelt() {
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":"a\"b","params":{"x":"yy"#, Some(r#""a\"b""#)),
            (r#"{"jsonrpc":"2.0","id":1.50,"params":{"x":"yy"#, Some("1.50")),
            (r#"yyyy"}},"id":"z"}"#, Some(r#""z""#)),
            (r#"yyyy"}},"id": 7 } "#, Some("7")),
            (r#"yyyy","id":7,"more":1}}"#, None),
            (r#"{"method":"m","id":"cut"#, None),
            (r#"{"method":"m","id":null,"x":"#, None),
        ] {
            let got = salvage_token(text.as_bytes()).map(String::from_utf8_lossy);
            assert_eq!(got.as_deref(), expected, "{text}");
        }
    }
}
