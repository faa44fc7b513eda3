//! Keys for some tools only: what they may not call they do not see, over REST and in both eras.

use kit::http::Ask;
use kit::mcp::{self, Speak};
use kit::modern::Modern;
use kit::platform::{ADMIN, CALL, Platform, SERVERS, id_of, stdio};
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, ledger, say};
use serde_json::{Value, json};

const SEEN: [&str; 2] = ["a.one", "b.both"];
const HIDDEN: [&str; 2] = ["a.both", "b.one"];

/// Two servers, and a key for one tool of each.
fn house(room: &Room) -> (Platform, String) {
    let platform = room.platform(&[]);
    for name in ["a", "b"] {
        let fake = room.fake(name).tool("one", say::echo()).tool("both", say::echo());
        let service = fake.listen(Wire::Http);
        platform.connected(name, &service);
        room.keep(service);
    }
    let made = platform.make_key(&json!({ "name": "some", "role": "caller", "tools": SEEN }));
    assert_eq!(made["tools"], json!(SEEN));
    (platform, made["key"].as_str().expect("a key").to_owned())
}

/// Wherever tools are counted.
#[test]
fn numbers_of_tools_say_no_more_than_the_list() {
    let room = Room::new();
    let (platform, key) = house(&room);
    for (token, each) in [(&key[..], 1), (ADMIN, 2)] {
        let rest = platform.rest(Some(token));
        let list = rest.get(SERVERS).is(200);
        for server in list["servers"].as_array().expect("servers") {
            assert_eq!(server["tools"], each, "{server:#}");
            let path = format!("{SERVERS}/{}", id_of(server));
            assert_eq!(rest.get(&path).is(200)["tools"], each);
            assert_eq!(rest.get(&format!("{path}/tools")).is(200)["total"], each);
        }
        assert_eq!(rest.get("/api/v1/overview").is(200)["tools"], 2 * each);
    }
}

/// Nor for those who call it: it may quote secrets and what others have sent.
#[test]
fn the_words_of_a_server_are_not_for_those_who_call_it() {
    let room = Room::new();
    let platform = room.platform(&["--allow-stdio-registration"]);
    let caller = platform.key("caller");
    let fake = room.fake("a").tool("echo", say::echo());
    let fake = fake.tool("die", say::steps([say::stderr("it-was-said\n"), say::exit(3)]));
    let id = id_of(&platform.register(&stdio("a", &fake.entry())));
    platform.wait_status(&id, "CONNECTED");
    let answer = platform.mcp(&caller).call("a.die", "{}").to_string();
    assert!(answer.contains("-31001") && answer.contains("may have run"), "{answer}");
    assert!(!answer.contains("stderr") && !answer.contains("it-was-said"), "{answer}");
    let body = json!({ "name": "a.die", "arguments": {} });
    let answer = platform.rest(Some(&caller)).post(CALL, &body).response.text();
    assert!(!answer.contains("it-was-said"), "{answer}");
    // One that does not come up is told of without its words, too.
    let entry = json!({ "command": "sh", "args": ["-c", "echo it-was-said >&2; exit 3"] });
    let id = id_of(&platform.register(&stdio("b", &entry)));
    platform.wait_server(&id, "failed", LIMIT, |server| server["last_error"].is_object());
    let answer = platform.mcp(&caller).call("b.anything", "{}").to_string();
    assert!(answer.contains("exited with code 3"), "{answer}");
    assert!(!answer.contains("it-was-said"), "{answer}");
    let body = json!({ "name": "b.anything", "arguments": {} });
    let answer = platform.rest(Some(&caller)).post(CALL, &body).response.text();
    assert!(!answer.contains("it-was-said"), "{answer}");
    // Those who run the servers read all of it.
    let operator = platform.rest(Some(&platform.key("operator")));
    let words = operator.get(&format!("{SERVERS}/{id}/stderr")).response.text();
    assert!(words.contains("it-was-said"), "{words}");
}

