//! Environment variables inside a string: `$VAR`, `${VAR}`, `${VAR:-default}`, `${env:VAR}`.
//!
//! There is no escape: `$` before anything else stands for itself, so `$$HOME` is a `$` and the
//! value of `HOME` (the pattern of 001 reads it the same way). Values are never expanded again.

use std::ops::Range;

/// Looks a variable up; `None` means that it is not set.
pub type Environment<'e> = &'e dyn Fn(&str) -> Option<String>;

/// One part of a string, in order; ranges are bytes of that string.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TextPiece<'t> {
    pub(crate) range: Range<usize>,
    pub(crate) kind: PieceKind<'t>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PieceKind<'t> {
    Literal(&'t str),
    Variable {
        name: &'t str,
        default: Option<&'t str>,
    },
    /// Starts like a reference and is none.
    Broken(ReferenceFault),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReferenceFault {
    Unterminated,
    NoName,
    BadName,
    UnknownForm,
    NestedDefault,
}

/// What became of a string.
pub(crate) struct Expanded<'t> {
    pub(crate) value: String,
    /// Each variable that was used, with its value.
    pub(crate) used: Vec<(&'t str, String)>,
    pub(crate) missing: Vec<(&'t str, Range<usize>)>,
    pub(crate) faults: Vec<(ReferenceFault, Range<usize>)>,
}

/// Only an unset variable takes its default: an empty one was set on purpose (Claude Code does
/// the same).
pub(crate) fn expand<'t>(text: &'t str, environment: Environment<'_>) -> Expanded<'t> {
    let mut out = Expanded { value: String::new(), used: vec![], missing: vec![], faults: vec![] };
    for TextPiece { range, kind } in pieces(text) {
        match kind {
            PieceKind::Literal(literal) => out.value.push_str(literal),
            PieceKind::Broken(fault) => out.faults.push((fault, range)),
            PieceKind::Variable { name, default } => match (environment(name), default) {
                (Some(value), _) => {
                    out.value.push_str(&value);
                    out.used.push((name, value));
                }
                (None, Some(default)) => out.value.push_str(default),
                (None, None) => out.missing.push((name, range)),
            },
        }
    }
    out
}

/// Cuts a string into literal parts and references.
pub(crate) fn pieces(text: &str) -> Vec<TextPiece<'_>> {
    let mut pieces = Vec::new();
    let mut literal = 0;
    let mut pos = 0;
    while let Some(dollar) = find(text, pos, '$') {
        let Some((end, kind)) = reference(text, dollar) else {
            pos = dollar + 1;
            continue;
        };
        push_literal(&mut pieces, text, literal..dollar);
        pieces.push(TextPiece { range: dollar..end, kind });
        literal = end;
        pos = end;
    }
    push_literal(&mut pieces, text, literal..text.len());
    pieces
}

fn push_literal<'t>(pieces: &mut Vec<TextPiece<'t>>, text: &'t str, range: Range<usize>) {
    let literal = text.get(range.clone()).unwrap_or_default();
    if !literal.is_empty() {
        pieces.push(TextPiece { range, kind: PieceKind::Literal(literal) });
    }
}

/// What starts at the `$`, and where it ends; `None` for a `$` that stands for itself.
fn reference(text: &str, dollar: usize) -> Option<(usize, PieceKind<'_>)> {
    let after = text.get(dollar + 1..)?;
    if let Some(inner) = after.strip_prefix('{') {
        let Some(length) = inner.find('}') else {
            return Some((dollar + 2, PieceKind::Broken(ReferenceFault::Unterminated)));
        };
        let kind = braced(inner.get(..length)?).unwrap_or_else(PieceKind::Broken);
        return Some((dollar + 2 + length + 1, kind));
    }
    let name = plain_name(after)?;
    Some((dollar + 1 + name.len(), PieceKind::Variable { name, default: None }))
}

/// `[A-Z_][A-Z0-9_]*` at the start of `text`.
fn plain_name(text: &str) -> Option<&str> {
    let belongs = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    text.get(..end)
        .filter(|name| !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()))
}

/// What stands between the braces.
fn braced(inner: &str) -> Result<PieceKind<'_>, ReferenceFault> {
    let inner = inner.strip_prefix("env:").unwrap_or(inner);
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    if name.is_empty() {
        return Err(ReferenceFault::NoName);
    }
    if name.contains(|c: char| c.is_whitespace() || c.is_control() || "$={\"'".contains(c)) {
        return Err(ReferenceFault::BadName);
    }
    // `${input:id}`, `${file:path}`, `${VAR:?text}`: of other programs, not ours.
    if name.contains(':') {
        return Err(ReferenceFault::UnknownForm);
    }
    // A `}` closes the outer reference first, so a nested one would leave a stray `}` behind.
    if default.is_some_and(has_reference) {
        return Err(ReferenceFault::NestedDefault);
    }
    Ok(PieceKind::Variable { name, default })
}

fn has_reference(text: &str) -> bool {
    pieces(text).iter().any(|piece| !matches!(piece.kind, PieceKind::Literal(_)))
}

fn find(text: &str, from: usize, wanted: char) -> Option<usize> {
    text.get(from..)?.find(wanted).map(|at| from + at)
}

