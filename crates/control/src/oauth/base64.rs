//! Base64 as OAuth uses it: without padding for URLs, with padding in a header.

const PLAIN: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

pub(super) fn for_url(bytes: &[u8]) -> String {
    encode(bytes, URL)
}

pub(crate) fn for_header(bytes: &[u8]) -> String {
    let mut text = encode(bytes, PLAIN);
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

fn encode(bytes: &[u8], alphabet: &[u8; 64]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        // n bytes are written as n + 1 characters.
        for shift in [18, 12, 6, 0].into_iter().take(group.len() + 1) {
            let index = usize::try_from(bits >> shift & 63).unwrap_or_default();
            text.push(char::from(alphabet.get(index).copied().unwrap_or_default()));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of RFC 4648, 10, and two bytes in which the alphabets differ.
    #[test]
    fn known_vectors() {
        for (bytes, header, url) in [
            (&b""[..], "", ""),
            (b"f", "Zg==", "Zg"),
            (b"fo", "Zm8=", "Zm8"),
            (b"foo", "Zm9v", "Zm9v"),
            (b"foob", "Zm9vYg==", "Zm9vYg"),
            (b"fooba", "Zm9vYmE=", "Zm9vYmE"),
            (b"foobar", "Zm9vYmFy", "Zm9vYmFy"),
            (&[0xfb, 0xff], "+/8=", "-_8"),
        ] {
            assert_eq!((for_header(bytes).as_str(), for_url(bytes).as_str()), (header, url));
        }
    }
}
