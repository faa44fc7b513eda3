//! What policies do over every front: lists, calls, reads and prompts.

use kit::mcp::{self, Speak as _};
use kit::room::Room;
use kit::scene::{Front, each_of};
use kit::{ledger, scan};

use super::{ALL, assert_forbidden, config};

const FRONTS: [Front; 5] =
    [Front::Stdio, Front::Http, Front::Sse, Front::ModernStdio, Front::ModernHttp];

#[test]
fn policies_hide_refuse_and_let_pass_over_every_front() {
    each_of(FRONTS, |front| {
        let room = Room::new();
        config(
            &room,
            &format!(
                "{ALL}@id(\"no-b\") forbid(principal, action, resource in Trunkline::Server::\"b\");\n\
                 @id(\"looks-only\") @reason(\"nothing is changed here\")\n\
                 forbid(principal, action == Trunkline::Action::\"call\", resource is Trunkline::Tool)\n\
                 when {{ !resource.readOnlyHint }};"
            ),
        );
        let scene = room.open_ready(front, &[]);
        let [look, act, other] = [("a", "look"), ("a", "act"), ("b", "look")]
            .map(|(server, tool)| scene.tool(server, tool));
        assert_eq!(scene.list_names(), [&act[..], &look]);
        scene.call(&look, "{}").result();
        let refused = scene.call(&act, "{}");
        assert_forbidden(
            &refused,
            &["looks-only"],
            "policy \"looks-only\" forbids it: nothing is changed here",
        );
        let missing = scene.call(&other, "{}");
        let unknown = scene.call(&scene.tool("b", "none"), "{}");
        assert_eq!(missing.code(), unknown.code(), "it does not exist: {missing}");
        assert!(!missing.to_string().contains("no-b"), "{missing}");
        assert_eq!(ledger::calls(&room.ledger("a")).len(), 1, "what is refused does not run");
        assert_eq!(ledger::calls(&room.ledger("b")).len(), 0);
    });
}

