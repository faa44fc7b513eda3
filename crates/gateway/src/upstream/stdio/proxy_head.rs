//! Reads what a client asks of a proxy: a tunnel to a host, or one plain request to it.

/// The head of a request to a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProxyHead {
    /// In lower case, an IPv6 address without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) way: ProxyWay,
    /// What came behind the head.
    pub(super) rest: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProxyWay {
    Tunnel,
    /// The head as the host wants it. One request for a connection: the next may be for another host.
    Request(Vec<u8>),
}

impl ProxyHead {
    /// `head` ends with an empty line.
    pub(super) fn read(head: &[u8], rest: Vec<u8>) -> Option<ProxyHead> {
        let text = str::from_utf8(head).ok()?;
        let (first, fields) = text.split_once("\r\n")?;
        let mut words = first.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() || !version.starts_with("HTTP/1.") {
            return None;
        }
        if method == "CONNECT" {
            let (host, port) = authority(target, None)?;
            return Some(ProxyHead { host, port, way: ProxyWay::Tunnel, rest });
        }
        let scheme = target.get(..7).filter(|it| it.eq_ignore_ascii_case("http://"))?;
        let target = target.get(scheme.len()..)?;
        let end = target.find(['/', '?', '#']).unwrap_or(target.len());
        let (place, path) = target.split_at(end);
        let (host, port) = authority(place, Some(80))?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let is_kept = |line: &&str| {
            let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
            !name.starts_with("proxy-") && !matches!(name.as_str(), "connection" | "keep-alive")
        };
        let fields: Vec<&str> =
            fields.split("\r\n").filter(|line| !line.is_empty()).filter(is_kept).collect();
        let fields: String = fields.iter().flat_map(|line| [line, "\r\n"]).collect();
        let head = format!("{method} {path} {version}\r\n{fields}Connection: close\r\n\r\n");
        Some(ProxyHead { host, port, way: ProxyWay::Request(head.into_bytes()), rest })
    }
}

fn authority(text: &str, usual: Option<u16>) -> Option<(String, u16)> {
    // A user and a password are nothing that a proxy looks at.
    let text = text.rsplit('@').next()?;
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let port = match port.strip_prefix(':') {
        Some(port) => port.parse().ok().filter(|port| *port > 0)?,
        None if port.is_empty() => usual?,
        None => return None,
    };
    (!host.is_empty()).then(|| (host.to_ascii_lowercase(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_to_a_proxy_are_read() {
        for (head, expected) in [
            (
                "CONNECT Api.Example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n",
                Some(("api.example.com", 443, None)),
            ),
            ("CONNECT [::1]:443 HTTP/1.1\r\n\r\n", Some(("::1", 443, None))),
            ("CONNECT api.example.com HTTP/1.1\r\n\r\n", None),
            ("CONNECT :443 HTTP/1.1\r\n\r\n", None),
            ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", None),
            ("GET https://h/ HTTP/1.1\r\n\r\n", None),
            (
                "GET http://h/a?b HTTP/1.1\r\nHost: h\r\nProxy-Authorization: x\r\nConnection: keep-alive\r\n\r\n",
                Some(("h", 80, Some("GET /a?b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"))),
            ),
            (
                "POST http://u:p@h:8080 HTTP/1.1\r\nHost: h\r\n\r\n",
                Some(("h", 8080, Some("POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"))),
            ),
            ("GET http://h:0/ HTTP/1.1\r\n\r\n", None),
            ("nonsense\r\n\r\n", None),
            ("GET http://h/ HTTP/2\r\n\r\n", None),
            ("é", None),
        ] {
            let read = ProxyHead::read(head.as_bytes(), Vec::new());
            let read = read.map(|it| {
                let head = match it.way {
                    ProxyWay::Tunnel => None,
                    ProxyWay::Request(head) => Some(String::from_utf8(head).unwrap()),
                };
                (it.host, it.port, head)
            });
            let expected = expected.map(|(host, port, head): (&str, u16, Option<&str>)| {
                (host.to_owned(), port, head.map(str::to_owned))
            });
            assert_eq!(read, expected, "{head}");
        }
    }
}
