//! API keys: shown once, kept as nothing that could be used, refused when they have ended.

use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kit::http::Ask;
use kit::mcp::Speak;
use kit::modern::Modern;
use kit::platform::{ADMIN, KEYS, Platform, id_of, remote};
use kit::process::wait_until;
use kit::room::Room;
use kit::service::Wire;
use kit::terminal::Terminal;
use kit::{LIMIT, ledger, mcp, process, run};
use serde_json::{Value, json};

use super::echoing;

fn key_of(made: &Value) -> String {
    made["key"].as_str().unwrap_or_else(|| panic!("no key: {made}")).to_owned()
}

#[track_caller]
fn revoke(platform: &Platform, made: &Value) {
    let answer = platform.admin().delete(&format!("{KEYS}/{}", id_of(made)));
    assert_eq!(answer.status(), 204, "{answer}");
}

/// As `expires_at` is written.
fn moment(at: SystemTime) -> String {
    let seconds = at.duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let year_of = |year: u64| (year - 1970) * 365 + (year - 1969) / 4;
    let year = (1970..2100).rev().find(|year| year_of(*year) <= days).expect("a year");
    let is_leap = year.is_multiple_of(4);
    let lengths = [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let (mut month, mut day) = (0, days - year_of(year));
    while day >= lengths[month] {
        day -= lengths[month];
        month += 1;
    }
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", month + 1, day + 1)
}

#[test]
fn a_key_is_shown_once_and_is_nowhere_afterwards() {
    let room = Room::new();
    let platform = room.platform(&["--debug"]);
    let made = platform.make_key(&json!({ "name": "ci", "role": "caller" }));
    assert_eq!((made["name"].as_str(), made["role"].as_str()), (Some("ci"), Some("caller")));
    let key = key_of(&made);
    let id = id_of(&made);
    assert!(key.starts_with(&format!("tl_{id}_")), "the prefix names the key: {key}");
    let secret = key.splitn(3, '_').nth(2).unwrap_or_default();
    assert!(secret.len() >= 32, "{key}");
    platform.rest(Some(&key)).get("/api/v1/tools").is(200);
    for path in [KEYS, "/api/v1/audit", "/api/v1/me", "/metrics"] {
        let answer = platform.admin().get(path);
        assert_eq!(answer.status(), 200, "{answer}");
        assert!(!answer.response.text().contains(secret), "{answer}");
    }
    let listed = platform.admin().get(KEYS).is(200)["keys"][0].clone();
    assert_eq!((listed["id"].as_str(), listed["key"].clone()), (Some(&id[..]), Value::Null));
    assert!(!platform.serve().process().stderr().contains(secret));
    assert_ne!(key_of(&platform.make_key(&json!({ "name": "ci", "role": "caller" }))), key);
}

#[test]
fn the_answer_to_making_a_key_says_where_it_is() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let answer = platform.admin().post(KEYS, &json!({ "name": "ci", "role": "caller" }));
    let path = format!("{KEYS}/{}", id_of(&answer.is(201)));
    assert_eq!(answer.header("location"), Some(&path[..]), "{answer}");
    assert_eq!(platform.admin().delete(&path).status(), 204);
}

#[test]
fn keys_that_differ_in_one_character_are_refused() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let key = platform.key("viewer");
    platform.rest(Some(&key)).get("/api/v1/me").is(200);
    let swapped = |at: usize| {
        let mut bytes = key.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        String::from_utf8(bytes).expect("ASCII")
    };
    let mut wrong: Vec<String> = (0..key.len() - 1).map(swapped).collect();
    wrong.extend([key[..key.len() - 1].to_owned(), format!("{key}A"), key.to_uppercase()]);
    for token in wrong.iter().filter(|token| **token != key) {
        platform.rest(Some(token)).get("/api/v1/me").problem(401, "unauthenticated");
    }
}

