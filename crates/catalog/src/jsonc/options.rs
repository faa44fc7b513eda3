//! In what the texts we read differ.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub dialect: Dialect,
    pub half_pairs: HalfPairs,
    /// Deeper nesting is refused: the parser is recursive.
    pub depth: usize,
}

/// What the program that owns the file accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// JSON as the standard has it.
    Strict,
    /// Comments and trailing commas too (`.jsonc`).
    Comments,
}

/// An escape that is half of a surrogate pair: JavaScript takes it, but it is no character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HalfPairs {
    Refused,
    /// Decoded as U+FFFD; the text keeps what was written.
    Replaced,
}
