//! A small JSON scanner: it finds values inside raw bytes, checks their grammar, and never rewrites.
//!
//! Nothing recurses, so 200,000 levels are as good as two.

use std::ops::Range;

/// One member of an object: both parts as written, the key with its quotes.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    pub key: &'a [u8],
    pub value: &'a [u8],
}

/// Is it exactly one JSON value, white space around it allowed?
pub fn is_json(bytes: &[u8]) -> bool {
    value_end(bytes, 0).is_some_and(|end| skip_space(bytes, end) == bytes.len())
}

/// The value of the first member called `key`, however the key is spelled.
pub fn get<'a>(object: &'a [u8], key: &str) -> Option<&'a [u8]> {
    named(&members(object)?, key)
}

/// [`get`] of members that are known already.
pub fn named<'a>(members: &[Member<'a>], key: &str) -> Option<&'a [u8]> {
    members.iter().find(|m| is_key(m, key)).map(|m| m.value)
}

/// [`get`] step by step into nested objects.
pub fn path<'a>(object: &'a [u8], keys: &[&str]) -> Option<&'a [u8]> {
    keys.iter().try_fold(object, |value, key| get(value, key))
}

/// Where the value of the first member called `key` lies.
pub fn span(object: &[u8], key: &str) -> Option<Range<usize>> {
    let value = get(object, key)?;
    let start = value.as_ptr() as usize - object.as_ptr() as usize;
    Some(start..start + value.len())
}

/// `object` with the value at `key` replaced and every other byte kept.
pub fn replace(object: &[u8], key: &str, with: &[u8]) -> Option<Vec<u8>> {
    let span = span(object, key)?;
    Some([&object[..span.start], with, &object[span.end..]].concat())
}

/// `object` with these raw members (`"a":1,"b":2`) in front of its own.
pub fn with_first(object: &[u8], new: &str) -> Vec<u8> {
    let open = object.iter().position(|&byte| byte == b'{').map_or(0, |at| at + 1);
    let comma: &[u8] = if members(object).is_none_or(|all| all.is_empty()) { b"" } else { b"," };
    [&object[..open], new.as_bytes(), comma, &object[open..]].concat()
}

/// `object` with these raw members behind its own.
pub fn with_last(object: &[u8], new: &str) -> Vec<u8> {
    let close = object.iter().rposition(|&byte| byte == b'}').unwrap_or(object.len());
    let comma: &[u8] = if members(object).is_none_or(|all| all.is_empty()) { b"" } else { b"," };
    [&object[..close], comma, new.as_bytes(), &object[close..]].concat()
}

/// `object` without the first member called `key` and one comma beside it; every other byte kept.
pub fn without(object: &[u8], key: &str) -> Vec<u8> {
    let found = members(object).and_then(|all| all.into_iter().find(|m| is_key(m, key)));
    let Some(member) = found else { return object.to_vec() };
    let start = member.key.as_ptr() as usize - object.as_ptr() as usize;
    let end = member.value.as_ptr() as usize - object.as_ptr() as usize + member.value.len();
    let after = skip_space(object, end);
    let before = object[..start].iter().rposition(|byte| !byte.is_ascii_whitespace());
    let gone = match before {
        _ if object.get(after) == Some(&b',') => start..after + 1,
        Some(comma) if object[comma] == b',' => comma..end,
        _ => start..end,
    };
    [&object[..gone.start], &object[gone.end..]].concat()
}

/// The members of an object in the order they are written, duplicates included.
pub fn members(object: &[u8]) -> Option<Vec<Member<'_>>> {
    let mut found = Vec::new();
    let mut at = skip_space(object, 0);
    if object.get(at) != Some(&b'{') {
        return None;
    }
    at = skip_space(object, at + 1);
    if object.get(at) == Some(&b'}') {
        return Some(found);
    }
    loop {
        let key_end = string_end(object, at)?;
        let value_at = skip_space(object, key_value_start(object, at)?);
        let end = value_end(object, value_at)?;
        found.push(Member { key: &object[at..key_end], value: &object[value_at..end] });
        at = skip_space(object, end);
        match object.get(at)? {
            b',' => at = skip_space(object, at + 1),
            b'}' => return Some(found),
            _ => return None,
        }
    }
}

