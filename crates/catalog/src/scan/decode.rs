//! Payloads in another writing: base64, hex, percent and `\u` escapes that are words when decoded.

/// The longest piece that is decoded; what is longer is looked at up to here.
const MOST: usize = 16 * 1024;

/// How many pieces of one text are decoded.
const MOST_PIECES: usize = 16;

/// The texts that are written in another way inside `text`, decoded.
pub(super) fn encoded_texts(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for run in text.split(|c: char| {
        c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '(' | ')' | ',' | '<' | '>')
    }) {
        let run = run.rsplit_once("base64,").map_or(run, |(_, data)| data);
        let run = run.strip_prefix("config=").unwrap_or(run);
        let run = run.get(..MOST).unwrap_or(run).trim_end_matches(['.', ';', ':']);
        if run.len() < 12 {
            continue;
        }
        let tail = run.split_once('=').map_or(run, |(name, value)| {
            // `name=payload`; padding is at the end.
            if value.trim_matches('=').is_empty() {
                run
            } else {
                let _ = name;
                value
            }
        });
        let decoded =
            percent(run).or_else(|| escapes(run)).or_else(|| hex(tail)).or_else(|| base64(tail));
        found.extend(decoded.filter(|text| reads_like_words(text)));
        if found.len() >= MOST_PIECES {
            return found;
        }
    }
    found.extend(spaced_hex(text).filter(|text| reads_like_words(text)));
    found
}

/// Words with blanks between them, in ASCII: what a message looks like, and what a hash does not.
fn reads_like_words(text: &str) -> bool {
    let letters = text.bytes().filter(|byte| byte.is_ascii_alphabetic() || *byte == b' ').count();
    let blanks = text.bytes().filter(|byte| *byte == b' ').count();
    blanks >= 2
        && letters * 10 >= text.len() * 7
        && text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n'))
        || text.len() >= 6 && text.contains(".env")
}

fn base64(run: &str) -> Option<String> {
    let data = run.trim_end_matches('=');
    if data.len() < 20 {
        return None;
    }
    let mut bytes = Vec::with_capacity(data.len() * 3 / 4);
    let (mut sum, mut bits) = (0_u32, 0);
    for byte in data.bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        sum = (sum << 6) | u32::from(six);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(((sum >> bits) & 0xff).try_into().ok()?);
        }
    }
    String::from_utf8(bytes).ok()
}

fn hex(run: &str) -> Option<String> {
    let run = run.strip_prefix("0x").unwrap_or(run);
    if run.len() < 16 || run.len() % 2 == 1 || !run.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let pairs = run.as_bytes().chunks_exact(2);
    let bytes: Option<Vec<u8>> = pairs.map(pair).collect();
    String::from_utf8(bytes?).ok()
}

fn pair(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// `52 65 61 64`: at least eight pairs in a row.
fn spaced_hex(text: &str) -> impl Iterator<Item = String> {
    let mut found = Vec::new();
    let mut run: Vec<u8> = Vec::new();
    for word in text.split_whitespace().chain([""]) {
        match (word.len() == 2).then(|| pair(word.as_bytes())).flatten() {
            Some(byte) if run.len() < MOST => run.push(byte),
            _ => {
                if run.len() >= 8 && found.len() < MOST_PIECES {
                    found.extend(String::from_utf8(std::mem::take(&mut run)).ok());
                }
                run.clear();
            }
        }
    }
    found.into_iter()
}

/// Mostly `%XX`: a link with a few escapes is none.
fn percent(run: &str) -> Option<String> {
    let escapes = run.bytes().filter(|byte| *byte == b'%').count();
    if escapes < 8 || escapes * 3 * 2 < run.len() {
        return None;
    }
    let mut bytes = Vec::new();
    let mut rest = run.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        match (first, tail.get(..2).and_then(pair)) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// `\u0072\u0065`, written out: the text itself has backslashes.
fn escapes(run: &str) -> Option<String> {
    if !run.starts_with("\\u") && !run.starts_with("\\x") {
        return None;
    }
    let pieces = run.split('\\').filter(|piece| !piece.is_empty());
    let decoded: Option<String> = pieces
        .map(|piece| {
            u32::from_str_radix(piece.get(1..)?.trim_matches(['{', '}']), 16)
                .ok()
                .and_then(char::from_u32)
        })
        .collect();
    decoded.filter(|text| text.len() >= 6)
}
