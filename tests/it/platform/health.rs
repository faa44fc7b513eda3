//! US5: health is checked at an interval, by a page or by what the server says, and is to be seen.

use std::time::{Duration, Instant};

use kit::limit::Limit;
use kit::page::{Page, Says};
use kit::platform::{Platform, SERVERS, id_of, remote, stdio};
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, bin, ledger, process, run};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::echoing;

const EACH_SECOND: [&str; 2] = ["--health-interval", "1s"];

/// A connected server with this page as its `health_check_url`; its id.
fn watched(room: &Room, page: &Page) -> (Platform, String) {
    let service = echoing(room, "a").listen(Wire::Http);
    let platform = room.platform(&EACH_SECOND);
    let mut body = remote("a", &service);
    body["health_check_url"] = page.url().into();
    let id = id_of(&platform.register(&body));
    room.keep(service);
    platform.wait_status(&id, "CONNECTED");
    (platform, id)
}

fn failures(server: &Value) -> u64 {
    server["health"]["consecutive_failures"].as_u64().expect("a number")
}

#[test]
fn us5_ac1_nfr_p6_checks_run_at_the_interval_that_was_given() {
    let room = Room::new();
    let page = Page::new(Says::Status(200));
    let (platform, id) = watched(&room, &page);
    process::wait_until("several checks", LIMIT, || page.heads().len() >= 4);
    let path = format!("{SERVERS}/{id}/health");
    let report = platform.admin().get(&path).is(200);
    let samples = report["samples"].as_array().cloned().unwrap_or_default();
    assert!(samples.len() >= 3, "{report:#}");
    assert!(samples.iter().all(|sample| sample["ok"] == true), "{report:#}");
}

#[test]
fn us5_ac1_nfr_p6_the_interval_is_thirty_seconds_unless_said_otherwise() {
    let mut help = std::process::Command::new(bin::trunkline());
    help.args(["serve", "--help"]);
    let done = run::run(help, b"");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let about = text.split("--health-interval").nth(1).unwrap_or_default();
    let about = about.split("--").next().unwrap_or_default();
    assert!(about.contains("30s"), "{text}");
}

#[test]
fn us5_ac1_an_interval_that_is_none_is_refused() {
    for wrong in ["soon", "", "1x", "0s"] {
        let room = Room::new();
        let done = run::run(room.platform_command(&["--health-interval", wrong]), b"");
        done.bad(2, &["--health-interval"]);
    }
}

#[test]
fn us5_ac2_the_health_check_url_is_asked() {
    let room = Room::new();
    let page = Page::new(Says::Status(204));
    let (platform, id) = watched(&room, &page);
    let server = platform
        .wait_server(&id, "a check", LIMIT, |server| !server["health"]["last_check"].is_null());
    assert_eq!(server["health"]["status"], "healthy", "{server:#}");
    let head = page.heads().remove(0);
    assert!(head.starts_with("GET /health HTTP/1.1\r\n"), "{head}");
}

/// A server can be read, changed and sent back without its health check losing its key.
#[test]
fn us5_ac2_a_health_check_url_that_comes_back_as_it_was_shown_stays() {
    let room = Room::new();
    let page = Page::new(Says::Status(204));
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&EACH_SECOND);
    let mut body = remote("a", &service);
    body["health_check_url"] = format!("{}?token=geheim", page.url()).into();
    let id = id_of(&platform.register(&body));
    let shown = platform.wait_status(&id, "CONNECTED")["health_check_url"].clone();
    assert!(shown.as_str().is_some_and(|it| it.ends_with("?token=***")), "{shown}");
    let back = json!({ "description": "new", "health_check_url": shown });
    platform.admin().patch(&format!("{SERVERS}/{id}"), &back).is(200);
    let before = page.heads().len();
    process::wait_until("a check after that", LIMIT, || page.heads().len() > before + 1);
    for head in page.heads() {
        assert!(head.starts_with("GET /health?token=geheim HTTP/1.1\r\n"), "{head}");
    }
}

#[test]
fn us5_ac3_without_a_url_health_is_what_the_servers_messages_say() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&EACH_SECOND);
    let id = platform.connected("a", &service);
    let healthy = |server: &Value| {
        server["health"]["status"] == "healthy" && !server["health"]["last_check"].is_null()
    };
    platform.wait_server(&id, "healthy", LIMIT, healthy);
    service.kill();
    platform.wait_server(&id, "failing", LIMIT, |server| {
        server["status"] == "ERROR" && server["health"]["status"] == "failing"
    });
}

