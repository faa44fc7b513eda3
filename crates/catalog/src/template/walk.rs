//! Which places of a URI an expression can lead to (RFC 6570, section 3.2 and appendix A).

use super::parse::{Expression, Modifier, Operator, Variable};

/// How a URI is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TemplateReading {
    /// As an expansion by the RFC, but for characters that are no URI's at all or that common
    /// encoders leave alone (`encodeURIComponent`: `!'()*`).
    Strict,
    /// As people and scripts put URIs together: a value is anything up to the next `/`, `?` or `#`,
    /// and parameters come in any order.
    Loose,
}

/// A set of places in a URI.
pub(super) struct Positions<'u> {
    uri: &'u [u8],
    /// One for each byte, and one behind the last.
    places: Vec<bool>,
}

impl<'u> Positions<'u> {
    pub(super) fn start(uri: &'u [u8]) -> Self {
        let mut reach = Self::nowhere(uri);
        reach.add(0);
        reach
    }

    fn nowhere(uri: &'u [u8]) -> Self {
        Self { uri, places: vec![false; uri.len() + 1] }
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.places.contains(&true)
    }

    pub(super) fn at_end(&self) -> bool {
        self.places.last() == Some(&true)
    }

    /// Where `text` leads to from here.
    pub(super) fn literal(&self, text: &[u8]) -> Self {
        let mut after = Self::nowhere(self.uri);
        for at in self.iter() {
            let here = self.uri.get(at..).unwrap_or_default();
            if here.starts_with(text) {
                after.add(at + text.len());
            }
        }
        after
    }

    /// Where a run of `class` leads to from here, none and `most` characters of it included.
    fn run(&self, class: Class, most: Option<u16>) -> Self {
        let mut after = Self::nowhere(self.uri);
        // At each place, how many characters may still come; the largest way there counts.
        let mut left: Vec<Option<u16>> = vec![None; self.places.len()];
        for at in 0..self.places.len() {
            let fresh = self.has(at).then(|| most.unwrap_or(u16::MAX));
            let here = left.get(at).copied().flatten().max(fresh);
            let Some(here) = here else { continue };
            after.add(at);
            let Some((length, counts)) = class.next(self.uri.get(at..).unwrap_or_default()) else {
                continue;
            };
            let cost = u16::from(counts && most.is_some());
            if let (Some(remains), Some(next)) = (here.checked_sub(cost), left.get_mut(at + length))
            {
                *next = (*next).max(Some(remains));
            }
        }
        after
    }

    fn or(mut self, other: &Self) -> Self {
        self.places.iter_mut().zip(&other.places).for_each(|(here, there)| *here |= there);
        self
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.places.iter().enumerate().filter(|(_, is)| **is).map(|(at, _)| at)
    }

    fn has(&self, at: usize) -> bool {
        self.places.get(at) == Some(&true)
    }

    fn add(&mut self, at: usize) {
        if let Some(place) = self.places.get_mut(at) {
            *place = true;
        }
    }
}

impl Expression {
    /// Variables that are not set leave nothing behind, so each may be missing, and all of them.
    pub(super) fn walk<'u>(&self, from: &Positions<'u>, reading: TemplateReading) -> Positions<'u> {
        let shape = ValueShape::of(self.operator);
        if reading == TemplateReading::Loose && shape.named {
            let some = from.literal(shape.first).run(Class::Rest, None);
            return some.or(from);
        }
        let opened = from.literal(shape.first);
        let mut written = Positions::nowhere(from.uri);
        for variable in &self.variables {
            let item = opened.literal(b"").or(&written.literal(shape.separator));
            written = shape.item(variable, &item, reading).or(&written);
        }
        written.or(from)
    }
}

/// How an operator writes its values: the table of appendix A.
struct ValueShape {
    first: &'static [u8],
    separator: &'static [u8],
    /// What stands between exploded values and inside their pairs.
    pairs: &'static [u8],
    named: bool,
    reserved: bool,
}

impl ValueShape {
    fn of(operator: Operator) -> Self {
        let (first, separator, pairs): (&[u8], &[u8], &[u8]) = match operator {
            Operator::Simple | Operator::Reserved => (b"", b",", b",="),
            Operator::Fragment => (b"#", b",", b",="),
            Operator::Label => (b".", b".", b".="),
            Operator::Path => (b"/", b"/", b"/="),
            Operator::Parameters => (b";", b";", b";="),
            Operator::Query => (b"?", b"&", b"&="),
            Operator::QueryMore => (b"&", b"&", b"&="),
        };
        let named =
            matches!(operator, Operator::Parameters | Operator::Query | Operator::QueryMore);
        let reserved = matches!(operator, Operator::Reserved | Operator::Fragment);
        Self { first, separator, pairs, named, reserved }
    }

    /// One variable's value: a text, a list or pairs, as nobody can tell from here.
    fn item<'u>(
        &self,
        variable: &Variable,
        from: &Positions<'u>,
        reading: TemplateReading,
    ) -> Positions<'u> {
        let class = |more: &'static [u8]| match (reading, self.reserved) {
            (_, true) => Class::Any,
            (TemplateReading::Strict, false) => Class::Value(more),
            (TemplateReading::Loose, false) => Class::Segment(more),
        };
        match variable.modifier {
            Modifier::Explode => from.run(class(self.pairs), None),
            modifier if self.named => {
                let name = from.literal(variable.name.as_bytes());
                let value = name.literal(b"=").run(class(b","), modifier.most());
                // `;x` is an empty `x`.
                if self.first == b";" { value.or(&name) } else { value }
            }
            Modifier::Prefix(most) => from.run(class(b""), Some(most)),
            Modifier::None => from.run(class(b","), None),
        }
    }
}

impl Modifier {
    fn most(self) -> Option<u16> {
        match self {
            Self::Prefix(most) => Some(most),
            Self::None | Self::Explode => None,
        }
    }
}

/// Which characters a run may have.
#[derive(Clone, Copy)]
enum Class {
    /// Everything but what the RFC reserves, and these.
    Value(&'static [u8]),
    /// Everything up to the next part of a URI, and these.
    Segment(&'static [u8]),
    Any,
    /// Everything up to the fragment.
    Rest,
}

impl Class {
    /// The length of the unit that `bytes` start with, and whether it is a character of its own;
    /// `None` if it does not belong.
    fn next(self, bytes: &[u8]) -> Option<(usize, bool)> {
        let first = *bytes.first()?;
        let belongs = match self {
            Self::Any => true,
            Self::Rest => first != b'#',
            Self::Segment(more) => !b"/?#".contains(&first) || more.contains(&first),
            Self::Value(more) => !b":/?#[]@$&+,;=".contains(&first) || more.contains(&first),
        };
        if !belongs {
            return None;
        }
        let encoded = match bytes {
            [b'%', high, low, ..] => hex(*high).zip(hex(*low)).map(|(high, low)| high * 16 + low),
            _ => None,
        };
        // The bytes of one character count once: continuation bytes are 0b10xx_xxxx.
        let counts = encoded.unwrap_or(first) & 0xc0 != 0x80;
        Some((if encoded.is_some() { 3 } else { 1 }, counts))
    }
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}