#[test]
fn policies_about_resources_and_prompts() {
    each_of(FRONTS, |front| {
        let room = Room::new();
        config(
            &room,
            &format!(
                "{ALL}@id(\"shut\") forbid(principal, action, resource == Trunkline::Resource::\"a.a://shut\");\n\
                 @id(\"b-unread\") forbid(principal, action == Trunkline::Action::\"read\", resource in Trunkline::Server::\"b\");\n\
                 @id(\"kind\") forbid(principal, action, resource is Trunkline::Prompt) when {{ resource.name like \"scold-*\" }};\n\
                 @id(\"b-ungot\") forbid(principal, action == Trunkline::Action::\"get\", resource in Trunkline::Server::\"b\");"
            ),
        );
        let scene = room.open_ready(front, &[]);
        let listed = |method: &str, member: &str, key: &str| {
            let answer = scene.ask(method, "{}");
            mcp::entries(&answer, member, key).into_iter().map(|it| it.name).collect::<Vec<_>>()
        };
        assert_eq!(
            listed("resources/list", "resources", "uri"),
            ["a://open", "b://open", "b://shut"]
        );
        assert_eq!(listed("prompts/list", "prompts", "name"), ["greet-a", "greet-b"]);
        let read = |uri: &str| scene.ask("resources/read", &format!(r#"{{"uri":"{uri}"}}"#));
        read("a://open").result();
        let [hidden, unknown] = ["a://shut", "c://none"].map(|uri| read(uri).code());
        assert_eq!(hidden, unknown);
        assert_forbidden(&read("b://open"), &["b-unread"], "policy \"b-unread\" forbids it");
        let get = |name: &str| scene.ask("prompts/get", &format!(r#"{{"name":"{name}"}}"#));
        get("greet-a").result();
        let [hidden, unknown] = ["scold-a", "none"].map(|name| get(name).code());
        assert_eq!(hidden, unknown);
        assert_forbidden(&get("greet-b"), &["b-ungot"], "policy \"b-ungot\" forbids it");
    });
}

/// What is forbidden under one spelling of its URI is not had under another, and what is permitted leads nowhere else.
#[test]
fn policies_about_resources_are_not_passed_by_another_spelling() {
    each_of(FRONTS, |front| {
        for (policies, by) in [
            (
                format!(
                    "{ALL}@id(\"etc\") forbid(principal, action == Trunkline::Action::\"read\", resource is Trunkline::Resource)\n\
                     when {{ resource.uri like \"file:///etc/*\" }};"
                ),
                &["etc"][..],
            ),
            (
                "@id(\"list\") permit(principal, action == Trunkline::Action::\"list\", resource);\n\
                 @id(\"srv\") permit(principal, action, resource is Trunkline::Resource) when { resource.uri like \"*:/*srv/*\" };"
                    .to_owned(),
                &[],
            ),
        ] {
            let room = Room::new();
            let files = room.fake("files").template("file:{+path}", "File");
            let files = files.template("FILE:{+path}", "Shouted").entry();
            room.write("one.cedar", policies);
            let config = serde_json::json!({ "mcpServers": { "files": files }, "policies": "one.cedar" });
            room.write("mcp.json", config.to_string());
            let scene = room.open_ready(front, &[]);
            let read = |uri: &str| scene.ask("resources/read", &format!(r#"{{"uri":"{uri}"}}"#));
            read("file:///srv/a%20b").result();
            for uri in [
                "file:///etc/passwd",
                "FILE:///etc/passwd",
                "file:///%65tc/passwd",
                "file:///srv/../etc/passwd",
                "file:///srv/%2e%2e/etc/passwd",
                "file:///srv/..%2fetc/passwd",
                "file:///srv//../etc/passwd",
                "file://localhost/etc/../etc/passwd",
                "file:/etc/passwd",
                "file:////etc/passwd",
                "file://%6cocalhost/etc/passwd",
            ] {
                assert_forbidden(&read(uri), by, "the request did not run");
            }
            let reads = ledger::with_method(&room.ledger("files"), "resources/read");
            assert_eq!(reads.len(), 1, "what is refused does not run");
            let uri = scan::path(&reads[0], &["params", "uri"]);
            assert_eq!(uri, Some(&br#""file:///srv/a%20b""#[..]), "to the byte");
        }
    });
}

#[test]
fn policies_look_at_arguments_which_arrive_unchanged() {
    each_of(FRONTS, |front| {
        let room = Room::new();
        config(
            &room,
            &format!(
                "{ALL}@id(\"etc\") forbid(principal, action == Trunkline::Action::\"call\", resource)\n\
                 when {{ context.arguments has path && context.arguments.path like \"/etc/*\" }};"
            ),
        );
        let scene = room.open_ready(front, &[]);
        let tool = scene.tool("a", "act");
        let exact =
            r#"{ "n":1.50e0,"path" : "\/home\u002fx","z":null, "big":12345678901234567890123 }"#;
        let answer = scene.call(&tool, exact);
        answer.result();
        let calls = ledger::calls(&room.ledger("a"));
        let arrived = scan::get(scan::get(&calls[0], "params").expect("params"), "arguments");
        assert_eq!(arrived.map(String::from_utf8_lossy).as_deref(), Some(exact), "to the byte");
        for refused in [
            r#"{"path":"/etc/passwd"}"#,
            r#"{"path":"\u002fetc\/passwd"}"#,
            r#"{"path":"/home","path":"/etc/passwd"}"#,
            r#"{"path":["/etc/passwd"]}"#,
        ] {
            assert_forbidden(&scene.call(&tool, refused), &["etc"], "policy \"etc\" forbids it");
        }
        scene.call(&tool, "{}").result();
        assert_eq!(ledger::calls(&room.ledger("a")).len(), 2);
    });
}

#[test]
fn policies_look_at_time_and_address() {
    let room = Room::new();
    let always =
        "context.now.epoch > 1700000000 && context.now.hour < 24 && context.now.weekday < 8";
    let here = "context.address.isLoopback() && context.address.isInRange(ip(\"127.0.0.0/8\"))";
    config(
        &room,
        &format!(
            "{ALL}@id(\"time\") forbid(principal, action in Trunkline::Action::\"use\", resource == Trunkline::Tool::\"a.look\") when {{ {always} }};\n\
             @id(\"never\") forbid(principal, action in Trunkline::Action::\"use\", resource == Trunkline::Tool::\"a.act\") unless {{ {always} }};\n\
             @id(\"here\") forbid(principal, action in Trunkline::Action::\"use\", resource == Trunkline::Tool::\"b.look\") when {{ {here} }};\n\
             @id(\"there\") forbid(principal, action in Trunkline::Action::\"use\", resource == Trunkline::Tool::\"b.act\") unless {{ {here} }};"
        ),
    );
    let scene = room.open_ready(Front::Http, &[]);
    assert_forbidden(&scene.call("a.look", "{}"), &["time"], "policy \"time\"");
    scene.call("a.act", "{}").result();
    assert_forbidden(&scene.call("b.look", "{}"), &["here"], "policy \"here\"");
    scene.call("b.act", "{}").result();
}

#[test]
fn policies_hold_behind_custom_tools_and_search() {
    let room = Room::new();
    config(
        &room,
        &format!(
            "{ALL}@id(\"no\") forbid(principal, action == Trunkline::Action::\"call\", resource == Trunkline::Tool::\"a.act\");\n@id(\"gone\") forbid(principal, action, resource == Trunkline::Tool::\"b.act\");"
        ),
    );
    let text = std::fs::read_to_string(room.path("mcp.json")).expect("a config");
    let mut with: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    with["tools"] = serde_json::json!({ "both": { "description": "x", "subtools": { "a": { "tools": ["act", "look"] }, "b": { "tools": ["act"] } } } });
    room.write("mcp.json", with.to_string());
    let scene = room.open_ready(Front::Stdio, &[]);
    scene.call("both", r#"{"server":"a","tool":"look","args":{}}"#).result();
    assert_forbidden(
        &scene.call("both", r#"{"server":"a","tool":"act","args":{}}"#),
        &["no"],
        "policy \"no\"",
    );
    assert!(scene.call("both", r#"{"server":"b","tool":"act","args":{}}"#).try_error().is_some());
    drop(scene);
    let scene = room.open_ready(Front::Stdio, &["--expose", "search"]);
    let call =
        |name: &str| scene.call("call_tool", &format!(r#"{{"name":"{name}","arguments":{{}}}}"#));
    call("a:look").result();
    assert_forbidden(&call("a:act"), &["no"], "policy \"no\"");
    let found = scene.call("search_tools", r#"{"query":"act"}"#).to_string();
    assert!(found.contains("a:act") && !found.contains("b:act"), "{found}");
}
