//! EDGE-1 … EDGE-3: very large results, an aggregator as its own child, doubled names.

use std::time::Duration;

use kit::client::Client;
use kit::limit::Limit;
use kit::room::{MARK, Room};
use kit::say::{self, Place};
use kit::{LIMIT, SOON, bin, ledger, process};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{programs, simple_programs};

#[test]
fn edge_1_results_of_tens_of_mib_pass() {
    const SIZE: usize = 40 << 20;
    let room = Room::new();
    let huge = room.fake("a").tool("huge", say::steps([say::huge(SIZE, Place::First)]));
    room.config([("a", huge.tool("echo", say::echo()).entry())]);
    let client = room.start_ready(&[]);
    let answer = client.call("a:huge", "{}");
    let text = "x".repeat(SIZE);
    let expected = format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#);
    assert!(answer.result() == expected.as_bytes(), "the bytes differ");
    client.assert_echo("a", "echo", "{}");
}

#[test]
fn edge_1_arguments_of_many_mib_pass() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("mirror", say::mirror()).entry())]);
    let client = room.start_ready(&[]);
    let arguments = format!(r#"{{"text":"{}"}}"#, "y".repeat(20 << 20));
    let answer = client.call("a:mirror", &arguments);
    assert!(answer.result() == arguments.as_bytes(), "the bytes differ");
}

#[test]
fn edge_1_a_line_over_the_limit_is_an_error_for_that_one_call() {
    let room = Room::new();
    let a = room
        .fake("a")
        .tool("over", say::steps([say::huge(2 << 20, Place::First)]))
        .tool("under", say::steps([say::huge(900 << 10, Place::First)]))
        .tool("echo", say::echo())
        .entry();
    room.config([("a", a), ("ok", room.fake("ok").tool("echo", say::echo()).entry())]);
    let mut commands = vec![("trunkline", room.trunkline(&["--max-message", "1048576"]))];
    for (name, mut command) in simple_programs(&room) {
        command.args(["--max-message", "1048576"]);
        commands.push((name, command));
    }
    for (program, command) in commands {
        let client = Client::spawn(command);
        client.initialize("2025-11-25");
        client.list();
        let started = ledger::started(&room.ledger("a")).len();
        let answer = client.call_within("a:over", "{}", SOON);
        assert!(!(-32768..=-32000).contains(&answer.code()), "{program}: {answer}");
        let message = answer.message();
        assert!(message.contains("large") || message.contains("limit"), "{program}: {answer}");
        client.call("a:under", "{}").result();
        client.assert_echo("a", "echo", "{}");
        client.assert_echo("ok", "echo", "{}");
        assert_eq!(ledger::started(&room.ledger("a")).len(), started, "{program}: it lives on");
    }
}

/// An entry that starts a gateway on `config`.
fn gateway(room: &Room, program: &std::path::Path, config: &str) -> Value {
    json!({
        "command": program.to_str(),
        "args": ["--config", room.path(config).to_str()],
        "env": { MARK: room.marker() },
    })
}

