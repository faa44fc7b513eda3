//! Who may speak to this front: the Host it believes to reach, the page it comes from, its token.
//!
//! A web page the user looks at can send requests to this machine, and by letting its own name
//! point here it can even read the answers. It cannot choose the Host and Origin its browser sends.

use std::net::{IpAddr, SocketAddr};

use subtle::ConstantTimeEq as _;
use trunkline_http::Request;

use crate::front::http::refusal::Refusal;

#[derive(Debug)]
pub(super) struct Guard {
    bound: IpAddr,
    /// How clients usually spell it: found without being read.
    usual: Vec<String>,
    hosts: Vec<Place>,
    origins: Vec<String>,
    token: Option<Token>,
}

/// The token clients have to show. Its own type, so that it is shown to nobody else.
struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token")
    }
}

/// A host, lower case and without brackets, and the port if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    host: String,
    port: Option<u16>,
}

impl Guard {
    pub(super) fn new(
        bound: SocketAddr,
        hosts: &[String],
        origins: &[String],
        token: Option<String>,
    ) -> Self {
        let usual = [bound.to_string(), format!("localhost:{}", bound.port())];
        let mut guard = Self {
            bound: bound.ip(),
            usual: Vec::new(),
            hosts: hosts.iter().filter_map(|host| place(host)).collect(),
            origins: origins.iter().map(|origin| origin.trim_end_matches('/').to_owned()).collect(),
            token: token.map(Token),
        };
        let served = |host: &String| place(host).is_some_and(|place| guard.serves(&place));
        guard.usual = usual.into_iter().filter(served).collect();
        guard
    }

    /// The page the request comes from, if it is allowed to come from there and to go here.
    pub(super) fn check<'a>(&self, request: &Request<'a>) -> Result<Option<&'a str>, Refusal> {
        let host = request.host().ok_or(Refusal::Host)?;
        let mut origins = request.headers.all("origin");
        let origin = origins.next();
        if origin.is_none() && self.usual.iter().any(|usual| usual == host) {
            return Ok(None);
        }
        let here = place(host).filter(|here| self.serves(here)).ok_or(Refusal::Host)?;
        match (origin, origins.next()) {
            (None, _) => Ok(None),
            (Some(origin), None) => {
                let origin = std::str::from_utf8(origin).map_err(|_| Refusal::Origin)?;
                if self.trusts(origin, &here) { Ok(Some(origin)) } else { Err(Refusal::Origin) }
            }
            (Some(_), Some(_)) => Err(Refusal::Origin),
        }
    }

    /// Does the request show the token, or is there none to show?
    pub(super) fn admits(&self, request: &Request<'_>) -> bool {
        let Some(Token(token)) = &self.token else { return true };
        let Ok(Some(shown)) = request.headers.once("authorization") else { return false };
        let Some((scheme, shown)) = shown.split_at_checked(BEARER.len()) else { return false };
        scheme.eq_ignore_ascii_case(BEARER) && is_equal(shown.trim_ascii(), token.as_bytes())
    }

    fn serves(&self, place: &Place) -> bool {
        if self.names(place) {
            return true;
        }
        match place.address() {
            Some(address) if self.bound.is_unspecified() => !address.is_unspecified(),
            Some(address) => {
                address == self.bound || (self.bound.is_loopback() && address.is_loopback())
            }
            None => {
                let local = self.bound.is_loopback() || self.bound.is_unspecified();
                local && place.host == "localhost"
            }
        }
    }

    /// Is it one of the names given from outside?
    fn names(&self, place: &Place) -> bool {
        let fits = |known: &Place| {
            known.host == place.host && (known.port.is_none() || known.port == place.port)
        };
        self.hosts.iter().any(fits)
    }

    fn trusts(&self, origin: &str, here: &Place) -> bool {
        if self.origins.iter().any(|known| known == origin) {
            return true;
        }
        let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        let Some(there) = rest.and_then(place) else { return false };
        if self.bound.is_unspecified() && !self.names(&there) {
            // Any address is served here, but not every page that has an address is trusted.
            return there.host == here.host;
        }
        self.serves(&there)
    }
}