/// Nobody calls it and it has nothing to say: only a question can show that it is gone.
#[test]
fn us5_ac3_a_silent_server_in_the_network_that_has_died_is_noticed_and_comes_back() {
    let room = Room::new();
    let silent = json!({ "get": false, "sessions": false, "close_each": "announced" });
    let mut service = echoing(&room, "a").http(silent).listen(Wire::Http);
    let platform = room.platform(&EACH_SECOND);
    let id = platform.connected("a", &service);
    service.kill();
    platform.wait_status(&id, "ERROR");
    service.restart();
    platform.wait_status(&id, "CONNECTED");
    platform.call("a.echo", &json!({})).is(200);
}

/// It is stopped in the middle of everything: its pipes are open, and nothing comes out of them.
#[test]
fn us5_ac3_ac5_a_process_that_does_not_answer_is_an_error_after_three_strikes_and_is_replaced() {
    let room = Room::new();
    let platform = room.platform(&["--allow-stdio-registration", "--health-interval", "1s"]);
    let id = id_of(&platform.register(&stdio("a", &echoing(&room, "a").entry())));
    platform.wait_status(&id, "CONNECTED");
    process::wait_until("it is asked although nobody calls it", LIMIT, || {
        !ledger::with_method(&room.ledger("a"), "ping").is_empty()
    });
    let [pid] = ledger::started(&room.ledger("a"))[..] else { panic!("one process") };
    process::kill(pid, Signal::STOP);
    platform.wait_server(&id, "an error", 2 * LIMIT, |server| server["status"] == "ERROR");
    // Samples are written a moment later.
    process::wait_until("three samples that say so", LIMIT, || {
        let report = platform.admin().get(&format!("{SERVERS}/{id}/health?limit=50")).is(200);
        let failed = |sample: &&Value| {
            let detail = sample["detail"].as_str().unwrap_or_default();
            sample["ok"] == false && detail.contains("no answer within 5 s")
        };
        report["samples"].as_array().expect("samples").iter().filter(failed).count() == 3
    });
    platform.wait_server(&id, "a new process", 2 * LIMIT, |server| server["status"] == "CONNECTED");
    assert_eq!(ledger::started(&room.ledger("a")).len(), 2);
    platform.call("a.echo", &json!({})).is(200);
    // What is asked to see whether it lives is no call of anybody's.
    platform.wait_audit("the call", |record| record["action"] == "call-tool");
    let calls = platform.audit().into_iter().filter(|record| record["action"] == "call-tool");
    assert_eq!(calls.count(), 1);
}

#[test]
fn us5_ac4_ac5_three_failed_checks_in_a_row_are_an_error_and_a_good_one_ends_it() {
    let room = Room::new();
    let page = Page::new(Says::Status(200));
    let (platform, id) = watched(&room, &page);
    for bad in [Says::Status(500), Says::HangUp, Says::Status(404)] {
        page.says(bad);
        let mut seen = Vec::new();
        let deadline = Limit::from(LIMIT).begin();
        let last = loop {
            let server = platform.server(&id);
            seen.push((failures(&server), server["status"].clone()));
            if server["status"] == "ERROR" {
                break server;
            }
            assert!(!deadline.is_over(), "{bad:?}: no ERROR within {deadline}; {server:#}");
            std::thread::sleep(Duration::from_millis(20));
        };
        assert!(failures(&last) >= 3, "{last:#}");
        assert_eq!(last["health"]["status"], "failing", "{last:#}");
        let early = seen.iter().find(|(count, status)| *count < 3 && status == "ERROR");
        assert_eq!(early, None, "{bad:?}");
        assert!(seen.iter().any(|(count, _)| (1..3).contains(count)), "{bad:?}: {seen:?}");
        page.says(Says::Status(200));
        let well = platform.wait_status(&id, "CONNECTED");
        assert_eq!(failures(&well), 0, "{well:#}");
    }
}

#[test]
fn us5_ac5_two_failed_checks_and_a_good_one_are_no_error() {
    let room = Room::new();
    let page = Page::new(Says::Status(200));
    let (platform, id) = watched(&room, &page);
    page.says(Says::Status(503));
    let server = platform.wait_server(&id, "a failed check", LIMIT, |s| failures(s) >= 1);
    page.says(Says::Status(200));
    assert_ne!(server["status"], "ERROR", "{server:#}");
    platform.wait_server(&id, "it counts anew", LIMIT, |server| {
        assert_ne!(server["status"], "ERROR", "{server:#}");
        failures(server) == 0
    });
}

