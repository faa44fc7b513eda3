//! US1: servers are registered over REST, and connected over every transport.

use std::collections::HashSet;

use kit::http::Ask;
use kit::page::{Page, Says};
use kit::platform::{ADMIN, Platform, SERVERS, id_of, remote, stdio};
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, ledger, process, say};
use serde_json::{Value, json};

use super::echoing;

/// What `POST` and `GET` have to say about a server, as 003 writes it.
fn assert_shown(shown: &Value, name: &str, transport: &str) {
    assert!(shown["id"].as_str().is_some_and(|id| id.len() >= 8), "{shown}");
    assert_eq!(shown["name"], name);
    assert_eq!(shown["transport_type"], transport);
    let at = shown["registered_at"].as_str().unwrap_or_default();
    assert!(at.starts_with("20") && at.contains('T') && at.ends_with('Z'), "{shown}");
}

#[test]
fn us1_ac1_a_server_is_registered_and_shown_with_its_id() {
    let room = Room::new();
    let a = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let mut body = remote("a", &a);
    body["description"] = "says it again".into();
    let answer = platform.admin().post(SERVERS, &body);
    let shown = answer.is(201);
    assert_shown(&shown, "a", "HTTP");
    let path = format!("{SERVERS}/{}", id_of(&shown));
    assert_eq!(answer.header("location"), Some(&path[..]));
    let server = platform.admin().get(&path).is(200);
    assert_shown(&server, "a", "HTTP");
    for member in ["id", "description", "registered_at", "auto_connect"] {
        assert_eq!(server[member], shown[member], "{member}");
    }
    assert_eq!(server["description"], "says it again");
    assert_eq!(server["source"], "api");
    let list = platform.admin().get(SERVERS).is(200);
    assert_eq!(list["total"], 1);
    assert_eq!(list["servers"][0]["id"], shown["id"]);
}

/// To the letter, the variable included.
#[test]
fn us1_ac1_the_request_of_003_gets_the_response_of_003() {
    let room = Room::new();
    let mut command = room.platform_command(&["--allow-env", "GITHUB_TOKEN"]);
    command.env("GITHUB_TOKEN", "not-a-real-one");
    let platform = Platform::start(command);
    let shown = platform.register(&json!({
        "name": "github-mcp",
        "description": "GitHub MCP Server for repository operations",
        "transport_type": "SSE",
        "connection_config": {
            "url": "https://github-mcp.example.com/sse",
            "headers": { "Authorization": "Bearer ${GITHUB_TOKEN}" }
        },
        "auto_connect": true,
        "health_check_url": "https://github-mcp.example.com/health"
    }));
    assert_shown(&shown, "github-mcp", "SSE");
    assert_eq!(shown["status"], "CONNECTING");
}

