//! `Envelope`: a client's request as one replica gives it to another, byte for byte, with what the connection has
//! told of the client.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::certificate::ClientCertificate;
use crate::front::http::access::ClientPeer;
use crate::front::http::request::HttpRequest;

#[derive(Debug)]
pub(crate) struct Envelope<'a> {
    /// The client, as the replica knows it that it came to.
    pub(crate) peer: ClientPeer,
    /// Head and body of its request.
    pub(crate) request: &'a [u8],
}

/// Headers that are about the connection of the client and not about its request; and `Origin`, which the replica
/// has judged that talks with the browser.
const LEFT_OUT: [&str; 11] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
    "content-length",
    "origin",
];

impl Envelope<'_> {
    pub(super) fn write(request: &HttpRequest<'_, '_>) -> Vec<u8> {
        let (head, peer) = (request.head, request.peer);
        let mut out = Vec::with_capacity(request.body.len() + 1_024);
        let secure = if peer.is_secure { "tls" } else { "plain" };
        out.extend_from_slice(format!("{} {secure}", peer.address).as_bytes());
        if let Some(certificate) = &peer.certificate {
            let until = certificate.not_after.duration_since(UNIX_EPOCH).unwrap_or_default();
            let name = BASE64_STANDARD.encode(&certificate.name);
            out.extend_from_slice(format!(" {} {name}", until.as_secs()).as_bytes());
        }
        out.push(b'\n');
        out.extend_from_slice(format!("{} {} HTTP/1.1\r\n", head.method, head.target).as_bytes());
        let is_left_out = |name: &str| LEFT_OUT.iter().any(|it| it.eq_ignore_ascii_case(name));
        for (name, value) in head.headers.iter().filter(|(name, _)| !is_left_out(name)) {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(format!("Content-Length: {}\r\n\r\n", request.body.len()).as_bytes());
        out.extend_from_slice(request.body);
        out
    }
}

impl<'a> Envelope<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let end = memchr::memchr(b'\n', bytes)?;
        let (line, request) = bytes.split_at_checked(end)?;
        let mut words = std::str::from_utf8(line).ok()?.split(' ');
        let address = words.next()?.parse().ok()?;
        let is_secure = words.next()? == "tls";
        let certificate = match (words.next(), words.next()) {
            (None, _) => None,
            (Some(until), name) => Some(Arc::new(certificate(until, name?)?)),
        };
        let peer = ClientPeer { address, certificate, is_secure, is_forwarded: true };
        Some(Self { peer, request: request.get(1..)? })
    }
}

fn certificate(until: &str, name: &str) -> Option<ClientCertificate> {
    let until = Duration::from_secs(until.parse().ok()?);
    let name = String::from_utf8(BASE64_STANDARD.decode(name).ok()?).ok()?;
    let not_after = UNIX_EPOCH.checked_add(until).unwrap_or(SystemTime::UNIX_EPOCH);
    Some(ClientCertificate { name, not_after })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_client_is_read_as_it_was_written() {
        let certified = ClientCertificate {
            name: "ci runner".to_owned(),
            not_after: UNIX_EPOCH + Duration::from_secs(99),
        };
        for (line, address, is_secure, certificate) in [
            ("192.0.2.1:5 plain", "192.0.2.1:5", false, None),
            ("[2001:db8::1]:5 tls", "[2001:db8::1]:5", true, None),
            ("192.0.2.1:5 tls 99 Y2kgcnVubmVy", "192.0.2.1:5", true, Some(Arc::new(certified))),
        ] {
            let bytes = format!("{line}\nGET / HTTP/1.1\r\n\r\n");
            let read = Envelope::read(bytes.as_bytes()).unwrap();
            assert_eq!(read.peer.address, address.parse().unwrap());
            assert_eq!((read.peer.is_secure, read.peer.certificate), (is_secure, certificate));
            assert!(read.peer.is_forwarded);
            assert_eq!(read.request, b"GET / HTTP/1.1\r\n\r\n");
        }
        for bad in ["", "x", "192.0.2.1 plain\n", "192.0.2.1:5\n", "192.0.2.1:5 tls 99\n"] {
            assert!(Envelope::read(bad.as_bytes()).is_none(), "{bad}");
        }
    }
}
