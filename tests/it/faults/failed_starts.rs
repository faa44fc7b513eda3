//! What is told of a server that did not start: once, with the reason in it, and nothing hidden that
//! is no secret.

use std::process::Command;

use kit::room::{MARK, Room};
use kit::run::{Done, run};
use kit::{LIMIT, bin, process};
use serde_json::{Value, json};

/// Says why on its first line, and buries that under a usage text.
fn buries_the_reason() -> Value {
    let script = "echo 'unknown option --colour' >&2; \
                  for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do echo \"usage $n\" >&2; done; exit 2";
    json!({ "command": "/bin/sh", "args": ["-c", script] })
}

#[track_caller]
fn trunkline(room: &Room, arguments: &[&str], environment: &[(&str, &str)]) -> Done {
    let mut command = Command::new(bin::trunkline());
    command.args(arguments).arg("--config").arg(room.path("mcp.json"));
    command.env(MARK, room.marker()).envs(environment.iter().copied());
    run(command, b"")
}

fn all(done: &Done) -> String {
    format!("{}{}", String::from_utf8_lossy(&done.stdout), done.stderr)
}

#[test]
fn a_failed_start_is_told_once_with_its_first_lines_and_its_last() {
    let room = Room::new();
    room.config([("bad", buries_the_reason())]);
    let checked = trunkline(&room, &["check"], &[]);
    let text = all(&checked);
    for part in [
        "exited with code 2",
        "unknown option --colour",
        "usage 3",
        "[… 3 more lines …]",
        "usage 14",
    ] {
        assert_eq!(text.matches(&format!("{part}\n")).count(), 1, "{part}: {checked}");
    }
    assert!(!text.contains("usage 4\n") && !text.contains("usage 6\n"), "{checked}");
    assert_eq!(checked.stderr, "", "the table says it: {checked}");
    let examined = trunkline(&room, &["doctor", "--listen", "127.0.0.1:0"], &[]);
    let text = all(&examined);
    for part in ["exited with code 2", "unknown option --colour", "usage 14"] {
        assert_eq!(text.matches(part).count(), 1, "{part}: {examined}");
    }
}

#[test]
fn the_reason_of_a_failed_start_reaches_the_caller_and_the_log() {
    let room = Room::new();
    room.config([("bad", buries_the_reason())]);
    let client = room.start_ready(&[]);
    let said = client.call("bad:tool", "{}").message();
    assert!(said.contains("unknown option --colour") && said.contains("usage 14"), "{said}");
    let logged = || client.stderr().matches("unknown option --colour").count();
    process::wait_until("the log", LIMIT, || logged() > 0);
    assert_eq!(logged(), 1, "{}", client.stderr());
}

#[test]
fn k12_ordinary_variables_are_not_redacted_and_secrets_are() {
    let room = Room::new();
    // In a file: what stands in `args` is expanded before the server gets it.
    let script = "echo \"home=$HOME user=$USER path=$PATH pwd=$PWD tmp=$TMPDIR lang=$LANG \
                  token=$MY_TOKEN pass=$DB_PWD\" >&2; exit 1";
    let env = json!({
        "HOME": "${HOME}", "USER": "${USER}", "PATH": "${PATH}", "PWD": "/srv/some-place",
        "TMPDIR": "${HOME}/tmp-place", "LANG": "${LANG}", "MY_TOKEN": "${MY_TOKEN}",
        "DB_PWD": "hunter2hunter2",
    });
    let script = room.write("bad.sh", script);
    room.config([("bad", json!({ "command": "/bin/sh", "args": [script], "env": env }))]);
    let path = std::env::var("PATH").expect("there is a PATH");
    let environment = [
        ("HOME", "/home/somebody"),
        ("USER", "somebody"),
        ("LANG", "en_GB.UTF-8"),
        ("MY_TOKEN", "canary-canary"),
    ];
    let checked = trunkline(&room, &["check"], &environment);
    let text = all(&checked);
    for part in [
        "home=/home/somebody ",
        "user=somebody ",
        &format!("path={path} "),
        "tmp=/home/somebody/tmp-place ",
        "lang=en_GB.UTF-8 ",
        "token=[redacted MY_TOKEN] ",
        "pass=[redacted DB_PWD]",
    ] {
        assert!(text.contains(part), "no {part:?} in {checked}");
    }
    checked.hides("canary");
    checked.hides("hunter2");
}
