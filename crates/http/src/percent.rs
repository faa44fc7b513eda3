//! Percent-encoding of path segments, and of forms and queries.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadPercent {
    #[error("a % is not followed by two hexadecimal digits")]
    Digits,
    #[error("the encoded bytes are not UTF-8")]
    Utf8,
}

/// Everything but RFC 3986's `unreserved` characters.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Everything but what RFC 3986 allows in a segment (`pchar`).
const NO_SEGMENT: &AsciiSet = &RESERVED
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// Text as one path segment: `/`, `?`, `#`, `%` and whatever else a segment may not hold is
/// encoded. `.` and `..` are, too, since they would be taken for steps.
pub fn encode(text: &str) -> Cow<'_, str> {
    match text {
        "." | ".." => text.replace('.', "%2E").into(),
        text => utf8_percent_encode(text, NO_SEGMENT).into(),
    }
}

/// Text as a name or a value of a form or a query. A space is `%20` rather than `+`: every reader
/// takes it, whether it reads a form or a URL.
pub fn encode_value(text: &str) -> Cow<'_, str> {
    utf8_percent_encode(text, RESERVED).into()
}

/// The text behind a segment. `+` is a plus.
pub fn decode(segment: &str) -> Result<Cow<'_, str>, BadPercent> {
    // The library leaves an escape that is none as it is. Here it is refused, so that no two
    // readers take one text for two things.
    let is_escape = |behind: &str| {
        behind
            .as_bytes()
            .first_chunk::<2>()
            .is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
    };
    if !segment.split('%').skip(1).all(is_escape) {
        return Err(BadPercent::Digits);
    }
    percent_decode_str(segment).decode_utf8().map_err(|_| BadPercent::Utf8)
}

/// The text behind a name or a value of a form or a query: `+` is a space.
pub fn decode_value(value: &str) -> Result<String, BadPercent> {
    decode(&value.replace('+', " ")).map(Cow::into_owned)
}

/// `name=value&name=value`.
pub fn write_form(fields: &[(&str, &str)]) -> String {
    let pair =
        |(name, value): &(&str, &str)| format!("{}={}", encode_value(name), encode_value(value));
    fields.iter().map(pair).collect::<Vec<_>>().join("&")
}

/// The fields of a form or a query, in their order; a name may come several times.
pub fn read_form(text: &str) -> Result<Vec<(String, String)>, BadPercent> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode_value(name)?, decode_value(value)?))
        })
        .collect()
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

    #[test]
    fn what_is_written() {
        let text = write_form(&[("a", "x y+z&=%/é"), ("b-._~", "")]);
        assert_eq!(text, "a=x%20y%2Bz%26%3D%25%2F%C3%A9&b-._~=");
    }

    #[test]
    fn what_is_read() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        for (text, pairs) in [
            ("", Ok(vec![])),
            ("a=b&c=d+e%20f", Ok(vec![pair("a", "b"), pair("c", "d e f")])),
            ("a&b=", Ok(vec![pair("a", ""), pair("b", "")])),
            ("a=b=c&&a=2", Ok(vec![pair("a", "b=c"), pair("a", "2")])),
            ("a=%2", Err(BadPercent::Digits)),
            ("a=%zz", Err(BadPercent::Digits)),
            ("a=%+1", Err(BadPercent::Digits)),
            ("a=%ff", Err(BadPercent::Utf8)),
        ] {
            assert_eq!(read_form(text), pairs, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(name in ".{1,8}", value in ".{0,16}") {
            prop_assert_eq!(read_form(&write_form(&[(&name, &value)])), Ok(vec![(name, value)]));
        }

        #[test]
        fn any_text_survives(text in any::<String>()) {
            let segment = encode(&text);
            prop_assert!(segment.is_ascii() && !segment.contains(['/', '?', '#', ' ', '\n']));
            let back = decode(&segment);
            prop_assert_eq!(back.as_deref(), Ok(text.as_str()));
        }
    }
}
