//! A body that is not JSON: where it stops being that, and what was expected there.

use trunkline_catalog::jsonc::{ExpectedToken, JsonFault, NumberFault, StringFault, SyntaxError};
use trunkline_catalog::place::{LineColumn, Lines};

use crate::api::problem::{Kind, Problem};

/// Shows no part of the body but its punctuation: the rest may be a secret.
pub(super) fn explain(text: &str, error: &SyntaxError) -> Problem {
    let at = match error.fault {
        JsonFault::Number { run, .. } => run.start,
        JsonFault::String { quote, why: StringFault::Unclosed } => quote,
        _ => error.at,
    };
    let LineColumn { line, column } = Lines::new(text).place(at);
    let (what, hint) = words(error.fault, text.get(at..).and_then(|rest| rest.chars().next()));
    let problem = Problem::new(Kind::Malformed, format!("line {line}, column {column}: {what}"));
    match hint {
        Some(hint) => problem.hint(hint),
        None => problem,
    }
}

fn words(fault: JsonFault, next: Option<char>) -> (String, Option<&'static str>) {
    let plain = |what: &str| (what.to_owned(), None);
    match fault {
        JsonFault::Empty => ("the body is empty".to_owned(), Some("send a JSON object")),
        JsonFault::Unexpected { wanted, .. } => {
            let wanted = match wanted {
                ExpectedToken::Key => "a key in double quotes or `}`".to_owned(),
                ExpectedToken::Colon => "`:`".to_owned(),
                ExpectedToken::Value => "a value".to_owned(),
                ExpectedToken::CommaOr(close) => format!("`,` or `{close}`"),
                ExpectedToken::End => "the end of the body".to_owned(),
            };
            (format!("expected {wanted}, found {}", found(next)), hint(next))
        }
        JsonFault::Comment | JsonFault::OpenComment | JsonFault::SingleSlash => {
            plain("JSON has no comments")
        }
        JsonFault::TrailingComma => plain("a `,` is left over before this"),
        JsonFault::TooDeep => plain("it is nested too deeply"),
        JsonFault::Number { why, .. } => match why {
            NumberFault::LeadingZero => plain("a number does not start with 0"),
            NumberFault::NoDigit | NumberFault::Overlong => plain("this is not a number"),
        },
        JsonFault::String { why, .. } => match why {
            StringFault::Unclosed => plain("this string is never closed"),
            StringFault::Control(_) => (
                "a string has a raw control character".to_owned(),
                Some("write a line end as \\n, a tab as \\t"),
            ),
            StringFault::UnknownEscape => plain("this escape is not known"),
            StringFault::HexDigits { .. } => plain("`\\u` needs four hexadecimal digits"),
            StringFault::HalfPair { .. } => plain("this escape is half of a surrogate pair"),
        },
    }
}

fn found(next: Option<char>) -> String {
    match next {
        None => "the end of the body".to_owned(),
        Some(c) if c.is_ascii_punctuation() => format!("`{c}`"),
        Some(_) => "something else".to_owned(),
    }
}

fn hint(next: Option<char>) -> Option<&'static str> {
    match next? {
        '\'' | '`' => Some("strings and keys are written in double quotes"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::api::input::body::syntax;

    #[test]
    fn the_place_and_the_reason_are_named() {
        for (text, expected) in [
            ("", "line 1, column 1: the body is empty"),
            (
                "{",
                "line 1, column 2: expected a key in double quotes or `}`, found the end of the body",
            ),
            ("{\"a\" 1}", "line 1, column 6: expected `:`, found something else"),
            ("{\"a\":\n  tru}", "line 2, column 3: expected a value, found something else"),
            ("{\"a\":1 \"b\":2}", "line 1, column 8: expected `,` or `}`, found `\"`"),
            ("{\"a\":1,}", "line 1, column 8: a `,` is left over before this"),
            ("{} x", "line 1, column 4: expected the end of the body, found something else"),
            ("{\"a\":01}", "line 1, column 6: a number does not start with 0"),
            ("{\"a\":\"x", "line 1, column 6: this string is never closed"),
            ("{\"a\":\"x\ny\"}", "line 1, column 8: a string has a raw control character"),
            ("// x\n{}", "line 1, column 1: JSON has no comments"),
            ("{\"a\":\"\\ud800\"}", "half of a surrogate pair"),
        ] {
            let problem = syntax(text).expect_err(text);
            assert!(problem.detail().contains(expected), "{text:?}: {}", problem.detail());
        }
    }

    #[test]
    fn no_part_of_a_value_is_shown() {
        for text in ["{\"token\":hunter2}", "{\"token\":\"hunter2}", "{\"t\":\"hunter2\" hunter2"] {
            let problem = syntax(text).expect_err(text);
            assert!(!String::from_utf8(problem.json()).unwrap().contains("hunter"), "{text}");
        }
    }
}
