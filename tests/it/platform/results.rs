//! US4: what goes through a call is unchanged to the byte, and failures keep what was said.

use kit::corpus;
use kit::platform::{Platform, remote};
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, ledger, say, scan};
use serde_json::{Value, json};

use super::echoing;

/// One server that answers every tool with this.
fn answering(room: &Room, steps: Value) -> Platform {
    let service = room.fake("a").tool("do", steps).listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("a", &service);
    room.keep(service);
    platform
}

/// The answer's body.
#[track_caller]
fn call(platform: &Platform, arguments: &str) -> Vec<u8> {
    let answer = platform.admin().send(&Platform::call_ask("a.do", arguments));
    assert_eq!(answer.status(), 200, "{answer}");
    answer.response.body
}

/// Short enough for a body of the API.
fn values() -> Vec<String> {
    let mut values = corpus::values();
    values.retain(|value| value.len() < 100_000 && !value.contains(['\n', '\r']));
    values
}

#[test]
fn us4_ac4_arguments_reach_the_server_as_they_were_written() {
    let room = Room::new();
    let platform = answering(&room, json!([say::text("ok")]));
    let sent: Vec<String> =
        values().iter().map(|value| format!(r#"{{ "v" : {value} }}"#)).collect();
    assert!(sent.len() > 50, "a corpus");
    for arguments in &sent {
        call(&platform, arguments);
    }
    let got = ledger::calls(&room.ledger("a"));
    assert_eq!(got.len(), sent.len());
    for (line, arguments) in got.iter().zip(&sent) {
        let seen = scan::path(line, &["params", "arguments"]).unwrap_or_default();
        assert_eq!(String::from_utf8_lossy(seen), *arguments);
        assert_eq!(scan::path(line, &["params", "name"]), Some(&b"\"do\""[..]));
    }
}

#[test]
fn us4_ac5_a_result_comes_back_as_the_server_wrote_it() {
    let room = Room::new();
    let platform = answering(&room, say::mirror());
    for value in values() {
        let result = format!(r#"{{"content":[], "x" :{value}}}"#);
        let body = call(&platform, &result);
        let kept = &result.as_bytes()[..result.len() - 1];
        assert!(body.starts_with(kept), "{}", String::from_utf8_lossy(&body));
        let ours = String::from_utf8_lossy(&body[kept.len()..]).into_owned();
        assert!(ours.starts_with(r#","metadata":{"routed_to":"a","#), "{ours}");
        assert!(ours.ends_with("}}"), "{ours}");
    }
}

#[test]
fn us4_ac5_a_result_with_metadata_of_its_own_keeps_it() {
    let room = Room::new();
    let platform = answering(&room, say::mirror());
    let body = call(&platform, r#"{"metadata":{"mine":1.0}}"#);
    let result: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(scan::path(&body, &["metadata", "mine"]), Some(&b"1.0"[..]));
    assert_eq!(result["_trunkline"]["routed_to"], "a");
}

#[test]
fn us4_ac5_a_tool_that_says_it_failed_is_a_result() {
    let room = Room::new();
    let raw = r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#;
    let platform = answering(&room, json!([say::result(raw)]));
    let body = call(&platform, "{}");
    assert_eq!(scan::get(&body, "isError"), Some(&b"true"[..]));
}

#[test]
fn us4_ac5_an_error_of_the_server_is_a_problem_that_holds_it() {
    let room = Room::new();
    let raw = r#"{"code":-32099,"message":"not today","data":{"n":1.0}}"#;
    let platform = answering(&room, json!([say::error(raw)]));
    let answer = platform.call("a.do", &json!({}));
    let problem = answer.problem(502, "server-error");
    assert_eq!(scan::get(&answer.response.body, "error"), Some(raw.as_bytes()));
    assert!(problem["detail"].as_str().is_some_and(|text| text.contains("not today")));
}

#[test]
fn us4_ac5_a_call_that_is_not_answered_in_time_may_have_run() {
    let room = Room::new();
    let service = room.fake("a").tool("do", say::never()).listen(Wire::Http);
    let platform = room.platform(&[]);
    let mut body = remote("a", &service);
    body["call_timeout"] = 1.into();
    let id = kit::platform::id_of(&platform.register(&body));
    platform.wait_status(&id, "CONNECTED");
    let problem = platform.call("a.do", &json!({})).problem(504, "timeout");
    let said = format!("{} {}", problem["detail"], problem["hint"]);
    assert!(said.contains("may have run"), "{said}");
    assert_eq!(ledger::calls(&room.ledger("a")).len(), 1, "and is not repeated");
}

/// 003 promises 50 ms; the server's own time is told apart from ours.
#[test]
fn us4_ac6_routing_time_is_told_apart_from_the_servers_own() {
    const PAUSE: u64 = 200;
    let turn = crate::ONE_AT_A_TIME.lock();
    let room = Room::new();
    let platform = answering(&room, json!([say::pause(PAUSE), say::text("slow")]));
    let mut routing: Vec<f64> = (0..15)
        .map(|_| {
            let result = platform.call("a.do", &json!({})).is(200);
            let time = |name: &str| result["metadata"][name].as_f64().expect("a time");
            assert!(time("execution_time_ms") >= PAUSE as f64, "{result}");
            time("routing_time_ms")
        })
        .collect();
    drop(turn);
    routing.sort_by(f64::total_cmp);
    assert!(routing[7] < 50.0, "the median of {routing:?}");
}

#[test]
fn large_arguments_and_results_pass_over_rest() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("a", &service);
    let text = "x".repeat(2 << 20);
    let ask = Platform::call_ask("a.echo", &format!(r#"{{"text":"{text}"}}"#));
    let answer = platform.admin().begin(&ask).response(LIMIT);
    assert_eq!(answer.status(), 200);
    let got = scan::path(&answer.body, &["structuredContent", "arguments", "text"]);
    assert_eq!(got.map(<[u8]>::len), Some(text.len() + 2));
}
