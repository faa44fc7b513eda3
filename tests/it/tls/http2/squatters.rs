//! Clients of HTTP/2 that hold connections and ask nothing: they go early, and others get their places.

use std::time::{Duration, Instant};

use kit::LIMIT;
use kit::certificates::Authority;
use kit::frames::{END_HEADERS, END_STREAM, Frames, HEADERS, PING, PREFACE, SETTINGS, frame};
use kit::platform::{ADMIN, KEYS};
use kit::process::wait_until;
use kit::rest::Rest;
use kit::room::Room;
use kit::serve::Serve;
use kit::tunnel::{Trust, Tunnel};
use serde_json::json;

use crate::tls::{BOTH, Encrypted, shown};

/// Less than the 75 seconds after which an idle connection ends when there is room.
const IDLE: Duration = Duration::from_secs(60);

/// The status of `/api/v1/me` for this key.
#[track_caller]
fn who_am_i(client: &mut Frames, stream: u32, key: &str) -> u16 {
    let bearer = format!("Bearer {key}");
    let head = client.head("GET", "/api/v1/me", &[("authorization", &bearer)]);
    client.frame(HEADERS, END_HEADERS | END_STREAM, stream, &head);
    client.next_of(HEADERS, LIMIT).expect("an answer").status()
}

#[test]
fn strangers_that_hold_all_places_over_http2_make_room_and_the_known_stay() {
    let room = Room::new();
    let authority = Authority::new();
    let files = authority.server().files(&room, "front");
    let trust = Trust::of(&authority, &BOTH);
    let serve = Serve::start_with_files(&room.platform_command(&shown(&files)), 128);
    let tunnel = Tunnel::to(serve.address(), trust.clone());
    let made = Rest::new(tunnel.address(), Some(ADMIN))
        .post(KEYS, &json!({ "name": "known", "role": "caller" }))
        .is(201);
    let key = made["key"].as_str().expect("a key");
    let mut known = Frames::open(serve.address(), &trust);
    assert_eq!(who_am_i(&mut known, 1, key), 200);
    let start = Instant::now();
    let mut crowd = Vec::new();
    // All have asked something, so that nothing but the crowd itself is a reason to end them early.
    while !serve.process().stderr().contains("can be accepted for now") {
        let mut client = Frames::open(serve.address(), &trust);
        client.get(1, "/healthz");
        assert_eq!(client.next_of(HEADERS, LIMIT).expect("an answer").status(), 200);
        crowd.push(client);
        assert!(crowd.len() < 100, "there is room for fewer");
    }
    // To ping is not to ask.
    for client in &mut crowd {
        drop(client.try_send(&frame(PING, 0, 0, &[0; 8])));
    }
    let mut other = Frames::open(serve.address(), &trust);
    other.get(1, "/healthz");
    assert_eq!(other.next_of(HEADERS, LIMIT).expect("an answer").status(), 200);
    assert!(start.elapsed() < IDLE, "others come in");
    assert_eq!(who_am_i(&mut known, 3, key), 200, "who is known keeps its place");
    drop(crowd);
}

#[test]
fn whoever_does_not_finish_a_first_request_over_http2_is_let_go() {
    // A tenth of the promised ten seconds.
    let front = Encrypted::start_in(Room::hurried(), &[]);
    let trust = Trust::of(&front.authority, &BOTH);
    let begun = |start: &[u8]| {
        let mut client = Frames::silent(front.address(), &trust);
        client.send(start);
        client
    };
    let greeting = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    let silent = begun(b"");
    let half_greeted = begun(&PREFACE[..10]);
    let greeted = begun(&greeting);
    let half_asked = begun(&[&greeting[..], &frame(HEADERS, END_STREAM, 1, &[0x82])].concat());
    let start = Instant::now();
    let ping = frame(PING, 0, 0, &[0; 8]);
    for (what, mut client, more) in [
        ("nothing", silent, &b""[..]),
        ("half a preface", half_greeted, b""),
        ("no request", greeted, &ping),
        ("half a head", half_asked, b""),
    ] {
        client.stop_waiting();
        wait_until(&format!("who says {what} is let go"), LIMIT, || {
            drop(client.try_send(more));
            client.has_ended()
        });
    }
    assert!(start.elapsed() < IDLE, "not only because they are idle");
}
