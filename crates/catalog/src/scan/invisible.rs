//! Characters that nobody sees: which are honest (emoji, scripts that need joiners) and which hide something.

/// What a run of hidden characters is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HiddenKind {
    /// Zero width, fillers, variation selectors.
    Invisible,
    Bidi,
    /// Copies of ASCII that only machines read.
    Tag,
    /// Escape sequences and other control characters.
    Control,
}

/// Each hidden character that has no honest use where it stands, with its place. `text` is walked once.
pub(super) fn hidden_characters(text: &str) -> impl Iterator<Item = (usize, char, HiddenKind)> {
    let mut before: Option<char> = None;
    let mut selectors = 0_usize;
    let mut is_flag = false;
    text.char_indices().filter_map(move |(at, c)| {
        let previous = before.replace(c);
        is_flag = c == '\u{1f3f4}' || is_flag && ('\u{e0020}'..='\u{e007f}').contains(&c);
        let is_selector = matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}');
        selectors = if is_selector { selectors + 1 } else { 0 };
        let kind = match c {
            '\n' | '\t' | '\r' => None,
            c if c.is_control() => Some(HiddenKind::Control),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Some(HiddenKind::Bidi),
            // Marks of direction are common in texts of right-to-left scripts.
            '\u{61c}' | '\u{200e}' | '\u{200f}' => None,
            // Flags of England and others are made of tags behind a black flag.
            '\u{e0000}'..='\u{e007f}' => (!is_flag).then_some(HiddenKind::Tag),
            // One behind a character chooses its shape; several are data.
            _ if is_selector => {
                let follows = previous.is_some_and(|previous| !previous.is_ascii_alphabetic());
                (selectors > 1 || !follows).then_some(HiddenKind::Invisible)
            }
            '\u{200c}' | '\u{200d}' => {
                (!previous.is_some_and(takes_joiner)).then_some(HiddenKind::Invisible)
            }
            '\u{ad}' | '\u{34f}' => None,
            // A byte order mark at the beginning is a mistake, not a message.
            '\u{feff}' if at == 0 => None,
            c if crate::name::is_hidden(c) => Some(HiddenKind::Invisible),
            _ => None,
        };
        kind.map(|kind| (at, c, kind))
    })
}

/// Scripts and pictures in which joiners are part of the spelling.
fn takes_joiner(before: char) -> bool {
    matches!(before,
        '\u{590}'..='\u{8ff}' | '\u{900}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{1800}'..='\u{18af}'
        | '\u{2190}'..='\u{2bff}' | '\u{fe0f}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}'
        | '\u{1f000}'..='\u{1faff}')
}

/// Where the escape sequence ends that begins here (ECMA-48, 5.4 and 8.3.89): behind its last character.
pub(super) fn escape_end(text: &str, start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let mut characters = rest.char_indices();
    let first = characters.next().map(|(_, c)| c);
    let mut is_csi = first == Some('\u{9b}');
    let mut is_string = matches!(first, Some('\u{9d}' | '\u{90}'));
    if first == Some('\u{1b}') {
        match characters.next() {
            Some((_, '[')) => is_csi = true,
            Some((_, ']' | 'P' | 'X' | '^' | '_')) => is_string = true,
            Some((at, c)) => return start + at + c.len_utf8(),
            None => return text.len(),
        }
    }
    // A sequence is short; a text that only looks like one must not vanish.
    let most = if is_string { 256 } else { 32 };
    for (at, c) in characters {
        if at > most {
            break;
        }
        match c {
            '\u{40}'..='\u{7e}' if is_csi => return start + at + 1,
            '\u{7}' | '\u{9c}' if is_string => return start + at + c.len_utf8(),
            '\\' if is_string && rest.get(..at).is_some_and(|it| it.ends_with('\u{1b}')) => {
                return start + at + 1;
            }
            _ => {}
        }
    }
    start + first.map_or(0, char::len_utf8)
}
