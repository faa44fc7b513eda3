//! K25, K26: odd names and odd lists of tools.

use std::collections::HashSet;

use kit::room::Room;
use kit::{LIMIT, ledger, process, say, scan};
use serde_json::json;

const ODD_NAMES: &[&str] = &[
    "a:b",
    ":",
    "a__b",
    "__",
    "with space",
    " ",
    "日本語",
    "\u{e9}",
    "e\u{301}",
    "a/b",
    "a.b",
    "-",
    "UPPER",
    "upper",
    "\"quoted\"",
    "back\\slash",
    "emoji😀",
    "x\u{fffd}",
];

#[test]
fn k25_odd_names_are_listed_and_each_reaches_its_own_tool() {
    let room = Room::new();
    let long = "n".repeat(300);
    let names: Vec<&str> = ODD_NAMES.iter().copied().chain([long.as_str()]).collect();
    let definitions: Vec<String> = names.iter().map(|name| say::definition(name)).collect();
    let definitions: Vec<&str> = definitions.iter().map(String::as_str).collect();
    let reply = say::steps([say::result(r#"{"name":@NAME@}"#)]);
    room.config([("odd", room.fake("odd").definitions(&definitions).tool("*", reply).entry())]);
    let client = room.start(&[]);
    let listed: HashSet<String> = client.list_names().into_iter().collect();
    for name in names {
        let exposed = format!("odd:{name}");
        assert!(listed.contains(&exposed), "{exposed:?} is not listed: {listed:?}");
        let answer = client.call(&exposed, "{}");
        let seen = scan::get(answer.result(), "name").and_then(scan::text);
        assert_eq!(seen.as_deref(), Some(name));
    }
    client.assert_only_protocol();
}

#[test]
fn k26_a_cursor_that_is_no_string_is_a_warning_and_what_came_is_used() {
    for (cursor, told) in [("7", true), ("{\"page\":2}", true), ("false", true), ("null", false)] {
        let room = Room::new();
        let page = format!(r#"{{"tools":[{}],"nextCursor":{cursor}}}"#, say::definition("echo"));
        let odd = room.fake("odd").tool("echo", say::echo());
        room.config([("odd", odd.on("tools/list", say::steps([say::result(&page)])).entry())]);
        let client = room.start(&[]);
        assert_eq!(client.list_names(), ["odd:echo"], "{cursor}");
        client.assert_echo("odd", "echo", "{}");
        assert_eq!(ledger::with_method(&room.ledger("odd"), "tools/list").len(), 1, "{cursor}");
        let is_told = || client.stderr().contains("server `odd`: its answer to tools/list");
        if told {
            process::wait_until("the warning", LIMIT, || client.stderr().contains("nextCursor"));
        }
        assert_eq!(is_told(), told, "{cursor}: {}", client.stderr());
    }
}

#[test]
fn k25_names_that_hide_something_are_refused_with_a_warning() {
    let room = Room::new();
    let hidden = [
        ("control", "bell\u{7}"),
        ("newline", "new\nline"),
        ("nul", "nul\0"),
        ("delete", "del\u{7f}"),
        ("bidi", "evil\u{202e}gpj"),
        ("isolate", "evil\u{2066}x"),
        ("tag", "tag\u{e0041}\u{e007f}"),
        ("c1", "c1\u{85}"),
    ];
    let definitions: Vec<String> = hidden
        .iter()
        .map(|(_, name)| say::definition(name))
        .chain([say::definition("good")])
        .collect();
    let definitions: Vec<&str> = definitions.iter().map(String::as_str).collect();
    room.config([(
        "odd",
        room.fake("odd").definitions(&definitions).tool("*", say::echo()).entry(),
    )]);
    let client = room.start(&[]);
    assert_eq!(client.list_names(), ["odd:good"]);
    client.wait_stderr(&["odd"], LIMIT);
    for (kind, name) in hidden {
        client.call(&format!("odd:{name}"), "{}").error();
        assert!(!client.stderr().contains(name), "{kind}: a log must not carry it either");
    }
    client.assert_echo("odd", "good", "{}");
}

#[test]
fn k25_an_empty_or_absent_name_costs_only_that_tool() {
    let room = Room::new();
    let definitions = [
        r#"{"name":"","inputSchema":{"type":"object"}}"#,
        r#"{"inputSchema":{"type":"object"}}"#,
        r#"{"name":7,"inputSchema":{"type":"object"}}"#,
        r#"{"name":null}"#,
        r#""text""#,
        r#"{"name":"good","inputSchema":{"type":"object"}}"#,
    ];
    room.config([(
        "odd",
        room.fake("odd").definitions(&definitions).tool("*", say::echo()).entry(),
    )]);
    let client = room.start(&[]);
    assert!(client.list_names().contains(&"odd:good".to_owned()));
    client.assert_echo("odd", "good", "{}");
}

#[test]
fn k25_one_exposed_name_for_two_servers_is_never_ambiguous() {
    let room = Room::new();
    let one = room.fake("one").tool("b:c", say::echo()).tool("fine", say::echo()).entry();
    let two = room.fake("two").tool("c", say::echo()).tool("fine", say::echo()).entry();
    room.config([("a", one), ("a:b", two)]);
    let client = room.start(&[]);
    let names = client.list_names();
    let count = names.iter().filter(|name| *name == "a:b:c").count();
    assert!(count <= 1, "{names:?}");
    client.wait_stderr(&["a:b:c"], LIMIT);
    client.call("a:fine", "{}").result();
    client.call("a:b:fine", "{}").result();
    let answer = client.call("a:b:c", "{}");
    if let Some(result) = answer.try_result() {
        let from = scan::path(result, &["structuredContent", "from"]);
        assert_eq!(from, Some(&b"\"one\""[..]), "the first in the config wins");
    }
}

#[test]
fn k26_ten_thousand_tools_over_a_hundred_pages() {
    let room = Room::new();
    let many = room.fake("many").generated(10_000, 100).tool("*", say::echo()).entry();
    room.config([("many", many), ("clean", room.fake("clean").tool("echo", say::echo()).entry())]);
    let client = room.start(&[]);
    let names: HashSet<String> = client.list_names().into_iter().collect();
    assert_eq!(names.len(), 10_001);
    assert!((0..10_000).all(|number| names.contains(&format!("many:t{number}"))));
    client.assert_echo("many", "t0", "{}");
    client.assert_echo("many", "t9999", "{}");
    client.assert_echo("clean", "echo", "{}");
}

#[test]
fn k26_an_empty_cursor_is_a_cursor() {
    let room = Room::new();
    let pages = json!([
        { "at": null, "tools": [say::definition("one")], "next": "" },
        { "at": "", "tools": [say::definition("two")] },
    ]);
    room.config([("a", room.fake("a").pages(pages).entry())]);
    let mut names = room.start(&[]).list_names();
    names.sort();
    assert_eq!(names, ["a:one", "a:two"]);
}

#[test]
fn k26_a_cursor_is_given_back_exactly() {
    let room = Room::new();
    let cursor = "é \"\\ \u{1} 😀 ='";
    let pages = json!([
        { "at": null, "tools": [say::definition("one")], "next": cursor },
        { "at": cursor, "tools": [say::definition("two")] },
    ]);
    room.config([("a", room.fake("a").pages(pages).entry())]);
    assert_eq!(room.start(&[]).list().len(), 2);
}

#[test]
fn k26_lists_without_end_are_cut_and_marked() {
    for (name, next_of_b) in [("a loop of one", "b"), ("a loop of two", "c")] {
        let room = Room::new();
        let pages = json!([
            { "at": null, "tools": [say::definition("one")], "next": "b" },
            { "at": "b", "tools": [say::definition("two")], "next": next_of_b },
            { "at": "c", "tools": [say::definition("three")], "next": "b" },
        ]);
        let evil = room.fake("evil").pages(pages).tool("*", say::echo()).entry();
        room.config([
            ("evil", evil),
            ("clean", room.fake("clean").tool("echo", say::echo()).entry()),
        ]);
        let client = room.start(&[]);
        let names = client.list_names();
        assert!(names.contains(&"evil:one".to_owned()), "{name}: {names:?}");
        assert!(names.contains(&"evil:two".to_owned()), "{name}: {names:?}");
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "{name}: {names:?}");
        client.wait_stderr(&["evil"], LIMIT);
        client.assert_echo("evil", "one", "{}");
        client.assert_echo("clean", "echo", "{}");
        let asked = ledger::with_method(&room.ledger("evil"), "tools/list").len();
        assert!(asked <= 5, "{name}: asked {asked} times");
    }
}

#[test]
fn k26_endless_pages_stop_at_the_cap() {
    let room = Room::new();
    let evil = room.fake("evil").generated(0, 10).tool("*", say::echo()).entry();
    room.config([("evil", evil), ("clean", room.fake("clean").tool("echo", say::echo()).entry())]);
    let client = room.start(&[]);
    assert!(client.list_names().contains(&"clean:echo".to_owned()));
    client.assert_echo("clean", "echo", "{}");
    client.assert_echo("evil", "t0", "{}");
    client.wait_stderr(&["evil"], LIMIT);
    let asked = ledger::with_method(&room.ledger("evil"), "tools/list").len();
    assert!(asked <= 256, "asked {asked} times");
}

#[test]
fn k26_pages_that_change_while_they_are_read_harm_nobody() {
    let room = Room::new();
    // The second page is gone when it is asked for, and repeats the first one's tool later.
    let sweeps = json!([
        [{ "at": null, "tools": [say::definition("one")], "next": "gone" }],
        [
            { "at": null, "tools": [say::definition("one")], "next": "more" },
            { "at": "more", "tools": [say::definition("one"), say::definition("two")] },
        ],
    ]);
    let evil = room.fake("evil").sweeps(sweeps).tool("*", say::echo()).entry();
    room.config([("evil", evil), ("clean", room.fake("clean").tool("echo", say::echo()).entry())]);
    let client = room.start(&[]);
    let names = client.list_names();
    assert!(names.contains(&"clean:echo".to_owned()), "{names:?}");
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "{names:?}");
    client.assert_echo("clean", "echo", "{}");
    assert!(client.is_alive());
}

#[test]
fn k26_a_list_that_never_comes_holds_up_nobody() {
    let room = Room::new();
    let evil = room.fake("evil").on("tools/list", say::never()).entry();
    room.config([("evil", evil), ("clean", room.fake("clean").tool("echo", say::echo()).entry())]);
    let client = room.start(&["--start-timeout", "1"]);
    assert_eq!(client.list_names(), ["clean:echo"]);
    client.assert_echo("clean", "echo", "{}");
}
