//! NFR-SEC4: every operation and every call is in the audit log, whose chain shows any change.

use std::path::Path;
use std::process::Command;

use kit::mcp::Speak;
use kit::platform::{ADMIN, CALL, KEYS, Platform, SERVERS, id_of, remote};
use kit::room::Room;
use kit::run::{self, Done};
use kit::service::Wire;
use kit::{LIMIT, bin, say};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::echoing;

fn verify(room: &Room) -> Done {
    let mut command = Command::new(bin::trunkline());
    command.args(["audit", "verify", "--data-dir"]).arg(room.path("data"));
    command.env_remove("TRUNKLINE_KEY");
    run::run(command, b"")
}

fn stop(platform: &Platform) {
    platform.serve().process().signal(Signal::TERM);
    platform.serve().process().wait_exit(LIMIT);
}

#[track_caller]
fn recorded(platform: &Platform, action: &str, server: &str) -> Value {
    platform.wait_audit(&format!("{action} {server}"), |record| {
        let is_it = record["action"].as_str().is_some_and(|done| done.starts_with(action));
        is_it && record["server_name"] == server
    })
}

/// It was done with this key.
#[track_caller]
fn assert_used(record: &Value, made: &Value) {
    let credential = record["credential_id"].as_str().unwrap_or_default();
    let id = made["id"].as_str().expect("an id");
    assert!(credential.ends_with(id), "the key {id}: {record:#}");
}

#[test]
fn nfr_sec4_every_operation_on_a_server_is_recorded_with_who_did_it() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let made = platform.make_key(&json!({ "name": "ops", "role": "operator" }));
    let ops = platform.rest(made["key"].as_str());
    let id = id_of(&ops.post(SERVERS, &remote("a", &service)).is(201));
    platform.wait_status(&id, "CONNECTED");
    let path = format!("{SERVERS}/{id}");
    ops.patch(&path, &json!({ "description": "x" })).is(200);
    ops.bare("POST", &format!("{path}/disconnect")).is(200);
    ops.bare("POST", &format!("{path}/connect")).is(202);
    platform.wait_status(&id, "CONNECTED");
    assert_eq!(ops.delete(&path).status(), 204);
    for action in ["register-server", "edit-server", "disconnect", "connect", "delete-server"] {
        let record = recorded(&platform, action, "a");
        assert_eq!(record["principal"], "ops", "{record:#}");
        assert_used(&record, &made);
        assert_eq!(record["server_id"], id, "{record:#}");
        assert_eq!(record["outcome"], "ok", "{record:#}");
        let address = record["address"].as_str().unwrap_or_default();
        assert!(address.starts_with("127.0.0.1"), "{record:#}");
    }
    let answer = platform.admin().delete(&format!("{KEYS}/{}", id_of(&made)));
    assert_eq!(answer.status(), 204);
    let keys = platform
        .audit()
        .into_iter()
        .filter(|record| record["action"].as_str().is_some_and(|action| action.contains("key")));
    assert_eq!(keys.count(), 2, "made and revoked: {:#?}", platform.audit());
}

