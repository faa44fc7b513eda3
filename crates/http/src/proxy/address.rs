//! `Proxy`: where a proxy is, how it is spoken to, and what it wants to know about us.

use std::fmt::{self, Debug, Display, Formatter};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::percent::decode;
use crate::url::{BadUrl, Url};

/// User name and password are shown neither by `Display` nor by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    kind: ProxyKind,
    /// Lower case, without brackets.
    host: String,
    port: u16,
    credentials: Option<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyKind {
    /// Plain requests and CONNECT.
    Http,
    /// … inside of TLS.
    Https,
    /// RFC 1928. `socks5` and `socks5h` are one: the proxy resolves names.
    Socks5,
}

/// Why something is no proxy. Never shows it: a password may be in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadProxy {
    #[error("a proxy is named http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT")]
    Scheme,
    #[error("{0}")]
    Host(#[from] BadUrl),
    #[error("the address of a proxy ends behind its port")]
    Path,
    #[error(
        "user name and password of a proxy have at most 255 bytes each, no control character, and \
         %XX where a special character is meant"
    )]
    Credentials,
}

/// RFC 1929, 2: both have one byte for their length.
const LONGEST: usize = 255;

impl Proxy {
    /// `[SCHEME://][USER[:PASSWORD]@]HOST[:PORT][/]`; without a scheme it is http, as for curl.
    pub fn parse(text: &str) -> Result<Self, BadProxy> {
        let (kind, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (ProxyKind::named(scheme).ok_or(BadProxy::Scheme)?, rest),
            None => (ProxyKind::Http, text),
        };
        // A password may hold a `/` that nobody has encoded; a host cannot.
        let (user, place) = match rest.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, rest),
        };
        let place = place.strip_suffix('/').unwrap_or(place);
        if place.contains(['/', '?', '#']) {
            return Err(BadProxy::Path);
        }
        let url = Url::parse(&format!("http://{place}"))?;
        let behind = place.rsplit_once(']').map_or(place, |(_, behind)| behind);
        let has_port = behind.rsplit_once(':').is_some_and(|(_, port)| !port.is_empty());
        let port = if has_port { url.port() } else { kind.usual_port() };
        let credentials = user.map(credentials).transpose()?;
        Ok(Self { kind, host: url.host().to_owned(), port, credentials })
    }

    pub fn kind(&self) -> ProxyKind {
        self.kind
    }

    /// To connect to: a name or an address, an IPv6 address without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// User name and password.
    pub fn credentials(&self) -> Option<(&str, &str)> {
        self.credentials.as_ref().map(|(user, password)| (user.as_str(), password.as_str()))
    }

    /// The value of `Proxy-Authorization` (RFC 7617).
    pub fn authorization(&self) -> Option<String> {
        let (user, password) = self.credentials()?;
        Some(format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
    }
}

impl ProxyKind {
    fn named(scheme: &str) -> Option<Self> {
        match scheme.to_ascii_lowercase().as_str() {
            "http" => Some(Self::Http),
            "https" => Some(Self::Https),
            "socks5" | "socks5h" => Some(Self::Socks5),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Socks5 => "socks5",
        }
    }

    fn usual_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
            Self::Socks5 => 1080,
        }
    }
}

fn credentials(user: &str) -> Result<(String, String), BadProxy> {
    let (user, password) = user.split_once(':').unwrap_or((user, ""));
    let read = |part: &str| {
        let text = decode(part).map_err(|_| BadProxy::Credentials)?;
        let fits = text.len() <= LONGEST && !text.contains(char::is_control);
        fits.then(|| text.into_owned()).ok_or(BadProxy::Credentials)
    };
    let (user, password) = (read(user)?, read(password)?);
    // RFC 7617, 2: a colon would end the name early.
    if user.contains(':') {
        return Err(BadProxy::Credentials);
    }
    Ok((user, password))
}

impl Display for Proxy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (scheme, host, port) = (self.kind.as_str(), &self.host, self.port);
        match host.contains(':') {
            true => write!(f, "{scheme}://[{host}]:{port}"),
            false => write!(f, "{scheme}://{host}:{port}"),
        }
    }
}

impl Debug for Proxy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_read() {
        for (text, shown, credentials) in [
            ("http://p.example:3128", "http://p.example:3128", None),
            ("http://p.example:3128/", "http://p.example:3128", None),
            ("p.example:3128", "http://p.example:3128", None),
            ("P.Example", "http://p.example:80", None),
            ("https://p", "https://p:443", None),
            ("HTTPS://p:80", "https://p:80", None),
            ("socks5://10.0.0.1", "socks5://10.0.0.1:1080", None),
            ("socks5h://[::1]", "socks5://[::1]:1080", None),
            ("http://[::1]:8", "http://[::1]:8", None),
            ("http://me:secret@p:1", "http://p:1", Some(("me", "secret"))),
            ("me:secret@p:1", "http://p:1", Some(("me", "secret"))),
            ("http://me@p", "http://p:80", Some(("me", ""))),
            ("socks5://me:a%40b%3A%2F@p", "socks5://p:1080", Some(("me", "a@b:/"))),
            ("http://me:a/b@c@p:1", "http://p:1", Some(("me", "a/b@c"))),
        ] {
            let proxy = Proxy::parse(text).expect(text);
            assert_eq!(proxy.to_string(), shown, "{text}");
            assert_eq!(proxy.credentials(), credentials, "{text}");
            assert!(!format!("{proxy:?}").contains("secret"), "{proxy:?}");
        }
        let authorization = Proxy::parse("http://me:s3cret@p").unwrap().authorization();
        assert_eq!(authorization.as_deref(), Some("Basic bWU6czNjcmV0"));
    }

    #[test]
    fn what_is_no_proxy() {
        for (text, why) in [
            ("", BadProxy::Host(BadUrl::NoHost)),
            ("ftp://p", BadProxy::Scheme),
            ("socks4://p", BadProxy::Scheme),
            ("http://", BadProxy::Host(BadUrl::NoHost)),
            ("http://p:port", BadProxy::Host(BadUrl::Port)),
            ("http://p:0", BadProxy::Host(BadUrl::Port)),
            ("http://p/path", BadProxy::Path),
            ("http://p?x", BadProxy::Path),
            ("http://a b", BadProxy::Host(BadUrl::Space)),
            ("http://me:%zz@p", BadProxy::Credentials),
            ("http://me:%0d%0a@p", BadProxy::Credentials),
            ("http://m%3Ae:x@p", BadProxy::Credentials),
        ] {
            assert_eq!(Proxy::parse(text), Err(why), "{text:?}");
        }
        let long = format!("http://me:{}@p", "x".repeat(256));
        assert_eq!(Proxy::parse(&long), Err(BadProxy::Credentials));
    }
}
