//! The difference between two definitions, for people: member by member, line by line, word by word; what cannot
//! be seen is made visible.

use std::collections::BTreeSet;

use trunkline_wire::{decode, member, members, pretty};

use super::canonical::canonical;
use crate::name::is_hidden;

/// What has changed in one member of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDiff {
    /// `description`, `inputSchema`; empty: the definition is a text by itself.
    pub field: String,
    pub lines: Vec<DiffLine>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    pub change: LineChange,
    /// The line in pieces; true: this piece is not in the line that it stands for, or that stands for it.
    pub pieces: Vec<(bool, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineChange {
    Same,
    Removed,
    Added,
    /// Lines that are the same on both sides and are not shown: how many.
    Skipped(usize),
    /// Lines beyond what is shown at once, changed ones among them: how many.
    Cut(usize),
}

/// How much of a difference is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffLength {
    /// As much as a person reads at once.
    Short,
    /// Every line that has changed.
    Whole,
}

impl FieldDiff {
    /// Is something that has changed not shown?
    pub fn is_cut(&self) -> bool {
        self.lines.iter().any(|line| matches!(line.change, LineChange::Cut(_)))
    }
}

impl LineChange {
    /// As the first column of a diff has it.
    pub fn sign(self) -> char {
        match self {
            Self::Same | Self::Skipped(_) | Self::Cut(_) => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

impl DiffLine {
    pub fn text(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }
}

/// Lines around a change that are shown.
const CONTEXT: usize = 2;
/// More tokens on a side are not compared one by one.
const MOST_COMPARED: usize = 2_000;
/// More lines of one member are not shown at once.
const MOST_LINES: usize = 400;

/// `before`: what was approved; `None`: there was nothing, or it is not kept.
pub fn diff(before: Option<&[u8]>, after: Option<&[u8]>, length: DiffLength) -> Vec<FieldDiff> {
    let mut fields = whole_diff(before, after);
    if length == DiffLength::Short {
        fields.iter_mut().for_each(cut);
    }
    fields
}

fn whole_diff(before: Option<&[u8]>, after: Option<&[u8]>) -> Vec<FieldDiff> {
    let before = before.unwrap_or_default();
    let after = after.unwrap_or_default();
    if !before.starts_with(b"{") && !after.starts_with(b"{") {
        return field(String::new(), Some(before), Some(after)).into_iter().collect();
    }
    // What models read comes first.
    const FIRST: [&str; 3] = ["name", "title", "description"];
    let names: BTreeSet<_> =
        members(before).chain(members(after)).map(|(name, _)| name.into_owned()).collect();
    let first = FIRST.iter().filter(|name| names.contains(**name)).map(|name| (*name).to_owned());
    let others = names.iter().filter(|name| !FIRST.contains(&name.as_str())).cloned();
    let all = first.chain(others);
    all.filter_map(|name| {
        let (one, other) = (member(before, &name), member(after, &name));
        field(name, one, other)
    })
    .collect()
}

/// `None`: both are the same.
fn field(name: String, before: Option<&[u8]>, after: Option<&[u8]>) -> Option<FieldDiff> {
    let same = before.map(canonical) == after.map(canonical);
    if same {
        return None;
    }
    let (before, after) = (lines_of(before), lines_of(after));
    Some(FieldDiff { field: name, lines: lines_between(&before, &after) })
}

/// A text as it reads, anything else as JSON.
fn lines_of(value: Option<&[u8]>) -> Vec<String> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Vec::new() };
    let text = match decode(value) {
        Some(text) => text.into_owned(),
        None => pretty(&canonical(value)),
    };
    text.split('\n').map(visible).collect()
}

/// One line in which every character can be seen: what cannot stands there by its number.
pub fn visible(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            '\t' => out.push('\t'),
            c if is_hidden(c) => out.push_str(&format!("\u{27e8}U+{:04X}\u{27e9}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

fn lines_between(before: &[String], after: &[String]) -> Vec<DiffLine> {
    let mut lines = Vec::new();
    let steps = steps(before, after);
    let mut at = 0;
    while let Some(step) = steps.get(at) {
        if let LineChange::Same = step.0 {
            lines
                .push(DiffLine { change: LineChange::Same, pieces: vec![(false, step.1.clone())] });
            at += 1;
            continue;
        }
        let changed = steps.iter().skip(at).take_while(|step| step.0 != LineChange::Same);
        let changed: Vec<_> = changed.collect();
        at += changed.len();
        let of = |change| changed.iter().filter(move |it| it.0 == change).map(|it| &it.1);
        let (removed, added): (Vec<_>, Vec<_>) =
            (of(LineChange::Removed).collect(), of(LineChange::Added).collect());
        // As many lines on both sides: each stands for the one at its place.
        let is_paired = removed.len() == added.len();
        let pieces = |place: usize, side: LineChange| match (removed.get(place), added.get(place)) {
            (Some(one), Some(other)) if is_paired => words_between(one, other, side),
            (Some(one), _) if side == LineChange::Removed => vec![(true, (*one).clone())],
            (_, Some(other)) => vec![(true, (*other).clone())],
            _ => Vec::new(),
        };
        for (side, count) in
            [(LineChange::Removed, removed.len()), (LineChange::Added, added.len())]
        {
            let all =
                (0..count).map(|place| DiffLine { change: side, pieces: pieces(place, side) });
            lines.extend(all);
        }
    }
    shortened(lines)
}

/// The words of one side, with those marked that the other has not.
fn words_between(one: &str, other: &str, side: LineChange) -> Vec<(bool, String)> {
    let (one, other) = (words(one), words(other));
    let mut pieces: Vec<(bool, String)> = Vec::new();
    for (change, word) in steps(&one, &other) {
        if change != LineChange::Same && change != side {
            continue;
        }
        let is_changed = change == side;
        match pieces.last_mut() {
            Some((before, text)) if *before == is_changed => text.push_str(&word),
            _ => pieces.push((is_changed, word)),
        }
    }
    pieces
}

/// Words and what is between them.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_in_word = false;
    for c in line.chars() {
        let is_part = c.is_alphanumeric() || c == '_';
        match words.last_mut() {
            Some(word) if is_part && is_in_word => word.push(c),
            _ => words.push(c.to_string()),
        }
        is_in_word = is_part;
    }
    words
}

/// The shortest way from one list to the other: what stays, what goes, what comes.
fn steps(before: &[String], after: &[String]) -> Vec<(LineChange, String)> {
    let head = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let rest = before.len().min(after.len()) - head;
    let tail = before.iter().rev().zip(after.iter().rev());
    let tail = tail.take(rest).take_while(|(one, other)| one == other).count();
    let middle = |all: &[String]| -> Vec<String> {
        all.iter().take(all.len() - tail).skip(head).cloned().collect()
    };
    let same = |all: &[String], from: usize, count: usize| -> Vec<(LineChange, String)> {
        all.iter().skip(from).take(count).map(|it| (LineChange::Same, it.clone())).collect()
    };
    let mut steps = same(before, 0, head);
    steps.extend(middle_steps(&middle(before), &middle(after)));
    steps.extend(same(before, before.len() - tail, tail));
    steps
}

fn middle_steps(before: &[String], after: &[String]) -> Vec<(LineChange, String)> {
    if before.len() > MOST_COMPARED || after.len() > MOST_COMPARED {
        let removed = before.iter().map(|it| (LineChange::Removed, it.clone()));
        return removed.chain(after.iter().map(|it| (LineChange::Added, it.clone()))).collect();
    }
    // The length of the longest common part from each place to the end.
    let width = after.len() + 1;
    let mut common = vec![0_u32; (before.len() + 1) * width];
    let at = |i: usize, j: usize| i * width + j;
    let of = |common: &[u32], i: usize, j: usize| common.get(at(i, j)).copied().unwrap_or(0);
    for (i, one) in before.iter().enumerate().rev() {
        for (j, other) in after.iter().enumerate().rev() {
            let best = match one == other {
                true => of(&common, i + 1, j + 1) + 1,
                false => of(&common, i + 1, j).max(of(&common, i, j + 1)),
            };
            if let Some(slot) = common.get_mut(at(i, j)) {
                *slot = best;
            }
        }
    }
    let (mut i, mut j, mut steps) = (0, 0, Vec::new());
    loop {
        match (before.get(i), after.get(j)) {
            (None, None) => return steps,
            (Some(one), Some(other)) if one == other => {
                steps.push((LineChange::Same, one.clone()));
                (i, j) = (i + 1, j + 1);
            }
            (Some(one), other)
                if other.is_none() || of(&common, i + 1, j) >= of(&common, i, j + 1) =>
            {
                steps.push((LineChange::Removed, one.clone()));
                i += 1;
            }
            (_, Some(other)) => {
                steps.push((LineChange::Added, other.clone()));
                j += 1;
            }
            (Some(_), None) => return steps, // the arm before takes it
        }
    }
}

/// Leaves what a person reads at once.
fn cut(field: &mut FieldDiff) {
    let rest = field.lines.split_off(field.lines.len().min(MOST_LINES));
    let count = |line: &DiffLine| match line.change {
        LineChange::Skipped(count) | LineChange::Cut(count) => count,
        LineChange::Same | LineChange::Removed | LineChange::Added => 1,
    };
    if !rest.is_empty() {
        let change = LineChange::Cut(rest.iter().map(count).sum());
        field.lines.push(DiffLine { change, pieces: Vec::new() });
    }
}

/// Without the lines that are the same and far from any change.
fn shortened(lines: Vec<DiffLine>) -> Vec<DiffLine> {
    let changed: Vec<usize> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.change != LineChange::Same)
        .map(|(place, _)| place)
        .collect();
    let is_near = |place: usize| {
        let next = changed.partition_point(|at| *at + CONTEXT < place);
        changed.get(next).is_some_and(|at| *at <= place + CONTEXT)
    };
    let mut shown: Vec<DiffLine> = Vec::new();
    for (place, line) in lines.into_iter().enumerate() {
        if is_near(place) {
            shown.push(line);
            continue;
        }
        match shown.last_mut() {
            Some(DiffLine { change: LineChange::Skipped(count), .. }) => *count += 1,
            _ => shown.push(DiffLine { change: LineChange::Skipped(1), pieces: Vec::new() }),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(before: &str, after: &str) -> String {
        let all = diff(Some(before.as_bytes()), Some(after.as_bytes()), DiffLength::Short);
        let fields = all.iter().map(|field| {
            let lines = field.lines.iter().map(|line| {
                let pieces = line.pieces.iter().map(|(is_changed, text)| match is_changed {
                    true => format!("[{text}]"),
                    false => text.clone(),
                });
                let text = match line.change {
                    LineChange::Skipped(count) => format!("({count})"),
                    _ => pieces.collect(),
                };
                format!("{}{text}\n", line.change.sign())
            });
            format!("{}:\n{}", field.field, lines.collect::<String>())
        });
        fields.collect()
    }

    #[test]
    fn a_word_that_came_is_marked_and_what_cannot_be_seen_is_shown() {
        assert_eq!(
            shown(
                r#"{"name":"a","description":"Adds two numbers."}"#,
                "{\"description\":\"Adds two secret\u{200b} numbers.\",\"name\":\"a\"}",
            ),
            "description:\n-Adds two numbers.\n+Adds two [secret\u{27e8}U+200B\u{27e9} ]numbers.\n"
        );
        assert_eq!(visible("a\u{202e}\u{e0041}\u{1b}b"), "a⟨U+202E⟩⟨U+E0041⟩⟨U+001B⟩b");
    }

    #[test]
    fn members_that_come_and_go_are_shown_whole() {
        assert_eq!(
            shown(
                r#"{"annotations":{"readOnlyHint":true}}"#,
                r#"{"annotations":{"readOnlyHint":false},"title":"T"}"#,
            ),
            "title:\n+[T]\nannotations:\n {\n-  \"readOnlyHint\": [true]\n+  \"readOnlyHint\": [false]\n }\n"
        );
        assert_eq!(shown("\"one\\ntwo\"", "\"one\\nthree\""), ":\n one\n-[two]\n+[three]\n");
        assert_eq!(shown(r#"{"a": [1 , 2]}"#, r#"{"a":[1,2]}"#), "");
    }

    #[test]
    fn what_is_the_same_and_far_away_is_left_out() {
        let text = |last: &str| format!("\"{}{last}\"", "x\\n".repeat(10));
        assert_eq!(shown(&text("a"), &text("b")), ":\n (8)\n x\n x\n-[a]\n+[b]\n");
    }

    #[test]
    fn what_is_too_long_is_cut_and_says_so_and_the_whole_has_every_line() {
        let text = |count: usize| {
            let lines: Vec<_> = (0..count).map(|n| format!("line {n}")).collect();
            format!("{{\"description\":\"{}\"}}", lines.join("\\n"))
        };
        for (count, is_cut) in [(MOST_LINES, false), (MOST_LINES + 1, true), (3 * MOST_LINES, true)]
        {
            let after = text(count);
            let of = |length| diff(None, Some(after.as_bytes()), length);
            let (short, whole) = (of(DiffLength::Short), of(DiffLength::Whole));
            assert_eq!(short[0].is_cut(), is_cut, "{count}");
            assert!(!whole[0].is_cut());
            assert_eq!(whole[0].lines.len(), count);
            let cut = short[0].lines.last().map(|line| line.change);
            let expected =
                if is_cut { LineChange::Cut(count - MOST_LINES) } else { LineChange::Added };
            assert_eq!(cut, Some(expected));
        }
    }

    proptest! {
        #[test]
        fn a_diff_leads_from_one_to_the_other(
            before in prop::collection::vec("[ab]", 0..12),
            after in prop::collection::vec("[ab]", 0..12),
        ) {
            let steps = steps(&before, &after);
            let side = |side| -> Vec<String> {
                let kept = steps.iter().filter(|it| it.0 == LineChange::Same || it.0 == side);
                kept.map(|it| it.1.clone()).collect()
            };
            prop_assert_eq!(side(LineChange::Removed), before);
            prop_assert_eq!(side(LineChange::Added), after);
        }
    }
}