/// The elements of an array as written.
pub fn elements(array: &[u8]) -> Option<Vec<&[u8]>> {
    let mut found = Vec::new();
    let mut at = skip_space(array, 0);
    if array.get(at) != Some(&b'[') {
        return None;
    }
    at = skip_space(array, at + 1);
    if array.get(at) == Some(&b']') {
        return Some(found);
    }
    loop {
        let end = value_end(array, at)?;
        found.push(&array[at..end]);
        at = skip_space(array, end);
        match array.get(at)? {
            b',' => at = skip_space(array, at + 1),
            b']' => return Some(found),
            _ => return None,
        }
    }
}

/// What a JSON string says.
pub fn text(raw: &[u8]) -> Option<String> {
    serde_json::from_slice(raw).ok()
}

/// `text` as a JSON string.
pub fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The end of the value that starts at `at` (white space before it allowed).
pub fn value_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut open = Vec::new();
    loop {
        at = skip_space(bytes, at);
        match bytes.get(at)? {
            b'{' => {
                at = skip_space(bytes, at + 1);
                if bytes.get(at) == Some(&b'}') {
                    at += 1;
                } else {
                    open.push(b'}');
                    at = key_value_start(bytes, at)?;
                    continue;
                }
            }
            b'[' => {
                at = skip_space(bytes, at + 1);
                if bytes.get(at) == Some(&b']') {
                    at += 1;
                } else {
                    open.push(b']');
                    continue;
                }
            }
            _ => at = scalar_end(bytes, at)?,
        }
        loop {
            let Some(&close) = open.last() else {
                return Some(at);
            };
            at = skip_space(bytes, at);
            let next = *bytes.get(at)?;
            if next == close {
                open.pop();
                at += 1;
            } else if next != b',' {
                return None;
            } else if close == b'}' {
                at = key_value_start(bytes, skip_space(bytes, at + 1))?;
                break;
            } else {
                at += 1;
                break;
            }
        }
    }
}

fn is_key(member: &Member<'_>, key: &str) -> bool {
    if member.key.contains(&b'\\') {
        return text(member.key).as_deref() == Some(key);
    }
    member.key.len() == key.len() + 2 && &member.key[1..=key.len()] == key.as_bytes()
}

/// From the quote of a key to the byte after its colon.
fn key_value_start(bytes: &[u8], at: usize) -> Option<usize> {
    let colon = skip_space(bytes, string_end(bytes, at)?);
    (bytes.get(colon) == Some(&b':')).then_some(colon + 1)
}

fn scalar_end(bytes: &[u8], at: usize) -> Option<usize> {
    let word = |word: &[u8]| bytes[at..].starts_with(word).then_some(at + word.len());
    match bytes.get(at)? {
        b'"' => string_end(bytes, at),
        b't' => word(b"true"),
        b'f' => word(b"false"),
        b'n' => word(b"null"),
        _ => number_end(bytes, at),
    }
}

fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let mut at = at + 1;
    loop {
        at = plain_end(bytes, at);
        match *bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at = escape_end(bytes, at + 1)?,
            0..=0x1f => return None,
            _ => at += 1,
        }
    }
}

/// Skips eight bytes at a time while there is no quote, backslash or control character among them:
/// tests are compiled without optimisation, and look through many MiB.
fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::MAX / 255;
    let has_zero = |word: u64| word.wrapping_sub(ONES) & !word & (ONES << 7) != 0;
    while let Some(Ok(eight)) = bytes.get(at..at + 8).map(TryInto::try_into) {
        let word = u64::from_le_bytes(eight);
        let has_control = word.wrapping_sub(ONES * 0x20) & !word & (ONES << 7) != 0;
        let has_quote = has_zero(word ^ (ONES * u64::from(b'"')));
        if has_control || has_quote || has_zero(word ^ (ONES * u64::from(b'\\'))) {
            break;
        }
        at += 8;
    }
    at
}

fn escape_end(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 1),
        b'u' => {
            let digits = bytes.get(at + 1..at + 5)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(at + 5)
        }
        _ => None,
    }
}

