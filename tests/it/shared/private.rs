//! Servers that are not shared (`"share": "per-session"`): `ps`, `restart` and `logs` know the processes of each client.

use kit::client::Client;
use kit::room::Room;
use kit::{LIMIT, ledger, process, say};
use serde_json::{Value, json};

use super::commands::said;
use super::{house_with, runtime_of, server_of};

fn pid(client: &Client) -> i64 {
    client.pid().as_raw_nonzero().get().into()
}

/// The processes of the only server that clients have for themselves: client and process.
#[track_caller]
fn own_processes(room: &Room) -> Vec<(i64, i64)> {
    let told: Value = serde_json::from_str(&said(room, &["ps", "--json"]).stdout).expect("JSON");
    let own = told["runtimes"][0]["servers"][0]["processes"].as_array().expect("processes").clone();
    let mut own: Vec<_> = own
        .iter()
        .map(|it| {
            assert!(it["memory_kib"].as_u64() > Some(0) && it["state"] == "running", "{it}");
            (it["client"].as_i64().expect("a client"), it["pid"].as_i64().expect("a process"))
        })
        .collect();
    own.sort_unstable();
    own
}

#[test]
fn ps_shows_the_processes_that_clients_have_for_themselves() {
    let room = house_with(Some("per-session"));
    let clients = [room.start_ready(&[]), room.start_ready(&[])];
    let mut expected: Vec<(i64, i64)> =
        clients.iter().map(|client| (pid(client), server_of(client).into())).collect();
    expected.sort_unstable();
    assert_eq!(own_processes(&room), expected);
    let text = said(&room, &["ps"]).stdout;
    for (client, own) in &expected {
        let row = text.lines().find(|line| line.contains(&format!("a of client {client}")));
        assert!(row.is_some_and(|row| row.contains(&own.to_string())), "{client} {own}: {text}");
    }
    let [first, second] = clients;
    drop(first);
    let (left, gone) = (pid(&second), expected.iter().find(|(client, _)| *client != pid(&second)));
    let gone = i32::try_from(gone.expect("the other's").1).expect("a pid");
    process::wait_until("it has gone with its client", LIMIT, || !process::is_alive(gone));
    assert!(own_processes(&room).iter().all(|(client, _)| *client == left));
}

