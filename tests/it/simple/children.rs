//! FR-003, FR-009, FR-011, SC-007, STATE-1: starting children, losing them, going on.

use std::process::Command;
use std::time::Duration;

use kit::client::Client;
use kit::room::{MARK, Room};
use kit::{LIMIT, SOON, bin, ledger, process, say};
use serde_json::{Value, json};

use super::{programs, programs_without_restart, report};

const LIST_CHANGED: &str = "notifications/tools/list_changed";

fn reported(client: &Client, tool: &str) -> Value {
    let answer = client.call(tool, "{}");
    let result: Value = serde_json::from_slice(answer.result()).expect("a result is JSON");
    result["structuredContent"].clone()
}

#[test]
fn fr_003_fr_011_a_child_gets_its_command_args_and_env_over_stdio() {
    let room = Room::new();
    let entry =
        room.fake("a").tool("report", report()).env("MINE", "x y").env("PATH", "/p").entry();
    room.config([("a", entry.clone())]);
    for (name, mut command) in programs(&room) {
        command.env("HOME", "/home/of/the/test");
        let client = Client::spawn(command);
        client.initialize("2025-11-25");
        client.list();
        let report = reported(&client, "a:report");
        assert_eq!(report["argv"][1], entry["args"][0], "{name}");
        assert_eq!(report["argv"][2], entry["args"][1], "{name}");
        assert_eq!(report["env"]["MINE"], "x y", "{name}");
        assert_eq!(report["env"]["PATH"], "/p", "{name}: the config wins over what is inherited");
        assert_eq!(report["env"]["HOME"], "/home/of/the/test", "{name}");
    }
}

#[test]
fn fr_011_arguments_reach_the_child_exactly() {
    let room = Room::new();
    let mut entry = room.fake("a").entry();
    let (program, script) = (entry["command"].clone(), entry["args"][1].clone());
    // The shell writes down its own command line before it becomes the server.
    let shell = r#"tr '\0' '\n' < /proc/$$/cmdline > "$1.seen"; exec "$0" --script "$1""#;
    let mut args = vec![json!("-c"), json!(shell), program, script];
    let odd = ["", " ", "a b", "\"q\"", "'", "\\", "*", "~", "é😀", "--", "-x", "\n"];
    args.extend(odd.iter().map(|arg| json!(arg)));
    entry["command"] = json!("/bin/sh");
    entry["args"] = json!(args);
    room.config([("a", entry)]);
    room.start_ready(&[]);
    let seen = std::fs::read_to_string(room.path("a.script.json.seen")).expect("it was written");
    let expected: Vec<&str> = args.iter().filter_map(Value::as_str).collect();
    assert_eq!(seen, format!("/bin/sh\n{}\n", expected.join("\n")));
}

#[test]
fn fr_011_only_named_variables_are_inherited() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("report", report()).entry())]);
    for (flags, passed, other) in [
        (&[][..], false, false),
        (&["--pass-env", "X_PASSED"][..], true, false),
        (&["--pass-env", "*"][..], true, true),
    ] {
        let mut command = Command::new(bin::trunkline());
        command.args(flags).arg("--config").arg(room.path("mcp.json"));
        command.env("X_PASSED", "1").env("X_OTHER", "2");
        let client = Client::spawn(command);
        client.initialize("2025-11-25");
        client.list();
        let env = reported(&client, "a:report")["env"].clone();
        assert_eq!(env["X_PASSED"] == "1", passed, "{flags:?}");
        assert_eq!(env["X_OTHER"] == "2", other, "{flags:?}");
    }
}

