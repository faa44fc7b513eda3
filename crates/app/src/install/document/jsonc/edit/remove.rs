//! Takes one member out of JSON text, with its comma and its line. What `set` put in comes out without
//! a trace; comments stay.

use std::iter::once;
use std::ops::Range;

use trunkline_catalog::jsonc::{self, Dialect, JsonMember, Node};
use trunkline_catalog::place::Span;

use super::{EditError, replaced};
use crate::install::document::jsonc::layout::own_line_indent;
use crate::install::document::jsonc::read::{member, parse};

/// The text without the member at `path`; as it is where there is none.
pub(in crate::install::document) fn remove(
    text: &str,
    dialect: Dialect,
    path: &[&str],
) -> Result<String, EditError> {
    let document = parse(text, dialect).map_err(EditError::Syntax)?;
    let (Some(document), Some((last, parents))) = (document, path.split_last()) else {
        return Ok(text.to_owned());
    };
    let mut node = &document.root;
    for key in parents {
        match member(node, key) {
            Some(member) => node = &member.value,
            None => return Ok(text.to_owned()),
        }
    }
    let jsonc::Value::Object(members) = &node.value else {
        return Ok(text.to_owned());
    };
    let Some(at) = members.iter().rposition(|member| member.key.value == *last) else {
        return Ok(text.to_owned());
    };
    let leaving = Leaving { text, object: node, members, at, comments: &document.comments };
    let mut cuts = leaving.cuts();
    cuts.sort_by_key(|cut| std::cmp::Reverse(cut.start));
    Ok(cuts.into_iter().fold(text.to_owned(), |text, cut| replaced(&text, cut, "")))
}

/// A member that is to go, and what stands around it.
struct Leaving<'t> {
    text: &'t str,
    object: &'t Node,
    members: &'t [JsonMember],
    at: usize,
    comments: &'t [Span],
}

impl Leaving<'_> {
    /// What has to be cut out; the ranges do not overlap.
    fn cuts(&self) -> Vec<Range<usize>> {
        let Some(member) = self.members.get(self.at) else {
            return Vec::new();
        };
        let (start, end) = (member.key.span.start, member.value.span.end);
        let before = self.at.checked_sub(1).and_then(|at| self.members.get(at));
        let after = self.members.get(self.at + 1);
        let limit = after.map_or(self.object.span.end, |next| next.key.span.start);
        let comma = self.comma(end, limit);
        match (before, after, comma) {
            (None, None, comma) => self.only(start, comma.map_or(end, |comma| comma + 1)),
            (_, Some(_), Some(comma)) if !self.on_own_line(start) => {
                // on a line with others: the blanks behind the comma go along
                once(start..self.blanks_behind(comma + 1)).collect()
            }
            (_, _, Some(comma)) if self.is_blank(end, comma) => vec![self.line(start, comma + 1)],
            (_, _, Some(comma)) => vec![start..end, comma..comma + 1],
            (Some(before), _, None) => {
                let line = self.line(start, end);
                let comma = self.comma(before.value.span.end, start);
                match comma.filter(|comma| !line.contains(comma)) {
                    Some(comma) => vec![comma..comma + 1, line],
                    None => vec![line],
                }
            }
            // JSON has a comma between two members
            (None, Some(_), None) => once(start..end).collect(),
        }
    }

    /// The object stays, with the comments that were in it.
    fn only(&self, start: usize, end: usize) -> Vec<Range<usize>> {
        let Span { start: open, end: close } = self.object.span;
        let (inside, behind) = (open + 1, close.saturating_sub(1));
        if self.is_blank(inside, start) && self.is_blank(end, behind) {
            return once(inside..behind).collect();
        }
        vec![self.line(start, end)]
    }

    /// The range with the line end and the indentation before it, if nothing else is on its line;
    /// else with the blanks before it.
    fn line(&self, start: usize, end: usize) -> Range<usize> {
        let before = self.text.get(..start).unwrap_or_default();
        let kept = before.trim_end_matches([' ', '\t']);
        if !self.on_own_line(start) {
            return kept.len()..end;
        }
        let line_end = self.blanks_behind(end);
        let rest = self.text.get(line_end..).unwrap_or_default();
        if !(rest.is_empty() || rest.starts_with(['\r', '\n', '}'])) {
            // a comment behind it stays where it is
            return start..end;
        }
        let kept = kept.strip_suffix('\n').unwrap_or(kept);
        let kept = kept.strip_suffix('\r').unwrap_or(kept);
        kept.len()..if rest.starts_with('}') { end } else { line_end }
    }

    fn on_own_line(&self, start: usize) -> bool {
        own_line_indent(self.text, start).is_some()
    }

    fn blanks_behind(&self, from: usize) -> usize {
        let rest = self.text.get(from..).unwrap_or_default();
        from + rest.len() - rest.trim_start_matches([' ', '\t']).len()
    }

    fn is_blank(&self, from: usize, to: usize) -> bool {
        self.text.get(from..to).is_some_and(|between| between.trim().is_empty())
    }

    /// The first comma between the two that is not part of a comment.
    fn comma(&self, from: usize, to: usize) -> Option<usize> {
        let between = self.text.get(from..to)?;
        let commas = between.match_indices(',').map(|(at, _)| from + at);
        let in_comment =
            |at: usize| self.comments.iter().any(|it| (it.start..it.end).contains(&at));
        commas.into_iter().find(|at| !in_comment(*at))
    }
}
