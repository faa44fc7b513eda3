//! `Message`: the bytes as received and the few fields Trunkline looks at; `Id`: a request's id, the
//! client's exactly as spelt or ours.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use crate::fault::FaultKind;
use crate::splice::Span;
use crate::text;

/// One scanned message. Its bytes are proven to be one JSON object in UTF-8.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    pub bytes: &'a [u8],
    pub kind: Kind,
    /// The id as written (a number or string token, or `null` in an error). Never for notifications.
    pub id: Option<Span>,
    /// The method without its quotes, as written.
    pub method: Option<Span>,
    /// There are escapes in it.
    pub(crate) method_is_escaped: bool,
    pub params: Params,
    pub result: Option<Span>,
    /// `result.resultType`, with its quotes: the stateless era says what kind of result it is.
    pub result_type: Option<Span>,
    pub error: Option<Span>,
    /// A response that strict clients cannot read, and why: `result` is not an object, or `error` lacks
    /// an integer `code` or a string `message`.
    pub unreadable: Option<FaultKind>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Request,
    Notification,
    /// A response with `result`.
    Answer,
    /// A response with `error`.
    Refusal,
}

/// What was found in `params`. Spans of strings include their quotes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Params {
    pub span: Option<Span>,
    pub name: Option<Span>,
    pub uri: Option<Span>,
    pub arguments: Option<Span>,
    pub cursor: Option<Span>,
    /// Of `notifications/cancelled`.
    pub request_id: Option<Span>,
    /// Of `notifications/progress`.
    pub progress_token: Option<Span>,
    pub meta: ParamsMeta,
    /// Of a request that is made again with what was asked for.
    pub input_responses: Option<Span>,
    pub request_state: Option<Span>,
}

/// What was found in `params._meta`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ParamsMeta {
    pub span: Option<Span>,
    /// Two messages with the same number here have the same `_meta`, to the byte. 0: nothing is known.
    pub number: u64,
    /// `progressToken` of a request.
    pub progress_token: Option<Span>,
    /// The revision a request of the stateless era is in.
    pub version: Option<Span>,
    pub capabilities: Option<Span>,
    pub level: Option<Span>,
    /// The `subscriptions/listen` a notification belongs to.
    pub subscription: Option<Span>,
    /// Under which a call that is made again is known.
    pub idempotency_key: Option<Span>,
}

impl<'a> Message<'a> {
    pub fn text(&self, span: Option<Span>) -> &'a [u8] {
        span.map(|span| span.of(self.bytes)).unwrap_or_default()
    }

    /// The method as text: some writers escape the slash in it.
    pub fn method(&self) -> Cow<'a, [u8]> {
        let raw = self.text(self.method);
        if !self.method_is_escaped {
            return Cow::Borrowed(raw);
        }
        // `decode` wants the quotes, which stand right around the method.
        let token = self.method.map(|span| Span::new(span.start() - 1, span.end() + 1));
        match text::decode(self.text(token)) {
            Some(text) => Cow::Owned(text.into_owned().into_bytes()),
            None => Cow::Borrowed(raw),
        }
    }

    pub fn id(&self) -> &'a [u8] {
        self.text(self.id)
    }
}

/// A client's request id. `1`, `1.0` and `"1"` are three different ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Id {
    /// A whole number in its usual spelling: the common case, kept without an allocation.
    Number(i64),
    /// Anything else, as written.
    Raw(Box<[u8]>),
}

/// A number and its spelling are different ids; that they may look alike to a table costs nothing.
impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Number(number) => state.write_i64(*number),
            Self::Raw(token) => token.hash(state),
        }
    }
}

impl Id {
    /// From the token in a message.
    pub fn new(token: &[u8]) -> Self {
        match usual_number(token) {
            Some(number) => Self::Number(number),
            None => Self::Raw(token.into()),
        }
    }

    /// Calls `use_it` with the token, spelt as it was received.
    pub fn with_token<T>(&self, use_it: impl FnOnce(&[u8]) -> T) -> T {
        match self {
            Self::Number(number) => {
                let mut digits = Digits::default();
                use_it(digits.write(*number))
            }
            Self::Raw(token) => use_it(token),
        }
    }
}

