//! What strangers can make a platform hold, and what one caller can take from others.

use std::net::Ipv4Addr;

use kit::dashboard::Person;
use kit::http::{Ask, Connection};
use kit::mcp;
use kit::platform::{ADMIN, SERVERS};
use kit::process::{memory_kib, raise_open_files, wait_until};
use kit::room::Room;
use kit::{LIMIT, say};
use serde_json::json;

/// The head of a request with a long body, of which a part follows.
fn begun(target: &str, headers: &str, length: usize) -> Vec<u8> {
    format!(
        "POST {target} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n"
    )
    .into_bytes()
}

#[test]
fn trust_3_a_body_is_not_read_before_its_sender_is_known() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let address = platform.serve().address();
    let wrong = "Authorization: Bearer wrong\r\n";
    for (target, headers, status) in [
        (SERVERS, "", 401),
        (SERVERS, wrong, 401),
        ("/api/v1/tools/call", wrong, 401),
        ("/api/v1/nothing", "", 404),
        ("/servers/new", "", 401),
        ("/mcp", wrong, 401),
        ("/mcp", "", 401),
    ] {
        // Nothing of the body is sent: it is answered by the head.
        let mut connection = Connection::open(address);
        connection.send(&begun(target, headers, 900_000));
        let head = connection.head(LIMIT);
        assert_eq!(head.status, status, "{target} {headers}: {}", head.raw);
        assert!(head.closes(), "{}", head.raw);
    }
    let mut connection = Connection::open(address);
    connection.send(&begun("/sign-in", "", 65 * 1024));
    assert_eq!(connection.head(LIMIT).status, 413, "a form with a token is shorter");
    // Whoever is known may send as much as before.
    let long = json!({ "name": "a", "transport_type": "HTTP", "description": "x".repeat(900_000) });
    platform.admin().post(SERVERS, &long).problem(422, "invalid");
    Person::signed_in(&platform, ADMIN);
}

#[test]
fn trust_3_bodies_of_strangers_take_bounded_memory_and_no_room_of_callers() {
    let _turn = crate::ONE_AT_A_TIME.lock();
    raise_open_files();
    let room = Room::new();
    room.config([("a", super::echoing(&room, "a").entry())]);
    let config = room.path("mcp.json");
    let platform = room.platform(&["--config", config.to_str().expect("UTF-8")]);
    wait_until("it runs", LIMIT, || platform.tool_names(ADMIN).len() == 1);
    let (address, key) = (platform.serve().address(), platform.key("caller"));
    let pid = platform.serve().process().pid().as_raw_nonzero().get();
    let before = memory_kib(pid);
    // All but the last byte: each would be held until it comes.
    let part = vec![b'a'; 64 * 1024 - 1];
    let mut held = Vec::new();
    for _ in 0..1_500 {
        let mut connection = Connection::open(address);
        connection.send(&begun("/sign-in", "", 64 * 1024));
        // Refused ones are closed.
        drop(connection.try_send(&part));
        held.push(connection);
    }
    let mut crowded = held.pop().expect("the last one");
    assert_eq!(crowded.try_head(LIMIT).map(|head| head.status), Some(503), "there is no room");
    let more = memory_kib(pid).saturating_sub(before);
    assert!(more < 160 << 10, "{more} KiB for 64 MiB of strangers");
    let bearer = format!("Bearer {key}");
    let large = say_large();
    let ask =
        Ask::post("/mcp", mcp::initialize("1", "2025-11-25")).header("Authorization", &bearer);
    assert_eq!(Connection::open(address).ask(&ask).status(), 200, "callers have their own");
    platform
        .admin()
        .post("/api/v1/tools/call", &json!({ "name": "a.echo", "arguments": { "text": large } }))
        .is(200);
    drop(held);
    wait_until("there is room again", LIMIT, || {
        let mut connection = Connection::open(address);
        connection.send(&begun("/sign-in", "", 64 * 1024));
        connection.send(&part);
        connection.send(b"a");
        connection.try_head(LIMIT).is_some_and(|head| head.status == 401)
    });
}