#[test]
fn nfr_sec4_every_call_is_recorded_over_rest_and_mcp_with_what_came_of_it() {
    let room = Room::new();
    let failing = json!([say::error(r#"{"code":-32603,"message":"broken"}"#)]);
    let service = echoing(&room, "a").tool("bad", failing).listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("a", &service);
    let made = platform.make_key(&json!({ "name": "ci", "role": "caller" }));
    let key = made["key"].as_str().expect("a key");
    let rest = platform.rest(Some(key));
    let word = "an-argument-nobody-should-read";
    rest.post(CALL, &json!({ "name": "a.echo", "arguments": { "x": word } })).is(200);
    platform.mcp(key).assert_echo("a", "echo", &format!(r#"{{"x":"{word}"}}"#));
    rest.post(CALL, &json!({ "name": "a.echo", "arguments": { "x": "other" } })).is(200);
    rest.post(CALL, &json!({ "name": "a.bad", "arguments": {} })).problem(502, "server-error");
    let calls = || -> Vec<Value> {
        let mut all = platform.audit();
        all.retain(|record| record["action"] == "call-tool");
        all
    };
    kit::process::wait_until("four records", LIMIT, || calls().len() == 4);
    let calls = calls();
    let hash = |at: usize| calls[at]["argument_hash"].as_str().unwrap_or_default();
    for record in &calls {
        assert_eq!(record["principal"], "ci", "{record:#}");
        assert_used(record, &made);
        assert_eq!((&record["server_name"], &record["server_id"]), (&json!("a"), &json!(id)));
        assert!(record["duration_us"].as_u64().is_some_and(|time| time > 0), "{record:#}");
    }
    let facts: Vec<_> =
        calls.iter().map(|record| record["tool"].as_str().unwrap_or_default()).collect();
    assert_eq!(facts, ["echo", "echo", "echo", "bad"]);
    assert!(calls[..3].iter().all(|record| record["outcome"] == "ok"), "{calls:#?}");
    assert_ne!(calls[3]["outcome"], "ok");
    assert_eq!(hash(0).len(), 64);
    assert_eq!(hash(0), hash(1), "the same arguments");
    assert_ne!(hash(0), hash(2));
    assert!(!json!(calls).to_string().contains(word));
    let path = "/api/v1/audit?action=call-tool&tool=bad&principal=ci&server=a";
    let found = platform.admin().get(path).is(200);
    assert_eq!(found["records"].as_array().map(Vec::len), Some(1), "{found:#}");
}

#[test]
fn nfr_sec4_a_call_is_recorded_with_where_it_came_from() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("a", &service);
    platform.call("a.echo", &json!({})).is(200);
    platform.mcp(ADMIN).assert_echo("a", "echo", "{}");
    let calls = || -> Vec<Value> {
        let mut all = platform.audit();
        all.retain(|record| record["action"] == "call-tool");
        all
    };
    kit::process::wait_until("both are recorded", LIMIT, || calls().len() == 2);
    for record in calls() {
        let address = record["address"].as_str().unwrap_or_default();
        assert!(address.starts_with("127.0.0.1"), "{record:#}");
    }
}

#[test]
fn nfr_sec4_what_was_refused_is_recorded_as_well() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let viewer = platform.key("viewer");
    let body = json!({ "name": "x", "transport_type": "HTTP", "connection_config": { "url": "https://example.com/" } });
    platform.rest(Some(&viewer)).post(SERVERS, &body).problem(403, "forbidden");
    let record = platform.wait_audit("a refusal", |record| record["action"] == "register-server");
    assert_ne!(record["outcome"], "ok", "{record:#}");
    assert_eq!(record["principal"], "a viewer", "{record:#}");
}

#[test]
fn nfr_sec4_an_edit_is_recorded_with_what_changed_and_without_secrets() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let mut body = remote("a", &service);
    body["connection_config"]["headers"] = json!({ "X-Key": "hunter2", "X-Old": "hunter2" });
    let id = id_of(&platform.register(&body));
    let path = format!("{SERVERS}/{id}");
    let headers = json!({ "X-Key": "hunter3", "X-Old": null });
    let edit = json!({ "name": "b", "description": "new", "call_timeout": 7,
        "connection_config": { "headers": headers } });
    platform.admin().patch(&path, &edit).is(200);
    let record = recorded(&platform, "edit-server", "b");
    assert_eq!(
        record["detail"],
        "name: a → b; description: (empty) → new; connection_config.headers.X-Key: changed; \
         connection_config.headers.X-Old: removed; call_timeout: none → 7 s"
    );
    assert!(!json!(platform.audit()).to_string().contains("hunter"));
}

#[test]
fn nfr_sec4_requests_that_conflict_or_have_mistakes_are_recorded() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("a", &service);
    let ops = platform.key("operator");
    let rest = platform.rest(Some(&ops));
    rest.post(SERVERS, &remote("a", &service)).problem(409, "name-taken");
    rest.post(SERVERS, &json!({ "name": "x", "secret": "hunter2" })).problem(422, "invalid");
    platform.admin().post(KEYS, &json!({ "name": "", "role": "king" })).problem(422, "invalid");
    for (action, begins) in [
        ("register-server", "409 name-taken: "),
        ("register-server", "422 invalid: "),
        ("create-key", "422 invalid: "),
    ] {
        let record = platform.wait_audit(&format!("{action} {begins}"), |record| {
            let detail = record["detail"].as_str().unwrap_or_default();
            record["outcome"] == "refused"
                && record["action"] == action
                && detail.starts_with(begins)
        });
        assert!(record["address"].as_str().is_some_and(|it| it.starts_with("127.")), "{record:#}");
    }
    assert!(!json!(platform.audit()).to_string().contains("hunter"));
}

/// A refusal has the action of what was wanted, and the server that it was about.
#[test]
fn nfr_sec4_what_was_refused_of_a_server_is_found_by_the_server() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let (a, b) = (platform.connected("a", &service), platform.connected("b", &service));
    let viewer = platform.rest(Some(&platform.key("viewer")));
    let path = format!("{SERVERS}/{a}");
    platform.admin().patch(&path, &json!({ "name": "b" })).problem(409, "name-taken");
    platform.admin().patch(&path, &json!({ "nmae": "c" })).problem(422, "invalid");
    viewer.delete(&path).problem(403, "forbidden");
    viewer.post(&format!("{path}/disconnect"), &json!({})).problem(403, "forbidden");
    for (action, begins) in [
        ("edit-server", "409"),
        ("edit-server", "422"),
        ("delete-server", "`delete-server`"),
        ("disconnect-server", "`disconnect`"),
    ] {
        let record = platform.wait_audit(&format!("{action} {begins}"), |record| {
            let detail = record["detail"].as_str().unwrap_or_default();
            record["action"] == action && detail.starts_with(begins)
        });
        assert_eq!((&record["server_id"], &record["server_name"]), (&json!(a), &json!("a")));
    }
    for (server, count) in [("a", 4), (a.as_str(), 4), ("b", 0), (b.as_str(), 0)] {
        let path = format!("/api/v1/audit?outcome=refused&server={server}");
        let records = platform.admin().get(&path).is(200)["records"].clone();
        assert_eq!(records.as_array().map(Vec::len), Some(count), "{server}: {records:#}");
    }
    for path in ["/api/v1/secrets/x", "/api/v1/skills/x"] {
        viewer.with_body("PUT", path, b"{}").problem(403, "forbidden");
    }
    for action in ["put-secret", "put-skill"] {
        platform.wait_audit(action, |record| {
            record["action"] == action && record["outcome"] == "refused"
        });
    }
}