/// What a server writes on its standard error is for those who run it.
#[test]
fn the_words_of_a_server_are_not_for_those_who_only_look() {
    let room = Room::new();
    let platform = room.platform(&["--allow-stdio-registration"]);
    let [viewer, operator] = ["viewer", "operator"].map(|role| platform.key(role));
    let events = Ask::get("/api/v1/events").header("Accept", "text/event-stream");
    let mut events = platform.rest(Some(&viewer)).begin(&events);
    assert_eq!(events.head(LIMIT).status, 200);
    let entry = json!({ "command": "sh", "args": ["-c", "echo it-was-said >&2; exit 3"] });
    let id = id_of(&platform.register(&stdio("a", &entry)));
    platform.wait_server(&id, "failed", LIMIT, |server| server["last_error"].is_object());
    for (token, told) in [(&viewer[..], false), (&operator, true), (ADMIN, true)] {
        let rest = platform.rest(Some(token));
        for path in [SERVERS.to_owned(), format!("{SERVERS}/{id}")] {
            let text = rest.get(&path).is(200).to_string();
            assert!(text.contains("exited with code 3"), "{text}");
            assert_eq!(text.contains("last stderr line: it-was-said"), told, "{text}");
        }
    }
    let failed = loop {
        let event = events.event(LIMIT).expect("an event");
        let told = String::from_utf8_lossy(&event.data).into_owned();
        if told.contains("ERROR") {
            break told;
        }
    };
    assert!(failed.contains("exited with code 3"), "{failed}");
    assert!(!failed.contains("it-was-said"), "{failed}");
}

fn ran(room: &Room) -> usize {
    ["a", "b"].iter().map(|name| ledger::calls(&room.ledger(name)).len()).sum()
}

#[test]
fn over_rest_a_key_sees_and_calls_its_tools_and_no_others() {
    let room = Room::new();
    let (platform, key) = house(&room);
    assert_eq!(platform.tool_names(&key), SEEN);
    assert_eq!(platform.tool_names(ADMIN).len(), 4);
    let rest = platform.rest(Some(&key));
    let list = rest.get("/api/v1/tools").is(200);
    assert_eq!(list["total"], 2, "the number says no more than the list");
    for name in SEEN {
        rest.post(CALL, &json!({ "name": name })).is(200);
    }
    let before = ran(&room);
    let servers = platform.admin().get(kit::platform::SERVERS).is(200);
    for name in HIDDEN {
        let hidden = rest.post(CALL, &json!({ "name": name })).problem(404, "no-such-tool");
        let unknown = rest.post(CALL, &json!({ "name": "a.none" })).problem(404, "no-such-tool");
        let word = |problem: &Value| problem["detail"].as_str().unwrap_or_default().to_owned();
        assert_eq!(word(&hidden).replace(name, "X"), word(&unknown).replace("a.none", "X"));
        let (server, tool) = name.split_once('.').expect("a dot");
        let all = servers["servers"].as_array().into_iter().flatten();
        let id =
            all.filter(|known| known["name"] == server).map(|known| known["id"].clone()).next();
        let body = json!({ "name": tool, "server_id": id });
        rest.post(CALL, &body).problem(404, "no-such-tool");
    }
    assert_eq!(ran(&room), before, "nothing has run");
}

#[test]
fn over_a_session_a_key_sees_and_calls_its_tools_and_no_others() {
    let room = Room::new();
    let (platform, key) = house(&room);
    let client = platform.mcp(&key);
    assert_eq!(client.list_names(), SEEN);
    for name in SEEN {
        client.call(name, "{}").result();
    }
    let before = ran(&room);
    let unknown = client.call("a.none", "{}");
    for name in HIDDEN {
        let hidden = client.call(name, "{}");
        assert_eq!(hidden.code(), unknown.code());
        assert_eq!(hidden.message().replace(name, "X"), unknown.message().replace("a.none", "X"));
    }
    assert_eq!(ran(&room), before, "nothing has run");
}

#[test]
fn in_the_stateless_era_a_key_sees_and_calls_its_tools_and_no_others() {
    let room = Room::new();
    let (platform, key) = house(&room);
    let client = Modern::http(platform.serve().address(), "{}");
    let bearer = format!("Bearer {key}");
    let ask = |message: String| {
        let id = client.start_with(&message, &[("Authorization", &bearer)]);
        client.answer(&id, LIMIT)
    };
    let list = ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#.to_owned());
    let names: Vec<String> = mcp::listed(&list).into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, SEEN);
    for (id, name) in (2..).zip(SEEN) {
        ask(mcp::call(&id.to_string(), name, "{}")).result();
    }
    let before = ran(&room);
    let unknown = ask(mcp::call("10", "a.none", "{}"));
    for (id, name) in (11..).zip(HIDDEN) {
        let hidden = ask(mcp::call(&id.to_string(), name, "{}"));
        assert_eq!(hidden.code(), unknown.code());
        assert_eq!(hidden.message().replace(name, "X"), unknown.message().replace("a.none", "X"));
    }
    assert_eq!(ran(&room), before, "nothing has run");
}

