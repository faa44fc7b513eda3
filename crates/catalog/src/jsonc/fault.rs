//! Why a text is not JSON, as data: who reads the text words it for its user.

use crate::place::Span;

/// The first thing in a text that is not JSON.
#[derive(Debug)]
pub struct SyntaxError {
    /// Where reading stopped.
    pub at: usize,
    pub fault: JsonFault,
    /// Comments and values read before the error: not to be shown.
    pub private: Vec<Span>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonFault {
    /// There is nothing but blanks and comments.
    Empty,
    /// Something else stands here, or the text ends. `open` is the innermost open bracket.
    Unexpected {
        wanted: ExpectedToken,
        open: Option<usize>,
    },
    /// A comment in strict JSON.
    Comment,
    /// A trailing comma in strict JSON; reading stopped at the bracket behind it.
    TrailingComma,
    OpenComment,
    SingleSlash,
    TooDeep,
    /// `run` is everything that was probably meant as the number.
    Number {
        run: Span,
        why: NumberFault,
    },
    String {
        quote: usize,
        why: StringFault,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedToken {
    /// Or the end of the object.
    Key,
    Colon,
    Value,
    /// Or this closing bracket.
    CommaOr(char),
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberFault {
    NoDigit,
    LeadingZero,
    /// A number, and more behind it.
    Overlong,
}

/// `escape` is the offset of the backslash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StringFault {
    Unclosed,
    Control(u8),
    /// Reading stopped behind the backslash.
    UnknownEscape,
    HexDigits {
        escape: usize,
    },
    HalfPair {
        escape: usize,
    },
}

impl SyntaxError {
    /// The opening quote, when the error lies inside a string.
    pub fn inside(&self) -> Option<usize> {
        match self.fault {
            JsonFault::String { quote, .. } => Some(quote),
            _ => None,
        }
    }
}