/// A variable of the operator's goes nowhere before the operator says so.
#[test]
fn us1_ac1_the_request_of_003_names_the_flag_that_it_needs() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let body = json!({
        "name": "github-mcp",
        "transport_type": "SSE",
        "connection_config": {
            "url": "https://github-mcp.example.com/sse",
            "headers": { "Authorization": "Bearer ${GITHUB_TOKEN}" }
        },
    });
    let problem = platform.admin().post(SERVERS, &body).problem(422, "invalid");
    let hint = problem["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("`--allow-env GITHUB_TOKEN`"), "{problem:#}");
    assert!(hint.contains("${secret:NAME}"), "{problem:#}");
}

#[test]
fn us1_ac1_a_first_try_that_fails_at_once_does_not_change_the_answer() {
    let room = Room::new();
    let platform = room.platform(&["--allow-stdio-registration"]);
    for n in 0..10 {
        let entry = json!({ "command": "there-is-no-such-program" });
        let shown = platform.register(&stdio(&format!("a{n}"), &entry));
        assert_eq!(shown["status"], "CONNECTING", "{shown}");
        platform.wait_status(&id_of(&shown), "ERROR");
    }
}

#[test]
fn us1_ac2_a_command_is_connected_over_its_pipes() {
    let room = Room::new();
    let platform = room.platform(&["--allow-stdio-registration"]);
    let entry = echoing(&room, "a").entry();
    let shown = platform.register(&stdio("a", &entry));
    assert_shown(&shown, "a", "STDIO");
    platform.wait_status(&id_of(&shown), "CONNECTED");
    let [pid] = ledger::started(&room.ledger("a"))[..] else { panic!("one process") };
    let ours = platform.serve().process().pid().as_raw_nonzero().get();
    assert!(process::descendants(ours).iter().any(|below| below.pid == pid), "not its child");
    let result = platform.call("a.echo", &json!({ "x": 1 })).is(200);
    assert_eq!(result["structuredContent"]["arguments"], json!({ "x": 1 }));
}

#[test]
fn us1_ac3_a_server_is_connected_over_server_sent_events() {
    let room = Room::new();
    let a = echoing(&room, "a").listen(Wire::Sse);
    let platform = room.platform(&[]);
    platform.connected("a", &a);
    platform.call("a.echo", &json!({})).is(200);
    let heads = ledger::heads(&room.ledger("a"));
    let streams = heads.iter().filter(|head| head.method() == "GET" && head.target() == "/sse");
    assert_eq!(streams.count(), 1, "one stream: {heads:?}");
    assert!(!ledger::calls(&room.ledger("a")).is_empty());
}

#[test]
fn us1_ac4_a_server_is_connected_over_http() {
    let room = Room::new();
    let a = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("a", &a);
    platform.call("a.echo", &json!({})).is(200);
    let calls = ledger::heads_of(&room.ledger("a"), "tools/call");
    assert_eq!(calls.len(), 1);
    assert_eq!((calls[0].method(), calls[0].target()), ("POST", "/mcp"));
}

#[test]
fn us1_ac5_auto_connect_connects_at_once_and_without_it_nobody_is_asked() {
    let room = Room::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| echoing(&room, name).listen(Wire::Http));
    let platform = room.platform(&[]);
    let shown = platform.register(&remote("a", &a));
    assert!(["CONNECTING", "CONNECTED"].contains(&shown["status"].as_str().unwrap_or_default()));
    let mut silent = remote("b", &b);
    silent["auto_connect"] = false.into();
    let waiting = platform.register(&silent);
    assert_eq!(waiting["status"], "DISCONNECTED");
    let mut unsaid = remote("c", &c);
    unsaid.as_object_mut().expect("an object").remove("auto_connect");
    let by_default = platform.register(&unsaid);
    platform.wait_status(&id_of(&shown), "CONNECTED");
    platform.wait_status(&id_of(&by_default), "CONNECTED");
    // The others are through their whole handshake, and this one has heard nothing.
    assert_eq!(platform.server(&id_of(&waiting))["status"], "DISCONNECTED");
    assert!(ledger::heads(&room.ledger("b")).is_empty());
}

#[test]
fn us1_ac6_what_is_missing_or_wrong_is_named_with_its_place_and_nothing_is_kept() {
    let room = Room::new();
    let platform = room.platform(&["--allow-stdio-registration"]);
    let url = json!({ "url": "https://example.com/mcp" });
    let good = json!({ "name": "x", "transport_type": "HTTP", "connection_config": url });
    let without = |member: &str| {
        let mut body = good.clone();
        body.as_object_mut().expect("an object").remove(member);
        body
    };
    let with = |member: &str, value: Value| {
        let mut body = good.clone();
        body[member] = value;
        body
    };
    let config = |value: Value| with("connection_config", value);
    for (body, pointers) in [
        (without("name"), &["/name"][..]),
        (without("transport_type"), &["/transport_type"]),
        (without("connection_config"), &["/connection_config"]),
        (config(json!({})), &["/connection_config/url"]),
        (config(json!({ "command": "x" })), &["/connection_config/url"]),
        (config(json!({ "url": "" })), &["/connection_config/url"]),
        (config(json!({ "url": 7 })), &["/connection_config/url"]),
        (config(json!({ "url": "ftp://example.com/" })), &["/connection_config/url"]),
        (config(json!("https://example.com/")), &["/connection_config"]),
        (
            config(json!({ "url": "https://example.com/", "headers": { "A": "x\r\nB: y" } })),
            &["/connection_config/headers/A"],
        ),
        (with("transport_type", json!("CARRIER-PIGEON")), &["/transport_type"]),
        (with("transport_type", json!("STDIO")), &["/connection_config/command"]),
        (with("name", json!("")), &["/name"]),
        (with("name", json!("a b")), &["/name"]),
        (with("name", json!("a/b")), &["/name"]),
        (with("name", json!(["x"])), &["/name"]),
        (with("name", json!("n".repeat(500))), &["/name"]),
        (with("auto_connect", json!("yes")), &["/auto_connect"]),
        (with("health_check_url", json!("nonsense")), &["/health_check_url"]),
        (with("autoconnect", json!(true)), &["/autoconnect"]),
        (with("id", json!("mine")), &["/id"]),
        (json!({ "transport_type": "HTTP" }), &["/name", "/connection_config"]),
    ] {
        let problem = platform.admin().post(SERVERS, &body).problem(422, "invalid");
        let errors = problem["errors"].as_array().cloned().unwrap_or_default();
        let named: HashSet<&str> =
            errors.iter().filter_map(|error| error["pointer"].as_str()).collect();
        for pointer in pointers {
            assert!(named.contains(pointer), "{body} has a fault at {pointer}: {problem:#}");
        }
    }
    platform.admin().with_body("POST", SERVERS, b"{\"name\":").problem(400, "malformed");
    platform.admin().with_body("POST", SERVERS, b"[]").problem(422, "invalid");
    let plain = Ask::new("POST", SERVERS).header("Content-Type", "text/plain").body("{}");
    platform.admin().send(&plain).problem(415, "wrong-media-type");
    assert_eq!(platform.admin().get(SERVERS).is(200)["total"], 0);
}

