//! A new key for the secrets of the store: what was there is still there, and the old key opens
//! nothing.

use std::process::Command;

use kit::platform::{Platform, SERVERS, id_of, remote, stdio};
use kit::process::wait_until;
use kit::room::Room;
use kit::run::{self, Done};
use kit::service::Wire;
use kit::{LIMIT, bin, ledger};
use rustix::process::Signal;
use serde_json::json;

use super::echoing;

fn stop(platform: &Platform) {
    platform.serve().process().signal(Signal::TERM);
    platform.serve().process().wait_exit(LIMIT);
}

fn maintain(room: &Room, command: &[&str]) -> Done {
    let mut program = Command::new(bin::trunkline());
    program.args(command).arg("--data-dir").arg(room.path("data"));
    program.env_remove("TRUNKLINE_KEY");
    run::run(program, b"")
}

#[test]
fn nfr_sec1_after_a_rotation_secrets_keys_and_the_audit_are_as_before() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let (id, key) = {
        let platform = room.platform(&[]);
        let mut body = remote("a", &service);
        body["connection_config"]["headers"] = json!({ "X-Secret": "sealed-and-sealed-again" });
        let id = id_of(&platform.register(&body));
        platform.wait_status(&id, "CONNECTED");
        let key = platform.key("viewer");
        stop(&platform);
        (id, key)
    };
    let file = room.path("data").join("key");
    let old = std::fs::read(&file).expect("the key's file");
    let done = maintain(&room, &["key", "rotate"]);
    assert_eq!(done.code, Some(0), "{done}");
    assert_ne!(std::fs::read(&file).expect("the key's file"), old, "it is another one");
    let done = maintain(&room, &["audit", "verify"]);
    assert_eq!(done.code, Some(0), "{done}");
    let before = ledger::heads(&room.ledger("a")).len();
    let platform = room.platform(&[]);
    platform.wait_status(&id, "CONNECTED");
    platform.rest(Some(&key)).get("/api/v1/me").is(200);
    let heads = ledger::heads(&room.ledger("a"));
    assert!(heads.len() > before);
    assert_eq!(heads[before].header("x-secret"), Some("sealed-and-sealed-again"));
    stop(&platform);
    // With the old one the secret is not opened.
    std::fs::write(&file, old).expect("the file can be written");
    let asked = ledger::heads(&room.ledger("a")).len();
    let platform = room.platform(&[]);
    assert_eq!(platform.server(&id)["name"], "a");
    let other = echoing(&room, "b").listen(Wire::Http);
    let refused = platform.admin().post(SERVERS, &remote("b", &other));
    assert!([201, 503].contains(&refused.status()), "{refused}");
    assert_ne!(platform.server(&id)["status"], "CONNECTED");
    assert_eq!(ledger::heads(&room.ledger("a")).len(), asked);
}

#[test]
fn a_key_is_not_changed_while_anybody_serves_with_it() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let other = room.platform(&[]);
    let file = room.path("data").join("key");
    let key = std::fs::read(&file).expect("the key's file");
    maintain(&room, &["key", "rotate"]).bad(1, &["trunkline serve", "stop it first"]);
    stop(&other);
    maintain(&room, &["key", "rotate"]).bad(1, &["trunkline serve", "stop it first"]);
    assert_eq!(std::fs::read(&file).expect("the key's file"), key);
    let id = platform.connected("a", &service);
    assert_eq!(platform.server(&id)["name"], "a");
    let done = maintain(&room, &["audit", "verify"]);
    assert_eq!(done.code, Some(0), "looking does no harm: {done}");
    stop(&platform);
    let done = maintain(&room, &["key", "rotate"]);
    assert_eq!(done.code, Some(0), "{done}");
    assert_ne!(std::fs::read(&file).expect("the key's file"), key);
}

/// Its lock goes with it.
#[test]
fn a_serve_that_was_killed_keeps_nobody_from_the_store_and_nothing_is_lost() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("a", &service);
    platform.serve().process().signal(Signal::KILL);
    platform.serve().process().wait_exit(LIMIT);
    let done = maintain(&room, &["key", "rotate"]);
    assert_eq!(done.code, Some(0), "{done}");
    let platform = room.platform(&[]);
    platform.wait_status(&id, "CONNECTED");
    platform.call("a.echo", &json!({})).is(200);
}

fn metric(platform: &Platform, name: &str) -> Option<String> {
    let text = platform.admin().get("/metrics").response.text();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(name));
    lines.find_map(|rest| rest.strip_prefix(' ').map(str::to_owned))
}

