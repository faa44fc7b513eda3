//! Records that come faster than they can be written, or cannot be written at all.

use std::process::Command;

use kit::mcp::{self, Speak};
use kit::platform::{ADMIN, Platform};
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, bin, process, run};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::echoing;
use super::store::SmallDisk;

const FLOOD: usize = 3_000;

/// Calls of a tool that is not there, a hundred at a time without waiting for answers.
fn flood(platform: &Platform, key: &str) {
    let client = platform.mcp(key);
    let mut connection = client.connection();
    for round in 0..FLOOD / 100 {
        for n in 0..100 {
            let body =
                mcp::call(&(round * 100 + n + 1_000).to_string(), &format!("a.made_up_{n}"), "{}");
            connection.begin(&client.dress(kit::http::Ask::post("/mcp", body)));
        }
        for _ in 0..100 {
            assert_eq!(connection.response(LIMIT).status(), 200);
        }
    }
}

fn times(record: &Value) -> u64 {
    record["count"].as_u64().unwrap_or(1)
}

#[test]
fn nfr_sec4_refusals_are_counted_and_hide_no_call_that_ran() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("a", &service);
    let made = platform.make_key(&json!({ "name": "flooder", "role": "caller" }));
    let key = made["key"].as_str().expect("a key").to_owned();
    std::thread::scope(|scope| {
        scope.spawn(|| flood(&platform, &key));
        for _ in 0..20 {
            platform.mcp(&key).assert_echo("a", "echo", "{}");
        }
    });
    // What is still being counted is written at the end.
    platform.serve().process().signal(Signal::TERM);
    platform.serve().process().wait_exit(LIMIT);
    let platform = room.platform(&[]);
    let mut records = platform.audit();
    records.retain(|record| record["principal"] == "flooder");
    let (refused, ran): (Vec<_>, Vec<_>) =
        records.into_iter().partition(|record| record["outcome"] == "refused");
    assert_eq!(ran.len(), 20, "{ran:#?}");
    assert_eq!(refused.iter().map(times).sum::<u64>(), FLOOD as u64);
    // The first of a minute one by one, and the rest in one record; the flood may cross a minute.
    assert!(refused.len() <= 22, "{} records", refused.len());
    let counted = refused.iter().find(|record| times(record) > 1).expect("a count");
    assert_eq!(counted["action"], "call-tool", "{counted:#}");
    assert_eq!(counted["tool"], Value::Null, "they were different ones: {counted:#}");
    let mut verify = Command::new(bin::trunkline());
    verify.args(["audit", "verify", "--data-dir"]).arg(room.path("data"));
    let done = run::run(verify, b"");
    assert_eq!(done.code, Some(0), "{done}");
}

#[test]
fn nfr_sec4_where_the_audit_is_required_nothing_runs_unrecorded() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let disk = SmallDisk::of(&room);
    let command = room.platform_command(&["--allow-net", "127.0.0.0/8", "--audit-required"]);
    let platform = Platform::start(disk.apart(&command));
    platform.connected("a", &service);
    platform.call("a.echo", &json!({})).is(200);
    disk.fill();
    // Until the store has refused the first record, calls run and their records wait.
    let mut refused = None;
    process::wait_until("a call is refused", LIMIT, || {
        let answer = platform.call("a.echo", &json!({}));
        refused = Some(answer).filter(|answer| answer.status() != 200);
        refused.is_some()
    });
    let problem = refused.expect("a refusal").problem(503, "store-unavailable");
    let why = problem["detail"].as_str().unwrap_or_default();
    assert!(why.contains("--audit-required") && why.contains("did not run"), "{problem:#}");
    let answer = platform.mcp(ADMIN).call("a.echo", "{}");
    let error: Value = serde_json::from_slice(&answer.0).expect("JSON");
    assert_eq!(error["error"]["code"], -31014, "{error:#}");
    assert_eq!(error["error"]["data"]["mayRetry"], true, "{error:#}");
    disk.free();
    process::wait_until("calls run again", LIMIT, || {
        platform.call("a.echo", &json!({})).status() == 200
    });
    platform.mcp(ADMIN).assert_echo("a", "echo", "{}");
}