/// Longer than what a stranger may send.
fn say_large() -> String {
    "x".repeat(500_000)
}

#[test]
fn trust_3_connections_of_one_address_are_bounded() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let serve = room.serve(&["--connections-per-address", "5"]);
    let (address, other) = (serve.address(), Ipv4Addr::new(127, 0, 0, 9));
    let health = Ask::get("/healthz");
    let mut held: Vec<_> = (0..5).map(|_| Connection::open_from(other, address)).collect();
    for connection in &mut held {
        assert_eq!(connection.ask(&health).status(), 200);
    }
    let refused = Connection::open_from(other, address).try_response(LIMIT).expect("a word");
    assert_eq!(refused.status(), 503, "{}", refused.head.raw);
    assert!(refused.text().contains("too many connections from this address"));
    serve.process().wait_stderr(&["127.0.0.9", "--connections-per-address"], LIMIT);
    for _ in 0..20 {
        assert!(Connection::open_from(other, address).is_closed_within(LIMIT));
    }
    let told = serve.process().stderr().matches("connections were refused").count();
    assert_eq!(told, 1, "once a minute");
    assert_eq!(Connection::open(address).ask(&health).status(), 200, "another address");
    held.pop();
    wait_until("one has left", LIMIT, || {
        let mut connection = Connection::open_from(other, address);
        drop(connection.try_send(&health.bytes("localhost")));
        connection.try_response(LIMIT).is_some_and(|answer| answer.status() == 200)
    });
}

#[test]
fn trust_6_a_key_has_so_many_sessions_and_ends_nobody_elses() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let (one, other) = (platform.key("caller"), platform.key("caller"));
    let address = platform.serve().address();
    let mut connection = Connection::open(address);
    let mut open = |token: &str| {
        let ask = Ask::post("/mcp", mcp::initialize("1", "2025-11-25"));
        let answer = connection.ask(&ask.header("Authorization", &format!("Bearer {token}")));
        let id = answer.head.header("mcp-session-id").map(str::to_owned);
        (answer.status(), id, answer.text())
    };
    let (status, idle, _) = open(&other);
    assert_eq!(status, 200);
    let sessions: Vec<_> = (0..1_000).map(|_| open(&one).1.expect("a session")).collect();
    assert_eq!(open(&one).0, 200);
    let alive = |token: &str, session: &str| {
        let ask = Ask::post("/mcp", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        let ask = ask.header("Authorization", &format!("Bearer {token}"));
        Connection::open(address).ask(&ask.header("Mcp-Session-Id", session)).status() == 200
    };
    assert!(alive(&other, &idle.expect("a session")), "the idlest of all, and another's");
    let left = sessions.iter().filter(|session| alive(&one, session)).count();
    assert_eq!(left, 999, "one of its own has made room");
}

#[test]
fn trust_6_where_all_of_a_key_are_busy_the_answer_says_what_to_do() {
    let _turn = crate::ONE_AT_A_TIME.lock();
    raise_open_files();
    let room = Room::new();
    let platform = room.platform(&[]);
    let (one, other) = (platform.key("caller"), platform.key("caller"));
    let open = |token: &str| {
        let mut connection = Connection::open(platform.serve().address());
        let ask = Ask::get("/sse").header("Accept", "text/event-stream");
        connection.begin(&ask.header("Authorization", &format!("Bearer {token}")));
        (connection.head(LIMIT).status, connection)
    };
    let held: Vec<_> = (0..1_000).map(|_| open(&one)).collect();
    assert!(held.iter().all(|(status, _)| *status == 200));
    let (status, mut refused) = open(&one);
    assert_eq!(status, 429);
    let words = String::from_utf8_lossy(&refused.body(LIMIT)).into_owned();
    for part in ["1000 sessions", "another key", "close their streams"] {
        assert!(words.contains(part), "{words}");
    }
    assert_eq!(open(&other).0, 200, "another key has its own");
}
