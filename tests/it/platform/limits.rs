//! What one key may have: over every way in together, by default, and as it is changed while clients are connected.

use std::net::SocketAddr;

use kit::dashboard::Person;
use kit::http::{Ask, Connection};
use kit::legacy_sse::LegacySse;
use kit::mcp::{self, Speak};
use kit::platform::{ADMIN, CALL, KEYS, Platform};
use kit::process::wait_until;
use kit::room::Room;
use kit::{LIMIT, ledger, say};
use serde_json::{Value, json};

const LIMITED: i64 = -31016;

/// So slow that nothing comes back while a test runs, however slow that is.
const HARDLY: f64 = 0.001;

/// A platform whose server `a` echoes and waits.
fn house(room: &Room, flags: &[&str]) -> Platform {
    let fake = super::echoing(room, "a").tool("never", say::never());
    room.config([("a", fake.entry())]);
    let config = room.path("mcp.json");
    let platform = room.platform(&[&["--config", config.to_str().expect("UTF-8")], flags].concat());
    wait_until("it runs", LIMIT, || platform.tool_names(ADMIN).len() == 2);
    platform
}

/// A key with these limits: its id and the key itself.
fn key(platform: &Platform, limits: &Value) -> (String, String) {
    let made = platform.make_key(&json!({ "name": "ci", "role": "caller", "limits": limits }));
    let text = |name: &str| made[name].as_str().expect("a text").to_owned();
    (text("id"), text("key"))
}

fn shown(platform: &Platform, id: &str) -> Value {
    let keys = platform.admin().get(KEYS).is(200);
    let mut keys = keys["keys"].as_array().expect("keys").iter();
    keys.find(|key| key["id"] == id).expect("the key").clone()
}

/// A key that is limited to two connections has two, whatever it asks over them.
#[track_caller]
fn has_two_connections(address: SocketAddr, ask: &Ask) {
    let mut held: Vec<_> = (0..2).map(|_| Connection::open(address)).collect();
    assert!(held.iter_mut().all(|connection| connection.ask(ask).status() == 200));
    let refused = Connection::open(address).ask(ask);
    assert_eq!(refused.status(), 429, "{}", refused.text());
    assert!(refused.text().contains("key `ci` is limited to 2 connections"), "{}", refused.text());
    assert_eq!(held[0].ask(ask).status(), 200, "one that is open stays");
    held.pop();
    wait_until("one has left", LIMIT, || Connection::open(address).ask(ask).status() == 200);
}

