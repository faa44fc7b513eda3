//! URLs of HTTP servers: parsed once, strictly, and resolved against each other (RFC 3986).
//!
//! By hand: the `url` crate reads as browsers do (`\`, tabs, `0x7f.1`), and the judgement of
//! `reach` rests on one strict reading.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use std::fmt::{self, Debug, Display, Formatter};
use std::net::Ipv6Addr;

/// An `http` or `https` URL without user, password and fragment.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Url {
    origin: Origin,
    /// Path and query.
    target: String,
}

/// Scheme, host and port: URLs with the same origin lead to the same server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    scheme: Scheme,
    /// Lower case, without brackets.
    host: String,
    port: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    Http,
    Https,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadUrl {
    #[error("a URL starts with http:// or https://")]
    Scheme,
    #[error("a URL has no space, line end or other control character")]
    Space,
    #[error("user name and password do not belong in the URL; use an Authorization header")]
    UserInfo,
    #[error("the URL names no host")]
    NoHost,
    #[error("the host is not a valid name or address")]
    Host,
    #[error("the host has non-ASCII letters; write it in punycode (xn--…)")]
    Idn,
    #[error("the port is not a number from 1 to 65535")]
    Port,
}

impl Url {
    pub fn parse(text: &str) -> Result<Self, BadUrl> {
        let (scheme, rest) = scheme_and_rest(text).ok_or(BadUrl::Scheme)?;
        let scheme = Scheme::named(scheme).ok_or(BadUrl::Scheme)?;
        Self::parse_behind_scheme(scheme, rest.strip_prefix("//").ok_or(BadUrl::Scheme)?)
    }

    /// The URL that `reference` means when it is found at this one: absolute, `//host/path`,
    /// `/path`, `path`, `?query` or empty.
    pub fn join(&self, reference: &str) -> Result<Self, BadUrl> {
        if scheme_and_rest(reference).is_some() {
            return Self::parse(reference);
        }
        if let Some(rest) = reference.strip_prefix("//") {
            return Self::parse_behind_scheme(self.scheme(), rest);
        }
        let reference = without_fragment(reference)?;
        let (path, query) = path_and_query(reference);
        let target = match path {
            "" if query.is_empty() => self.target.clone(),
            // RFC 3986, 5.2.2: a reference that is only a query keeps the path.
            "" => format!("{}{query}", self.path()),
            path if path.starts_with('/') => format!("{}{query}", without_dots(path)),
            path => {
                let folder = self.path().rsplit_once('/').map_or("", |(folder, _)| folder);
                format!("{}{query}", without_dots(&format!("{folder}/{path}")))
            }
        };
        Ok(Self { origin: self.origin.clone(), target: encoded(&target) })
    }

    pub fn scheme(&self) -> Scheme {
        self.origin.scheme
    }

    /// To connect to: a name or an address, lower case, an IPv6 address without brackets.
    pub fn host(&self) -> &str {
        &self.origin.host
    }

    pub fn port(&self) -> u16 {
        self.origin.port
    }

    /// Path and query, as they go into the request line; starts with `/`.
    pub fn target(&self) -> &str {
        &self.target
    }

    pub fn path(&self) -> &str {
        path_and_query(&self.target).0
    }

    /// For the Host header: with brackets where needed, and with the port unless it is the usual.
    pub fn authority(&self) -> String {
        self.origin.authority()
    }

    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    fn parse_behind_scheme(scheme: Scheme, rest: &str) -> Result<Self, BadUrl> {
        let rest = without_fragment(rest)?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let origin = Origin::parse(scheme, authority)?;
        let slash = if target.starts_with('/') { "" } else { "/" };
        Ok(Self { origin, target: encoded(&format!("{slash}{target}")) })
    }
}

impl Origin {
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    fn parse(scheme: Scheme, authority: &str) -> Result<Self, BadUrl> {
        // RFC 9110, 4.2.4: a user name in the authority is an error: it is used to make one host
        // look like another, and a password here would end up in logs.
        if authority.contains('@') {
            return Err(BadUrl::UserInfo);
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (address, port) = rest.split_once(']').ok_or(BadUrl::Host)?;
                let address: Ipv6Addr = address.parse().map_err(|_| BadUrl::Host)?;
                (address.to_string(), port)
            }
            None => {
                let end = authority.find(':').unwrap_or(authority.len());
                let (name, port) = authority.split_at_checked(end).ok_or(BadUrl::Host)?;
                (host_name(name)?, port)
            }
        };
        let port = match port {
            // RFC 3986, 3.2.3: an empty port means the usual one.
            "" | ":" => scheme.usual_port(),
            port => port_number(port.strip_prefix(':').ok_or(BadUrl::Host)?)?,
        };
        Ok(Self { scheme, host, port })
    }

    fn authority(&self) -> String {
        let Self { scheme, host, port } = self;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        if *port == scheme.usual_port() { host } else { format!("{host}:{port}") }
    }
}

