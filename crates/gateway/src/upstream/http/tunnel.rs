//! Asks a proxy for a connection to a server: CONNECT (RFC 9110, 9.3.6) and SOCKS5 (RFC 1928, 1929).

use std::io;
use std::net::IpAddr;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;
use trunkline_http::proxy::{Proxy, ProxyKind};
use trunkline_http::{BadHead, request_head, response};

use crate::limits::{PROXY_HEAD_BYTES, TUNNEL, shortened};

/// Whom the proxy is to connect to: a name that it resolves, or an address that was judged here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TunnelEnd {
    pub(super) host: String,
    pub(super) port: u16,
}

impl TunnelEnd {
    /// `host:port`, an IPv6 address in brackets.
    pub(super) fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

/// Why there is no tunnel. Nothing of a request has left.
#[derive(Debug)]
pub(super) enum NoTunnel {
    /// HTTP 407, or no way of SOCKS to log in that we have.
    WantsLogin,
    /// What was said about us is wrong.
    WrongLogin,
    /// Its rules forbid it.
    Forbidden(String),
    /// The proxy has tried, and failed.
    Unreached(String),
    /// It does not speak like a proxy.
    Strange(String),
    Silent,
    Broken(io::Error),
}

/// Once it is there, what is written to `stream` goes to the server.
pub(super) async fn open_tunnel<S>(
    stream: &mut S,
    proxy: &Proxy,
    end: &TunnelEnd,
) -> Result<(), NoTunnel>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let opened = async {
        match proxy.kind() {
            ProxyKind::Http | ProxyKind::Https => connect(stream, proxy, end).await,
            ProxyKind::Socks5 => socks(stream, proxy, end).await,
        }
    };
    timeout(shortened(TUNNEL), opened).await.unwrap_or(Err(NoTunnel::Silent))
}

impl From<io::Error> for NoTunnel {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

async fn connect<S>(stream: &mut S, proxy: &Proxy, end: &TunnelEnd) -> Result<(), NoTunnel>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let authority = end.authority();
    let authorization = proxy.authorization();
    let mut fields: Vec<(&str, &[u8])> = vec![("User-Agent", super::address::AGENT.as_bytes())];
    fields.extend(authorization.iter().map(|it| ("Proxy-Authorization", it.as_bytes())));
    let mut head = Vec::new();
    request_head(&mut head, "CONNECT", &authority, &authority, &fields, None);
    stream.write_all(&head).await?;
    stream.flush().await?;
    let status = read_status(stream).await?;
    match status {
        200..=299 => Ok(()),
        407 if authorization.is_some() => Err(NoTunnel::WrongLogin),
        407 => Err(NoTunnel::WantsLogin),
        502..=504 => Err(NoTunnel::Unreached(format!("HTTP {status}"))),
        400..=499 => Err(NoTunnel::Forbidden(format!("HTTP {status}"))),
        _ => Err(NoTunnel::Unreached(format!("HTTP {status}"))),
    }
}

async fn read_status<S: AsyncRead + Unpin>(stream: &mut S) -> Result<u16, NoTunnel> {
    let mut bytes = Vec::new();
    loop {
        match response(&bytes) {
            // An interim answer: the real one follows.
            Ok(Some((head, length))) if head.status < 200 => {
                bytes.drain(..length);
                continue;
            }
            Ok(Some((head, length))) => {
                // The client speaks first, in TLS and in HTTP: what came too early has nobody who
                // could have been meant. Of a refusal it is the text.
                if (200..300).contains(&head.status) && bytes.len() > length {
                    let what = "said more than that the connection is open";
                    return Err(NoTunnel::Strange(what.to_owned()));
                }
                return Ok(head.status);
            }
            Ok(None) if bytes.len() < PROXY_HEAD_BYTES => {}
            Ok(None) | Err(BadHead::TooLarge) => {
                return Err(NoTunnel::Strange("answered with too large a head".to_owned()));
            }
            Err(_) => return Err(NoTunnel::Strange("does not speak HTTP".to_owned())),
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(NoTunnel::Broken(io::ErrorKind::UnexpectedEof.into()));
        }
    }
}

const VERSION: u8 = 5;
const NO_LOGIN: u8 = 0;
const NAME_AND_PASSWORD: u8 = 2;

