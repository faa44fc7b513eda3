//! JSON strings: from their token to text and back.

use std::borrow::Cow;

/// The text of a string token (with its quotes), or `None` if it is not one or holds a lone
/// surrogate, which no Rust string can.
pub fn decode(token: &[u8]) -> Option<Cow<'_, str>> {
    let [b'"', inner @ .., b'"'] = token else {
        return None;
    };
    let inner = std::str::from_utf8(inner).ok()?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        text.push(match rest.next()? {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => unicode(&mut rest)?,
            // A quote, a backslash or a slash: the scanner has refused every other escape (RFC
            // 8259, 7).
            other => other,
        });
    }
    Some(Cow::Owned(text))
}

fn unicode(rest: &mut std::str::Chars<'_>) -> Option<char> {
    let first = hex4(rest)?;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first);
    }
    // RFC 8259, 7: a character beyond the basic plane is written as two escapes, high half first.
    let (Some('\\'), Some('u')) = (rest.next(), rest.next()) else {
        return None;
    };
    let second = hex4(rest)?;
    let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
    char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + low)
}

fn hex4(rest: &mut std::str::Chars<'_>) -> Option<u32> {
    (0..4).try_fold(0, |sum, _| Some(sum * 16 + rest.next()?.to_digit(16)?))
}

/// Appends `text` as a JSON string token.
pub fn encode_into(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            // RFC 8259, 7: only quote, backslash and control characters have to be escaped. Bytes
            // beyond ASCII are copied: the text is UTF-8 already.
            0..0x20 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

/// `text` as a JSON string token.
pub fn encode(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    encode_into(text, &mut out);
    out
}

/// Appends an array of strings.
pub fn encode_all_into<'a>(texts: impl IntoIterator<Item = &'a str>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, text) in texts.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        encode_into(text, out);
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_array_of_strings() {
        for (texts, expected) in
            [(&[][..], "[]"), (&["a"], r#"["a"]"#), (&["a", "\""], r#"["a","\""]"#)]
        {
            let mut out = Vec::new();
            encode_all_into(texts.iter().copied(), &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn escapes_are_decoded() {
        let cases = [
            (r#""plain""#, Some("plain")),
            (r#""a\"b\\c\/d\n\t""#, Some("a\"b\\c/d\n\t")),
            (r#""\u00e9\ud83d\ude00""#, Some("é😀")),
            (r#""\ud800""#, None),
            (r#""\ud800\u0041""#, None),
            (r#""\udc00""#, None),
            ("5", None),
        ];
        for (token, expected) in cases {
            assert_eq!(decode(token.as_bytes()).as_deref(), expected, "{token}");
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(text in ".*") {
            let token = encode(&text);
            let decoded = decode(&token).map(Cow::into_owned);
            prop_assert_eq!(decoded.as_ref(), Some(&text));
            prop_assert_eq!(serde_json::from_slice::<String>(&token).unwrap(), text);
        }
    }
}
