//! A file that is not JSON: what is said about it, and which bytes are marked.

use super::harmless::hidden_in_key;
use super::problem::Problem;
use crate::jsonc::{
    Dialect, ExpectedToken, HalfPairs, JsonFault, Options, StringFault, SyntaxError, bare_word,
};
use crate::place::{Lines, Span};

/// What a config may be written in.
pub(crate) const OPTIONS: Options =
    Options { dialect: Dialect::Comments, half_pairs: HalfPairs::Refused, depth: 128 };

pub(crate) fn explain(text: &str, error: &SyntaxError) -> Problem {
    let stop = Stop { text, at: error.at };
    match error.fault {
        JsonFault::Empty => Problem::syntax(Span::new(0, 0), "the file is empty")
            .help("the smallest config is {\"mcpServers\": {}}"),
        JsonFault::Unexpected { wanted, open } => stop.unexpected(wanted, open),
        JsonFault::Comment => Problem::syntax(stop.here(), "JSON has no comments"),
        JsonFault::TrailingComma => Problem::syntax(stop.here(), "a `,` is left over before it"),
        JsonFault::OpenComment => {
            Problem::syntax(Span::new(stop.at, stop.at + 2), "this comment is never closed")
                .help("end it with */")
        }
        JsonFault::SingleSlash => {
            Problem::syntax(stop.here(), "expected `//` or `/*`, found a single `/`")
        }
        JsonFault::TooDeep => {
            let message = format!("nested deeper than {} levels", OPTIONS.depth);
            Problem::syntax(stop.here(), message)
        }
        JsonFault::Number { run, .. } => not_a_number(run, run.of(text)),
        JsonFault::String { quote, why } => stop.in_string(quote, why),
    }
}

/// Where reading stopped.
struct Stop<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Stop<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next character, or the empty place at the end of the file.
    fn here(&self) -> Span {
        let width = self.rest().chars().next().map_or(0, char::len_utf8);
        Span::new(self.at, self.at + width)
    }

    fn unexpected(&self, wanted: ExpectedToken, open: Option<usize>) -> Problem {
        let Some(next) = self.rest().chars().next() else {
            return self.unclosed(open);
        };
        let expected = match wanted {
            ExpectedToken::Key => "a key in double quotes or `}`".to_owned(),
            ExpectedToken::Colon => "`:` after the key".to_owned(),
            ExpectedToken::Value => "a value".to_owned(),
            ExpectedToken::CommaOr(close) => format!("`,` or `{close}`"),
            ExpectedToken::End => "the end of the file".to_owned(),
        };
        let word = bare_word(self.rest());
        let shown_word = match wanted {
            ExpectedToken::Key => Some(word).filter(|word| self.is_bare_key(word)),
            ExpectedToken::Value => foreign_literal(word).map(|_| word),
            ExpectedToken::Colon | ExpectedToken::CommaOr(_) | ExpectedToken::End => None,
        };
        let (span, found) = match shown_word {
            Some(word) => (Span::new(self.at, self.at + word.len()), format!("`{word}`")),
            None => (self.here(), found(next)),
        };
        let problem = Problem::syntax(span, format!("expected {expected}, found {found}"));
        Problem { help: self.help(wanted, next, open), ..problem }
    }

    fn help(&self, wanted: ExpectedToken, next: char, open: Option<usize>) -> Option<String> {
        let word = bare_word(self.rest());
        match (wanted, next) {
            (ExpectedToken::End, _) => None,
            (_, '\'' | '`' | '\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}') => {
                Some("strings and keys are written in straight double quotes: \"…\"".to_owned())
            }
            (_, '#') => Some("a comment starts with //".to_owned()),
            (ExpectedToken::Key, _) if self.is_bare_key(word) => Some(format!("write \"{word}\"")),
            (ExpectedToken::Key | ExpectedToken::Value, ',') => {
                Some("remove this comma".to_owned())
            }
            (ExpectedToken::Value, _) if !word.is_empty() => Some(match foreign_literal(word) {
                Some(json) => format!("write {json}"),
                None => "put text in double quotes".to_owned(),
            }),
            (ExpectedToken::CommaOr(_), '}' | ']') => open.map(|open| self.opened(open)),
            (ExpectedToken::CommaOr(_), '"') => Some("a `,` is missing before it".to_owned()),
            (ExpectedToken::CommaOr(_), _) if !word.is_empty() => {
                Some("a quote inside a string is written \\\"".to_owned())
            }
            _ => None,
        }
    }

    /// A word before `:` is a key without its quotes; any other may be a part of a value.
    fn is_bare_key(&self, word: &str) -> bool {
        let after = self.rest().get(word.len()..).unwrap_or_default();
        let is_key = !word.is_empty() && after.trim_start().starts_with(':');
        is_key && hidden_in_key(word).is_none()
    }

    /// The file ended although something is still open: the opening is what the reader needs.
    fn unclosed(&self, open: Option<usize>) -> Problem {
        let Some(open) = open else {
            return Problem::syntax(self.here(), "expected a value, found the end");
        };
        let bracket = Span::new(open, open + 1);
        let close = if bracket.of(self.text) == "{" { '}' } else { ']' };
        let message = format!("this `{}` is never closed", bracket.of(self.text));
        Problem::syntax(bracket, message)
            .help(format!("the file ends where a `{close}` was expected"))
    }

    fn opened(&self, open: usize) -> String {
        let bracket = Span::new(open, open + 1).of(self.text);
        let place = Lines::new(self.text).place(open);
        format!("the `{bracket}` to close is at line {}, column {}", place.line, place.column)
    }

    fn in_string(&self, quote: usize, why: StringFault) -> Problem {
        match why {
            // Only the quote is marked: what follows may be a secret.
            StringFault::Unclosed | StringFault::Control(b'\n' | b'\r') => {
                let quote = Span::new(quote, quote + 1);
                Problem::syntax(quote, "this string is not closed on its line")
                    .help("close it with \"; a line break inside a string is written \\n")
            }
            StringFault::Control(control) => {
                let message = format!("control character U+{control:04X} in a string");
                let escape =
                    if control == b'\t' { "\\t".to_owned() } else { format!("\\u{control:04x}") };
                Problem::syntax(self.here(), message).help(format!("write it as {escape}"))
            }
            StringFault::UnknownEscape => self.unknown_escape(),
            StringFault::HexDigits { escape } => {
                let span = Span::new(escape, self.at);
                Problem::syntax(span, "`\\u` needs four hexadecimal digits").help(BACKSLASH)
            }
            StringFault::HalfPair { escape } => {
                let span = Span::new(escape, self.at);
                Problem::syntax(span, "this escape is half of a surrogate pair")
                    .help("write both halves, or the character itself")
            }
        }
    }

    fn unknown_escape(&self) -> Problem {
        let backslash = Span::new(self.at - 1, self.at);
        let span = match self.rest().chars().next() {
            None => return Problem::syntax(backslash, "the file ends in a string"),
            // On the last line of a broken string the letter is the newline: show `\` only.
            Some(letter) if letter.is_control() => backslash,
            Some(_) => Span::new(backslash.start, self.here().end),
        };
        Problem::syntax(span, "this is not a JSON escape").help(BACKSLASH)
    }
}

