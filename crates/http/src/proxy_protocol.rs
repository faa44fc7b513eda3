//! The PROXY protocol (versions 1 and 2): what a load balancer says before the client's own bytes, so that the
//! address behind it is known.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Whom a connection is passed on for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyHeader {
    /// A client at this address.
    Client(SocketAddr),
    /// The load balancer itself (a health check), or a client of which it says nothing: the address of the connection
    /// is all there is.
    Unnamed,
}

/// Why the first bytes of a connection are no header of this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadProxyHeader {
    #[error("the connection does not begin with a PROXY protocol header")]
    NoHeader,
    #[error(
        "a line of version 1 is `PROXY TCP4|TCP6 SOURCE DESTINATION PORT PORT` or `PROXY UNKNOWN`"
    )]
    Line,
    #[error("version 2 with a version, command or family that is not known")]
    Unknown,
    #[error("version 2 with fewer bytes than its family's addresses need")]
    Short,
    #[error("longer than {LONGEST} bytes")]
    TooLong,
}

/// The line of version 1 has 107 bytes at most (its specification, 2.1).
const LONGEST_LINE: usize = 107;
/// Version 2 may carry 64 KiB of further fields. Load balancers send some hundred bytes: names, ids, a checksum.
const LONGEST: usize = 4096;
const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const WORD: &[u8] = b"PROXY ";
/// The signature, version and command, family, and the length of what follows.
const FIXED: usize = 16;

/// Reads the header that a connection begins with, and how many bytes it has. `None`: more is needed.
pub fn proxy_header(bytes: &[u8]) -> Result<Option<(ProxyHeader, usize)>, BadProxyHeader> {
    if is_prefix(bytes, SIGNATURE) {
        return version_2(bytes);
    }
    if is_prefix(bytes, WORD) {
        return version_1(bytes);
    }
    Err(BadProxyHeader::NoHeader)
}

/// Do the bytes begin with this, as far as they have come?
fn is_prefix(bytes: &[u8], expected: &[u8]) -> bool {
    bytes.iter().zip(expected).all(|(came, expected)| came == expected)
}

fn version_1(bytes: &[u8]) -> Result<Option<(ProxyHeader, usize)>, BadProxyHeader> {
    let line = bytes.get(..bytes.len().min(LONGEST_LINE)).unwrap_or(bytes);
    let Some(end) = memchr::memchr(b'\n', line) else {
        return if line.len() == LONGEST_LINE { Err(BadProxyHeader::Line) } else { Ok(None) };
    };
    let line = line.get(..end).and_then(|line| line.strip_suffix(b"\r"));
    let line = line.and_then(|line| str::from_utf8(line).ok()).ok_or(BadProxyHeader::Line)?;
    let header = line_header(line).ok_or(BadProxyHeader::Line)?;
    Ok(Some((header, end + 1)))
}

fn line_header(line: &str) -> Option<ProxyHeader> {
    let mut words = line.split(' ').skip(1); // `PROXY`, which was seen
    let family = words.next()?;
    if family == "UNKNOWN" {
        // What follows is to be ignored (2.1).
        return Some(ProxyHeader::Unnamed);
    }
    let address = |word: &str| -> Option<IpAddr> {
        match family {
            "TCP4" => word.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
            "TCP6" => word.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
            _ => None,
        }
    };
    let source = address(words.next()?)?;
    address(words.next()?)?;
    let ports = (port(words.next()?)?, port(words.next()?)?);
    words.next().is_none().then(|| ProxyHeader::Client(SocketAddr::new(source, ports.0)))
}

fn port(word: &str) -> Option<u16> {
    // Without signs and leading zeros: one number has one spelling (2.1).
    let is_plain = word.bytes().all(|byte| byte.is_ascii_digit());
    let is_usual = word.len() == 1 || !word.starts_with('0');
    word.parse().ok().filter(|_| is_plain && is_usual)
}

fn version_2(bytes: &[u8]) -> Result<Option<(ProxyHeader, usize)>, BadProxyHeader> {
    let Some((fixed, rest)) = bytes.split_at_checked(FIXED) else { return Ok(None) };
    let &[.., version, family, high, low] = fixed else { return Ok(None) };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if version >> 4 != 2 {
        return Err(BadProxyHeader::Unknown);
    }
    if FIXED + length > LONGEST {
        return Err(BadProxyHeader::TooLong);
    }
    let Some(block) = rest.get(..length) else { return Ok(None) };
    let header = match (version & 0xf, family) {
        // LOCAL: the balancer's own connection; its addresses are to be ignored (2.2).
        (0, _) => ProxyHeader::Unnamed,
        (1, 0x11) => ProxyHeader::Client(v4(block).ok_or(BadProxyHeader::Short)?),
        (1, 0x21) => ProxyHeader::Client(v6(block).ok_or(BadProxyHeader::Short)?),
        // UNSPEC, and sockets of a Unix domain: no address that is known here.
        (1, 0x00 | 0x31 | 0x32) => ProxyHeader::Unnamed,
        _ => return Err(BadProxyHeader::Unknown),
    };
    Ok(Some((header, FIXED + length)))
}

/// Source and destination, then their ports.
fn v4(block: &[u8]) -> Option<SocketAddr> {
    let address: [u8; 4] = *block.first_chunk()?;
    Some(SocketAddr::new(Ipv4Addr::from(address).into(), port_at(block, 8)?))
}

fn v6(block: &[u8]) -> Option<SocketAddr> {
    let address: [u8; 16] = *block.first_chunk()?;
    Some(SocketAddr::new(Ipv6Addr::from(address).into(), port_at(block, 32)?))
}