#[test]
fn an_outcome_that_there_is_not_is_refused_with_what_was_perhaps_meant() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let ask = |word: &str| platform.admin().get(&format!("/api/v1/audit?outcome={word}"));
    let problem = ask("refsued").problem(422, "invalid");
    assert!(problem.to_string().contains("did you mean `refused`?"), "{problem:#}");
    let problem = ask("bogus").problem(422, "invalid");
    assert!(problem.to_string().contains("must be one of ok, "), "{problem:#}");
    for word in ["ok", "refused", "connected", "degraded", "error"] {
        ask(word).is(200);
    }
}

#[test]
fn nfr_sec4_records_are_counted_without_a_gap_and_pages_are_complete() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("a", &service);
    for n in 0..25 {
        platform.call("a.echo", &json!({ "n": n })).is(200);
    }
    kit::process::wait_until("all are written", LIMIT, || {
        platform.audit().iter().filter(|record| record["action"] == "call-tool").count() == 25
    });
    let all = platform.audit();
    let seqs: Vec<u64> = all.iter().filter_map(|record| record["seq"].as_u64()).collect();
    assert_eq!(seqs, (1..=all.len() as u64).collect::<Vec<_>>());
    let paged = kit::platform::pages(platform.admin(), "/api/v1/audit?limit=7", "records");
    let paged: Vec<u64> = paged.iter().rev().filter_map(|record| record["seq"].as_u64()).collect();
    assert_eq!(paged, seqs);
}