impl Place {
    fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }
}

const BEARER: &[u8] = b"bearer ";

/// `host`, `host:port`, `[v6]`, `[v6]:port`.
fn place(authority: &str) -> Option<Place> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (host, rest.strip_prefix(':').or((!rest.is_empty()).then_some("?")))
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port = match port {
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => Some(port.parse().ok()?),
        Some(_) => return None,
        None => None,
    };
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:%".contains(&byte);
    (!host.is_empty() && host.bytes().all(good)).then_some(Place { host, port })
}

/// Takes as long for a wrong token as for the right one.
pub(super) fn is_equal(shown: &[u8], token: &[u8]) -> bool {
    bool::from(shown.ct_eq(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(bound: &str, token: Option<&str>) -> Guard {
        let hosts = ["gate.example".to_owned(), "other.example:8443".to_owned()];
        let origins = ["https://app.example".to_owned(), "http://dev.example:5173/".to_owned()];
        Guard::new(bound.parse().unwrap(), &hosts, &origins, token.map(str::to_owned))
    }

    fn check(guard: &Guard, target: &str, lines: &str) -> Result<Option<String>, Refusal> {
        let text = format!("GET {target} HTTP/1.1\r\n{lines}\r\n");
        let (request, _) = trunkline_http::request(text.as_bytes()).unwrap().unwrap();
        guard.check(&request).map(|origin| origin.map(str::to_owned))
    }

    #[test]
    fn hosts() {
        for (bound, host, served) in [
            ("127.0.0.1:3006", "localhost:3006", true),
            ("127.0.0.1:3006", "LocalHost", true),
            ("127.0.0.1:3006", "localhost.:1", true),
            ("127.0.0.1:3006", "127.0.0.1:9", true),
            ("127.0.0.1:3006", "127.5.6.7", true),
            ("127.0.0.1:3006", "[::1]:3006", true),
            ("[::1]:3006", "[::1]:3006", true),
            ("[::1]:3006", "localhost", true),
            ("127.0.0.1:3006", "gate.example", true),
            ("127.0.0.1:3006", "gate.example:77", true),
            ("127.0.0.1:3006", "other.example:8443", true),
            ("127.0.0.1:3006", "other.example", false),
            ("127.0.0.1:3006", "other.example:443", false),
            ("127.0.0.1:3006", "evil.example", false),
            ("127.0.0.1:3006", "evil.example:3006", false),
            ("127.0.0.1:3006", "localhost.evil.example", false),
            ("127.0.0.1:3006", "evil.localhost", false),
            ("127.0.0.1:3006", "127.0.0.1.evil.example", false),
            ("127.0.0.1:3006", "192.168.0.1", false),
            ("127.0.0.1:3006", "0.0.0.0:3006", false),
            ("127.0.0.1:3006", "", false),
            ("127.0.0.1:3006", "localhost:", false),
            ("127.0.0.1:3006", "localhost:x", false),
            ("127.0.0.1:3006", "localhost:99999", false),
            ("127.0.0.1:3006", "user@localhost", false),
            ("127.0.0.1:3006", "[::1", false),
            ("127.0.0.1:3006", "[::1]x", false),
            ("127.0.0.1:3006", "[localhost]", false),
            ("192.168.0.1:80", "192.168.0.1", true),
            ("192.168.0.1:80", "localhost", false),
            ("192.168.0.1:80", "192.168.0.2", false),
            ("0.0.0.0:80", "192.168.0.2", true),
            ("0.0.0.0:80", "10.1.2.3:80", true),
            ("0.0.0.0:80", "[fe80::1]", true),
            ("0.0.0.0:80", "localhost", true),
            ("0.0.0.0:80", "gate.example", true),
            ("0.0.0.0:80", "evil.example", false),
            ("0.0.0.0:80", "0.0.0.0:80", false),
            ("[::]:80", "10.1.2.3", true),
        ] {
            let lines = format!("Host: {host}\r\n");
            let expected = if served { Ok(None) } else { Err(Refusal::Host) };
            assert_eq!(check(&guard(bound, None), "/", &lines), expected, "{bound} {host}");
        }
    }

    #[test]
    fn an_absolute_target_is_what_counts() {
        let guard = guard("127.0.0.1:3006", None);
        let evil = check(&guard, "http://evil.example/mcp", "Host: localhost\r\n");
        assert_eq!(evil, Err(Refusal::Host));
        let good = check(&guard, "http://localhost/mcp", "Host: evil.example\r\n");
        assert_eq!(good, Ok(None));
    }

    #[test]
    fn origins() {
        for (bound, host, origin, trusted) in [
            ("127.0.0.1:1", "localhost", "http://localhost:6274", true),
            ("127.0.0.1:1", "localhost", "https://127.0.0.1", true),
            ("127.0.0.1:1", "localhost", "http://[::1]:9", true),
            ("127.0.0.1:1", "localhost", "https://app.example", true),
            ("127.0.0.1:1", "localhost", "http://dev.example:5173", true),
            ("127.0.0.1:1", "localhost", "https://gate.example", true),
            ("127.0.0.1:1", "localhost", "http://app.example", false),
            ("127.0.0.1:1", "localhost", "https://app.example:1", false),
            ("127.0.0.1:1", "localhost", "http://evil.example", false),
            ("127.0.0.1:1", "localhost", "http://localhost.evil.example", false),
            ("127.0.0.1:1", "localhost", "null", false),
            ("127.0.0.1:1", "localhost", "", false),
            ("127.0.0.1:1", "localhost", "localhost", false),
            ("127.0.0.1:1", "localhost", "file://localhost", false),
            ("127.0.0.1:1", "localhost", "http://localhost/x", false),
            ("127.0.0.1:1", "localhost", "http://192.168.0.7", false),
            ("0.0.0.0:1", "10.0.0.1", "http://10.0.0.1:8080", true),
            ("0.0.0.0:1", "10.0.0.1", "http://gate.example", true),
            ("0.0.0.0:1", "10.0.0.1", "http://10.0.0.2", false),
            ("0.0.0.0:1", "10.0.0.1", "http://localhost", false),
        ] {
            let lines = format!("Host: {host}\r\nOrigin: {origin}\r\n");
            let expected = if trusted { Ok(Some(origin.to_owned())) } else { Err(Refusal::Origin) };
            assert_eq!(check(&guard(bound, None), "/", &lines), expected, "{bound} {origin}");
        }
        let twice = "Host: localhost\r\nOrigin: http://localhost\r\nOrigin: http://localhost\r\n";
        assert_eq!(check(&guard("127.0.0.1:1", None), "/", twice), Err(Refusal::Origin));
    }

    #[test]
    fn tokens() {
        for (lines, admitted) in [
            ("Authorization: Bearer s3cret\r\n", true),
            ("authorization: bearer   s3cret\r\n", true),
            ("", false),
            ("Authorization: s3cret\r\n", false),
            ("Authorization: Basic s3cret\r\n", false),
            ("Authorization: Bearer\r\n", false),
            ("Authorization: Bearer s3cre\r\n", false),
            ("Authorization: Bearer s3cretx\r\n", false),
            ("Authorization: Bearer S3cret\r\n", false),
            ("Authorization: Bearer s3cret\r\nAuthorization: Bearer s3cret\r\n", false),
        ] {
            let text = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n");
            let (request, _) = trunkline_http::request(text.as_bytes()).unwrap().unwrap();
            assert_eq!(guard("127.0.0.1:1", Some("s3cret")).admits(&request), admitted, "{lines}");
            assert!(guard("127.0.0.1:1", None).admits(&request));
        }
        assert!(!format!("{:?}", guard("127.0.0.1:1", Some("s3cret"))).contains("s3cret"));
    }
}
