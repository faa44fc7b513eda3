//! CO-4: exposed, hidden and renamed tools, in the list and on call.

use kit::config::Upstream;
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Front, each, each_front};
use kit::{LIMIT, ledger, say, scan};
use serde_json::{Value, json};

/// A server with `a`, `b` and `c`, and these keys in its entry.
fn house(room: &Room, upstream: Upstream, keys: &Value) {
    let fake = room.fake("s").tool("a", say::echo()).tool("b", say::echo()).tool("c", say::echo());
    let mut entry = fake.over(upstream);
    for (key, value) in keys.as_object().into_iter().flatten() {
        entry[key] = value.clone();
    }
    room.config([("s", entry), ("t", room.fake("t").tool("a", say::echo()).entry())]);
}

#[test]
fn co_4_only_exposed_tools_are_listed_and_can_be_called_under_their_new_names() {
    each(|front, upstream| {
        let room = Room::new();
        let exposed = json!(["a", { "original": "b", "exposed": "better" }]);
        house(&room, upstream, &json!({ "exposedTools": exposed }));
        let scene = room.open_ready(front, &[]);
        let names = ["s", "s", "t"].iter().zip(["a", "better", "a"]);
        let expected: Vec<String> = names.map(|(server, tool)| scene.tool(server, tool)).collect();
        assert_eq!(scene.list_names(), expected);
        scene.call(&scene.tool("s", "better"), r#"{"n":1}"#).result();
        let calls = ledger::calls(&room.ledger("s"));
        assert_eq!(scan::path(&calls[0], &["params", "name"]), Some(&b"\"b\""[..]));
        for hidden in ["b", "c"] {
            let answer = scene.call(&scene.tool("s", hidden), "{}");
            assert_eq!(answer.code(), -32601, "{answer}");
        }
        assert_eq!(ledger::calls(&room.ledger("s")).len(), 1, "a hidden tool is not called");
        let list = scene.list();
        let definition = say::definition("b");
        let name = scan::quote(&scene.tool("s", "better"));
        let raw = scan::replace(definition.as_bytes(), "name", name.as_bytes());
        assert_eq!(Some(&list[1].raw), raw.as_ref(), "only the name is changed");
    });
}

#[test]
fn co_4_hidden_tools_are_neither_listed_nor_called_and_hiding_wins() {
    for keys in [
        json!({ "hiddenTools": ["b", "c"] }),
        json!({ "exposedTools": ["a", "b"], "hiddenTools": ["b"] }),
        json!({ "excludeTools": ["b", "c"] }),
        json!({ "disabledTools": ["b"], "hiddenTools": ["c"] }),
        json!({ "includeTools": ["a"] }),
        json!({ "enabled_tools": ["a"] }),
        json!({ "tools": ["a"] }),
    ] {
        each_front(|front| {
            let room = Room::new();
            house(&room, Upstream::Stdio, &keys);
            let scene = room.open_ready(front, &[]);
            let expected = [scene.tool("s", "a"), scene.tool("t", "a")];
            assert_eq!(scene.list_names(), expected, "{keys}");
            for hidden in ["b", "c"] {
                assert_eq!(scene.call(&scene.tool("s", hidden), "{}").code(), -32601, "{keys}");
            }
            assert!(ledger::calls(&room.ledger("s")).is_empty());
            scene.assert_echo("s", "a", "{}");
        });
    }
}

#[test]
fn co_4_a_name_that_matches_no_tool_is_a_warning() {
    each_front(|front| {
        for keys in [
            json!({ "exposedTools": ["a", "nonesuch"] }),
            json!({ "hiddenTools": ["b", "c", "nonesuch"] }),
            json!({ "exposedTools": ["a", { "original": "nonesuch", "exposed": "x" }] }),
        ] {
            let room = Room::new();
            house(&room, Upstream::Stdio, &keys);
            let scene = room.open_ready(front, &[]);
            scene.process().wait_stderr(&["nonesuch", "s"], LIMIT);
            scene.assert_echo("s", "a", "{}");
        }
    });
}

#[test]
fn co_4_two_tools_of_one_name_are_a_config_error() {
    let room = Room::new();
    let twice = json!([{ "original": "a", "exposed": "x" }, { "original": "b", "exposed": "x" }]);
    house(&room, Upstream::Stdio, &json!({ "exposedTools": twice }));
    for command in [room.trunkline(&[]), room.serve_command(&[])] {
        let end = kit::client::Client::run(command);
        assert_eq!(end.code, Some(2), "{end:?}");
        assert!(end.stderr.contains("exposedTools") && end.stderr.contains('x'), "{end:?}");
    }
    assert!(ledger::started(&room.ledger("s")).is_empty(), "nothing was started");
}

#[test]
fn co_4_filters_of_the_wrong_type_are_config_errors_with_their_place() {
    for (keys, place) in [
        (json!({ "exposedTools": "a" }), "$.mcpServers.s.exposedTools"),
        (json!({ "exposedTools": [7] }), "$.mcpServers.s.exposedTools[0]"),
        (json!({ "exposedTools": [{ "exposed": "x" }] }), "$.mcpServers.s.exposedTools[0]"),
        (json!({ "hiddenTools": [{ "original": "a" }] }), "$.mcpServers.s.hiddenTools[0]"),
    ] {
        let room = Room::new();
        house(&room, Upstream::Stdio, &keys);
        let end = kit::client::Client::run(room.trunkline(&[]));
        assert_eq!(end.code, Some(2), "{keys}: {end:?}");
        assert!(end.stderr.contains(place), "{keys}: {end:?}");
    }
}

#[test]
fn co_4_a_change_of_tools_keeps_to_the_filter() {
    let room = Room::new();
    let (a, d) = (say::definition("a"), say::definition("d"));
    let change =
        say::steps([say::change_tools(&[&a, &d]), say::changed("tools"), say::text("done")]);
    let mut entry = room.fake("s").tool("a", say::echo()).tool("change", change).entry();
    entry["exposedTools"] = json!(["a", "change"]);
    room.config([("s", entry)]);
    let scene = room.open_ready(Front::Stdio, &[]);
    scene.call("s:change", "{}").result();
    scene.wait_list("the new list", LIMIT, |names| names == ["s:a"]);
    assert_eq!(scene.call("s:d", "{}").code(), -32601);
}
