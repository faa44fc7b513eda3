//! NFR-SEC4: the audit log goes to a collector (`--audit-export otlp:URL`), in order, and what is lost is counted.

use kit::collector::{Collector, Mood};
use kit::mcp::Speak;
use kit::platform::{ADMIN, Platform};
use kit::process::wait_until;
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, run};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::echoing;

fn exporting(room: &Room, collector: &Collector, protocol: &str) -> Platform {
    let place = format!("otlp:{}/v1/logs", collector.url());
    let mut command =
        room.platform_command(&["--audit-export", &place, "--allow-net", "127.0.0.0/8"]);
    command.env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol);
    command.env("OTEL_EXPORTER_OTLP_LOGS_HEADERS", "X-Key=canary%2d1");
    Platform::start(command)
}

/// Each leaves a record.
fn make_keys(platform: &Platform, count: usize) {
    for n in 0..count {
        platform.make_key(&json!({ "name": format!("k{n}"), "role": "viewer" }));
    }
}

fn stop(platform: &Platform) {
    platform.serve().process().signal(Signal::TERM);
    platform.serve().process().wait_exit(LIMIT);
}

/// The records that the collector has taken, as `--audit-export file:` would have written them.
fn taken(collector: &Collector) -> Vec<Value> {
    let body = |log: &Value| log["body"]["stringValue"].as_str().expect("a text").to_owned();
    let read = |text: String| serde_json::from_str(&text).expect("JSON");
    collector.logs().iter().map(body).map(read).collect()
}

/// Without a gap, each once.
#[track_caller]
fn assert_in_order(records: &[Value]) {
    let seqs: Vec<_> = records.iter().map(|it| it["seq"].as_i64().expect("a number")).collect();
    let first = *seqs.first().expect("records");
    let last = first + i64::try_from(seqs.len()).expect("few");
    assert_eq!(seqs, (first..last).collect::<Vec<_>>());
}

fn lost(platform: &Platform) -> u64 {
    let metrics = platform.admin().get("/metrics").response.text();
    let line = metrics.lines().find_map(|it| it.strip_prefix("trunkline_audit_export_lost_total "));
    line.expect("it is counted").parse().expect("a number")
}

#[test]
fn nfr_sec4_a_collector_gets_every_record_in_order_and_nothing_else() {
    let (room, collector) = (Room::new(), Collector::start(Mood::Taking));
    let platform = exporting(&room, &collector, "http/json");
    make_keys(&platform, 5);
    wait_until("they arrive while it runs", LIMIT, || taken(&collector).len() >= 5);
    make_keys(&platform, 3);
    stop(&platform);
    let records = taken(&collector);
    assert_in_order(&records);
    assert!(records.len() >= 8, "{records:#?}");
    let posted = &collector.posted()[0];
    assert!(posted.head.starts_with("POST /v1/logs HTTP/1.1"), "{}", posted.head);
    assert_eq!(posted.header("content-type"), Some("application/json"));
    assert_eq!(posted.header("x-key"), Some("canary-1"));
    let log = &collector.logs()[0];
    assert_eq!(log["eventName"], "trunkline.audit", "{log:#}");
    let at = log["timeUnixNano"].as_str().and_then(|at| at.parse::<u64>().ok());
    assert!(at.is_some_and(|at| at > 1_700_000_000_000_000_000), "{log:#}");
    let attributes = log["attributes"].as_array().expect("attributes");
    let action =
        json!({"key": "trunkline.audit.action", "value": {"stringValue": records[0]["action"]}});
    assert!(attributes.contains(&action), "{log:#}");
    assert!(!platform.serve().process().stderr().contains("canary"));
}

#[test]
fn nfr_sec4_a_collector_that_is_away_gets_the_records_later_and_calls_do_not_notice() {
    for mood in [Mood::Refusing(503), Mood::Refusing(401)] {
        let (room, collector) = (Room::new(), Collector::start(mood));
        let service = echoing(&room, "a").listen(Wire::Http);
        let platform = exporting(&room, &collector, "http/json");
        platform.connected("a", &service);
        make_keys(&platform, 3);
        wait_until("it is asked", LIMIT, || !collector.posted().is_empty());
        platform.mcp(ADMIN).call("a.echo", "{}").result();
        platform.serve().process().wait_stderr(&["the audit log is not passed on"], LIMIT);
        collector.set(Mood::Taking);
        let has_call = || taken(&collector).iter().any(|it| it["tool"] == "echo");
        wait_until("all arrive", LIMIT, has_call);
        assert_in_order(&taken(&collector));
        assert!(taken(&collector).len() >= 4);
        assert_eq!(lost(&platform), 0);
    }
}

#[test]
fn nfr_sec4_records_that_a_collector_refuses_are_counted_and_named() {
    let (room, collector) = (Room::new(), Collector::start(Mood::Refusing(400)));
    let platform = exporting(&room, &collector, "http/json");
    make_keys(&platform, 3);
    wait_until("what is lost is counted", LIMIT, || lost(&platform) >= 3);
    platform.serve().process().wait_stderr(&["audit records were not passed on", "400"], LIMIT);
    collector.set(Mood::Taking);
    let before = lost(&platform);
    make_keys(&platform, 2);
    wait_until("later ones arrive", LIMIT, || taken(&collector).len() >= 2);
    assert_in_order(&taken(&collector));
    assert_eq!(lost(&platform), before);
}

/// OTLP's partial success: the answer is 200, and some records are lost all the same.
#[test]
fn nfr_sec4_records_that_a_collector_takes_in_part_are_counted_and_named() {
    for protocol in ["http/json", "http/protobuf"] {
        let (room, collector) = (Room::new(), Collector::start(Mood::TakingAllBut(1)));
        let platform = exporting(&room, &collector, protocol);
        make_keys(&platform, 1);
        wait_until("what is lost is counted", LIMIT, || lost(&platform) >= 1);
        let words = ["audit records were not passed on", "taken all but 1: too old"];
        platform.serve().process().wait_stderr(&words, LIMIT);
        collector.set(Mood::Taking);
        let (before, asked) = (lost(&platform), collector.posted().len());
        make_keys(&platform, 2);
        wait_until("later ones arrive", LIMIT, || collector.posted().len() > asked);
        assert!(lost(&platform) <= before + 1, "only what the collector has said");
    }
}

#[test]
fn nfr_sec4_a_collector_that_says_nothing_does_not_hold_up_the_end() {
    let (room, collector) = (Room::new(), Collector::start(Mood::Silent));
    let platform = exporting(&room, &collector, "http/protobuf");
    make_keys(&platform, 3);
    wait_until("it is asked", LIMIT, || !collector.posted().is_empty());
    let kind = collector.posted()[0].header("content-type").map(str::to_owned);
    assert_eq!(kind.as_deref(), Some("application/x-protobuf"));
    stop(&platform);
    let said = ["audit records were not passed on", "before the end"];
    platform.serve().process().wait_stderr(&said, LIMIT);
}

#[test]
fn nfr_sec4_an_address_of_a_collector_that_cannot_be_meant_is_refused() {
    let room = Room::new();
    for place in ["otlp:", "otlp:h:4318", "otlp:ftp://h/v1/logs", "otlp:http://u:canary@h/"] {
        let done = run::run(room.platform_command(&["--audit-export", place]), b"");
        done.bad(2, &["--audit-export", "otlp:http"]);
    }
}
