//! Text as HTML.

use std::borrow::Cow;
use std::fmt::Write as _;

/// For elements and for attributes in double quotes.
pub(super) fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out.into()
}

/// A sentence with `code` and **weight** in it. A mark without its partner stands for itself.
pub(super) fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 32);
    let mut rest = text;
    while let Some((before, mark, after)) = next_mark(rest) {
        let Some((inner, behind)) = after.split_once(mark) else { break };
        out.push_str(&escape(before));
        let element = if mark == "`" { "code" } else { "strong" };
        let _ = write!(out, "<{element}>{}</{element}>", escape(inner));
        rest = behind;
    }
    out.push_str(&escape(rest));
    out
}

fn next_mark(text: &str) -> Option<(&str, &'static str, &str)> {
    let split = |mark: &'static str| {
        let (before, after) = text.split_once(mark)?;
        Some((before, mark, after))
    };
    match (split("`"), split("**")) {
        (Some(code), Some(weight)) if weight.0.len() < code.0.len() => Some(weight),
        (None, weight) => weight,
        (code, _) => code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_elements_and_everything_else_is_text() {
        for (text, expected) in [
            ("plain", "plain"),
            ("<b> & \"x\" 'y'", "&lt;b&gt; &amp; &quot;x&quot; &#39;y&#39;"),
            ("a `b<c` d", "a <code>b&lt;c</code> d"),
            ("**A.** `x` **B**", "<strong>A.</strong> <code>x</code> <strong>B</strong>"),
            ("`**`", "<code>**</code>"),
            ("a ` b", "a ` b"),
            ("", ""),
        ] {
            assert_eq!(inline(text), expected);
        }
    }
}