#[test]
fn nfr_sec4_the_chain_is_verified_and_a_changed_byte_is_found_and_named() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("a", &service);
    for n in 0..10 {
        platform.call("a.echo", &json!({ "n": n })).is(200);
    }
    let wanted = |record: &Value| record["action"] == "call-tool";
    kit::process::wait_until("all are written", LIMIT, || {
        platform.audit().iter().filter(|record| wanted(record)).count() == 10
    });
    let running = verify(&room);
    assert_eq!(running.code, Some(0), "beside a platform that runs: {running}");
    let victim = platform.audit().into_iter().filter(wanted).nth(4).expect("a record");
    stop(&platform);
    let done = verify(&room);
    assert_eq!(done.code, Some(0), "{done}");
    let hash = victim["argument_hash"].as_str().expect("a hash");
    assert_eq!(flip(&room.path("data"), hash), 1, "it stands in one place");
    let done = verify(&room);
    assert_eq!(done.code, Some(1), "{done}");
    let said = format!("{}{}", String::from_utf8_lossy(&done.stdout), done.stderr);
    let seq = victim["seq"].as_u64().expect("a number").to_string();
    let numbers: Vec<&str> = said.split(|c: char| !c.is_ascii_digit()).collect();
    assert!(numbers.contains(&&seq[..]), "record {seq} is named: {said}");
}

/// Changes the first character of this text wherever a file of the directory holds it; how often.
fn flip(dir: &Path, text: &str) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir(dir).expect("the data directory").flatten() {
        let mut bytes = std::fs::read(entry.path()).unwrap_or_default();
        let found: Vec<usize> = bytes
            .windows(text.len())
            .enumerate()
            .filter_map(|(at, window)| (window == text.as_bytes()).then_some(at))
            .collect();
        for at in &found {
            bytes[*at] = if bytes[*at] == b'0' { b'1' } else { b'0' };
        }
        if !found.is_empty() {
            std::fs::write(entry.path(), bytes).expect("the file can be written");
        }
        count += found.len();
    }
    count
}

#[test]
fn nfr_sec4_verifying_what_is_not_there_fails_and_makes_nothing() {
    let room = Room::new();
    let done = verify(&room);
    assert!(matches!(done.code, Some(1 | 2)), "{done}");
    assert!(!room.path("data").exists());
    let platform = room.platform(&[]);
    assert_eq!(platform.admin().get("/api/v1/me").is(200)["role"], "admin");
    platform.rest(Some(ADMIN)).get("/api/v1/audit").is(200);
}

fn audit_command(room: &Room, arguments: &[&str]) -> Done {
    let mut command = Command::new(bin::trunkline());
    command.arg("audit").args(arguments).arg("--data-dir").arg(room.path("data"));
    command.env_remove("TRUNKLINE_KEY");
    run::run(command, b"")
}

fn seqs(lines: &str) -> Vec<i64> {
    let number = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["seq"].as_i64();
    lines.lines().map(|line| number(line).expect("a number")).collect()
}

/// Keys are made and revoked: each leaves a record.
fn make_records(platform: &Platform, count: usize) {
    for n in 0..count {
        platform.make_key(&json!({ "name": format!("k{n}"), "role": "viewer" }));
    }
}

