//! The head of a request or response: its fields, how its body is framed, and why it is refused.
//!
//! The framing is where request smuggling lives: two readers that disagree about where a message
//! ends. So whatever can be read in two ways is refused, also where RFC 9112 would allow a guess.
//!
//! By hand above httparse: hyper takes heads that two readers could take differently, and copies
//! the fields that are only borrowed here.

use httparse::{Error, Header, Status};
use std::mem::MaybeUninit;

// A client may be a stranger: it gets room for a long token and the usual headers.
const REQUEST_LIMIT: usize = 16 * 1024;
const REQUEST_FIELDS: usize = 64;
/// Responses come from servers the user chose, some behind proxies that add a lot.
const RESPONSE_LIMIT: usize = 64 * 1024;
const RESPONSE_FIELDS: usize = 128;

#[derive(Debug, Clone)]
pub struct Request<'a> {
    pub method: &'a str,
    /// As sent; `path` and `query` are its parts.
    pub target: &'a str,
    /// The 1 of HTTP/1.1.
    pub minor: u8,
    pub headers: Headers<'a>,
}

#[derive(Debug, Clone)]
pub struct Response<'a> {
    pub status: u16,
    pub reason: &'a str,
    pub minor: u8,
    pub headers: Headers<'a>,
}

/// Where the body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    None,
    Length(u64),
    Chunked,
    UntilClose,
}

/// Reads the head at the start of `bytes`: it and its length with the blank line, or `None` as
/// long as it is incomplete.
pub fn request(bytes: &[u8]) -> Result<Option<(Request<'_>, usize)>, BadHead> {
    // A head that is not complete within the limit never will be taken: the rest is not looked at.
    let window = bytes.get(..REQUEST_LIMIT).unwrap_or(bytes);
    let mut fields = [const { MaybeUninit::<Header<'_>>::uninit() }; REQUEST_FIELDS];
    let mut parsed = httparse::Request::new(&mut []);
    match parsed.parse_with_uninit_headers(window, &mut fields).map_err(fault)? {
        Status::Partial => incomplete(window, REQUEST_LIMIT),
        Status::Complete(length) => {
            let request = Request {
                method: parsed.method.unwrap_or_default(),
                target: parsed.path.unwrap_or_default(),
                minor: parsed.version.unwrap_or_default(),
                headers: Headers::new(parsed.headers),
            };
            request.check()?;
            Ok(Some((request, length)))
        }
    }
}

/// The head of a response, with the length of its bytes; `None` if more are needed.
pub fn response(bytes: &[u8]) -> Result<Option<(Response<'_>, usize)>, BadHead> {
    let window = bytes.get(..RESPONSE_LIMIT).unwrap_or(bytes);
    let mut fields = [const { MaybeUninit::<Header<'_>>::uninit() }; RESPONSE_FIELDS];
    let mut parsed = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    let status = config.parse_response_with_uninit_headers(&mut parsed, window, &mut fields);
    match status.map_err(fault)? {
        Status::Partial => incomplete(window, RESPONSE_LIMIT),
        Status::Complete(length) => {
            let response = Response {
                status: parsed.code.unwrap_or_default(),
                reason: parsed.reason.unwrap_or_default(),
                minor: parsed.version.unwrap_or_default(),
                headers: Headers::new(parsed.headers),
            };
            // RFC 9110, 15: a status has three digits, and the first is 1 to 5; `099` is none.
            if response.status < 100 {
                return Err(BadHead::Malformed("the status"));
            }
            Ok(Some((response, length)))
        }
    }
}

impl<'a> Request<'a> {
    /// The path as sent, without the query. Of an absolute target (`http://host/path`) its path.
    pub fn path(&self) -> &'a str {
        let local = self.local_target();
        let path = local.split_once('?').map_or(local, |(path, _)| path);
        if path.is_empty() { "/" } else { path }
    }

    pub fn query(&self) -> Option<&'a str> {
        self.local_target().split_once('?').map(|(_, query)| query)
    }

    /// Whom the client believes to speak to, `host` or `host:port`: the Host header, or the
    /// authority of an absolute target, which goes before it (RFC 9112, 3.2.2).
    pub fn host(&self) -> Option<&'a str> {
        match authority_and_rest(self.target) {
            Some((authority, _)) => Some(authority),
            None => self.headers.text("host"),
        }
    }

    /// How the body is framed.
    pub fn body(&self) -> Result<Framing, BadHead> {
        Ok(declared(&self.headers, self.minor)?.unwrap_or(Framing::None))
    }

    /// May another request follow on this connection?
    pub fn keeps_alive(&self) -> bool {
        persistent(&self.headers, self.minor)
    }

    /// Does the client wait for `100 Continue` before it sends the body?
    pub fn expects_continue(&self) -> bool {
        // RFC 9110, 10.1.1: in a request of HTTP/1.0 the expectation MUST be ignored.
        self.minor >= 1 && self.headers.has_token("expect", "100-continue")
    }

    fn local_target(&self) -> &'a str {
        authority_and_rest(self.target).map_or(self.target, |(_, rest)| rest)
    }

    fn check(&self) -> Result<(), BadHead> {
        let target = self.target;
        // RFC 9112, 3.2: the four forms of a target. A fragment is no part of any of them.
        let known = target.starts_with('/')
            || authority_and_rest(target).is_some_and(|(authority, _)| !authority.is_empty())
            || (target == "*" && self.method == "OPTIONS")
            || self.method == "CONNECT";
        if !known || target.contains('#') || !target.is_ascii() {
            return Err(BadHead::Malformed("the request target"));
        }
        let mut hosts = self.headers.all("host");
        match (hosts.next(), hosts.next()) {
            // RFC 9112, 3.2: a request with several Host fields, or one of HTTP/1.1 without any,
            // MUST be answered with 400.
            (_, Some(_)) => Err(BadHead::Host),
            (None, None) if self.minor >= 1 => Err(BadHead::Host),
            _ => Ok(()),
        }
    }
}

