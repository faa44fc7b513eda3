//! US7: tools of the same name on two servers stay apart, and renaming a server renames its tools.

use std::sync::atomic::{AtomicBool, Ordering};

use kit::mcp::Speak;
use kit::platform::{ADMIN, CALL, Platform, SERVERS, id_of, stdio};
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, ledger, process, say};
use serde_json::{Value, json};

/// 003's example: both have `create_issue`, and each a tool of its own.
fn forges(room: &Room) -> (Platform, [String; 2]) {
    let platform = room.platform(&[]);
    let ids = [("github-mcp", "stars"), ("gitlab-mcp", "pipelines")].map(|(name, own)| {
        let fake = room.fake(name).tool("create_issue", say::echo()).tool(own, say::echo());
        let service = fake.listen(Wire::Http);
        let id = platform.connected(name, &service);
        room.keep(service);
        id
    });
    (platform, ids)
}

const ALL: [&str; 4] = [
    "github-mcp.create_issue",
    "github-mcp.stars",
    "gitlab-mcp.create_issue",
    "gitlab-mcp.pipelines",
];

#[test]
fn us7_ac1_every_tool_is_named_after_its_server_over_rest_and_mcp() {
    let room = Room::new();
    let (platform, _) = forges(&room);
    assert_eq!(platform.tool_names(ADMIN), ALL);
    let client = platform.mcp(ADMIN);
    assert_eq!(client.list_names(), ALL);
    for name in ["github-mcp", "gitlab-mcp"] {
        client.assert_echo(name, "create_issue", r#"{"title":"Bug report"}"#);
    }
}

#[test]
fn us7_ac2_ac5_tools_are_grouped_by_server_with_their_original_names() {
    let room = Room::new();
    let (platform, ids) = forges(&room);
    let list = platform.admin().get("/api/v1/tools").is(200);
    assert_eq!(list["total"], 4);
    let groups = list["servers"].as_array().cloned().unwrap_or_default();
    let expected =
        [("github-mcp", ["create_issue", "stars"]), ("gitlab-mcp", ["create_issue", "pipelines"])];
    assert_eq!(groups.len(), expected.len());
    for ((group, id), (server, tools)) in groups.iter().zip(&ids).zip(expected) {
        assert_eq!((group["id"].as_str(), group["name"].as_str()), (Some(&id[..]), Some(server)));
        assert_eq!(group["status"], "CONNECTED");
        let shown: Vec<_> = group["tools"].as_array().cloned().unwrap_or_default();
        let originals: Vec<_> = shown.iter().map(|tool| tool["original_name"].clone()).collect();
        assert_eq!(originals, tools);
        for tool in shown {
            let original = tool["original_name"].as_str().unwrap_or_default();
            assert_eq!(tool["name"], format!("{server}.{original}"));
            assert_eq!(tool["input_schema"], json!({ "type": "object" }));
            assert!(tool["id"].is_string(), "{tool}");
        }
    }
    let own = platform.admin().get(&format!("{SERVERS}/{}/tools", ids[0])).is(200);
    assert_eq!((own["total"].clone(), own["name"].clone()), (2.into(), "github-mcp".into()));
}

#[test]
fn us7_ac5_the_list_can_be_that_of_one_server() {
    let room = Room::new();
    let (platform, ids) = forges(&room);
    let one = platform.admin().get("/api/v1/tools?server=gitlab-mcp").is(200);
    assert_eq!(one["total"], 2, "{one:#}");
    let groups = one["servers"].as_array().cloned().unwrap_or_default();
    assert_eq!(groups.len(), 1, "{one:#}");
    assert_eq!(groups[0]["id"], ids[1]);
    let none = platform.admin().get("/api/v1/tools?server=nobody").is(200);
    assert_eq!(none["total"], 0, "{none:#}");
}

#[test]
fn us7_ac5_pages_of_tools_are_complete_and_hold_nothing_twice() {
    let room = Room::new();
    let (platform, _) = forges(&room);
    for limit in 1..=5 {
        let path = format!("/api/v1/tools?limit={limit}");
        let groups = kit::platform::pages(platform.admin(), &path, "servers");
        let tools = groups.iter().flat_map(|group| group["tools"].as_array().into_iter().flatten());
        let names: Vec<&str> = tools.filter_map(|tool| tool["name"].as_str()).collect();
        assert_eq!(names, ALL, "by {limit}");
    }
    for wrong in ["limit=0", "limit=1001", "limit=x", "cursor=nonsense", "unknown=1"] {
        platform.admin().get(&format!("/api/v1/tools?{wrong}")).problem(422, "invalid");
    }
}

#[test]
fn us7_ac6_renaming_a_server_renames_its_tools_everywhere() {
    let room = Room::new();
    let (platform, [id, _]) = forges(&room);
    let client = platform.mcp(ADMIN);
    assert_eq!(client.listen(), 200);
    client.list();
    let path = format!("{SERVERS}/{id}");
    let renamed = platform.admin().patch(&path, &json!({ "name": "hub" })).is(200);
    assert_eq!((renamed["id"].as_str(), renamed["name"].as_str()), (Some(&id[..]), Some("hub")));
    client.notification("notifications/tools/list_changed", LIMIT);
    let expected =
        ["gitlab-mcp.create_issue", "gitlab-mcp.pipelines", "hub.create_issue", "hub.stars"];
    assert_eq!(platform.tool_names(ADMIN), expected);
    assert_eq!(client.list_names(), expected);
    platform.wait_status(&id, "CONNECTED");
    let result = platform.call("hub.create_issue", &json!({ "n": 1 })).is(200);
    assert_eq!(result["metadata"]["routed_to"], "hub");
    assert_eq!(result["structuredContent"]["from"], "github-mcp", "the same server");
    let answer = client.call("hub.create_issue", r#"{"n":2}"#);
    answer.result();
    platform.call("github-mcp.create_issue", &json!({})).problem(404, "no-such-tool");
    let by_id = json!({ "name": "create_issue", "server_id": id });
    platform.admin().post(CALL, &by_id).is(200);
    assert_eq!(ledger::started(&room.ledger("github-mcp")).len(), 1);
}

/// As the server sees it nothing happens, and whoever calls it by its id does not notice either.
#[test]
fn us7_ac6_renaming_keeps_the_process_its_open_calls_and_refuses_no_call() {
    const RENAMES: usize = 10;
    let room = Room::new();
    let wait = say::steps([say::gate(&room, "go"), say::text("done")]);
    let fake = room.fake("a").tool("echo", say::echo()).tool("wait", wait);
    let platform = room.platform(&["--allow-stdio-registration"]);
    let id = id_of(&platform.register(&stdio("r", &fake.entry())));
    platform.wait_status(&id, "CONNECTED");
    let client = platform.mcp(ADMIN);
    let over = AtomicBool::new(false);
    let served = std::thread::scope(|scope| {
        let (platform, id, over) = (&platform, &id, &over);
        let body = json!({ "name": "echo", "server_id": id });
        let calls = scope.spawn(move || {
            let mut served = 0;
            while !over.load(Ordering::SeqCst) {
                platform.admin().post(CALL, &body).is(200);
                served += 1;
            }
            served
        });
        for n in 0..RENAMES {
            let (name, path) = (format!("r{n}"), format!("{SERVERS}/{id}"));
            platform.admin().patch(&path, &json!({ "name": name })).is(200);
            assert_eq!(platform.server(id)["status"], "CONNECTED");
            platform.call(&format!("{name}.echo"), &json!({})).is(200);
            client.call(&format!("{name}.echo"), "{}").result();
            assert_eq!(
                platform.tool_names(ADMIN),
                [format!("{name}.echo"), format!("{name}.wait")]
            );
        }
        over.store(true, Ordering::SeqCst);
        calls.join().expect("no call is refused")
    });
    assert!(served > 0);
    // A call that is open while its server is renamed has its answer.
    let mut open = platform.admin().begin(&Platform::call_ask("r9.wait", "{}"));
    process::wait_until("the call is at the server", LIMIT, || {
        ledger::calls(&room.ledger("a"))
            .iter()
            .any(|call| call.windows(6).any(|at| at == b"\"wait\""))
    });
    platform.admin().patch(&format!("{SERVERS}/{id}"), &json!({ "name": "z" })).is(200);
    room.open_gate("go");
    assert_eq!(open.response(LIMIT).status(), 200);
    assert_eq!(client.list_names(), ["z.echo", "z.wait"]);
    assert_eq!(ledger::started(&room.ledger("a")).len(), 1, "the same process");
    let call = platform.wait_audit("the call", |record| record["tool"] == "wait");
    assert_eq!((call["server_id"].as_str(), call["outcome"].as_str()), (Some(&id[..]), Some("ok")));
}

#[test]
fn us7_ac6_the_new_name_holds_after_a_restart() {
    let room = Room::new();
    let service = room.fake("a").tool("echo", say::echo()).listen(Wire::Http);
    let id = {
        let platform = room.platform(&[]);
        let id = platform.connected("a", &service);
        platform.admin().patch(&format!("{SERVERS}/{id}"), &json!({ "name": "z" })).is(200);
        platform.serve().process().signal(rustix::process::Signal::TERM);
        platform.serve().process().wait_exit(LIMIT);
        id
    };
    let platform = room.platform(&[]);
    platform.wait_status(&id, "CONNECTED");
    assert_eq!(platform.tool_names(ADMIN), ["z.echo"]);
}

/// A dot in a server's name must not make its tools somebody else's.
#[test]
fn us7_ac1_names_with_dots_are_told_apart() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let mut ids: Vec<String> = Vec::new();
    for (name, tool) in [("a", "b.c"), ("a.b", "c")] {
        let service = room.fake(name).tool(tool, say::echo()).listen(Wire::Http);
        ids.push(platform.connected(name, &service));
        room.keep(service);
    }
    for (id, (name, tool)) in ids.iter().zip([("a", "b.c"), ("a.b", "c")]) {
        let body = json!({ "name": tool, "server_id": id });
        let result: Value = platform.admin().post(CALL, &body).is(200);
        assert_eq!(result["structuredContent"]["from"], name);
        assert_eq!(result["metadata"]["routed_to"], name);
    }
    let names = platform.tool_names(ADMIN);
    let same = names.iter().filter(|name| *name == "a.b.c").count();
    assert!(same <= 1, "one name is not two tools': {names:?}");
}

/// Servers are found by id and by name: one that is called like another's id would stand in its place.
#[test]
fn us7_ac1_no_server_is_called_like_another_ones_id_or_like_the_custom_tools() {
    let room = Room::new();
    let config = room.config([("filed", room.fake("f").tool("echo", say::echo()).entry())]);
    let config = config.to_str().expect("a path");
    let platform = room.platform(&["--config", config]);
    let body = |name: &str| {
        json!({ "name": name, "transport_type": "HTTP", "auto_connect": false,
        "connection_config": { "url": "https://here.example.com/mcp" } })
    };
    let ids = ["a", "b"].map(|name| id_of(&platform.register(&body(name))));
    let path = format!("{SERVERS}/{}", ids[0]);
    for (name, status, kind) in [
        (&ids[1][..], 409, "name-taken"),
        ("b", 409, "name-taken"),
        ("filed", 409, "name-taken"),
        ("custom", 422, "invalid"),
        ("custom-tools", 422, "invalid"),
    ] {
        platform.admin().post(SERVERS, &body(name)).problem(status, kind);
        platform.admin().patch(&path, &json!({ "name": name })).problem(status, kind);
        assert_eq!(platform.server(&ids[0])["name"], "a");
    }
    for name in ["a", "custom2", "Custom"] {
        platform.admin().patch(&path, &json!({ "name": name, "description": "x" })).is(200);
    }
}
