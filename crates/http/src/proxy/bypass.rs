//! `Bypass`: the targets that `NO_PROXY` names, which are connected to directly.

use std::net::IpAddr;

use crate::reach::{BadCidr, Cidr, Host};
use crate::url::Url;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bypass(Vec<Exempt>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Exempt {
    host: ExemptHost,
    /// `None`: every port.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ExemptHost {
    Everything,
    /// A name and the names below it.
    Name(String),
    Network(Cidr),
}

impl Bypass {
    /// Entries are separated by commas or spaces. Also: which entries, counted from one, cannot be
    /// read.
    pub(super) fn read(text: &str) -> (Self, Vec<usize>) {
        let mut unread = Vec::new();
        let entries = text.split([',', ' ', '\t', '\n']).map(str::trim);
        let mut exempt = Vec::new();
        for (at, entry) in (1..).zip(entries.filter(|entry| !entry.is_empty())) {
            match Exempt::read(entry) {
                Some(read) => exempt.push(read),
                None => unread.push(at),
            }
        }
        (Self(exempt), unread)
    }

    pub(super) fn covers(&self, url: &Url) -> bool {
        self.0.iter().any(|exempt| exempt.covers(url))
    }
}

impl Exempt {
    fn read(entry: &str) -> Option<Self> {
        // Before a port is looked for: an IPv6 address is full of colons.
        if let Some(network) = network(entry) {
            return Some(Self { host: ExemptHost::Network(network), port: None });
        }
        let (host, port) = match entry.rsplit_once(':').filter(|_| !entry.ends_with(']')) {
            Some((host, digits)) => (host, Some(digits.parse().ok().filter(|port| *port > 0)?)),
            None => (entry, None),
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let host = match bare {
            "*" => ExemptHost::Everything,
            bare => match network(bare) {
                Some(network) => ExemptHost::Network(network),
                None => ExemptHost::Name(name(bare)?),
            },
        };
        Some(Self { host, port })
    }

    fn covers(&self, url: &Url) -> bool {
        if self.port.is_some_and(|port| port != url.port()) {
            return false;
        }
        let host = url.host().strip_suffix('.').unwrap_or(url.host());
        match &self.host {
            ExemptHost::Everything => true,
            ExemptHost::Network(network) => {
                host.parse::<IpAddr>().is_ok_and(|address| network.contains(address))
            }
            ExemptHost::Name(name) => {
                let above = host.strip_suffix(name.as_str());
                above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
            }
        }
    }
}

/// Of a network with bits behind those that count, the network is meant.
fn network(text: &str) -> Option<Cidr> {
    match text.parse() {
        Ok(network) | Err(BadCidr::HostBits(network)) => Some(network),
        Err(_) => None,
    }
}

/// `example.com`, `.example.com` and `*.example.com` are one, as for curl.
fn name(text: &str) -> Option<String> {
    let bare = text.strip_prefix("*.").or_else(|| text.strip_prefix('.')).unwrap_or(text);
    let bare = bare.strip_suffix('.').unwrap_or(bare).to_ascii_lowercase();
    matches!(Host::read(&bare), Ok(Host::Name)).then_some(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_connected_to_directly() {
        for (entries, url, expected) in [
            ("*", "https://anything.example/", true),
            ("example.com", "http://example.com/", true),
            ("example.com", "http://a.b.example.com/", true),
            ("example.com", "http://badexample.com/", false),
            (".example.com", "http://a.example.com/", true),
            (".example.com", "http://example.com/", true),
            ("*.Example.com", "http://a.EXAMPLE.com./", true),
            ("other, example.com", "http://example.com/", true),
            ("other example.com", "http://example.com/", true),
            (" , ,example.com,", "http://example.com/", true),
            ("example.com:8080", "http://example.com:8080/", true),
            ("example.com:8080", "http://example.com/", false),
            ("example.com:443", "https://example.com/", true),
            ("*:8080", "http://h:8080/", true),
            ("*:8080", "http://h/", false),
            ("10.0.0.0/8", "http://10.1.2.3:5/", true),
            ("10.1.2.3/8", "http://10.9.9.9/", true),
            ("10.0.0.0/8", "http://11.1.2.3/", false),
            ("10.0.0.0/8", "http://name.example/", false),
            ("192.168.1.7", "http://192.168.1.7/", true),
            ("192.168.1.7", "http://192.168.1.70/", false),
            ("192.168.1.7:81", "http://192.168.1.7:81/", true),
            ("192.168.1.7:81", "http://192.168.1.7:82/", false),
            ("fd00::/8", "http://[fd12::1]/", true),
            ("fd12::1", "http://[fd12::1]/", true),
            ("[fd12::1]", "http://[fd12::1]/", true),
            ("[fd12::1]:81", "http://[fd12::1]:81/", true),
            ("[fd12::1]:81", "http://[fd12::1]:82/", false),
        ] {
            let (bypass, unread) = Bypass::read(entries);
            assert_eq!(unread, [0; 0], "{entries}");
            assert_eq!(bypass.covers(&Url::parse(url).unwrap()), expected, "{entries} {url}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_counted() {
        for (entries, expected) in [
            ("a,10.*,b", &[2][..]),
            ("a:port", &[1]),
            ("a:0", &[1]),
            ("http://a", &[1]),
            ("a,,x!y", &[2]),
            ("10.0.0.0/33", &[1]),
        ] {
            assert_eq!(Bypass::read(entries).1, expected, "{entries}");
        }
    }
}
