//! FR-004 … FR-008, PROTO-1, SC-006: one list, right routes, nothing changed on the way.

use kit::client::Client;
use kit::room::Room;
use kit::{ledger, mcp, say, scan};
use serde_json::json;

use super::programs;

#[test]
fn fr_004_the_prefix_is_the_key_exactly_as_written() {
    let keys = ["my-server_v2", "with space", "UPPER", "a.b", "a:b", "a__b", "日本", "é", "1"];
    let room = Room::new();
    let servers = keys.iter().enumerate().map(|(number, key)| {
        let name = format!("s{number}");
        ((*key).to_owned(), room.fake(&name).tool("echo", say::echo()).entry())
    });
    room.config_of(servers.collect());
    let client = room.start(&[]);
    let mut expected: Vec<String> = keys.iter().map(|key| format!("{key}:echo")).collect();
    let mut names = client.list_names();
    names.sort();
    expected.sort();
    assert_eq!(names, expected);
    for (number, key) in keys.iter().enumerate() {
        let answer = client.call(&format!("{key}:echo"), "{}");
        let from = scan::path(answer.result(), &["structuredContent", "from"]);
        assert_eq!(from, Some(format!("\"s{number}\"").as_bytes()), "{key}");
    }
}

#[test]
fn fr_004_another_separator_can_be_chosen() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let client = room.start(&["--separator", "__"]);
    assert_eq!(client.list_names(), ["a__echo"]);
    client.call("a__echo", "{}").result();
}

#[test]
fn fr_005_one_list_with_every_tool_of_every_running_child() {
    let room = Room::new();
    let pages = json!([
        { "at": null, "tools": [say::definition("p1")], "next": "x" },
        { "at": "x", "tools": [say::definition("p2"), say::definition("p3")], "next": "y" },
        { "at": "y", "tools": [], "next": "z" },
        { "at": "z", "tools": [say::definition("p4")] },
    ]);
    room.config([
        ("sourcebot", room.fake("sourcebot").tool("search_code", say::echo()).entry()),
        ("analyzer", room.fake("analyzer").pages(pages).entry()),
        ("empty", room.fake("empty").entry()),
    ]);
    for (name, command) in programs(&room) {
        let client = Client::spawn(command);
        client.initialize("2025-11-25");
        let mut names = client.list_names();
        names.sort();
        let expected =
            ["analyzer:p1", "analyzer:p2", "analyzer:p3", "analyzer:p4", "sourcebot:search_code"];
        assert_eq!(names, expected, "{name}");
    }
}

