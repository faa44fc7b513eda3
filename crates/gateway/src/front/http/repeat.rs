//! The head a client repeats: it posts one message after the other with the same head but for the
//! length of the body, and what was decided about it once holds for the same bytes again.

use std::sync::Arc;

use trunkline_http::Request;

use crate::front::http::reply::Manner;
use crate::front::http::sessions::HttpSession;

/// A head that was found good for posting in a session.
#[derive(Debug)]
pub(super) struct Repeated {
    pub(super) session: Arc<HttpSession>,
    /// Of the gate, when it was passed.
    version: u64,
    head: Head,
}

/// A head, less the digits of its Content-Length.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Repeated {
    /// `None`: it is of a kind that is looked at each time.
    pub(super) fn new(
        session: Arc<HttpSession>,
        head: &[u8],
        request: &Request<'_>,
        manner: &Manner,
        version: u64,
    ) -> Option<Self> {
        let plain = *manner == Manner::PLAIN && !request.expects_continue();
        let head = Head::new(head, request).filter(|_| plain)?;
        Some(Self { session, version, head })
    }

    /// If `bytes` begin with this head, and nothing has changed at the gate: its length and that of
    /// the body.
    pub(super) fn find(&self, bytes: &[u8], version: u64) -> Option<(usize, usize)> {
        let holds = self.version == version && !self.session.is_over();
        self.head.find(bytes).filter(|_| holds)
    }
}

impl Head {
    fn new(head: &[u8], request: &Request<'_>) -> Option<Self> {
        let mut lengths = request.headers.all("content-length");
        let (digits, None) = (lengths.next()?, lengths.next()) else { return None };
        // The value was found in the head: this is where.
        let start = digits.as_ptr().addr().checked_sub(head.as_ptr().addr())?;
        let (before, rest) = head.split_at_checked(start)?;
        let after = rest.strip_prefix(digits)?;
        Some(Self { before: before.to_vec(), after: after.to_vec() })
    }

    fn find(&self, bytes: &[u8]) -> Option<(usize, usize)> {
        let rest = bytes.strip_prefix(&*self.before)?;
        let (mut length, mut digits) = (0_usize, 0);
        for byte in rest.iter().take(MOST_DIGITS).take_while(|byte| byte.is_ascii_digit()) {
            length = length * 10 + usize::from(byte - b'0');
            digits += 1;
        }
        let found = digits > 0 && rest.get(digits..)?.starts_with(&self.after);
        found.then_some((self.before.len() + digits + self.after.len(), length))
    }
}

/// Enough for any body that is taken.
const MOST_DIGITS: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Option<Head> {
        let (request, length) = trunkline_http::request(text.as_bytes()).unwrap().unwrap();
        Head::new(&text.as_bytes()[..length], &request)
    }

    const HEAD: &str = "POST /mcp HTTP/1.1\r\nHost: a\r\ncontent-length:  12 \r\nX: 12\r\n\r\n";

    #[test]
    fn the_same_head_is_found_whatever_its_length() {
        let known = head(HEAD).unwrap();
        for (digits, body) in [("12", 12), ("7", 7), ("007", 7), ("123456789", 123_456_789)] {
            let text = HEAD.replacen("12", digits, 1);
            let expected = Some((text.len(), body));
            assert_eq!(known.find(text.as_bytes()), expected, "{digits}");
            assert_eq!(known.find(format!("{text}{{}}GET").as_bytes()), expected, "{digits}");
        }
    }

    #[test]
    fn any_other_head_is_not() {
        let known = head(HEAD).unwrap();
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
            assert_eq!(known.find(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn only_a_head_with_one_length_is_remembered() {
        let two = HEAD.replace("X: 12", "Content-Length: 12");
        assert_eq!(head(&two), None);
        assert_eq!(head("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), None);
    }
}