#[test]
fn nfr_sec4_old_records_go_by_the_rules_and_the_rest_is_proven() {
    let room = Room::new();
    let platform = room.platform(&[]);
    make_records(&platform, 12);
    stop(&platform);
    drop(platform);
    let platform = room.platform(&["--audit-keep-records", "5", "--audit-keep", "90d"]);
    let pruned = platform.wait_audit("the removal", |record| record["action"] == "prune-audit");
    assert!(pruned["detail"].as_str().is_some_and(|it| it.contains("were removed")), "{pruned:#}");
    let left: Vec<i64> = platform.audit().iter().filter_map(|it| it["seq"].as_i64()).collect();
    let first = left[0];
    assert!(first > 1 && left.len() < 12, "{left:?}");
    assert_eq!(left, (first..first + i64::try_from(left.len()).unwrap()).collect::<Vec<_>>());
    stop(&platform);
    let done = verify(&room);
    assert_eq!(done.code, Some(0), "{done}");
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(said.contains("were removed by retention"), "{said}");
}

#[test]
fn nfr_sec4_a_store_that_was_set_back_is_found_by_its_anchor() {
    let room = Room::new();
    let anchor = room.path("anchor").to_str().expect("UTF-8").to_owned();
    let flags = ["--audit-anchor", &anchor];
    let checked = || audit_command(&room, &["verify", "--anchor", &anchor]);
    let (data, copy) = (room.path("data"), room.path("copy"));
    let platform = room.platform(&flags);
    make_records(&platform, 3);
    stop(&platform);
    drop(platform);
    assert_eq!(checked().code, Some(0), "{}", checked());
    let copied = Command::new("cp").arg("-a").args([&data, &copy]).status().expect("cp");
    assert!(copied.success());
    let platform = room.platform(&flags);
    make_records(&platform, 3);
    stop(&platform);
    drop(platform);
    assert_eq!(checked().code, Some(0), "{}", checked());
    // An older state of the store, whole in itself.
    std::fs::remove_dir_all(&data).expect("it can go");
    std::fs::rename(&copy, &data).expect("it takes its place");
    assert_eq!(verify(&room).code, Some(0), "alone it cannot be told");
    let done = checked();
    assert_eq!(done.code, Some(1), "{done}");
    assert!(String::from_utf8_lossy(&done.stdout).contains("set back"), "{done}");
    // Nor after others have been written, by a platform that has the anchor: it says so and leaves it alone.
    let platform = room.platform(&flags);
    platform.serve().process().wait_stderr(&["the audit log was set back"], LIMIT);
    make_records(&platform, 9);
    stop(&platform);
    assert_eq!(verify(&room).code, Some(0));
    let done = checked();
    assert_eq!(done.code, Some(1), "{done}");
}

#[test]
fn nfr_sec4_the_log_can_be_taken_elsewhere() {
    let room = Room::new();
    let file = room.path("audit.ndjson");
    let place = format!("file:{}", file.to_str().expect("UTF-8"));
    for _ in 0..2 {
        let platform = room.platform(&["--audit-export", &place]);
        make_records(&platform, 4);
        stop(&platform);
    }
    let exported = audit_command(&room, &["export"]);
    assert_eq!(exported.code, Some(0), "{exported}");
    let all = String::from_utf8_lossy(&exported.stdout).into_owned();
    let numbers = seqs(&all);
    assert_eq!(numbers, (1..=i64::try_from(numbers.len()).unwrap()).collect::<Vec<_>>());
    // What was passed on while it ran is the same, each once, from the first look on.
    let passed_on = std::fs::read_to_string(&file).expect("a file");
    assert!(passed_on.lines().count() >= 8 && all.ends_with(&passed_on), "{passed_on}");
    let output = room.path("out.ndjson");
    let output = output.to_str().expect("UTF-8");
    let none = ["export", "--until", "2000-01-01T00:00:00Z", "--output", output];
    assert_eq!(audit_command(&room, &none).code, Some(0));
    assert_eq!(std::fs::read_to_string(output).expect("a file"), "");
    let again = audit_command(&room, &["export", "--output", output]);
    assert_eq!(again.code, Some(1), "nothing is written over: {again}");
}
