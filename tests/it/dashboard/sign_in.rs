//! Signing in and out: which tokens, which cookie, for how long.

use kit::dashboard::{Person, between};
use kit::http::Ask;
use kit::platform::{ADMIN, KEYS, id_of};
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
