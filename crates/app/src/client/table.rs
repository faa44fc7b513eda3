//! Aligns rows of text in columns.

use unicode_width::UnicodeWidthStr as _;

use crate::client::clean;

/// Rows as aligned columns; the last column is cut where a line would be longer than `width`.
pub(crate) fn columns<const N: usize>(rows: &[[String; N]], indent: &str, width: usize) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = (*widest).max(cell.width());
        }
    }
    let mut out = String::new();
    for row in rows {
        let cells = row.iter().zip(widths);
        // `{:width$}` counts characters, and some take two columns or none.
        let pad = |(cell, wide): (&String, usize)| {
            format!("{cell}{}", " ".repeat(wide.saturating_sub(cell.width())))
        };
        let padded: Vec<String> = cells.map(pad).collect();
        let line = format!("{indent}{}", padded.join("  "));
        out.push_str(&clean::cut(line.trim_end(), width));
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_cut() {
        let row = |a: &str, b: &str| [a.to_owned(), b.to_owned()];
        let rows =
            [row("echo", "Echoes"), row("ä", ""), row("天気", "sky"), row("longest", "says much")];
        let expected = "  echo     Echoes\n  ä\n  天気     sky\n  longest  says …\n";
        assert_eq!(columns(&rows, "  ", 17), expected);
    }
}
