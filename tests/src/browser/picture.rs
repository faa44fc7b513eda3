//! What a page looks like, as a PNG.

use serde_json::json;

use super::Browser;

impl Browser {
    /// What is seen of the page now, without scrolling.
    #[track_caller]
    pub fn picture(&self) -> Vec<u8> {
        let told = self.command("Page.captureScreenshot", &json!({ "format": "png" }));
        let data = told["data"].as_str().expect("a picture");
        base64(data).unwrap_or_else(|| panic!("not base64: {} characters", data.len()))
    }
}

fn base64(text: &str) -> Option<Vec<u8>> {
    let digit = |letter: u8| match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        held = (held << 6) | u32::from(digit(letter)?);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(((held >> bits) & 0xff) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_is_read() {
        for (text, bytes) in [
            ("", &b""[..]),
            ("Zg==", b"f"),
            ("Zm8=", b"fo"),
            ("Zm9v", b"foo"),
            ("+/8=", b"\xfb\xff"),
        ] {
            assert_eq!(base64(text).as_deref(), Some(bytes), "{text}");
        }
        assert_eq!(base64("a b"), None);
    }
}
