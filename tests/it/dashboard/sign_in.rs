//! Signing in and out: which tokens, which cookie, for how long.

use std::io::Read as _;
use std::process::{Command, Stdio};

use kit::LIMIT;
use kit::dashboard::{Person, between, csrf};
use kit::http::Ask;
use kit::platform::{ADMIN, KEYS, id_of};
use kit::process::wait_until;
use kit::room::Room;
use serde_json::json;

use super::SCREENS;

#[test]
fn a_stranger_is_led_to_the_form_and_from_there_to_the_page() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let mut person = Person::stranger(platform.serve().address());
    for (path, _) in SCREENS {
        let answer = person.get(path);
        assert_eq!(answer.status(), 303, "{path}");
        assert!(answer.head.header("location").unwrap().starts_with("/sign-in"), "{path}");
        assert!(answer.body.is_empty(), "{path}");
    }
    let place = person.get("/servers?a=b").head.header("location").unwrap().to_owned();
    let form = person.page(&place);
    let next = between(&form, "name=\"next\" value=\"", "\"").unwrap();
    assert_eq!(next, "/servers?a=b");
    let sent = person.send(&person.form("/sign-in", &[("token", ADMIN), ("next", next)]));
    assert_eq!((sent.status(), sent.head.header("location")), (303, Some("/servers?a=b")));
    for elsewhere in ["//evil.example/", "https://evil.example", "/\\evil.example", "/mcp"] {
        let sent = person.send(&person.form("/sign-in", &[("token", ADMIN), ("next", elsewhere)]));
        assert_eq!(sent.head.header("location"), Some("/"), "{elsewhere}");
    }
    assert_eq!(person.sign_in(ADMIN).status(), 303);
    assert!(person.page("/").contains("<h1>Overview</h1>"));
}

#[test]
fn only_tokens_that_are_good_come_in() {
    let room = Room::new();
    let platform = room.platform(&["--token", "the-token-of-all-clients"]);
    let gone = platform.make_key(&json!({ "name": "gone", "role": "admin" }));
    platform.admin().delete(&format!("{KEYS}/{}", id_of(&gone)));
    let gone = gone["key"].as_str().unwrap();
    for wrong in ["", "nonsense", "tl_AAAAAAAA_AAAA", gone] {
        // Four mistakes are free.
        let mut person = Person::stranger(platform.serve().address());
        let answer = person.sign_in(wrong);
        assert_eq!(answer.status(), 401, "{wrong}");
        assert!(answer.head.header("set-cookie").is_none(), "{wrong}");
        assert!(answer.text().contains("role=\"alert\""), "{wrong}");
        assert!(wrong.len() < 9 || !answer.text().contains(wrong), "it is not shown again");
    }
    for good in [ADMIN, "the-token-of-all-clients", &platform.key("viewer")] {
        let person = Person::signed_in(&platform, good);
        assert!(person.page("/").contains("Sign out"), "{good}");
    }
}

#[test]
fn the_cookie_is_for_this_site_and_no_script() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let mut person = Person::stranger(platform.serve().address());
    let answer = person.sign_in(ADMIN);
    let set = answer.head.header("set-cookie").unwrap();
    let port = platform.serve().address().port();
    assert!(set.starts_with(&format!("trunkline_session_{port}=")), "{set}");
    for part in ["; HttpOnly", "; SameSite=Strict", "; Path=/"] {
        assert!(set.contains(part), "{set}");
    }
    assert!(!set.contains("Secure") && !set.contains("Domain"), "{set}");
    let (name, value) = person.cookie().unwrap().split_once('=').unwrap();
    assert_eq!((value.len(), name.len() > 10), (64, true));
    assert!(!set.contains(ADMIN));
    let behind_tls =
        person.form("/sign-in", &[("token", ADMIN)]).header("X-Forwarded-Proto", "https");
    let set = person.send(&behind_tls).head.header("set-cookie").unwrap().to_owned();
    assert!(set.ends_with("; Secure"), "{set}");
    assert!(set.starts_with("__Host-trunkline_session"), "bound to this host: {set}");
}

