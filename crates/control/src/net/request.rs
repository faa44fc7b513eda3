//! What is asked for, how it reads on the wire, and how long and how large the answer may be.

use std::fmt;
use std::time::Duration;

use trunkline_http::{Url, is_field_name, is_field_value, request_head};

use crate::net::error::FetchError;

const AGENT: &str = concat!("trunkline/", env!("CARGO_PKG_VERSION"));

/// Fields that belong to the client: the framing, the connection, and what it can decode.
const OWN: [&str; 8] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "accept-encoding",
    "te",
    "upgrade",
    "expect",
];

/// One request. Its `Debug` shows neither values of headers, nor the body, nor the query.
#[derive(Clone)]
pub struct Request {
    pub method: &'static str,
    pub url: Url,
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    pub redirects: Redirects,
}

/// What to do when the server names another place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirects {
    /// The redirect is the answer.
    None,
    /// A GET is asked again at the same origin, a few times; other places are an error.
    SameOrigin,
}

/// What one request may cost, redirects included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From looking up the name to the last byte.
    pub deadline: Duration,
    /// Most bytes of a body.
    pub max_body: usize,
}

impl Request {
    pub fn get(url: Url) -> Self {
        Self::new("GET", url, None)
    }

    pub fn post(url: Url, content_type: &str, body: Vec<u8>) -> Self {
        Self::new("POST", url, Some(body)).header("Content-Type", content_type)
    }

    pub fn new(method: &'static str, url: Url, body: Option<Vec<u8>>) -> Self {
        Self { method, url, headers: Vec::new(), body, redirects: Redirects::None }
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn following(mut self, redirects: Redirects) -> Self {
        self.redirects = redirects;
        self
    }

    /// The bytes of the head, or why there are none. A value that cannot be sent is not named.
    pub(super) fn head(&self) -> Result<Vec<u8>, FetchError> {
        for (name, value) in &self.headers {
            if !is_field_name(name) {
                return Err(FetchError::Request("a header has no valid name".to_owned()));
            }
            if !is_field_value(value.as_bytes()) {
                let why = format!("the header {name} has a line end or control character in it");
                return Err(FetchError::Request(why));
            }
            if OWN.iter().any(|own| own.eq_ignore_ascii_case(name)) {
                let why = format!("the header {name} is set by the client itself");
                return Err(FetchError::Request(why));
            }
        }
        let mut fields: Vec<(&str, &[u8])> = vec![
            // What is not asked for does not have to be decompressed, bombs included.
            ("Accept-Encoding", b"identity"),
        ];
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("user-agent")) {
            fields.push(("User-Agent", AGENT.as_bytes()));
        }
        let theirs = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        fields.extend(theirs);
        let length = self.body.as_ref().map(Vec::len);
        let mut head = Vec::new();
        let (target, host) = (self.url.target(), self.url.authority());
        request_head(&mut head, self.method, target, &host, &fields, length);
        // Before the blank line; the one who writes heads keeps connections open.
        head.truncate(head.len().saturating_sub(2));
        head.extend_from_slice(b"Connection: close\r\n\r\n");
        Ok(head)
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("headers", &names)
            .field("body_bytes", &self.body.as_ref().map(Vec::len))
            .field("redirects", &self.redirects)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get() -> Request {
        Request::get(Url::parse("http://h:8/a?key=hidden").unwrap())
    }

    #[test]
    fn a_head_says_what_the_client_does_and_no_more() {
        let head = get().header("X-A", "b").head().unwrap();
        let expected = format!(
            "GET /a?key=hidden HTTP/1.1\r\nHost: h:8\r\nAccept-Encoding: identity\r\n\
             User-Agent: {AGENT}\r\nX-A: b\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(String::from_utf8(head).unwrap(), expected);
    }

    #[test]
    fn a_body_has_its_length_and_an_agent_of_the_callers_counts() {
        let url = Url::parse("http://h/").unwrap();
        let post = Request::post(url, "text/plain", b"abc".to_vec()).header("user-agent", "me");
        let head = String::from_utf8(post.head().unwrap()).unwrap();
        assert!(head.contains("user-agent: me\r\nContent-Length: 3\r\n"), "{head}");
        assert!(!head.contains(AGENT), "{head}");
    }

    #[test]
    fn headers_that_would_change_the_framing_or_split_the_head_are_refused() {
        for (name, value, words) in [
            ("A B", "x", "no valid name"),
            ("", "x", "no valid name"),
            ("X", "s3cret\r\nEvil: 1", "line end"),
            ("X", "s3cret\0", "control character"),
            ("Host", "x", "by the client itself"),
            ("content-length", "5", "by the client itself"),
            ("Transfer-Encoding", "chunked", "by the client itself"),
            ("Connection", "keep-alive", "by the client itself"),
            ("Accept-Encoding", "gzip", "by the client itself"),
        ] {
            let error = get().header(name, value).head().unwrap_err().to_string();
            assert!(error.contains(words), "{name}: {error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn debug_shows_no_secret() {
        let mut request = get().header("Authorization", "Bearer s3cret");
        request.body = Some(b"s3cret".to_vec());
        let shown = format!("{request:?}");
        assert!(shown.contains("Authorization"), "{shown}");
        assert!(!shown.contains("s3cret") && !shown.contains("hidden"), "{shown}");
    }
}
