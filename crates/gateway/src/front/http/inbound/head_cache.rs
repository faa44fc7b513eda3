//! `HeadCache`: the head that a client repeats. Clients post one message after the other under the same
//! head but for Content-Length and Mcp-Name; what was decided about its bytes once holds again.

use trunkline_http::{Headers, Request};

use crate::front::http::connection::ReplyMode;
use crate::front::http::handlers::{CachedRoute, NAME};

/// A head that was accepted.
#[derive(Debug)]
pub(crate) struct HeadCache {
    pub(crate) route: CachedRoute,
    /// `Gate::version` when the head was accepted.
    gate_version: u64,
    pattern: HeadPattern,
}

/// The values of a repeated head that differ from the last time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RepeatedHead<'a> {
    /// The length of the head.
    pub(crate) head: usize,
    /// Content-Length.
    pub(crate) body: usize,
    /// Mcp-Name, where the head has one.
    pub(crate) name: &'a [u8],
}

impl HeadCache {
    /// `None`: heads of this kind are checked each time.
    pub(crate) fn new(
        route: CachedRoute,
        head: &[u8],
        request: &Request<'_>,
        mode: &ReplyMode,
        gate_version: u64,
    ) -> Option<Self> {
        // Only plain replies: the cached route answers without looking at the mode.
        if *mode != ReplyMode::PLAIN || request.expects_continue() {
            return None;
        }
        let variables: &[HeadVariable] = match route {
            CachedRoute::Session(_) => &[HeadVariable::Length],
            CachedRoute::Stateless(_) => &[HeadVariable::Length, HeadVariable::Name],
        };
        let pattern = HeadPattern::new(head, &request.headers, variables)?;
        Some(Self { route, gate_version, pattern })
    }

    /// The variable values, if `bytes` begin with this head and the gate has not changed.
    pub(crate) fn find<'a>(&self, bytes: &'a [u8], gate_version: u64) -> Option<RepeatedHead<'a>> {
        let holds = self.gate_version == gate_version
            && match &self.route {
                CachedRoute::Session(session) => !session.is_over(),
                CachedRoute::Stateless(fast_path) => !fast_path.is_expired(),
            };
        self.pattern.find(bytes).filter(|_| holds)
    }
}

/// A head without its variable values.
#[derive(Debug, PartialEq, Eq)]
struct HeadPattern {
    /// What stands before each variable.
    parts: Vec<(Vec<u8>, HeadVariable)>,
    after: Vec<u8>,
}

/// A header value that differs each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeadVariable {
    /// The digits of Content-Length.
    Length,
    /// Mcp-Name.
    Name,
}

impl HeadVariable {
    /// The value it has in this head, if it has one.
    fn of<'a>(self, headers: &Headers<'a>) -> Option<&'a [u8]> {
        let mut values = headers.all(match self {
            Self::Length => "content-length",
            Self::Name => NAME,
        });
        // A repeated field is ambiguous: such a head is checked each time.
        values.next().filter(|_| values.next().is_none())
    }

    /// How many of `bytes` may belong to such a value. Only harmless bytes do: none that could begin
    /// another header or need decoding.
    fn fill(self, bytes: &[u8]) -> usize {
        let fits = |byte: &&u8| match self {
            Self::Length => byte.is_ascii_digit(),
            Self::Name => byte.is_ascii_alphanumeric() || b"_-./:".contains(byte),
        };
        bytes.iter().take_while(fits).count()
    }
}

impl HeadPattern {
    fn new(head: &[u8], headers: &Headers<'_>, variables: &[HeadVariable]) -> Option<Self> {
        let mut places = Vec::with_capacity(variables.len());
        for variable in variables {
            let value = variable.of(headers)?;
            // The value was found in the head: this is where.
            places.push((
                value.as_ptr().addr().checked_sub(head.as_ptr().addr())?,
                value,
                *variable,
            ));
        }
        places.sort_by_key(|(start, ..)| *start);
        let (mut parts, mut behind) = (Vec::with_capacity(places.len()), 0);
        for (start, value, variable) in places {
            parts.push((head.get(behind..start)?.to_vec(), variable));
            behind = start + value.len();
        }
        Some(Self { parts, after: head.get(behind..)?.to_vec() })
    }

    fn find<'a>(&self, bytes: &'a [u8]) -> Option<RepeatedHead<'a>> {
        let mut found = RepeatedHead { head: 0, body: 0, name: b"" };
        let mut rest = bytes;
        for (before, variable) in &self.parts {
            rest = rest.strip_prefix(&**before)?;
            let (value, behind) = rest.split_at_checked(variable.fill(rest))?;
            match variable {
                HeadVariable::Length => found.body = number(value)?,
                HeadVariable::Name => found.name = value,
            }
            rest = behind;
        }
        rest = rest.strip_prefix(&*self.after)?;
        found.head = bytes.len() - rest.len();
        Some(found)
    }
}