#[test]
fn limits_of_a_key_hold_over_every_way_in_together_and_are_seen_everywhere() {
    let room = Room::new();
    let platform = house(&room, &[]);
    let (id, key) = key(&platform, &json!({ "calls_per_second": HARDLY, "burst": 2 }));
    let (address, bearer) = (platform.serve().address(), format!("Bearer {key}"));
    let session = platform.mcp(&key);
    session.call("a.echo", "{}").result();
    let call = json!({ "name": "a.echo", "arguments": {} });
    platform.rest(Some(&key)).post(CALL, &call).is(200);
    // Both have used what the key has: it is refused wherever it comes in.
    let refused = session.call("a.echo", "{}");
    assert_eq!(refused.code(), LIMITED, "{refused}");
    let words = "key `ci` is limited to 0.001 calls a second (2 at once); the call did not run, come again in";
    assert!(refused.message().starts_with(words), "{refused}");
    let answer = platform.rest(Some(&key)).post(CALL, &call);
    let problem = answer.problem(429, "too-many");
    assert!(problem["detail"].as_str().is_some_and(|it| it.starts_with(words)), "{problem}");
    let again = answer.header("retry-after").and_then(|it| it.parse::<u64>().ok());
    assert!(again.is_some_and(|again| (1..=1_000).contains(&again)), "{answer}");
    let headers = [("Authorization", &bearer[..])];
    let sse = LegacySse::with_headers(address, "/sse", &headers);
    sse.initialize("2024-11-05").result();
    assert_eq!(sse.call("a.echo", "{}").code(), LIMITED);
    let modern = platform.serve().modern("{}");
    let ask = modern.dress(mcp::call("1", "a.echo", "{}")).header("Authorization", &bearer);
    let stateless = modern.post(&ask);
    assert_eq!(stateless.status(), 429, "{}", stateless.text());
    assert!(stateless.head.header("retry-after").is_some(), "{}", stateless.head.raw);
    assert_eq!(ledger::calls(&room.ledger("a")).len(), 2, "what is refused does not run");
    // Others are not touched.
    platform.mcp(&platform.key("caller")).call("a.echo", "{}").result();
    platform.call("a.echo", &json!({})).is(200);
    // It is counted, shown and recorded.
    let metrics = platform.admin().get("/metrics").response.text();
    let counted = r#"trunkline_limited_total{scope="caller",limit="calls_per_second"} 4"#;
    assert!(metrics.contains(counted), "{metrics}");
    assert_eq!(shown(&platform, &id)["limited_calls"], 4);
    assert_eq!(platform.admin().get("/api/v1/overview").is(200)["limited_calls"], 4);
    let person = Person::signed_in(&platform, ADMIN);
    assert!(person.page("/clients").contains("4 calls refused"));
    assert!(person.page("/").contains("4 refused by limits"));
    platform.wait_audit("a refusal", |it| it["outcome"] == "refused" && it["principal"] == "ci");
    // Other limits hold at once, also for the session that is open.
    let path = format!("{KEYS}/{id}");
    let changed =
        platform.admin().patch(&path, &json!({ "limits": { "burst": 0, "calls_per_second": 0 } }));
    assert_eq!(changed.is(200)["limits"]["calls_per_second"], 0);
    wait_until("it passes", LIMIT, || session.call("a.echo", "{}").try_result().is_some());
    sse.call("a.echo", "{}").result();
    let record = platform.wait_audit("the change", |it| it["action"] == "limit-key");
    assert!(
        record["detail"].as_str().is_some_and(|it| it.contains("calls_per_second 0")),
        "{record}"
    );
}

/// What no server answers costs as well: it counts with the calls.
#[test]
fn limits_of_a_key_hold_for_searches_and_tests_of_policies_together_with_calls() {
    let room = Room::new();
    let platform = house(&room, &[]);
    let limits = json!({ "calls_per_second": HARDLY, "burst": 3 });
    let made = platform.make_key(&json!({ "name": "ci", "role": "operator", "limits": limits }));
    let token = made["key"].as_str().expect("a key");
    let rest = platform.rest(Some(token));
    let search = json!({ "query": "echo" });
    let test = json!({ "principal": "admin", "action": "call", "resource": "tool:a.echo" });
    let call = json!({ "name": "a.echo", "arguments": {} });
    rest.post("/api/v1/search", &search).is(200);
    rest.post("/api/v1/policy-test", &test).is(200);
    rest.post(CALL, &call).is(200);
    let words = "key `ci` is limited to 0.001 calls a second (3 at once)";
    for (path, body) in [("/api/v1/search", &search), ("/api/v1/policy-test", &test), (CALL, &call)]
    {
        let answer = rest.post(path, body);
        let problem = answer.problem(429, "too-many");
        assert!(problem["detail"].as_str().is_some_and(|it| it.starts_with(words)), "{problem}");
        let again = answer.header("retry-after").and_then(|it| it.parse::<u64>().ok());
        assert!(again.is_some_and(|again| (1..=1_000).contains(&again)), "{answer}");
    }
    let session = platform.mcp(token);
    assert_eq!(session.call("a.echo", "{}").code(), LIMITED);
    assert_eq!(shown(&platform, kit::platform::id_of(&made).as_str())["limited_calls"], 4);
    // What only looks is not counted, and whoever runs the platform can always ask.
    rest.get("/api/v1/tools").is(200);
    for _ in 0..5 {
        platform.admin().post("/api/v1/search", &search).is(200);
    }
    // What a search answers is counted as well.
    let bytes = json!({ "result_bytes_per_minute": 100 });
    let made = platform.make_key(&json!({ "name": "b", "role": "viewer", "limits": bytes }));
    let rest = platform.rest(made["key"].as_str());
    rest.post("/api/v1/search", &search).is(200);
    rest.post("/api/v1/search", &search).problem(429, "too-many");
}

