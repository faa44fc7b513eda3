//! Walks over one JSON value of any depth and proves that it is JSON. Never recurses.

use crate::scan::FaultKind;

/// Is `bytes` exactly one JSON value (white space around it allowed)?
pub fn is_json(bytes: &[u8]) -> bool {
    if std::str::from_utf8(bytes).is_err() {
        return false;
    }
    matches!(value(bytes, white(bytes, 0)), Ok(end) if white(bytes, end) == bytes.len())
}

/// First position at or after `at` that is not white space.
#[inline]
pub(crate) fn white(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(at) {
        at += 1;
    }
    at
}

/// The end of the value that starts at `at`. The caller has checked that `bytes` is UTF-8.
#[inline]
pub(crate) fn value(bytes: &[u8], at: usize) -> Result<usize, (FaultKind, usize)> {
    match bytes.get(at) {
        Some(b'{' | b'[') => container(bytes, at),
        _ => scalar(bytes, at),
    }
}

/// The end of the string whose opening quote is at `at`.
#[inline]
pub(crate) fn string(bytes: &[u8], at: usize) -> Result<usize, (FaultKind, usize)> {
    if bytes.get(at) != Some(&b'"') {
        return Err(broken(bytes, at));
    }
    let mut at = at + 1;
    loop {
        at = plain_run(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at = escape(bytes, at)?,
            _ => return Err(broken(bytes, at)),
        }
    }
}

fn scalar(bytes: &[u8], at: usize) -> Result<usize, (FaultKind, usize)> {
    match bytes.get(at) {
        Some(b'"') => string(bytes, at),
        Some(b't') => literal(bytes, at, b"true"),
        Some(b'f') => literal(bytes, at, b"false"),
        Some(b'n') => literal(bytes, at, b"null"),
        Some(b'-' | b'0'..=b'9') => number(bytes, at),
        _ => Err(broken(bytes, at)),
    }
}

/// The kinds of the open containers, one bit each: payloads may nest 200,000 levels.
#[derive(Default)]
struct Open {
    top: u64,
    top_len: u32,
    below: Vec<u64>,
}

impl Open {
    fn push(&mut self, is_object: bool) {
        if self.top_len == u64::BITS {
            self.below.push(self.top);
            self.top_len = 0;
        }
        self.top = (self.top << 1) | u64::from(is_object);
        self.top_len += 1;
    }

    fn in_object(&self) -> bool {
        self.top & 1 == 1
    }

    /// Closes the innermost container; true when none is left open.
    fn pop(&mut self) -> bool {
        self.top >>= 1;
        self.top_len -= 1;
        if self.top_len == 0 {
            match self.below.pop() {
                Some(word) => {
                    self.top = word;
                    self.top_len = u64::BITS;
                }
                None => return true,
            }
        }
        false
    }
}

fn container(bytes: &[u8], mut at: usize) -> Result<usize, (FaultKind, usize)> {
    let mut open = Open::default();
    loop {
        // `at` is where a value starts.
        at = match bytes.get(at) {
            Some(b'{') => {
                open.push(true);
                at = white(bytes, at + 1);
                if bytes.get(at) != Some(&b'}') {
                    at = key(bytes, at)?;
                    continue;
                }
                at
            }
            Some(b'[') => {
                open.push(false);
                at = white(bytes, at + 1);
                if bytes.get(at) != Some(&b']') {
                    continue;
                }
                at
            }
            _ => white(bytes, scalar(bytes, at)?),
        };
        // `at` is behind a value, or on the bracket that closes an empty container.
        loop {
            match (bytes.get(at), open.in_object()) {
                (Some(b','), true) => {
                    at = key(bytes, white(bytes, at + 1))?;
                    break;
                }
                (Some(b','), false) => {
                    at = white(bytes, at + 1);
                    break;
                }
                (Some(b'}'), true) | (Some(b']'), false) => {
                    at += 1;
                    if open.pop() {
                        return Ok(at);
                    }
                    at = white(bytes, at);
                }
                _ => return Err(broken(bytes, at)),
            }
        }
    }
}

/// Over a member's key and colon; returns where its value starts.
#[inline]
pub(crate) fn key(bytes: &[u8], at: usize) -> Result<usize, (FaultKind, usize)> {
    colon(bytes, string(bytes, at)?)
}

/// Over the colon that follows a key ending at `at`; returns where the value starts.
#[inline]
pub(crate) fn colon(bytes: &[u8], at: usize) -> Result<usize, (FaultKind, usize)> {
    let at = white(bytes, at);
    match bytes.get(at) {
        Some(b':') => Ok(white(bytes, at + 1)),
        _ => Err(broken(bytes, at)),
    }
}

/// How many bytes are looked at together: the compiler turns the test into vector instructions.
const BLOCK: usize = 32;