/// The number, if writing it down again gives exactly `token`.
fn usual_number(token: &[u8]) -> Option<i64> {
    // Eighteen digits always fit into an `i64`. A leading zero needs no check: JSON has none (RFC
    // 8259, 6), and the token was scanned. `-0` would come back as `0`.
    let digits = token.strip_prefix(b"-").unwrap_or(token);
    let usual =
        (1..=18).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit) && token != b"-0";
    if !usual {
        return None;
    }
    let sum = digits.iter().fold(0_i64, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    Some(if digits.len() == token.len() { sum } else { -sum })
}

/// The numbers below a hundred, in two digits each.
const PAIRS: &[u8; 200] = b"\
    00010203040506070809101112131415161718192021222324252627282930313233343536373839\
    40414243444546474849505152535455565758596061626364656667686970717273747576777879\
    8081828384858687888990919293949596979899";

/// Room for a number's digits on the stack.
#[derive(Debug, Default)]
struct Digits([u8; 20]);

impl Digits {
    fn write(&mut self, number: i64) -> &[u8] {
        let mut rest = number.unsigned_abs();
        let mut at = self.0.len();
        // Two at a time: each needs the division before it.
        while rest >= 10 {
            at -= 2;
            let pair = 2 * usize::try_from(rest % 100).unwrap_or_default();
            if let (Some(slots), Some(pair)) =
                (self.0.get_mut(at..at + 2), PAIRS.get(pair..pair + 2))
            {
                slots.copy_from_slice(pair);
            }
            rest /= 100;
        }
        if rest > 0 || at == self.0.len() {
            at -= 1;
            if let Some(slot) = self.0.get_mut(at) {
                *slot = b'0' + u8::try_from(rest).unwrap_or_default();
            }
        }
        if number < 0 {
            at -= 1;
            if let Some(slot) = self.0.get_mut(at) {
                *slot = b'-';
            }
        }
        self.0.get(at..).unwrap_or_default()
    }
}

/// One of our own ids back from a server: the number we sent, or (some servers do that) the same
/// number as a string or with a fraction of zero.
pub fn upstream_id(token: &[u8]) -> Option<u32> {
    let token = match token {
        // JSON-RPC 2.0, 5 wants the id back as it was sent. A server that turns it into a string
        // still means our call, which would otherwise wait for its timeout.
        [b'"', inner @ .., b'"'] => inner,
        other => other.strip_suffix(b".0").unwrap_or(other),
    };
    usual_number(token).and_then(|number| u32::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_comes_back_as_spelt() {
        for token in [
            "0",
            "-1",
            "7",
            "10",
            "42",
            "99",
            "100",
            "101",
            "1000000",
            "-10",
            "-999",
            "1.0",
            "-0",
            "1e3",
            "\"1\"",
            "\"a\\u0062\"",
            "123456789012345678",
            "99999999999999999999999",
            "-999999999999999999",
            "null",
        ] {
            let id = Id::new(token.as_bytes());
            assert_eq!(id.with_token(<[u8]>::to_vec), token.as_bytes());
        }
    }

    #[test]
    fn our_id_is_known_in_the_spellings_servers_use() {
        for (token, expected) in [
            ("123456789", Some(123_456_789)),
            ("\"123456789\"", Some(123_456_789)),
            ("123456789.0", Some(123_456_789)),
            ("1.5", None),
            ("-1", None),
            ("99999999999", None),
            ("null", None),
            ("\"x\"", None),
        ] {
            assert_eq!(upstream_id(token.as_bytes()), expected, "{token}");
        }
    }

    #[test]
    fn different_spellings_are_different_ids() {
        let one = Id::new(b"1");
        assert_ne!(one, Id::new(b"\"1\""));
        assert_ne!(one, Id::new(b"1.0"));
        assert_eq!(one, Id::new(b"1"));
    }
}
