//! Finds the few spans of a JSON-RPC line that a forwarder needs, without parsing the rest.
//!
//! Nothing is validated: on malformed input a function returns `None` or a span that makes no sense.

use memchr::memchr2;
use std::ops::Range;

/// Where the interesting values of a request stand; an empty range means "not there".
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Request {
    /// The id as written, quotes included.
    pub id: Range<usize>,
    /// The method without its quotes.
    pub method: Range<usize>,
    /// `params.name` without its quotes.
    pub name: Range<usize>,
    /// `params.arguments` as written. Only filled if it stands before the scan could stop.
    pub arguments: Range<usize>,
}

/// How much of a request the caller wants to know: the scan stops as soon as it has that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// `id`, `method` and, for `tools/call`, `params.name`.
    Name,
    /// `id`, `method`, `params.name` and `params.arguments`.
    Arguments,
}

/// Scans a line from a client.
pub fn request(line: &[u8], want: Want) -> Option<Request> {
    let mut found = Request::default();
    let mut cursor = Cursor::object(line, 0)?;
    while let Some(key) = cursor.key() {
        match &line[key] {
            b"id" => found.id = cursor.value()?,
            b"method" => found.method = unquoted(cursor.value()?),
            b"params" => cursor.at = params(line, cursor.at, &mut found, want)?,
            _ => _ = cursor.value()?,
        }
        if complete(line, &found, want) {
            break;
        }
    }
    Some(found)
}

/// The span of the top-level `id` of a line from a server; the scan stops there.
pub fn reply_id(line: &[u8]) -> Option<Range<usize>> {
    field(line, 0, b"id")
}

/// Whether the line is an answer and not a request or notification; stops at the first key that tells.
pub fn is_answer(line: &[u8]) -> bool {
    let Some(mut cursor) = Cursor::object(line, 0) else {
        return false;
    };
    while let Some(key) = cursor.key() {
        match &line[key] {
            b"result" | b"error" => return true,
            b"method" => return false,
            _ if cursor.value().is_none() => return false,
            _ => {}
        }
    }
    false
}

/// The span of the value of `name` in the object that starts at or after `from`.
pub fn field(line: &[u8], from: usize, name: &[u8]) -> Option<Range<usize>> {
    let mut cursor = Cursor::object(line, from)?;
    while let Some(key) = cursor.key() {
        let found = &line[key] == name;
        let value = cursor.value()?;
        if found {
            return Some(value);
        }
    }
    None
}

/// The spans of the elements of the array that starts at or after `from`.
pub fn elements(line: &[u8], from: usize) -> Vec<Range<usize>> {
    let mut cursor = Cursor { line, at: skip_space(line, from) + 1 };
    let mut spans = Vec::new();
    loop {
        cursor.at = skip_separators(line, cursor.at);
        if matches!(line.get(cursor.at), None | Some(b']')) {
            return spans;
        }
        let Some(span) = cursor.value() else {
            return spans;
        };
        spans.push(span);
    }
}

/// The number written at `span`.
pub fn number(line: &[u8], span: Range<usize>) -> Option<usize> {
    let digits = line.get(span)?;
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0usize, |sum, &b| {
        b.is_ascii_digit().then(|| sum.wrapping_mul(10).wrapping_add(usize::from(b - b'0')))
    })
}

/// Appends `value` in decimal.
pub fn push_number(out: &mut Vec<u8>, mut value: usize) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// The inside of a string's span.
pub fn unquoted(span: Range<usize>) -> Range<usize> {
    (span.start + 1)..span.end.saturating_sub(1).max(span.start + 1)
}

fn complete(line: &[u8], found: &Request, want: Want) -> bool {
    if found.id.is_empty() || found.method.is_empty() {
        return false;
    }
    if &line[found.method.clone()] != b"tools/call" {
        return true;
    }
    !found.name.is_empty() && (want == Want::Name || !found.arguments.is_empty())
}

/// Walks the params object and returns the position behind it, or any position once everything is known.
fn params(line: &[u8], from: usize, found: &mut Request, want: Want) -> Option<usize> {
    let from = skip_space(line, from);
    if line.get(from) != Some(&b'{') {
        return Some(skip_value(line, from));
    }
    let mut cursor = Cursor::object(line, from)?;
    while let Some(key) = cursor.key() {
        match &line[key] {
            b"name" => found.name = unquoted(cursor.value()?),
            b"arguments" if want == Want::Arguments => found.arguments = cursor.value()?,
            _ => _ = cursor.value()?,
        }
        if complete(line, found, want) {
            break;
        }
    }
    Some(cursor.at + 1)
}

