//! Base64, as images and files travel in JSON.

/// The bytes of `text`, standard or URL-safe alphabet, with or without padding and line breaks;
/// `None` if it is something else.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0_u32);
    let mut symbols = text.bytes().filter(|byte| !byte.is_ascii_whitespace());
    for byte in symbols.by_ref().take_while(|byte| *byte != b'=') {
        bits = (bits << 6) | u32::from(value(byte)?);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    // Six bits left over are half a byte that was cut off.
    let rest_is_padding = symbols.all(|byte| byte == b'=');
    (count < 6 && rest_is_padding).then_some(out)
}

fn value(symbol: u8) -> Option<u8> {
    Some(match symbol {
        b'A'..=b'Z' => symbol - b'A',
        b'a'..=b'z' => symbol - b'a' + 26,
        b'0'..=b'9' => symbol - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_4648_test_vectors() {
        for (text, expected) in [
            ("", Some("")),
            ("Zg==", Some("f")),
            ("Zm8=", Some("fo")),
            ("Zm9v", Some("foo")),
            ("Zm9vYg==", Some("foob")),
            ("Zm9vYmE=", Some("fooba")),
            ("Zm9vYmFy", Some("foobar")),
            ("Zm9v\nYmFy", Some("foobar")),
            ("Zg", Some("f")),
            ("Z", None),
            ("Zg=x", None),
            ("Z!==", None),
        ] {
            let expected = expected.map(|text| text.as_bytes().to_vec());
            assert_eq!(decode(text), expected, "{text}");
        }
        assert_eq!(decode("+/-_"), Some(vec![0xfb, 0xff, 0xbf]));
    }
}
