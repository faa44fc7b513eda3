//! US5: what `/metrics` exposes, read as Prometheus reads it.

use kit::platform::Platform;
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, process, say};
use serde_json::json;

/// One sample: name, labels as written, value.
type Sample = (String, String, f64);

#[track_caller]
fn samples(platform: &Platform) -> Vec<Sample> {
    let answer = platform.admin().get("/metrics");
    assert_eq!(answer.status(), 200, "{answer}");
    let kind = answer.header("content-type").unwrap_or_default();
    assert!(kind.starts_with("text/plain"), "{answer}");
    let text = answer.response.text();
    assert!(text.ends_with('\n'), "a last line without its end is not read");
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(sample).collect()
}

#[track_caller]
fn sample(line: &str) -> Sample {
    let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no value: {line}"));
    let value = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
    match series.split_once('{') {
        Some((name, labels)) => {
            let labels = labels.strip_suffix('}').unwrap_or_else(|| panic!("no end: {line}"));
            (name.to_owned(), labels.to_owned(), value)
        }
        None => (series.to_owned(), String::new(), value),
    }
}

fn sum(samples: &[Sample], name: &str, label: &str) -> f64 {
    let wanted = samples.iter().filter(|(of, labels, _)| of == name && labels.contains(label));
    wanted.map(|(.., value)| value).sum()
}

#[test]
fn us5_ac7_response_times_and_errors_of_each_server_are_exposed() {
    let room = Room::new();
    let failing = json!([say::error(r#"{"code":-32603,"message":"broken"}"#)]);
    let service = room
        .fake("a")
        .tool("good", json!([say::text("ok")]))
        .tool("bad", failing)
        .listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("a", &service);
    for tool in ["good", "good", "good", "bad"] {
        platform.call(&format!("a.{tool}"), &json!({}));
    }
    process::wait_until("the calls are counted", LIMIT, || {
        sum(&samples(&platform), "trunkline_calls_total", r#"server="a""#) == 4.0
    });
    let samples = samples(&platform);
    assert_eq!(sum(&samples, "trunkline_calls_total", r#"outcome="ok""#), 3.0, "{samples:?}");
    assert_eq!(sum(&samples, "trunkline_call_seconds_count", r#"server="a""#), 4.0);
    assert!(sum(&samples, "trunkline_call_seconds_sum", r#"server="a""#) > 0.0);
    let most = samples.iter().find(|(name, labels, _)| {
        name == "trunkline_call_seconds_bucket" && labels.contains(r#"le="+Inf""#)
    });
    assert_eq!(most.map(|(.., value)| *value), Some(4.0));
    assert!(sum(&samples, "trunkline_server_up", r#"server="a""#) >= 1.0, "{samples:?}");
    for name in ["trunkline_sessions", "trunkline_audit_lost_total", "process_open_fds"] {
        assert!(samples.iter().any(|(of, ..)| of == name), "no {name}");
    }
}

#[test]
fn us5_ac7_a_server_that_is_removed_is_no_longer_exposed() {
    let room = Room::new();
    let service = room.fake("a").tool("good", json!([say::text("ok")])).listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("a", &service);
    assert!(sum(&samples(&platform), "trunkline_server_up", r#"server="a""#) >= 1.0);
    let gone = platform.admin().delete(&format!("{}/{id}", kit::platform::SERVERS));
    assert_eq!(gone.status(), 204);
    process::wait_until("it is not exposed", LIMIT, || {
        !samples(&platform).iter().any(|(name, labels, _)| {
            name == "trunkline_server_up" && labels.contains(r#"server="a""#)
        })
    });
}
