//! Which names are let in at all: a name that hides something from the reader is quarantined.

use std::fmt;

/// Refuses a name that is empty or holds a character a reader cannot see or that reorders what he
/// sees. Anything visible is fine here, in any length and script: the wire name is another matter.
pub fn admissible(tool_name: &str) -> Result<(), NameFault> {
    if tool_name.is_empty() {
        return Err(NameFault::Empty);
    }
    let found = tool_name.chars().enumerate().find_map(|(at, c)| Some((at, c, kind_of(c)?)));
    match found {
        None => Ok(()),
        Some((at, character, kind)) => {
            let name = escaped(tool_name);
            Err(NameFault::Character { name, kind, character, position: at + 1 })
        }
    }
}

/// Why a name is quarantined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    #[error("the name is empty")]
    Empty,
    #[error("the name \"{name}\" has {kind} (U+{:04X}) at character {position}", u32::from(*.character))]
    Character {
        /// Already escaped: safe for a log line and a terminal.
        name: String,
        kind: FaultKind,
        character: char,
        /// Counted from 1.
        position: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// Line breaks, escape sequences, NUL.
    Control,
    /// Turns the reading direction: the name shown is not the name called.
    Bidi,
    /// Invisible copies of ASCII, read by models only.
    Tag,
    /// Zero width, fillers, variation selectors: two names look alike, or one carries hidden data.
    Invisible,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Control => "a control character",
            Self::Bidi => "a bidirectional control",
            Self::Tag => "a Unicode tag character",
            Self::Invisible => "an invisible character",
        })
    }
}

/// Longest piece of a foreign name that is repeated in a message.
const SHOWN: usize = 80;

/// A foreign name as it may stand in a message: on one line, nothing hidden, not endless.
pub fn escaped(name: &str) -> String {
    let mut shown = String::new();
    let mut rest = name.chars();
    for c in rest.by_ref().take(SHOWN) {
        match c {
            '"' | '\\' => shown.extend(['\\', c]),
            c if kind_of(c).is_some() => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    if rest.next().is_some() {
        shown.push('…');
    }
    shown
}

/// A character that a reader does not see, or that reorders what he sees.
pub fn is_hidden(c: char) -> bool {
    kind_of(c).is_some()
}

fn kind_of(c: char) -> Option<FaultKind> {
    match c {
        // general categories Cc, Zl, Zp
        c if c.is_control() => Some(FaultKind::Control),
        '\u{2028}' | '\u{2029}' => Some(FaultKind::Control),
        // property Bidi_Control
        '\u{061C}'
        | '\u{200E}'
        | '\u{200F}'
        | '\u{202A}'..='\u{202E}'
        | '\u{2066}'..='\u{2069}' => Some(FaultKind::Bidi),
        '\u{E0000}'..='\u{E007F}' => Some(FaultKind::Tag),
        c if is_invisible(c) => Some(FaultKind::Invisible),
        _ => None,
    }
}

/// The rest of property `Default_Ignorable_Code_Point`, and U+FFF9–FFFB (annotations).
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{00AD}'
            | '\u{034F}'
            | '\u{115F}'..='\u{1160}'
            | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200D}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206A}'..='\u{206F}'
            | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{FEFF}'
            | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFFB}'
            | '\u{1BCA0}'..='\u{1BCA3}'
            | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0080}'..='\u{E0FFF}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visible_names_of_any_shape_are_let_in() {
        let long = "x".repeat(300);
        let table = [
            "read",
            "a b",
            "a:b",
            "a__b",
            "a/b",
            " ",
            "日本語",
            "café",
            "cafe\u{301}",
            "🦀",
            &long,
        ];
        for name in table {
            assert_eq!(admissible(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn names_that_hide_something_are_refused_with_what_and_where() {
        let table = [
            ("", "the name is empty"),
            ("a\nb", r#"the name "a\u{a}b" has a control character (U+000A) at character 2"#),
            ("\0", r#"the name "\u{0}" has a control character (U+0000) at character 1"#),
            ("a\u{85}", r#"the name "a\u{85}" has a control character (U+0085) at character 2"#),
            (
                "a\u{2028}",
                r#"the name "a\u{2028}" has a control character (U+2028) at character 2"#,
            ),
            (
                "daeh\u{202E}r",
                r#"the name "daeh\u{202e}r" has a bidirectional control (U+202E) at character 5"#,
            ),
            (
                "a\u{E0041}",
                r#"the name "a\u{e0041}" has a Unicode tag character (U+E0041) at character 2"#,
            ),
            (
                "é\u{200B}",
                r#"the name "é\u{200b}" has an invisible character (U+200B) at character 2"#,
            ),
            (
                "\u{FEFF}a",
                r#"the name "\u{feff}a" has an invisible character (U+FEFF) at character 1"#,
            ),
            (
                "a\u{FE0F}",
                r#"the name "a\u{fe0f}" has an invisible character (U+FE0F) at character 2"#,
            ),
        ];
        for (name, expected) in table {
            assert_eq!(admissible(name).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn a_message_never_carries_the_bad_character_or_an_endless_name() {
        let shown = escaped(&format!("\u{1b}[2J\"\\{}", "x".repeat(1000)));
        assert!(shown.starts_with(r#"\u{1b}[2J\"\\xxx"#) && shown.ends_with("x…"));
        assert!(shown.chars().count() < 100);
    }
}
