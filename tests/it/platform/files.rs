//! A config file and the store together: what comes from the file is shown and not edited.

use std::process::Command;

use kit::mcp::Speak;
use kit::platform::{ADMIN, CALL, SERVERS, id_of};
use kit::room::{MARK, Room};
use kit::run::run;
use kit::service::Wire;
use kit::{LIMIT, bin, ledger, process};
use serde_json::{Value, json};

use super::echoing;

#[test]
fn servers_of_the_file_stand_beside_registered_ones_and_cannot_be_edited_over_rest() {
    let room = Room::new();
    let b = echoing(&room, "b").listen(Wire::Http);
    let config = room.config([("a", echoing(&room, "a").entry())]);
    let platform = room.platform(&["--config", config.to_str().expect("UTF-8")]);
    platform.connected("b", &b);
    let list = platform.admin().get(SERVERS).is(200);
    let servers = list["servers"].as_array().cloned().unwrap_or_default();
    let facts: Vec<_> =
        servers.iter().map(|server| (server["name"].as_str(), server["source"].as_str())).collect();
    assert_eq!(facts, [(Some("a"), Some("file")), (Some("b"), Some("api"))]);
    let path = format!("{SERVERS}/{}", id_of(&servers[0]));
    platform.admin().patch(&path, &json!({ "description": "x" })).problem(409, "from-file");
    platform.admin().delete(&path).problem(409, "from-file");
    platform.wait_status(&id_of(&servers[0]), "CONNECTED");
    let client = platform.mcp(ADMIN);
    client.assert_echo("a", "echo", r#"{"n":1}"#);
    client.assert_echo("b", "echo", r#"{"n":2}"#);
    for name in ["a", "b"] {
        let result = platform.call(&format!("{name}.echo"), &json!({})).is(200);
        assert_eq!(result["metadata"]["routed_to"], name);
    }
}

#[test]
fn servers_of_the_file_are_there_for_whoever_comes_first() {
    let room = Room::new();
    let config = room.config([("a", echoing(&room, "a").entry())]);
    // Which is first, the request or the first look at the store, is not decided: so several times.
    for _ in 0..5 {
        let platform = room.platform(&["--config", config.to_str().expect("UTF-8")]);
        let server = platform.admin().get(&format!("{SERVERS}/a")).is(200);
        assert_eq!((&server["name"], &server["source"]), (&json!("a"), &json!("file")));
    }
}

/// The file and REST take the same numbers, and both show them.
#[test]
fn settings_of_calls_have_the_same_bounds_in_the_file_and_over_rest_and_are_shown() {
    let room = Room::new();
    let b = echoing(&room, "b").listen(Wire::Http);
    let config = room.config([("a", echoing(&room, "a").entry())]);
    let platform = room.platform(&["--config", config.to_str().expect("UTF-8")]);
    let (admin, api) = (platform.admin(), format!("{SERVERS}/{}", platform.connected("b", &b)));
    let shown = |path: &str| {
        let server = admin.get(path).is(200);
        (server["call_timeout"].clone(), server["max_concurrency"].clone())
    };
    assert_eq!(shown(&format!("{SERVERS}/a")), (Value::Null, Value::Null));
    let write = |timeout: &Value, most: &Value| {
        let mut entry = echoing(&room, "a").entry();
        entry["callTimeout"] = timeout.clone();
        entry["maxConcurrency"] = most.clone();
        room.config([("a", entry)]);
    };
    for (timeout, most) in
        [(json!(0.001), json!(1)), (json!(0.5), json!(7)), (json!(86_400), json!(100_000))]
    {
        let change = json!({ "call_timeout": timeout, "max_concurrency": most });
        admin.patch(&api, &change).is(200);
        assert_eq!(shown(&api), (timeout.clone(), most.clone()));
        write(&timeout, &most);
        process::wait_until("the file is read again", LIMIT, || {
            shown(&format!("{SERVERS}/a")) == (timeout.clone(), most.clone())
        });
    }
    let before = shown(&api);
    for (timeout, most) in [
        (json!(0), json!(0)),
        (json!(0.0009), json!(100_001)),
        (json!(86_400.5), json!(1.5)),
        (json!("1"), json!("1")),
    ] {
        let change = json!({ "call_timeout": timeout, "max_concurrency": most });
        let problem = admin.patch(&api, &change).problem(422, "invalid");
        let places: Vec<_> =
            (0..2).map(|n| problem["errors"][n]["pointer"].as_str().unwrap_or_default()).collect();
        assert_eq!(places, ["/call_timeout", "/max_concurrency"], "{problem:#}");
        write(&timeout, &most);
        let mut check = Command::new(bin::trunkline());
        check.arg("check").arg("--config").arg(&config).env(MARK, room.marker());
        let checked = run(check, b"");
        for key in ["`callTimeout`", "`maxConcurrency`"] {
            assert!(checked.stderr.contains(key), "{key}: {checked}");
        }
    }
    assert_eq!(shown(&api), before);
    assert_eq!(shown(&format!("{SERVERS}/a")), before, "a file that is wrong changes nothing");
}

#[test]
fn a_file_that_changes_leaves_registered_servers_alone() {
    let room = Room::new();
    let b = echoing(&room, "b").listen(Wire::Http);
    let config = room.config([("a", echoing(&room, "a").entry())]);
    let platform = room.platform(&["--config", config.to_str().expect("UTF-8")]);
    platform.connected("b", &b);
    room.config([("c", echoing(&room, "c").entry())]);
    process::wait_until("the file is read again", LIMIT, || {
        let names = platform.tool_names(ADMIN);
        names == ["b.echo", "c.echo"]
    });
    platform.call("a.echo", &json!({})).problem(404, "no-such-tool");
    platform.call("b.echo", &json!({})).is(200);
}

/// Its id is another one's than that of the server which has its name now.
#[test]
fn a_registered_server_whose_name_the_file_has_taken_is_not_the_one_of_the_file() {
    let room = Room::new();
    let own = echoing(&room, "own").listen(Wire::Http);
    let config = room.config([]);
    let platform = room.platform(&["--config", config.to_str().expect("UTF-8")]);
    let id = platform.connected("x", &own);
    room.config([("x", echoing(&room, "file").entry())]);
    process::wait_until("the file is read", LIMIT, || {
        platform.admin().get(&format!("{SERVERS}/file:x")).status() == 200
    });
    platform.wait_status("file:x", "CONNECTED");
    let by_id = json!({ "name": "echo", "server_id": id });
    let problem = platform.admin().post(CALL, &by_id).problem(503, "server-unavailable");
    assert_eq!(
        (problem["server"]["id"].as_str(), problem["server"]["name"].as_str()),
        (Some(&id[..]), Some("x"))
    );
    assert_eq!(problem["server"]["status"], "ERROR", "{problem:#}");
    let detail = problem["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("the config file has a server of this name"), "{problem:#}");
    assert!(ledger::calls(&room.ledger("file")).is_empty(), "it is not this one that was meant");
    let tools = platform.admin().get(&format!("{SERVERS}/{id}/tools")).is(200);
    assert_eq!(tools["total"], 0, "{tools:#}");
    platform.act(&id, "disconnect").is(200);
    assert_eq!(platform.server(&id)["status"], "DISCONNECTED");
    assert_eq!(platform.server("file:x")["status"], "CONNECTED");
    let result = platform.call("x.echo", &json!({})).is(200);
    assert_eq!(result["structuredContent"]["from"], "file");
    platform.act(&id, "connect").is(202);
    // The name is free again.
    room.config([]);
    platform.wait_status(&id, "CONNECTED");
    let result = platform.call("x.echo", &json!({})).is(200);
    assert_eq!(result["structuredContent"]["from"], "own");
}

#[test]
fn a_server_of_the_file_has_the_date_it_was_first_seen_also_after_a_restart() {
    let room = Room::new();
    let config = room.config([("a", echoing(&room, "a").entry())]);
    let flags = ["--config", config.to_str().expect("UTF-8")];
    let path = format!("{SERVERS}/file:a");
    let begun = {
        let platform = room.platform(&flags);
        let server = platform.wait_status("file:a", "CONNECTED");
        let at = server["registered_at"].as_str().unwrap_or_default().to_owned();
        assert!(at.starts_with("20") && server["updated_at"].as_str() >= Some(&at), "{server:#}");
        platform.serve().process().signal(rustix::process::Signal::TERM);
        platform.serve().process().wait_exit(LIMIT);
        at
    };
    let platform = room.platform(&flags);
    process::wait_until("the same date", LIMIT, || {
        platform.admin().get(&path).is(200)["registered_at"] == begun
    });
}
