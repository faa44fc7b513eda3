//! Where `serve` listens. An address that other machines reach needs a token or keys.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs as _};
use std::str::FromStr;

/// `ADDRESS:PORT`, `ADDRESS` or `PORT`; what is not said has a default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Listen {
    host: Option<String>,
    port: Option<u16>,
}

const DEFAULT_HOST: &str = "127.0.0.1";
const DEFAULT_PORT: u16 = 3006;

/// Characters of a token that other machines may try to guess: 16 of them, even if only hexadecimal
/// digits, are 64 bits.
const SHORTEST_TOKEN: usize = 16;

/// What clients have to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guarded {
    /// Nothing.
    Open,
    /// A token of so many characters.
    Token(usize),
    /// A key of the platform.
    Keys,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ListenError {
    #[error("PORT is {0:?}; it must be a number from 0 to 65535")]
    BadPort(String),
    #[error(
        "{0} can be reached from other machines, so clients have to show a token\n\n\
         Set one with TRUNKLINE_TOKEN or --token (for example TRUNKLINE_TOKEN=$(openssl rand -hex \
         32)), or listen on 127.0.0.1 only."
    )]
    Open(SocketAddr),
    #[error(
        "{address} can be reached from other machines, and its token can be guessed: it is too short \
         ({length} of at least {SHORTEST_TOKEN} characters)\n\n\
         Use a longer one (for example TRUNKLINE_TOKEN=$(openssl rand -hex 32)), or listen on \
         127.0.0.1 only."
    )]
    Guessable { address: SocketAddr, length: usize },
    #[error(
        "with {flag}, other machines reach it through a proxy, and its token can be guessed: it is too short \
         ({length} of at least {SHORTEST_TOKEN} characters)\n\n\
         Use a longer one, for example TRUNKLINE_TOKEN=$(openssl rand -hex 32)."
    )]
    GuessableBehindProxy { flag: &'static str, length: usize },
    #[error("`{host}` is not an address of this machine: {error}")]
    NoAddress { host: String, error: io::Error },
    #[error("cannot listen on {address}: {error}{}", advice(.error))]
    Bind { address: SocketAddr, error: io::Error },
}

impl ListenError {
    /// Asked for wrongly, as opposed to tried and failed.
    pub(crate) fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::BadPort(_)
                | Self::Open(_)
                | Self::Guessable { .. }
                | Self::GuessableBehindProxy { .. }
                | Self::NoAddress { .. }
        )
    }
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "\n\nAnother program listens there. Choose another port with --listen or PORT."
        }
        io::ErrorKind::PermissionDenied => {
            "\n\nPorts below 1024 need a privilege. Choose another with --listen or PORT."
        }
        _ => "",
    }
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || "must be ADDRESS:PORT, ADDRESS or PORT".to_owned();
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Self { host: Some(address.ip().to_string()), port: Some(address.port()) });
        }
        // Before the host: a bare number is a port, although it could be read as an address.
        if let Ok(port) = text.parse() {
            return Ok(Self { host: None, port: Some(port) });
        }
        let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Ok(Self { host: Some(address.to_string()), port: None });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().map_err(|_| bad())?)),
            None => (text, None),
        };
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        if host.is_empty() || !host.chars().all(fits) {
            return Err(bad());
        }
        Ok(Self { host: Some(host.to_owned()), port })
    }
}

impl Listen {
    /// Opens the socket. `port` is the variable PORT.
    /// `reached`: the flag that says that others reach it through a proxy, if there is one.
    pub(crate) fn open(
        &self,
        port: Option<String>,
        guarded: Guarded,
        reached: Option<&'static str>,
    ) -> Result<TcpListener, ListenError> {
        let addresses = self.addresses(port)?;
        if let (Some(flag), Guarded::Token(length)) = (reached, guarded)
            && length < SHORTEST_TOKEN
        {
            return Err(ListenError::GuessableBehindProxy { flag, length });
        }
        // All addresses of the name are looked at before any is bound: one that others reach is
        // enough to refuse.
        let open = addresses.iter().find(|address| !is_loopback(**address));
        match (open, guarded) {
            (Some(open), Guarded::Open) => return Err(ListenError::Open(*open)),
            (Some(&address), Guarded::Token(length)) if length < SHORTEST_TOKEN => {
                return Err(ListenError::Guessable { address, length });
            }
            _ => {}
        }
        let mut refused = None;
        for address in addresses {
            match TcpListener::bind(address)
                .and_then(|bound| bound.set_nonblocking(true).map(|()| bound))
            {
                Ok(listener) => return Ok(listener),
                Err(error) => refused = refused.or(Some(ListenError::Bind { address, error })),
            }
        }
        let host = self.host().to_owned();
        Err(refused.unwrap_or_else(|| ListenError::NoAddress {
            host,
            error: io::ErrorKind::NotFound.into(),
        }))
    }

