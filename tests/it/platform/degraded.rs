//! Servers that are there and not well: they are shown so, with the reason, and are in the audit log.

use std::time::{Duration, Instant};

use kit::mcp::Speak;
use kit::platform::{ADMIN, Platform, SERVERS, id_of, stdio};
use kit::room::Room;
use kit::service::Wire;
use kit::yardstick::Yardstick;
use kit::{LIMIT, ledger, process, say};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::echoing;

fn message(server: &Value) -> String {
    server["last_error"]["message"].as_str().unwrap_or_default().to_owned()
}

/// How it is now, with what `GET …/servers` says of it.
fn listed(platform: &Platform, name: &str) -> Value {
    let list = platform.admin().get(SERVERS).is(200);
    let servers = list["servers"].as_array().cloned().unwrap_or_default();
    servers.into_iter().find(|server| server["name"] == name).unwrap_or_default()
}

#[test]
fn a_server_whose_calls_fail_says_how_many_and_what_the_last_one_said() {
    let room = Room::new();
    let broken = say::steps([say::error(r#"{"code":-32603,"message":"bad credentials"}"#)]);
    let service = echoing(&room, "a").tool("bad", broken).listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("a", &service);
    for n in 0..14 {
        platform.call(if n == 0 { "a.echo" } else { "a.bad" }, &json!({}));
    }
    platform.wait_server(&id, "degraded", LIMIT, |server| {
        server["status"] == "DEGRADED" && server["health"]["calls"] == 14
    });
    let server = listed(&platform, "a");
    let expected = "92 % of 14 calls failed; last: error -32603 from `bad`";
    assert_eq!((&server["reason"], message(&server)), (&json!(expected), expected.to_owned()));
    assert!(server["last_error"]["hint"].is_string(), "{server:#}");
    let health = &server["health"];
    assert_eq!((&health["status"], &health["failed_calls"]), (&json!("degraded"), &json!(13)));
    let record = platform.wait_audit("it is degraded", |record| record["outcome"] == "degraded");
    assert_eq!((&record["action"], &record["server_name"]), (&json!("change-status"), &json!("a")));
    assert!(record["detail"].as_str().is_some_and(|it| it.contains("calls failed")), "{record:#}");
}

/// Nine calls and none of them well: one verdict, with its reason, long before there is a rate of errors.
#[test]
fn three_calls_that_all_failed_degrade_a_server_and_one_is_its_last_error() {
    let room = Room::new();
    let broken = say::steps([say::error(r#"{"code":-32603,"message":"bad credentials"}"#)]);
    let service = echoing(&room, "a").tool("bad", broken).listen(Wire::Http);
    let platform = room.platform(&["--health-interval", "1s"]);
    let id = platform.connected("a", &service);
    platform.call("a.bad", &json!({}));
    let first = platform.wait_server(&id, "a call", LIMIT, |it| it["health"]["calls"] == 1);
    assert_eq!((&first["status"], &first["reason"]), (&json!("CONNECTED"), &Value::Null));
    assert_eq!(first["health"]["status"], "unknown", "{first:#}");
    assert_eq!(message(&first), "a call failed: error -32603 from `bad`", "{first:#}");
    platform.call("a.bad", &json!({}));
    platform.call("a.bad", &json!({}));
    let server = platform.wait_status(&id, "DEGRADED");
    let expected = "100 % of 3 calls failed; last: error -32603 from `bad`";
    assert_eq!((&server["reason"], message(&server)), (&json!(expected), expected.to_owned()));
    assert_eq!(server["health"]["status"], "degraded", "{server:#}");
}

/// However few its calls were: with all of them failed it is not healthy.
#[test]
fn nothing_is_healthy_with_errors_of_a_hundred_percent() {
    for (steps, counted) in [
        (say::error(r#"{"code":-32603,"message":"no"}"#), "failed_calls"),
        (say::result(r#"{"content":[],"isError":true}"#), "tool_errors"),
    ] {
        let room = Room::new();
        let service = room.fake("a").tool("bad", say::steps([steps])).listen(Wire::Http);
        let platform = room.platform(&["--health-interval", "1s"]);
        let id = platform.connected("a", &service);
        platform.wait_server(&id, "a check", LIMIT, |it| it["health"]["status"] == "healthy");
        platform.call("a.bad", &json!({}));
        let server = platform.wait_server(&id, "the call", LIMIT, |it| it["health"]["calls"] == 1);
        let health = &server["health"];
        assert_eq!((&health[counted], &health["error_rate"]), (&json!(1), &json!(1.0)));
        assert_ne!(health["status"], "healthy", "{server:#}");
    }
}

#[test]
fn tool_errors_and_protocol_errors_are_both_errors_and_told_apart() {
    let room = Room::new();
    let service = echoing(&room, "a")
        .tool("bad", say::steps([say::error(r#"{"code":-32603,"message":"no"}"#)]))
        .tool("sorry", say::steps([say::result(r#"{"content":[],"isError":true}"#)]))
        .listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("a", &service);
    let client = platform.mcp(ADMIN);
    for tool in ["a.echo", "a.echo", "a.sorry", "a.bad"] {
        client.call(tool, "{}");
    }
    let overview = || platform.admin().get("/api/v1/overview").is(200);
    process::wait_until("four calls", LIMIT, || overview()["calls"] == 4);
    let health = &platform.server(&id)["health"];
    for told in [&overview(), health] {
        assert_eq!((&told["failed_calls"], &told["tool_errors"]), (&json!(1), &json!(1)), "{told}");
        assert_eq!((&told["calls"], &told["error_rate"]), (&json!(4), &json!(0.5)), "{told}");
    }
}

#[test]
fn a_server_that_keeps_crashing_is_degraded_and_says_so() {
    let room = Room::new();
    let platform = room.platform(&["--allow-stdio-registration"]);
    let id = id_of(&platform.register(&stdio("a", &echoing(&room, "a").entry())));
    platform.wait_status(&id, "CONNECTED");
    for crash in 1..=3 {
        let pid = *ledger::started(&room.ledger("a")).last().expect("a process");
        process::kill(pid, Signal::KILL);
        platform.wait_server(&id, "it is back", LIMIT, |it| it["health"]["restarts"] == crash);
    }
    let server = platform.wait_status(&id, "DEGRADED");
    assert_eq!(server["restarts"], 3, "{server:#}");
    let reason = server["reason"].as_str().unwrap_or_default();
    assert!(reason.starts_with("it restarted 3 times in the last 10 minutes; last: "), "{reason}");
    assert_eq!(message(&server), reason);
    let counted = platform.admin().get("/api/v1/overview").is(200)["servers"]["degraded"].clone();
    assert_eq!(counted, 1);
    platform.wait_audit("a restart", |record| {
        record["action"] == "change-status"
            && record["detail"].as_str().is_some_and(|detail| detail.starts_with("restarted"))
    });
    platform.call("a.echo", &json!({})).is(200);
    // A change of the server is nobody's crash.
    platform.act(&id, "disconnect").is(200);
    platform.act(&id, "connect").is(202);
    platform.wait_server(&id, "connected anew", LIMIT, |it| it["health"]["restarts"] == 3);
}

/// Three checks, each of which takes as long as it may; a check may take five seconds.
#[test]
fn us5_ac5_a_server_that_hangs_with_a_call_open_is_an_error_while_the_call_waits() {
    let room = Room::new();
    let platform = room.platform(&["--allow-stdio-registration", "--health-interval", "5s"]);
    let hangs = say::steps([say::signal("STOP")]);
    let entry = echoing(&room, "a").tool("hang", hangs).entry();
    let id = id_of(&platform.register(&stdio("a", &entry)));
    platform.wait_status(&id, "CONNECTED");
    let mut call = platform.admin().begin(&Platform::call_ask("a.hang", "{}"));
    // The bound is 4 * 5 s + 5 s; a call may take ten minutes.
    let server =
        platform.wait_server(&id, "an error", 3 * LIMIT, |server| server["status"] == "ERROR");
    let expected = "3 health checks in a row failed; last: no answer within 5 s";
    assert_eq!(server["reason"], expected, "{server:#}");
    assert!(call.try_head(Duration::from_millis(1)).is_none(), "its call may still end");
    assert_eq!(ledger::started(&room.ledger("a")).len(), 1, "it is not replaced meanwhile");
    // What would only wait in vain is refused at once, over REST and over MCP.
    let (yardstick, start) = (Yardstick::new(), Instant::now());
    let problem = platform.call("a.echo", &json!({})).is(503);
    assert_eq!(problem["server"]["status"], "ERROR", "{problem:#}");
    let why = problem["detail"].as_str().unwrap_or_default();
    assert!(why.contains("fails its health checks"), "{problem:#}");
    let refused = platform.mcp(ADMIN).call("a.echo", "{}");
    assert!(format!("{refused:?}").contains("fails its health checks"), "{refused:?}");
    yardstick.assert_kept(LIMIT / 2, start.elapsed());
    let [pid] = ledger::started(&room.ledger("a"))[..] else { panic!("one process") };
    process::kill(pid, Signal::CONT);
    platform.wait_status(&id, "CONNECTED");
    platform.call("a.echo", &json!({})).is(200);
    let log = platform.serve().process().stderr();
    for line in ["3 health checks in a row failed", "it passes its health checks again"] {
        assert_eq!(log.matches(line).count(), 1, "{line}: {log}");
    }
}

/// Clients go on calling a server that hangs. Their calls must not keep it from being replaced: it is an error
/// after 2 * 1 s + 3 * 5 s at the latest, calls that were sent before end 3 s later, and the next check, of 5 s,
/// has it replaced.
#[test]
fn a_server_that_hangs_is_replaced_although_it_is_still_being_called() {
    let room = Room::new();
    let platform = room.platform(&["--allow-stdio-registration", "--health-interval", "1s"]);
    let hangs = say::steps([say::signal("STOP")]);
    let mut body = stdio("a", &echoing(&room, "a").tool("hang", hangs).entry());
    body["call_timeout"] = 3.into();
    let id = id_of(&platform.register(&body));
    platform.wait_status(&id, "CONNECTED");
    let mut calls = vec![platform.admin().begin(&Platform::call_ask("a.hang", "{}"))];
    process::wait_until("a new process", 4 * LIMIT, || {
        calls.push(platform.admin().begin(&Platform::call_ask("a.echo", "{}")));
        std::thread::sleep(Duration::from_millis(500)); // so often it is called
        ledger::started(&room.ledger("a")).len() == 2
    });
    // It is degraded: the calls to the process before it have failed.
    process::wait_until("the new process answers", LIMIT, || {
        platform.call("a.echo", &json!({})).status() == 200
    });
}

/// A server that never came up has not come back either, and is an error since it first failed.
#[test]
fn tries_of_a_server_that_never_ran_are_no_restarts_and_do_not_renew_its_error() {
    let room = Room::new();
    let entry = json!({ "command": "sh", "args": ["-c", "exit 3"] });
    let config = room.config([("dies", entry)]);
    let platform = room.platform(&["--config", config.to_str().expect("UTF-8")]);
    let process = || {
        let details = platform.admin().get(&format!("{SERVERS}/file:dies/details")).is(200);
        details["process"].clone()
    };
    let failed = |least: u64| {
        process::wait_until("it has failed", LIMIT, || {
            let process = process();
            process["state"] == "failed" && process["failures"].as_u64() >= Some(least)
        });
        process()
    };
    let (first, later) = (failed(1)["since"].clone(), failed(3));
    assert_eq!(later["since"], first, "{later:#}");
    assert_eq!(later["restarts"], 0, "{later:#}");
    assert_eq!(listed(&platform, "dies")["restarts"], 0);
}

/// It is tried again and again, and fails in the same way: the log tells of it once, and once more when the
/// pauses become long.
#[test]
fn a_server_that_cannot_be_started_is_told_of_once_in_the_log() {
    let room = Room::new();
    let entry = json!({ "command": "sh", "args": ["-c", "echo the-reason >&2; exit 3"] });
    let config = room.config([("dies", entry)]);
    let platform = room.platform(&["--config", config.to_str().expect("UTF-8")]);
    let failures = || {
        let details = platform.admin().get(&format!("{SERVERS}/file:dies/details")).is(200);
        details["process"]["failures"].as_u64().unwrap_or_default()
    };
    process::wait_until("it has failed four times", LIMIT, || failures() >= 4);
    let told = platform.serve().process().stderr().matches("the-reason").count();
    let allowed = if failures() < 5 { 1..=1 } else { 1..=2 };
    assert!(allowed.contains(&told), "{told} times: {}", platform.serve().process().stderr());
}