impl ReferenceFault {
    pub(crate) fn message(self) -> &'static str {
        match self {
            ReferenceFault::Unterminated => "`${` without a closing `}`",
            ReferenceFault::NoName => "this reference names no variable",
            ReferenceFault::BadName => "this is not the name of an environment variable",
            ReferenceFault::UnknownForm => "this form of reference is not known",
            ReferenceFault::NestedDefault => "a default cannot contain another reference",
        }
    }

    pub(crate) fn help(self) -> &'static str {
        match self {
            ReferenceFault::NestedDefault => "a default is plain text, as in ${NAME:-text}",
            _ => "write $NAME, ${NAME}, ${NAME:-default} or ${env:NAME}",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PieceKind, ReferenceFault, TextPiece, expand, pieces};
    use proptest::prelude::{any, prop_assert_eq, proptest};

    fn environment(name: &str) -> Option<String> {
        let value = match name {
            "HOME" => "/home/me",
            "A" => "1",
            "_X9" => "x",
            "EMPTY" => "",
            "NESTED" => "$A ${A}",
            "lower" => "low",
            "ProgramFiles(x86)" => "C:/",
            _ => return None,
        };
        Some(value.to_owned())
    }

    #[track_caller]
    fn check(text: &str, value: &str, missing: &[&str], faults: &[ReferenceFault]) {
        let expanded = expand(text, &environment);
        let names: Vec<&str> = expanded.missing.iter().map(|(name, _)| *name).collect();
        let found: Vec<ReferenceFault> = expanded.faults.iter().map(|(fault, _)| *fault).collect();
        assert_eq!((expanded.value.as_str(), &*names, &*found), (value, missing, faults), "{text}");
    }

    #[test]
    fn fr_002_every_form_is_expanded() {
        check("$HOME", "/home/me", &[], &[]);
        check("${HOME}/x", "/home/me/x", &[], &[]);
        check("a$A-$A${A}b", "a1-11b", &[], &[]);
        check("$HOMEdir", "/home/medir", &[], &[]);
        check("$_X9", "x", &[], &[]);
        check("${lower}", "low", &[], &[]);
        check("${env:HOME}", "/home/me", &[], &[]);
        check("${env:NO:-d}", "d", &[], &[]);
        check("${NO:-a b}c", "a bc", &[], &[]);
        check("${NO:-}", "", &[], &[]);
        check("${NO:-a:-b}", "a:-b", &[], &[]);
        check("${A:-d}", "1", &[], &[]);
        check("${EMPTY:-d}", "", &[], &[]);
        check("[$EMPTY]", "[]", &[], &[]);
        check("${ProgramFiles(x86)}", "C:/", &[], &[]);
        check("é${A}é", "é1é", &[], &[]);
    }

    #[test]
    fn sc_004_what_is_no_reference_stays() {
        for text in
            ["", "plain", "$", "a$", "$$", "$5", "$lower", "$é", "a $ b", "{A}", "}", "$(A)", "%A%"]
        {
            check(text, text, &[], &[]);
        }
        check("$$HOME", "$/home/me", &[], &[]);
        check("$NESTED", "$A ${A}", &[], &[]);
    }

    #[test]
    fn fr_002_missing_and_broken_references_are_all_found() {
        check("$NO ${ALSO} $A", "  1", &["NO", "ALSO"], &[]);
        check("${env:NO}", "", &["NO"], &[]);
        check("${A", "A", &[], &[ReferenceFault::Unterminated]);
        check("${}", "", &[], &[ReferenceFault::NoName]);
        check("${:-x}${env:}", "", &[], &[ReferenceFault::NoName, ReferenceFault::NoName]);
        check("${MY VAR}${ A}${A=B}${A\"}", "", &[], &[ReferenceFault::BadName; 4]);
        check("${input:token}${A:?no}${A:+x}", "", &[], &[ReferenceFault::UnknownForm; 3]);
        check("${NO:-${A}}", "}", &[], &[ReferenceFault::NestedDefault]);
        check("${NO:-$HOME/x}", "", &[], &[ReferenceFault::NestedDefault]);
    }

    #[test]
    fn pieces_carry_their_ranges() {
        let variable = PieceKind::Variable { name: "A", default: Some("d") };
        let expected = [
            TextPiece { range: 0..3, kind: PieceKind::Literal("é$") },
            TextPiece { range: 3..10, kind: variable },
            TextPiece { range: 10..11, kind: PieceKind::Literal("z") },
        ];
        assert_eq!(pieces("é$${A:-d}z"), expected);
    }

    proptest! {
        #[test]
        fn fr_002_text_without_a_dollar_is_unchanged(text in "[^$]*") {
            let expanded = expand(&text, &environment);
            prop_assert_eq!(expanded.value, text.as_str());
            prop_assert_eq!(expanded.used.len() + expanded.missing.len() + expanded.faults.len(), 0);
        }

        #[test]
        fn pieces_cover_the_text_without_gaps(text in "[$A{}:\\-é a]{0,20}") {
            let mut end = 0;
            for piece in pieces(&text) {
                prop_assert_eq!(piece.range.start, end);
                end = piece.range.end;
            }
            prop_assert_eq!(end, text.len());
        }

        #[test]
        fn expansion_never_panics(text in any::<String>()) {
            let _ = expand(&text, &environment);
        }
    }
}
