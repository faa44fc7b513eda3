//! `HostRule`: a host that a walled-in server may reach, as a config names it.

use std::fmt;

use trunkline_http::reach::Host;

/// `api.example.com:443`, `*.example.com`, `10.0.0.7:8080`, `[fd00::1]:80`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRule {
    /// In lower case; an IPv6 address without brackets.
    host: String,
    /// Only what is below it.
    is_wild: bool,
    /// `None`: those of the web.
    port: Option<u16>,
}

/// What is meant where no port is named: HTTP and HTTPS.
const WEB: [u16; 2] = [80, 443];

impl HostRule {
    pub fn of_text(text: &str) -> Option<HostRule> {
        let text = text.to_ascii_lowercase();
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, port) = rest.split_once(']')?;
                (address, Some(port).filter(|port| !port.is_empty()))
            }
            // An IPv6 address without brackets has no port.
            None if text.matches(':').count() > 1 => (text.as_str(), None),
            None => text.find(':').map_or((text.as_str(), None), |at| {
                let (host, port) = text.split_at(at);
                (host, Some(port))
            }),
        };
        let port = match port {
            None => None,
            Some(port) => Some(port.strip_prefix(':')?.parse().ok().filter(|port| *port > 0)?),
        };
        let (host, is_wild) = match host.strip_prefix("*.") {
            Some(rest) => (rest, true),
            None => (host, false),
        };
        let read = Host::read(host).ok()?;
        let is_name = read == Host::Name;
        // `*.com` is most of the network: a wildcard has two labels at least.
        let fits = !is_wild || (is_name && host.contains('.'));
        fits.then(|| HostRule { host: host.trim_end_matches('.').to_owned(), is_wild, port })
    }

    /// Is this host, in lower case and without brackets, meant?
    pub fn allows(&self, host: &str, port: u16) -> bool {
        let host = host.trim_end_matches('.');
        let is_host = match self.is_wild {
            true => {
                host.strip_suffix(&self.host).is_some_and(|it| it.len() > 1 && it.ends_with('.'))
            }
            false => host == self.host,
        };
        is_host && self.port.map_or(WEB.contains(&port), |own| own == port)
    }

    /// The host as it was named, if it was named as one: an address of this machine or network is used then, too.
    pub fn exact(&self) -> Option<&str> {
        (!self.is_wild).then_some(self.host.as_str())
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stars = if self.is_wild { "*." } else { "" };
        match (self.host.contains(':'), self.port) {
            (true, Some(port)) => write!(f, "[{}]:{port}", self.host),
            (false, Some(port)) => write!(f, "{stars}{}:{port}", self.host),
            (_, None) => write!(f, "{stars}{}", self.host),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_and_written() {
        for text in [
            "api.example.com:443",
            "*.example.com",
            "10.0.0.7:8080",
            "[fd00::1]:80",
            "fd00::1",
            "localhost:3000",
        ] {
            assert_eq!(HostRule::of_text(text).unwrap().to_string(), text);
        }
        for wrong in [
            "",
            "*",
            "*.com",
            "a b",
            "a:0",
            "a:70000",
            "a:",
            "http://a",
            "a/b",
            "*.10.0.0.1",
            "[::1",
            "0x7f.1",
            "[a]443",
        ] {
            assert_eq!(HostRule::of_text(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_host_is_allowed_by_its_name_and_port() {
        for (rule, host, port, expected) in [
            ("api.example.com:443", "api.example.com", 443, true),
            ("api.example.com:443", "api.example.com.", 443, true),
            ("API.example.com:443", "api.example.com", 443, true),
            ("api.example.com:443", "api.example.com", 80, false),
            ("api.example.com", "api.example.com", 443, true),
            ("api.example.com", "api.example.com", 22, false),
            ("api.example.com", "x.api.example.com", 443, false),
            ("*.example.com", "a.b.example.com", 443, true),
            ("*.example.com", "example.com", 443, false),
            ("*.example.com", "evilexample.com", 443, false),
            ("*.example.com", ".example.com", 443, false),
            ("[fd00::1]:80", "fd00::1", 80, true),
        ] {
            let found = HostRule::of_text(rule).unwrap().allows(host, port);
            assert_eq!(found, expected, "{rule} {host}:{port}");
        }
    }
}
