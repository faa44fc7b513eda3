//! How a secret reads when a program has encoded it: base64 (alone, or with something around it, as in
//! `user:secret`), hexadecimal digits, percent-encoding, HTML, upper and lower case.

/// Shorter values have no encoded spellings: four letters of base64 stand in many texts by chance.
const SHORTEST: usize = 6;
/// Of longer values only what is written is known: the spellings of a value are about fifteen times its size.
const LONGEST: usize = 4_096;

/// Every spelling that differs from the value.
pub(super) fn encodings(value: &str) -> Vec<String> {
    let bytes = value.as_bytes();
    if !(SHORTEST..=LONGEST).contains(&bytes.len()) {
        return Vec::new();
    }
    let mut spellings = vec![
        value.to_ascii_uppercase(),
        value.to_ascii_lowercase(),
        each(bytes, |byte| format!("{byte:02x}")),
        each(bytes, |byte| format!("{byte:02X}")),
        each(bytes, |byte| format!("%{byte:02X}")),
        each(bytes, |byte| format!("%{byte:02x}")),
        each(bytes, |byte| percent(byte, |byte| format!("%{byte:02X}"))),
        each(bytes, |byte| percent(byte, |byte| format!("%{byte:02x}"))),
        // A form has `+` for a blank (application/x-www-form-urlencoded).
        each(bytes, |byte| percent(byte, form)),
        html(value),
    ];
    for before in 0..3 {
        let inner = base64_inside(bytes, before);
        spellings.push(inner.replace('+', "-").replace('/', "_"));
        spellings.push(inner);
    }
    spellings.retain(|spelling| spelling != value);
    spellings
}

fn each(bytes: &[u8], spelling: impl Fn(u8) -> String) -> String {
    bytes.iter().map(|byte| spelling(*byte)).collect()
}

/// RFC 3986, 2.3: unreserved characters stand for themselves.
fn percent(byte: u8, escaped: impl Fn(u8) -> String) -> String {
    match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        other => escaped(other),
    }
}

fn form(byte: u8) -> String {
    if byte == b' ' { "+".to_owned() } else { format!("%{byte:02X}") }
}

fn html(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// The letters of a base64 text that depend on these bytes alone, when so many bytes (modulo three) stand
/// before them: whatever stands around a secret, this stands inside. At most eight bits of it are outside.
fn base64_inside(bytes: &[u8], before: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let padded: Vec<u8> = std::iter::repeat_n(0, before).chain(bytes.iter().copied()).collect();
    let letters = padded.chunks(3).flat_map(|chunk| {
        let bits = (0..3).fold(0_u32, |bits, place| {
            (bits << 8) | chunk.get(place).map_or(0, |byte| u32::from(*byte))
        });
        [18, 12, 6, 0].map(|shift| {
            let letter = usize::try_from(bits >> shift & 63).ok().and_then(|it| LETTERS.get(it));
            char::from(letter.copied().unwrap_or(b'='))
        })
    });
    // Six bits a letter: the first letters hold bits of what stands before, the last perhaps of what follows.
    let (first, end) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
    letters.take(end).skip(first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_value() {
        let spellings = encodings("pa ss/wörd");
        for expected in [
            "PA SS/WöRD",
            "70612073732f77c3b67264",
            "70612073732F77C3B67264",
            "pa%20ss%2Fw%C3%B6rd",
            "pa%20ss%2fw%c3%b6rd",
            "pa+ss%2Fw%C3%B6rd",
            // printf 'pa ss/wörd' | base64; with `a` and with `ab` before it, less what is of those.
            "cGEgc3Mvd8O2cm",
            "BhIHNzL3fDtnJk",
            "wYSBzcy93w7ZyZ",
        ] {
            assert!(spellings.iter().any(|found| found == expected), "{expected}: {spellings:#?}");
        }
        assert!(encodings("<a&'b>").contains(&"&lt;a&amp;&#39;b&gt;".to_owned()));
    }

    #[test]
    fn short_and_endless_values_have_none() {
        assert!(encodings("abcde").is_empty());
        assert!(encodings(&"a".repeat(LONGEST + 1)).is_empty());
        assert!(!encodings(&"a".repeat(LONGEST)).is_empty());
    }
}
