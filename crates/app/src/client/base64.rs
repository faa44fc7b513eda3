//! Base64, as images and files travel in JSON.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Servers differ in padding and in what they leave in the last bits.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The bytes of `text`, standard or URL-safe alphabet, with or without padding and line breaks;
/// `None` if it is something else.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let symbols = text.bytes().filter(|byte| !byte.is_ascii_whitespace());
    let symbols: Vec<u8> = symbols
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            other => other,
        })
        .collect();
    LENIENT.decode(symbols).ok()
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
