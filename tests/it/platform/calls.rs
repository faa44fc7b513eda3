//! US4: a call finds its server by either name, and says clearly why it does not.

use std::time::Duration;

use kit::mcp::Speak;
use kit::platform::{ADMIN, CALL, Platform, SERVERS, remote};
use kit::room::Room;
use kit::service::Wire;
use kit::streamable::Streamable;
use kit::{LIMIT, ledger, process, say};
use serde_json::{Value, json};

use super::echoing;

/// `a` and `b` have a tool of the same name.
fn pair(room: &Room) -> (Platform, [String; 2]) {
    let platform = room.platform(&[]);
    let ids = ["a", "b"].map(|name| {
        let service = echoing(room, name).listen(Wire::Http);
        let id = platform.connected(name, &service);
        room.keep(service);
        id
    });
    (platform, ids)
}

#[track_caller]
fn assert_metadata(result: &Value, server: &str) {
    let metadata = &result["metadata"];
    assert_eq!(metadata["routed_to"], server, "{result}");
    for time in ["routing_time_ms", "execution_time_ms"] {
        assert!(metadata[time].as_f64().is_some_and(|time| time >= 0.0), "{result}");
    }
}

#[test]
fn us4_ac1_us7_ac4_a_namespaced_name_reaches_its_server_and_no_other() {
    let room = Room::new();
    let (platform, _) = pair(&room);
    for (name, other) in [("a", "b"), ("b", "a")] {
        let before = ledger::calls(&room.ledger(other)).len();
        let result = platform.call(&format!("{name}.echo"), &json!({ "to": name })).is(200);
        assert_eq!(result["structuredContent"]["from"], name);
        assert_eq!(result["structuredContent"]["arguments"], json!({ "to": name }));
        assert_metadata(&result, name);
        assert_eq!(ledger::calls(&room.ledger(other)).len(), before);
        let client = platform.mcp(ADMIN);
        client.assert_echo(name, "echo", r#"{"over":"mcp"}"#);
    }
}

#[test]
fn us4_ac2_us7_ac4_an_original_name_with_a_server_id_reaches_its_server() {
    let room = Room::new();
    let (platform, ids) = pair(&room);
    for (name, id) in ["a", "b"].iter().zip(&ids) {
        let body = json!({ "name": "echo", "server_id": id, "arguments": { "to": name } });
        let result = platform.admin().post(CALL, &body).is(200);
        assert_eq!(result["structuredContent"]["from"], *name);
        assert_metadata(&result, name);
    }
}

#[test]
fn us4_ac2_arguments_may_be_left_out() {
    let room = Room::new();
    let (platform, _) = pair(&room);
    for body in [json!({ "name": "a.echo" }), json!({ "name": "a.echo", "arguments": null })] {
        platform.admin().post(CALL, &body).is(200);
    }
}

#[test]
fn us4_ac3_a_disconnected_server_is_503_with_who_it_is_and_how() {
    let room = Room::new();
    let (platform, [id, _]) = pair(&room);
    platform.act(&id, "disconnect").is(200);
    for body in [json!({ "name": "a.echo" }), json!({ "name": "echo", "server_id": id })] {
        let problem = platform.admin().post(CALL, &body).problem(503, "server-unavailable");
        let server = json!({ "id": id, "name": "a", "status": "DISCONNECTED" });
        assert_eq!(problem["server"], server, "{problem:#}");
    }
    platform.call("b.echo", &json!({})).is(200);
    assert!(ledger::calls(&room.ledger("a")).is_empty());
}

#[test]
fn us4_ac3_a_server_that_has_gone_is_503_with_who_it_is() {
    let room = Room::new();
    let a = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&["--health-interval", "1s"]);
    let id = platform.connected("a", &a);
    a.kill();
    platform.wait_status(&id, "ERROR");
    let ask = Platform::call_ask("a.echo", "{}");
    let answer = platform.admin().begin(&ask).response(3 * LIMIT);
    assert_eq!(answer.status(), 503, "{}", answer.text());
    let problem: Value = serde_json::from_slice(&answer.body).expect("a problem");
    assert_eq!(problem["type"], "urn:trunkline:problem:server-unavailable");
    assert_eq!(problem["server"]["id"], id);
    assert_eq!(problem["server"]["name"], "a");
}

#[test]
fn us4_ac7_a_tool_that_is_not_there_is_404_and_nobody_is_asked() {
    let room = Room::new();
    let (platform, ids) = pair(&room);
    for (body, name) in [
        (json!({ "name": "a.nothing" }), "no-such-tool"),
        (json!({ "name": "c.echo" }), "no-such-tool"),
        (json!({ "name": "echo" }), "no-such-tool"),
        (json!({ "name": "A.echo" }), "no-such-tool"),
        (json!({ "name": "a.echo.echo" }), "no-such-tool"),
        (json!({ "name": "nothing", "server_id": ids[0] }), "no-such-tool"),
        (json!({ "name": "a.echo", "server_id": ids[1] }), "no-such-tool"),
        (json!({ "name": "echo", "server_id": "nobody" }), "no-such-server"),
    ] {
        platform.admin().post(CALL, &body).problem(404, name);
    }
    for body in [json!({}), json!({ "name": "" }), json!({ "name": "a.echo", "arguments": [] })] {
        platform.admin().post(CALL, &body).problem(422, "invalid");
    }
    for name in ["a", "b"] {
        assert!(ledger::calls(&room.ledger(name)).is_empty());
    }
}