impl Response<'_> {
    /// How the body is framed; `to_head` says that the request was a HEAD.
    pub fn body(&self, to_head: bool) -> Result<Framing, BadHead> {
        // Also where there is no body, what is said about it has to make sense.
        let declared = declared(&self.headers, self.minor)?;
        // RFC 9112, 6.3, item 1: these have no body, whatever their fields say.
        if to_head || matches!(self.status, 100..=199 | 204 | 304) {
            return Ok(Framing::None);
        }
        // RFC 9112, 6.3, item 8. For a request, saying nothing means that there is no body (item
        // 7).
        Ok(declared.unwrap_or(Framing::UntilClose))
    }

    /// May the connection be used for another request?
    pub fn keeps_alive(&self) -> bool {
        let ends_by_itself = !matches!(self.body(false), Err(_) | Ok(Framing::UntilClose));
        ends_by_itself && persistent(&self.headers, self.minor)
    }

    /// Does the real response still follow? Not behind a 101: what follows is another protocol.
    pub fn is_interim(&self) -> bool {
        matches!(self.status, 100..=199) && self.status != 101
    }
}

/// What the header fields say about the body, or `None` when they say nothing.
fn declared(headers: &Headers<'_>, minor: u8) -> Result<Option<Framing>, BadHead> {
    let mut codings = headers.all("transfer-encoding");
    let mut lengths = headers.all("content-length");
    match (codings.next(), lengths.next()) {
        // RFC 9112, 6.3, item 3: both together "might indicate an attempt to perform request
        // smuggling": refused instead of letting one win.
        (Some(_), Some(_)) => Err(BadHead::Ambiguous),
        (Some(coding), None) => {
            let chunked = trim(coding).eq_ignore_ascii_case(b"chunked");
            // RFC 9112, 6.1: in HTTP/1.0 a Transfer-Encoding makes the framing faulty. Other
            // codings are not decoded here, so that the end of such a body could not be found.
            if minor >= 1 && chunked && codings.next().is_none() {
                Ok(Some(Framing::Chunked))
            } else {
                Err(BadHead::Coding)
            }
        }
        (None, Some(length)) => {
            // RFC 9112, 6.3, item 5: repeated equal values may be taken as one; different ones are
            // an error.
            if lengths.any(|other| other != length) {
                return Err(BadHead::Length);
            }
            decimal(length).map(|length| Some(Framing::Length(length))).ok_or(BadHead::Length)
        }
        (None, None) => Ok(None),
    }
}

fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        // Checked: a length that wraps around would put the end of the body somewhere else.
        number.checked_mul(10)?.checked_add(digit)
    })
}