const BACKSLASH: &str = "a backslash is written \\\\ (or use / in paths)";

/// What starts with `next`, without quoting text that may be a value.
fn found(next: char) -> String {
    match next {
        '"' => "a string".to_owned(),
        '0'..='9' => "a number".to_owned(),
        c if c.is_alphanumeric() => "unquoted text".to_owned(),
        c if c.is_ascii_graphic() || matches!(c, '\u{2018}'..='\u{201d}') => format!("`{c}`"),
        c => format!("the character U+{:04X}", u32::from(c)),
    }
}

/// The JSON spelling of another language's literal.
fn foreign_literal(word: &str) -> Option<&'static str> {
    match word {
        "True" | "TRUE" | "yes" | "on" => Some("true"),
        "False" | "FALSE" | "no" | "off" => Some("false"),
        "None" | "nil" | "undefined" | "Null" | "NULL" => Some("null"),
        "NaN" | "Infinity" => Some("null, or put it in double quotes"),
        _ => None,
    }
}

fn not_a_number(span: Span, run: &str) -> Problem {
    // A long run is more likely an unquoted token than a number: do not show it.
    let shown = if run.len() <= 12 { run.len() } else { 1 };
    let span = Span::new(span.start, span.start + shown);
    Problem::syntax(span, "this is not a JSON number").help(number_help(run))
}

fn number_help(run: &str) -> &'static str {
    let unsigned = run.strip_prefix(['-', '+']).unwrap_or(run);
    if unsigned.starts_with("Infinity") {
        "JSON has no infinity; put it in double quotes if it is text"
    } else if run.starts_with('+') {
        "leave the + out"
    } else if unsigned.starts_with('.') || unsigned.ends_with('.') {
        "write digits on both sides of the point"
    } else if unsigned.starts_with('0') && unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        "leave the leading zero out, or put it in double quotes"
    } else {
        "numbers look like 10, -2.5 or 1e3; put it in double quotes if it is text"
    }
}