/// Watches the room while `client` lists and calls; a fork bomb is stopped and reported.
#[track_caller]
fn assert_no_bomb(room: &Room, client: &Client) {
    const MANY: usize = 60;
    let id = client.fresh_id();
    client.send_line(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#));
    let deadline = Limit::from(LIMIT).begin();
    loop {
        let running = process::marked(room.marker());
        if running.len() > MANY {
            client.signal(Signal::KILL);
            running.iter().for_each(|process| process.kill(Signal::KILL));
            panic!("{} processes and counting", running.len());
        }
        let id = id.as_bytes();
        if client.try_wait_for(Duration::from_millis(5), |line| line.is_answer_to(id)).is_some() {
            break;
        }
        assert!(!deadline.is_over(), "no list within {deadline}\n{}", client.describe());
    }
    client.assert_echo("ok", "echo", "{}");
    assert!(process::marked(room.marker()).len() < MANY);
}

#[test]
fn edge_2_k23_an_aggregator_as_its_own_child_is_refused_with_a_clear_message() {
    for program in [bin::trunkline(), bin::simple_aggregator()] {
        let room = Room::new();
        let ok = room.fake("ok").tool("echo", say::echo()).entry();
        room.config([("self", gateway(&room, &program, "mcp.json")), ("ok", ok)]);
        let client = Client::spawn(room.program(&program, &[]));
        client.initialize("2025-11-25");
        assert_no_bomb(&room, &client);
        assert_eq!(client.list_names(), ["ok:echo"], "the loop offers nothing");
        client.wait_stderr(&["self", "leads back to the same file"], SOON);
    }
}

#[test]
fn edge_2_k23_a_loop_through_another_config_and_a_shell_is_refused() {
    let room = Room::new();
    let script =
        format!("{} --config {}", bin::trunkline().display(), room.path("mcp.json").display());
    let b = json!({ "mcpServers": { "a": {
        "command": "/bin/sh", "args": ["-c", script], "env": { MARK: room.marker() },
    } } });
    room.write("b.json", b.to_string());
    let ok = room.fake("ok").tool("echo", say::echo()).entry();
    room.config([("b", gateway(&room, &bin::trunkline(), "b.json")), ("ok", ok)]);
    let client = room.start(&[]);
    assert_no_bomb(&room, &client);
}

#[test]
fn edge_2_k23_a_loop_through_another_config_is_told_by_check_doctor_and_the_start() {
    let room = Room::new();
    let inner = json!({ "mcpServers": { "a": gateway(&room, &bin::trunkline(), "mcp.json") } });
    let b = room.write("b.json", inner.to_string());
    let ok = room.fake("ok").tool("echo", say::echo()).entry();
    let a = room.config([("b", gateway(&room, &bin::trunkline(), "b.json")), ("ok", ok)]);
    let way = format!("{} → {} → {}", a.display(), b.display(), a.display());
    let told = ["server `b` starts Trunkline in a loop", &way, "remove the entry from one of"];
    for command in ["check", "doctor"] {
        let mut program = std::process::Command::new(bin::trunkline());
        program.arg(command).arg("--config").arg(&a).env(MARK, room.marker());
        let end = Client::run(program);
        let said = format!("{}{}", end.stdout, end.stderr);
        for part in told {
            assert!(said.contains(part), "{command} does not say {part:?}\n{said}");
        }
    }
    let client = room.start(&[]);
    client.wait_stderr(&told, SOON);
    assert_no_bomb(&room, &client);
    // An aggregator behind another without a loop is told of nothing.
    room.write("b.json", json!({ "mcpServers": {} }).to_string());
    let client = room.start(&[]);
    client.list();
    assert!(!client.stderr().contains("in a loop"), "{}", client.stderr());
}

#[test]
fn edge_2_k23_a_loop_through_a_cleared_environment_is_refused() {
    let room = Room::new();
    let program = bin::trunkline();
    let mark = format!("{MARK}={}", room.marker());
    let config = room.path("mcp.json");
    let entry = json!({
        "command": "/usr/bin/env",
        "args": ["-i", mark, program.to_str(), "--config", config.to_str()],
    });
    let ok = room.fake("ok").tool("echo", say::echo()).entry();
    room.config([("self", entry), ("ok", ok)]);
    let client = room.start(&[]);
    assert_no_bomb(&room, &client);
    assert_eq!(client.list_names(), ["ok:echo"], "the loop offers nothing");
}

#[test]
fn edge_2_k23_an_aggregator_behind_another_is_no_loop() {
    let room = Room::new();
    let inner = room.fake("inner").tool("echo", say::echo()).entry();
    room.write("b.json", json!({ "mcpServers": { "inner": inner } }).to_string());
    let ok = room.fake("ok").tool("echo", say::echo()).entry();
    room.config([("b", gateway(&room, &bin::trunkline(), "b.json")), ("ok", ok)]);
    let client = room.start_ready(&[]);
    let arguments = r#"{ "x":1.0 }"#;
    let answer = client.call("b:inner:echo", arguments);
    let seen = kit::scan::path(answer.result(), &["structuredContent", "arguments"]);
    assert_eq!(seen, Some(arguments.as_bytes()));
    assert_no_bomb(&room, &client);
}

#[test]
fn edge_3_k24_of_doubled_names_in_one_child_the_first_wins_with_a_warning() {
    let room = Room::new();
    let a = room
        .fake("a")
        .definitions(&[
            r#"{"name":"twin","description":"first","inputSchema":{"type":"object"}}"#,
            r#"{"name":"other","inputSchema":{"type":"object"}}"#,
            r#"{"name":"twin","description":"second","inputSchema":{"type":"object"}}"#,
            r#"{"name":"tw\u0069n","description":"third","inputSchema":{"type":"object"}}"#,
        ])
        .tool("*", say::echo())
        .entry();
    room.config([("a", a)]);
    for (program, command) in programs(&room) {
        let client = Client::spawn(command);
        client.initialize("2025-11-25");
        let mut tools = client.list();
        tools.sort_by(|one, two| one.name.cmp(&two.name));
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["a:other", "a:twin"], "{program}");
        let twin = String::from_utf8_lossy(&tools[1].raw).into_owned();
        assert!(twin.contains("first"), "{program}: {twin}");
        client.wait_stderr(&["a", "twin"], LIMIT);
        client.assert_echo("a", "twin", "{}");
    }
}
