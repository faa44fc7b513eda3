//! Audit records while the store is away: on disk, beyond the end of the process, each once.

use kit::LIMIT;
use kit::database::Database;
use kit::mcp::Speak;
use kit::platform::{ADMIN, Platform};
use kit::process::wait_until;
use kit::room::Room;
use kit::service::Wire;
use kit::way::Way;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{calls, echoing, maintain, metric, stop};

#[test]
fn nfr_sec4_records_wait_on_disk_while_postgres_is_away_and_survive_a_kill() {
    let database = Database::new();
    let way = Way::to(database.behind());
    let url = database.url(&way);
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let flags = ["--store", &url, "--limits", "off"];
    let platform = room.platform(&flags);
    let id = platform.connected("a", &service);
    for n in 0..20 {
        platform.call("a.echo", &json!({ "n": n })).is(200);
    }
    wait_until("the first are written", LIMIT, || calls(&platform) == 20);
    way.cut();
    for n in 20..150 {
        platform.call("a.echo", &json!({ "n": n })).is(200);
    }
    wait_until("the others are on disk", LIMIT, || {
        metric(&platform, "trunkline_audit_spool_records") >= 130.0
    });
    assert!(metric(&platform, "trunkline_audit_store_up") < 0.5);
    assert!(metric(&platform, "trunkline_audit_spool_bytes") > 130.0);
    platform.serve().process().signal(Signal::KILL);
    platform.serve().process().wait_exit(LIMIT);
    way.join();
    let platform = room.platform(&flags);
    wait_until("all are written", LIMIT, || calls(&platform) == 150);
    // Not one twice, and the spool is empty.
    wait_until("nothing is left", LIMIT, || {
        metric(&platform, "trunkline_audit_spool_records") < 0.5
    });
    platform.wait_status(&id, "CONNECTED");
    platform.call("a.echo", &json!({ "n": 150 })).is(200);
    wait_until("the next one is written", LIMIT, || calls(&platform) == 151);
    assert!(metric(&platform, "trunkline_audit_lost_total") < 0.5);
    stop(&platform);
    let data = room.path("data");
    let done = maintain(&[
        "audit",
        "verify",
        "--store",
        &url,
        "--data-dir",
        data.to_str().expect("UTF-8"),
    ]);
    assert_eq!(done.code, Some(0), "{done}");
}

#[test]
fn nfr_sec4_what_waits_at_the_end_is_written_by_the_next_start() {
    let database = Database::new();
    let way = Way::to(database.behind());
    let url = database.url(&way);
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&["--store", &url]);
    platform.connected("a", &service);
    way.cut();
    for n in 0..40 {
        platform.call("a.echo", &json!({ "n": n })).is(200);
    }
    stop(&platform);
    way.join();
    let platform = room.platform(&["--store", &url]);
    wait_until("all are written", LIMIT, || calls(&platform) == 40);
    assert!(metric(&platform, "trunkline_audit_lost_total") < 0.5);
}

/// A platform whose store is away, and which knows it.
fn cut_off(room: &Room, url: &str, way: &Way, flags: &[&str]) -> Platform {
    let service = echoing(room, "a").listen(Wire::Http);
    let flags = [&["--store", url, "--audit-spool", "0"], flags].concat();
    let platform = room.platform(&flags);
    platform.connected("a", &service);
    room.keep(service);
    way.cut();
    platform.call("a.echo", &json!({})).is(200);
    wait_until("it knows", LIMIT, || metric(&platform, "trunkline_audit_store_up") < 0.5);
    platform
}

#[test]
fn nfr_sec4_without_room_calls_run_or_are_refused_as_the_operator_says() {
    for (flags, status) in [
        (&[][..], 200),
        (&["--audit-full", "drop"], 200),
        (&["--audit-full", "refuse"], 503),
        (&["--audit-required"], 503),
    ] {
        let database = Database::new();
        let way = Way::to(database.behind());
        let room = Room::new();
        let platform = cut_off(&room, &database.url(&way), &way, flags);
        assert_eq!(platform.call("a.echo", &json!({})).status(), status, "{flags:?}");
        if status == 503 {
            let answer = platform.mcp(ADMIN).call("a.echo", "{}");
            let error: Value = serde_json::from_slice(&answer.0).expect("JSON");
            assert_eq!(error["error"]["code"], -31014, "{error:#}");
        }
        way.join();
        wait_until("calls run", LIMIT, || platform.call("a.echo", &json!({})).status() == 200);
    }
}

#[test]
fn nfr_sec4_without_room_calls_wait_where_the_operator_says_so() {
    let database = Database::new();
    let way = Way::to(database.behind());
    let room = Room::new();
    let platform = cut_off(&room, &database.url(&way), &way, &["--audit-full", "block"]);
    let mcp = platform.mcp(ADMIN);
    std::thread::scope(|scope| {
        let rest = scope.spawn(|| platform.call("a.echo", &json!({})).status());
        scope.spawn(|| mcp.assert_echo("a", "echo", "{}"));
        // Both are under way before there is room again; if not, they run all the same.
        way.join();
        assert_eq!(rest.join().expect("an answer"), 200);
    });
}

#[test]
fn nfr_sec4_two_switches_for_one_thing_are_refused() {
    let done = maintain(&["serve", "--audit-required", "--audit-full", "drop", "--data-dir", "x"]);
    assert_eq!(done.code, Some(2), "{done}");
    let done = maintain(&["serve", "--audit-full", "perhaps", "--data-dir", "x"]);
    done.bad(2, &["drop, block or refuse"]);
}