    /// The addresses meant, IPv4 first: `localhost` is 127.0.0.1 to most programs.
    fn addresses(&self, port: Option<String>) -> Result<Vec<SocketAddr>, ListenError> {
        let from_environment = match port.filter(|_| self.port.is_none()) {
            Some(text) => Some(text.trim().parse().map_err(|_| ListenError::BadPort(text))?),
            None => None,
        };
        let port = self.port.or(from_environment).unwrap_or(DEFAULT_PORT);
        let resolved = (self.host(), port).to_socket_addrs();
        let mut addresses: Vec<_> = resolved
            .map_err(|error| ListenError::NoAddress { host: self.host().to_owned(), error })?
            .collect();
        addresses.sort_by_key(SocketAddr::is_ipv6);
        Ok(addresses)
    }

    fn host(&self) -> &str {
        self.host.as_deref().unwrap_or(DEFAULT_HOST)
    }
}

fn is_loopback(address: SocketAddr) -> bool {
    // Canonical: `::ffff:127.0.0.1` is the loopback, too.
    address.ip().to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(text: &str, port: Option<&str>) -> Result<Vec<String>, String> {
        let listen = if text.is_empty() { Listen::default() } else { text.parse()? };
        let found = listen.addresses(port.map(str::to_owned)).map_err(|error| error.to_string())?;
        Ok(found.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn co_8_port_sets_the_port_unless_listen_does() {
        for (text, port, expected) in [
            ("", None, "127.0.0.1:3006"),
            ("", Some("8080"), "127.0.0.1:8080"),
            ("9000", Some("8080"), "127.0.0.1:9000"),
            ("0.0.0.0", Some("8080"), "0.0.0.0:8080"),
            ("0.0.0.0:1", Some("nonsense"), "0.0.0.0:1"),
            ("[::1]:5", None, "[::1]:5"),
            ("::1", None, "[::1]:3006"),
            ("[::1]", None, "[::1]:3006"),
        ] {
            assert_eq!(addresses(text, port), Ok(vec![expected.to_owned()]), "{text}");
        }
        assert!(addresses("", Some("http")).unwrap_err().starts_with("PORT is \"http\""));
        for text in ["a:b", ":80", "1.2.3.4:70000", "http://x", "a b", "[::1"] {
            assert!(text.parse::<Listen>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_world_needs_a_token() {
        use Guarded::{Keys, Open, Token};
        for (text, guarded, good) in [
            ("127.0.0.1:0", Open, true),
            ("localhost:0", Open, true),
            ("127.9.9.9:0", Open, true),
            ("127.0.0.1:0", Token(1), true),
            ("0.0.0.0:0", Open, false),
            ("0.0.0.0:0", Token(1), false),
            ("0.0.0.0:0", Token(15), false),
            ("0.0.0.0:0", Token(16), true),
            ("0.0.0.0:0", Keys, true),
            ("[::]:0", Open, false),
            ("192.0.2.1:0", Open, false),
        ] {
            let listen: Listen = text.parse().unwrap();
            let opened = listen.open(None, guarded, None);
            assert_eq!(opened.is_ok(), good, "{text}: {opened:?}");
            if let Err(error) = opened {
                assert!(
                    error.is_usage() && error.to_string().contains("TRUNKLINE_TOKEN"),
                    "{error}"
                );
            }
        }
    }

    #[test]
    fn a_port_in_use_is_said_plainly() {
        let first =
            Listen::from_str("127.0.0.1:0").unwrap().open(None, Guarded::Open, None).unwrap();
        let again: Listen = first.local_addr().unwrap().to_string().parse().unwrap();
        let error = again.open(None, Guarded::Open, None).unwrap_err();
        assert!(!error.is_usage());
        assert!(error.to_string().contains("Another program listens there"), "{error}");
    }
}
