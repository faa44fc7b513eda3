//! `application/x-www-form-urlencoded`: bodies of token requests, and the query of a callback.

pub(super) const MEDIA_TYPE: &str = "application/x-www-form-urlencoded";

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadForm {
    #[error("a % is not followed by two hexadecimal digits")]
    Percent,
    #[error("it is not UTF-8")]
    Utf8,
}

pub(super) fn write(fields: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for (name, value) in fields {
        if !out.is_empty() {
            out.push('&');
        }
        push(name, &mut out);
        out.push('=');
        push(value, &mut out);
    }
    out
}

/// One value, as in a form.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::new();
    push(text, &mut out);
    out
}

pub(super) fn read(text: &str) -> Result<Vec<(String, String)>, BadForm> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((unescape(name)?, unescape(value)?))
        })
        .collect()
}

fn push(text: &str, out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // `%20` rather than `+` for a space: every reader takes it, also in a query.
            out.push('%');
            for nibble in [byte >> 4, byte & 15] {
                let digit = char::from_digit(u32::from(nibble), 16).unwrap_or('0');
                out.push(digit.to_ascii_uppercase());
            }
        }
    }
}

fn unescape(text: &str) -> Result<String, BadForm> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let (digits, after) = rest.split_first_chunk::<2>().ok_or(BadForm::Percent)?;
                out.push(hex(*digits).ok_or(BadForm::Percent)?);
                rest = after;
            }
            byte => out.push(*byte),
        }
    }
    String::from_utf8(out).map_err(|_| BadForm::Utf8)
}

fn hex([high, low]: [u8; 2]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? << 4 | digit(low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_written() {
        let text = write(&[("a", "x y+z&=%/é"), ("b-._~", "")]);
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
            ("a=%2", Err(BadForm::Percent)),
            ("a=%zz", Err(BadForm::Percent)),
            ("a=%+1", Err(BadForm::Percent)),
            ("a=%ff", Err(BadForm::Utf8)),
        ] {
            assert_eq!(read(text), pairs, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(name in ".{1,8}", value in ".{0,16}") {
            prop_assert_eq!(read(&write(&[(&name, &value)])), Ok(vec![(name, value)]));
        }
    }
}
