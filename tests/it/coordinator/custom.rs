//! CO-5: custom tools made of the tools of several servers.

use kit::client::Client;
use kit::config::Upstream;
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{each, each_front};
use kit::{LIMIT, ledger, process, say, scan};
use serde_json::{Value, json};

fn subtools() -> Value {
    json!({ "Helper": {
        "description": "Helps with everything",
        "subtools": {
            "one": { "tools": [{ "name": "a", "description": "The first" }] },
            "two": { "tools": [{ "name": "b", "description": "The second" }] },
        },
    } })
}

fn house(room: &Room, upstream: Upstream) {
    let schema = r#"{"name":"a","inputSchema":{"type":"object","properties":{"n":{"type":"number","maximum":1e3}},"x-odd":1.0}}"#;
    let one = room.fake("one").definitions(&[schema, &say::definition("secret")]);
    let one = one.tool("a", say::echo()).tool("secret", say::echo());
    let two = room.fake("two").tool("b", say::mirror()).tool("die", say::steps([say::exit(3)]));
    let servers = [("one", one.over(upstream)), ("two", two.over(upstream))];
    room.config_with(servers, subtools());
}

#[test]
fn co_5_a_custom_tool_is_listed_without_a_prefix_with_a_schema_made_of_its_subtools() {
    each(|front, upstream| {
        let room = Room::new();
        house(&room, upstream);
        let scene = room.open_ready(front, &[]);
        let list = scene.list();
        let names: Vec<&str> = list.iter().map(|tool| tool.name.as_str()).collect();
        assert!(names.is_sorted(), "{names:?}");
        let tool = list.iter().find(|tool| tool.name == "Helper").expect("listed");
        let definition: Value = serde_json::from_slice(&tool.raw).expect("JSON");
        let description = definition["description"].as_str().unwrap_or_default();
        for part in ["Helps with everything", "one", "The first", "two", "The second"] {
            assert!(description.contains(part), "{part}: {description}");
        }
        let schema = &definition["inputSchema"];
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["properties"]["server"]["enum"], json!(["one", "two"]));
        assert_eq!(schema["properties"]["tool"]["enum"], json!(["a", "b"]));
        assert_eq!(schema["required"], json!(["server", "tool"]));
        let raw = String::from_utf8_lossy(&tool.raw);
        assert!(raw.contains(r#""maximum":1e3"#) && raw.contains(r#""x-odd":1.0"#), "{raw}");
        assert!(!raw.contains("secret"), "{raw}");
    });
}

#[test]
fn co_5_a_call_goes_to_the_subtool_with_its_args_byte_for_byte() {
    each(|front, upstream| {
        let room = Room::new();
        house(&room, upstream);
        let scene = room.open_ready(front, &[]);
        let args = r#"{ "n":1.0,"n":1e400, "s":"\ud800\/" }"#;
        let call = format!(r#"{{ "tool":"b" ,"args":{args}, "server":"two"}}"#);
        assert_eq!(String::from_utf8_lossy(scene.call("Helper", &call).result()), args);
        let calls = ledger::calls(&room.ledger("two"));
        assert_eq!(scan::path(&calls[0], &["params", "name"]), Some(&b"\"b\""[..]));
        assert_eq!(scan::path(&calls[0], &["params", "arguments"]), Some(args.as_bytes()));
        scene.call("Helper", r#"{"server":"one","tool":"a"}"#).result();
        assert_eq!(ledger::calls(&room.ledger("one")).len(), 1, "args may be left out");
    });
}

#[test]
fn co_5_only_listed_subtools_may_be_called() {
    each_front(|front| {
        let room = Room::new();
        house(&room, Upstream::Stdio);
        let scene = room.open_ready(front, &[]);
        for arguments in [
            r#"{"server":"one","tool":"secret","args":{}}"#,
            r#"{"server":"one","tool":"b","args":{}}"#,
            r#"{"server":"two","tool":"a","args":{}}"#,
            r#"{"server":"three","tool":"a","args":{}}"#,
            r#"{"server":"one:a","tool":"","args":{}}"#,
            r#"{"server":"one"}"#,
            r#"{"tool":"a"}"#,
            r#"{"server":7,"tool":"a"}"#,
            r#"{"server":"one","tool":["a"]}"#,
            r#"{"server":"one","tool":"a","args":"text"}"#,
            r#"{"server":"one","tool":"a","tool":"secret","args":{}}"#,
            "{}",
        ] {
            let answer = scene.call("Helper", arguments);
            let refused = answer.try_error().is_some()
                || scan::get(answer.result(), "isError") == Some(b"true");
            assert!(refused, "{arguments}: {answer}");
        }
        assert!(ledger::calls(&room.ledger("one")).is_empty());
        assert!(ledger::calls(&room.ledger("two")).is_empty());
        scene.call("Helper", r#"{"server":"one","tool":"a","args":{}}"#).result();
    });
}

#[test]
fn co_5_a_subtool_may_be_hidden_from_the_list_and_still_serve_its_custom_tool() {
    let room = Room::new();
    let mut one = room.fake("one").tool("a", say::echo()).entry();
    one["hiddenTools"] = json!(["a"]);
    let two = room.fake("two").tool("b", say::echo()).entry();
    room.config_with([("one", one), ("two", two)], subtools());
    let scene = room.open_ready(kit::scene::Front::Stdio, &[]);
    let answer = scene.call("Helper", r#"{"server":"one","tool":"a","args":{}}"#);
    // Either reading of the config is defensible, a silent wrong answer is not.
    match answer.try_result() {
        Some(_) => assert_eq!(ledger::calls(&room.ledger("one")).len(), 1),
        None => assert!(ledger::calls(&room.ledger("one")).is_empty(), "{answer}"),
    }
    assert_eq!(scene.call("one:a", "{}").code(), -32601);
}

#[test]
fn co_5_a_dead_servers_subtool_is_refused_and_the_others_go_on() {
    each_front(|front| {
        let room = Room::new();
        house(&room, Upstream::Stdio);
        let scene = room.open_ready(front, &[]);
        std::fs::write(room.path("two.script.json"), "gone").expect("the room can be written");
        scene.call(&scene.tool("two", "die"), "{}").error();
        let refused = || {
            let answer = scene.call("Helper", r#"{"server":"two","tool":"b","args":{}}"#);
            answer.try_error().is_some_and(|error| String::from_utf8_lossy(error).contains("two"))
        };
        process::wait_until("the dead server is named", LIMIT, refused);
        scene.call("Helper", r#"{"server":"one","tool":"a","args":{}}"#).result();
    });
}

#[test]
fn co_5_bad_custom_tools_are_config_errors() {
    for (name, tools, parts) in [
        (
            "an unknown server",
            json!({ "X": { "description": "", "subtools": { "onee": { "tools": [{ "name": "a" }] } } } }),
            ["onee", "one"],
        ),
        (
            "a name that is taken",
            json!({ "one:a": { "description": "", "subtools": { "one": { "tools": [{ "name": "a" }] } } } }),
            ["one:a", "tools"],
        ),
        (
            "no subtools",
            json!({ "X": { "description": "x", "subtools": 7 } }),
            ["$.tools.X.subtools", ""],
        ),
    ] {
        let room = Room::new();
        room.config_with([("one", room.fake("one").tool("a", say::echo()).entry())], tools);
        let end = Client::run(room.trunkline(&[]));
        assert_eq!(end.code, Some(2), "{name}: {end:?}");
        for part in parts {
            assert!(end.stderr.contains(part), "{name}: {part}: {end:?}");
        }
    }
}

#[test]
fn co_5_progress_and_cancellation_reach_through_a_custom_tool() {
    each_front(|front| {
        let room = Room::new();
        let stop = say::steps([say::progress(1), say::until_cancelled(), say::text("late")]);
        let one = room.fake("one").tool("a", stop).entry();
        let two = room.fake("two").tool("b", say::echo()).entry();
        room.config_with([("one", one), ("two", two)], subtools());
        let scene = room.open_ready(front, &[]);
        let id = scene.start(
            "tools/call",
            r#"{"name":"Helper","arguments":{"server":"one","tool":"a","args":{}},"_meta":{"progressToken":"t"}}"#,
        );
        let progress = scene.notification("notifications/progress", LIMIT);
        let token = scan::path(&progress.0, &["params", "progressToken"]);
        assert_eq!(token, Some(&b"\"t\""[..]));
        scene.cancel(&id);
        let told =
            || !ledger::with_method(&room.ledger("one"), "notifications/cancelled").is_empty();
        process::wait_until("the server is told", LIMIT, told);
    });
}
