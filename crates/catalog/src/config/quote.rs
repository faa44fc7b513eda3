//! One line of the file as an error shows it: masked, harmless, not too wide.

use super::escape::visible;
use crate::place::{Lines, Span};

/// Wider lines (a minified file) are cut to a window around the marked place.
const WINDOW: usize = 120;

/// The line and the part of it that is underlined, in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quote {
    pub(crate) text: String,
    pub(crate) indent: usize,
    pub(crate) width: usize,
}

/// The line where `span` starts, with everything inside `hidden` replaced by `*`.
pub(crate) fn quote(lines: &Lines<'_>, hidden: &[Span], span: Span) -> Quote {
    let place = lines.place(span.start);
    let start = lines.start_of(place.line);
    let line = lines.line(place.line);
    let in_line: Vec<&Span> =
        hidden.iter().filter(|h| h.start < start + line.len() && start < h.end).collect();
    let mask = |(at, c)| {
        let is_hidden = in_line.iter().any(|hidden| hidden.contains(start + at));
        if is_hidden && c != '\t' { '*' } else { visible(c) }
    };
    let shown: Vec<char> = line.char_indices().map(mask).collect();
    let marked = line.char_indices().filter(|(at, _)| span.contains(start + at)).count();
    window(&shown, place.column - 1, marked.max(1))
}

fn window(line: &[char], indent: usize, width: usize) -> Quote {
    if line.len() <= WINDOW {
        return Quote { text: line.iter().collect(), indent, width };
    }
    let from = indent.saturating_sub(WINDOW / 3).min(line.len() - WINDOW);
    let to = from + WINDOW;
    let mut text: String = line.get(from..to).unwrap_or_default().iter().collect();
    if to < line.len() {
        text.push('…');
    }
    if from > 0 {
        text.insert(0, '…');
    }
    let ellipsis = usize::from(from > 0);
    Quote {
        text,
        indent: indent - from + ellipsis,
        width: width.min(to.saturating_sub(indent)).max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, Span, quote};

    #[test]
    fn a_long_line_is_cut_around_the_mark() {
        let text = format!("{}X{}", "a".repeat(500), "b".repeat(500));
        let cut = quote(&Lines::new(&text), &[], Span::new(500, 501));
        assert_eq!(cut.text.chars().count(), 122);
        assert_eq!(cut.text.chars().nth(cut.indent), Some('X'));
        let start = quote(&Lines::new(&text), &[], Span::new(0, 900));
        assert_eq!((start.indent, start.width), (0, 120));
        assert!(start.text.ends_with('…') && !start.text.starts_with('…'));
        let end = quote(&Lines::new(&text), &[], Span::new(1000, 1001));
        assert!(end.text.starts_with('…') && !end.text.ends_with('…'));
        assert_eq!(end.text.chars().nth(end.indent), Some('b'));
    }

    #[test]
    fn hidden_text_keeps_its_width_and_control_characters_are_replaced() {
        let text = "x\n\t\"é\u{1b}secret\" // \u{1b}[2J\n";
        let shown = quote(&Lines::new(text), &[Span::new(4, 13)], Span::new(3, 4));
        assert_eq!(shown.text, "\t\"********\" // \u{fffd}[2J");
        assert_eq!((shown.indent, shown.width), (1, 1));
    }
}