async fn socks<S>(stream: &mut S, proxy: &Proxy, end: &TunnelEnd) -> Result<(), NoTunnel>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let credentials = proxy.credentials();
    let offered: &[u8] = match credentials {
        Some(_) => &[VERSION, 2, NO_LOGIN, NAME_AND_PASSWORD],
        None => &[VERSION, 1, NO_LOGIN],
    };
    stream.write_all(offered).await?;
    stream.flush().await?;
    let [version, method] = read_exactly(stream).await?;
    if version != VERSION {
        return Err(NoTunnel::Strange("does not speak SOCKS5".to_owned()));
    }
    match (method, credentials) {
        (NO_LOGIN, _) => {}
        (NAME_AND_PASSWORD, Some((user, password))) => log_in(stream, user, password).await?,
        (0xff, None) => return Err(NoTunnel::WantsLogin),
        (0xff, Some(_)) => return Err(NoTunnel::WrongLogin),
        _ => return Err(NoTunnel::Strange("wants a login that was not offered".to_owned())),
    }
    stream.write_all(&socks_request(end)).await?;
    stream.flush().await?;
    let [version, reply, _, kind] = read_exactly(stream).await?;
    if version != VERSION {
        return Err(NoTunnel::Strange("does not speak SOCKS5".to_owned()));
    }
    if reply != 0 {
        return Err(refusal(reply));
    }
    skip_bound_address(stream, kind).await
}

/// RFC 1929.
async fn log_in<S>(stream: &mut S, user: &str, password: &str) -> Result<(), NoTunnel>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut bytes = vec![1];
    for part in [user, password] {
        // `Proxy` takes none that is longer than 255 bytes.
        bytes.push(u8::try_from(part.len()).unwrap_or(u8::MAX));
        bytes.extend_from_slice(part.as_bytes());
    }
    stream.write_all(&bytes).await?;
    stream.flush().await?;
    let [_, status] = read_exactly(stream).await?;
    if status == 0 { Ok(()) } else { Err(NoTunnel::WrongLogin) }
}

/// RFC 1928, 4.
fn socks_request(end: &TunnelEnd) -> Vec<u8> {
    let mut bytes = vec![VERSION, 1, 0];
    match end.host.parse() {
        Ok(IpAddr::V4(address)) => {
            bytes.push(1);
            bytes.extend_from_slice(&address.octets());
        }
        Ok(IpAddr::V6(address)) => {
            bytes.push(4);
            bytes.extend_from_slice(&address.octets());
        }
        Err(_) => {
            bytes.push(3);
            // `connect` refuses names that are too long for the DNS, and so for this.
            let name = end.host.as_bytes();
            bytes.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
            bytes.extend_from_slice(name);
        }
    }
    bytes.extend_from_slice(&end.port.to_be_bytes());
    bytes
}

/// RFC 1928, 6.
fn refusal(reply: u8) -> NoTunnel {
    let what = match reply {
        1 => "general failure",
        2 => return NoTunnel::Forbidden("not allowed by its rules, SOCKS reply 2".to_owned()),
        3 => "network unreachable",
        4 => "host unreachable",
        5 => "connection refused",
        6 => "time to live expired",
        7 => "command not supported",
        8 => "kind of address not supported",
        _ => "an unknown reason",
    };
    NoTunnel::Unreached(format!("{what}, SOCKS reply {reply}"))
}

/// Where the proxy itself sits on the way is of no interest.
async fn skip_bound_address<S: AsyncRead + Unpin>(
    stream: &mut S,
    kind: u8,
) -> Result<(), NoTunnel> {
    let length = match kind {
        1 => 4,
        4 => 16,
        3 => {
            let [length] = read_exactly(stream).await?;
            usize::from(length)
        }
        _ => return Err(NoTunnel::Strange("does not speak SOCKS5".to_owned())),
    };
    let mut rest = vec![0; length + 2];
    stream.read_exact(&mut rest).await?;
    Ok(())
}

