//! Many requests on one connection, byte by byte.

use kit::LIMIT;
use kit::frames::{
    self, DATA, END_HEADERS, END_STREAM, Frames, GOAWAY, HEADERS, INITIAL_WINDOW, RESET, WINDOW,
};
use kit::mcp::{self, Speak};
use kit::process::wait_until;
use kit::tunnel::Trust;

use crate::tls::{BOTH, Encrypted};

fn trust(front: &Encrypted) -> Trust {
    Trust::of(&front.authority, &BOTH)
}

/// A session of the client behind the tunnel, as fields of further requests.
fn session_fields(session: &str) -> [(&str, &str); 4] {
    [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-session-id", session),
        ("mcp-protocol-version", "2025-11-25"),
    ]
}

#[test]
fn a_hundred_streams_of_events_on_one_connection_leave_room_for_calls() {
    let front = Encrypted::start(&[]);
    let mut client = Frames::open(front.address(), &trust(&front));
    let numbers: Vec<u32> = (0..100).map(|number| 2 * number + 1).collect();
    for number in &numbers {
        let head = client.head("GET", "/sse", &[("accept", "text/event-stream")]);
        client.frame(HEADERS, END_HEADERS | END_STREAM, *number, &head);
    }
    let mut begun = std::collections::HashSet::new();
    while begun.len() < numbers.len() {
        let frame = client.next(LIMIT).expect("it is open");
        if frame.kind == HEADERS {
            assert_eq!(frame.status(), 200, "{frame:?}");
        } else if frame.kind == DATA {
            assert!(frame.payload.starts_with(b"event: endpoint"), "{frame:?}");
            begun.insert(frame.stream);
        }
    }
    client.get(201, "/healthz");
    let answer = client.next_of(HEADERS, LIMIT).expect("an answer");
    assert_eq!((answer.stream, answer.status()), (201, 200));
}