/// Enough for any body that is taken.
const MOST_DIGITS: usize = 9;

fn number(digits: &[u8]) -> Option<usize> {
    // Nine digits cannot overflow.
    let usual = (1..=MOST_DIGITS).contains(&digits.len());
    usual.then(|| digits.iter().fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str, variables: &[HeadVariable]) -> Option<HeadPattern> {
        let (request, length) = trunkline_http::request(text.as_bytes()).unwrap().unwrap();
        HeadPattern::new(&text.as_bytes()[..length], &request.headers, variables)
    }

    /// The lengths of head and body, and the name.
    fn found(known: &HeadPattern, text: &str) -> Option<(usize, usize, String)> {
        let RepeatedHead { head, body, name } = known.find(text.as_bytes())?;
        Some((head, body, String::from_utf8(name.to_vec()).unwrap()))
    }

    const HEAD: &str = "POST /mcp HTTP/1.1\r\nHost: a\r\ncontent-length:  12 \r\nX: 12\r\n\r\n";
    const CALL: &str = "POST /mcp HTTP/1.1\r\nHost: a\r\nMcp-Name: s.t \r\nX: s.t\r\n\
                        Content-Length: 5\r\n\r\n";
    const LENGTH: &[HeadVariable] = &[HeadVariable::Length];
    const BOTH: &[HeadVariable] = &[HeadVariable::Length, HeadVariable::Name];

    #[test]
    fn the_same_head_is_found_whatever_its_length() {
        let known = head(HEAD, LENGTH).unwrap();
        for (digits, body) in [("12", 12), ("7", 7), ("007", 7), ("123456789", 123_456_789)] {
            let text = HEAD.replacen("12", digits, 1);
            let expected = Some((text.len(), body, String::new()));
            assert_eq!(found(&known, &text), expected, "{digits}");
            assert_eq!(found(&known, &format!("{text}{{}}GET")), expected, "{digits}");
        }
    }

    #[test]
    fn any_other_head_is_not() {
        let known = head(HEAD, LENGTH).unwrap();
        let text = |digits: &str| HEAD.replacen("12", digits, 1);
        for other in [
            text(""),
            text("+1"),
            text("-1"),
            text("1,2"),
            text("1 2"),
            text("0x1"),
            text("1\r\nContent-Length: 2"),
            text("1234567890"),
            HEAD.replace("Host: a", "Host: b"),
            HEAD.replace("X: 12", "X: 13"),
            HEAD.replace("X: 12", "X: 12\r\nTransfer-Encoding: chunked"),
            HEAD.replace("X: 12\r\n", ""),
            HEAD.replace("POST", "PUT"),
            HEAD.trim_end().to_owned(),
            String::new(),
        ] {
            assert_eq!(found(&known, &other), None, "{other}");
        }
    }

    #[test]
    fn a_head_that_names_a_tool_is_found_whatever_the_tool() {
        let swapped = "POST / HTTP/1.1\r\nContent-Length: 5\r\nmcp-name: s.t\r\nHost: a\r\n\r\n";
        for text in [CALL, swapped] {
            let known = head(text, BOTH).unwrap();
            for (name, digits, body) in [("s.t", "5", 5), ("other_tool-1", "1234", 1234)] {
                let text = text.replacen("s.t", name, 1).replacen(": 5", &format!(": {digits}"), 1);
                let expected = Some((text.len(), body, name.to_owned()));
                assert_eq!(found(&known, &format!("{text}{{}}")), expected, "{text}");
            }
        }
    }

    #[test]
    fn nothing_hides_in_the_name_of_a_tool() {
        let known = head(CALL, BOTH).unwrap();
        for name in [
            "a b",
            "a\tb",
            "a, b",
            "\u{e9}",
            "=?base64?YQ==?=",
            "a\r\nX: b",
            "a\r\nTransfer-Encoding: chunked",
            "a\nb",
            "a\0",
            "\"a\"",
            "a\\",
        ] {
            assert_eq!(found(&known, &CALL.replacen("s.t", name, 1)), None, "{name:?}");
        }
        assert_eq!(found(&known, &CALL.replace("X: s.t", "X: s.u")), None);
    }

    #[test]
    fn only_a_head_with_one_length_and_one_name_is_remembered() {
        let two = HEAD.replace("X: 12", "Content-Length: 12");
        assert_eq!(head(&two, LENGTH), None);
        assert_eq!(head("GET / HTTP/1.1\r\nHost: a\r\n\r\n", LENGTH), None);
        assert_eq!(head(HEAD, BOTH), None);
        assert_eq!(head(&CALL.replace("X: s.t", "mcp-name: s.t"), BOTH), None);
    }
}
