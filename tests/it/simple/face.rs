//! FR-012 … FR-015, CLI-1: what a client, a user and a log see of the program itself.

use std::process::Command;
use std::time::Duration;

use kit::client::Client;
use kit::line::Line;
use kit::room::Room;
use kit::{LIMIT, bin, process, say, scan};
use serde_json::{Value, json};

use super::{programs, simple_programs};

const LIST_CHANGED: &str = "notifications/tools/list_changed";

fn result(answer: &Line) -> Value {
    serde_json::from_slice(answer.result()).expect("a result is JSON")
}

fn one_child(room: &Room) {
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
}

#[test]
fn fr_012_every_legacy_revision_is_negotiated_and_an_unknown_one_gets_the_newest() {
    let room = Room::new();
    one_child(&room);
    for (asked, expected) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("", "2025-11-25"),
    ] {
        for (program, command) in programs(&room) {
            let client = Client::spawn(command);
            let answer = client.initialize(asked);
            assert_eq!(result(&answer)["protocolVersion"], expected, "{program}: {asked}");
            client.list();
            client.assert_echo("a", "echo", r#"{"x":1.0}"#);
            client.assert_only_protocol();
        }
    }
}

#[test]
fn fr_012_children_of_every_legacy_revision_are_served_alike() {
    let room = Room::new();
    let versions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
    room.config(versions.map(|version| {
        (version, room.fake(version).version(version).tool("echo", say::echo()).entry())
    }));
    let client = room.start(&[]);
    assert_eq!(client.list().len(), 4);
    for version in versions {
        client.assert_echo(version, "echo", r#"{"v":1}"#);
    }
}

/// What is asked behind `initialize` and needs no server is answered behind it: so `initialize` has not
/// waited. The server answers only when the client has its answer.
#[test]
fn fr_012_initialize_is_answered_at_once_whatever_the_children_do() {
    let room = Room::new();
    let wait = say::steps([say::gate(&room, "welcomed"), say::usual()]);
    let late = room.fake("late").on("initialize", wait).tool("echo", say::echo()).entry();
    room.config([
        ("late", late),
        ("silent", room.fake("silent").on("initialize", say::never()).entry()),
        ("ok", room.fake("ok").tool("echo", say::echo()).entry()),
    ]);
    for (program, mut command) in programs(&room) {
        command.args(["--start-timeout", "1"]); // the list waits for the silent one
        let client = Client::spawn(command);
        client.send_line(kit::mcp::initialize("\"hello\"", "2025-11-25"));
        client.send_line(r#"{"jsonrpc":"2.0","id":"behind","method":"ping"}"#);
        let first = client.wait_for("an answer", LIMIT, |line| line.id().is_some());
        assert!(first.is_answer_to(b"\"hello\""), "{program}: {first} came first");
        first.result();
        client.answer(b"\"behind\"", LIMIT).result();
        client.send_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        room.open_gate("welcomed");
        client.wait_list("what has started since is listed", LIMIT, |names| names.len() == 2);
        client.assert_echo("late", "echo", "{}");
        std::fs::remove_file(room.path("welcomed")).expect("the gate is a file");
    }
}

#[test]
fn fr_012_ping_is_answered_with_an_empty_result() {
    let room = Room::new();
    one_child(&room);
    for (_, command) in programs(&room) {
        let client = Client::spawn(command);
        client.initialize("2025-11-25");
        let answer = client.request(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
        assert_eq!(result(&answer), json!({}));
    }
}

#[test]
fn fr_012_nothing_but_protocol_on_stdout_however_much_there_is_to_say() {
    let room = Room::new();
    let noise = say::steps([
        say::line("Server listening on stdio"),
        say::stderr("warning: noise\n"),
        say::line("\u{1b}[31mred\u{1b}[0m"),
        say::text("fine"),
    ]);
    let die = say::steps([say::line("panicked at"), say::exit(101)]);
    let banner = say::steps([say::line("*** welcome ***"), say::stderr("banner\n")]);
    let loud = room.fake("loud").at_start(banner).tool("noise", noise).tool("die", die).entry();
    room.config([("loud", loud), ("ghost", json!({ "command": "/nowhere/ghost" }))]);
    let client = room.start_ready(&["--debug"]);
    client.call("loud:noise", "{}").result();
    client.call("nope", "{}").error();
    client.send_line("this is not JSON");
    client.call("loud:die", "{}").error();
    client.close_stdin();
    client.wait_exit(LIMIT);
    assert!(client.stdout_ended(LIMIT));
    client.assert_only_protocol();
}

#[test]
fn fr_013_fr_014_simple_is_the_literal_simple_product() {
    let room = Room::new();
    one_child(&room);
    for (program, command) in simple_programs(&room) {
        let client = Client::spawn(command);
        let answer = client.initialize("2024-11-05");
        let capabilities = scan::get(answer.result(), "capabilities").expect("capabilities");
        assert_eq!(capabilities, br#"{"tools":{}}"#, "{program}");
        let info = &result(&answer)["serverInfo"];
        assert_eq!(info["name"], "mcp-simple-aggregator", "{program}");
        assert_eq!(info["version"], "1.0.0", "{program}");
        for method in ["resources/list", "prompts/list", "resources/templates/list"] {
            let id = client.fresh_id();
            let answer =
                client.request(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#));
            assert_eq!(answer.code(), -32601, "{program} {method}");
        }
    }
}

#[test]
fn fr_013_fr_014_simple_refuses_other_transports_and_extra_keys_and_names_them() {
    for (config, parts) in [
        (json!({ "mcpServers": { "web": { "url": "http://127.0.0.1:1/" } } }), ["web", "url"]),
        (
            json!({ "mcpServers": { "web": { "type": "sse", "url": "http://127.0.0.1:1/" } } }),
            ["web", "url"],
        ),
        (
            json!({ "mcpServers": { "a": { "command": "x", "exposedTools": ["t"] } } }),
            ["$.mcpServers.a.exposedTools", "exposedTools"],
        ),
        (
            json!({ "mcpServers": { "a": { "command": "x", "hiddenTools": ["t"] } } }),
            ["$.mcpServers.a.hiddenTools", "hiddenTools"],
        ),
        (json!({ "mcpServers": {}, "tools": { "t": {} } }), ["$.tools", "tools"]),
    ] {
        let room = Room::new();
        room.write("mcp.json", config.to_string());
        for (program, command) in simple_programs(&room) {
            let end = Client::run(command);
            assert_eq!(end.code, Some(2), "{program} {config}: {end:?}");
            for part in parts {
                assert!(end.stderr.contains(part), "{program} {config}: {}", end.stderr);
            }
        }
    }
}

#[test]
fn fr_013_an_empty_set_of_servers_is_a_valid_config() {
    let room = Room::new();
    room.config([]);
    let client = room.start(&[]);
    assert_eq!(client.list_names(), Vec::<String>::new());
}

#[test]
fn fr_012_a_late_child_joins_with_list_changed() {
    let room = Room::new();
    let wait = say::steps([say::gate(&room, "go"), say::usual()]);
    let late = room.fake("late").on("initialize", wait).tool("echo", say::echo()).entry();
    room.config([("late", late), ("ok", room.fake("ok").tool("echo", say::echo()).entry())]);
    let client = Client::spawn(room.trunkline(&["--start-timeout", "1"]));
    let answer = client.initialize("2025-11-25");
    assert_eq!(result(&answer)["capabilities"]["tools"]["listChanged"], true);
    assert_eq!(client.list_names(), ["ok:echo"], "the list waits only up to the deadline");
    room.open_gate("go");
    client.wait_for("list_changed", LIMIT, |line| line.is_notification(LIST_CHANGED));
    assert_eq!(client.list().len(), 2);
    client.assert_echo("late", "echo", "{}");
}

#[test]
fn fr_013_simple_never_announces_a_change() {
    let room = Room::new();
    let wait = say::steps([say::gate(&room, "go"), say::usual()]);
    let late = room.fake("late").on("initialize", wait).tool("echo", say::echo()).entry();
    room.config([("late", late), ("ok", room.fake("ok").tool("echo", say::echo()).entry())]);
    let client = room.start(&["--simple", "--start-timeout", "1"]);
    assert_eq!(client.list_names(), ["ok:echo"]);
    room.open_gate("go");
    client.wait_list("the late child is listed", LIMIT, |names| names.len() == 2);
    let [pid] = kit::ledger::started(&room.ledger("late"))[..] else { panic!("one process") };
    process::kill(pid, rustix::process::Signal::KILL);
    client.wait_list("the dead child is not listed", LIMIT, |names| names.len() == 1);
    let told =
        client.try_wait_for(Duration::from_millis(1200), |line| line.is_notification(LIST_CHANGED));
    assert_eq!(told, None);
}

#[test]
fn fr_015_a_session_without_trouble_logs_nothing_and_debug_logs_more() {
    let room = Room::new();
    one_child(&room);
    let session = |mut command: Command, level: Option<&str>| {
        if let Some(level) = level {
            command.env("MCP_PROXY_LOG_LEVEL", level);
        }
        let client = Client::spawn(command);
        client.initialize("2025-11-25");
        client.list();
        client.assert_echo("a", "echo", r#"{"canary":"argument-canary"}"#);
        client.close_stdin();
        let end = client.finish(LIMIT);
        assert_eq!(end.code, Some(0), "{end:?}");
        end.stderr
    };
    assert_eq!(session(room.trunkline(&[]), None), "");
    for (_, command) in simple_programs(&room) {
        assert_eq!(session(command, None), "");
    }
    for debug in [
        session(room.trunkline(&["--debug"]), None),
        session(room.program(&bin::simple_aggregator(), &["--debug"]), None),
        session(room.trunkline(&[]), Some("debug")),
    ] {
        assert_ne!(debug, "");
        assert!(!debug.contains("argument-canary"), "arguments are never logged: {debug}");
    }
}

#[test]
fn fr_015_the_log_can_go_to_a_directory() {
    let room = Room::new();
    one_child(&room);
    let logs = room.path("logs");
    let mut command = room.trunkline(&["--debug"]);
    command.env("MCP_PROXY_LOG_DIRECTORY_PATH", &logs);
    let client = Client::spawn(command);
    client.initialize("2025-11-25");
    client.list();
    client.close_stdin();
    client.wait_exit(LIMIT);
    let written: u64 = std::fs::read_dir(&logs)
        .expect("the directory is made")
        .map(|file| file.and_then(|file| file.metadata()).map_or(0, |data| data.len()))
        .sum();
    assert!(written > 0);
}

#[test]
fn cli_1_help_names_every_flag() {
    for program in [bin::trunkline(), bin::simple_aggregator()] {
        let mut command = Command::new(&program);
        command.arg("--help");
        let end = Client::run(command);
        assert_eq!(end.code, Some(0), "{end:?}");
        for flag in ["--config", "--debug", "--name", "--help", "--version"] {
            assert!(end.stdout.contains(flag), "{program:?} {flag}: {}", end.stdout);
        }
    }
}

#[test]
fn cli_1_version_alone_prints_the_programs_version() {
    for program in [bin::trunkline(), bin::simple_aggregator()] {
        let mut command = Command::new(&program);
        command.arg("--version");
        let end = Client::run(command);
        assert_eq!(end.code, Some(0), "{end:?}");
        let version = end.stdout.split_whitespace().last().unwrap_or_default();
        let numbers: Vec<&str> = version.split('.').collect();
        assert!(numbers.len() == 3 && numbers[0].parse::<u32>().is_ok(), "{}", end.stdout);
    }
}

#[test]
fn cli_1_name_and_version_are_told_to_clients() {
    let room = Room::new();
    one_child(&room);
    for program in [bin::trunkline(), bin::simple_aggregator()] {
        let flags = ["--name", "my \"gate\"", "--version", "9.8.7-x"];
        let client = Client::spawn(room.program(&program, &flags));
        let info = &result(&client.initialize("2025-11-25"))["serverInfo"];
        assert_eq!(info["name"], "my \"gate\"", "{program:?}");
        assert_eq!(info["version"], "9.8.7-x", "{program:?}");
    }
    let client = Client::spawn(room.trunkline(&[]));
    assert_eq!(result(&client.initialize("2025-11-25"))["serverInfo"]["name"], "trunkline");
}

#[test]
fn cli_1_bad_flags_are_usage_errors_that_name_them() {
    let room = Room::new();
    one_child(&room);
    for (flags, part) in [
        (&["--no-such-flag"][..], "--no-such-flag"),
        (&["--start-timeout", "soon"][..], "--start-timeout"),
        (&["--call-timeout=-1"][..], "--call-timeout"),
        (&["--max-message", "lots"][..], "--max-message"),
        (&["--for", "no-such-client"][..], "no-such-client"),
        (&["stray-word"][..], "stray-word"),
    ] {
        let end = Client::run(room.trunkline(flags));
        assert_eq!(end.code, Some(2), "{flags:?}: {end:?}");
        assert_eq!(end.stdout, "", "{flags:?}");
        assert!(end.stderr.contains(part), "{flags:?}: {}", end.stderr);
    }
    assert!(!room.ledger("a").exists(), "nothing was started");
}