/// A position inside an object or array.
struct Cursor<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Enters the object at or after `from`.
    fn object(line: &'a [u8], from: usize) -> Option<Self> {
        let at = skip_space(line, from);
        (line.get(at) == Some(&b'{')).then_some(Self { line, at: at + 1 })
    }

    /// The next key without its quotes, `None` at the closing brace; the cursor then stands on the value.
    fn key(&mut self) -> Option<Range<usize>> {
        self.at = skip_separators(self.line, self.at);
        if self.line.get(self.at) != Some(&b'"') {
            return None;
        }
        let end = skip_string(self.line, self.at);
        let key = self.at + 1..end.saturating_sub(1);
        let colon = skip_space(self.line, end);
        self.at = skip_space(self.line, colon + 1);
        Some(key)
    }

    /// The span of the value under the cursor, which moves behind it.
    fn value(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        self.at = skip_value(self.line, start);
        (self.at > start).then_some(start..self.at)
    }
}

fn skip_space(line: &[u8], mut at: usize) -> usize {
    while matches!(line.get(at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
        at += 1;
    }
    at
}

fn skip_separators(line: &[u8], mut at: usize) -> usize {
    while matches!(line.get(at), Some(b' ' | b'\t' | b'\r' | b'\n' | b',')) {
        at += 1;
    }
    at
}

/// The position behind the string that starts at `at`.
fn skip_string(line: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(step) = line.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += step;
        if line[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    line.len()
}

/// The position behind the value that starts at `at`.
fn skip_value(line: &[u8], at: usize) -> usize {
    match line.get(at) {
        Some(b'"') => skip_string(line, at),
        Some(b'{' | b'[') => skip_nested(line, at),
        _ => {
            let rest = line.get(at..).unwrap_or_default();
            let end =
                rest.iter().position(|b| matches!(b, b',' | b'}' | b']' | b' ' | b'\n' | b'\r'));
            at + end.unwrap_or(rest.len())
        }
    }
}

fn skip_nested(line: &[u8], mut at: usize) -> usize {
    let mut depth = 0usize;
    while let Some(&byte) = line.get(at) {
        match byte {
            b'"' => {
                at = skip_string(line, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, id: &str, method: &str, name: &str) {
        let found = request(line.as_bytes(), Want::Name).expect("an object");
        assert_eq!((&line[found.id], &line[found.method], &line[found.name]), (id, method, name));
    }

    #[test]
    fn a_request_is_found_in_any_order() {
        check(
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a:b","arguments":{}}}"#,
            "7",
            "tools/call",
            "a:b",
        );
        check(
            r#"{ "params" : {"arguments":{"name":"}\"{"},"name" : "a:b"}, "method":"tools/call", "id":"x\"y" }"#,
            r#""x\"y""#,
            "tools/call",
            "a:b",
        );
        check(
            r#"{"method":"notifications/initialized","params":[1]}"#,
            "",
            "notifications/initialized",
            "",
        );
        check(r#"{"id":1,"method":"ping"}"#, "1", "ping", "");
    }

    #[test]
    fn arguments_are_found_when_wanted() {
        let line =
            br#"{"id":1,"method":"tools/call","params":{"name":"t","arguments":{"size":12}}}"#;
        let found = request(line, Want::Arguments).expect("an object");
        let size = field(line, found.arguments.start, b"size").expect("size");
        assert_eq!(number(line, size), Some(12));
    }

    #[test]
    fn a_reply_id_is_found_behind_the_result() {
        let line = br#"{"jsonrpc":"2.0","result":{"id":3,"a":["]",{"b":"\\"}]},"id":42}"#;
        assert_eq!(&line[reply_id(line).expect("id")], b"42");
    }

    #[test]
    fn an_answer_is_told_by_its_first_telling_key() {
        assert!(is_answer(br#"{"jsonrpc":"2.0","id":3,"result":{"method":1}}"#));
        assert!(is_answer(br#"{"error":{},"id":3}"#));
        assert!(!is_answer(br#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#));
        assert!(!is_answer(b"hello"));
    }

    #[test]
    fn elements_are_the_array_s_own() {
        let line = br#"[ {"a":[1,2]}, "x,y" ,3]"#;
        let found: Vec<&[u8]> = elements(line, 0).into_iter().map(|span| &line[span]).collect();
        assert_eq!(found, [&br#"{"a":[1,2]}"#[..], br#""x,y""#, b"3"]);
        assert!(elements(b"[]", 0).is_empty());
    }

    #[test]
    fn numbers_are_written_as_read() {
        for value in [0, 9, 10, 1_234_567_890] {
            let mut out = Vec::new();
            push_number(&mut out, value);
            assert_eq!(number(&out, 0..out.len()), Some(value));
        }
    }
}
