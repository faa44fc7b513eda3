//! A new key for the secrets of the store: what was there is still there, and the old key opens
//! nothing.

use std::process::Command;

use kit::platform::{Platform, SERVERS, id_of, remote};
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
