//! Replace single values in a message and copy every other byte.

use std::num::NonZeroU32;

/// Where a value lies in the bytes it was found in. Messages are far below 4 GiB, and a message
/// carries many of these: small ones are cheaper to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    start: u32,
    /// One more than the end: never nothing, so that no span takes no room beside one.
    behind: NonZeroU32,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        // Saturates instead of wrapping: a place that cannot be named yields empty bytes (`of`),
        // never other ones.
        let narrow = |place| u32::try_from(place).unwrap_or(u32::MAX - 1);
        Self { start: narrow(start), behind: NonZeroU32::MIN.saturating_add(narrow(end)) }
    }

    pub(crate) const fn short(start: u8, end: u8) -> Self {
        Self { start: start as u32, behind: NonZeroU32::MIN.saturating_add(end as u32) }
    }

    /// The empty span before the byte at `place`: what replaces it is inserted.
    pub fn at(place: usize) -> Self {
        Self::new(place, place)
    }

    pub fn start(self) -> usize {
        self.start as usize
    }

    pub fn end(self) -> usize {
        self.behind.get() as usize - 1
    }

    /// This span, found in the bytes of `outer`, as a span of what `outer` lies in.
    pub fn within(self, outer: Self) -> Self {
        Self { start: self.start + outer.start, behind: self.behind.saturating_add(outer.start) }
    }

    /// This span as one of the bytes that begin at `start`; `None`: it is not in them.
    pub(crate) fn from(self, start: usize) -> Option<Self> {
        let start_there = self.start().checked_sub(start)?;
        Some(Self::new(start_there, start_there + self.len()))
    }

    pub fn len(self) -> usize {
        self.end().saturating_sub(self.start())
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The bytes of the span; empty if it does not belong to `bytes`.
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start()..self.end()).unwrap_or_default()
    }
}

/// At most this many values are replaced in one message: id, name, arguments, progress token, and
/// what the stateless era adds.
// An array: edits are made for every message, and need no allocation.
const MOST_EDITS: usize = 6;

/// Replacements for one message, kept in the order of their place.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edits<'a> {
    slots: [Option<(Span, &'a [u8])>; MOST_EDITS],
    used: usize,
}

impl<'a> Edits<'a> {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a replacement. Spans must not overlap; a seventh one is ignored (and no caller has one).
    #[inline]
    pub fn add(&mut self, span: Span, new: &'a [u8]) {
        debug_assert!(self.used < MOST_EDITS, "too many edits for one message");
        let mut carried = (span, new);
        // Kept in order by insertion: there are two or three, and `pieces` walks the bytes once.
        for slot in self.slots.iter_mut().take(self.used) {
            if let Some(held) = slot
                && carried.0.start < held.0.start
            {
                std::mem::swap(held, &mut carried);
            }
        }
        if let Some(slot) = self.slots.get_mut(self.used) {
            *slot = Some(carried);
            self.used += 1;
        }
    }

    /// One replacement only.
    pub fn one(span: Span, new: &'a [u8]) -> Self {
        let mut edits = Self::new();
        edits.add(span, new);
        edits
    }

    /// How long `bytes` will be with the replacements made.
    pub fn length(&self, bytes: &[u8]) -> usize {
        let edited = self.slots.iter().take(self.used).flatten();
        let (old, new) =
            edited.fold((0, 0), |(old, new), (span, with)| (old + span.len(), new + with.len()));
        bytes.len() + new - old.min(bytes.len())
    }

    /// Appends `bytes` with the replacements made.
    pub fn write(&self, bytes: &[u8], out: &mut Vec<u8>) {
        // Room for the id, the token and the name that replace shorter ones: the message is written
        // without growing the buffer again.
        out.reserve(bytes.len() + 64);
        self.pieces(bytes, |piece| out.extend_from_slice(piece.bytes()));
    }

    /// The pieces of the edited message in order, for a caller that gathers instead of copying.
    pub fn pieces<'b>(&self, bytes: &'b [u8], mut each: impl FnMut(Piece<'b>))
    where
        'a: 'b,
    {
        let mut from = 0;
        for (span, new) in self.slots.iter().take(self.used).flatten() {
            each(Piece::Kept(bytes.get(from..span.start()).unwrap_or_default()));
            each(Piece::New(new));
            from = span.end();
        }
        each(Piece::Kept(bytes.get(from..).unwrap_or_default()));
    }
}

/// A piece of an edited message. Which it is matters to whoever does not copy: only what was kept
/// lies in the message's own bytes.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    Kept(&'a [u8]),
    New(&'a [u8]),
}

impl<'a> Piece<'a> {
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Self::Kept(bytes) | Self::New(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &str, edits: &[(usize, usize, &str)], expected: &str) {
        let mut all = Edits::new();
        for (start, end, new) in edits {
            all.add(Span::new(*start, *end), new.as_bytes());
        }
        let mut out = Vec::new();
        all.write(bytes.as_bytes(), &mut out);
        assert_eq!(all.length(bytes.as_bytes()), out.len());
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn only_the_spans_change() {
        check("abcdef", &[], "abcdef");
        check("abcdef", &[(1, 2, "BBB")], "aBBBcdef");
        check("abcdef", &[(4, 5, "E"), (1, 2, "")], "acdEf");
        check("abcdef", &[(5, 6, "F"), (0, 1, "A"), (2, 4, "-")], "Ab-eF");
        check("abc", &[(3, 3, "d")], "abcd");
    }
}
