//! JSON of strangers in the API's answers, made so that the parser reads it. Pure.
//!
//! Schemas and annotations of tools stand there as their servers wrote them. All of it is JSON, but not all JSON
//! can be held as values: nesting beyond 128 levels, halves of surrogates, numbers without a bound. One such
//! tool must not make a page of all servers unreadable.

use serde_json::Value;

/// The parser gives up at 128.
const DEEPEST: usize = 100;
/// What stands in the place of everything deeper.
const CUT: &[u8] = "\"…\"".as_bytes();
const UNKNOWN: &[u8] = b"\\ufffd";

/// As it is, if it can be; else with the odd parts replaced. `None`: it is no JSON.
pub(crate) fn read(json: &[u8]) -> Option<Value> {
    let read = serde_json::from_slice(json).ok();
    read.or_else(|| serde_json::from_slice(&legible(json)).ok())
}

fn legible(json: &[u8]) -> Vec<u8> {
    let (mut out, mut rest, mut depth) = (Vec::with_capacity(json.len()), json, 0usize);
    while let Some(first) = rest.first() {
        let (length, token) = match first {
            b'"' => text(rest),
            b'-' | b'0'..=b'9' => number(rest),
            _ => (1, rest.get(..1).unwrap_or_default().to_vec()),
        };
        let before = depth;
        match first {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if before <= DEEPEST && depth <= DEEPEST {
            out.extend_from_slice(&token);
        } else if before == DEEPEST {
            out.extend_from_slice(CUT);
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    out
}

/// How long the text at the beginning is, and the same without halves of surrogates.
fn text(json: &[u8]) -> (usize, Vec<u8>) {
    let (mut out, mut at) = (vec![b'"'], 1);
    while let Some(byte) = json.get(at) {
        let (length, piece) = match byte {
            b'\\' => escape(json.get(at..).unwrap_or_default()),
            _ => (1, json.get(at..=at).unwrap_or_default()),
        };
        out.extend_from_slice(piece);
        at += length;
        if *byte == b'"' {
            break;
        }
    }
    (at, out)
}

fn escape(json: &[u8]) -> (usize, &[u8]) {
    let unit = |at: usize| {
        let digits = json.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let length = match (unit(0), unit(6)) {
        (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
        (Some(0xd800..0xe000), _) => return (6, UNKNOWN),
        (Some(_), _) => 6,
        (None, _) => 2,
    };
    (length, json.get(..length).unwrap_or(json))
}

/// One that no number can hold is shown as it is spelt.
fn number(json: &[u8]) -> (usize, Vec<u8>) {
    let is_of_it = |byte: &&u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let length = json.iter().take_while(is_of_it).count();
    let spelt = json.get(..length).unwrap_or_default();
    let value = std::str::from_utf8(spelt).ok().and_then(|spelt| spelt.parse::<f64>().ok());
    match value.is_some_and(f64::is_infinite) {
        true => (length, [b"\"", spelt, b"\""].concat()),
        false => (length, spelt.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deep(levels: usize) -> String {
        format!(r#"{}"]}}\" [{{"{}"#, r#"{"a":["#.repeat(levels), "]}".repeat(levels))
    }

    #[test]
    fn what_can_be_read_stays_as_it_is() {
        for json in [
            "1",
            "[]",
            " [ -1.5e3 , 0 , true,null]",
            r#"{"a":"\\","b":["]",{"c":"\"{["}],"ä":"\ud83d\ude00 \u00e9 \n"}"#,
            &deep(50),
        ] {
            assert_eq!(legible(json.as_bytes()), json.as_bytes(), "{json}");
            assert!(read(json.as_bytes()).is_some(), "{json}");
        }
    }

    #[test]
    fn odd_parts_are_replaced_and_the_rest_is_read() {
        for (json, expected) in [
            (r#"[1e999,-1e999,1]"#, json!(["1e999", "-1e999", 1])),
            (
                r#"["a\ud800b","\udc00","\ud800\u0041"]"#,
                json!(["a\u{fffd}b", "\u{fffd}", "\u{fffd}A"]),
            ),
            (r#"{"\ud800":"\ud83d\ude00"}"#, json!({"\u{fffd}": "😀"})),
        ] {
            assert_eq!(read(json.as_bytes()), Some(expected), "{json}");
        }
        for levels in [51, 64, 1_000, 100_000] {
            let list = format!(r#"[{{"x":{},"y":"after"}},2]"#, deep(levels));
            let read = read(list.as_bytes()).unwrap();
            assert_eq!((&read[0]["y"], &read[1]), (&json!("after"), &json!(2)), "{levels}");
            assert!(levels < 64 || read.to_string().contains("\"…\""), "{levels}");
        }
    }

    #[test]
    fn what_is_no_json_stays_none() {
        for text in ["", "]]]", "{", "\"", "\"\\", "\"\\u12", "-", "<html>", "[1 2]"] {
            assert_eq!(read(text.as_bytes()), None, "{text}");
        }
    }
}
