//! The smallest pieces of JSON text: strings, numbers, words, and what stands between them.

use super::Dialect;

/// A place in the text that moves on over what it has read.
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) dialect: Dialect,
}

/// What is wrong; where is the cursor's place.
pub(super) type Problem = &'static str;

impl Cursor<'_> {
    /// The string with its quotes, as written.
    pub(super) fn string(&mut self) -> Result<String, Problem> {
        let start = self.at;
        self.eat("\"");
        loop {
            match self.peek() {
                None => return Err("the text ends inside a string"),
                Some(c) if c < ' ' => return Err("a control character inside a string"),
                Some('\\') => self.escape()?,
                Some(c) => {
                    self.at += c.len_utf8();
                    if c == '"' {
                        return Ok(self.since(start));
                    }
                }
            }
        }
    }

    fn escape(&mut self) -> Result<(), Problem> {
        self.at += 1;
        match self.peek() {
            Some('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't') => {
                self.at += 1;
                Ok(())
            }
            Some('u') => {
                self.at += 1;
                let digits = self.rest().get(..4).unwrap_or_default();
                if digits.len() != 4 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
                    return Err("expected four hexadecimal digits");
                }
                self.at += 4;
                Ok(())
            }
            _ => Err("not an escape sequence"),
        }
    }

    pub(super) fn number(&mut self) -> Result<String, Problem> {
        let start = self.at;
        self.eat("-");
        let leading_zero = self.peek() == Some('0');
        if self.digits()? > 1 && leading_zero {
            return Err("a number with a leading zero");
        }
        if self.eat(".") {
            self.digits()?;
        }
        if self.eat("e") || self.eat("E") {
            let _sign = self.eat("+") || self.eat("-");
            self.digits()?;
        }
        Ok(self.since(start))
    }

    fn digits(&mut self) -> Result<usize, Problem> {
        let count = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        self.at += count;
        if count == 0 { Err("expected a digit") } else { Ok(count) }
    }

    pub(super) fn word(&mut self) -> Result<String, Problem> {
        let start = self.at;
        let known = ["true", "false", "null"].into_iter().any(|word| self.eat(word));
        if known { Ok(self.since(start)) } else { Err("expected a value") }
    }

    pub(super) fn trivia(&mut self) -> Result<(), Problem> {
        loop {
            let spaces = self.rest().bytes().take_while(|b| b" \t\r\n".contains(b)).count();
            self.at += spaces;
            let comment = self.rest().starts_with("//") || self.rest().starts_with("/*");
            if !comment {
                return Ok(());
            }
            if self.dialect == Dialect::Strict {
                return Err("the client does not accept comments here");
            }
            self.comment()?;
        }
    }

    fn comment(&mut self) -> Result<(), Problem> {
        let rest = self.rest();
        let length = if rest.starts_with("//") {
            Some(rest.find('\n').unwrap_or(rest.len()))
        } else {
            rest.get(2..).and_then(|body| body.find("*/")).map(|end| end + 4)
        };
        self.at += length.ok_or("the text ends inside a comment")?;
        Ok(())
    }

    pub(super) fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn since(&self, start: usize) -> String {
        self.text.get(start..self.at).unwrap_or_default().to_owned()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }
}
