//! Tokens: blanks and comments, strings, numbers and bare words.

use super::fault::{JsonFault, NumberFault, StringFault};
use super::options::{Dialect, HalfPairs, Options};
use super::tree::JsonText;
use crate::place::{Span, after_byte_order_mark};

pub(crate) struct Scanner<'t> {
    text: &'t str,
    /// After a fault: where it was noticed.
    pub(crate) pos: usize,
    pub(crate) options: Options,
    pub(crate) comments: Vec<Span>,
}

impl<'t> Scanner<'t> {
    pub(crate) fn new(text: &'t str, options: Options) -> Scanner<'t> {
        Scanner { text, pos: after_byte_order_mark(text), options, comments: Vec::new() }
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.pos..).unwrap_or_default()
    }

    /// Skips whitespace and comments.
    pub(crate) fn skip_blank(&mut self) -> Result<(), JsonFault> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.pos += 1,
                Some(b'/') => self.skip_comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn skip_comment(&mut self) -> Result<(), JsonFault> {
        let rest = self.rest();
        let length = if rest.starts_with("//") {
            Some(rest.find('\n').unwrap_or(rest.len()))
        } else if let Some(body) = rest.strip_prefix("/*") {
            body.find("*/").map(|end| end + 4)
        } else {
            return Err(JsonFault::SingleSlash);
        };
        if self.options.dialect == Dialect::Strict {
            return Err(JsonFault::Comment);
        }
        let length = length.ok_or(JsonFault::OpenComment)?;
        // Kept: a comment may hold an old token, and is hidden where a line is quoted.
        self.comments.push(Span::new(self.pos, self.pos + length));
        self.pos += length;
        Ok(())
    }

    /// The string that starts at the quote under the cursor.
    pub(crate) fn string(&mut self) -> Result<JsonText, JsonFault> {
        let quote = self.pos;
        self.string_from(quote).map_err(|why| JsonFault::String { quote, why })
    }

    fn string_from(&mut self, quote: usize) -> Result<JsonText, StringFault> {
        let mut text = JsonText::starting_at(quote);
        self.pos += 1;
        loop {
            let rest = self.rest();
            // RFC 8259, 7: control characters have to be escaped.
            let plain = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | ..0x20));
            let plain = plain.unwrap_or(rest.len());
            text.value.push_str(rest.get(..plain).unwrap_or_default());
            self.pos += plain;
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    let decoded = self.escape()?;
                    text.value.push(decoded);
                    text.anchor(self.pos);
                }
                Some(control) => return Err(StringFault::Control(control)),
                None => return Err(StringFault::Unclosed),
            }
        }
        self.pos += 1;
        text.span = Span::new(quote, self.pos);
        Ok(text)
    }

    fn escape(&mut self) -> Result<char, StringFault> {
        let start = self.pos;
        self.pos += 1;
        let decoded = match self.peek() {
            Some(same @ (b'"' | b'\\' | b'/')) => char::from(same),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(start),
            _ => return Err(StringFault::UnknownEscape),
        };
        self.pos += 1;
        Ok(decoded)
    }

    /// `\uXXXX`, or the two of them that make a character beyond U+FFFF.
    fn unicode_escape(&mut self, escape: usize) -> Result<char, StringFault> {
        self.pos += 1;
        let first = self.hex4(escape)?;
        let alone = self.pos;
        let code = if (0xd800..0xdc00).contains(&first) && self.rest().starts_with("\\u") {
            self.pos += 2;
            let second = self.hex4(escape)?;
            let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400);
            low.map(|low| 0x10000 + ((first - 0xd800) << 10) + low)
        } else {
            Some(first)
        };
        match (code.and_then(char::from_u32), self.options.half_pairs) {
            (Some(decoded), _) => Ok(decoded),
            (None, HalfPairs::Refused) => Err(StringFault::HalfPair { escape }),
            (None, HalfPairs::Replaced) => {
                // What follows the half is an escape of its own.
                self.pos = alone;
                Ok(char::REPLACEMENT_CHARACTER)
            }
        }
    }

    fn hex4(&mut self, escape: usize) -> Result<u32, StringFault> {
        let digits = self.rest().get(..4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let code = code.ok_or(StringFault::HexDigits { escape })?;
        self.pos += 4;
        Ok(code)
    }

    /// The number under the cursor, as written.
    pub(crate) fn number(&mut self) -> Result<&'t str, JsonFault> {
        // The whole run, also what cannot belong to a number: the error then marks all of `1_000`
        // or `0x1f`.
        let run = leading(self.rest(), |c| {
            c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_')
        });
        let span = Span::new(self.pos, self.pos + run.len());
        match self.number_until(span.end) {
            Ok(()) => Ok(run),
            Err(why) => Err(JsonFault::Number { run: span, why }),
        }
    }

    fn number_until(&mut self, end: usize) -> Result<(), NumberFault> {
        self.eat(b"-");
        let leading_zero = self.peek() == Some(b'0');
        // RFC 8259, 6: no leading zeros. Some parsers read them as octal numbers.
        if self.digits()? > 1 && leading_zero {
            return Err(NumberFault::LeadingZero);
        }
        if self.eat(b".") {
            self.digits()?;
        }
        if self.eat(b"eE") {
            self.eat(b"+-");
            self.digits()?;
        }
        if self.pos == end { Ok(()) } else { Err(NumberFault::Overlong) }
    }

    fn digits(&mut self) -> Result<usize, NumberFault> {
        let count = leading(self.rest(), |c| c.is_ascii_digit()).len();
        self.pos += count;
        if count == 0 { Err(NumberFault::NoDigit) } else { Ok(count) }
    }

    fn eat(&mut self, one_of: &[u8]) -> bool {
        let found = self.peek().is_some_and(|byte| one_of.contains(&byte));
        self.pos += usize::from(found);
        found
    }

    pub(crate) fn word(&self) -> &'t str {
        bare_word(self.rest())
    }
}

/// The word without quotes at the start of the text; empty where none is.
pub fn bare_word(text: &str) -> &str {
    leading(text, |c| c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '.'))
}

fn leading(text: &str, belongs: fn(char) -> bool) -> &str {
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}