fn number_end(bytes: &[u8], at: usize) -> Option<usize> {
    let digits = |from: usize| {
        let count = bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        (count > 0).then_some(from + count)
    };
    let start = if bytes.get(at) == Some(&b'-') { at + 1 } else { at };
    let mut end = digits(start)?;
    if bytes[start] == b'0' && end > start + 1 {
        return None;
    }
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1)?;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        end = digits(end + 1 + sign)?;
    }
    Some(end)
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::{elements, get, is_json, members, path, replace, with_first, with_last, without};

    #[test]
    fn a_string_ends_at_its_quote_wherever_it_stands() {
        for place in 0..20 {
            for byte in 0..=u8::MAX {
                let text = [b"\"", &b"a".repeat(place)[..], &[byte], b"aaaaaaaaaa\""].concat();
                let expected = match byte {
                    b'"' => Some(place + 2),
                    b'\\' | 0..=0x1f => None,
                    _ => Some(text.len()),
                };
                assert_eq!(super::string_end(&text, 0), expected, "{byte} at {place}");
            }
        }
    }

    #[test]
    fn grammar() {
        for good in [
            "0",
            "-0",
            "1.0",
            "1e2",
            "1E+400",
            "-0.5e-3",
            "\"\"",
            "\"\\ud800\"",
            "[]",
            "{}",
            " [ ] ",
            "[1,[2,{\"a\":[]}]]",
            "{\"a\":1,\"a\":2}",
            "true",
            "null",
            "\"\\/\"",
        ] {
            assert!(is_json(good.as_bytes()), "{good}");
        }
        for bad in [
            "",
            "01",
            "1.",
            ".5",
            "1e",
            "+1",
            "[1,]",
            "{\"a\":1,}",
            "{a:1}",
            "\"\n\"",
            "\"\\x\"",
            "[",
            "[1}",
            "{\"a\"}",
            "1 2",
            "nul",
            "\"\\u12\"",
            "{,}",
            "[,1]",
        ] {
            assert!(!is_json(bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn depth_is_free() {
        let deep = ["[".repeat(200_000), "]".repeat(200_000)].concat();
        assert!(is_json(deep.as_bytes()));
    }

    #[test]
    fn finding() {
        let line = br#" {"id" : 7 ,"params":{"name":"x","arguments":{ "a":[1, 2] }},"id":8}"#;
        assert_eq!(get(line, "id"), Some(&b"7"[..]));
        assert_eq!(path(line, &["params", "arguments"]), Some(&br#"{ "a":[1, 2] }"#[..]));
        assert_eq!(get(br#"{"\u0069d":9}"#, "id"), Some(&b"9"[..]));
        assert_eq!(members(line).map(|all| all.len()), Some(3));
        assert_eq!(elements(b"[1, [2,3] ,\"x\"]").map(|all| all.len()), Some(3));
        assert_eq!(
            replace(b"{\"a\": 1 ,\"b\":2}", "a", b"[]").as_deref(),
            Some(&b"{\"a\": [] ,\"b\":2}"[..])
        );
    }

    #[test]
    fn members_come_and_go_and_the_rest_stays() {
        for (object, expected) in [
            (r#"{ "a":1 , "b" : 2 }"#, r#"{ "x":0, "a":1 , "b" : 2 }"#),
            ("{ }", r#"{"x":0 }"#),
            (r#"{"a":1}"#, r#"{"x":0,"a":1}"#),
        ] {
            let with = with_first(object.as_bytes(), r#""x":0"#);
            assert_eq!(without(&with, "x"), object.as_bytes(), "{expected}");
            assert!(is_json(&with));
            let with = with_last(object.as_bytes(), r#""x":0"#);
            assert_eq!(get(&with, "x"), Some(&b"0"[..]), "{object}");
            assert!(is_json(&with));
        }
        assert_eq!(without(br#"{"a":1, "b":2,"c":3}"#, "b"), br#"{"a":1, "c":3}"#);
        assert_eq!(without(br#"{"a":1, "b":2}"#, "b"), br#"{"a":1}"#);
        assert_eq!(without(br#"{"a":1}"#, "b"), br#"{"a":1}"#);
    }
}
