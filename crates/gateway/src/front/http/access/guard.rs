//! Which requests the front accepts: `Guard` checks the Host, the Origin and the token of a request;
//! `PassCache` and `SessionOwner` remember what the gate decided about a caller.
//!
//! A web page in the user's browser can send requests to this machine and, by pointing its own DNS
//! name here, even read the answers (DNS rebinding). It cannot choose the Host and Origin headers
//! that the browser sends.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::SystemTime;

use crate::lock::{Mutex, rank};
use subtle::ConstantTimeEq as _;
use trunkline_http::Request;

use super::client_peer::ClientPeer;
use super::refusal::HttpRefusal;
use super::wrong_tokens::{WrongTokens, retry_after};
use crate::gate::{Asking, Pass};

#[derive(Debug)]
pub(crate) struct Guard {
    bound: SocketAddr,
    /// Spellings of Host that most clients send: compared as a whole, without parsing.
    usual: Vec<String>,
    hosts: Vec<HostPort>,
    origins: Vec<String>,
    token: Option<FrontToken>,
    /// Clients speak TLS with this front: no page that came without it is one of its own.
    scheme: FrontScheme,
    wrong_tokens: WrongTokens,
}

/// What clients of a front speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrontScheme {
    Http,
    /// `hsts`: browsers are told to use nothing else for its names.
    Https {
        hsts: bool,
    },
}

/// The token that clients have to send. A type of its own keeps it out of `Debug` output.
struct FrontToken(String);

impl fmt::Debug for FrontToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token")
    }
}

/// A host, lower case and without brackets, and the port if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HostPort {
    host: String,
    port: Option<u16>,
}

impl Guard {
    pub(crate) fn new(
        bound: SocketAddr,
        hosts: &[String],
        origins: &[String],
        token: Option<String>,
    ) -> Self {
        let usual = [bound.to_string(), format!("localhost:{}", bound.port())];
        let mut guard = Self {
            bound,
            usual: Vec::new(),
            hosts: hosts.iter().filter_map(|host| host_port(host)).collect(),
            origins: origins.iter().map(|origin| origin.trim_end_matches('/').to_owned()).collect(),
            token: token.map(FrontToken),
            scheme: FrontScheme::Http,
            wrong_tokens: WrongTokens::default(),
        };
        let served = |host: &String| host_port(host).is_some_and(|place| guard.serves(&place));
        guard.usual = usual.into_iter().filter(served).collect();
        guard
    }

    /// For a front whose clients speak this.
    pub(crate) fn speaking(self, scheme: FrontScheme) -> Self {
        Self { scheme, ..self }
    }

    /// Is a browser told to use nothing but https for the host of this request? Not for this machine's own names: all
    /// programs share them, whatever their ports.
    pub(crate) fn wants_hsts(&self, request: &Request<'_>) -> bool {
        let is_named = || {
            let here = request.host().and_then(host_port);
            here.is_some_and(|here| !here.is_loopback() && here.address().is_none())
        };
        self.scheme == FrontScheme::Https { hsts: true } && is_named()
    }