#[test]
fn us5_ac6_the_list_of_servers_shows_how_each_does() {
    let room = Room::new();
    let page = Page::new(Says::Status(200));
    let (platform, id) = watched(&room, &page);
    platform.wait_server(&id, "a check", LIMIT, |server| server["health"]["status"] == "healthy");
    let list = platform.admin().get(SERVERS).is(200);
    let health = &list["servers"][0]["health"];
    assert_eq!(health["status"], "healthy");
    assert_eq!(health["consecutive_failures"], 0);
    assert!(health["last_check"].as_str().is_some_and(|at| at.ends_with('Z')), "{health}");
    // A check is no call: it has times of its own, and says nothing about errors of calls.
    assert!(health["check_time_ms"]["p50"].is_number(), "{health}");
    assert!(health["check_time_ms"]["p95"].is_number(), "{health}");
    assert_eq!(health["response_time_ms"], json!({ "p50": null, "p95": null }), "{health}");
    assert_eq!((&health["calls"], &health["error_rate"]), (&json!(0), &Value::Null), "{health}");
    let overview = platform.admin().get("/api/v1/overview").is(200);
    assert_eq!(overview["response_time_ms"], json!({ "p50": null, "p95": null }), "{overview}");
    platform.call("a.echo", &json!({})).is(200);
    let server = platform.wait_server(&id, "a call", LIMIT, |it| it["health"]["calls"] == 1);
    let health = &server["health"];
    assert!(health["response_time_ms"]["p50"].is_number(), "{health}");
    assert!(health["response_time_ms"]["p95"].is_number(), "{health}");
    assert_eq!(health["error_rate"].as_f64(), Some(0.0), "{health}");
}

/// Five seconds are the promise: shorter would fail servers that are only slow.
#[test]
fn us5_ac8_a_check_that_is_not_answered_fails_after_five_seconds() {
    let room = Room::new();
    let page = Page::new(Says::Status(200));
    let (platform, id) = watched(&room, &page);
    let before = page.heads().len();
    page.says(Says::Silence);
    process::wait_until("a check that hangs", LIMIT, || page.heads().len() > before);
    // It may have been answered just before the page fell silent.
    let before = page.heads().len();
    process::wait_until("a check that hangs for sure", LIMIT, || page.heads().len() > before);
    let path = format!("{SERVERS}/{id}/health?limit=1");
    platform.wait_server(&id, "it fails", LIMIT, |server| failures(server) >= 1);
    let report = platform.admin().get(&path).is(200);
    let sample = &report["samples"][0];
    assert_eq!(sample["ok"], false, "{report:#}");
    assert!(sample["detail"].as_str().is_some_and(|why| !why.is_empty()), "{report:#}");
    let gap = |heads: usize| {
        let start = Instant::now();
        process::wait_until("the next check", LIMIT, || page.heads().len() > heads);
        start.elapsed()
    };
    let took = gap(page.heads().len()).max(gap(page.heads().len()));
    assert!(took >= Duration::from_millis(4500), "checks that hang came after {took:?}");
}

#[test]
fn samples_of_a_server_of_the_config_file_are_kept_over_a_restart() {
    let room = Room::new();
    let config = room.config([("f", echoing(&room, "f").entry())]);
    let flags = ["--health-interval", "1s", "--config", config.to_str().expect("UTF-8")];
    let samples = |platform: &Platform| {
        // Those of the file are there a moment after the start.
        let report = platform.admin().get(&format!("{SERVERS}/file:f/health")).json();
        report["samples"].as_array().cloned().unwrap_or_default()
    };
    let oldest = {
        let platform = room.platform(&flags);
        process::wait_until("samples", LIMIT, || samples(&platform).len() >= 2);
        let oldest = samples(&platform).pop().expect("a sample");
        platform.serve().process().signal(rustix::process::Signal::TERM);
        platform.serve().process().wait_exit(LIMIT);
        oldest
    };
    let platform = room.platform(&flags);
    process::wait_until("the samples of before", LIMIT, || {
        samples(&platform).pop().as_ref() == Some(&oldest)
    });
}

#[test]
fn a_server_that_fails_its_checks_costs_the_others_nothing() {
    let room = Room::new();
    let page = Page::new(Says::Silence);
    let (platform, _) = watched(&room, &page);
    let other = echoing(&room, "b").listen(Wire::Http);
    let id = platform.connected("b", &other);
    platform.wait_server(&id, "healthy", LIMIT, |server| server["health"]["status"] == "healthy");
}