#[test]
fn trust_7_the_cookie_of_a_public_url_is_bound_to_its_host() {
    let room = Room::new();
    let platform = room.platform(&["--public-url", "https://tools.example"]);
    let person = Person::stranger(platform.serve().address());
    let there =
        |ask: Ask| ask.header("Host", "tools.example").header("Origin", "https://tools.example");
    let answer = person.send(&there(person.form("/sign-in", &[("token", ADMIN)])));
    let set = answer.head.header("set-cookie").expect("a cookie").to_owned();
    assert!(set.starts_with("__Host-trunkline_session="), "{set}");
    for part in ["; Path=/;", "; HttpOnly", "; SameSite=Strict", "; Secure"] {
        assert!(set.contains(part), "{set}");
    }
    assert!(!set.contains("Domain"), "{set}");
    let cookie = set.split(';').next().expect("a pair");
    let page = |cookie: &str| {
        let ask = Ask::get("/servers").header("Host", "tools.example").header("Cookie", cookie);
        person.send(&ask).status()
    };
    assert_eq!(page(cookie), 200);
    assert_eq!(page(&cookie.replace("__Host-", "")), 303, "a page without TLS could have set it");
}

#[test]
fn trust_7_a_session_survives_a_restart_and_ends_with_its_token() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let made = platform.make_key(&json!({ "name": "x", "role": "operator" }));
    let of_key = Person::signed_in(&platform, made["key"].as_str().unwrap());
    let of_admin = Person::signed_in(&platform, ADMIN);
    let gone = Person::signed_in(&platform, ADMIN);
    let form = of_admin.page("/servers");
    gone.submit("/", "/sign-out", &[]);
    let id = of_admin.cookie().unwrap().split_once('=').unwrap().1.to_owned();
    drop(platform);
    for file in ["trunkline.db", "trunkline.db-wal"] {
        let bytes = std::fs::read(room.path("data").join(file)).unwrap_or_default();
        let holds = bytes.windows(id.len()).any(|window| window == id.as_bytes());
        assert!(!holds, "{file} has the cookie itself");
    }

    let port = |person: &Person, platform: &kit::platform::Platform, path: &str| {
        // The name of the cookie has the port, which is another one now.
        let (_, value) = person.cookie().unwrap().split_once('=').unwrap();
        let name = format!("trunkline_session_{}", platform.serve().address().port());
        let ask = Ask::get(path).header("Cookie", &format!("{name}={value}"));
        Person::stranger(platform.serve().address()).send(&ask)
    };
    let platform = room.platform(&[]);
    let page = port(&of_admin, &platform, "/servers");
    assert_eq!(page.status(), 200);
    assert_eq!(csrf(&page.text()), csrf(&form), "a form that was open still fits");
    assert_eq!(port(&of_key, &platform, "/activity").status(), 200);
    assert_eq!(port(&gone, &platform, "/servers").status(), 303, "it was signed out");
    platform.admin().delete(&format!("{KEYS}/{}", id_of(&made)));
    assert_eq!(port(&of_key, &platform, "/activity").status(), 303, "its key is revoked");
    drop(platform);

    let mut command = room.platform_command(&[]);
    command.env("TRUNKLINE_ADMIN_TOKEN", "another-admin-token-of-the-tests");
    let platform = kit::platform::Platform::start(command);
    assert_eq!(port(&of_admin, &platform, "/servers").status(), 303, "the admin token is another");
}

#[test]
fn trust_7_a_session_is_known_to_another_replica_and_ends_there_too() {
    let room = Room::new();
    let [here, there] = [room.platform(&[]), room.platform(&[])];
    let person = Person::signed_in(&here, ADMIN);
    let (_, value) = person.cookie().unwrap().split_once('=').unwrap();
    let page_there = || {
        let name = format!("trunkline_session_{}", there.serve().address().port());
        let ask = Ask::get("/servers").header("Cookie", &format!("{name}={value}"));
        Person::stranger(there.serve().address()).send(&ask).status()
    };
    assert_eq!(page_there(), 200);
    person.submit("/", "/sign-out", &[]);
    wait_until("the other one knows", LIMIT, || page_there() == 303);
}