fn persistent(headers: &Headers<'_>, minor: u8) -> bool {
    // RFC 9112, 9.3: `close` ends it; HTTP/1.1 persists by default, HTTP/1.0 only with
    // `keep-alive`.
    let close = headers.has_token("connection", "close");
    !close && (minor >= 1 || headers.has_token("connection", "keep-alive"))
}

/// Of an absolute target: the authority, and what follows it.
fn authority_and_rest(target: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = target.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    rest.split_at_checked(rest.find(['/', '?']).unwrap_or(rest.len()))
}

fn incomplete<T>(window: &[u8], limit: usize) -> Result<Option<T>, BadHead> {
    if window.len() >= limit { Err(BadHead::TooLarge) } else { Ok(None) }
}

fn fault(error: Error) -> BadHead {
    match error {
        Error::Version => BadHead::Version,
        Error::TooManyHeaders => BadHead::TooMany,
        Error::HeaderName => BadHead::Malformed("the name of a header field"),
        Error::HeaderValue => BadHead::Malformed("the value of a header field"),
        Error::NewLine => BadHead::Malformed("a line end"),
        Error::Status => BadHead::Malformed("the status"),
        Error::Token => BadHead::Malformed("the first line"),
    }
}

/// The header fields of a message in the order received. Names are compared without case.
#[derive(Debug, Clone, Default)]
pub struct Headers<'a> {
    fields: Vec<Header<'a>>,
}

impl<'a> Headers<'a> {
    pub(crate) fn new(fields: &[Header<'a>]) -> Self {
        Self { fields: fields.to_vec() }
    }

    /// The value of the first field of this name, without the white space around it.
    pub fn get(&self, name: &str) -> Option<&'a [u8]> {
        self.all(name).next()
    }

    /// The values of all fields of this name.
    pub fn all<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'a [u8]> + use<'s, 'a> {
        let named = self.fields.iter().filter(move |field| field.name.eq_ignore_ascii_case(name));
        named.map(|field| trim(field.value))
    }

    /// The first value of this name as text: visible ASCII, with spaces inside at most.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        let value = self.get(name)?;
        // RFC 9110, 5.5: bytes beyond ASCII are opaque. What is read as text here is compared and
        // shown, so that it must mean the same to everyone.
        let visible = value.iter().all(|byte| matches!(byte, b' '..=b'~'));
        if visible { str::from_utf8(value).ok() } else { None }
    }

    /// The only value of this name; a second field of the name is an error, whatever it says.
    pub fn once(&self, name: &'static str) -> Result<Option<&'a [u8]>, BadHead> {
        let mut values = self.all(name);
        let first = values.next();
        if values.next().is_some() { Err(BadHead::Repeated(name)) } else { Ok(first) }
    }

    /// The members of a comma-separated list, over all fields of this name.
    pub fn tokens<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'a [u8]> + use<'s, 'a> {
        let members = self.all(name).flat_map(|value| value.split(|byte| *byte == b','));
        members.map(trim).filter(|member| !member.is_empty())
    }

    /// Is the token in the list of this name? Compared without case.
    pub fn has_token(&self, name: &str, token: &str) -> bool {
        self.tokens(name).any(|member| member.eq_ignore_ascii_case(token.as_bytes()))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        self.fields.iter().map(|field| (field.name, trim(field.value)))
    }
}

/// May this be the name of a header field? (An RFC 9110 token.)
pub fn is_field_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(is_token_byte)
}

/// May this be the value of a header field? Line ends and other control bytes may not.
pub fn is_field_value(value: &[u8]) -> bool {
    value.iter().all(|byte| is_value_byte(*byte))
}

