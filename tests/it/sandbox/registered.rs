//! `sandbox` of servers that are registered over REST: kept, shown, obeyed, and widened by admins only.

use kit::platform::{Platform, SERVERS};
use kit::room::Room;
use serde_json::{Value, json};

use super::{command, hostile};

/// A platform with one registered command, which has these walls; its id.
fn registered(room: &Room, sandbox: &Value) -> (Platform, String) {
    std::fs::create_dir_all(room.path("home/documents")).unwrap();
    room.write("home/documents/letter", "x");
    room.config([]);
    let platform = Platform::start(command(room, &["--allow-stdio-registration"]));
    let mut body = json!({
        "name": "hostile",
        "transport_type": "STDIO",
        "connection_config": hostile(room, &[]),
    });
    if !sandbox.is_null() {
        body["sandbox"] = sandbox.clone();
    }
    let server = platform.register(&body);
    let id = server["id"].as_str().unwrap().to_owned();
    assert_eq!(server["sandbox"], *sandbox, "{server}");
    platform.wait_status(&id, "CONNECTED");
    (platform, id)
}

fn attempt(platform: &Platform, room: &Room, what: &str) -> String {
    let arguments = json!({ "what": what, "home": room.path("home") });
    let answer = platform.call("hostile.try", &arguments).is(200);
    answer["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn walls_are_set_changed_and_kept_over_rest() {
    let room = Room::new();
    let (platform, id) = registered(&room, &Value::Null);
    assert_eq!(attempt(&platform, &room, "read-documents"), "EACCES");
    let wider = json!({ "profile": "standard", "read": [room.path("home/documents")] });
    let path = format!("{SERVERS}/{id}");
    let patched = platform.admin().patch(&path, &json!({ "sandbox": wider })).is(200);
    assert_eq!(patched["sandbox"], wider);
    platform.wait_status(&id, "CONNECTED");
    assert_eq!(attempt(&platform, &room, "read-documents"), "done");
    assert_eq!(platform.server(&id)["sandbox"], wider);
    let audit = platform.admin().get("/api/v1/audit").is(200).to_string();
    assert!(audit.contains("sandbox: default → "), "{audit}");
    let back = platform.admin().patch(&path, &json!({ "sandbox": null })).is(200);
    assert_eq!(back["sandbox"], Value::Null);
    platform.wait_status(&id, "CONNECTED");
    assert_eq!(attempt(&platform, &room, "read-documents"), "EACCES");
}

#[test]
fn only_an_admin_makes_them_wider() {
    let room = Room::new();
    let (platform, id) = registered(&room, &json!("standard"));
    let operator = platform.rest(Some(&platform.key("operator")));
    let path = format!("{SERVERS}/{id}");
    for wider in [
        json!("off"),
        json!({ "read": ["/"] }),
        json!({ "write": [room.path("home")] }),
        json!({ "unix_sockets": true }),
        json!({ "container": { "image": "x" } }),
    ] {
        let answer = operator.patch(&path, &json!({ "sandbox": wider })).is(403).to_string();
        assert!(answer.contains("takes the role admin"), "{wider}: {answer}");
    }
    assert_eq!(platform.server(&id)["sandbox"], "standard");
    operator.patch(&path, &json!({ "sandbox": { "net": false } })).is(200);
    operator.patch(&path, &json!({ "sandbox": "strict" })).is(200);
    // What somebody has made narrower stays so for operators.
    operator.patch(&path, &json!({ "sandbox": "standard" })).is(403);
    operator.patch(&path, &json!({ "sandbox": null })).is(403);
    platform.admin().patch(&path, &json!({ "sandbox": "off" })).is(200);
    // … and from `off` they go no further than the platform's default.
    operator.patch(&path, &json!({ "sandbox": { "read": ["/"] } })).is(403);
    operator.patch(&path, &json!({ "sandbox": null })).is(200);
}

#[test]
fn what_makes_no_sense_is_refused_at_its_place() {
    let room = Room::new();
    let platform = room.platform(&["--allow-stdio-registration"]);
    for (sandbox, pointer) in [
        (json!("loose"), "/sandbox"),
        (json!(7), "/sandbox"),
        (json!({ "read": ["relative"] }), "/sandbox/read/0"),
        (json!({ "net": { "hosts": ["*"] } }), "/sandbox/net/hosts/0"),
        (json!({ "reads": [] }), "/sandbox/reads"),
        (json!({ "container": {} }), "/sandbox/container/image"),
    ] {
        let body = json!({
            "name": "a",
            "transport_type": "STDIO",
            "connection_config": { "command": "x" },
            "sandbox": sandbox,
        });
        let answer = platform.admin().post(SERVERS, &body).is(422);
        assert_eq!(answer["errors"][0]["pointer"], pointer, "{sandbox}: {answer}");
    }
    let body = json!({
        "name": "a",
        "transport_type": "HTTP",
        "connection_config": { "url": "http://127.0.0.1:9/mcp" },
        "sandbox": "strict",
    });
    platform.admin().post(SERVERS, &body).is(422);
}