    /// Returns the Origin of an accepted request, if it has one.
    pub(crate) fn check<'a>(&self, request: &Request<'a>) -> Result<Option<&'a str>, HttpRefusal> {
        let host = request.host().ok_or(HttpRefusal::Host)?;
        // Two are an attempt to confuse: whoever reads the other one sees somebody else (RFC 9110, 5.3).
        request.headers.once("authorization")?;
        let mut origins = request.headers.all("origin");
        let origin = origins.next();
        // Only browsers send Origin: other clients need no more than a known Host.
        if origin.is_none() && self.usual.iter().any(|usual| usual == host) {
            return Ok(None);
        }
        let here = host_port(host).filter(|here| self.serves(here)).ok_or(HttpRefusal::Host)?;
        match (origin, origins.next()) {
            (None, _) => Ok(None),
            (Some(origin), None) => {
                let origin = std::str::from_utf8(origin).map_err(|_| HttpRefusal::Origin)?;
                if self.trusts(origin, &here) { Ok(Some(origin)) } else { Err(HttpRefusal::Origin) }
            }
            // Two Origins are an attempt to confuse: browsers send one.
            (Some(_), Some(_)) => Err(HttpRefusal::Origin),
        }
    }

    /// Does the request carry the token, or is none configured? A certificate of the client is as good as the token,
    /// but does not make a wrong one right.
    pub(crate) fn admits(&self, request: &Request<'_>, peer: &ClientPeer) -> bool {
        let Some(FrontToken(token)) = &self.token else { return true };
        let shown = match request.headers.once("authorization") {
            Ok(Some(shown)) => shown,
            // TLS looks at it once, in the handshake.
            Ok(None) => {
                let now = SystemTime::now();
                return peer.certificate.as_ref().is_some_and(|shown| now < shown.not_after);
            }
            Err(_) => return false,
        };
        let Some((scheme, shown)) = shown.split_at_checked(BEARER.len()) else { return false };
        scheme.eq_ignore_ascii_case(BEARER) && is_equal(shown.trim_ascii(), token.as_bytes())
    }

    /// Why a request is refused that `admits` does not admit: no token, a wrong one, or one of too many wrong ones.
    pub(crate) fn refuse(&self, request: &Request<'_>, from: IpAddr) -> HttpRefusal {
        // Whoever shows none has not guessed.
        let has_guessed = request.headers.get("authorization").is_some();
        match has_guessed.then(|| self.wrong_tokens.count(from)).flatten() {
            Some(wait) => HttpRefusal::WrongTokens(retry_after(wait)),
            None => HttpRefusal::Token,
        }
    }

    fn serves(&self, place: &HostPort) -> bool {
        if self.names(place) {
            return true;
        }
        match place.address() {
            Some(address) if self.bound.ip().is_unspecified() => !address.is_unspecified(),
            Some(address) => {
                let bound = self.bound.ip();
                address == bound || (bound.is_loopback() && address.is_loopback())
            }
            None => {
                let bound = self.bound.ip();
                (bound.is_loopback() || bound.is_unspecified()) && place.host == "localhost"
            }
        }
    }

    /// Is it one of the names given with `--allow-host`?
    fn names(&self, place: &HostPort) -> bool {
        let fits = |known: &HostPort| {
            known.host == place.host && (known.port.is_none() || known.port == place.port)
        };
        self.hosts.iter().any(fits)
    }

    fn trusts(&self, origin: &str, here: &HostPort) -> bool {
        if self.origins.iter().any(|known| known == origin) {
            return true;
        }
        let (rest, usual_port) = match origin.strip_prefix("http://") {
            // A page without TLS is none of a front that speaks nothing else: whoever is on the way wrote it.
            Some(_) if self.scheme != FrontScheme::Http => return false,
            Some(rest) => (Some(rest), 80),
            // The browser speaks TLS to a proxy that passes the Host on.
            None => (origin.strip_prefix("https://"), 443),
        };
        let Some(there) = rest.and_then(host_port) else { return false };
        let port = |place: &HostPort| place.port.unwrap_or(usual_port);
        // Another port of this machine is another program's page, perhaps another user's.
        let is_same =
            there.host == here.host && port(&there) == port(here) && !self.is_origin(here);
        let is_bound =
            there.address() == Some(self.bound.ip()) && port(&there) == self.bound.port();
        is_same || is_bound
    }
}

impl Guard {
    /// Is it the host of an origin that was named with its scheme (`--public-url`, `--allow-origin`)? Then no other
    /// scheme of it is trusted: whoever is on the way can change a page that came without TLS.
    fn is_origin(&self, place: &HostPort) -> bool {
        if place.is_loopback() {
            return false;
        }
        self.origins.iter().any(|origin| {
            let Some((scheme, rest)) = origin.split_once("://") else { return false };
            let usual = if scheme == "https" { 443 } else { 80 };
            let is_port = |known: &HostPort| {
                place.port.is_none_or(|port| port == known.port.unwrap_or(usual))
            };
            host_port(rest).is_some_and(|known| known.host == place.host && is_port(&known))
        })
    }
}

impl HostPort {
    fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.address().is_some_and(|address| address.is_loopback())
    }

    fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }
}

const BEARER: &[u8] = b"bearer ";

/// `host`, `host:port`, `[v6]`, `[v6]:port`.
fn host_port(authority: &str) -> Option<HostPort> {
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
    (!host.is_empty() && host.bytes().all(good)).then_some(HostPort { host, port })
}

/// Compares in constant time, so that the response time does not tell how much of a token is right.
pub(crate) fn is_equal(shown: &[u8], token: &[u8]) -> bool {
    bool::from(shown.ct_eq(token))
}

/// The caller that the gate admitted last on a connection.
// Held for a comparison: the gate itself is asked without it.
#[derive(Default)]
pub(crate) struct PassCache(Mutex<Option<CachedPass>, rank::PassCache>);

struct CachedPass {
    authorization: Option<Box<[u8]>>,
    path: Box<str>,
    /// `Gate::version` from before the gate was asked.
    version: u64,
    pass: Arc<Pass>,
}

/// Leaves out the Authorization header: it is a secret.
impl fmt::Debug for PassCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PassCache")
    }
}

