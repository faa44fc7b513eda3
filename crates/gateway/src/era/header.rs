//! Values of a request mirrored into HTTP header fields, and back.

use std::borrow::Cow;

/// How a value that is no plain header value is marked.
const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

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
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |place: usize| group.get(place).copied().map_or(0, u32::from);
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let digit = usize::try_from(bits >> (18 - 6 * place) & 63).unwrap_or_default();
            let shown = place <= group.len();
            out.push(if shown { DIGITS.get(digit).copied().map_or('=', char::from) } else { '=' });
        }
    }
    out
}

/// Strictly: with its padding, and nothing else.
pub(super) fn unbase64(text: &[u8]) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    let digits = text.get(..text.len() - padding)?;
    if padding > 2 {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in digits {
        bits = bits << 6 | digit(*byte)?;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
        bits &= (1 << count) - 1;
    }
    (bits == 0).then_some(out) // no bits may hide behind the end
}

/// What a digit stands for. Not looked for among all of them: states may be megabytes long.
fn digit(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
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
        let values: Vec<_> = DIGITS.iter().map(|byte| digit(*byte)).collect();
        assert_eq!(values, (0..64).map(Some).collect::<Vec<_>>());
        let others = (0..=u8::MAX).filter(|byte| !DIGITS.contains(byte));
        assert_eq!(others.filter_map(digit).count(), 0);
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