#[test]
fn fr_009_sc_007_a_command_that_is_not_there_fails_at_startup_and_harms_nobody() {
    let room = Room::new();
    let ghost = json!({ "command": "/nowhere/no-such-server" });
    room.config([("ghost", ghost), ("ok", room.fake("ok").tool("echo", say::echo()).entry())]);
    for (_, command) in programs(&room) {
        let client = Client::spawn(command);
        client.initialize("2025-11-25");
        assert_eq!(client.list_names(), ["ok:echo"]);
        client.assert_echo("ok", "echo", r#"{"n":1}"#);
        client.wait_stderr(&["ghost", "startup", "no-such-server"], LIMIT);
        client.assert_only_protocol();
    }
}

#[test]
fn fr_009_sc_007_a_child_that_dies_in_the_handshake_is_reported_with_status_and_last_words() {
    let room = Room::new();
    let last_words = say::steps([say::stderr("cannot open the frobnicator\n"), say::exit(3)]);
    let broken = room.fake("broken").on("initialize", last_words).entry();
    room.config([("broken", broken), ("ok", room.fake("ok").tool("echo", say::echo()).entry())]);
    for (_, command) in programs(&room) {
        let client = Client::spawn(command);
        client.initialize("2025-11-25");
        assert_eq!(client.list_names(), ["ok:echo"]);
        let parts = ["broken", "initialization", "3", "cannot open the frobnicator"];
        client.wait_stderr(&parts, LIMIT);
        client.assert_echo("ok", "echo", "{}");
    }
}

#[test]
fn fr_009_sc_007_a_handshake_answered_with_an_error_or_nonsense_fails_only_that_child() {
    for (name, steps) in [
        ("error", say::steps([say::error(r#"{"code":-32603,"message":"no mood"}"#)])),
        ("no object", say::steps([say::result("7")])),
        ("no version", say::steps([say::result("{}")])),
        ("broken JSON", say::steps([say::line(r#"{"jsonrpc":"2.0","id":@ID@,"result":{"#)])),
        ("exit 0", say::steps([say::exit(0)])),
    ] {
        let room = Room::new();
        let odd = room.fake("odd").on("initialize", steps).tool("x", say::echo()).entry();
        room.config([("odd", odd), ("ok", room.fake("ok").tool("echo", say::echo()).entry())]);
        let client = room.start(&["--start-timeout", "5"]);
        assert_eq!(client.list_names(), ["ok:echo"], "{name}");
        client.wait_stderr(&["odd", "initialization"], LIMIT);
        client.assert_echo("ok", "echo", "{}");
        client.assert_only_protocol();
    }
}

#[test]
fn fr_009_sc_007_a_child_that_dies_later_leaves_the_list_at_once() {
    let room = Room::new();
    let die = say::steps([say::stderr("ran out of steam\n"), say::exit(7)]);
    // Several, because "at once" may be missed by a hair: whoever hears of a death and lists then.
    let crashers = ["crasher1", "crasher2", "crasher3", "crasher4", "crasher5"];
    let mut servers: Vec<(String, Value)> = crashers
        .map(|name| {
            let fake = room.fake(name).tool("die", die.clone()).tool("echo", say::echo());
            (name.to_owned(), fake.entry())
        })
        .to_vec();
    servers.push(("ok".to_owned(), room.fake("ok").tool("echo", say::echo()).entry()));
    room.config_of(servers);
    for (name, command) in programs_without_restart(&room) {
        let client = Client::spawn(command);
        client.initialize("2025-11-25");
        assert_eq!(client.list().len(), 11, "{name}");
        for (dead, crasher) in crashers.iter().enumerate() {
            client.call_within(&format!("{crasher}:die"), "{}", SOON).error();
            let names = client.list_names();
            assert!(!names.iter().any(|tool| tool.starts_with(crasher)), "{name}: {names:?}");
            assert_eq!(names.len(), 11 - 2 * (dead + 1), "{name}: {names:?}");
            client.wait_stderr(&[crasher, "runtime", "7", "ran out of steam"], LIMIT);
            client.assert_echo("ok", "echo", "{}");
            let again = client.call(&format!("{crasher}:echo"), "{}");
            assert!(!again.message().is_empty(), "{name}: {again}");
        }
    }
}

#[test]
fn fr_009_a_child_that_dies_between_calls_is_noticed_without_one() {
    let room = Room::new();
    let crasher = room.fake("crasher").tool("echo", say::echo()).entry();
    room.config([("crasher", crasher), ("ok", room.fake("ok").tool("echo", say::echo()).entry())]);
    let client = room.start_ready(&["--no-restart"]);
    let [pid] = ledger::started(&room.ledger("crasher"))[..] else { panic!("one process") };
    process::kill(pid, rustix::process::Signal::KILL);
    client.wait_for("list_changed", SOON, |line| line.is_notification(LIST_CHANGED));
    assert_eq!(client.list_names(), ["ok:echo"]);
    client.wait_stderr(&["crasher", "runtime"], LIMIT);
}

#[test]
fn state_1_a_child_counts_only_from_running_on() {
    let room = Room::new();
    let wait = say::steps([say::gate(&room, "go"), say::usual()]);
    let late = room.fake("late").on("initialize", wait).tool("echo", say::echo()).entry();
    room.config([("late", late), ("ok", room.fake("ok").tool("echo", say::echo()).entry())]);
    let client = room.start(&["--start-timeout", "1", "--no-restart"]);
    assert_eq!(client.list_names(), ["ok:echo"], "initializing: not in the registry");
    room.open_gate("go");
    client.wait_for("list_changed", LIMIT, |line| line.is_notification(LIST_CHANGED));
    assert_eq!(sorted(client.list_names()), ["late:echo", "ok:echo"], "running");
    client.assert_echo("late", "echo", "{}");
    let [pid] = ledger::started(&room.ledger("late"))[..] else { panic!("one process") };
    process::kill(pid, rustix::process::Signal::KILL);
    client.wait_for("list_changed", SOON, |line| line.is_notification(LIST_CHANGED));
    assert_eq!(client.list_names(), ["ok:echo"], "failed");
}

#[test]
fn state_1_a_failed_child_stays_down_with_no_restart() {
    let room = Room::new();
    let die = say::steps([say::exit(1)]);
    room.config([("a", room.fake("a").tool("die", die).tool("echo", say::echo()).entry())]);
    let client = room.start_ready(&["--no-restart"]);
    client.call("a:die", "{}").error();
    client.wait_for("list_changed", SOON, |line| line.is_notification(LIST_CHANGED));
    // Twice the first backoff: time enough for a restart nobody asked for.
    let back =
        client.try_wait_for(Duration::from_millis(1500), |line| line.is_notification(LIST_CHANGED));
    assert_eq!(back, None);
    assert_eq!(ledger::started(&room.ledger("a")).len(), 1);
    assert_eq!(client.list_names(), Vec::<String>::new());
}

#[test]
fn state_1_a_failed_child_comes_back_and_stays_listed_meanwhile() {
    for flags in [&[][..], &["--restart"]] {
        let room = Room::new();
        let die = say::steps([say::exit(1)]);
        room.config([("a", room.fake("a").tool("die", die).tool("echo", say::echo()).entry())]);
        let client = room.start_ready(flags);
        client.call("a:die", "{}").error();
        assert_eq!(client.list_names().len(), 2, "it is expected back");
        // The call waits for the next process.
        client.assert_echo("a", "echo", "{}");
        assert_eq!(ledger::started(&room.ledger("a")).len(), 2);
        assert_eq!(ledger::with_method(&room.ledger("a"), "tools/call").len(), 2, "none is resent");
        let told = client.try_wait_for(Duration::ZERO, |line| line.is_notification(LIST_CHANGED));
        assert_eq!(told, None, "the list was the same all the time");
    }
}

#[test]
fn state_1_the_simple_product_starts_a_failed_child_again_on_request() {
    let room = Room::new();
    let die = say::steps([say::exit(1)]);
    room.config([("a", room.fake("a").tool("die", die).tool("echo", say::echo()).entry())]);
    let client = room.start_ready(&["--simple", "--restart"]);
    client.call("a:die", "{}").error();
    let again = || ledger::started(&room.ledger("a")).len() == 2;
    process::wait_until("it is started again", LIMIT, again);
    client.wait_list("the child is back", LIMIT, |names| names.len() == 2);
    client.assert_echo("a", "echo", "{}");
    assert_eq!(ledger::with_method(&room.ledger("a"), "tools/call").len(), 2, "no call is resent");
}

#[test]
fn state_1_check_tells_the_state_of_every_server() {
    let room = Room::new();
    let ghost = json!({ "command": "/nowhere/no-such-server" });
    let ok = room.fake("ok").tool("one", say::echo()).tool("two", say::echo()).entry();
    room.config([("ghost", ghost), ("ok", ok.clone())]);
    let check = |flags: &[&str]| {
        let mut command = Command::new(bin::trunkline());
        command.arg("check").arg("--config").arg(room.path("mcp.json")).args(flags);
        Client::run(command)
    };
    let end = check(&[]);
    assert_eq!(end.code, Some(1), "{end:?}");
    for part in ["ghost", "failed", "ok", "running", "no-such-server"] {
        assert!(end.stdout.contains(part), "{part}: {end:?}");
    }
    let end = check(&["--json"]);
    assert_eq!(end.code, Some(1), "{end:?}");
    let output: Value = serde_json::from_str(&end.stdout).expect("one JSON document");
    let text = output.to_string();
    assert!(text.contains("\"running\"") && text.contains("\"failed\""), "{output}");
    room.config([("ok", ok)]);
    assert_eq!(check(&[]).code, Some(0));
    process::wait_gone(room.marker(), SOON).expect("check stops what it started");
}

#[test]
fn state_1_when_the_client_leaves_the_children_are_stopped() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let client = room.start_ready(&[]);
    client.close_stdin();
    let end = client.finish(LIMIT);
    assert_eq!(end.code, Some(0), "{end:?}");
    assert_eq!(end.stderr, "", "an intended stop is no failure");
    process::wait_gone(room.marker(), SOON).expect("stopped");
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

#[test]
fn more_servers_than_the_soft_limit_of_open_files_allows_come_up() {
    const SERVERS: usize = 24;
    const SOFT: u64 = 48;
    let room = Room::new();
    let servers = (0..SERVERS).map(|n| {
        let key = format!("s{n}");
        let entry = room.fake(&key).tool("echo", say::echo()).entry();
        (key, entry)
    });
    room.config_of(servers.collect());
    let mut shell = Command::new("/bin/sh");
    let gateway = room.trunkline(&["--start-timeout", "60"]);
    shell.args(["-c", &format!("ulimit -S -n {SOFT}; exec \"$0\" \"$@\"")]);
    shell.arg(gateway.get_program()).args(gateway.get_args()).env(MARK, room.marker());
    let client = Client::spawn(shell);
    client.initialize("2025-11-25");
    assert_eq!(client.list_names().len(), SERVERS, "{}", client.stderr());
    client.assert_echo("s0", "echo", "{}");
    // Servers keep the limit of whoever started Trunkline: programs that use `select` need it.
    let [pid] = ledger::started(&room.ledger("s0"))[..] else { panic!("one process") };
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).expect("its limits");
    let files = limits.lines().find(|line| line.starts_with("Max open files")).expect("a line");
    assert_eq!(files.split_whitespace().nth(3), Some(SOFT.to_string().as_str()), "{files}");
}
