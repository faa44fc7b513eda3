//! The plain listener beside one that speaks TLS: whoever asks there is sent to https.

use std::io::{self, Write as _};
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use trunkline_http::{Request, request};

use crate::front::http::front::Front;
use crate::limits::{ACCEPT_PAUSE, HANDSHAKES, REDIRECT_HEAD, TLS_HANDSHAKE, shortened};

/// Answers for ever; `port`: where TLS is spoken.
pub(crate) async fn redirect(
    listener: TcpListener,
    port: u16,
    authority: Option<String>,
    front: Arc<Front>,
) {
    let place = Arc::new(RedirectTarget { port, authority, front });
    let permits = Arc::new(Semaphore::new(HANDSHAKES));
    let mut open = JoinSet::new();
    loop {
        // Beyond the bound, connections wait in the kernel's backlog: each of the others ends in time.
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        while open.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let place = Arc::clone(&place);
        open.spawn(async move {
            // Elapsed, or an error: it has gone, or takes too long.
            drop(timeout(shortened(TLS_HANDSHAKE), place.answer(stream)).await);
            drop(permit);
        });
    }
}

struct RedirectTarget {
    port: u16,
    /// Host and port that everybody is sent to; `None`: the host that was asked for.
    authority: Option<String>,
    front: Arc<Front>,
}

impl RedirectTarget {
    async fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        let mut head = Vec::new();
        let answer = loop {
            if stream.read_buf(&mut head).await? == 0 {
                return Ok(());
            }
            match request(&head) {
                Ok(Some((request, _))) => break self.response(&request),
                Ok(None) if head.len() <= REDIRECT_HEAD => {}
                Ok(None) | Err(_) => break REFUSED.to_vec(),
            }
        };
        stream.write_all(&answer).await?;
        stream.shutdown().await?;
        // Until the client has closed: the kernel resets a connection that is closed with unread bytes.
        let mut unread = [0; 4096];
        while stream.read(&mut unread).await? > 0 {}
        Ok(())
    }

    fn response(&self, request: &Request<'_>) -> Vec<u8> {
        // A name that is not this front's is repeated to nobody.
        let host = request.host().filter(|_| self.front.guard.check(request).is_ok());
        // What is no path would become a part of the address: `CONNECT @elsewhere:443`.
        let host = host.filter(|_| request.path().starts_with('/'));
        let Some(host) = host else { return REFUSED.to_vec() };
        let place = match &self.authority {
            Some(authority) => authority.clone(),
            None => authority_of(host, self.port),
        };
        let query = request.query().map(|query| format!("?{query}")).unwrap_or_default();
        let mut answer = Vec::new();
        // RFC 9110, 15.4.9: the method stays, so that a POST stays one. Writing to a vector does not fail.
        let _ = write!(
            answer,
            "HTTP/1.1 308 Permanent Redirect\r\nLocation: https://{place}{}{query}\r\n\
             Content-Length: 0\r\nConnection: close\r\n\r\n",
            request.path()
        );
        answer
    }
}

/// The host without its port, with that of TLS where it is not the usual one.
fn authority_of(host: &str, port: u16) -> String {
    let bare = match host.rsplit_once(':') {
        // A colon inside of brackets belongs to an IPv6 address.
        Some((bare, port)) if !port.contains(']') => bare,
        _ => host,
    };
    if port == 443 { bare.to_owned() } else { format!("{bare}:{port}") }
}

const REFUSED: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_that_of_tls() {
        for (host, port, expected) in [
            ("a.example", 443, "a.example"),
            ("a.example:80", 443, "a.example"),
            ("a.example:8080", 8443, "a.example:8443"),
            ("[::1]:80", 8443, "[::1]:8443"),
            ("[::1]", 443, "[::1]"),
            ("127.0.0.1", 1, "127.0.0.1:1"),
        ] {
            assert_eq!(authority_of(host, port), expected, "{host}");
        }
    }
}
