//! Errors for people and for programs.

use super::{list, words};
use crate::client::clean;

/// A server wants the user to visit a page first.
const URL_ELICITATION_REQUIRED: i64 = -32042;

/// The error with its code, and what the user is asked to do about it.
pub(crate) fn error_text(code: i64, message: &str, data: &[u8]) -> String {
    let mut out = format!("error: {} (code {code})\n", clean::block(message.trim()));
    if code == URL_ELICITATION_REQUIRED {
        for page in list(data, "elicitations") {
            let [why, url] = ["message", "url"].map(|key| clean::line(&words(page, key)));
            out.push_str(&format!("\n  {why}\n  Open this page, then call again: {url}\n"));
        }
    }
    out
}

/// An error for programs: as the server sent it, on one line.
pub(crate) fn error_json(raw: &[u8]) -> Vec<u8> {
    // Messages hold no raw newline, wherever they come from.
    [b"{\"error\":", raw, b"}\n"].concat()
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
    fn programs_get_every_byte() {
        let raw = br#"{"code":-1,"message":"a\nb","data":{"x":1.0e400},"more":[ ]}"#;
        let expected = [b"{\"error\":", &raw[..], b"}\n"].concat();
        assert_eq!(error_json(raw), expected);
    }
}
