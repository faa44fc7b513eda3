//! Values of a request mirrored into HTTP header fields, and back.

use std::borrow::Cow;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// How a value that is no plain header value is marked.
const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";

/// The value as a header field can carry it.
pub(crate) fn encoded(value: &str) -> Cow<'_, str> {
    let is_plain = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let is_padded = value.starts_with(' ') || value.ends_with(' ');
    let is_marked = value.starts_with(OPEN) && value.ends_with(CLOSE);
    if is_plain && !is_padded && !is_marked {
        return Cow::Borrowed(value);
    }
    Cow::Owned(format!("{OPEN}{}{CLOSE}", base64(value.as_bytes())))
}

/// The value a header field carries; `None`: it is none.
pub(crate) fn decoded(field: &[u8]) -> Option<String> {
    let field = field.trim_ascii();
    let marked =
        field.strip_prefix(OPEN.as_bytes()).and_then(|rest| rest.strip_suffix(CLOSE.as_bytes()));
    let value = match marked {
        Some(text) => unbase64(text)?,
        None if field.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) => field.to_vec(),
        None => return None,
    };
    String::from_utf8(value).ok()
}

pub(super) fn base64(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

/// Strictly: with its padding, and no bits behind the end.
pub(super) fn unbase64(text: &[u8]) -> Option<Vec<u8>> {
    BASE64_STANDARD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_travel_in_header_fields() {
        for (value, field) in [
            ("us-west1", "us-west1"),
            ("", ""),
            ("a b", "a b"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("tab\there", "=?base64?dGFiCWhlcmU=?="),
            ("SGVsbG8=", "SGVsbG8="),
            ("=?base64?SGVsbG8=", "=?base64?SGVsbG8="),
        ] {
            assert_eq!(encoded(value), field);
            assert_eq!(decoded(field.as_bytes()).as_deref(), Some(value));
        }
        assert_eq!(decoded(b"  name  ").as_deref(), Some("name"));
    }

    #[test]
    fn a_digit_is_read_as_it_is_written() {
        let all: Vec<u8> = (0..=u8::MAX).collect();
        let text = base64(&all);
        assert_eq!(unbase64(text.as_bytes()), Some(all));
        let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/".contains(&byte);
        let others = (0..=u8::MAX).filter(|byte| !is_digit(*byte));
        assert_eq!(others.filter_map(|byte| unbase64(&[b'A', byte, b'A', b'A'])).count(), 0);
    }

    #[test]
    fn what_is_no_value() {
        for field in [
            &b"=?base64?SGVsbG8?="[..],
            b"=?base64?SGVs!!!bG8=?=",
            b"=?base64?SGVsbG9=?=",
            b"=?base64?====?=",
            b"=?base64?/w==?=",
            b"a\x7f",
            b"\xc3\xa9",
        ] {
            assert_eq!(decoded(field), None, "{}", String::from_utf8_lossy(field));
        }
    }
}
