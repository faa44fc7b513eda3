//! FR-001, FR-002, FR-010, SC-004, SC-005: reading, expanding and refusing a config.

use std::process::Command;

use kit::client::{Client, Finished};
use kit::room::Room;
use kit::{bin, say};
use serde_json::{Value, json};

use super::{programs, report, simple_programs};

#[track_caller]
fn assert_refused(end: &Finished, parts: &[&str]) {
    assert_eq!(end.code, Some(2), "{end:?}");
    assert_eq!(end.stdout, "", "stdout is the protocol's: {end:?}");
    for part in parts {
        assert!(end.stderr.contains(part), "stderr does not name {part}: {}", end.stderr);
    }
}

#[test]
fn fr_001_without_a_path_it_is_a_usage_error_that_names_the_argument() {
    for (program, flags) in [
        (bin::trunkline(), &["--simple"][..]),
        (bin::simple_aggregator(), &[]),
        (bin::trunkline(), &[]),
    ] {
        let mut command = Command::new(program);
        command.args(flags).env_remove("MCP_PROXY_CONFIG_PATH");
        // Where no folder of the user is known, there is no config of the user's own either.
        command.env_remove("HOME").env_remove("XDG_CONFIG_HOME");
        assert_refused(&Client::run(command), &["--config"]);
    }
}

#[test]
fn fr_001_the_path_may_come_from_the_environment() {
    let room = Room::new();
    let config = room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    for program in [bin::trunkline(), bin::simple_aggregator()] {
        let mut command = Command::new(program);
        command.env("MCP_PROXY_CONFIG_PATH", &config);
        let client = Client::spawn(command);
        client.initialize("2025-11-25");
        assert_eq!(client.list_names(), ["a:echo"]);
    }
}

#[test]
fn fr_001_the_argument_wins_over_the_environment() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let mut command = room.trunkline(&[]);
    command.env("MCP_PROXY_CONFIG_PATH", room.path("not-there.json"));
    let client = Client::spawn(command);
    client.initialize("2025-11-25");
    assert_eq!(client.list_names(), ["a:echo"]);
}

#[test]
fn fr_001_a_file_that_is_not_there_is_named() {
    let room = Room::new();
    for (_, command) in simple_programs(&room) {
        assert_refused(&Client::run(command), &["mcp.json"]);
    }
    assert_refused(&Client::run(room.trunkline(&[])), &["mcp.json"]);
}

#[test]
fn fr_001_a_directory_is_no_config() {
    let room = Room::new();
    std::fs::create_dir(room.path("mcp.json")).expect("a directory");
    assert_refused(&Client::run(room.trunkline(&[])), &["mcp.json"]);
}

/// What stands in the config, and what the child must get.
const EXPANSIONS: &[(&str, &str)] = &[
    ("$X_ONE", "one"),
    ("${X_ONE}", "one"),
    ("a${X_ONE}b", "aoneb"),
    ("$X_ONE.$X_TWO2", "one.two"),
    ("${X_ONE}${X_TWO2}", "onetwo"),
    ("$X_ONEb", "oneb"),
    ("${x_lower}", "low"),
    ("$x_lower", "$x_lower"),
    ("$", "$"),
    ("5$", "5$"),
    ("$1", "$1"),
    ("$$", "$$"),
    ("${env:X_ONE}", "one"),
    ("${X_UNSET:-default}", "default"),
    ("${X_UNSET:-}", ""),
    ("${X_UNSET:-a:-b}", "a:-b"),
    ("${X_ONE:-default}", "one"),
    ("$X_EMPTY", ""),
    ("$X_DOLLAR", "$X_ONE"),
    ("$X_NASTY", "a\"b\\c\nd\té😀{}"),
    ("plain", "plain"),
    ("", ""),
];