#[test]
fn us1_ac7_a_name_that_is_taken_is_a_conflict() {
    let room = Room::new();
    let [a, b] = ["a", "b"].map(|name| echoing(&room, name).listen(Wire::Http));
    let config = room.config([("from-file", echoing(&room, "f").entry())]);
    let config = config.to_str().expect("the room's path is UTF-8");
    let platform = room.platform(&["--config", config]);
    let id = platform.connected("a", &a);
    for taken in ["a", "from-file"] {
        platform.admin().post(SERVERS, &remote(taken, &b)).problem(409, "name-taken");
    }
    let other = platform.connected("b", &b);
    let renamed = platform.admin().patch(&format!("{SERVERS}/{other}"), &json!({ "name": "a" }));
    renamed.problem(409, "name-taken");
    assert_eq!(platform.server(&id)["name"], "a");
    assert_eq!(platform.server(&other)["name"], "b");
}

#[test]
fn us1_ac7_of_many_who_want_a_name_at_once_one_gets_it() {
    let room = Room::new();
    let a = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let body = remote("a", &a);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| platform.admin().post(SERVERS, &body).status()))
            .collect();
        all.into_iter().map(|one| one.join().expect("a request does not panic")).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 7, "{statuses:?}");
    assert_eq!(platform.admin().get(SERVERS).is(200)["total"], 1);
}

/// The promise is two seconds; what makes it hold is that nobody waits for the server.
#[test]
fn us1_ac8_nfr_p1_registration_does_not_wait_for_a_server_that_never_answers() {
    let room = Room::new();
    let page = Page::new(Says::Silence);
    let platform = room.platform(&[]);
    let body = json!({
        "name": "mute",
        "transport_type": "HTTP",
        "connection_config": { "url": page.url() },
    });
    let shown = platform.register(&body);
    assert_eq!(shown["status"], "CONNECTING");
    process::wait_until("the server is asked", LIMIT, || !page.heads().is_empty());
    assert_eq!(platform.server(&id_of(&shown))["status"], "CONNECTING", "it still waits");
    // Nor does anybody else wait for it.
    let a = echoing(&room, "a").listen(Wire::Http);
    platform.connected("a", &a);
}

#[test]
fn us1_ac1_what_was_registered_is_there_and_connected_after_a_restart() {
    let room = Room::new();
    let [a, b] = ["a", "b"].map(|name| echoing(&room, name).listen(Wire::Http));
    let (id, apart) = {
        let platform = room.platform(&[]);
        let id = platform.connected("a", &a);
        let mut silent = remote("b", &b);
        silent["auto_connect"] = false.into();
        let apart = id_of(&platform.register(&silent));
        platform.serve().process().signal(rustix::process::Signal::TERM);
        platform.serve().process().wait_exit(LIMIT);
        (id, apart)
    };
    let platform = room.platform(&[]);
    platform.wait_status(&id, "CONNECTED");
    assert_eq!(platform.server(&id)["name"], "a");
    platform.call("a.echo", &json!({})).is(200);
    assert_eq!(platform.server(&apart)["status"], "DISCONNECTED");
}

