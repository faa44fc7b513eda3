//! What a hostile reviewer found once, and must not find again.

use std::fs::File;
use std::process::Command;

use kit::client::Client;
use kit::mcp::Speak;
use kit::room::Room;
use kit::{LIMIT, mcp, say};
use serde_json::Value;

#[test]
fn k12_an_expanded_value_does_not_come_back_in_an_error_of_the_server() {
    let secret = "hunter2SuperSecret";
    let room = Room::new();
    let refuse = say::error(&format!(
        "{{\"code\":-32000,\"message\":\"bad token {secret}\\u001b[2J\\nforged: line\"}}"
    ));
    let with_env = |name: &str| room.fake(name).env("TOKEN", "${SECRET_TOK}");
    room.config([
        ("refuses", with_env("refuses").on("initialize", say::steps([refuse])).entry()),
        ("lost", serde_json::json!({ "command": "/no/${SECRET_TOK}/bin" })),
        ("clean", room.fake("clean").tool("echo", say::echo()).entry()),
    ]);
    let mut command = room.trunkline(&["--debug"]);
    command.env("SECRET_TOK", secret);
    let client = Client::spawn(command);
    client.initialize("2025-11-25");
    client.assert_echo("clean", "echo", "{}");
    client.wait_stderr(&["bad token [redacted", "/no/[redacted"], LIMIT);
    for tool in ["refuses:x", "lost:x"] {
        let answer = client.call(tool, "{}");
        let text = String::from_utf8_lossy(answer.error()).into_owned();
        assert!(text.contains("redacted") && !text.contains(secret), "{text}");
    }
    let stderr = client.stderr();
    assert!(!stderr.contains(secret), "{stderr}");
    assert!(!stderr.contains('\u{1b}'), "{stderr:?}");
    assert!(!stderr.lines().any(|line| line.starts_with("forged")), "{stderr}");
}

#[test]
fn k24_a_name_is_never_handed_from_one_tool_to_another() {
    let room = Room::new();
    let slow = say::steps([say::gate(&room, "late"), say::usual()]);
    room.config([
        (
            "a",
            room.fake("a")
                .tool("b:echo", say::echo())
                .tool("die", say::steps([say::exit(3)]))
                .entry(),
        ),
        ("a:b", room.fake("ab").tool("echo", say::echo()).on("initialize", slow).entry()),
    ]);
    let client = room.start(&["--start-timeout", "0.5", "--no-restart"]);
    client.wait_list("the first server", LIMIT, |names| names.contains(&"a:b:echo".to_owned()));
    room.open_gate("late");
    client.wait_list("both servers", LIMIT, |names| {
        names.len() == 3 && !names.contains(&"a:b:echo".to_owned())
    });
    client.call("a:die", "{}");
    client.wait_list("only the second server", LIMIT, |names| names.len() == 1);
    assert_eq!(client.call("a:b:echo", "{}").code(), -32601, "it was the other's");
}

#[test]
fn edge_1_a_request_over_the_limit_is_answered_under_its_own_id() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let client = room.start(&["--max-message", "2K"]);
    let long = "y".repeat(5000);
    let first = mcp::call("\"first\"", "a:echo", &format!("{{\"x\":\"{long}\"}}"));
    client.send_line(first);
    assert_eq!(client.answer(b"\"first\"", LIMIT).code(), -32600);
    client.send_line(format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":{{\"x\":\"{long}\"}},\"id\":77}}"
    ));
    assert_eq!(client.answer(b"77", LIMIT).code(), -32600);
    client.assert_echo("a", "echo", "{}");
}

#[test]
fn k22_batches_belong_to_one_revision() {
    let batch = "[{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"},\
                 {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"},\
                 {\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"initialize\",\"params\":{}},\
                 {\"jsonrpc\":\"2.0\",\"id\":\"c\",\"method\":\"tools/call\",\
                 \"params\":{\"name\":\"a:echo\",\"arguments\":{}}}]";
    for (version, taken) in [("2025-03-26", true), ("2025-06-18", false)] {
        let room = Room::new();
        room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
        let client = Client::spawn(room.trunkline(&[]));
        client.initialize(version);
        client.list();
        client.send_line(batch);
        if taken {
            // One array for one array; a notification has no answer in it.
            let array = client.wait_for("an array", LIMIT, |line| line.0.starts_with(b"["));
            let answers = kit::scan::elements(&array.0).expect("an array");
            let of = |id: &[u8]| answers.iter().find(|one| kit::scan::get(one, "id") == Some(id));
            assert_eq!(answers.len(), 3, "{array}");
            assert_eq!(
                of(b"\"p\"").and_then(|one| kit::scan::get(one, "result")),
                Some(&b"{}"[..])
            );
            assert!(of(b"\"c\"").and_then(|one| kit::scan::get(one, "result")).is_some());
            let refused = of(b"\"i\"").and_then(|one| kit::scan::path(one, &["error", "code"]));
            assert_eq!(refused, Some(&b"-32600"[..]));
        } else {
            assert_eq!(client.answer(b"null", LIMIT).code(), -32600);
        }
        client.assert_echo("a", "echo", "{}");
    }
}

#[test]
fn answers_that_cannot_be_written_are_a_failure() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let session = room.write("in", mcp::initialize("1", "2025-11-25") + "\n");
    let mut command = room.trunkline(&[]);
    command.stdin(File::open(session).unwrap());
    command.stdout(File::options().write(true).open("/dev/full").unwrap());
    let end = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&end.stderr);
    assert_eq!(end.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("could not be written"), "{stderr}");
}

