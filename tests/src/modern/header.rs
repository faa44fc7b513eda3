//! The headers that mirror a request: `MCP-Protocol-Version`, `Mcp-Method`, `Mcp-Name`.

use super::stamp::VERSION;
use crate::scan;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// What a well-behaved client sends with this body.
pub fn of(body: &[u8]) -> Vec<(&'static str, String)> {
    let said = |keys: &[&str]| scan::path(body, keys).and_then(scan::text);
    let method = said(&["method"]).unwrap_or_default();
    let name = name_of(&method, body);
    [
        ("MCP-Protocol-Version", said(&["params", "_meta", VERSION])),
        ("Mcp-Method", Some(method)),
        ("Mcp-Name", name.as_deref().map(encode)),
    ]
    .into_iter()
    .filter_map(|(header, value)| Some((header, value?)))
    .collect()
}

/// What `Mcp-Name` mirrors.
pub fn name_of(method: &str, body: &[u8]) -> Option<String> {
    let key = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    scan::path(body, &["params", key]).and_then(scan::text)
}

/// The value as a header can carry it.
pub fn encode(value: &str) -> String {
    let plain = value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let marked = value.starts_with("=?base64?") && value.ends_with("?=");
    if plain && !marked && value.trim() == value {
        return value.to_owned();
    }
    format!("=?base64?{}?=", base64(value.as_bytes()))
}

/// What a header says; `None`: it is marked as Base64 and is none.
pub fn decode(value: &str) -> Option<String> {
    let value = value.trim();
    let inner = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    match inner {
        None => Some(value.to_owned()),
        Some(inner) => String::from_utf8(unbase64(inner.as_bytes())?).ok(),
    }
}

fn base64(bytes: &[u8]) -> String {
    let group = |group: &[u8]| {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | u32::from(*group.get(at).unwrap_or(&0)));
        let digit = |at: usize| match at <= group.len() {
            true => char::from(DIGITS[(bits >> (18 - 6 * at) & 63) as usize]),
            false => '=',
        };
        [digit(0), digit(1), digit(2), digit(3)]
    };
    bytes.chunks(3).flat_map(group).collect()
}

fn unbase64(text: &[u8]) -> Option<Vec<u8>> {
    let digits = text.strip_suffix(b"==").or(text.strip_suffix(b"=")).unwrap_or(text);
    let mut bits = Vec::new();
    for byte in digits {
        let digit = DIGITS.iter().position(|digit| digit == byte)?;
        bits.extend((0..6).rev().map(|at| digit >> at & 1));
    }
    let bytes = bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |all, bit| all << 1 | bit));
    let bytes: Vec<u8> = bytes.map(|byte| u8::try_from(byte).expect("eight bits")).collect();
    (base64(&bytes).as_bytes() == text).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn values_of_the_specification() {
        for (value, header) in [
            ("us-west1", "us-west1"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("", ""),
        ] {
            assert_eq!(encode(value), header);
            assert_eq!(decode(header).as_deref(), Some(value));
        }
        for broken in ["=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?="] {
            assert_eq!(decode(broken), None);
        }
    }
}
