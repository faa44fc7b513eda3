//! The first start: what a client is told while it waits, and what commands have listed before it.

use std::time::Duration;

use kit::client::Client;
use kit::limit::Limit;
use kit::mcp::Speak;
use kit::room::Room;
use kit::{LIMIT, ledger, say, scan};
use serde_json::json;

use super::commands::said;

/// A start says what it waits for after a second; this leaves one for the start itself.
const FIRST_WORD: Limit = Limit::promised(Duration::from_secs(2));

/// A room with `slow`, which starts when the gate `up` is open, and `quick`.
fn waiting_room() -> Room {
    let room = Room::shared();
    let slow = room.fake("slow").tool("echo", say::echo());
    let slow = slow.on("initialize", say::steps([say::gate(&room, "up"), say::usual()]));
    let quick = room.fake("quick").tool("echo", say::echo());
    room.config([("slow", slow.entry()), ("quick", quick.entry())]);
    room
}

#[test]
fn a_first_start_says_soon_what_it_waits_for() {
    let room = waiting_room();
    let client = room.start(&[]);
    client.ask("logging/setLevel", r#"{"level":"info"}"#).result();
    let list = client.start("tools/list", "{}");
    client.wait_stderr(&["waiting for 1 of 2 servers to start: slow"], FIRST_WORD);
    let told = client.notification("notifications/message", FIRST_WORD);
    let data = scan::path(&told.0, &["params", "data"]).and_then(scan::text);
    assert!(data.is_some_and(|it| it.starts_with("waiting for 1 of 2 servers")), "{told}");
    let second = room.start(&[]);
    second.wait_stderr(&["still starting: slow"], FIRST_WORD);
    room.open_gate("up");
    let answer = client.answer(&list, LIMIT);
    assert!(String::from_utf8_lossy(answer.result()).contains("slow:echo"), "{answer}");
    second.wait_list("all tools", LIMIT, |names| names.contains(&"slow:echo".to_owned()));
    let logged = second
        .try_wait_for(Duration::ZERO, |line| line.method() == Some("notifications/message".into()));
    assert_eq!(logged, None, "it has not asked for logs");
}

#[test]
fn what_a_command_has_listed_is_listed_at_once_by_the_first_client() {
    let room = Room::shared();
    let quick = room.fake("quick").tool("echo", say::echo()).entry();
    room.config([("quick", quick)]);
    let config = room.path("mcp.json");
    let config = config.to_str().expect("UTF-8");
    room.open_gate("up");
    let slow = room.fake("slow").tool("new", say::echo());
    let words = slow.on("initialize", say::steps([say::gate(&room, "up"), say::usual()])).entry();
    let list = words["args"].as_array().expect("arguments").iter();
    let mut add = vec!["add", "slow", "--config", config, "--"];
    add.extend(words["command"].as_str().into_iter().chain(list.filter_map(|it| it.as_str())));
    let added = said(&room, &add);
    assert_eq!(added.code, Some(0), "{}", added.stderr);
    std::fs::remove_file(room.path("up")).expect("nobody can start `slow` now");
    let names = room.start(&[]).list_names();
    for tool in ["quick:echo", "slow:new"] {
        assert!(names.contains(&tool.to_owned()), "{tool} is not in {names:?}");
    }
    // A client for itself says what it can do, which is not what `add` told the server.
    let alone = Client::spawn(room.trunkline(&["--no-shared", "--start-timeout", "0.3"]));
    alone.initialize("2025-11-25");
    let names = alone.list_names();
    assert!(!names.contains(&"slow:new".to_owned()), "listed for another client: {names:?}");
}

/// A server may list by what its client can do. What a command saw of it is pinned: had it seen less than clients are
/// shown, the rest would be new.
#[test]
fn commands_that_look_tell_servers_what_a_shared_runtime_tells_them() {
    let room = Room::shared();
    let mut entry = room.fake("a").tool("echo", say::echo()).entry();
    entry["era"] = json!("legacy"); // it is opened with `initialize`
    room.config([("a", entry.clone())]);
    let told = || {
        let all = ledger::with_method(&room.ledger("a"), "initialize");
        let last = all.last().expect("it was started");
        String::from_utf8_lossy(scan::path(last, &["params", "capabilities"]).expect("some"))
            .into_owned()
    };
    let client = room.start_ready(&[]);
    client.call("a:echo", "{}").result();
    let of_the_runtime = told();
    assert!(of_the_runtime.contains("sampling"), "{of_the_runtime}");
    drop(client);
    let config = room.path("mcp.json");
    let config = ["--config", config.to_str().expect("UTF-8")];
    let looks = [
        &["check"][..],
        &["doctor"],
        &["scan"],
        &["tools"],
        &["resources"],
        &["prompts"],
        &["search", "echo"],
    ];
    for command in looks {
        let before = ledger::started(&room.ledger("a")).len();
        said(&room, &[command, &config[..]].concat());
        assert_eq!(ledger::started(&room.ledger("a")).len(), before + 1, "{command:?}");
        assert_eq!(told(), of_the_runtime, "{command:?}");
    }
    entry.as_object_mut().expect("an entry").remove("era"); // no key of the simple aggregator's
    room.config([("a", entry)]);
    said(&room, &[&["check", "--simple"], &config[..]].concat());
    assert_eq!(told(), "{}", "as the simple aggregator");
}

/// A server may list less to a terminal than to clients. With that as its first pins the rest would be new to them.
#[test]
fn a_call_from_a_terminal_pins_nothing_that_was_not_seen_before() {
    let room = Room::shared();
    let mut entry = room.fake("a").tool("echo", say::echo()).entry();
    entry["onChange"] = json!("hold");
    room.config([("a", entry)]);
    let pins = || std::fs::read_dir(room.path("pins")).map_or(0, |it| it.count());
    let config = room.path("mcp.json");
    let config = ["--config", config.to_str().expect("UTF-8")];
    let run = |command: &[&str]| said(&room, &[command, &config[..]].concat());
    let called = run(&["call", "a:echo"]);
    assert_eq!(called.code, Some(0), "{}", called.stderr);
    assert_eq!(pins(), 0, "{}", called.stderr);
    assert_eq!(run(&["tools"]).code, Some(0));
    assert!(pins() > 0);
    // What was pinned is obeyed, and a change is kept for review.
    drop(room.fake("a").tool("echo", say::echo()).tool("other", say::echo()).entry());
    let refused = run(&["call", "a:other"]);
    assert_eq!(refused.code, Some(1), "{}", refused.stdout);
    let review = run(&["review"]).stdout;
    assert!(review.contains("other"), "{review}");
}

#[test]
fn secrets_in_arguments_are_not_shown() {
    let room = Room::shared();
    let talks = json!({ "command": "sh", "args": [
        "-c", "echo \"got $1 and $3 and $4\" >&2; exit 3", "sh",
        "--api-key=literal-canary", "--token", "flag-canary", "${GIVEN}" ] });
    room.config([("talks", talks)]);
    let mut command = room.trunkline(&["--start-timeout", "25"]);
    command.env("GIVEN", "variable-canary");
    let client = Client::spawn(command);
    client.initialize("2025-11-25");
    client.list();
    client.wait_stderr(&["server `talks`"], LIMIT);
    let failed = client.call("talks:x", "{}").message();
    let logs = said(&room, &["logs", "talks"]);
    for told in [client.stderr(), failed, logs.stdout] {
        assert!(!told.contains("canary"), "{told}");
        for name in ["[redacted --api-key]", "[redacted --token]", "[redacted GIVEN]"] {
            assert!(told.contains(name), "{name} is not in {told}");
        }
    }
}