impl Scheme {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::Http, Self::Https]
            .into_iter()
            .find(|scheme| name.eq_ignore_ascii_case(scheme.as_str()))
    }

    fn usual_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl Display for Origin {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.as_str(), self.authority())
    }
}

impl Display for Url {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.target)
    }
}

/// Without the query, which may hold a secret.
impl Debug for Url {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (path, query) = path_and_query(&self.target);
        let more = if query.is_empty() { "" } else { "?…" };
        write!(f, "Url({}{path}{more})", self.origin)
    }
}

/// What stands before the first `:` if it is a scheme, and what stands behind it.
fn scheme_and_rest(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let valid = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    valid.then_some((scheme, rest))
}

fn without_fragment(text: &str) -> Result<&str, BadUrl> {
    if text.contains(|c: char| c.is_control() || c.is_whitespace()) {
        return Err(BadUrl::Space);
    }
    Ok(text.split_once('#').map_or(text, |(before, _)| before))
}

/// The path, and the query with its `?`.
fn path_and_query(target: &str) -> (&str, &str) {
    let end = target.find('?').unwrap_or(target.len());
    target.split_at_checked(end).unwrap_or((target, ""))
}

fn host_name(name: &str) -> Result<String, BadUrl> {
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    match name {
        "" => Err(BadUrl::NoHost),
        name if !name.is_ascii() => Err(BadUrl::Idn),
        name if !name.bytes().all(valid) => Err(BadUrl::Host),
        // RFC 3986, 3.2.2: hosts are compared without case, origins here byte by byte.
        name => Ok(name.to_ascii_lowercase()),
    }
}

fn port_number(digits: &str) -> Result<u16, BadUrl> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(BadUrl::Port);
    }
    digits.parse().ok().filter(|port| *port > 0).ok_or(BadUrl::Port)
}

/// Takes the `.` and `..` steps out of an absolute path (RFC 3986, 5.2.4).
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut steps = path.split('/').skip(1).peekable();
    while let Some(step) = steps.next() {
        let is_last = steps.peek().is_none();
        match step {
            "." => {}
            ".." => {
                // RFC 3986, 5.2.4: a `..` above the root is dropped: the path cannot leave the
                // server.
                kept.pop();
            }
            step => kept.push(step),
        }
        if is_last && matches!(step, "." | "..") {
            kept.push("");
        }
    }
    format!("/{}", kept.join("/"))
}

/// What may not stand in a request line.
const NO_TARGET: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