async fn read_exactly<const N: usize, S: AsyncRead + Unpin>(
    stream: &mut S,
) -> Result<[u8; N], NoTunnel> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(host: &str) -> TunnelEnd {
        TunnelEnd { host: host.to_owned(), port: 443 }
    }

    /// What the proxy hears, and what becomes of its answers.
    async fn played(proxy: &str, host: &str, answers: &[u8]) -> (Vec<u8>, Result<(), NoTunnel>) {
        let (mut ours, mut theirs) = tokio::io::duplex(1 << 16);
        theirs.write_all(answers).await.unwrap();
        theirs.shutdown().await.unwrap();
        let proxy = Proxy::parse(proxy).unwrap();
        let opened = open_tunnel(&mut ours, &proxy, &end(host)).await;
        drop(ours);
        let mut heard = Vec::new();
        theirs.read_to_end(&mut heard).await.unwrap();
        (heard, opened)
    }

    #[tokio::test]
    async fn connect_names_the_server_and_says_who_we_are() {
        let ok = b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n";
        let (heard, opened) = played("http://p", "h.example", ok).await;
        assert!(opened.is_ok(), "{opened:?}");
        let heard = String::from_utf8(heard).unwrap();
        assert!(heard.starts_with("CONNECT h.example:443 HTTP/1.1\r\nHost: h.example:443\r\n"));
        assert!(!heard.contains("Proxy-Authorization"), "{heard}");
        let (heard, opened) = played("http://me:s3cret@p", "2001:db8::1", ok).await;
        assert!(opened.is_ok(), "{opened:?}");
        let heard = String::from_utf8(heard).unwrap();
        assert!(heard.starts_with("CONNECT [2001:db8::1]:443 HTTP/1.1\r\n"), "{heard}");
        assert!(heard.contains("Proxy-Authorization: Basic bWU6czNjcmV0\r\n"), "{heard}");
    }

    #[tokio::test]
    async fn answers_to_connect() {
        for (proxy, answer, expected) in [
            ("http://p", "HTTP/1.0 200 OK\r\n\r\n", "Ok(())"),
            ("http://p", "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "Ok(())"),
            ("http://p", "HTTP/1.1 407 No\r\n\r\n", "Err(WantsLogin)"),
            ("http://a:b@p", "HTTP/1.1 407 No\r\n\r\n", "Err(WrongLogin)"),
            ("http://p", "HTTP/1.1 403 No\r\n\r\n<html>", "Err(Forbidden(\"HTTP 403\"))"),
            ("http://p", "HTTP/1.1 502 No\r\n\r\n", "Err(Unreached(\"HTTP 502\"))"),
            ("http://p", "HTTP/1.1 500 No\r\n\r\n", "Err(Unreached(\"HTTP 500\"))"),
            ("http://p", "HTTP/1.1 302 No\r\n\r\n", "Err(Unreached(\"HTTP 302\"))"),
            ("http://p", "SSH-2.0-x\r\n\r\n", "Err(Strange(\"does not speak HTTP\"))"),
            (
                "http://p",
                "HTTP/1.1 200 OK\r\n\r\nx",
                "Err(Strange(\"said more than that the connection is open\"))",
            ),
            ("http://p", "HTTP/1.1 200", "Err(Broken(Kind(UnexpectedEof)))"),
        ] {
            let (_, opened) = played(proxy, "h", answer.as_bytes()).await;
            assert_eq!(format!("{opened:?}"), expected, "{answer:?}");
        }
    }

    #[tokio::test]
    async fn socks_names_the_server_and_says_who_we_are() {
        const DONE: [u8; 10] = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        let answers = [&[5, 0][..], &DONE].concat();
        let (heard, opened) = played("socks5://p", "h.example", &answers).await;
        assert!(opened.is_ok(), "{opened:?}");
        let name = [&[5, 1, 0, 5, 1, 0, 3, 9][..], b"h.example", &[1, 187]].concat();
        assert_eq!(heard, name);
        let answers = [&[5, 2, 1, 0][..], &[5, 0, 0, 3, 2, b'a', b'b', 0, 0]].concat();
        let (heard, opened) = played("socks5://me:pw@p", "192.0.2.1", &answers).await;
        assert!(opened.is_ok(), "{opened:?}");
        let login = [&[5, 2, 0, 2, 1, 2][..], b"me", &[2], b"pw"].concat();
        let request = [5, 1, 0, 1, 192, 0, 2, 1, 1, 187];
        assert_eq!(heard, [&login[..], &request].concat());
    }

    #[tokio::test]
    async fn refusals_of_socks() {
        for (proxy, answers, expected) in [
            ("socks5://p", &[5, 0xff][..], "Err(WantsLogin)"),
            ("socks5://a:b@p", &[5, 0xff], "Err(WrongLogin)"),
            ("socks5://a:b@p", &[5, 2, 1, 1], "Err(WrongLogin)"),
            ("socks5://p", &[5, 2], "Err(Strange(\"wants a login that was not offered\"))"),
            ("socks5://p", b"HTTP/1.1 400", "Err(Strange(\"does not speak SOCKS5\"))"),
            (
                "socks5://p",
                &[5, 0, 5, 2, 0, 1, 0, 0, 0, 0, 0, 0],
                "Err(Forbidden(\"not allowed by its rules, SOCKS reply 2\"))",
            ),
            (
                "socks5://p",
                &[5, 0, 5, 5, 0, 1, 0, 0, 0, 0, 0, 0],
                "Err(Unreached(\"connection refused, SOCKS reply 5\"))",
            ),
            ("socks5://p", &[5], "Err(Broken("),
        ] {
            let (_, opened) = played(proxy, "h", answers).await;
            assert!(format!("{opened:?}").starts_with(expected), "{answers:?}: {opened:?}");
        }
    }
}
