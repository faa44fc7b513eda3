//! Base64 as OAuth uses it: without padding for URLs, with padding in a header.

use crate::access::base64url::encode;

pub(super) fn for_url(bytes: &[u8]) -> String {
    encode(bytes)
}

/// The same digits, but for two of them, and padded.
pub(super) fn for_header(bytes: &[u8]) -> String {
    let mut text = encode(bytes).replace('-', "+").replace('_', "/");
    while !text.len().is_multiple_of(4) {
        text.push('=');
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