#[test]
fn fr_002_sc_004_every_expansion_arrives_right_in_command_args_and_env() {
    let room = Room::new();
    let mut entry = room.fake("a").tool("report", report()).entry();
    for (number, (written, _)) in EXPANSIONS.iter().enumerate() {
        entry["env"][format!("V{number}")] = json!(written);
    }
    entry["command"] = json!("${X_BIN}");
    entry["args"] = json!(["--script", "$X_DIR/a.script.json"]);
    room.config([("a", entry)]);
    for (name, mut command) in programs(&room) {
        command
            .env("X_BIN", bin::fake_mcp())
            .env("X_DIR", room.marker())
            .env("X_ONE", "one")
            .env("X_TWO2", "two")
            .env("x_lower", "low")
            .env("X_EMPTY", "")
            .env("X_DOLLAR", "$X_ONE")
            .env("X_NASTY", "a\"b\\c\nd\té😀{}")
            .env_remove("X_UNSET");
        let client = Client::spawn(command);
        client.initialize("2025-11-25");
        client.list();
        let result: Value =
            serde_json::from_slice(client.call("a:report", "{}").result()).expect("JSON");
        let env = &result["structuredContent"]["env"];
        for (number, (written, expected)) in EXPANSIONS.iter().enumerate() {
            assert_eq!(env[format!("V{number}")], *expected, "{name}: {written}");
        }
    }
}

#[test]
fn fr_002_all_missing_variables_are_named_at_once_with_their_places() {
    let room = Room::new();
    let good = room.fake("good").tool("echo", say::echo()).entry();
    room.config([
        ("good", good),
        (
            "postgres",
            json!({
                "command": "$X_MISSING_COMMAND",
                "args": ["fine", "--url=${X_MISSING_ARG}"],
                "env": { "DATABASE_URL": "${X_MISSING_URL}", "FINE": "${X_MISSING_BUT:-ok}" },
            }),
        ),
        ("other", json!({ "command": "x", "env": { "T": "${env:X_MISSING_TOO}" } })),
    ]);
    for (_, mut command) in programs(&room) {
        command.env("X_SET", "1");
        let end = Client::run(command);
        assert_refused(
            &end,
            &[
                "X_MISSING_COMMAND",
                "mcpServers.postgres.command",
                "X_MISSING_ARG",
                "mcpServers.postgres.args",
                "X_MISSING_URL",
                "mcpServers.postgres.env.DATABASE_URL",
                "X_MISSING_TOO",
                "mcpServers.other.env.T",
            ],
        );
    }
    assert!(!room.ledger("good").exists(), "nothing starts before the config is valid");
}

#[test]
fn fr_002_an_expanded_value_never_appears_in_an_error_or_a_log() {
    let room = Room::new();
    let entry =
        json!({ "command": "$X_SECRET_PLACE", "args": ["$X_SECRET"], "env": { "K": "$X_SECRET" } });
    room.config([("a", entry), ("b", json!({ "command": "x", "args": { "no": "$X_SECRET" } }))]);
    let mut command = room.trunkline(&["--debug"]);
    command.env("X_SECRET", "canary-5f1d").env("X_SECRET_PLACE", "/nowhere/canary-5f1d");
    let end = Client::run(command);
    assert_refused(&end, &["$.mcpServers.b.args"]);
    assert!(!end.stderr.contains("canary-5f1d"), "{}", end.stderr);
}