#[test]
fn an_error_that_is_no_object_is_a_broken_answer() {
    let room = Room::new();
    let line = say::line("{\"jsonrpc\":\"2.0\",\"id\":@ID@,\"error\":\"boom\"}");
    room.config([(
        "a",
        room.fake("a").tool("odd", say::steps([line])).tool("echo", say::echo()).entry(),
    )]);
    let client = room.start(&[]);
    assert_eq!(client.call("a:odd", "{}").code(), -31005);
    client.assert_echo("a", "echo", "{}");
}

#[test]
fn a_config_without_end_is_refused() {
    let mut command = Command::new(kit::bin::trunkline());
    let end = command.args(["--config", "/dev/zero"]).output().unwrap();
    assert_eq!(end.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&end.stderr).contains("larger than"), "{end:?}");
}

#[test]
fn install_does_not_replace_what_is_no_file() {
    let room = Room::new();
    let config = room.config([("a", room.fake("a").entry())]);
    let pipe = room.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut command = Command::new(kit::bin::trunkline());
    command.args(["install", "cursor", "--config"]).arg(config).arg("--file").arg(&pipe);
    let end = command.output().unwrap();
    assert_eq!(end.status.code(), Some(1), "{end:?}");
    assert!(String::from_utf8_lossy(&end.stderr).contains("not a regular file"), "{end:?}");
    assert!(!pipe.is_file(), "it is still a pipe");
}

#[test]
fn the_readme_opens_with_a_command_that_works() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let readme = std::fs::read_to_string(format!("{root}/README.md")).unwrap();
    let (_, block) = readme.split_once("```sh\n").unwrap();
    let line = block.lines().next().unwrap();
    let (line, _) = line.split_once('#').unwrap_or((line, ""));
    // Cargo must know which program is meant: there are two.
    let (cargo, rest) = line.split_once(" -- ").unwrap();
    assert_eq!(cargo, "cargo run --release");
    let metadata = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let metadata = output(Command::new(env!("CARGO")).args(metadata).current_dir(root));
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let defaults = metadata["workspace_default_members"].as_array().unwrap();
    let [default] = &defaults[..] else { panic!("{defaults:?}") };
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|package| package["id"] == *default).unwrap();
    assert_eq!(package["default_run"], "trunkline");
    // The rest is what a shell makes of it, with the program that is built already. But the input ends when all is
    // answered: at its end, servers that are still starting get some seconds, which a busy machine may not keep.
    let (arguments, input) = rest.split_once(" < ").unwrap();
    let input = std::fs::read_to_string(format!("{root}/{}", input.trim())).unwrap();
    let mut command = Command::new(kit::bin::trunkline());
    command.args(arguments.split(' ')).args(["--start-timeout", "300"]).current_dir(root);
    let client = Client::spawn(command);
    client.send(input.as_bytes());
    let asked = input.lines().filter_map(|line| kit::scan::get(line.as_bytes(), "id"));
    let text = |line: kit::line::Line| String::from_utf8_lossy(&line.0).into_owned();
    let answers: Vec<String> = asked.map(|id| text(client.answer(id, 4 * LIMIT))).collect();
    client.close_stdin();
    assert_eq!(client.finish(LIMIT).code, Some(0));
    for part in ["clock:add_days", "2026-03-02", "one-endpoint-every-server"] {
        assert!(answers.iter().any(|answer| answer.contains(part)), "{part}: {answers:?}");
    }
}

fn output(command: &mut Command) -> String {
    let end = command.output().unwrap();
    assert!(end.status.success(), "{}", String::from_utf8_lossy(&end.stderr));
    String::from_utf8_lossy(&end.stdout).into_owned()
}

#[test]
fn what_is_said_not_to_have_run_at_the_end_did_not_run() {
    // The server reads slowly and all the time, so that requests leave at every moment of the end.
    const CALLS: usize = 400;
    let room = Room::new();
    let pace = kit::pace::Pace { bytes: 4 << 10, pause: std::time::Duration::from_millis(4) };
    let slow = room.fake("slow").tool("never", say::never()).reading(pace).ignoring_eof();
    room.config([("slow", slow.entry())]);
    let client = room.start_ready(&[]);
    let text = "x".repeat(4 << 10);
    let ids: Vec<String> = (0..CALLS).map(|call| format!("\"c{call}\"")).collect();
    for (call, id) in ids.iter().enumerate() {
        let arguments = format!(r#"{{"call":{call},"text":"{text}"}}"#);
        client.send_line(mcp::call(id, "slow:never", &arguments));
    }
    client.ask("ping", "{}").result(); // all of them were taken
    client.signal(rustix::process::Signal::TERM);
    let answers: Vec<String> =
        ids.iter().map(|id| client.answer(id.as_bytes(), LIMIT).message()).collect();
    client.wait_exit(LIMIT);
    kit::process::wait_gone(room.marker(), LIMIT).expect("all are gone");
    let ran: Vec<usize> = kit::ledger::calls(&room.ledger("slow"))
        .iter()
        .filter_map(|it| kit::scan::path(it, &["params", "arguments", "call"]))
        .map(|call| String::from_utf8_lossy(call).parse().expect("a number"))
        .collect();
    let (unsent, sent): (Vec<_>, Vec<_>) =
        answers.iter().enumerate().partition(|(_, said)| said.contains("did not run"));
    assert!(sent.iter().all(|(_, said)| said.contains("may have run")), "{sent:?}");
    assert!(!unsent.is_empty(), "all were written, so nothing is shown");
    for (call, said) in unsent {
        assert!(!ran.contains(&call), "call {call} ran: {said}");
    }
}