#[test]
fn us4_ac8_nfr_s4_many_calls_to_one_server_at_once_each_get_their_own_answer() {
    const MANY: usize = 64;
    let room = Room::new();
    let wait = say::steps([
        say::gate(&room, "go"),
        say::result(r#"{"content":[],"structuredContent":@ARGS@}"#),
    ]);
    let a = room.fake("a").tool("wait", wait).listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("a", &a);
    let mut open: Vec<_> = (0..MANY)
        .map(|n| platform.admin().begin(&Platform::call_ask("a.wait", &format!(r#"{{"n":{n}}}"#))))
        .collect();
    process::wait_until("all calls are at the server", LIMIT, || {
        ledger::calls(&room.ledger("a")).len() == MANY
    });
    room.open_gate("go");
    for (n, connection) in open.iter_mut().enumerate() {
        let answer = connection.response(LIMIT);
        let result: Value = serde_json::from_slice(&answer.body).expect("a result");
        assert_eq!(result["structuredContent"], json!({ "n": n }), "{}", answer.text());
    }
    assert_eq!(ledger::calls(&room.ledger("a")).len(), MANY, "each was sent once");
}

#[test]
fn calls_over_the_limit_of_a_server_wait_for_those_before_them() {
    const MOST: usize = 2;
    const ALL: usize = 6;
    let room = Room::new();
    let wait = say::steps([say::gate(&room, "go"), say::text("done")]);
    let a = room.fake("a").tool("wait", wait).listen(Wire::Http);
    let platform = room.platform(&[]);
    let mut body = remote("a", &a);
    body["max_concurrency"] = MOST.into();
    let id = kit::platform::id_of(&platform.register(&body));
    platform.wait_status(&id, "CONNECTED");
    assert_eq!(platform.admin().get(&format!("{SERVERS}/{id}")).is(200)["max_concurrency"], MOST);
    let mut open: Vec<_> =
        (0..ALL).map(|_| platform.admin().begin(&Platform::call_ask("a.wait", "{}"))).collect();
    process::wait_until("the first are there", LIMIT, || {
        ledger::calls(&room.ledger("a")).len() >= MOST
    });
    // Requests of another kind get through, and after one of them no further call has come.
    platform.server(&id);
    assert_eq!(ledger::calls(&room.ledger("a")).len(), MOST);
    room.open_gate("go");
    for connection in &mut open {
        let answer = connection.response(LIMIT);
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }
}

/// Nobody can be asked for a call over REST: not whoever else has a call with the same server.
#[test]
fn what_a_call_over_rest_leads_to_is_asked_of_nobody_else() {
    let room = Room::new();
    let params = r#"{"message":"who?","requestedSchema":{"type":"object"}}"#;
    let heard = say::result(r#"{"content":[],"structuredContent":{"heard":@ANSWER@}}"#);
    let ask = say::steps([say::ask("elicitation/create", params), heard]);
    let wait = say::steps([say::gate(&room, "go"), say::text("waited")]);
    let entry = room.fake("a").tool("ask", ask).tool("wait", wait).entry();
    let config = room.config([("a", entry)]);
    let platform = room.platform(&["--config", config.to_str().expect("UTF-8")]);
    process::wait_until("it runs", LIMIT, || platform.tool_names(ADMIN).len() == 2);
    let bearer = format!("Bearer {}", platform.key("caller"));
    let address = platform.serve().address();
    let bob = Streamable::with_headers(address, "/mcp", &[("Authorization", &bearer)]);
    bob.initialize_with("2025-11-25", r#"{"elicitation":{"form":{}}}"#).result();
    let wait = bob.begin("a.wait", "{}");
    let there = || ledger::calls(&room.ledger("a")).len() == 1;
    process::wait_until("a call is open", LIMIT, there);
    let answer = platform.call("a.ask", &json!({})).is(200);
    let told = answer["structuredContent"]["heard"]["error"]["message"].as_str();
    assert!(told.is_some_and(|told| told.contains("per-session")), "{answer:#}");
    room.open_gate("go");
    let waited = bob.answer(&wait, LIMIT);
    assert!(waited.to_string().contains("waited"), "{waited}");
    let asked = bob.try_wait_for(Duration::ZERO, |line| line.method().is_some());
    assert_eq!(asked, None, "it was asked nothing");
}
