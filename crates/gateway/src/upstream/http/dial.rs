//! Connects to one of several addresses, the families in turn (RFC 8305, happy eyeballs).

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rustix::net::sockopt;
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::limits::{CONNECT, CONNECT_HEAD_START, MOST_ADDRESSES};

/// The addresses of a host, as the resolver orders them.
pub(super) async fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    match timeout(CONNECT, lookup_host((host, port))).await {
        Ok(found) => Ok(found?.collect()),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// The first connection that is made. Each address has a head start before the next; the attempts
/// that lose are given up. `TimedOut` stands for silence within `CONNECT`.
pub(super) async fn dial(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut waiting = interleaved(addresses).into_iter().take(MOST_ADDRESSES).peekable();
    let mut attempts = JoinSet::new();
    let mut failure = io::Error::from(io::ErrorKind::NotFound);
    loop {
        if let Some(address) = waiting.next() {
            attempts.spawn(attempt(address));
        }
        let done = tokio::select! {
            done = attempts.join_next() => done,
            () = sleep(CONNECT_HEAD_START), if waiting.peek().is_some() => continue,
        };
        match done {
            Some(Ok(Ok(stream))) => return Ok(stream),
            Some(Ok(Err(error))) => failure = error,
            Some(Err(_)) => failure = io::ErrorKind::Interrupted.into(),
            None => return Err(failure),
        }
    }
}

async fn attempt(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = timeout(CONNECT, TcpStream::connect(address)).await;
    let stream = stream.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
    prepare(&stream)?;
    Ok(stream)
}

/// RFC 8305, 4: the families take turns, beginning with that of the first address.
fn interleaved(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let count = addresses.len();
    let (first, second): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|address| address.is_ipv6() == first_is_v6);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut all = Vec::with_capacity(count);
    while all.len() < count {
        all.extend(first.next());
        all.extend(second.next());
    }
    all
}

/// A request leaves at once; a peer that has vanished without a word is noticed.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    // A minute in all: a firewall that drops a connection silently is noticed before a user gives
    // up.
    sockopt::set_tcp_keepidle(stream, Duration::from_secs(30))?;
    sockopt::set_tcp_keepintvl(stream, Duration::from_secs(10))?;
    sockopt::set_tcp_keepcnt(stream, 3)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};
    use std::time::Instant;

    use tokio::net::TcpSocket;

    use super::*;

    #[test]
    fn families_take_turns() {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        let all = |list: &[&str]| list.iter().map(|text| address(text)).collect::<Vec<_>>();
        let (a, b, c) = ("[2001:db8::1]:1", "[2001:db8::2]:1", "[2001:db8::3]:1");
        let (x, y) = ("192.0.2.1:1", "192.0.2.2:1");
        for (found, expected) in [
            (&[][..], &[][..]),
            (&[a, b, c, x], &[a, x, b, c]),
            (&[x, y, a], &[x, a, y]),
            (&[a, b], &[a, b]),
            (&[x, a, y, b], &[x, a, y, b]),
        ] {
            assert_eq!(interleaved(all(found)), all(expected), "{found:?}");
        }
    }

    /// An address that takes no more connections and does not say so.
    async fn dead() -> (SocketAddr, Vec<TcpStream>, tokio::net::TcpListener) {
        let socket = TcpSocket::new_v6().unwrap();
        socket.bind("[::1]:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap();
        let address = listener.local_addr().unwrap();
        let mut waiting = Vec::new();
        while let Ok(Ok(one)) =
            timeout(Duration::from_millis(100), TcpStream::connect(address)).await
        {
            waiting.push(one);
        }
        (address, waiting, listener)
    }

    #[tokio::test]
    async fn a_dead_address_costs_no_more_than_its_head_start() {
        let (dead, _waiting, _listener) = dead().await;
        let alive = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let begun = Instant::now();
        let stream = dial(vec![dead, alive.local_addr().unwrap()]).await.unwrap();
        assert!(stream.peer_addr().unwrap().is_ipv4());
        // One after the other they would take longer.
        assert!(begun.elapsed() < CONNECT, "{:?}", begun.elapsed());
    }

    #[tokio::test]
    async fn an_address_that_refuses_costs_nothing_and_the_last_refusal_is_told() {
        let closed = |ip: std::net::IpAddr| {
            let listener = std::net::TcpListener::bind((ip, 0)).unwrap();
            listener.local_addr().unwrap()
        };
        let refusing = [closed(Ipv6Addr::LOCALHOST.into()), closed(Ipv4Addr::LOCALHOST.into())];
        let error = dial(refusing.to_vec()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        let alive = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let alive = alive.local_addr().unwrap();
        assert!(dial(vec![refusing[0], refusing[1], alive]).await.is_ok());
        assert_eq!(dial(Vec::new()).await.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
