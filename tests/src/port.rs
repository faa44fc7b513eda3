//! A TCP port nobody listens on.

use std::net::{Ipv4Addr, TcpListener};

/// Free at the moment of asking; the caller should bind it soon.
pub fn free() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
    listener.local_addr().expect("a bound socket has an address").port()
}
