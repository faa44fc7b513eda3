//! Walks over one JSON value of any depth and proves that it is JSON. Never recurses.

mod long;

use std::cell::Cell;
use std::ops::Deref;

use crate::fault::FaultKind;

/// Is `bytes` exactly one JSON value (white space around it allowed)?
pub fn is_json(bytes: &[u8]) -> bool {
    let text = ScannedText::new(bytes);
    let whole = |end| white(bytes, end) == bytes.len();
    value(&text, white(bytes, 0)).is_ok_and(whole) && text.is_utf8()
}

/// What is being walked over. Remembers whether a byte beyond ASCII was seen, which only strings
/// can hold: most messages are then known to be UTF-8 without a second look.
#[derive(Debug)]
pub(crate) struct ScannedText<'a> {
    bytes: &'a [u8],
    /// All string bytes so far, or-ed together; of long ones only whether any was beyond ASCII.
    seen: Cell<u64>,
    /// Why the walk was given up, where it was not for a byte that cannot stand there.
    refused: Cell<Option<FaultKind>>,
}

impl<'a> ScannedText<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, seen: Cell::new(0), refused: Cell::new(None) }
    }

    /// Gives the walk up at `at`.
    #[cold]
    pub(crate) fn refuse(&self, why: FaultKind, at: usize) -> Broken {
        self.refused.set(Some(why));
        Broken(at)
    }

    /// Why a walk that ended there could not go on.
    pub(crate) fn why(&self, at: Broken) -> (FaultKind, usize) {
        match self.refused.get() {
            Some(why) => (why, at.0),
            None if at.0 >= self.bytes.len() => (FaultKind::Truncated, self.bytes.len()),
            None => (FaultKind::NotJson, at.0),
        }
    }

    /// None of its strings so far holds a byte beyond ASCII.
    #[inline]
    fn is_ascii(&self) -> bool {
        self.seen.get() & HIGH == 0
    }

    /// Notes further bytes of strings, or-ed together.
    #[inline]
    fn saw(&self, bytes: u64) {
        self.seen.set(self.seen.get() | bytes);
    }

    /// To be asked after the walk.
    pub(crate) fn is_utf8(&self) -> bool {
        self.is_ascii() || std::str::from_utf8(self.bytes).is_ok()
    }
}

impl Deref for ScannedText<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

/// Where a walk has arrived, or where it could not go on. Small on purpose: it is returned for every
/// token.
pub(crate) type Walk = Result<usize, Broken>;

/// It could not go on at this byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Broken(pub(crate) usize);

/// First position at or after `at` that is not white space.
#[inline]
pub(crate) fn white(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(at) {
        at += 1;
    }
    at
}

/// The end of the value that starts at `at`. Whether it is UTF-8 is known when the walk is over.
#[inline]
pub(crate) fn value(bytes: &ScannedText<'_>, at: usize) -> Walk {
    match bytes.get(at) {
        // A container is walked with a stack of bits instead of recursion: no depth of nesting can
        // overflow the thread's stack.
        Some(b'{' | b'[') => container(bytes, at),
        _ => scalar(bytes, at),
    }
}

/// The end of the string whose opening quote is at `at`.
#[inline]
pub(crate) fn string(bytes: &ScannedText<'_>, at: usize) -> Walk {
    if bytes.get(at) != Some(&b'"') {
        return Err(Broken(at));
    }
    inside_string(bytes, at + 1, at + LONG)
}

/// The end of the string that `at` is inside of, of which there is not much left.
fn short_string(bytes: &ScannedText<'_>, at: usize) -> Walk {
    inside_string(bytes, at, usize::MAX)
}

/// An escape beyond `long` means that the rest is worth another way.
#[inline]
fn inside_string(bytes: &ScannedText<'_>, mut at: usize, long: usize) -> Walk {
    loop {
        at = plain_run(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at = escape(bytes, at)?,
            _ => return Err(Broken(at)),
        }
        if at >= long {
            return long::rest_of_string(bytes, at);
        }
    }
}

/// The end of the string whose opening quote is at `at`, if it is one without escapes.
#[inline]
pub(crate) fn plain_string(bytes: &ScannedText<'_>, at: usize) -> Option<usize> {
    let end = (bytes.get(at) == Some(&b'"')).then(|| plain_run(bytes, at + 1))?;
    (bytes.get(end) == Some(&b'"')).then_some(end + 1)
}

fn scalar(bytes: &ScannedText<'_>, at: usize) -> Walk {
    match bytes.get(at) {
        Some(b'"') => string(bytes, at),
        Some(b't') => literal(bytes, at, b"true"),
        Some(b'f') => literal(bytes, at, b"false"),
        Some(b'n') => literal(bytes, at, b"null"),
        Some(b'-' | b'0'..=b'9') => number(bytes, at),
        _ => Err(Broken(at)),
    }
}

/// The kinds of the open containers, one bit each: payloads may nest 200,000 levels.
#[derive(Default)]
struct OpenContainers {
    top: u64,
    top_len: u32,
    below: Vec<u64>,
}

impl OpenContainers {
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

fn container(bytes: &ScannedText<'_>, mut at: usize) -> Walk {
    let mut open = OpenContainers::default();
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
                _ => return Err(Broken(at)),
            }
        }
    }
}

/// Over a member's key and colon; returns where its value starts.
#[inline]
pub(crate) fn key(bytes: &ScannedText<'_>, at: usize) -> Walk {
    colon(bytes, string(bytes, at)?)
}

/// Over the colon that follows a key ending at `at`; returns where the value starts.
#[inline]
pub(crate) fn colon(bytes: &[u8], at: usize) -> Walk {
    let at = white(bytes, at);
    match bytes.get(at) {
        Some(b':') => Ok(white(bytes, at + 1)),
        _ => Err(Broken(at)),
    }
}

