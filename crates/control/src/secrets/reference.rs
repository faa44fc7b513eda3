//! `${NAME}`, `${env:NAME}`, `${NAME:-default}` and `${secret:NAME}` in a text, cut out but not resolved.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReferencePiece<'t> {
    Literal(&'t str),
    Variable {
        name: &'t str,
        default: Option<&'t str>,
    },
    Secret(&'t str),
    /// Starts like a reference and is none.
    Broken,
}

/// In order. One pass: what a reference stands for is never looked at again.
pub(super) fn pieces(text: &str) -> Vec<ReferencePiece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        push_literal(&mut pieces, before);
        let Some((inner, after)) = behind.split_once('}') else {
            pieces.push(ReferencePiece::Broken);
            return pieces;
        };
        pieces.push(reference(inner));
        rest = after;
    }
    push_literal(&mut pieces, rest);
    pieces
}

fn push_literal<'t>(pieces: &mut Vec<ReferencePiece<'t>>, literal: &'t str) {
    if !literal.is_empty() {
        pieces.push(ReferencePiece::Literal(literal));
    }
}

fn reference(inner: &str) -> ReferencePiece<'_> {
    if let Some(name) = inner.strip_prefix("secret:") {
        return if is_secret_name(name) {
            ReferencePiece::Secret(name)
        } else {
            ReferencePiece::Broken
        };
    }
    let inner = inner.strip_prefix("env:").unwrap_or(inner);
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    if is_variable(name) {
        ReferencePiece::Variable { name, default }
    } else {
        ReferencePiece::Broken
    }
}

/// What a secret of its own can be called: something that can be part of a path, too.
pub fn is_secret_name(name: &str) -> bool {
    let belongs = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=200).contains(&name.len()) && name.bytes().all(belongs) && !name.starts_with('.')
}

/// What a variable can be called.
pub(crate) fn is_variable(name: &str) -> bool {
    let belongs = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.bytes().all(belongs) && !name.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::ReferencePiece::{Broken, Literal, Secret, Variable};
    use super::*;

    #[test]
    fn texts_are_cut_at_their_references() {
        let variable = |name, default| Variable { name, default };
        let table: &[(&str, &[ReferencePiece<'_>])] = &[
            ("", &[]),
            ("plain $HOME $$ {x}", &[Literal("plain $HOME $$ {x}")]),
            ("${A}", &[variable("A", None)]),
            ("Bearer ${GITHUB_TOKEN}", &[Literal("Bearer "), variable("GITHUB_TOKEN", None)]),
            ("${env:a_1}x", &[variable("a_1", None), Literal("x")]),
            ("${A:-}", &[variable("A", Some(""))]),
            ("${A:-b:-c}", &[variable("A", Some("b:-c"))]),
            ("${secret:git.hub-1}", &[Secret("git.hub-1")]),
            ("$${A}", &[Literal("$"), variable("A", None)]),
            ("a${", &[Literal("a"), Broken]),
            ("${}", &[Broken]),
            ("${secret:}", &[Broken]),
            ("${secret:a/b}", &[Broken]),
            ("${secret:..}", &[Broken]),
            ("${1A}", &[Broken]),
            ("${A B}", &[Broken]),
            ("${file:x}", &[Broken]),
        ];
        for (text, expected) in table {
            assert_eq!(pieces(text), *expected, "{text}");
        }
    }
}