/// The first byte at or after `at` that ends a run of plain string bytes: a quote, a backslash or
/// a control character (or the end of `bytes`).
#[inline]
fn plain_run(bytes: &[u8], mut at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let (blocks, _) = rest.as_chunks::<BLOCK>();
    for block in blocks {
        let special = block
            .iter()
            .fold(0, |seen, byte| seen | u8::from(ends_run(*byte)));
        if special != 0 {
            break;
        }
        at += BLOCK;
    }
    while let Some(byte) = bytes.get(at) {
        if ends_run(*byte) {
            break;
        }
        at += 1;
    }
    at
}

#[inline]
fn ends_run(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

fn escape(bytes: &[u8], at: usize) -> Result<usize, (FaultKind, usize)> {
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => match bytes.get(at + 2..at + 6) {
            Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => Ok(at + 6),
            _ => Err(broken(bytes, at)),
        },
        _ => Err(broken(bytes, at)),
    }
}

fn literal(bytes: &[u8], at: usize, word: &[u8]) -> Result<usize, (FaultKind, usize)> {
    match bytes.get(at..at + word.len()) {
        Some(found) if found == word => Ok(at + word.len()),
        _ => Err(broken(bytes, at)),
    }
}

fn number(bytes: &[u8], mut at: usize) -> Result<usize, (FaultKind, usize)> {
    if bytes.get(at) == Some(&b'-') {
        at += 1;
    }
    at = match bytes.get(at) {
        Some(b'0') => at + 1,
        Some(b'1'..=b'9') => digits(bytes, at),
        _ => return Err(broken(bytes, at)),
    };
    if bytes.get(at) == Some(&b'.') {
        at = some_digits(bytes, at + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1;
        if let Some(b'+' | b'-') = bytes.get(at) {
            at += 1;
        }
        at = some_digits(bytes, at)?;
    }
    Ok(at)
}

fn digits(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b'0'..=b'9') = bytes.get(at) {
        at += 1;
    }
    at
}

fn some_digits(bytes: &[u8], at: usize) -> Result<usize, (FaultKind, usize)> {
    let end = digits(bytes, at);
    if end == at {
        return Err(broken(bytes, at));
    }
    Ok(end)
}

/// What is wrong at `at`: the text ends there, or something else stands there.
pub(crate) fn broken(bytes: &[u8], at: usize) -> (FaultKind, usize) {
    if at >= bytes.len() {
        (FaultKind::Truncated, bytes.len())
    } else {
        (FaultKind::NotJson, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: bool) {
        assert_eq!(is_json(text.as_bytes()), expected, "{text:?}");
    }

    #[test]
    fn what_json_is() {
        for good in [
            "0",
            "-0",
            "1.0",
            "1e400",
            "1E+5",
            "123456789012345678901234567890",
            "\"\"",
            "null",
            "true",
            "false",
            "[]",
            "{}",
            "[[]]",
            "[1,2]",
            "{\"a\":{\"b\":[]},\"a\":1}",
            " [ 1 , 2 ] ",
            r#""\ud800""#,
            r#""\/\u00e9""#,
            "[{},[],{\"x\":[{}]}]",
        ] {
            check(good, true);
        }
    }

    #[test]
    fn what_json_is_not() {
        for bad in [
            "",
            "01",
            "+1",
            "1.",
            ".5",
            "1e",
            "-",
            "tru",
            "nul",
            "[1,]",
            "{\"a\":1,}",
            "{a:1}",
            "{\"a\" 1}",
            "[1 2]",
            "[}",
            "{]",
            "[",
            "{\"a\":",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"a",
            "\"\u{1}\"",
            "1 2",
            "[]]",
            "'a'",
            "NaN",
        ] {
            check(bad, false);
        }
    }

    #[test]
    fn depth_is_not_limited() {
        for depth in [1, 63, 64, 65, 129, 200_000] {
            check(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)), true);
            check(
                &format!("{}1{}", "{\"k\":".repeat(depth), "}".repeat(depth)),
                true,
            );
            check(&"[".repeat(depth), false);
            check(
                &format!("{}{}", "[".repeat(depth), "]".repeat(depth + 1)),
                false,
            );
        }
    }

    proptest! {
        /// serde_json and we agree on short texts made of JSON's own characters. Its two limits
        /// (numbers out of range, lone surrogates) are not rules of JSON and are left out.
        #[test]
        fn agrees_with_serde_json(text in "[\\[\\]{}:,\"a0-9 .\\-tfn]{0,24}") {
            let theirs = serde_json::from_str::<Box<serde_json::value::RawValue>>(&text).is_ok();
            prop_assert_eq!(is_json(text.as_bytes()), theirs);
        }

        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            is_json(&bytes);
        }
    }
}
