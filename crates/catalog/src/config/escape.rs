//! Text that comes from a file, made safe for a terminal and for JSON.

use std::fmt::Write;

/// The character itself, or a stand-in of the same width where it could move the cursor or
/// reorder the line (control characters, bidirectional overrides).
pub(crate) fn visible(c: char) -> char {
    let reorders =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if reorders || (c.is_control() && c != '\t') { '\u{fffd}' } else { c }
}

/// A key or a name inside a message.
pub(crate) fn shown(text: &str) -> String {
    text.chars().map(|c| if c == '\t' { '\u{fffd}' } else { visible(c) }).collect()
}

/// Appends `text` as a JSON string with its quotes.
pub(crate) fn push_json_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Also what `visible` replaces: the string may end up on a terminal.
            c if c.is_control() || visible(c) != c => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    // Writing to a String cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::{push_json_string, shown};
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    #[test]
    fn nothing_shown_moves_the_cursor() {
        assert_eq!(shown("a\u{1b}[31m\u{202e}\tb"), "a\u{fffd}[31m\u{fffd}\u{fffd}b");
    }

    proptest! {
        #[test]
        fn a_json_string_reads_back(text in any::<String>()) {
            let mut json = String::new();
            push_json_string(&mut json, &text);
            prop_assert!(!json.contains(char::is_control));
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }
}