/// A config, and what its refusal must name.
const INVALID: &[(&str, &[&str])] = &[
    (r#"{"mcpServers":{"fs":{"command":"x","args":"no"}}}"#, &["$.mcpServers.fs.args"]),
    (r#"{"mcpServers":{"fs":{"command":"x","args":["a",1]}}}"#, &["$.mcpServers.fs.args[1]"]),
    (r#"{"mcpServers":{"fs":{"command":7}}}"#, &["$.mcpServers.fs.command"]),
    (r#"{"mcpServers":{"fs":{"command":""}}}"#, &["$.mcpServers.fs.command"]),
    (r#"{"mcpServers":{"fs":{"args":[]}}}"#, &["$.mcpServers.fs", "command"]),
    (r#"{"mcpServers":{"fs":{"command":"x","env":[]}}}"#, &["$.mcpServers.fs.env"]),
    (r#"{"mcpServers":{"fs":{"command":"x","env":{"A":{}}}}}"#, &["$.mcpServers.fs.env.A"]),
    (r#"{"mcpServers":{"fs":"x"}}"#, &["$.mcpServers.fs"]),
    (r#"{"mcpServers":{"":{"command":"x"}}}"#, &["$.mcpServers"]),
    (r#"{"mcpServers":[]}"#, &["$.mcpServers"]),
    (r#"{"mcpServers":null}"#, &["$.mcpServers"]),
    (r#"{}"#, &["mcpServers"]),
    (r#"[]"#, &["mcp.json:1:1"]),
    (r#""text""#, &["mcp.json:1:1"]),
    ("", &["mcp.json:1:1"]),
    ("{\"mcpServers\":{\n  \"a\": {,}\n}}", &["mcp.json:2:9"]),
    ("{\"mcpServers\":{}} x", &["mcp.json:1:19"]),
    ("{\"mcpServers\":{\"a\":{\"command\":\"x\n\"}}}", &["mcp.json:1:"]),
    (
        r#"{"mcpServers":{"a":{"command":1},"b":{"args":{}},"c":{"command":"x","env":{"E":[]}}}}"#,
        &[
            "$.mcpServers.a.command",
            "$.mcpServers.b.args",
            "$.mcpServers.b",
            "$.mcpServers.c.env.E",
        ],
    ),
];

#[test]
fn fr_010_sc_005_every_problem_is_reported_with_its_place_before_anything_starts() {
    for (config, parts) in INVALID {
        let room = Room::new();
        room.write("mcp.json", config);
        for (name, command) in programs(&room) {
            let end = Client::run(command);
            assert_eq!(end.code, Some(2), "{name} {config}: {end:?}");
            assert_refused(&end, parts);
        }
    }
}

#[test]
fn fr_010_sc_005_one_bad_server_keeps_the_good_ones_from_starting() {
    let room = Room::new();
    let good = room.fake("good").entry();
    room.config([("good", good), ("bad", json!({ "command": "x", "args": 1 }))]);
    assert_refused(&Client::run(room.trunkline(&[])), &["$.mcpServers.bad.args"]);
    assert!(!room.ledger("good").exists());
}

#[test]
fn fr_010_invalid_utf_8_is_invalid_json_with_its_place() {
    let room = Room::new();
    room.write("mcp.json", b"{\"mcpServers\":\n{\"a\":{\"command\":\"\xff\"}}}");
    assert_refused(&Client::run(room.trunkline(&[])), &["mcp.json"]);
}

#[test]
fn fr_010_comments_trailing_commas_and_a_bom_are_tolerated() {
    let room = Room::new();
    let entry = room.fake("a").tool("echo", say::echo()).entry();
    let config = format!(
        "\u{feff}// a comment\n{{ /* another */ \"mcpServers\": {{ \"a\": {entry}, }}, }}\r\n"
    );
    room.write("mcp.json", config);
    let client = room.start(&[]);
    assert_eq!(client.list_names(), ["a:echo"]);
}

/// Every object anywhere in `value`.
fn objects(value: &Value) -> Vec<&Value> {
    let inner: Vec<&Value> = match value {
        Value::Object(map) => map.values().collect(),
        Value::Array(list) => list.iter().collect(),
        _ => Vec::new(),
    };
    let own = value.is_object().then_some(value);
    own.into_iter().chain(inner.into_iter().flat_map(objects)).collect()
}

#[test]
fn fr_010_the_codes_of_001_stand_in_the_json_output() {
    for (config, code, path) in [
        (None, "file_not_found", None),
        (Some("{"), "invalid_json", None),
        (
            Some(r#"{"mcpServers":{"fs":{"command":"x","args":1}}}"#),
            "invalid_schema",
            Some("$.mcpServers.fs.args"),
        ),
        (
            Some(r#"{"mcpServers":{"fs":{"command":"$X_NOT_SET_ANYWHERE"}}}"#),
            "missing_env_var",
            Some("mcpServers.fs.command"),
        ),
    ] {
        let room = Room::new();
        if let Some(config) = config {
            room.write("mcp.json", config);
        }
        let mut command = Command::new(bin::trunkline());
        command.args(["check", "--json", "--config"]).arg(room.path("mcp.json"));
        let end = Client::run(command);
        assert_eq!(end.code, Some(2), "{code}: {end:?}");
        let output: Value = serde_json::from_str(&end.stdout)
            .unwrap_or_else(|error| panic!("{code}: stdout is not JSON ({error}): {end:?}"));
        let found = objects(&output).into_iter().any(|object| {
            let text = object.to_string();
            object["code"] == code && path.is_none_or(|path| text.contains(path))
        });
        assert!(found, "no problem with code {code} at {path:?}: {output}");
    }
}
