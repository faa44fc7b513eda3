//! Base64 with the alphabet for URLs and without padding (RFC 4648, 5), in its one strict form.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - chunk.len()));
        let digits = [18, 12, 6, 0].map(|shift| digit(bits >> shift));
        out.extend(digits.iter().take(chunk.len() + 1));
    }
    out
}

/// `None` for every other alphabet, for padding, white space, and for last bits that mean nothing:
/// of all texts that could be read as some bytes only the one that `encode` writes is.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for chunk in text.as_bytes().chunks(4) {
        let missing = 4 - chunk.len();
        let mut bits = 0_u32;
        for byte in chunk {
            bits = bits << 6 | value(*byte)?;
        }
        let [_, bytes @ ..] = (bits << (6 * missing)).to_be_bytes();
        let (bytes, unused) = bytes.split_at_checked(3 - missing)?;
        if missing == 3 || unused.iter().any(|byte| *byte != 0) {
            return None;
        }
        out.extend_from_slice(bytes);
    }
    Some(out)
}

fn digit(bits: u32) -> char {
    ALPHABET.get((bits & 63) as usize).map_or('A', |byte| char::from(*byte))
}

fn value(byte: u8) -> Option<u32> {
    let (first, base) = match byte {
        b'A'..=b'Z' => (b'A', 0),
        b'a'..=b'z' => (b'a', 26),
        b'0'..=b'9' => (b'0', 52),
        b'-' => (b'-', 62),
        b'_' => (b'_', 63),
        _ => return None,
    };
    Some(u32::from(byte - first) + base)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The examples of RFC 4648, 10, and one with both special digits.
    #[test]
    fn examples() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg"),
            (b"fo", "Zm8"),
            (b"foo", "Zm9v"),
            (b"foob", "Zm9vYg"),
            (b"fooba", "Zm9vYmE"),
            (b"foobar", "Zm9vYmFy"),
            (b"\xfb\xff", "-_8"),
        ] {
            assert_eq!(encode(bytes), text);
            assert_eq!(decode(text).as_deref(), Some(bytes), "{text}");
        }
    }

    #[test]
    fn other_spellings_are_refused() {
        for text in ["Zg==", "Zg=", "Zh", "Zm9", "Z", "Zm9vY", "-/8", "+_8", "Zm9v ", "Zm\n9v", "é"]
        {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn bytes_come_back(bytes: Vec<u8>) {
            prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }

        #[test]
        fn a_text_has_one_meaning_and_a_meaning_one_text(text in "[A-Za-z0-9_-]{0,12}") {
            if let Some(bytes) = decode(&text) {
                prop_assert_eq!(encode(&bytes), text);
            }
        }
    }
}
