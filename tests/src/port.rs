//! TCP ports: one nobody listens on, and what waits to be read behind one.

use std::net::{Ipv4Addr, TcpListener};

/// Free at the moment of asking; the caller should bind it soon.
pub fn free() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
    listener.local_addr().expect("a bound socket has an address").port()
}

/// Connections of this local port whose peer does not take what was written to them.
pub fn unread(port: u16) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").expect("/proc is mounted");
    table.lines().skip(1).filter(|line| is_unread(line, port) == Some(true)).count()
}

/// `sl local_address rem_address st tx_queue:rx_queue …`, in hex.
fn is_unread(line: &str, port: u16) -> Option<bool> {
    let mut fields = line.split_whitespace().skip(1);
    let (_, local) = fields.next()?.split_once(':')?;
    let (queued, _) = fields.nth(2)?.split_once(':')?;
    let number = |hex| u64::from_str_radix(hex, 16).ok();
    Some(number(local)? == u64::from(port) && number(queued)? > 0)
}