#[test]
fn limits_of_a_key_are_changed_in_the_dashboard() {
    let room = Room::new();
    let platform = house(&room, &[]);
    let person = Person::signed_in(&platform, ADMIN);
    let fields =
        [("name", "ci"), ("role", "caller"), ("open_calls", "3"), ("calls_per_second", "0.5")];
    person.submit("/clients", "/clients/keys", &fields);
    let keys = platform.admin().get(KEYS).is(200);
    let key = &keys["keys"][0];
    assert_eq!((&key["limits"]["open_calls"], &key["limits"]["burst"]), (&json!(3), &Value::Null));
    let page = person.page("/clients");
    assert!(page.contains("Open calls: 3") && page.contains("Calls per second: 0.5"), "{page}");
    let action = format!("/clients/keys/{}/limits", key["id"].as_str().expect("an id"));
    let wrong = person.submit(&action, &action, &[("open_calls", "many")]);
    assert!(wrong.text().contains("value=\"many\""), "what was written stays: {}", wrong.text());
    person.submit(&action, &action, &[("open_calls", "0"), ("sessions", "5")]);
    let limits = shown(&platform, key["id"].as_str().expect("an id"))["limits"].clone();
    assert_eq!((&limits["open_calls"], &limits["sessions"]), (&json!(0), &json!(5)));
    assert_eq!(limits["calls_per_second"], Value::Null, "as a whole");
}

#[test]
fn limits_that_are_wrong_are_named_over_rest() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let body = json!({ "name": "a", "role": "caller", "limits": { "opencalls": 1, "burst": -1 } });
    let problem = platform.admin().post(KEYS, &body).problem(422, "invalid");
    let text = problem.to_string();
    assert!(text.contains("/limits/burst") && text.contains("/limits/opencalls"), "{text}");
    platform
        .admin()
        .patch(&format!("{KEYS}/none"), &json!({ "limits": {} }))
        .problem(404, "no-such-key");
}

/// Opens calls that are never answered until one is refused; how many were taken.
fn open_until_refused(room: &Room, platform: &Platform, token: &str, most: usize) -> usize {
    let session = platform.mcp(token);
    for taken in 0..most {
        let id = session.begin("a.never", "{}");
        let mut refused = false;
        wait_until("it is with its server, or refused", LIMIT, || {
            refused = session
                .try_wait_for(std::time::Duration::ZERO, |it| it.is_answer_to(&id))
                .is_some();
            refused || ledger::calls(&room.ledger("a")).len() > taken
        });
        if refused {
            return taken;
        }
    }
    most
}

#[test]
fn limits_of_a_platform_stop_a_loop_by_default_and_never_the_admin() {
    let room = Room::new();
    let platform = house(&room, &[]);
    assert_eq!(open_until_refused(&room, &platform, &platform.key("caller"), 200), 128);
    let others = Room::new();
    let platform = house(&others, &["--limits", "open_calls=3"]);
    assert_eq!(open_until_refused(&others, &platform, &platform.key("caller"), 10), 3);
    let others = Room::new();
    let platform = house(&others, &["--limits", "off"]);
    assert_eq!(open_until_refused(&others, &platform, &platform.key("caller"), 140), 140);
    let others = Room::new();
    let platform = house(&others, &["--limits", "open_calls=3"]);
    assert_eq!(open_until_refused(&others, &platform, ADMIN, 10), 10);
}

