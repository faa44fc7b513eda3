//! Markup that a page does not show: comments, hidden elements, images that carry data away, text far below.

/// What was found, by the id of its rule, and where.
pub(super) type MarkupHit = (&'static str, usize);

/// Blank characters in a row that push a text out of sight.
const LONG_BLANK: usize = 80;
const LONG_LINES: usize = 12;

/// Looks through the text once for each mark; `lower` is the text in lower case, of the same length.
pub(super) fn markup(lower: &str, hits: &mut Vec<MarkupHit>) {
    if let Some(at) = lower.find("<!--")
        && lower
            .get(at + 4..)
            .is_some_and(|rest| rest.trim_start().starts_with(|c: char| c.is_alphanumeric()))
    {
        hits.push(("html-comment", at));
    }
    for mark in ["[//]: #", "[comment]: <>", "[comment]: #", "[_]: #"] {
        hits.extend(lower.find(mark).map(|at| ("markdown-comment", at)));
    }
    hidden_elements(lower, hits);
    image_with_data(lower, hits);
    distance(lower, hits);
}

fn hidden_elements(lower: &str, hits: &mut Vec<MarkupHit>) {
    let Some(first) = lower.find('<') else { return };
    for tag in lower.get(first..).unwrap_or_default().split('<').skip(1) {
        let inner = tag.split_once('>').map_or("", |(inner, _)| inner);
        if inner.len() > 400 {
            continue;
        }
        let squeezed: String = inner.chars().filter(|c| !c.is_whitespace()).collect();
        let hides = [
            "display:none",
            "visibility:hidden",
            "font-size:0",
            "opacity:0",
            "color:white",
            "color=\"white\"",
            "color:#fff",
            "type=\"hidden\"",
        ]
        .iter()
        .any(|style| squeezed.contains(style))
            || inner.split_whitespace().skip(1).any(|attribute| attribute == "hidden");
        if hides {
            hits.push(("hidden-element", tag.as_ptr() as usize - lower.as_ptr() as usize));
            return;
        }
    }
}

/// `![…](https://…?…)`: showing the answer sends what is in the address.
fn image_with_data(lower: &str, hits: &mut Vec<MarkupHit>) {
    let mut rest = lower;
    let mut base = 0;
    while let Some(at) = rest.find("![") {
        let tail = rest.get(at..).unwrap_or_default();
        let target = tail.split_once("](").and_then(|(_, target)| target.split_once(')'));
        if let Some((target, _)) = target.filter(|(target, _)| target.len() < 2000)
            && target.starts_with("http")
            && target.contains('?')
            && target.contains('=')
        {
            hits.push(("image-with-data", base + at));
            return;
        }
        base += at + 2;
        rest = rest.get(at + 2..).unwrap_or_default();
    }
}

/// A text that goes on behind a long run of blanks, lines or dots.
fn distance(lower: &str, hits: &mut Vec<MarkupHit>) {
    let (mut blanks, mut lines) = (0_usize, 0_usize);
    for (at, c) in lower.char_indices() {
        match c {
            '\n' => {
                lines += 1;
                blanks += 1;
            }
            c if c.is_whitespace() || matches!(c, '.' | '·' | '⠀') => blanks += 1,
            c if c.is_alphanumeric() => {
                if at > 0 && (lines >= LONG_LINES || blanks >= LONG_BLANK) && blanks < at + 1 {
                    hits.push(("far-away-text", at));
                    return;
                }
                (blanks, lines) = (0, 0);
            }
            _ => (blanks, lines) = (0, 0),
        }
    }
}
