//! Tokens: blanks and comments, strings, numbers and bare words.

use super::tree::Text;
use crate::config::place::{Span, after_byte_order_mark};

/// The first thing in a file that is not JSON.
pub(crate) struct SyntaxError {
    pub(crate) span: Span,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    /// The opening quote, when the error lies inside a string.
    pub(crate) inside: Option<usize>,
    /// Comments and values read before the error: not to be shown.
    pub(crate) private: Vec<Span>,
}

impl SyntaxError {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> SyntaxError {
        let message = message.into();
        SyntaxError { span, message, help: None, inside: None, private: Vec::new() }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> SyntaxError {
        self.help = Some(help.into());
        self
    }

    fn inside(mut self, quote: usize) -> SyntaxError {
        self.inside = Some(quote);
        self
    }
}

pub(crate) struct Scanner<'t> {
    pub(crate) text: &'t str,
    pub(crate) pos: usize,
    pub(crate) comments: Vec<Span>,
}

impl<'t> Scanner<'t> {
    pub(crate) fn new(text: &'t str) -> Scanner<'t> {
        Scanner { text, pos: after_byte_order_mark(text), comments: Vec::new() }
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    pub(crate) fn rest(&self) -> &'t str {
        self.text.get(self.pos..).unwrap_or_default()
    }

    /// The next character, or the empty place at the end of the file.
    pub(crate) fn here(&self) -> Span {
        let width = self.rest().chars().next().map_or(0, char::len_utf8);
        Span::new(self.pos, self.pos + width)
    }

    /// Skips whitespace and comments.
    pub(crate) fn skip_blank(&mut self) -> Result<(), SyntaxError> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.pos += 1,
                Some(b'/') => self.skip_comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn skip_comment(&mut self) -> Result<(), SyntaxError> {
        let rest = self.rest();
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(body) = rest.strip_prefix("/*") {
            let end = body.find("*/").ok_or_else(|| {
                let open = Span::new(self.pos, self.pos + 2);
                SyntaxError::new(open, "this comment is never closed").help("end it with */")
            })?;
            end + 4
        } else {
            return Err(SyntaxError::new(self.here(), "expected `//` or `/*`, found a single `/`"));
        };
        self.comments.push(Span::new(self.pos, self.pos + length));
        self.pos += length;
        Ok(())
    }

    /// The string that starts at the quote under the cursor.
    pub(crate) fn string(&mut self) -> Result<Text, SyntaxError> {
        let quote = self.pos;
        let mut text = Text::starting_at(quote);
        self.pos += 1;
        loop {
            let rest = self.rest();
            let plain = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | ..0x20));
            let Some(plain) = plain else {
                return Err(never_closed(quote));
            };
            text.value.push_str(rest.get(..plain).unwrap_or_default());
            self.pos += plain;
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    let decoded = self.escape().map_err(|error| error.inside(quote))?;
                    text.value.push(decoded);
                    text.anchor(self.pos);
                }
                Some(b'\n' | b'\r') | None => return Err(never_closed(quote)),
                Some(control) => return Err(raw_control(self.here(), control).inside(quote)),
            }
        }
        self.pos += 1;
        text.span = Span::new(quote, self.pos);
        Ok(text)
    }

    fn escape(&mut self) -> Result<char, SyntaxError> {
        let start = self.pos;
        self.pos += 1;
        let Some(letter) = self.rest().chars().next() else {
            return Err(SyntaxError::new(Span::new(start, self.pos), "the file ends in a string"));
        };
        self.pos += letter.len_utf8();
        Ok(match letter {
            '"' | '\\' | '/' => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode_escape(start),
            _ => {
                // On the last line of a broken string the letter is the newline: show `\` only.
                let end = if letter.is_control() { start + 1 } else { self.pos };
                let error = SyntaxError::new(Span::new(start, end), "this is not a JSON escape");
                return Err(error.help("a backslash is written \\\\ (or use / in paths)"));
            }
        })
    }

    /// `\uXXXX`, or the two of them that make a character beyond U+FFFF.
    fn unicode_escape(&mut self, start: usize) -> Result<char, SyntaxError> {
        let first = self.hex4(start)?;
        let code = if (0xd800..0xdc00).contains(&first) && self.rest().starts_with("\\u") {
            self.pos += 2;
            let second = self.hex4(start)?;
            let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400);
            low.map(|low| 0x10000 + ((first - 0xd800) << 10) + low)
        } else {
            Some(first)
        };
        code.and_then(char::from_u32).ok_or_else(|| {
            let span = Span::new(start, self.pos);
            SyntaxError::new(span, "this escape is half of a surrogate pair")
                .help("write both halves, or the character itself")
        })
    }

    fn hex4(&mut self, start: usize) -> Result<u32, SyntaxError> {
        let digits = self.rest().get(..4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let code = code.ok_or_else(|| {
            let span = Span::new(start, self.pos);
            SyntaxError::new(span, "`\\u` needs four hexadecimal digits")
                .help("a backslash is written \\\\ (or use / in paths)")
        })?;
        self.pos += 4;
        Ok(code)
    }

    /// The number under the cursor, as written.
    pub(crate) fn number(&mut self) -> Result<&'t str, SyntaxError> {
        let run = self.run(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_'));
        if is_number(run) {
            self.pos += run.len();
            return Ok(run);
        }
        // A long run is more likely an unquoted token than a number: do not show it.
        let shown = if run.len() <= 12 { run.len() } else { 1 };
        let span = Span::new(self.pos, self.pos + shown);
        Err(SyntaxError::new(span, "this is not a JSON number").help(number_help(run)))
    }

    /// The bare word under the cursor; empty where none is.
    pub(crate) fn word(&self) -> &'t str {
        self.run(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '.'))
    }

    fn run(&self, belongs: fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }
}

/// Only the quote is marked: what follows may be a secret.
fn never_closed(quote: usize) -> SyntaxError {
    SyntaxError::new(Span::new(quote, quote + 1), "this string is not closed on its line")
        .help("close it with \"; a line break inside a string is written \\n")
        .inside(quote)
}

fn raw_control(span: Span, control: u8) -> SyntaxError {
    let escape = if control == b'\t' { "\\t".to_owned() } else { format!("\\u{control:04x}") };
    SyntaxError::new(span, format!("control character U+{control:04X} in a string"))
        .help(format!("write it as {escape}"))
}

fn is_number(run: &str) -> bool {
    let unsigned = run.strip_prefix('-').unwrap_or(run);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let exponent = exponent.map(|digits| digits.strip_prefix(['+', '-']).unwrap_or(digits));
    (whole == "0" || (digits(whole) && !whole.starts_with('0')))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(digits)
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn number_help(run: &str) -> &'static str {
    let unsigned = run.strip_prefix(['-', '+']).unwrap_or(run);
    if unsigned.starts_with("Infinity") {
        "JSON has no infinity; put it in double quotes if it is text"
    } else if run.starts_with('+') {
        "leave the + out"
    } else if unsigned.starts_with('.') || unsigned.ends_with('.') {
        "write digits on both sides of the point"
    } else if unsigned.starts_with('0') && digits(unsigned) {
        "leave the leading zero out, or put it in double quotes"
    } else {
        "numbers look like 10, -2.5 or 1e3; put it in double quotes if it is text"
    }
}