#[test]
fn limits_of_sessions_connections_and_subscriptions_of_a_key() {
    let room = Room::new();
    let resource =
        room.fake("a").resource("x://1", "one").resource("x://2", "two").resource("x://3", "three");
    let fake = resource.capabilities(r#"{"resources":{"subscribe":true},"tools":{}}"#);
    let fake = fake.on("resources/subscribe", json!([say::result("{}")])).tool("echo", say::echo());
    room.config([("a", fake.entry())]);
    let config = room.path("mcp.json");
    let platform = room.platform(&["--config", config.to_str().expect("UTF-8")]);
    wait_until("it runs", LIMIT, || platform.tool_names(ADMIN).len() == 1);
    let address = platform.serve().address();
    // Connections.
    let (_, token) = key(&platform, &json!({ "connections": 2 }));
    let bearer = format!("Bearer {token}");
    let ask =
        Ask::post("/mcp", mcp::initialize("1", "2025-11-25")).header("Authorization", &bearer);
    has_two_connections(address, &ask);
    // Sessions: those of /sse are all in use.
    let (_, token) = key(&platform, &json!({ "sessions": 1 }));
    let bearer = format!("Bearer {token}");
    let _first = LegacySse::with_headers(address, "/sse", &[("Authorization", &bearer)]);
    let ask =
        Ask::get("/sse").header("Accept", "text/event-stream").header("Authorization", &bearer);
    let refused = Connection::open(address).ask(&ask);
    assert_eq!(refused.status(), 429, "{}", refused.text());
    assert!(refused.text().contains("has 1 sessions open"), "{}", refused.text());
    // Subscriptions, in all sessions together.
    let (_, token) = key(&platform, &json!({ "subscriptions": 2 }));
    let (one, other) = (platform.mcp(&token), platform.mcp(&token));
    let subscribe = |client: &kit::streamable::Streamable, uri: &str| {
        let id = client.fresh_id();
        client.request(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/subscribe","params":{{"uri":"{uri}"}}}}"#
        ))
    };
    subscribe(&one, "x://1").result();
    subscribe(&other, "x://2").result();
    let refused = subscribe(&one, "x://3");
    assert_eq!(refused.code(), LIMITED, "{refused}");
    assert!(
        refused.message().contains("limited to 2 subscriptions; the call did not run, end some"),
        "{refused}"
    );
    subscribe(&other, "x://2").result(); // one that it has already
    assert_eq!(other.delete(), 204);
    wait_until("there is room again", LIMIT, || subscribe(&one, "x://3").try_result().is_some());
}

#[test]
fn limits_a_call_over_rest_is_open_no_more_when_its_client_has_gone() {
    let room = Room::new();
    let platform = house(&room, &[]);
    let (_, token) = key(&platform, &json!({ "open_calls": 1 }));
    let bearer = format!("Bearer {token}");
    let call = |tool: &str| {
        let body = json!({ "name": tool, "arguments": {} }).to_string();
        Ask::post(CALL, body)
            .header("Authorization", &bearer)
            .header("Content-Type", "application/json")
    };
    let mut connection = Connection::open(platform.serve().address());
    connection.begin(&call("a.never"));
    wait_until("it is with its server", LIMIT, || ledger::calls(&room.ledger("a")).len() == 1);
    let rest = platform.rest(Some(&token));
    let echo = json!({ "name": "a.echo", "arguments": {} });
    rest.post(CALL, &echo).problem(429, "too-many");
    connection.close();
    wait_until("its place is free", LIMIT, || rest.post(CALL, &echo).status() == 200);
    platform
        .wait_audit("it is recorded", |it| it["tool"] == "never" && it["outcome"] == "cancelled");
}

#[test]
fn limits_of_connections_hold_over_rest_too() {
    let room = Room::new();
    let platform = house(&room, &[]);
    let (_, token) = key(&platform, &json!({ "connections": 2 }));
    let bearer = format!("Bearer {token}");
    let address = platform.serve().address();
    let ask = Ask::get("/api/v1/me").header("Authorization", &bearer);
    has_two_connections(address, &ask);
    let admin = Ask::get("/api/v1/me").header("Authorization", &format!("Bearer {ADMIN}"));
    assert!((0..5).all(|_| Connection::open(address).ask(&admin).status() == 200));
}

#[test]
fn limits_of_addresses_hold_for_calls_over_rest() {
    let room = Room::new();
    let entry = super::echoing(&room, "a").entry();
    let limits = json!({ "perAddress": { "callsPerSecond": HARDLY, "burst": 1 } });
    room.write("mcp.json", json!({ "mcpServers": { "a": entry }, "limits": limits }).to_string());
    let config = room.path("mcp.json");
    let platform = room.platform(&["--config", config.to_str().expect("UTF-8")]);
    wait_until("it runs", LIMIT, || !platform.tool_names(ADMIN).is_empty());
    let call = json!({ "name": "a.echo", "arguments": {} });
    platform.admin().post(CALL, &call).is(200);
    let problem = platform.admin().post(CALL, &call).problem(429, "too-many");
    let detail = problem["detail"].as_str().unwrap_or_default();
    assert!(detail.starts_with("address 127.0.0.1 is limited to"), "{problem}");
}