#[test]
fn patterns_stand_for_servers_and_tools_and_an_empty_list_for_nothing() {
    let room = Room::new();
    let (platform, _) = house(&room);
    for (patterns, expected) in [
        (json!(["a.*"]), &["a.both", "a.one"][..]),
        (json!(["*.one"]), &["a.one", "b.one"]),
        (json!(["*"]), &["a.both", "a.one", "b.both", "b.one"]),
        (json!(["a.o*", "b.nothing"]), &["a.one"]),
        (json!([]), &[]),
    ] {
        let body = json!({ "name": "p", "role": "caller", "tools": patterns });
        let made = platform.make_key(&body);
        let key = made["key"].as_str().expect("a key");
        assert_eq!(platform.tool_names(key), expected, "{patterns}");
        assert_eq!(platform.mcp(key).list_names(), expected, "{patterns}");
    }
}

/// The list belongs to the server's name as it is now.
#[test]
fn a_renamed_server_leaves_the_list_of_a_key_for_its_old_name() {
    let room = Room::new();
    let (platform, key) = house(&room);
    let servers = platform.admin().get(kit::platform::SERVERS).is(200);
    let path =
        format!("{}/{}", kit::platform::SERVERS, kit::platform::id_of(&servers["servers"][0]));
    platform.admin().patch(&path, &json!({ "name": "c" })).is(200);
    assert_eq!(platform.tool_names(&key), ["b.both"]);
    platform.rest(Some(&key)).post(CALL, &json!({ "name": "c.one" })).problem(404, "no-such-tool");
}

#[test]
fn who_uses_servers_sees_those_with_a_tool_for_it_and_who_runs_them_sees_all() {
    let room = Room::new();
    let (platform, _) = house(&room);
    let all = platform.admin().get(kit::platform::SERVERS).is(200);
    let all = all["servers"].as_array().cloned().unwrap_or_default();
    for (role, expected) in [
        ("viewer", &["a"][..]),
        ("caller", &["a"]),
        ("operator", &["a", "b"]),
        ("admin", &["a", "b"]),
    ] {
        let made = platform.make_key(&json!({ "name": role, "role": role, "tools": ["a.*"] }));
        let rest = platform.rest(made["key"].as_str());
        let list = rest.get(kit::platform::SERVERS).is(200);
        let names: Vec<_> =
            list["servers"].as_array().into_iter().flatten().map(|it| it["name"].clone()).collect();
        assert_eq!(names, expected, "{role}");
        assert_eq!(list["total"], expected.len(), "{role}");
        for server in &all {
            let is_seen = expected.iter().any(|name| server["name"] == *name);
            let path = format!("{}/{}", kit::platform::SERVERS, kit::platform::id_of(server));
            for path in [path.clone(), format!("{path}/health"), format!("{path}/tools")] {
                let status = if is_seen { 200 } else { 404 };
                assert_eq!(rest.get(&path).status(), status, "{role} {path}");
            }
        }
    }
}