#[test]
fn restart_ends_the_processes_of_every_client() {
    let room = house_with(Some("per-session"));
    let (first, second) = (room.start_ready(&[]), room.start_ready(&[]));
    let before = [server_of(&first), server_of(&second)];
    let runtime = runtime_of(&room);
    let call = first.begin("a:wait", r#"{"n":1}"#);
    let calls = || ledger::calls(&room.ledger("a")).len();
    process::wait_until("the call is there", LIMIT, || calls() == 3);
    let restarted = said(&room, &["restart", "a"]);
    assert_eq!(restarted.code, Some(0), "{}", restarted.stderr);
    for part in ["restarted", "server `a`", "2 processes of clients have ended"] {
        assert!(restarted.stdout.contains(part), "{part}: {}", restarted.stdout);
    }
    let answer = first.answer(&call, LIMIT);
    let why = answer.to_string();
    assert!(why.contains("was restarted by `trunkline restart`"), "{why}");
    assert!(why.contains("may have run"), "{why}");
    // At once: a process that is on its way out gets no more calls.
    let after = [server_of(&first), server_of(&second)];
    assert!(before.iter().all(|pid| !after.contains(pid)), "{before:?} {after:?}");
    process::wait_until("they are gone", LIMIT, || {
        before.iter().all(|pid| !process::is_alive(*pid))
    });
    assert_eq!(runtime_of(&room), runtime);
    for client in [&first, &second] {
        let said = client.stderr();
        assert!(!said.contains("error"), "a restart that was asked for is no error: {said}");
    }
}

#[test]
fn a_restart_of_a_shared_server_is_no_error() {
    let room = house_with(None);
    let client = room.start_ready(&[]);
    let server = server_of(&client);
    let call = client.begin("a:wait", r#"{"n":1}"#);
    let calls = || ledger::calls(&room.ledger("a")).len();
    process::wait_until("the call is there", LIMIT, || calls() == 2);
    let restarted = said(&room, &["restart", "a"]);
    assert!(restarted.stdout.contains("restarted"), "{}", restarted.stdout);
    let why = client.answer(&call, LIMIT).to_string();
    assert!(why.contains("was restarted by") && why.contains("may have run"), "{why}");
    assert_ne!(server_of(&client), server, "calls wait until it is back");
    let said = client.stderr();
    assert!(!said.contains("error"), "{said}");
}

#[test]
fn restart_says_that_a_server_is_not_running() {
    for share in ["shared", "per-session"] {
        let room = Room::shared();
        let mut entry = room.fake("a").tool("echo", say::echo()).entry();
        entry["share"] = json!(share);
        entry["start"] = json!("lazy");
        room.config([("a", entry)]);
        // It is listed once; from then on it is known without being started.
        let first = room.start_ready(&[]);
        first.list_names();
        assert_eq!(said(&room, &["stop"]).code, Some(0));
        drop(first);
        let client = room.start_ready(&[]);
        assert_eq!(client.list_names(), ["a:echo"]);
        let starts = || ledger::started(&room.ledger("a")).len();
        let before = starts();
        let none = said(&room, &["restart", "a"]);
        assert_eq!(none.code, Some(0), "{}", none.stderr);
        let told = none.stdout;
        assert!(told.contains("nothing to restart") && told.contains("is not running"), "{told}");
        client.assert_echo("a", "echo", r#"{"n":1}"#);
        assert_eq!(starts(), before + 1, "{share}: the call has started it, nothing else");
    }
}

#[test]
fn logs_show_what_each_client_s_process_wrote() {
    let room = Room::shared();
    let talk = say::steps([say::stderr("called with @ARGS@\n"), say::result("{}")]);
    let mut entry = room.fake("a").tool("talk", talk).entry();
    entry["share"] = json!("per-session");
    room.config([("a", entry)]);
    let clients = [room.start_ready(&[]), room.start_ready(&[])];
    for client in &clients {
        client.call("a:talk", &format!(r#"{{"of":{}}}"#, pid(client))).result();
    }
    let logged = || said(&room, &["logs", "a"]).stdout;
    for client in clients.iter().map(pid) {
        let line = format!(r#"client {client}: called with {{"of":{client}}}"#);
        process::wait_until("it is there", LIMIT, || logged().lines().any(|it| it == line));
    }
    let json = said(&room, &["logs", "a", "--json"]).stdout;
    let lines: Vec<Value> =
        json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for client in clients.iter().map(pid) {
        let own: Vec<&Value> = lines.iter().filter(|it| it["client"] == client).collect();
        assert!(
            matches!(own[..], [one] if one["line"] == format!(r#"called with {{"of":{client}}}"#))
        );
    }
}

/// A client's own process that cannot start is started once for a call, and the call has an end.
#[test]
fn a_process_that_cannot_start_ends_the_call_that_wants_it() {
    let room = Room::shared();
    let entry = room.fake("a").tool("echo", say::echo()).entry();
    let words = [&entry["command"]].into_iter().chain(entry["args"].as_array().expect("a list"));
    let words: Vec<String> =
        words.map(|it| format!("'{}'", it.as_str().expect("a word"))).collect();
    let wrapper = room.path("wrapper");
    let wrap = |script: &str| room.write("wrapper", format!("#!/bin/sh\n{script}\n"));
    wrap(&format!("exec {}", words.join(" ")));
    room.config([(
        "a",
        json!({ "command": "sh", "args": [wrapper], "share": "per-session", "env": entry["env"] }),
    )]);
    let flags = ["--call-timeout", "2"];
    room.start_ready(&flags).assert_echo("a", "echo", r#"{"n":1}"#);
    let starts = room.path("starts");
    let fails = format!("echo x >> '{}'\necho 'no API key' >&2\nexit 1", starts.display());
    for (script, why) in [(fails.as_str(), "no API key"), ("exec sleep 1000", "still starting")] {
        said(&room, &["stop"]); // it may have ended with its client
        process::wait_until("none runs", LIMIT, || room.runtimes().is_empty());
        wrap(script);
        let client = room.start_ready(&flags);
        let answer = client.call("a:echo", r#"{"n":2}"#);
        assert!(answer.try_result().is_none() && answer.to_string().contains(why), "{answer}");
    }
    let starts = std::fs::read_to_string(starts).expect("it was started").lines().count();
    assert!(starts <= 8, "{starts} starts for one call");
}

/// A server that is not shared is listed from memory; the process that the first call starts may list something else.
#[test]
fn a_client_s_own_process_is_not_called_by_an_old_list() {
    let room = Room::shared();
    let with = |name: &str, schema: &str| format!(r#"{{"name":"{name}","inputSchema":{schema}}}"#);
    let text = r#"{"type":"object","properties":{"to":{"type":"string"}}}"#;
    let more = r#"{"type":"object","properties":{"to":{"type":"string"},"via":{}}}"#;
    let number = r#"{"type":"object","properties":{"to":{"type":"number"}}}"#;
    let write = |tools: &[&str]| {
        let mut entry = room.fake("a").tool("*", say::echo()).definitions(tools).entry();
        entry["share"] = json!("per-session");
        entry["start"] = json!("lazy");
        entry
    };
    let old = ["gone", "grown", "other", "second"].map(|name| with(name, text));
    room.config([("a", write(&[&old[0], &old[1], &old[2], &old[3]]))]);
    let first = room.start_ready(&[]);
    let before = ["a:gone", "a:grown", "a:other", "a:second"];
    assert_eq!(first.list_names(), before);
    said(&room, &["stop"]);
    drop(first);
    process::wait_until("none runs", LIMIT, || room.runtimes().is_empty());
    // The entry stays as it is, and its server lists other tools from now on.
    write(&[&with("grown", more), &with("other", number), &with("second", number)]);
    let client = room.start_ready(&[]);
    assert_eq!(client.list_names(), before);
    // All at once: after the first refusal the server lists anew, and who has heard of that knows the new list.
    for (id, tool) in [("101", "a:gone"), ("102", "a:other"), ("103", "a:grown")] {
        client.send_line(kit::mcp::call(id, tool, r#"{"to":"x"}"#));
    }
    let answer = client.answer(b"101", LIMIT);
    assert_eq!(answer.code(), -32601, "{answer}");
    assert!(answer.message().contains("does not offer it any more"), "{answer}");
    let answer = client.answer(b"102", LIMIT);
    assert_eq!(answer.code(), -32602, "{answer}");
    for part in ["did not run", number] {
        assert!(answer.message().contains(part), "{part}: {answer}");
    }
    client.answer(b"103", LIMIT).result();
    assert_eq!(ledger::calls(&room.ledger("a")).len(), 1, "only what means the same is sent");
    let changed = "notifications/tools/list_changed";
    client.wait_for("list_changed", LIMIT, |line| line.is_notification(changed));
    assert_eq!(client.list_names(), ["a:grown", "a:other", "a:second"]);
    // Whoever has the new list calls by it at once, also what was never refused.
    for tool in ["a:other", "a:second"] {
        client.call(tool, r#"{"to":1}"#).result();
    }
}