impl PassCache {
    /// The gate's decision about the same header and path, while its version stays the same.
    pub(crate) fn find(&self, asking: &Asking<'_>, version: u64) -> Option<Arc<Pass>> {
        // The pump reads it, and a pending decision may set it on the runtime.
        let known = self.0.lock();
        let known = known.as_ref().filter(|known| known.version == version)?;
        let same = match (&known.authorization, asking.authorization) {
            (Some(known), Some(shown)) => is_equal(shown, known),
            (None, None) => true,
            _ => false,
        };
        let good = same && *known.path == *asking.path;
        // A pass may expire while the version of the gate stays the same.
        let expired = || known.pass.expires.is_some() && known.pass.is_expired(SystemTime::now());
        (good && !expired()).then(|| Arc::clone(&known.pass))
    }

    pub(crate) fn set(&self, asking: &Asking<'_>, version: u64, pass: &Arc<Pass>) {
        let known = CachedPass {
            authorization: asking.authorization.map(Into::into),
            path: asking.path.into(),
            version,
            pass: Arc::clone(pass),
        };
        *self.0.lock() = Some(known);
    }
}

/// Whose session it is; `None`: the session id alone admits.
// Taken with no table of sessions held: `get` copies the session out first.
#[derive(Debug)]
pub(crate) struct SessionOwner(Mutex<Option<Arc<Pass>>, rank::SessionOwner>);

impl SessionOwner {
    pub(crate) fn new(caller: Option<&Arc<Pass>>) -> Self {
        Self(Mutex::new(caller.cloned()))
    }

    /// True if the session is this caller's. A pass that expires later replaces the one held:
    /// clients renew tokens while their sessions go on.
    pub(crate) fn check_and_renew(&self, caller: Option<&Arc<Pass>>) -> bool {
        // Compared and renewed under one lock: two requests may bring two new tokens.
        let mut held = self.0.lock();
        match (&mut *held, caller) {
            (None, None) => true,
            (Some(held), Some(caller)) if held.is_same(caller) => {
                let longer = match (held.expires, caller.expires) {
                    (Some(held), Some(new)) => new > held,
                    (held, None) => held.is_some(),
                    (None, Some(_)) => false,
                };
                if longer {
                    *held = Arc::clone(caller);
                }
                true
            }
            _ => false,
        }
    }

    pub(crate) fn pass(&self) -> Option<Arc<Pass>> {
        self.0.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn guard(bound: &str, token: Option<&str>) -> Guard {
        let hosts = ["gate.example", "other.example:8443", "app.example"].map(str::to_owned);
        let origins = ["https://app.example", "http://dev.example:5173/", "http://localhost:5173"]
            .map(str::to_owned);
        Guard::new(bound.parse().unwrap(), &hosts, &origins, token.map(str::to_owned))
    }

    fn stranger() -> ClientPeer {
        ClientPeer::plain(([127, 0, 0, 1], 9).into())
    }

    fn check(guard: &Guard, target: &str, lines: &str) -> Result<Option<String>, HttpRefusal> {
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
            let expected = if served { Ok(None) } else { Err(HttpRefusal::Host) };
            assert_eq!(check(&guard(bound, None), "/", &lines), expected, "{bound} {host}");
        }
    }

    #[test]
    fn an_absolute_target_is_what_counts() {
        let guard = guard("127.0.0.1:3006", None);
        let evil = check(&guard, "http://evil.example/mcp", "Host: localhost\r\n");
        assert_eq!(evil, Err(HttpRefusal::Host));
        let good = check(&guard, "http://localhost/mcp", "Host: evil.example\r\n");
        assert_eq!(good, Ok(None));
    }

