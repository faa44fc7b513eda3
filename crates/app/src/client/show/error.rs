//! Errors for people and for programs.

use serde_json::Value;
use trunkline_wire::{encode_into, is_json};

use super::{list, parsed, text};
use crate::client::clean;

/// A server wants the user to visit a page first.
const URL_ELICITATION_REQUIRED: i64 = -32042;

/// The error with its code, and what the user is asked to do about it.
pub(crate) fn error_text(code: i64, message: &str, data: &[u8]) -> String {
    let mut out = format!("error: {} (code {code})\n", clean::block(message.trim()));
    if code == URL_ELICITATION_REQUIRED {
        for page in list(&parsed(data), "elicitations") {
            let (words, url) = (clean::line(text(page, "message")), clean::line(text(page, "url")));
            out.push_str(&format!("\n  {words}\n  Open this page, then call again: {url}\n"));
        }
    }
    out
}

/// The same for programs, on one line.
pub(crate) fn error_json(code: i64, message: &str, data: &[u8]) -> Vec<u8> {
    let mut out = format!("{{\"error\":{{\"code\":{code},\"message\":").into_bytes();
    encode_into(message, &mut out);
    // Data may have come in several lines.
    if let Some(data) = is_json(data).then(|| serde_json::from_slice::<Value>(data).ok()).flatten()
    {
        out.extend_from_slice(b",\"data\":");
        out.extend_from_slice(data.to_string().as_bytes());
    }
    out.extend_from_slice(b"}}\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_to_do() {
        assert_eq!(error_text(-32602, "no\u{1b}pe", b""), "error: no\u{fffd}pe (code -32602)\n");
        let data = br#"{"elicitations":[{"url":"https://x/y","message":"Sign in"}]}"#;
        let expected = "error: first this (code -32042)\n\n  Sign in\n  Open this page, then call again: https://x/y\n";
        assert_eq!(error_text(-32042, "first this", data), expected);
    }

    #[test]
    fn programs_get_one_line() {
        let line = |data| String::from_utf8(error_json(-1, "a\nb", data)).unwrap();
        assert_eq!(line(b"".as_slice()), "{\"error\":{\"code\":-1,\"message\":\"a\\nb\"}}\n");
        assert_eq!(
            line(b"{\n\"x\":1}"),
            "{\"error\":{\"code\":-1,\"message\":\"a\\nb\",\"data\":{\"x\":1}}}\n"
        );
    }
}
