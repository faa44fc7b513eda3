//! What is asked for, how it reads on the wire, and how long and how large the answer may be.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header;
use http_body_util::Full;
use trunkline_http::proxy::{ChosenProxy, ProxyKind};
use trunkline_http::{Scheme, Url, is_field_name, is_field_value};

use crate::net::error::FetchError;

const AGENT: &str = concat!("trunkline/", env!("CARGO_PKG_VERSION"));

/// Fields that belong to the client: the framing, the connection, and what it can decode.
const OWN: [&str; 9] = [
    "host",
    "connection",
    "proxy-authorization",
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
    pub(super) is_repeatable: bool,
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
        let (headers, redirects) = (Vec::new(), Redirects::None);
        let is_repeatable = matches!(method, "GET" | "HEAD");
        Self { method, url, headers, body, redirects, is_repeatable }
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

    /// Sending it twice does no harm, so it may go over a connection that was used before: its
    /// server may close that one at the same moment, and then nothing tells whether the request was
    /// heard (RFC 9112, 9.3.1). A GET is repeatable by itself.
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        self.is_repeatable = true;
        self
    }

    /// As it is sent, or why it cannot be. A value that cannot be sent is not named.
    pub(super) fn message(
        &self,
        proxy: Option<&ChosenProxy>,
    ) -> Result<http::Request<Full<Bytes>>, FetchError> {
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
        let mut message = http::Request::builder()
            .method(self.method)
            .uri(self.url.to_string())
            // What is not asked for does not have to be decompressed, bombs included.
            .header(header::ACCEPT_ENCODING, "identity");
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("user-agent")) {
            message = message.header(header::USER_AGENT, AGENT);
        }
        for (name, value) in &self.headers {
            message = message.header(name, value.as_bytes());
        }
        // In a tunnel the proxy hears it when the tunnel is made, and the server never does.
        let secret = proxy.filter(|_| self.url.scheme() == Scheme::Http);
        let reads_requests = |it: &&ChosenProxy| it.proxy.kind() != ProxyKind::Socks5;
        let secret = secret.filter(reads_requests).and_then(|it| it.proxy.authorization());
        if let Some(secret) = secret {
            message = message.header(header::PROXY_AUTHORIZATION, secret);
        }
        let body = Bytes::from(self.body.clone().unwrap_or_default());
        message.body(Full::new(body)).map_err(|error| FetchError::Request(error.to_string()))
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
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get() -> Request {
        Request::get(Url::parse("http://h:8/a?key=hidden").unwrap())
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
            let error = get().header(name, value).message(None).unwrap_err().to_string();
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