fn encoded(target: &str) -> String {
    utf8_percent_encode(target, NO_TARGET).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect(text)
    }

    #[test]
    fn parts() {
        use Scheme::{Http, Https};
        for (text, scheme, host, port, authority, target) in [
            ("http://h", Http, "h", 80, "h", "/"),
            (
                "HTTPS://Example.COM/Mcp?k=V#frag",
                Https,
                "example.com",
                443,
                "example.com",
                "/Mcp?k=V",
            ),
            ("http://h:8080/a", Http, "h", 8080, "h:8080", "/a"),
            ("http://h:80/", Http, "h", 80, "h", "/"),
            ("https://h:80/", Https, "h", 80, "h:80", "/"),
            ("http://h:/", Http, "h", 80, "h", "/"),
            ("http://h?q", Http, "h", 80, "h", "/?q"),
            ("http://h#f", Http, "h", 80, "h", "/"),
            ("http://127.0.0.1:1/x", Http, "127.0.0.1", 1, "127.0.0.1:1", "/x"),
            ("http://[::1]:9/", Http, "::1", 9, "[::1]:9", "/"),
            ("https://[2001:DB8::0:1]", Https, "2001:db8::1", 443, "[2001:db8::1]", "/"),
            ("http://my_host/", Http, "my_host", 80, "my_host", "/"),
            ("http://h/é{x}?a|b", Http, "h", 80, "h", "/%C3%A9%7Bx%7D?a%7Cb"),
            ("http://h/a@b:c", Http, "h", 80, "h", "/a@b:c"),
            ("http://h/a%20b/../c", Http, "h", 80, "h", "/a%20b/../c"),
        ] {
            let url = url(text);
            assert_eq!((url.scheme(), url.host(), url.port()), (scheme, host, port), "{text}");
            assert_eq!((url.authority().as_str(), url.target()), (authority, target), "{text}");
        }
    }

    #[test]
    fn what_is_no_url() {
        for (text, why) in [
            ("", BadUrl::Scheme),
            ("h/mcp", BadUrl::Scheme),
            ("localhost:8080", BadUrl::Scheme),
            ("ftp://h/", BadUrl::Scheme),
            ("http:/h/", BadUrl::Scheme),
            (" http://h/", BadUrl::Scheme),
            ("http://h/ ", BadUrl::Space),
            ("http://h/a\r\nX: y", BadUrl::Space),
            ("http://user:secret@h/", BadUrl::UserInfo),
            ("http://user@h/", BadUrl::UserInfo),
            ("http://", BadUrl::NoHost),
            ("http:///mcp", BadUrl::NoHost),
            ("http://:80/", BadUrl::NoHost),
            ("http://m\u{fc}nchen.de/", BadUrl::Idn),
            ("http://a%41/", BadUrl::Host),
            ("http://a\\b/", BadUrl::Host),
            ("http://[::1", BadUrl::Host),
            ("http://[::1]x/", BadUrl::Host),
            ("http://[fe80::1%25eth0]/", BadUrl::Host),
            ("http://[1.2.3.4]/", BadUrl::Host),
            ("http://h:x/", BadUrl::Port),
            ("http://h:+1/", BadUrl::Port),
            ("http://h:0/", BadUrl::Port),
            ("http://h:65536/", BadUrl::Port),
            ("http://::1/", BadUrl::NoHost),
        ] {
            assert_eq!(Url::parse(text).err(), Some(why), "{text:?}");
        }
    }

    /// The examples of RFC 3986, 5.4, as far as they are about HTTP.
    #[test]
    fn references() {
        let base = url("http://a/b/c/d;p?q");
        for (reference, expected) in [
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g/"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q"),
            ("g#s", "http://a/b/c/g"),
            ("g?y#s", "http://a/b/c/g?y"),
            (";x", "http://a/b/c/;x"),
            ("g;x", "http://a/b/c/g;x"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("./", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../", "http://a/"),
            ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"),
            ("../../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("/../g", "http://a/g"),
            ("g.", "http://a/b/c/g."),
            (".g", "http://a/b/c/.g"),
            ("g..", "http://a/b/c/g.."),
            ("..g", "http://a/b/c/..g"),
            ("./../g", "http://a/b/g"),
            ("./g/.", "http://a/b/c/g/"),
            ("g/./h", "http://a/b/c/g/h"),
            ("g/../h", "http://a/b/c/h"),
            ("g;x=1/./y", "http://a/b/c/g;x=1/y"),
            ("g;x=1/../y", "http://a/b/c/y"),
            ("g?y/./x", "http://a/b/c/g?y/./x"),
            ("g?y/../x", "http://a/b/c/g?y/../x"),
            ("https://other:8/x?y", "https://other:8/x?y"),
            ("//other:8/x", "http://other:8/x"),
            ("/messages?session=a:b", "http://a/messages?session=a:b"),
            ("messages?u=http://x/", "http://a/b/c/messages?u=http://x/"),
        ] {
            assert_eq!(base.join(reference).expect(reference).to_string(), expected, "{reference}");
        }
        assert_eq!(url("http://a").join("g").unwrap().to_string(), "http://a/g");
        for (reference, why) in [
            ("mailto:x", BadUrl::Scheme),
            ("http:g", BadUrl::Scheme),
            ("//u:p@g/", BadUrl::UserInfo),
            ("/a b", BadUrl::Space),
            ("///x", BadUrl::NoHost),
        ] {
            assert_eq!(base.join(reference).err(), Some(why), "{reference}");
        }
    }

    #[test]
    fn origins_are_compared_as_they_lead() {
        assert_eq!(url("http://H:80/a").origin(), url("http://h/b?c").origin());
        for other in ["https://h/", "http://h:81/", "http://h2/"] {
            assert_ne!(url("http://h/").origin(), url(other).origin());
        }
        assert_eq!(url("http://[::1]:3/a").origin().to_string(), "http://[::1]:3");
        assert_eq!(url("https://h:443/a").origin().to_string(), "https://h");
    }

    #[test]
    fn debug_does_not_show_the_query() {
        let shown = format!("{:?}", url("https://h/mcp?key=secret"));
        assert_eq!(shown, "Url(https://h/mcp?…)");
        assert_eq!(format!("{:?}", url("https://h/mcp")), "Url(https://h/mcp)");
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(path in "[ -~é]{0,20}", port in 1_u16.., host in "[a-z]{1,5}") {
            if let Ok(url) = Url::parse(&format!("http://{host}:{port}/{path}")) {
                prop_assert_eq!(Url::parse(&url.to_string()), Ok(url.clone()));
                prop_assert!(url.target().bytes().all(|byte| byte.is_ascii_graphic()));
            }
        }

        #[test]
        fn a_joined_url_is_a_valid_one(reference in "[a-c./?#:é{]{0,16}") {
            if let Ok(url) = url("http://h/a/b?c").join(&reference) {
                prop_assert_eq!(Url::parse(&url.to_string()), Ok(url));
            }
        }
    }
}