/// The first of the two ports, where both are there.
fn port_at(block: &[u8], at: usize) -> Option<u16> {
    let ports: [u8; 4] = *block.get(at..)?.first_chunk()?;
    let [high, low, ..] = ports;
    Some(u16::from_be_bytes([high, low]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(text: &str) -> ProxyHeader {
        ProxyHeader::Client(text.parse().unwrap())
    }

    #[test]
    fn lines_of_version_1() {
        for (line, expected) in [
            ("PROXY TCP4 192.0.2.1 10.0.0.1 1234 443\r\n", Ok(client("192.0.2.1:1234"))),
            ("PROXY TCP6 2001:db8::1 ::1 1 65535\r\n", Ok(client("[2001:db8::1]:1"))),
            ("PROXY UNKNOWN\r\n", Ok(ProxyHeader::Unnamed)),
            ("PROXY UNKNOWN ffff::1 ::1 1 2\r\n", Ok(ProxyHeader::Unnamed)),
            ("PROXY TCP4 192.0.2.1 10.0.0.1 1234 443\n", Err(BadProxyHeader::Line)),
            ("PROXY TCP4 192.0.2.1 10.0.0.1 1234\r\n", Err(BadProxyHeader::Line)),
            ("PROXY TCP4 192.0.2.1 10.0.0.1 1 2 3\r\n", Err(BadProxyHeader::Line)),
            ("PROXY TCP4 192.0.2.1 10.0.0.1 01 443\r\n", Err(BadProxyHeader::Line)),
            ("PROXY TCP4 192.0.2.1 10.0.0.1 +1 443\r\n", Err(BadProxyHeader::Line)),
            ("PROXY TCP4 192.0.2.1 10.0.0.1 65536 443\r\n", Err(BadProxyHeader::Line)),
            ("PROXY TCP4  192.0.2.1 10.0.0.1 1 443\r\n", Err(BadProxyHeader::Line)),
            ("PROXY TCP4 ::1 ::1 1 443\r\n", Err(BadProxyHeader::Line)),
            ("PROXY TCP6 192.0.2.1 ::1 1 443\r\n", Err(BadProxyHeader::Line)),
            ("PROXY UDP4 192.0.2.1 10.0.0.1 1 443\r\n", Err(BadProxyHeader::Line)),
            ("PROXY \r\n", Err(BadProxyHeader::Line)),
            ("GET / HTTP/1.1\r\n", Err(BadProxyHeader::NoHeader)),
            ("proxy TCP4 192.0.2.1 10.0.0.1 1 443\r\n", Err(BadProxyHeader::NoHeader)),
        ] {
            let sent = format!("{line}GET /");
            let expected = expected.map(|header| Some((header, line.len())));
            assert_eq!(proxy_header(sent.as_bytes()), expected, "{line}");
        }
        let endless = format!("PROXY UNKNOWN {}", "a".repeat(200));
        assert_eq!(proxy_header(endless.as_bytes()), Err(BadProxyHeader::Line));
    }

    /// A header of version 2 with these addresses and fields behind them.
    fn binary(version: u8, family: u8, block: &[u8]) -> Vec<u8> {
        let length = u16::try_from(block.len()).unwrap().to_be_bytes();
        [SIGNATURE, &[version, family], &length, block].concat()
    }

    #[test]
    fn headers_of_version_2() {
        let v4 = [192, 0, 2, 1, 10, 0, 0, 1, 4, 210, 1, 187];
        let fields = [&v4[..], &[4, 0, 3, 1, 2, 3]].concat();
        let mut v6 = [0; 36];
        (v6[15], v6[33]) = (1, 7);
        for (version, family, block, expected) in [
            (0x21, 0x11, &v4[..], Ok(client("192.0.2.1:1234"))),
            (0x21, 0x11, &fields[..], Ok(client("192.0.2.1:1234"))),
            (0x21, 0x21, &v6[..], Ok(client("[::1]:7"))),
            (0x21, 0x00, &[][..], Ok(ProxyHeader::Unnamed)),
            (0x21, 0x31, &[0; 216][..], Ok(ProxyHeader::Unnamed)),
            (0x20, 0x11, &v4[..], Ok(ProxyHeader::Unnamed)),
            (0x20, 0x00, &[][..], Ok(ProxyHeader::Unnamed)),
            (0x21, 0x11, &v4[..11], Err(BadProxyHeader::Short)),
            (0x21, 0x21, &v4[..], Err(BadProxyHeader::Short)),
            (0x21, 0x12, &v4[..], Err(BadProxyHeader::Unknown)),
            (0x22, 0x11, &v4[..], Err(BadProxyHeader::Unknown)),
            (0x11, 0x11, &v4[..], Err(BadProxyHeader::Unknown)),
            (0x21, 0x11, &[0; 4081][..], Err(BadProxyHeader::TooLong)),
        ] {
            let header = binary(version, family, block);
            let sent = [&header[..], b"GET /"].concat();
            let expected = expected.map(|it| Some((it, header.len())));
            assert_eq!(proxy_header(&sent), expected, "{version:x} {family:x}");
        }
    }

    #[test]
    fn a_header_may_come_byte_by_byte() {
        let line = b"PROXY TCP4 192.0.2.1 10.0.0.1 1234 443\r\n".to_vec();
        let binary = binary(0x21, 0x11, &[192, 0, 2, 1, 10, 0, 0, 1, 4, 210, 1, 187]);
        for whole in [line, binary] {
            for length in 0..whole.len() {
                assert_eq!(proxy_header(&whole[..length]), Ok(None), "{length}");
            }
            assert_eq!(proxy_header(&whole), Ok(Some((client("192.0.2.1:1234"), whole.len()))));
        }
    }
}
