//! The head a client repeats: it posts one message after the other with the same head but for the
//! length of the body and the name of the tool, and what was decided about it once holds for the
//! same bytes again.

use std::sync::Arc;

use trunkline_http::{Headers, Request};

use crate::front::http::mirror::NAME;
use crate::front::http::reply::ReplyMode;
use crate::front::http::sessions::HttpSession;
use crate::front::http::stateless_fast_path::StatelessFastPath;

/// A head that was found good.
#[derive(Debug)]
pub(super) struct HeadCache {
    pub(super) good: Cached,
    /// Of the gate, when it was passed.
    version: u64,
    head: Head,
}

/// What a head is good for.
#[derive(Debug)]
pub(super) enum Cached {
    /// For messages of this session.
    Session(Arc<HttpSession>),
    /// For calls that stand for themselves.
    Alone(StatelessFastPath),
}

/// What differs from the last time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found<'a> {
    /// The length of the head.
    pub(super) head: usize,
    /// And of the body.
    pub(super) body: usize,
    /// The tool that is called, where the head says so.
    pub(super) name: &'a [u8],
}

impl HeadCache {
    /// `None`: it is of a kind that is looked at each time.
    pub(super) fn new(
        good: Cached,
        head: &[u8],
        request: &Request<'_>,
        manner: &ReplyMode,
        version: u64,
    ) -> Option<Self> {
        if *manner != ReplyMode::PLAIN || request.expects_continue() {
            return None;
        }
        let blanks: &[Blank] = match good {
            Cached::Session(_) => &[Blank::Length],
            Cached::Alone(_) => &[Blank::Length, Blank::Name],
        };
        let head = Head::new(head, &request.headers, blanks)?;
        Some(Self { good, version, head })
    }

    /// If `bytes` begin with this head, and nothing has changed at the gate: the rest of it.
    pub(super) fn find<'a>(&self, bytes: &'a [u8], version: u64) -> Option<Found<'a>> {
        let holds = self.version == version
            && match &self.good {
                Cached::Session(session) => !session.is_over(),
                Cached::Alone(alone) => !alone.is_over(),
            };
        self.head.find(bytes).filter(|_| holds)
    }
}

/// A head, less the values that differ each time.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    /// What stands before each of them.
    parts: Vec<(Vec<u8>, Blank)>,
    after: Vec<u8>,
}

/// A value that differs each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blank {
    /// The digits of Content-Length.
    Length,
    /// Mcp-Name.
    Name,
}

impl Blank {
    /// The value it has in this head, if it has one.
    fn of<'a>(self, headers: &Headers<'a>) -> Option<&'a [u8]> {
        let mut values = headers.all(match self {
            Self::Length => "content-length",
            Self::Name => NAME,
        });
        values.next().filter(|_| values.next().is_none())
    }

    /// How much of `bytes` may be such a value: nothing that could mean more than it says.
    fn fill(self, bytes: &[u8]) -> usize {
        let fits = |byte: &&u8| match self {
            Self::Length => byte.is_ascii_digit(),
            Self::Name => byte.is_ascii_alphanumeric() || b"_-./:".contains(byte),
        };
        bytes.iter().take_while(fits).count()
    }
}

impl Head {
    fn new(head: &[u8], headers: &Headers<'_>, blanks: &[Blank]) -> Option<Self> {
        let mut places = Vec::with_capacity(blanks.len());
        for blank in blanks {
            let value = blank.of(headers)?;
            // The value was found in the head: this is where.
            places.push((value.as_ptr().addr().checked_sub(head.as_ptr().addr())?, value, *blank));
        }
        places.sort_by_key(|(start, ..)| *start);
        let (mut parts, mut behind) = (Vec::with_capacity(places.len()), 0);
        for (start, value, blank) in places {
            parts.push((head.get(behind..start)?.to_vec(), blank));
            behind = start + value.len();
        }
        Some(Self { parts, after: head.get(behind..)?.to_vec() })
    }

    fn find<'a>(&self, bytes: &'a [u8]) -> Option<Found<'a>> {
        let mut found = Found { head: 0, body: 0, name: b"" };
        let mut rest = bytes;
        for (before, blank) in &self.parts {
            rest = rest.strip_prefix(&**before)?;
            let (value, behind) = rest.split_at_checked(blank.fill(rest))?;
            match blank {
                Blank::Length => found.body = number(value)?,
                Blank::Name => found.name = value,
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
    let usual = (1..=MOST_DIGITS).contains(&digits.len());
    usual.then(|| digits.iter().fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str, blanks: &[Blank]) -> Option<Head> {
        let (request, length) = trunkline_http::request(text.as_bytes()).unwrap().unwrap();
        Head::new(&text.as_bytes()[..length], &request.headers, blanks)
    }

    /// The lengths of head and body, and the name.
    fn found(known: &Head, text: &str) -> Option<(usize, usize, String)> {
        let Found { head, body, name } = known.find(text.as_bytes())?;
        Some((head, body, String::from_utf8(name.to_vec()).unwrap()))
    }

    const HEAD: &str = "POST /mcp HTTP/1.1\r\nHost: a\r\ncontent-length:  12 \r\nX: 12\r\n\r\n";
    const CALL: &str = "POST /mcp HTTP/1.1\r\nHost: a\r\nMcp-Name: s.t \r\nX: s.t\r\n\
                        Content-Length: 5\r\n\r\n";
    const LENGTH: &[Blank] = &[Blank::Length];
    const BOTH: &[Blank] = &[Blank::Length, Blank::Name];

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