    #[test]
    fn origins() {
        for (bound, host, origin, trusted) in [
            ("127.0.0.1:1", "localhost:1", "http://localhost:1", true),
            ("127.0.0.1:1", "LocalHost:1", "http://localhost:1", true),
            ("127.0.0.1:1", "localhost:1", "http://127.0.0.1:1", true),
            ("127.0.0.1:1", "localhost:1", "http://localhost:6274", false),
            ("127.0.0.1:1", "localhost:1", "http://localhost", false),
            ("127.0.0.1:1", "localhost:1", "http://127.0.0.1", false),
            ("127.0.0.1:1", "localhost:1", "http://127.0.0.2:1", false),
            ("127.0.0.1:1", "127.0.0.1:1", "http://localhost:1", false),
            ("127.0.0.1:1", "localhost:1", "http://[::1]:1", false),
            ("127.0.0.1:1", "localhost:1", "http://[::1]:9", false),
            ("127.0.0.1:1", "localhost", "https://app.example", true),
            ("127.0.0.1:1", "localhost", "http://dev.example:5173", true),
            ("127.0.0.1:1", "localhost", "https://gate.example", false),
            ("127.0.0.1:1", "gate.example", "https://gate.example", true),
            ("127.0.0.1:1", "gate.example:443", "https://gate.example", true),
            ("127.0.0.1:1", "gate.example", "https://gate.example:8443", false),
            // The operator has named its scheme.
            ("127.0.0.1:1", "app.example", "https://app.example", true),
            ("127.0.0.1:1", "app.example", "http://app.example", false),
            ("127.0.0.1:1", "app.example:443", "http://app.example:443", false),
            ("127.0.0.1:1", "app.example:8080", "http://app.example:8080", true),
            ("127.0.0.1:1", "localhost:5173", "https://localhost:5173", true),
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
            ("0.0.0.0:1", "10.0.0.1:8080", "http://10.0.0.1:8080", true),
            ("0.0.0.0:1", "10.0.0.1:8080", "http://10.0.0.1", false),
            ("0.0.0.0:1", "gate.example", "http://gate.example", true),
            ("0.0.0.0:1", "10.0.0.1", "http://gate.example", false),
            ("0.0.0.0:1", "10.0.0.1", "http://10.0.0.2", false),
            ("0.0.0.0:1", "10.0.0.1", "http://localhost", false),
        ] {
            let lines = format!("Host: {host}\r\nOrigin: {origin}\r\n");
            let expected =
                if trusted { Ok(Some(origin.to_owned())) } else { Err(HttpRefusal::Origin) };
            assert_eq!(check(&guard(bound, None), "/", &lines), expected, "{bound} {origin}");
        }
        let twice = "Host: localhost\r\nOrigin: http://localhost\r\nOrigin: http://localhost\r\n";
        assert_eq!(check(&guard("127.0.0.1:1", None), "/", twice), Err(HttpRefusal::Origin));
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
            assert_eq!(
                guard("127.0.0.1:1", Some("s3cret")).admits(&request, &stranger()),
                admitted,
                "{lines}"
            );
            assert!(guard("127.0.0.1:1", None).admits(&request, &stranger()));
        }
        assert!(!format!("{:?}", guard("127.0.0.1:1", Some("s3cret"))).contains("s3cret"));
    }

    fn pass(who: &str, seconds: Option<u64>) -> Arc<Pass> {
        let expires = seconds.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        Arc::new(Pass {
            who: who.as_bytes().into(),
            label: who.into(),
            grant: None,
            expires,
            allowance: None,
        })
    }

    fn asking<'a>(authorization: Option<&'a str>, path: &'a str) -> Asking<'a> {
        let authorization = authorization.map(str::as_bytes);
        Asking { authorization, certificate: None, path, peer: ([127, 0, 0, 1], 9).into() }
    }

    #[test]
    fn the_same_words_are_decided_once_until_something_changes() {
        let cache = PassCache::default();
        let me = pass("me", None);
        cache.set(&asking(Some("Bearer a"), "/mcp"), 7, &me);
        for (authorization, path, version, expected) in [
            (Some("Bearer a"), "/mcp", 7, true),
            (Some("Bearer a"), "/mcp", 8, false),
            (Some("Bearer b"), "/mcp", 7, false),
            (Some("Bearer aa"), "/mcp", 7, false),
            (None, "/mcp", 7, false),
            (Some("Bearer a"), "/sse", 7, false),
        ] {
            let found = cache.find(&asking(authorization, path), version);
            assert_eq!(found.is_some(), expected, "{authorization:?} {path} {version}");
        }
        cache.set(&asking(None, "/mcp"), 7, &pass("old", Some(1)));
        assert!(cache.find(&asking(None, "/mcp"), 7).is_none(), "it has expired");
    }

    #[test]
    fn a_session_is_its_owners() {
        let mine = SessionOwner::new(Some(&pass("me", Some(10))));
        assert!(mine.check_and_renew(Some(&pass("me", Some(5)))));
        assert!(!mine.check_and_renew(Some(&pass("you", None))) && !mine.check_and_renew(None));
        assert!(
            SessionOwner::new(None).check_and_renew(None)
                && !SessionOwner::new(None).check_and_renew(Some(&pass("me", None)))
        );
    }

    #[test]
    fn a_renewed_pass_renews_the_session() {
        for (held, shown, expected) in [
            (Some(10), Some(20), Some(20)),
            (Some(10), Some(5), Some(10)),
            (Some(10), None, None),
            (None, Some(10), None),
        ] {
            let owner = SessionOwner::new(Some(&pass("me", held)));
            assert!(owner.check_and_renew(Some(&pass("me", shown))));
            let expires = owner.pass().and_then(|pass| pass.expires);
            assert_eq!(expires, pass("me", expected).expires, "{held:?} {shown:?}");
        }
    }
}
