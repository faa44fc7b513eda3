//! US5: a connected server with many errors is degraded, and recovers.

use kit::LIMIT;
use kit::platform::{Platform, SERVERS};
use kit::room::Room;
use kit::say;
use kit::service::Wire;
use serde_json::{Value, json};

/// A server with a tool that works and one that fails.
fn moody(room: &Room) -> (Platform, String) {
    let failing = json!([say::error(r#"{"code":-32603,"message":"broken"}"#)]);
    let service = room
        .fake("a")
        .tool("good", json!([say::text("ok")]))
        .tool("bad", failing)
        .listen(Wire::Http);
    let platform = room.platform(&["--health-interval", "1s"]);
    let id = platform.connected("a", &service);
    room.keep(service);
    (platform, id)
}

#[track_caller]
fn calls(platform: &Platform, tool: &str, count: usize) {
    for _ in 0..count {
        let answer = platform.call(&format!("a.{tool}"), &json!({}));
        assert_eq!(answer.status(), if tool == "good" { 200 } else { 502 }, "{answer}");
    }
}

#[test]
fn us5_ac4_elevated_errors_make_a_connected_server_degraded_until_they_are_few() {
    let room = Room::new();
    let (platform, id) = moody(&room);
    calls(&platform, "good", 5);
    calls(&platform, "bad", 10);
    let server = platform.wait_status(&id, "DEGRADED");
    assert_eq!(server["health"]["status"], "degraded", "{server:#}");
    assert!(server["health"]["error_rate"].as_f64().is_some_and(|rate| rate >= 0.2), "{server:#}");
    // It is still used.
    calls(&platform, "good", 140);
    platform.wait_status(&id, "CONNECTED");
}

#[test]
fn us5_ac4_a_few_errors_are_no_reason() {
    let room = Room::new();
    let (platform, id) = moody(&room);
    calls(&platform, "good", 20);
    calls(&platform, "bad", 2);
    let server = platform.wait_server(&id, "they are counted", LIMIT, |server| {
        server["health"]["error_rate"].as_f64().is_some_and(|rate| rate > 0.0)
    });
    assert_eq!(server["status"], "CONNECTED", "{server:#}");
}

#[test]
fn us5_ac7_a_server_has_windows_of_response_times_and_error_rates() {
    let room = Room::new();
    let (platform, id) = moody(&room);
    calls(&platform, "good", 6);
    calls(&platform, "bad", 2);
    let path = format!("{SERVERS}/{id}/health");
    let mut window = Value::Null;
    kit::process::wait_until("the calls are counted", LIMIT, || {
        let report = platform.admin().get(&path).is(200);
        window = report["windows"][0].clone();
        window["calls"] == 8
    });
    assert_eq!(window["failed_calls"], 2, "{window:#}");
    assert!(
        window["response_time_ms"]["p95"].as_f64().is_some_and(|time| time > 0.0),
        "{window:#}"
    );
    assert!(
        window["error_rate"].as_f64().is_some_and(|rate| rate > 0.0 && rate < 1.0),
        "{window:#}"
    );
    assert!(window["seconds"].as_u64().is_some_and(|seconds| seconds > 0), "{window:#}");
}
