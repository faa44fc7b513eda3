//! Percent-encoding of one path segment.

use std::borrow::Cow;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadPercent {
    #[error("a % is not followed by two hexadecimal digits")]
    Digits,
    #[error("the encoded bytes are not UTF-8")]
    Utf8,
}

/// Text as one path segment: `/`, `?`, `#`, `%` and whatever else a segment may not hold is
/// encoded. `.` and `..` are, too, since they would be taken for steps.
pub fn encode(text: &str) -> Cow<'_, str> {
    if matches!(text, "." | "..") {
        return text.replace('.', "%2E").into();
    }
    if text.bytes().all(is_segment_byte) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for byte in text.bytes() {
        if is_segment_byte(byte) {
            out.push(char::from(byte));
        } else {
            push_encoded(byte, &mut out);
        }
    }
    out.into()
}

/// The text behind a segment. `+` is a plus.
pub fn decode(segment: &str) -> Result<Cow<'_, str>, BadPercent> {
    let Some(first) = memchr::memchr(b'%', segment.as_bytes()) else {
        return Ok(segment.into());
    };
    let (plain, mut rest) = segment.as_bytes().split_at_checked(first).unwrap_or_default();
    let mut out = Vec::with_capacity(segment.len());
    out.extend_from_slice(plain);
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            out.push(*byte);
            continue;
        }
        let (digits, after) = rest.split_first_chunk().ok_or(BadPercent::Digits)?;
        out.push(hex(*digits).ok_or(BadPercent::Digits)?);
        rest = after;
    }
    String::from_utf8(out).map(Cow::Owned).map_err(|_| BadPercent::Utf8)
}

pub(crate) fn push_encoded(byte: u8, out: &mut String) {
    out.push('%');
    for nibble in [byte >> 4, byte & 15] {
        let digit = char::from_digit(u32::from(nibble), 16).unwrap_or('0');
        out.push(digit.to_ascii_uppercase());
    }
}

fn hex([high, low]: [u8; 2]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? << 4 | digit(low)?).ok()
}

/// What RFC 3986 allows in a segment (`pchar`) besides `%`.
fn is_segment_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn encoding() {
        for (text, segment) in [
            ("", ""),
            ("plain-1._~", "plain-1._~"),
            ("file:///a b?c#d", "file:%2F%2F%2Fa%20b%3Fc%23d"),
            ("100%", "100%25"),
            ("é", "%C3%A9"),
            (".", "%2E"),
            ("..", "%2E%2E"),
            ("...", "..."),
            ("a\nb", "a%0Ab"),
        ] {
            assert_eq!(encode(text), segment);
            assert_eq!(decode(segment).as_deref(), Ok(text));
        }
        assert!(matches!(encode("plain"), Cow::Borrowed(_)));
        assert!(matches!(decode("plain"), Ok(Cow::Borrowed(_))));
    }

    #[test]
    fn decoding() {
        assert_eq!(decode("a%2fb+c").as_deref(), Ok("a/b+c"));
        for segment in ["%", "a%2", "%zz", "%+1", "%%41", "%2 "] {
            assert_eq!(decode(segment), Err(BadPercent::Digits), "{segment}");
        }
        assert_eq!(decode("%ff"), Err(BadPercent::Utf8));
        assert_eq!(decode("%c3x"), Err(BadPercent::Utf8));
    }

    proptest! {
        #[test]
        fn any_text_survives(text in any::<String>()) {
            let segment = encode(&text);
            prop_assert!(segment.is_ascii() && !segment.contains(['/', '?', '#', ' ', '\n']));
            let back = decode(&segment);
            prop_assert_eq!(back.as_deref(), Ok(text.as_str()));
        }
    }
}
