//! What a server says, made fit to be shown: without secrets, and without characters that would
//! steer a terminal or fake a line of the log.

use std::fmt::Write as _;

use trunkline_catalog::config::Secrets;
use trunkline_wire::{decode, member};

pub(crate) fn shown(text: &str, secrets: &Secrets) -> String {
    let text = secrets.redact(text);
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_safe(character) {
            out.push(character);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
        }
    }
    out
}

/// Neither a control character nor one that turns the direction of text or hides.
fn is_safe(character: char) -> bool {
    match character {
        '\t' => true,
        '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}' => false,
        other => !other.is_control(),
    }
}

/// A JSON-RPC error in words.
pub(in crate::upstream) fn refusal_text(error: &[u8]) -> String {
    let code = member(error, "code").map(String::from_utf8_lossy).unwrap_or_default();
    let message = member(error, "message").and_then(decode).unwrap_or_default();
    format!("{message} (code {code})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_terminal_tricks_do_not_get_through() {
        let mut secrets = Secrets::new();
        secrets.add("TOKEN", "hunter2-and-more");
        for (text, expected) in [
            ("plain ünïcode\t✓", "plain ünïcode\t✓"),
            ("bad token hunter2-and-more!", "bad token [redacted TOKEN]!"),
            ("a\u{1b}[2J\r\nb", "a\\u{1b}[2J\\u{d}\\u{a}b"),
            ("x\u{202e}y", "x\\u{202e}y"),
        ] {
            assert_eq!(shown(text, &secrets), expected);
        }
    }
}