#[test]
fn what_is_wrong_with_a_key_to_be_made_is_named() {
    let room = Room::new();
    let platform = room.platform(&[]);
    for (body, pointer) in [
        (json!({ "role": "caller" }), "/name"),
        (json!({ "name": "x" }), "/role"),
        (json!({ "name": "x", "role": "root" }), "/role"),
        (json!({ "name": "x", "role": "caller", "tools": "a.*" }), "/tools"),
        (json!({ "name": "x", "role": "caller", "tools": ["nodot"] }), "/tools/0"),
        (json!({ "name": "x", "role": "caller", "expires_at": "tomorrow" }), "/expires_at"),
        (
            json!({ "name": "x", "role": "caller", "expires_at": "2001-01-01T00:00:00Z" }),
            "/expires_at",
        ),
        (json!({ "name": "x", "role": "caller", "key": "mine" }), "/key"),
    ] {
        let problem = platform.admin().post(KEYS, &body).problem(422, "invalid");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{body}: {problem:#}");
    }
    assert_eq!(platform.admin().get(KEYS).is(200)["total"], 0);
    platform.admin().delete(&format!("{KEYS}/nobody")).problem(404, "no-such-key");
}

#[test]
fn a_key_is_refused_from_its_expiry_on() {
    let room = Room::new();
    let platform = room.platform(&[]);
    // On a busy machine a key may be over before it was used.
    let alive = [4, 16, 60].into_iter().find_map(|seconds| {
        let at = moment(SystemTime::now() + Duration::from_secs(seconds));
        let made = platform.make_key(&json!({ "name": "x", "role": "viewer", "expires_at": at }));
        assert_eq!(made["expires_at"], at);
        let rest = platform.rest(Some(&key_of(&made)));
        let is_alive = rest.get("/api/v1/me").status() == 200;
        assert!(is_alive || moment(SystemTime::now()) >= at, "not before its time");
        is_alive.then_some((at, rest))
    });
    let (at, rest) = alive.expect("a key can be used");
    let later = moment(SystemTime::now() + Duration::from_secs(3600));
    let lasting = platform.make_key(&json!({ "name": "y", "role": "viewer", "expires_at": later }));
    process::wait_until("it has ended", 3 * LIMIT, || rest.get("/api/v1/me").status() == 401);
    assert!(moment(SystemTime::now()) >= at, "not before its time");
    platform.rest(Some(&key_of(&lasting))).get("/api/v1/me").is(200);
}

#[test]
fn a_revoked_key_is_refused_at_once_everywhere_and_its_open_session_ends() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("a", &service);
    let made = platform.make_key(&json!({ "name": "x", "role": "caller" }));
    let key = key_of(&made);
    let client = platform.mcp(&key);
    client.assert_echo("a", "echo", "{}");
    let get = client.dress(Ask::get("/mcp").header("Accept", "text/event-stream"));
    let mut stream = client.connection();
    stream.begin(&get);
    assert_eq!(stream.head(LIMIT).status, 200);
    let mut sse = platform.rest(Some(&key)).begin(&Ask::get("/sse"));
    assert_eq!(sse.head(LIMIT).status, 200);
    let events = Ask::get("/api/v1/events").header("Accept", "text/event-stream");
    let mut events = platform.rest(Some(&key)).begin(&events);
    assert_eq!(events.head(LIMIT).status, 200);

    revoke(&platform, &made);
    platform.rest(Some(&key)).get("/api/v1/tools").problem(401, "unauthenticated");
    let call = client.dress(Ask::post("/mcp", mcp::call("77", "a.echo", "{}")));
    assert_eq!(client.connection().ask(&call).status(), 401, "a session of a revoked key");
    assert_eq!(kit::ledger::calls(&room.ledger("a")).len(), 1, "nothing more has run");
    for stream in [&mut stream, &mut sse] {
        while stream.event(LIMIT).is_some() {}
        assert!(stream.is_free(), "its streams have ended");
    }
    // What happens from now on it does not hear.
    let other = platform.register(&remote("b", &service));
    while let Some(event) = events.event(LIMIT) {
        let told = String::from_utf8_lossy(&event.data).into_owned();
        assert!(!told.contains(&id_of(&other)), "{told}");
    }
    assert!(events.is_free(), "its events have ended");
    let listed = platform.admin().get(KEYS).is(200)["keys"][0].clone();
    assert!(listed["revoked_at"].is_string(), "{listed}");
}

#[test]
fn a_key_cannot_use_the_session_of_another() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("a", &service);
    let client = platform.mcp(&platform.key("caller"));
    let other = platform.key("caller");
    let call = client.dress(Ask::post("/mcp", mcp::call("1", "a.echo", "{}")));
    let stolen = call.header("Authorization", &format!("Bearer {other}"));
    let answer = client.connection().ask(&stolen);
    assert!([401, 403, 404].contains(&answer.status()), "{}", answer.text());
    assert!(kit::ledger::calls(&room.ledger("a")).is_empty());
    client.assert_echo("a", "echo", "{}");
}

#[test]
fn keys_hold_after_a_restart_and_so_does_their_revocation() {
    let room = Room::new();
    let (kept, gone) = {
        let platform = room.platform(&[]);
        let kept = platform.key("viewer");
        let made = platform.make_key(&json!({ "name": "x", "role": "viewer" }));
        revoke(&platform, &made);
        (kept, key_of(&made))
    };
    let platform = room.platform(&[]);
    platform.rest(Some(&kept)).get("/api/v1/me").is(200);
    platform.rest(Some(&gone)).get("/api/v1/me").problem(401, "unauthenticated");
}