#[test]
fn fr_005_a_server_without_tools_is_no_failure() {
    let room = Room::new();
    let no_tools = say::steps([say::result(
        r#"{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"n","version":"1"}}"#,
    )]);
    let refuse = say::steps([say::error(r#"{"code":-32601,"message":"Method not found"}"#)]);
    let bare = room.fake("bare").on("initialize", no_tools).on("tools/list", refuse).entry();
    room.config([("bare", bare), ("ok", room.fake("ok").tool("echo", say::echo()).entry())]);
    let client = room.start(&[]);
    assert_eq!(client.list_names(), ["ok:echo"]);
}

#[test]
fn fr_005_the_order_of_the_list_does_not_depend_on_who_starts_first() {
    let mut lists = Vec::new();
    for late in ["a", "b", "c"] {
        let room = Room::new();
        let servers = ["c", "a", "b"].map(|key| {
            let steps = say::steps([say::pause(if key == late { 300 } else { 0 }), say::usual()]);
            let fake = room.fake(key).on("initialize", steps);
            (key, fake.tool("z", say::echo()).tool("y", say::echo()).entry())
        });
        room.config(servers);
        lists.push(room.start(&[]).list_names());
    }
    assert_eq!(lists[0].len(), 6);
    assert_eq!(lists[0], lists[1]);
    assert_eq!(lists[1], lists[2]);
}

/// Definitions as servers write them; only the name may change.
const DEFINITIONS: &[&str] = &[
    r#"{"name":"plain","inputSchema":{"type":"object"}}"#,
    r#"{ "inputSchema" : { "type":"object", "x":1.0, "properties":{"b":{},"a":{}} } , "name" : "spaced" , "title":"T" }"#,
    r#"{"name":"rich","title":"caf\u00e9 \/ é","description":"a \"b\"","inputSchema":{"type":"object","$defs":{"n":{"maximum":1e400,"const":123456789012345678901234567890}}},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"x-unknown":[1.10]},"icons":[{"src":"data:,","sizes":["1x1"]}],"execution":{"taskSupport":"optional"},"_meta":{"a/b":null},"unknown":{"z":1,"a":2}}"#,
    r#"{"description":"name comes last","inputSchema":true,"name":"last"}"#,
    r#"{"inputSchema":{"type":"object","properties":{"name":{"type":"string","const":"name"}}},"name":"inner"}"#,
];

#[test]
fn fr_005_a_definition_changes_only_its_name() {
    let room = Room::new();
    room.config([("a", room.fake("a").definitions(DEFINITIONS).entry())]);
    for (program, command) in programs(&room) {
        let client = Client::spawn(command);
        client.initialize("2025-11-25");
        let tools = client.list();
        assert_eq!(tools.len(), DEFINITIONS.len());
        for raw in DEFINITIONS {
            let name = scan::get(raw.as_bytes(), "name").and_then(scan::text).expect("a name");
            let exposed = format!("a:{name}");
            let expected = scan::replace(raw.as_bytes(), "name", scan::quote(&exposed).as_bytes());
            let tool = tools.iter().find(|tool| tool.name == exposed).expect("it is listed");
            let (listed, expected) = (&tool.raw, expected.expect("a name"));
            assert_eq!(
                String::from_utf8_lossy(listed),
                String::from_utf8_lossy(&expected),
                "{program}"
            );
        }
    }
}

#[test]
fn fr_006_fr_007_fr_008_a_call_reaches_its_child_under_the_original_name_unchanged() {
    let room = Room::new();
    let reply = r#"{ "content":[{"type":"text","text":"\u00e9\/"}], "structuredContent":{"n":1.0,"n":1e400},"isError":false, "_meta":{"k":[ ]},"unknown":-0 }"#;
    let a = room.fake("a").tool("search", say::steps([say::result(reply)])).entry();
    let b = room.fake("b").tool("search", say::echo()).entry();
    room.config([("a", a), ("b", b)]);
    for (name, command) in programs(&room) {
        let before = ledger::calls(&room.ledger("a")).len();
        let client = Client::spawn(command);
        client.initialize("2025-11-25");
        client.list();
        let id = client.fresh_id();
        let params = r#"{ "_meta":{"x":1.0}, "name":"a:search", "arguments":{ "z":1.50,"a":"\u0041","z":2 }, "unknown":[ 1 ] }"#;
        let request =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#);
        let answer = client.request(request);
        assert_eq!(String::from_utf8_lossy(answer.result()), reply, "{name}");
        let calls = ledger::calls(&room.ledger("a"));
        assert_eq!(calls.len(), before + 1, "{name}");
        let received = scan::get(&calls[before], "params").expect("params");
        let expected = params.replace("a:search", "search");
        assert_eq!(String::from_utf8_lossy(received), expected, "{name}");
    }
    assert_eq!(ledger::calls(&room.ledger("b")), Vec::<Vec<u8>>::new(), "b was never asked");
}

#[test]
fn fr_006_a_call_without_arguments_stays_without() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("x", say::steps([say::result("@PARAMS@")])).entry())]);
    let client = room.start_ready(&[]);
    let request = r#"{"jsonrpc":"2.0","id":"n","method":"tools/call","params":{"name":"a:x"}}"#;
    assert_eq!(client.request(request).result(), br#"{"name":"x"}"#);
}

