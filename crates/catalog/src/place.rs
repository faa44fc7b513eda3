//! Where something stands in a file: bytes, lines and columns.

use std::fmt;

/// A half-open range of bytes in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Span {
        Span { start, end }
    }

    /// The part of the text that it covers.
    pub fn of(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or_default()
    }

    pub(crate) fn contains(self, offset: usize) -> bool {
        self.start <= offset && offset < self.end
    }
}

/// Line and column as an editor shows them: both from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineColumn {
    pub line: usize,
    pub column: usize,
}

/// The file cut in lines. A byte order mark belongs to no line.
pub struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub fn new(text: &'t str) -> Lines<'t> {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(after_byte_order_mark(text))
            .chain(newlines.map(|(at, _)| at + 1))
            .collect();
        Lines { text, starts }
    }

    pub fn place(&self, offset: usize) -> LineColumn {
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let before = self.text.get(self.start_of(line)..offset).unwrap_or_default();
        LineColumn { line, column: before.chars().count() + 1 }
    }

    /// The byte at which `line` starts.
    pub(crate) fn start_of(&self, line: usize) -> usize {
        self.starts.get(line.saturating_sub(1)).copied().unwrap_or(self.text.len())
    }

    /// The text of `line` without its line ending.
    pub(crate) fn line(&self, line: usize) -> &'t str {
        let whole = self.text.get(self.start_of(line)..self.start_of(line + 1));
        whole.unwrap_or_default().trim_end_matches(['\r', '\n'])
    }
}

/// Without the text: it may hold secrets.
impl fmt::Debug for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").field("starts", &self.starts).finish_non_exhaustive()
    }
}

/// The offset of the first character that counts.
pub(crate) fn after_byte_order_mark(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::{LineColumn, Lines};

    #[test]
    fn places_count_characters_and_skip_the_byte_order_mark() {
        let table = [
            ("abc", 0, (1, 1)),
            ("abc", 3, (1, 4)),
            ("a\nbc", 2, (2, 1)),
            ("a\r\nbc", 4, (2, 2)),
            ("é\tx", 3, (1, 3)),
            ("\u{feff}ab", 3, (1, 1)),
            ("\u{feff}ab", 0, (1, 1)),
            ("a\n", 2, (2, 1)),
        ];
        for (text, offset, (line, column)) in table {
            assert_eq!(
                Lines::new(text).place(offset),
                LineColumn { line, column },
                "{text:?} {offset}"
            );
        }
    }

    #[test]
    fn a_line_has_no_ending() {
        let lines = Lines::new("\u{feff}one\r\ntwo\n");
        assert_eq!([lines.line(1), lines.line(2), lines.line(3)], ["one", "two", ""]);
    }
}