#[test]
fn whoever_signs_out_or_invents_a_cookie_is_a_stranger() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let person = Person::signed_in(&platform, ADMIN);
    let other = Person::signed_in(&platform, ADMIN);
    let answer = person.submit("/", "/sign-out", &[]);
    assert_eq!((answer.status(), answer.head.header("location")), (303, Some("/sign-in")));
    assert!(answer.head.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(person.get("/").status(), 303, "the cookie is worth nothing any more");
    other.page("/");
    let name = other.cookie().unwrap().split('=').next().unwrap().to_owned();
    for value in ["", "0", &"0".repeat(64), &"x".repeat(10_000)] {
        let ask = Ask::get("/servers").header("Cookie", &format!("{name}={value}"));
        let answer = Person::stranger(platform.serve().address()).send(&ask);
        assert!([303, 431].contains(&answer.status()), "{}", answer.head.raw);
    }
}

#[test]
fn whoever_signs_in_again_and_again_signs_nobody_else_out() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let key = platform.key("viewer");
    let other = Person::signed_in(&platform, ADMIN);
    let many = Person::stranger(platform.serve().address());
    // Without the cookie of the last one, which would end.
    let sign_in = many.form("/sign-in", &[("token", &key)]);
    for number in 0..1_030 {
        assert_eq!(many.send(&sign_in).status(), 303, "{number}");
    }
    assert_eq!(other.get("/servers").status(), 200, "somebody else is still signed in");
}

/// Holds the lock of the store for writing, as another program might, until it is dropped.
struct LockedStore(std::process::Child);

impl LockedStore {
    fn of(room: &Room) -> Self {
        let hold = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); \
                    c.execute('BEGIN IMMEDIATE'); print('locked', flush=True); sys.stdin.read()";
        let mut command = Command::new("python3");
        command.args(["-c", hold]).arg(room.path("data").join("trunkline.db"));
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python 3 is there");
        let mut said = [0; 7];
        let stdout = child.stdout.as_mut().expect("a pipe");
        stdout.read_exact(&mut said).expect("it has the lock");
        Self(child)
    }

    /// Gives the lock back, which was held until now.
    fn release(mut self) {
        let ended = self.0.try_wait().expect("a child");
        assert_eq!(ended, None, "it has lost the lock");
    }
}

impl Drop for LockedStore {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[test]
fn whoever_signs_out_while_the_store_is_locked_is_out_at_once_and_in_the_store_later() {
    let room = Room::new();
    let [here, there] = [room.platform(&[]), room.platform(&[])];
    let person = Person::signed_in(&here, ADMIN);
    let (_, value) = person.cookie().unwrap().split_once('=').unwrap();
    let page_there = || {
        let name = format!("trunkline_session_{}", there.serve().address().port());
        let ask = Ask::get("/servers").header("Cookie", &format!("{name}={value}"));
        Person::stranger(there.serve().address()).send(&ask).status()
    };
    let page = person.page("/");
    let locked = LockedStore::of(&room);
    let sign_out = person.form("/sign-out", &[("csrf", csrf(&page))]);
    assert_eq!(person.send(&sign_out).status(), 303);
    assert_eq!(person.get("/servers").status(), 303, "the cookie is worth nothing any more");
    locked.release();
    wait_until("another replica knows", LIMIT, || page_there() == 303);
}

#[test]
fn a_key_that_is_revoked_ends_its_sessions() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let made = platform.make_key(&json!({ "name": "x", "role": "operator" }));
    let person = Person::signed_in(&platform, made["key"].as_str().unwrap());
    person.page("/activity");
    platform.admin().delete(&format!("{KEYS}/{}", id_of(&made)));
    assert_eq!(person.get("/activity").status(), 303);
    // Whoever was about to send something is told, and nothing is done.
    let sent = person.send(&person.form("/servers/new", &[("name", "a")]));
    assert_eq!(sent.status(), 401);
    assert!(sent.text().contains("session is over"));
}

#[test]
fn whoever_keeps_guessing_has_to_wait() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let mut person = Person::stranger(platform.serve().address());
    let mut answers = (0..90).map(|n| person.sign_in(&format!("guess-{n}")));
    let waiting = answers.find(|answer| answer.status() != 401).expect("ninety guesses at once");
    assert_eq!(waiting.status(), 429);
    let seconds: u32 = waiting.head.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=61).contains(&seconds));
    drop(answers);
    assert_eq!(person.sign_in(ADMIN).status(), 303, "nobody is locked out by somebody who guesses");
}