#[test]
fn fr_006_a_name_may_be_spelled_with_escapes_on_either_side() {
    let room = Room::new();
    let raw = r#"{"name":"caf\u00e9\/x","inputSchema":{"type":"object"}}"#;
    let steps = say::steps([say::result(r#"{"name":@NAME@}"#)]);
    room.config([("a", room.fake("a").definitions(&[raw]).tool("café/x", steps).entry())]);
    let client = room.start(&[]);
    assert_eq!(client.list_names(), ["a:café/x"]);
    for spelling in [r#""a:café/x""#, r#""a:caf\u00e9\/x""#, r#""\u0061\u003acaf\u00E9/\u0078""#] {
        let id = client.fresh_id();
        let params = format!(r#"{{"name":{spelling},"arguments":{{}}}}"#);
        let answer = client.request(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#
        ));
        let seen = scan::get(answer.result(), "name").and_then(scan::text);
        assert_eq!(seen.as_deref(), Some("café/x"), "{spelling}");
    }
}

#[test]
fn proto_1_unknown_tools_and_missing_prefixes_are_told_apart() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    for (program, command) in programs(&room) {
        let client = Client::spawn(command);
        client.initialize("2025-11-25");
        client.list();
        for name in
            ["invalid:tool_name", "a:nope", "a:", ":", ":echo", "A:echo", "a:echo ", "a:é\"\\\n"]
        {
            let answer = client.call(name, "{}");
            assert_eq!(answer.code(), -32601, "{program}: {answer}");
            assert_said(program, &answer, &format!("Tool not found: {name}"));
        }
        for name in ["tool_name", "echo", "", "é\"\\\u{1}"] {
            let answer = client.call(name, "{}");
            assert_eq!(answer.code(), -32602, "{program}: {answer}");
            let expected = format!("Tool name must be prefixed with server key: {name}");
            assert_said(program, &answer, &expected);
        }
    }
    let calls = ledger::calls(&room.ledger("a"));
    assert!(calls.is_empty(), "a refused call reaches nobody");
}

/// The simple product says this and nothing else; the full one may say which tool was meant.
#[track_caller]
fn assert_said(program: &str, answer: &kit::line::Line, expected: &str) {
    let message = answer.message();
    let rest = message.strip_prefix(expected);
    let is_hint = |rest: &str| program == "trunkline" && rest == " (did you mean `a:echo`?)";
    assert!(rest.is_some_and(|rest| rest.is_empty() || is_hint(rest)), "{program}: {message}");
}

#[test]
fn proto_1_a_childs_error_comes_through_byte_for_byte() {
    for error in [
        r#"{"code":-32603,"message":"File not found: /invalid/path.txt","data":{"errno":-2,"code":"ENOENT"}}"#,
        r#"{ "data":[1.0, 1e400,"\ud800"] ,"message":"caf\u00e9", "code":-32602,"unknown":{} }"#,
        r#"{"code":7,"message":""}"#,
        r#"{"code":-32002,"message":"Resource not found"}"#,
        r#"{"code":-32042,"message":"url elicitation","data":{"elicitations":[]}}"#,
    ] {
        let room = Room::new();
        room.config([("a", room.fake("a").tool("x", say::steps([say::error(error)])).entry())]);
        for (program, command) in programs(&room) {
            let client = Client::spawn(command);
            client.initialize("2025-11-25");
            client.list();
            let answer = client.call("a:x", "{}");
            assert_eq!(String::from_utf8_lossy(answer.error()), error, "{program}");
        }
    }
}

#[test]
fn sc_006_the_same_tool_on_two_servers_and_the_same_binary_under_two_keys() {
    let room = Room::new();
    room.config([
        ("instance1", room.fake("instance1").tool("search", say::echo()).entry()),
        ("instance2", room.fake("instance2").tool("search", say::echo()).entry()),
    ]);
    for (_, command) in programs(&room) {
        let client = Client::spawn(command);
        client.initialize("2025-11-25");
        let mut names = client.list_names();
        names.sort();
        assert_eq!(names, ["instance1:search", "instance2:search"]);
        client.assert_echo("instance1", "search", r#"{"q":1}"#);
        client.assert_echo("instance2", "search", r#"{"q":2}"#);
    }
}

#[test]
fn fr_006_requests_of_two_calls_to_one_child_do_not_cross() {
    let room = Room::new();
    let hold = say::steps([say::gate(&room, "go"), say::result("@ARGS@")]);
    room.config([("a", room.fake("a").tool("hold", hold).tool("now", say::mirror()).entry())]);
    let client = room.start_ready(&[]);
    client.send_line(mcp::call("\"first\"", "a:hold", r#"{"n":1}"#));
    client.send_line(mcp::call("\"second\"", "a:now", r#"{"n":2}"#));
    let second = client.answer(b"\"second\"", kit::LIMIT);
    assert_eq!(second.result(), br#"{"n":2}"#, "an open call does not hold up the next one");
    room.open_gate("go");
    assert_eq!(client.answer(b"\"first\"", kit::LIMIT).result(), br#"{"n":1}"#);
}
