//! A STDIO server is a command on this machine: who may register one, and when.

use kit::ledger;
use kit::platform::{Platform, SERVERS, id_of, remote, stdio};
use kit::room::Room;
use kit::service::Wire;
use serde_json::{Value, json};

use super::echoing;

const BELOW: [&str; 3] = ["viewer", "caller", "operator"];

fn nobody_has_run(room: &Room, platform: &Platform) {
    assert_eq!(platform.admin().get(SERVERS).is(200)["total"], 0);
    assert!(ledger::started(&room.ledger("a")).is_empty(), "a command was started");
}

#[test]
fn by_default_nobody_can_register_a_command() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let body = stdio("a", &echoing(&room, "a").entry());
    for role in BELOW {
        let key = platform.key(role);
        assert_eq!(platform.rest(Some(&key)).post(SERVERS, &body).status(), 403, "{role}");
    }
    let admin = platform.key("admin");
    platform.rest(Some(&admin)).post(SERVERS, &body).problem(403, "stdio-forbidden");
    let problem = platform.admin().post(SERVERS, &body).problem(403, "stdio-forbidden");
    let hint = problem["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("--allow-stdio-registration"), "{hint}");
    nobody_has_run(&room, &platform);
}

#[test]
fn with_the_flag_an_admin_can_and_nobody_below() {
    let room = Room::new();
    let platform = room.platform(&["--allow-stdio-registration"]);
    let body = stdio("a", &echoing(&room, "a").entry());
    for role in BELOW {
        let key = platform.key(role);
        assert_eq!(platform.rest(Some(&key)).post(SERVERS, &body).status(), 403, "{role}");
    }
    nobody_has_run(&room, &platform);
    let admin = platform.key("admin");
    let shown = platform.rest(Some(&admin)).post(SERVERS, &body).is(201);
    platform.wait_status(&id_of(&shown), "CONNECTED");
}

#[test]
fn what_a_command_runs_can_be_changed_by_admins_only() {
    let room = Room::new();
    let platform = room.platform(&["--allow-stdio-registration"]);
    let id = id_of(&platform.register(&stdio("a", &echoing(&room, "a").entry())));
    platform.wait_status(&id, "CONNECTED");
    let path = format!("{SERVERS}/{id}");
    let operator = platform.rest(Some(&platform.key("operator")));
    let mark = room.path("was-run");
    let touch = json!({ "command": "/usr/bin/touch", "args": [mark.to_str()] });
    for change in [
        touch,
        json!({ "args": [] }),
        json!({ "env": { "LD_PRELOAD": "/tmp/x.so" } }),
        json!({ "cwd": "/" }),
    ] {
        let body = json!({ "connection_config": change });
        operator.patch(&path, &body).problem(403, "stdio-forbidden");
    }
    operator.patch(&path, &json!({ "description": "fine" })).is(200);
    assert_eq!(ledger::started(&room.ledger("a")).len(), 1, "it was not restarted");
    assert!(!mark.exists());
}

#[test]
fn a_network_server_cannot_be_made_a_command() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("a", &service);
    let mark = room.path("was-run");
    let command = json!({ "command": "/usr/bin/touch", "args": [mark.to_str()] });
    for body in [
        json!({ "transport_type": "STDIO", "connection_config": command }),
        json!({ "connection_config": command }),
        json!({ "transport_type": "STDIO" }),
    ] {
        let answer = platform.admin().patch(&format!("{SERVERS}/{id}"), &body);
        assert!([403, 422].contains(&answer.status()), "{answer}");
    }
    assert_eq!(platform.server(&id)["transport_type"], "HTTP");
    assert!(!mark.exists());
    // Nor can a registration be both.
    let mut both = remote("b", &service);
    both["connection_config"]["command"] = Value::from("/usr/bin/touch");
    platform.admin().post(SERVERS, &both).problem(422, "invalid");
}
