//! Wrong tokens are slowed by their address on every surface, and a right one never is.

use std::net::Ipv4Addr;

use kit::dashboard::Person;
use kit::http::{Ask, Connection, Response};
use kit::mcp;
use kit::platform::{ADMIN, KEYS, Platform, id_of};
use kit::room::Room;
use serde_json::json;

/// One request of each surface with this token.
fn surfaces(platform: &Platform, token: &str) -> [(&'static str, Ask); 4] {
    let (bearer, person) =
        (format!("Bearer {token}"), Person::stranger(platform.serve().address()));
    let sse = Ask::get("/sse").header("Accept", "text/event-stream");
    [
        ("MCP", Ask::post("/mcp", mcp::initialize("1", "2025-11-25"))),
        ("SSE", sse),
        ("REST", Ask::get("/api/v1/me")),
        ("sign-in", person.form("/sign-in", &[("token", token)])),
    ]
    .map(|(name, ask)| match name {
        "sign-in" => (name, ask),
        _ => (name, ask.header("Authorization", &bearer)),
    })
}

#[track_caller]
fn ask(platform: &Platform, ask: &Ask) -> Response {
    let mut connection = Connection::open(platform.serve().address());
    connection.begin(ask);
    let head = connection.head(kit::LIMIT);
    let body = if head.is_stream() { Vec::new() } else { connection.body(kit::LIMIT) };
    Response { head, body }
}

#[track_caller]
fn is_slowed(name: &str, answer: &Response) {
    assert_eq!(answer.status(), 429, "{name}: {}", answer.head.raw);
    let seconds: u32 = answer.head.header("retry-after").expect("when").parse().expect("seconds");
    assert!((1..=61).contains(&seconds), "{name}: {seconds}");
    assert!(
        answer.text().contains("too many wrong tokens")
            || answer.text().contains("Too many wrong tokens")
    );
}

#[test]
fn trust_5_whoever_guesses_has_to_wait_and_a_right_token_comes_in_at_once() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let made = platform.make_key(&json!({ "name": "gone", "role": "admin" }));
    platform.admin().delete(&format!("{KEYS}/{}", id_of(&made)));
    // By turns over all surfaces: they count together.
    let mut slowed = 0;
    for number in 0..30 {
        for (name, wrong) in surfaces(&platform, &format!("guess-number-{number}")) {
            let answer = ask(&platform, &wrong);
            match answer.status() {
                401 => assert_eq!(slowed, 0, "{name} {number}: not slowed any more"),
                _ => {
                    is_slowed(name, &answer);
                    slowed += 1;
                }
            }
        }
    }
    assert!((50..=70).contains(&slowed), "{slowed} of 120");
    for token in [ADMIN, &platform.key("caller")] {
        for (name, right) in surfaces(&platform, token) {
            let answer = ask(&platform, &right);
            let good = if name == "sign-in" { 303 } else { 200 };
            assert_eq!(answer.status(), good, "{name}: {}", answer.head.raw);
        }
    }
    // A client whose key is over, and one without any, must learn that: they would wait for nothing.
    let over = made["key"].as_str().expect("a key");
    for (name, ask_over) in surfaces(&platform, over) {
        assert_eq!(ask(&platform, &ask_over).status(), 401, "{name}");
    }
    let none = Ask::post("/mcp", mcp::initialize("1", "2025-11-25"));
    assert_eq!(ask(&platform, &none).status(), 401);
    let (_, wrong) = surfaces(&platform, "guess")[0].clone();
    let mut elsewhere =
        Connection::open_from(Ipv4Addr::new(127, 0, 0, 2), platform.serve().address());
    assert_eq!(elsewhere.ask(&wrong).status(), 401, "another address");
}

#[test]
fn trust_5_the_one_token_of_serve_is_guarded_likewise() {
    let room = Room::new();
    room.config([("a", super::echoing(&room, "a").entry())]);
    let serve = room.serve(&["--token", "correct-horse-battery"]);
    let ask = |token: &str| {
        let ask = Ask::post("/mcp", mcp::initialize("1", "2025-11-25"));
        Connection::open(serve.address())
            .ask(&ask.header("Authorization", &format!("Bearer {token}")))
    };
    let answers: Vec<Response> = (0..80).map(|number| ask(&format!("guess-{number}"))).collect();
    assert!(answers[..60].iter().all(|answer| answer.status() == 401));
    for answer in &answers[60..] {
        is_slowed("the token", answer);
        assert!(answer.head.closes(), "each guess costs a connection: {}", answer.head.raw);
    }
    assert_eq!(ask("correct-horse-battery").status(), 200);
}