/// What no pattern names is in no list, no number and no answer.
#[test]
fn a_server_that_no_pattern_names_is_nowhere_to_be_found() {
    let room = Room::new();
    let (platform, _) = house(&room);
    let dead = json!({ "name": "dead", "transport_type": "HTTP", "auto_connect": true,
        "connection_config": { "url": "http://127.0.0.1:1/mcp" } });
    let dead = kit::platform::id_of(&platform.register(&dead));
    platform.call("a.one", &json!({})).is(200);
    for (role, tools, expected) in [
        ("viewer", &["a.*"][..], &["a"][..]),
        ("caller", &["a.one"], &["a"]),
        ("caller", &["a.none"], &["a"]),
        ("caller", &["nobody.*"], &[]),
        ("caller", &["*.one"], &["a", "b", "dead"]),
        ("caller", &["*"], &["a", "b", "dead"]),
        ("operator", &["a.*"], &["a", "b", "dead"]),
        ("admin", &["nobody.*"], &["a", "b", "dead"]),
    ] {
        let made = platform.make_key(&json!({ "name": role, "role": role, "tools": tools }));
        let rest = platform.rest(made["key"].as_str());
        let list = rest.get("/api/v1/tools").is(200);
        let names: Vec<_> =
            list["servers"].as_array().into_iter().flatten().map(|it| it["name"].clone()).collect();
        assert_eq!(names, expected, "{role} {tools:?}");
        let metrics = rest.get("/metrics");
        assert_eq!(metrics.status(), 200, "{metrics}");
        for server in ["a", "b", "dead"] {
            let is_told = metrics.response.text().contains(&format!("server=\"{server}\""));
            assert_eq!(is_told, expected.contains(&server), "{role} {tools:?} {server}");
            let one = rest.get(&format!("/api/v1/tools?server={server}")).is(200);
            let groups = one["servers"].as_array().map(Vec::len);
            assert_eq!(groups, Some(usize::from(expected.contains(&server))), "{one:#}");
        }
        if role == "caller" && !expected.contains(&"dead") {
            // By its name and by its id it is like one that never was.
            for id in ["dead", &dead, "never"] {
                let asked = json!({ "name": "x", "server_id": id });
                let problem = rest.post(CALL, &asked).problem(404, "no-such-server");
                assert!(problem.get("server").is_none(), "{problem:#}");
            }
        }
    }
}

/// An operator with some tools may run servers, but not decide which ones its patterns match.
#[test]
fn an_operators_limit_holds_through_new_names_and_new_places() {
    let room = Room::new();
    let [prod, dev] = ["prod", "dev"].map(|name| {
        let service = room.fake(name).tool("one", say::echo()).listen(Wire::Http);
        let url = service.url().to_owned();
        room.keep(service);
        url
    });
    let platform = room.platform(&[]);
    let body = |name: &str, url: &str| json!({ "name": name, "transport_type": "HTTP", "connection_config": { "url": url } });
    let [prod_id, dev_id] = [("prod", &prod), ("dev", &dev)].map(|(name, url)| {
        let id = id_of(&platform.register(&body(name, url)));
        platform.wait_status(&id, "CONNECTED");
        id
    });
    let made = json!({ "name": "some", "role": "operator", "tools": ["dev.*"] });
    let made = platform.make_key(&made);
    let rest = platform.rest(made["key"].as_str());
    let at = |id: &str| format!("{SERVERS}/{id}");
    let moved = json!({ "connection_config": { "url": prod } });
    // What it may do: other names, and the rest of its servers.
    rest.patch(&at(&prod_id), &json!({ "name": "prod2", "description": "x" })).is(200);
    rest.patch(&at(&dev_id), &json!({ "description": "x" })).is(200);
    rest.post(SERVERS, &body("other", &prod)).is(201);
    for refused in [
        rest.post(SERVERS, &body("dev2", &prod)).status(),
        rest.patch(&at(&dev_id), &json!({ "name": "old" })).status(),
    ] {
        assert!(matches!(refused, 200 | 201), "outside of its patterns: {refused}");
    }
    let problem = rest.patch(&at(&prod_id), &json!({ "name": "dev" })).problem(403, "forbidden");
    assert!(problem["hint"].is_string(), "{problem:#}");
    rest.post(SERVERS, &body("dev", &prod)).problem(403, "forbidden");
    platform.admin().patch(&at(&dev_id), &json!({ "name": "dev" })).is(200);
    rest.patch(&at(&dev_id), &moved).problem(403, "forbidden");
    // Another path of the same host may be another server.
    let beside = json!({ "connection_config": { "url": format!("{dev}?to=prod") } });
    rest.patch(&at(&dev_id), &beside).problem(403, "forbidden");
    rest.post(CALL, &json!({ "name": "prod2.one", "arguments": {} })).problem(404, "no-such-tool");
    platform.wait_audit("the attempt", |record| {
        record["action"] == "edit-server" && record["outcome"] == "refused"
    });
    assert_eq!(ledger::calls(&room.ledger("prod")).len(), 0);
    // Others are not bound by a limit that they do not have.
    platform.rest(Some(&platform.key("operator"))).patch(&at(&dev_id), &moved).is(200);
}
