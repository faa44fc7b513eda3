//! Makes text of servers safe for a terminal: no control characters, no reordering of the line.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// On one line: white space is collapsed to single blanks.
pub(crate) fn line(text: &str) -> String {
    text.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// Line breaks and tabs stay.
pub(crate) fn block(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.chars().map(|c| if matches!(c, '\n' | '\t') { c } else { visible(c) }).collect()
}

fn word(text: &str) -> String {
    text.chars().map(visible).collect()
}

/// The character, or a stand-in for one that controls the terminal or the reading direction.
fn visible(c: char) -> char {
    let reorders =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if reorders || c.is_control() { '\u{fffd}' } else { c }
}

/// What fits into `width` columns of a terminal, with `…` where something is missing.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    // One column stays for the `…`.
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used < width
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// `1 server`, `2 servers`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    let many = if count == 1 { "" } else { "s" };
    format!("{count} {what}{many}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(line(" a\u{1b}[2J \r\n\tb\u{202e} "), "a\u{fffd}[2J b\u{fffd}");
        assert_eq!(block("a\r\n\tb\u{1b}c\u{9b}"), "a\n\tb\u{fffd}c\u{fffd}");
    }

    #[test]
    fn what_is_cut_says_so() {
        for (text, width, expected) in [
            ("äbc", 3, "äbc"),
            ("äbcd", 3, "äb…"),
            ("ab", 1, "…"),
            ("", 0, ""),
            ("ab", 0, "…"),
            ("天気予報", 8, "天気予報"),
            ("天気予報", 7, "天気予…"),
            ("天気予報", 6, "天気…"),
        ] {
            assert_eq!(cut(text, width), expected, "{text} {width}");
        }
    }
}
