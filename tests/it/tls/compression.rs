//! Answers of REST and the dashboard, packed for whoever asks for it; calls and streams as they are.

use std::process::Command;

use kit::http::{Ask, Connection};
use kit::mcp::{self, Speak};
use kit::platform::ADMIN;
use kit::room::Room;
use kit::run::run;
use kit::serve::Serve;
use kit::{LIMIT, say};

/// A platform whose list of tools is long.
fn platform(room: &Room) -> Serve {
    let mut a = room.fake("a").tool("echo", say::echo());
    for number in 0..300 {
        a = a.tool(&format!("a_tool_with_a_long_name_{number}"), say::echo());
    }
    room.config([("a", a.entry())]);
    let config = room.path("mcp.json").to_str().expect("text").to_owned();
    Serve::start(room.platform_command(&["--config", &config, "--start-timeout", "25"]))
}

fn bearer(ask: Ask) -> Ask {
    ask.header("Authorization", &format!("Bearer {ADMIN}"))
}

#[test]
fn large_answers_are_packed_when_that_is_asked_for() {
    let room = Room::new();
    let serve = platform(&room);
    let list = Ask::get("/api/v1/tools?limit=1000");
    let get = |ask: Ask| Connection::open(serve.address()).ask(&bearer(ask));
    kit::process::wait_until("the tools are there", LIMIT, || {
        get(list.clone()).body.len() > 64 << 10
    });
    let page = get(Ask::get("/sign-in").header("Accept", "text/html")).text();
    let style = page.split('"').find(|part| part.ends_with(".css")).expect("a style sheet");
    for path in ["/api/v1/tools?limit=1000", "/api/v1/openapi.json", style] {
        let ask = Ask::get(path).header("Accept", "*/*");
        let plain = get(ask.clone());
        let packed = get(ask.clone().header("Accept-Encoding", "br, gzip"));
        assert_eq!(plain.head.header("content-encoding"), None, "{path}");
        assert_eq!(packed.head.header("content-encoding"), Some("gzip"), "{path}");
        for answer in [&plain, &packed] {
            let vary = answer.head.header("vary").unwrap_or_default();
            assert!(vary.contains("Accept-Encoding"), "{path}: {}", answer.head.raw);
        }
        assert!(packed.body.starts_with(&[0x1f, 0x8b]) && packed.body.len() < plain.body.len() / 2);
        let refused = get(ask.header("Accept-Encoding", "gzip;q=0"));
        assert_eq!(refused.head.header("content-encoding"), None, "{path}");
    }
    // Somebody else's program unpacks what it gets.
    let url = format!("http://{}/api/v1/tools?limit=1000", serve.address());
    let curl = |more: &[&str]| {
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--fail", "-H"]);
        command.arg(format!("Authorization: Bearer {ADMIN}")).args(more).arg(&url);
        run(command, b"").good().to_vec()
    };
    let names = |bytes: &[u8]| {
        let value: serde_json::Value = serde_json::from_slice(bytes).expect("JSON");
        value["total"].clone()
    };
    assert_eq!(names(&curl(&["--compressed"])), names(&curl(&[])));
}

#[test]
fn the_tag_of_a_packed_answer_is_another_and_is_known_again() {
    let room = Room::new();
    let serve = platform(&room);
    let get = |ask: Ask| Connection::open(serve.address()).ask(&bearer(ask));
    let list = Ask::get("/api/v1/tools?limit=1000");
    let mut tags = (String::new(), String::new());
    kit::process::wait_until("the list is calm", LIMIT, || {
        let tag = |ask: Ask| get(ask).head.header("etag").unwrap_or_default().to_owned();
        tags = (tag(list.clone()), tag(list.clone().header("Accept-Encoding", "gzip")));
        tags.1.strip_suffix("+gzip\"") == tags.0.strip_suffix('"') && !tags.0.is_empty()
    });
    for tag in [&tags.0, &tags.1] {
        let again = list.clone().header("If-None-Match", tag).header("Accept-Encoding", "gzip");
        assert_eq!(get(again).status(), 304, "{tag}");
    }
}

#[test]
fn calls_and_event_streams_are_never_packed() {
    let room = Room::new();
    let serve = platform(&room);
    let client = kit::streamable::Streamable::with_headers(
        serve.address(),
        "/mcp",
        &[("Authorization", &format!("Bearer {ADMIN}")), ("Accept-Encoding", "gzip")],
    );
    client.initialize("2025-11-25").result();
    let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(100_000));
    let call = client.dress(Ask::post("/mcp", mcp::call("7", "a.echo", &large)));
    let answer = client.connection().ask(&call);
    assert!(answer.body.len() > 100_000);
    assert_eq!(answer.head.header("content-encoding"), None);
    let mut events = Connection::open(serve.address());
    events.begin(&bearer(Ask::get("/api/v1/events").header("Accept-Encoding", "gzip")));
    let head = events.head(LIMIT);
    assert!(head.is_stream() && head.header("content-encoding").is_none(), "{}", head.raw);
}