/// The first byte at or after `at` that ends a run of plain string bytes: a quote, a backslash or
/// a control character (or the end of the text). Most strings are short, so it starts with eight
/// bytes at a time; of the longer ones, blocks are looked at as a whole
/// (and of the really long ones with what the processor can do, `long`).
#[inline]
fn plain_run(text: &ScannedText<'_>, mut at: usize) -> usize {
    let mut seen = text.seen.get();
    let end = 'found: {
        for _ in 0..SHORT_WORDS {
            match word_at(text, at) {
                Some((word, 0)) => seen |= word,
                Some((word, found)) => break 'found within(word, found, at, &mut seen),
                None => break 'found last_bytes(text, at, &mut seen),
            }
            at += 8;
        }
        at = plain_blocks(text, at, &mut seen);
        loop {
            match word_at(text, at) {
                Some((word, 0)) => seen |= word,
                Some((word, found)) => break 'found within(word, found, at, &mut seen),
                None => break 'found last_bytes(text, at, &mut seen),
            }
            at += 8;
        }
    };
    text.seen.set(seen);
    end
}

// Keys and most names end within sixteen bytes: for those a block would cost more than it saves.
const SHORT_WORDS: usize = 2;
const BLOCK: usize = 32;
/// From so many bytes on, a string is worth choosing instructions for.
const LONG: usize = 256;

/// Eight bytes, and where a run ends among them (0: nowhere).
#[inline]
fn word_at(bytes: &[u8], at: usize) -> Option<(u64, u64)> {
    let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
    Some((word, run_ends(word)))
}

/// The run ends in this word: notes the bytes before the end.
#[inline]
fn within(word: u64, found: u64, at: usize, seen: &mut u64) -> usize {
    let bits = found.trailing_zeros() & !7;
    *seen |= word & ((1 << bits) - 1);
    at + (bits / 8) as usize
}

/// Over whole blocks without an end of the run. No branch inside a block: the compiler turns it
/// into vector instructions.
fn plain_blocks(bytes: &[u8], mut at: usize, seen: &mut u64) -> usize {
    let (blocks, _) = bytes.get(at..).unwrap_or_default().as_chunks::<BLOCK>();
    let mut high = 0;
    for block in blocks.iter().take(LONG / BLOCK) {
        let (mut ends, mut all) = (0, 0);
        for byte in block {
            ends |= u8::from(ends_run(*byte));
            all |= byte;
        }
        if ends != 0 {
            *seen |= u64::from(high);
            return at;
        }
        high |= all;
        at += BLOCK;
    }
    *seen |= u64::from(high);
    long::plain_blocks(bytes, at, seen)
}

/// Fewer than eight bytes are left.
fn last_bytes(bytes: &[u8], mut at: usize, seen: &mut u64) -> usize {
    while let Some(byte) = bytes.get(at).filter(|byte| !ends_run(**byte)) {
        *seen |= u64::from(*byte);
        at += 1;
    }
    at
}

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGH: u64 = ONES << 7;

/// The high bit of the first byte (the lowest, in little endian) that ends a run is set, and none
/// below it; bits above it mean nothing.
#[inline]
fn run_ends(word: u64) -> u64 {
    let zero_byte = |word: u64| word.wrapping_sub(ONES) & !word;
    let quote = zero_byte(word ^ (ONES * b'"' as u64));
    let backslash = zero_byte(word ^ (ONES * b'\\' as u64));
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (quote | backslash | control) & HIGH
}

#[inline]
fn ends_run(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

fn escape(bytes: &[u8], at: usize) -> Walk {
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => match bytes.get(at + 2..at + 6) {
            Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => Ok(at + 6),
            _ => Err(Broken(at)),
        },
        _ => Err(Broken(at)),
    }
}

fn literal(bytes: &[u8], at: usize, word: &[u8]) -> Walk {
    match bytes.get(at..at + word.len()) {
        Some(found) if found == word => Ok(at + word.len()),
        _ => Err(Broken(at)),
    }
}

fn number(bytes: &[u8], mut at: usize) -> Walk {
    if bytes.get(at) == Some(&b'-') {
        at += 1;
    }
    at = match bytes.get(at) {
        // RFC 8259, 6: nothing follows a leading zero but a fraction or an exponent.
        Some(b'0') => at + 1,
        Some(b'1'..=b'9') => digits(bytes, at),
        _ => return Err(Broken(at)),
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

fn some_digits(bytes: &[u8], at: usize) -> Walk {
    let end = digits(bytes, at);
    if end == at {
        return Err(Broken(at));
    }
    Ok(end)
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
            check(&format!("{}1{}", "{\"k\":".repeat(depth), "}".repeat(depth)), true);
            check(&"[".repeat(depth), false);
            check(&format!("{}{}", "[".repeat(depth), "]".repeat(depth + 1)), false);
        }
    }

    proptest! {
        #[test]
        fn a_run_ends_where_a_look_at_each_byte_says(
            bytes in proptest::collection::vec(prop_oneof![9 => 0x20_u8..=255, 1 => any::<u8>()], 0..120),
            at in 0_usize..120,
        ) {
            let at = at.min(bytes.len());
            let expected = bytes[at..].iter().position(|b| ends_run(*b)).map_or(bytes.len(), |n| at + n);
            let text = ScannedText::new(&bytes);
            prop_assert_eq!(plain_run(&text, at), expected);
            let ascii = bytes[at..expected].is_ascii();
            prop_assert_eq!(text.seen.get() & HIGH == 0, ascii);
        }

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
