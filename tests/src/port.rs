//! TCP ports: one nobody listens on, and what is open or waits to be read at one.

use std::collections::BTreeSet;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// From here on, the ports of this process.
struct Block {
    first: u16,
    /// No other test program takes the block as long as this is open.
    _claim: UnixListener,
}

/// Many more than the servers that tests of one process have at a time.
const BLOCK: u16 = 800;
const FIRST_BLOCK: u16 = 10_000;

/// A port on which nobody listens, and which neither the system nor another test will give away: it stays free
/// until the caller binds it, and when its server is down.
///
/// The system chooses the port where none is named, and that of every connection's own end. It would choose one
/// of a server that is just being started again.
pub fn free() -> u16 {
    static OWN: OnceLock<Block> = OnceLock::new();
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let own = OWN.get_or_init(claim);
    let ports = (0..BLOCK).map(|_| own.first + NEXT.fetch_add(1, Ordering::Relaxed) % BLOCK);
    // Not bound to try it: a process that is started at this moment has the listener too until it is another program.
    let taken = taken();
    ports.into_iter().find(|port| !taken.contains(port)).expect("one of the block is free")
}

/// Ports of this machine that are in use, but for those that wait for their last packets.
fn taken() -> BTreeSet<u16> {
    const TIME_WAIT: &str = "06";
    let v6 = std::fs::read_to_string("/proc/net/tcp6").unwrap_or_default(); // none without IPv6
    let port = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        let own = port_of(fields.next()?)?;
        (fields.nth(1)? != TIME_WAIT).then_some(own)
    };
    [table(), v6].iter().flat_map(|all| all.lines().filter_map(port).collect::<Vec<_>>()).collect()
}

/// A block of ports that no other process has claimed.
fn claim() -> Block {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    let range = range.expect("/proc is mounted");
    let chosen = range.split_whitespace().next().and_then(|port| port.parse::<u16>().ok());
    let end = chosen.expect("the first port that the system chooses");
    let mut blocks = (FIRST_BLOCK..end.saturating_sub(BLOCK)).step_by(usize::from(BLOCK));
    let claimed = blocks.find_map(|first| {
        let name = format!("trunkline-test-ports-{first}");
        let name = SocketAddr::from_abstract_name(name).expect("a short name");
        Some(Block { first, _claim: UnixListener::bind_addr(&name).ok()? })
    });
    claimed.expect("fewer than two dozen test programs run at a time")
}

/// Connections with this port at either end that are open, or that only its side has closed.
pub fn connected(port: u16) -> usize {
    const OPEN: [&str; 2] = ["01", "08"];
    let has = |line: &&str| {
        let mut fields = line.split_whitespace().skip(1);
        let mut is_end = || Some(port_of(fields.next()?)? == port);
        let (local, remote) = (is_end()?, is_end()?);
        Some((local || remote) && OPEN.contains(&fields.next()?))
    };
    table().lines().skip(1).filter(|line| has(line) == Some(true)).count()
}

fn table() -> String {
    std::fs::read_to_string("/proc/net/tcp").expect("/proc is mounted")
}

/// `0100007F:1F90`
fn port_of(address: &str) -> Option<u16> {
    u16::from_str_radix(address.split_once(':')?.1, 16).ok()
}

/// Connections of this local port whose peer does not take what was written to them.
pub fn unread(port: u16) -> usize {
    table().lines().skip(1).filter(|line| is_unread(line, port) == Some(true)).count()
}

/// `sl local_address rem_address st tx_queue:rx_queue …`, in hex.
fn is_unread(line: &str, port: u16) -> Option<bool> {
    let mut fields = line.split_whitespace().skip(1);
    let local = port_of(fields.next()?)?;
    let (queued, _) = fields.nth(2)?.split_once(':')?;
    Some(local == port && u64::from_str_radix(queued, 16).ok()? > 0)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_free_port_is_none_that_the_system_chooses_and_is_given_once() {
        let ports: BTreeSet<u16> = (0..50).map(|_| free()).collect();
        assert_eq!(ports.len(), 50);
        let last = *ports.last().expect("fifty");
        assert!(!taken().contains(&last));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, last)).unwrap();
        assert!(taken().contains(&last));
        drop(listener);
        let chosen = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(ports.iter().all(|port| *port < chosen.local_addr().unwrap().port()));
    }

    #[test]
    fn connections_are_counted_until_both_sides_have_closed_them() {
        let port = free();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        assert_eq!(connected(port), 0);
        let client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let (server, _) = listener.accept().unwrap();
        assert_eq!(connected(port), 2);
        drop(server);
        assert_eq!(connected(port), 1);
        drop(client);
        assert_eq!(connected(port), 0);
    }
}