#[test]
fn nfr_sec4_records_that_could_not_be_written_are_told_of_at_the_next_start() {
    let room = Room::new();
    let command = stdio("a", &echoing(&room, "a").entry());
    stop(&room.platform(&[]));
    let file = room.path("data").join("key");
    let key = std::fs::read(&file).expect("the key's file");
    std::fs::write(&file, "ab".repeat(32)).expect("the file can be written");
    {
        let platform = room.platform(&[]);
        for _ in 0..3 {
            platform.admin().post(SERVERS, &command).problem(403, "stdio-forbidden");
        }
        wait_until("they wait", LIMIT, || {
            metric(&platform, "trunkline_audit_waiting").as_deref() == Some("3")
        });
        stop(&platform);
    }
    std::fs::write(&file, &key).expect("the file can be written");
    for _ in 0..2 {
        // Told once, however often it is started.
        let platform = room.platform(&[]);
        let told = platform.wait_audit("what was lost", |record| record["outcome"] == "lost");
        let detail = told["detail"].as_str().unwrap_or_default();
        assert!(detail.starts_with("3 records"), "{told:#}");
        let all = platform.audit();
        assert_eq!(all.iter().filter(|record| record["outcome"] == "lost").count(), 1);
        stop(&platform);
    }
    let done = maintain(&room, &["audit", "verify"]);
    assert_eq!(done.code, Some(0), "{done}");
}

#[test]
fn a_key_that_is_missing_is_not_replaced_where_something_is_sealed() {
    let room = Room::new();
    stop(&room.platform(&[]));
    let file = room.path("data").join("key");
    let away = room.path("key-elsewhere");
    std::fs::rename(&file, &away).expect("it can be moved");
    for _ in 0..2 {
        run::run(room.platform_command(&[]), b"").bad(1, &["missing", "put", "key back"]);
        assert!(!file.exists(), "no other one is made");
    }
    maintain(&room, &["audit", "verify"]).bad(1, &["missing"]);
    assert!(!file.exists(), "no other one is made");
    std::fs::rename(&away, &file).expect("it can be moved back");
    let platform = room.platform(&[]);
    assert_eq!(platform.admin().get(SERVERS).status(), 200);
}

#[test]
fn with_another_key_it_says_so_and_is_not_ready() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let id = {
        let platform = room.platform(&[]);
        let id = platform.connected("a", &service);
        assert_eq!(platform.rest(None).get("/readyz").status(), 200);
        stop(&platform);
        id
    };
    let file = room.path("data").join("key");
    std::fs::write(&file, "ab".repeat(32)).expect("the file can be written");
    let platform = room.platform(&[]);
    let ready = platform.rest(None).get("/readyz");
    assert_eq!((ready.status(), &ready.json()["status"]), (503, &json!("locked")));
    let path = format!("{SERVERS}/{id}");
    let answers = [
        platform.admin().delete(&path),
        platform.admin().patch(&path, &json!({ "description": "x" })),
        platform.act(&id, "disconnect"),
        platform.admin().post(SERVERS, &remote("b", &service)),
    ];
    for answer in answers {
        assert_eq!(answer.status(), 503, "{answer}");
        let text = answer.response.text();
        assert!(text.contains("another key") && !text.contains("damaged"), "{text}");
    }
}

/// Killed when everything is sealed anew and the file not yet replaced: the worst moment.
#[test]
fn an_interrupted_rotation_costs_nothing_and_serve_says_how_to_finish_it() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let (id, key) = {
        let platform = room.platform(&[]);
        let mut body = remote("a", &service);
        body["connection_config"]["headers"] = json!({ "X-Secret": "sealed" });
        let id = id_of(&platform.register(&body));
        platform.wait_status(&id, "CONNECTED");
        let key = platform.key("viewer");
        stop(&platform);
        (id, key)
    };
    let at = |name: &str| room.path("data").join(name);
    let old = std::fs::read(at("key")).expect("the key's file");
    assert_eq!(maintain(&room, &["key", "rotate"]).code, Some(0));
    std::fs::rename(at("key"), at("key.next")).expect("the file can be moved");
    std::fs::write(at("key"), &old).expect("the file can be written");
    std::fs::set_permissions(at("key"), std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("the file is ours");
    {
        let platform = room.platform(&[]);
        let said = platform.serve().process().stderr();
        assert!(said.contains("trunkline key rotate --data-dir"), "{said}");
        platform.wait_status(&id, "CONNECTED");
        platform.rest(Some(&key)).get("/api/v1/me").is(200);
        platform.key("viewer");
        stop(&platform);
    }
    let done = maintain(&room, &["audit", "verify"]);
    assert_eq!(done.code, Some(0), "{done}");
    assert_eq!(maintain(&room, &["key", "rotate"]).code, Some(0));
    assert!(!at("key.next").exists());
    let done = maintain(&room, &["audit", "verify"]);
    assert_eq!(done.code, Some(0), "{done}");
    let platform = room.platform(&[]);
    assert!(!platform.serve().process().stderr().contains("key rotate"));
    platform.wait_status(&id, "CONNECTED");
    platform.rest(Some(&key)).get("/api/v1/me").is(200);
}