#[test]
fn a_change_keeps_what_it_does_not_name_and_refuses_what_is_stale() {
    let room = Room::new();
    let a = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let path = format!("{SERVERS}/{}", platform.connected("a", &a));
    let before = platform.admin().get(&path);
    let tag = before.header("etag").expect("an ETag").to_owned();
    let changed = platform.admin().patch(&path, &json!({ "description": "new" })).is(200);
    assert_eq!(changed["description"], "new");
    assert_eq!(changed["connection_config"], before.json()["connection_config"]);
    assert_eq!(changed["name"], "a");
    let patch = Ask::new("PATCH", &path)
        .header("Content-Type", "application/json")
        .header("If-Match", &tag)
        .body(r#"{"description":"late"}"#);
    platform.admin().send(&patch).problem(412, "stale");
    for nothing in ["", " ", ","] {
        let patch = Ask::new("PATCH", &path)
            .header("Content-Type", "application/json")
            .header("If-Match", nothing)
            .body(r#"{"description":"unchecked"}"#);
        platform.admin().send(&patch).problem(400, "bad-header");
        let delete = Ask::new("DELETE", &path).header("If-Match", nothing);
        platform.admin().send(&delete).problem(400, "bad-header");
    }
    assert_eq!(platform.admin().get(&path).is(200)["description"], "new");
    // The process it talks to was not disturbed by a word about it.
    assert_eq!(ledger::with_method(&room.ledger("a"), "tools/list").len(), 1);
}

#[test]
fn what_was_read_and_has_not_changed_is_not_sent_again() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let first = platform.admin().get(SERVERS);
    let tag = first.header("etag").expect("an ETag").to_owned();
    let again = platform.admin().send(&Ask::get(SERVERS).header("If-None-Match", &tag));
    assert_eq!(again.status(), 304, "{again}");
    assert!(again.response.body.is_empty());
    let a = room.fake("a").tool("echo", say::echo()).listen(Wire::Http);
    platform.connected("a", &a);
    let changed = platform.admin().send(&Ask::get(SERVERS).header("If-None-Match", &tag));
    assert_eq!(changed.status(), 200);
}

/// A page of tools is not made to find out that it is the same; so its tag must tell apart whatever
/// makes another page.
#[test]
fn tools_have_another_tag_whenever_a_page_of_them_is_another() {
    let room = Room::new();
    let [a, b] = ["a", "b"].map(|name| {
        let fake = room.fake(name).tool("look", say::echo()).tool("act", say::echo());
        fake.listen(Wire::Http)
    });
    let platform = room.platform(&[]);
    let id = platform.connected("a", &a);
    let some = json!({ "name": "some", "role": "caller", "tools": ["a.look"] });
    let some = platform.make_key(&some)["key"].as_str().expect("a key").to_owned();
    let path = "/api/v1/tools";
    let of_server = format!("{SERVERS}/{id}/tools");
    let tag = |token: &str, path: &str| {
        let mut tag = String::new();
        // The skills of tools are found out beside, and are part of the page.
        process::wait_until("nothing changes by itself", LIMIT, || {
            let first = platform.rest(Some(token)).get(path);
            tag = first.header("etag").expect("an ETag").to_owned();
            let ask = Ask::get(path).header("If-None-Match", &tag);
            let again = platform.rest(Some(token)).send(&ask);
            let is_same = again.header("etag") == Some(&tag[..]);
            assert_eq!(again.status(), if is_same { 304 } else { 200 }, "{path}");
            assert_eq!(again.response.body.is_empty(), is_same);
            is_same
        });
        tag
    };
    let mut tags = vec![
        tag(ADMIN, path),
        tag(ADMIN, &format!("{path}?limit=1")),
        tag(ADMIN, &of_server),
        tag(&some, path),
    ];
    platform.connected("b", &b);
    tags.extend([tag(ADMIN, path), tag(ADMIN, &format!("{path}?server=b"))]);
    platform.admin().patch(&format!("{SERVERS}/{id}"), &json!({ "name": "c" })).is(200);
    tags.push(tag(ADMIN, path));
    platform.act(&id, "disconnect").is(200);
    platform.wait_status(&id, "DISCONNECTED");
    tags.extend([tag(ADMIN, path), tag(ADMIN, &of_server)]);
    let different: HashSet<&String> = tags.iter().collect();
    assert_eq!(different.len(), tags.len(), "two pages have the same tag: {tags:#?}");
}