#[test]
fn answers_come_in_the_order_in_which_they_are_ready() {
    let front = Encrypted::start(&[]);
    let tunnel = front.tunnel();
    let other = front.client(&tunnel);
    let session = other.session().expect("a session");
    let fields = session_fields(&session);
    let mut client = Frames::open(front.address(), &trust(&front));
    for (number, tool) in [(1, "a.wait"), (3, "a.echo")] {
        client.post(number, "/mcp", &fields);
        let call = mcp::call(&number.to_string(), tool, r#"{"n":1}"#);
        let call: Vec<u8> = call.into();
        // In two frames, the second of which is empty.
        client.frame(DATA, 0, number, &call);
        client.frame(DATA, END_STREAM, number, b"");
    }
    let first = client.next_of(DATA, LIMIT).expect("an answer");
    assert_eq!(first.stream, 3, "the first call still waits");
    front.room.open_gate("go");
    let second = client.next_of(DATA, LIMIT).expect("an answer");
    assert_eq!(second.stream, 1);
}

#[test]
fn a_request_that_is_taken_back_is_cancelled() {
    let front = Encrypted::start(&[]);
    let tunnel = front.tunnel();
    let other = front.client(&tunnel);
    let call: Vec<u8> = mcp::call("7", "a.wait", "{}").into();
    let mut client = Frames::open(front.address(), &trust(&front));
    let session = other.session().expect("a session");
    client.post(1, "/mcp", &session_fields(&session));
    client.frame(DATA, END_STREAM, 1, &call);
    let ledger = front.room.ledger("a");
    wait_until("the call is open", LIMIT, || !kit::ledger::calls(&ledger).is_empty());
    client.frame(RESET, 0, 1, &8_u32.to_be_bytes());
    // The connection goes on.
    client.get(3, "/healthz");
    let answer = client.next_of(HEADERS, LIMIT).expect("an answer");
    assert_eq!((answer.stream, answer.status()), (3, 200));
    front.room.open_gate("go");
    other.assert_echo("a", "echo", "{}");
}

#[test]
fn an_answer_waits_for_the_window_of_its_client() {
    let front = Encrypted::start(&[]);
    let tunnel = front.tunnel();
    let session = front.client(&tunnel).session().expect("a session");
    let mut client = Frames::open_with(front.address(), &trust(&front), &[(INITIAL_WINDOW, 10)]);
    client.post(1, "/mcp", &session_fields(&session));
    let call: Vec<u8> = mcp::call("1", "a.echo", r#"{"text":"more than ten"}"#).into();
    client.frame(DATA, END_STREAM, 1, &call);
    let first = client.next_of(DATA, LIMIT).expect("the beginning");
    assert_eq!((first.payload.len(), first.ends()), (10, false));
    // Others on the connection are answered meanwhile, as far as their own windows go.
    client.get(3, "/healthz");
    let other = client.next_of(DATA, LIMIT).expect("the beginning");
    assert_eq!((other.stream, other.payload.len()), (3, 10));
    client.frame(WINDOW, 0, 1, &100_000_u32.to_be_bytes());
    let mut rest = first.payload;
    loop {
        let frame = client.next_of(DATA, LIMIT).expect("the rest");
        assert_eq!(frame.stream, 1);
        rest.extend_from_slice(&frame.payload);
        if frame.ends() {
            break;
        }
    }
    let text = String::from_utf8(rest).expect("text");
    assert!(text.contains("more than ten"), "{text}");
}

#[test]
fn a_head_that_two_readers_could_take_differently_is_refused() {
    let front = Encrypted::start(&[]);
    for fields in [
        vec![("host", "elsewhere.example")],
        vec![("transfer-encoding", "chunked")],
        vec![("connection", "close")],
        vec![("x", "a\r\nx: b")],
        vec![("content-length", "5")],
        vec![("content-length", "0"), ("content-length", "1")],
        vec![("Upper", "x")],
    ] {
        let mut client = Frames::open(front.address(), &trust(&front));
        let head = client.head("GET", "/healthz", &fields);
        client.frame(HEADERS, END_HEADERS | END_STREAM, 1, &head);
        // The request alone, or, where the fields cannot be read any further, the connection.
        let is_refused = loop {
            let frame = client.next(LIMIT).expect("it says why");
            match frame.kind {
                RESET => break true,
                HEADERS => break frame.status() == 400,
                GOAWAY => break frame.goodbye() != 0,
                _ => {}
            }
        };
        assert!(is_refused, "{fields:?}");
    }
}

#[test]
fn at_the_end_a_client_is_told_goodbye_and_open_calls_are_answered() {
    let front = Encrypted::start(&[]);
    let tunnel = front.tunnel();
    let session = front.client(&tunnel).session().expect("a session");
    let mut client = Frames::open(front.address(), &trust(&front));
    client.post(1, "/mcp", &session_fields(&session));
    let call: Vec<u8> = mcp::call("1", "a.wait", "{}").into();
    client.frame(DATA, END_STREAM, 1, &call);
    let ledger = front.room.ledger("a");
    wait_until("the call is open", LIMIT, || !kit::ledger::calls(&ledger).is_empty());
    front.serve.process().signal(rustix::process::Signal::TERM);
    let goodbye = client.next_of(GOAWAY, LIMIT).expect("a goodbye");
    assert_eq!(goodbye.goodbye(), 0);
    front.room.open_gate("go");
    let answer = client.next_of(DATA, LIMIT).expect("the answer");
    assert_eq!(answer.stream, 1);
    while client.next(LIMIT).is_some() {}
}

#[test]
fn streams_beyond_the_promised_number_are_refused_and_may_be_asked_again() {
    let front = Encrypted::start(&[]);
    let mut client = Frames::open(front.address(), &trust(&front));
    let head = client.head("GET", "/sse", &[("accept", "text/event-stream")]);
    let all: Vec<u8> = (0..200)
        .flat_map(|number| frames::frame(HEADERS, END_HEADERS | END_STREAM, 2 * number + 1, &head))
        .collect();
    client.send(&all);
    let (mut begun, mut refused) = (0, 0);
    while begun + refused < 200 {
        let frame = client.next(LIMIT).expect("it is open");
        match frame.kind {
            HEADERS => begun += 1,
            RESET => {
                assert_eq!(frame.number(), 7, "REFUSED_STREAM: it did not run");
                refused += 1;
            }
            _ => {}
        }
    }
    assert_eq!(begun, 128);
}

#[test]
fn an_address_has_so_many_open_requests_for_each_of_its_connections() {
    let front = Encrypted::start(&["--connections-per-address", "1"]);
    let mut client = Frames::open(front.address(), &trust(&front));
    let head = client.head("GET", "/sse", &[("accept", "text/event-stream")]);
    for number in 0..6 {
        client.frame(HEADERS, END_HEADERS | END_STREAM, 2 * number + 1, &head);
        let answer = client.next_of(HEADERS, LIMIT).expect("an answer");
        let expected = if number < 4 { (200, false) } else { (0, true) };
        assert_eq!((answer.status(), answer.ends()), expected, "{number}: {answer:?}");
    }
    // One that ends gives its place to another.
    client.frame(RESET, 0, 1, &8_u32.to_be_bytes());
    client.get(13, "/healthz");
    let answer = client.next_of(HEADERS, LIMIT).expect("an answer");
    assert_eq!((answer.stream, answer.status()), (13, 200));
}