#[test]
fn the_admin_token_is_made_on_the_first_start_and_is_in_no_log() {
    use std::os::unix::fs::PermissionsExt;
    let room = Room::new();
    let start = || Platform::start(without_admin_token(&room));
    let file = room.path("data").join("admin-token");
    let token = {
        let platform = start();
        let token = std::fs::read_to_string(&file).expect("a file").trim().to_owned();
        let mode = std::fs::metadata(&file).expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        // No terminal: this may be a journal. It says where the token is, and not which one.
        let place = file.to_str().expect("UTF-8");
        platform.serve().process().wait_stderr(&["The admin token was made", place], LIMIT);
        assert!(!platform.serve().process().stderr().contains(&token), "{token} is in a log");
        assert_eq!(platform.rest(Some(&token)).get("/api/v1/me").is(200)["role"], "admin");
        platform.rest(Some(ADMIN)).get("/api/v1/me").problem(401, "unauthenticated");
        token
    };
    let platform = start();
    platform.rest(Some(&token)).get("/api/v1/me").is(200);
    assert!(!platform.serve().process().stderr().contains("The admin token"), "told once");
}

#[test]
fn the_admin_token_is_shown_to_a_person_once() {
    let room = Room::new();
    let shown = || {
        let terminal = Terminal::spawn(&without_admin_token(&room));
        terminal.wait("listening on http://");
        terminal.shown()
    };
    let first = shown();
    let token = std::fs::read_to_string(room.path("data").join("admin-token")).expect("a file");
    assert!(first.contains(token.trim()), "{first}");
    let second = shown();
    assert!(!second.contains(token.trim()), "{second}");
}

fn without_admin_token(room: &Room) -> Command {
    let mut command = room.platform_command(&[]);
    command.env_remove("TRUNKLINE_ADMIN_TOKEN");
    command
}

#[test]
fn an_admin_token_that_can_be_guessed_is_refused() {
    let room = Room::new();
    let mut command = room.platform_command(&[]);
    command.env("TRUNKLINE_ADMIN_TOKEN", "hunter2");
    let done = run::run(command, b"");
    assert_ne!(done.code, Some(0), "{done}");
    done.hides("hunter2");
    assert!(done.stderr.contains("16"), "it says how long: {done}");
}

#[test]
fn a_call_of_a_key_that_is_revoked_ends_with_an_error_that_says_so() {
    let room = Room::new();
    let service = room.fake("a").tool("never", kit::say::never()).listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("a", &service);
    let made = platform.make_key(&json!({ "name": "gone", "role": "caller" }));
    let key = made["key"].as_str().expect("a key");
    let session = platform.mcp(key);
    let id = session.begin("a.never", "{}");
    let bearer = format!("Bearer {key}");
    let alone = Modern::http(platform.serve().address(), "{}");
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a.never","arguments":{}}}"#;
    let other = alone.start_with(call, &[("Authorization", &bearer)]);
    wait_until("both are with the server", LIMIT, || ledger::calls(&room.ledger("a")).len() == 2);
    revoke(&platform, &made);
    for error in [session.answer(&id, LIMIT), alone.answer(&other, LIMIT)] {
        assert!(error.message().contains("revoked"), "{error:?}");
        assert_eq!(error.code(), -31007);
    }
}

/// Nobody tells the other one here (SQLite), and it has not looked yet.
#[test]
fn a_key_is_known_to_another_instance_when_it_is_first_shown() {
    let room = Room::new();
    let [here, there] = [room.platform(&[]), room.platform(&[])];
    for n in 0..5 {
        let key = key_of(&here.make_key(&json!({ "name": format!("k{n}"), "role": "caller" })));
        let initialize = Ask::post("/mcp", mcp::initialize("1", "2025-11-25"));
        match n % 2 {
            0 => drop(there.rest(Some(&key)).get("/api/v1/me").is(200)),
            _ => {
                let head = there.rest(Some(&key)).begin(&initialize).head(LIMIT);
                assert_eq!(head.status, 200, "{}", head.raw);
            }
        }
    }
    // One that is nobody's stays refused, however often it is shown.
    let stranger = format!("tl_{}_{}", "abcdefghij", "A".repeat(43));
    for _ in 0..5 {
        there.rest(Some(&stranger)).get("/api/v1/me").problem(401, "unauthenticated");
    }
}

/// A session shows its key when it is opened, and is used for hours.
#[test]
fn the_last_use_of_a_key_moves_with_the_calls_of_its_session() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("a", &service);
    let made = platform.make_key(&json!({ "name": "k", "role": "caller" }));
    let client = platform.mcp(made["key"].as_str().expect("a key"));
    let last_used = || {
        let keys = platform.admin().get(KEYS).is(200);
        let keys = keys["keys"].as_array().cloned().unwrap_or_default();
        let key = keys.into_iter().find(|key| key["id"] == made["id"]).expect("the key");
        key["last_used_at"].as_str().unwrap_or_default().to_owned()
    };
    client.assert_echo("a", "echo", "{}");
    for n in 0..2 {
        let before = last_used();
        assert!(!before.is_empty());
        client.assert_echo("a", "echo", &format!(r#"{{"n":{n}}}"#));
        process::wait_until("the call is a use of the key", LIMIT, || last_used() > before);
    }
}