pub(crate) fn is_value_byte(byte: u8) -> bool {
    // RFC 9110, 5.5: CR, LF and NUL in a value are dangerous: a reader may take them for the end of
    // the field and the start of another.
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

fn is_token_byte(byte: u8) -> bool {
    // RFC 9110, 5.6.2.
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// HTTP's optional white space is space and tab, and nothing else: what more a lenient reader
/// trims, it may take for another value than the next one does.
pub(crate) fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// Why a head was refused. The texts are fit for an answer: they quote nothing received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadHead {
    #[error("malformed HTTP: {0}")]
    Malformed(&'static str),
    #[error("only HTTP/1.0 and HTTP/1.1 are spoken here")]
    Version,
    #[error("the header is too large")]
    TooLarge,
    #[error("too many header fields")]
    TooMany,
    #[error("HTTP/1.1 needs exactly one Host header")]
    Host,
    #[error("the header {0} may appear only once")]
    Repeated(&'static str),
    #[error("Content-Length is not one decimal number")]
    Length,
    #[error("the only Transfer-Encoding understood is chunked, and only in HTTP/1.1")]
    Coding,
    #[error("Content-Length and Transfer-Encoding exclude each other")]
    Ambiguous,
}

impl BadHead {
    /// The status to answer with.
    pub fn status(self) -> u16 {
        match self {
            // 431: RFC 6585, 5. 505: RFC 9110, 15.6.6.
            Self::TooLarge | Self::TooMany => 431,
            Self::Version => 505,
            _ => 400,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(text: &str) -> Result<Request<'_>, BadHead> {
        request(text.as_bytes()).map(|read| read.expect("complete").0)
    }

    fn answer(text: &str) -> Response<'_> {
        response(text.as_bytes()).expect("valid").expect("complete").0
    }

    /// The framing of a POST with these header lines.
    fn framing(lines: &str) -> Result<Framing, BadHead> {
        one(&format!("POST /mcp HTTP/1.1\r\nHost: h\r\n{lines}\r\n"))?.body()
    }

    #[test]
    fn a_request_is_read_and_the_rest_is_left() {
        let bytes = b"POST /mcp?a=b HTTP/1.1\r\nHost: h:1\r\nContent-Length: 2\r\n\r\n{}GET";
        let (request, length) = request(bytes).unwrap().unwrap();
        assert_eq!(&bytes[length..], b"{}GET");
        assert_eq!((request.method, request.target, request.minor), ("POST", "/mcp?a=b", 1));
        assert_eq!((request.path(), request.query()), ("/mcp", Some("a=b")));
        assert_eq!(request.host(), Some("h:1"));
        assert_eq!(request.body(), Ok(Framing::Length(2)));
        assert!(request.keeps_alive() && !request.expects_continue());
    }

    #[test]
    fn targets() {
        for (target, host, path, query) in [
            ("/", "h", "/", None),
            ("/a/b?", "h", "/a/b", Some("")),
            ("/?x=http://y/z?w", "h", "/", Some("x=http://y/z?w")),
            ("//double/slash", "h", "//double/slash", None),
            ("http://Other:8/p?q", "Other:8", "/p", Some("q")),
            ("HTTPS://other", "other", "/", None),
            ("http://other?q", "other", "/", Some("q")),
        ] {
            let text = format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n");
            let request = one(&text).expect(target);
            assert_eq!((request.host(), request.path()), (Some(host), path), "{target}");
            assert_eq!(request.query(), query, "{target}");
        }
        assert_eq!(one("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n").unwrap().path(), "*");
        for target in ["*", "mcp", "/a#b", "/caf\u{e9}", "ftp://h/", "http:///p", "?q"] {
            let text = format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n");
            assert!(matches!(one(&text), Err(BadHead::Malformed(_))), "{target}");
        }
    }

    #[test]
    fn heads_that_two_readers_could_take_differently_are_refused() {
        let malformed = |text: &str| matches!(one(text), Err(BadHead::Malformed(_)));
        for text in [
            // white space where it does not belong
            "GET  / HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET / HTTP/1.1 \r\nHost: h\r\n\r\n",
            " GET / HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET / HTTP/1.1\r\nHost : h\r\n\r\n",
            "GET / HTTP/1.1\r\n Host: h\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\nContent-Length : 5\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding\t: chunked\r\n\r\n",
            // folded lines
            "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n chunked\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n\tb\r\n\r\n",
            // a CR alone, NUL and other control bytes
            "GET / HTTP/1.1\rHost: h\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\nX: a\rTransfer-Encoding: chunked\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \x0bchunked\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\x0c\r\n\r\n",
            "GET /\x7f HTTP/1.1\r\nHost: h\r\n\r\n",
            // names that are none
            "GET / HTTP/1.1\r\nHost: h\r\n: x\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\nContent\0Length: 5\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n",
            "G(T / HTTP/1.1\r\nHost: h\r\n\r\n",
            // the first bytes of a TLS connection
            "\x16\x03\x01\x02\0\x01\0\x01",
        ] {
            assert!(malformed(text), "{text:?}: {:?}", request(text.as_bytes()));
        }
    }

    #[test]
    fn lines_may_end_with_lf_alone_in_a_head() {
        let request = one("GET / HTTP/1.1\nHost: h\nContent-Length: 3\n\n").unwrap();
        assert_eq!(request.body(), Ok(Framing::Length(3)));
    }

    #[test]
    fn framing_of_requests() {
        use Framing::{Chunked, Length, None};
        for (lines, expected) in [
            ("", Ok(None)),
            ("Content-Length: 0\r\n", Ok(Length(0))),
            ("Content-Length: \t18446744073709551615 \r\n", Ok(Length(u64::MAX))),
            ("Content-Length: 5\r\ncontent-length: 5\r\n", Ok(Length(5))),
            ("Transfer-Encoding: chunked\r\n", Ok(Chunked)),
            ("transfer-encoding: \t Chunked \r\n", Ok(Chunked)),
            // CL.TE and TE.CL
            ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", Err(BadHead::Ambiguous)),
            ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", Err(BadHead::Ambiguous)),
            ("Transfer-Encoding: x\r\nContent-Length: 5\r\n", Err(BadHead::Ambiguous)),
            // CL.CL
            ("Content-Length: 5\r\nContent-Length: 6\r\n", Err(BadHead::Length)),
            ("Content-Length: 5\r\nContent-Length: 05\r\n", Err(BadHead::Length)),
            ("Content-Length: 5, 5\r\n", Err(BadHead::Length)),
            ("Content-Length: 5,6\r\n", Err(BadHead::Length)),
            // numbers that are none
            ("Content-Length:\r\n", Err(BadHead::Length)),
            ("Content-Length: +5\r\n", Err(BadHead::Length)),
            ("Content-Length: -5\r\n", Err(BadHead::Length)),
            ("Content-Length: 0x5\r\n", Err(BadHead::Length)),
            ("Content-Length: 5 5\r\n", Err(BadHead::Length)),
            ("Content-Length: 5.0\r\n", Err(BadHead::Length)),
            ("Content-Length: 1_0\r\n", Err(BadHead::Length)),
            ("Content-Length: 18446744073709551616\r\n", Err(BadHead::Length)),
            // TE.TE
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", Err(BadHead::Coding)),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n", Err(BadHead::Coding)),
            ("Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n", Err(BadHead::Coding)),
            ("Transfer-Encoding: gzip, chunked\r\n", Err(BadHead::Coding)),
            ("Transfer-Encoding: chunked, chunked\r\n", Err(BadHead::Coding)),
            ("Transfer-Encoding: chunked,\r\n", Err(BadHead::Coding)),
            ("Transfer-Encoding: xchunked\r\n", Err(BadHead::Coding)),
            ("Transfer-Encoding: chunked;q=1\r\n", Err(BadHead::Coding)),
            ("Transfer-Encoding: \"chunked\"\r\n", Err(BadHead::Coding)),
            ("Transfer-Encoding: identity\r\n", Err(BadHead::Coding)),
            ("Transfer-Encoding:\r\n", Err(BadHead::Coding)),
        ] {
            assert_eq!(framing(lines), expected, "{lines:?}");
        }
        let old = one("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
        assert_eq!(old.body(), Err(BadHead::Coding));
    }

    #[test]
    fn exactly_one_host() {
        for (text, expected) in [
            ("GET / HTTP/1.1\r\n\r\n", Some(BadHead::Host)),
            ("GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", Some(BadHead::Host)),
            ("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", Some(BadHead::Host)),
            ("GET / HTTP/1.0\r\n\r\n", None),
            ("GET / HTTP/1.1\r\nHost:\r\n\r\n", None),
        ] {
            assert_eq!(one(text).err(), expected, "{text:?}");
        }
    }

    #[test]
    fn versions() {
        for version in ["HTTP/2.0", "HTTP/1.2", "HTTP/0.9", "http/1.1", "HTTP/1.10"] {
            let text = format!("GET / {version}\r\nHost: h\r\n\r\n");
            assert!(one(&text).is_err(), "{version}");
        }
        let refused = one("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap_err();
        assert_eq!((refused, refused.status()), (BadHead::Version, 505));
    }

    #[test]
    fn heads_have_limits() {
        let many = |count: usize| "X: y\r\n".repeat(count);
        let request_of = |lines: &str| format!("GET / HTTP/1.0\r\n{lines}\r\n");
        assert!(one(&request_of(&many(REQUEST_FIELDS))).is_ok());
        let refused = one(&request_of(&many(REQUEST_FIELDS + 1))).unwrap_err();
        assert_eq!((refused, refused.status()), (BadHead::TooMany, 431));

        let exact = REQUEST_LIMIT - request_of("X: \r\n").len();
        assert!(one(&request_of(&format!("X: {}\r\n", "y".repeat(exact)))).is_ok());
        let refused = one(&request_of(&format!("X: {}\r\n", "y".repeat(exact + 1)))).unwrap_err();
        assert_eq!((refused, refused.status()), (BadHead::TooLarge, 431));
        assert_eq!(request(&[b'a'; REQUEST_LIMIT]).unwrap_err(), BadHead::TooLarge);
        assert!(request(&[b'a'; REQUEST_LIMIT - 1]).unwrap().is_none());
        assert!(request(&b"\r\n".repeat(REQUEST_LIMIT)).is_err());

        let text = format!("HTTP/1.1 200 OK\r\n{}\r\n", many(RESPONSE_FIELDS));
        assert_eq!(answer(&text).headers.iter().count(), RESPONSE_FIELDS);
        assert_eq!(response(&[b'\n'; RESPONSE_LIMIT]).unwrap_err(), BadHead::TooLarge);
    }

    #[test]
    fn a_body_behind_the_head_does_not_count_for_its_limit() {
        let mut bytes = b"POST / HTTP/1.0\r\nContent-Length: 99999\r\n\r\n".to_vec();
        let length = bytes.len();
        bytes.resize(length + 99_999, b'x');
        assert_eq!(request(&bytes).unwrap().unwrap().1, length);
    }

    #[test]
    fn who_keeps_the_connection() {
        for (minor, connection, keeps) in [
            (1, "", true),
            (1, "Connection: close\r\n", false),
            (1, "Connection: x, Close\r\n", false),
            (1, "Connection: keep-alive\r\nConnection: close\r\n", false),
            (1, "Connection: closed\r\n", true),
            (0, "", false),
            (0, "Connection: Keep-Alive\r\n", true),
            (0, "Connection: keep-alive, close\r\n", false),
        ] {
            let text = format!("GET / HTTP/1.{minor}\r\nHost: h\r\n{connection}\r\n");
            assert_eq!(one(&text).unwrap().keeps_alive(), keeps, "{text:?}");
            let text = format!("HTTP/1.{minor} 200 OK\r\nContent-Length: 0\r\n{connection}\r\n");
            assert_eq!(answer(&text).keeps_alive(), keeps, "{text:?}");
        }
        assert!(!answer("HTTP/1.1 200 OK\r\n\r\n").keeps_alive(), "the end of the body is missing");
    }

    #[test]
    fn who_waits_for_continue() {
        let waits = |line: &str, minor: u8| {
            let text = format!("POST / HTTP/1.{minor}\r\nHost: h\r\n{line}\r\n");
            one(&text).unwrap().expects_continue()
        };
        assert!(waits("Expect: 100-Continue\r\n", 1));
        assert!(!waits("Expect: 100-continue\r\n", 0));
        assert!(!waits("", 1));
    }

    #[test]
    fn framing_of_responses() {
        use Framing::{Chunked, Length, None, UntilClose};
        for (status, lines, to_head, expected) in [
            (200, "", false, Ok(UntilClose)),
            (200, "", true, Ok(None)),
            (200, "Content-Length: 5\r\n", false, Ok(Length(5))),
            (200, "Content-Length: 5\r\n", true, Ok(None)),
            (200, "Transfer-Encoding: chunked\r\n", false, Ok(Chunked)),
            (204, "", false, Ok(None)),
            (304, "Content-Length: 5\r\n", false, Ok(None)),
            (100, "", false, Ok(None)),
            (200, "Transfer-Encoding: gzip\r\n", false, Err(BadHead::Coding)),
            (204, "Content-Length: x\r\n", false, Err(BadHead::Length)),
            (
                200,
                "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n",
                false,
                Err(BadHead::Ambiguous),
            ),
        ] {
            let text = format!("HTTP/1.1 {status} X\r\n{lines}\r\n");
            assert_eq!(answer(&text).body(to_head), expected, "{text:?}");
        }
    }

    #[test]
    fn responses() {
        let bare = answer("HTTP/1.0 404\r\n\r\n");
        assert_eq!((bare.status, bare.reason, bare.minor), (404, "", 0));
        assert_eq!(answer("HTTP/1.1 200 Very well\r\n\r\n").reason, "Very well");
        for (status, interim) in [(100, true), (103, true), (101, false), (200, false)] {
            let text = format!("HTTP/1.1 {status} X\r\n\r\n");
            assert_eq!(answer(&text).is_interim(), interim, "{status}");
        }
        for text in [
            "HTTP/1.1 099 X\r\n\r\n",
            "HTTP/1.1 20 X\r\n\r\n",
            "HTTP/1.1 2000 X\r\n\r\n",
            "SSH-2.0-OpenSSH\r\n",
            "HTTP/1.1 200 OK\r\nX : y\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX: y\r\n z\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX: y\rz: a\r\n\r\n",
        ] {
            assert!(response(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn every_prefix_of_a_head_is_incomplete() {
        let text = b"GET /mcp HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n\r\n";
        for length in 0..text.len() {
            assert!(request(&text[..length]).unwrap().is_none(), "{length}");
        }
        let text = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
        for length in 0..text.len() {
            assert!(response(&text[..length]).unwrap().is_none(), "{length}");
        }
    }

    proptest! {
        /// Bytes near HTTP: never a panic, and a head once read is read the same with more behind.
        #[test]
        fn what_follows_a_head_does_not_change_it(
            lines in proptest::collection::vec("[A-Za-z-]{1,12}: ?[ -~]{0,12}\r?\n", 0..6),
            noise in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let text = format!("POST / HTTP/1.1\r\nHost: h\r\n{}\r\n", lines.concat());
            let alone = request(text.as_bytes());
            let mut more = text.clone().into_bytes();
            more.extend_from_slice(&noise);
            let followed = request(&more);
            match (alone, followed) {
                (Ok(Some((a, m))), Ok(Some((b, n)))) => {
                    prop_assert_eq!(m, text.len());
                    prop_assert_eq!(m, n);
                    prop_assert_eq!(a.body(), b.body());
                    prop_assert_eq!(a.headers.iter().count(), lines.len() + 1);
                }
                (a, b) => prop_assert_eq!(a.err(), b.err()),
            }
            let _ = (request(&noise), response(&noise));
        }
    }

    fn headers<'a>(fields: &[(&'a str, &'a [u8])]) -> Headers<'a> {
        let fields: Vec<_> = fields.iter().map(|(name, value)| Header { name, value }).collect();
        Headers::new(&fields)
    }

    #[test]
    fn fields_are_found_without_regard_to_case() {
        let headers = headers(&[("ACCEPT", b" a "), ("accept", b"b"), ("X", b"")]);
        assert_eq!(headers.get("Accept"), Some(&b"a"[..]));
        assert_eq!(headers.all("accept").collect::<Vec<_>>(), [b"a", b"b"]);
        assert_eq!(headers.get("x"), Some(&b""[..]));
        assert_eq!(headers.get("y"), None);
        assert_eq!(headers.once("Accept"), Err(BadHead::Repeated("Accept")));
        assert_eq!(headers.once("x"), Ok(Some(&b""[..])));
        assert_eq!(headers.once("y"), Ok(None));
        assert_eq!(headers.iter().count(), 3);
    }

    #[test]
    fn text_is_visible_ascii() {
        let headers = headers(&[("a", b"Bearer x"), ("b", b"caf\xc3\xa9"), ("c", b"x\ty")]);
        assert_eq!(headers.text("A"), Some("Bearer x"));
        assert_eq!(headers.text("b"), None);
        assert_eq!(headers.text("c"), None);
    }

    #[test]
    fn lists_span_fields() {
        let headers = headers(&[("connection", b"a,, Keep-Alive"), ("Connection", b"\tb ,")]);
        let tokens: Vec<_> = headers.tokens("Connection").collect();
        assert_eq!(tokens, [&b"a"[..], b"Keep-Alive", b"b"]);
        assert!(headers.has_token("connection", "keep-alive"));
        assert!(!headers.has_token("connection", "keep"));
    }

    #[test]
    fn what_a_field_may_be() {
        for name in ["Accept", "x-1", "a.b_c~"] {
            assert!(is_field_name(name), "{name}");
        }
        for name in ["", "a b", "a:", "é", "a\r", "(a)"] {
            assert!(!is_field_name(name), "{name}");
        }
        assert!(is_field_value(b"Bearer \t caf\xc3\xa9"));
        for value in [&b"a\nb"[..], b"a\rb", b"\0", b"\x7f", b"\x0bchunked"] {
            assert!(!is_field_value(value), "{value:?}");
        }
    }
}
