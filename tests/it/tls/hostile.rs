//! Handshakes that never end, by the thousand and one byte at a time.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use kit::LIMIT;
use kit::http::Ask;
use kit::mcp::Speak;
use kit::process::{own_memory_kib, raise_open_files, wait_until};
use kit::room::Room;

use super::Encrypted;

/// The beginning of a ClientHello: a record of 512 bytes, of which some come.
const BEGUN: &[u8] = &[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3];

/// Has the other side closed?
fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).expect("a socket");
    match stream.read(&mut [0; 512]) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

#[test]
fn thousands_of_open_handshakes_leave_others_alone_and_cost_bounded_memory() {
    raise_open_files();
    let front = Encrypted::start(&[]);
    let tunnel = front.tunnel();
    let client = front.client(&tunnel);
    client.assert_echo("a", "echo", "{}");
    let pid = front.serve.process().pid().as_raw_nonzero().get();
    let before = own_memory_kib(pid);
    let mut open: Vec<TcpStream> = Vec::new();
    for number in 0..2000 {
        let mut stream = TcpStream::connect(front.address()).expect("it is accepted");
        // A third says nothing, a third begins, a third says as much as it can.
        match number % 3 {
            0 => {}
            1 => stream.write_all(BEGUN).expect("a socket takes some bytes"),
            _ => drop(stream.write_all(&[BEGUN, &[0; 12_000]].concat())),
        }
        open.push(stream);
        if number % 200 == 0 {
            // Both with an open connection and with a new one.
            client.assert_echo("a", "echo", "{}");
            front.client(&tunnel).assert_echo("a", "echo", "{}");
        }
    }
    front.client(&tunnel).assert_echo("a", "echo", "{}");
    wait_until("all but the bound were closed", LIMIT, || {
        open.retain_mut(|stream| !is_closed(stream));
        open.len() <= 512
    });
    let grown = own_memory_kib(pid).saturating_sub(before);
    assert!(grown < 48 << 10, "{grown} KiB for 2000 handshakes");
    drop(open);
    client.assert_echo("a", "echo", "{}");
}

#[test]
fn open_handshakes_of_one_client_behind_a_balancer_end_its_own_and_no_others() {
    raise_open_files();
    let front = Encrypted::start(&[
        "--proxy-protocol",
        "127.0.0.1/32",
        "--token",
        "correct-horse-battery",
        "--log",
        "debug",
    ]);
    let begin = |client: &str| {
        let mut stream = TcpStream::connect(front.address()).expect("it is accepted");
        let header = format!("PROXY TCP4 {client} 127.0.0.1 1234 443\r\n");
        drop(stream.write_all(&[header.as_bytes(), BEGUN].concat()));
        stream
    };
    // The oldest of all, and alone.
    let honest = begin("192.0.2.1");
    let own = honest.local_addr().expect("a socket");
    let mut crowd: Vec<TcpStream> = (0..700).map(|_| begin("192.0.2.66")).collect();
    wait_until("all but the bound were closed", LIMIT, || {
        crowd.retain_mut(|stream| !is_closed(stream));
        crowd.len() <= 512
    });
    // Whoever takes too long is closed as well: the log tells the one from the other.
    let log = front.serve.process().stderr();
    let ended: Vec<_> =
        log.lines().filter(|line| line.contains("too many handshakes are open")).collect();
    assert!(!ended.is_empty(), "the crowd was larger than the bound");
    let is_own = |word: &str| word == own.to_string();
    let is_of_address = |c: char| c.is_ascii_digit() || c == '.' || c == ':';
    let names_own = |line: &&str| line.split(|c| !is_of_address(c)).any(is_own);
    assert!(!ended.iter().any(names_own), "{own} harms nobody");
    drop(honest);
}

#[test]
fn a_handshake_that_takes_too_long_is_ended() {
    // A tenth of the promised ten seconds.
    let front = Encrypted::start_in(Room::hurried(), &[]);
    let mut silent = TcpStream::connect(front.address()).expect("it is accepted");
    let mut begun = TcpStream::connect(front.address()).expect("it is accepted");
    begun.write_all(BEGUN).expect("a socket takes some bytes");
    wait_until("both are closed", LIMIT, || is_closed(&mut silent) && is_closed(&mut begun));
    // What is not a handshake at all is not kept either.
    let mut endless = TcpStream::connect(front.address()).expect("it is accepted");
    drop(endless.write_all(&[22; 64 << 10]));
    wait_until("it is closed", LIMIT, || is_closed(&mut endless));
    front.client(&front.tunnel()).assert_echo("a", "echo", "{}");
}

#[test]
fn a_connection_beyond_those_of_its_address_is_closed_and_others_go_on() {
    let front = Encrypted::start(&["--connections-per-address", "3"]);
    let tunnel = front.tunnel();
    let client = front.client(&tunnel);
    let held: Vec<_> = (0..6)
        .map(|_| {
            let mut connection = client.connection();
            connection.begin(&Ask::get("/healthz"));
            let head = connection.try_head(LIMIT);
            (connection, head.is_some())
        })
        .collect();
    let answered = held.iter().filter(|(_, is_answered)| *is_answered).count();
    assert!((1..=3).contains(&answered), "{answered}");
    front.serve.process().wait_stderr(&["connections were refused"], LIMIT);
}
