//! What becomes of calls and warnings around a restart: open calls may end, new ones wait, nothing is lost unseen.

use std::path::{Path, PathBuf};
use std::time::Instant;

use kit::client::Client;
use kit::room::Room;
use kit::{LIMIT, ledger, process, say};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::commands::said;
use super::{assert_let_end, complaints, house_with, server_of};

const SHARES: [Option<&str>; 2] = [None, Some("per-session")];

/// A client with a call that is open with the server `a`, and the process that has it.
fn with_open_call(room: &Room) -> (Client, Vec<u8>, i32) {
    let client = room.start_ready(&[]);
    let server = server_of(&client);
    let call = client.begin("a:wait", r#"{"n":1}"#);
    let calls = || ledger::calls(&room.ledger("a")).len();
    process::wait_until("the call is there", LIMIT, || calls() == 2);
    (client, call, server)
}

#[test]
fn restart_of_a_server_lets_open_calls_end() {
    for share in SHARES {
        let room = house_with(share);
        let (client, call, server) = with_open_call(&room);
        let since = Instant::now();
        assert_eq!(said(&room, &["restart", "a"]).code, Some(0));
        let next = client.begin("a:echo", r#"{"n":2}"#);
        room.open_gate("go");
        assert_let_end(&client.answer(&call, LIMIT), br#"{"n":1}"#, since);
        let answer = client.answer(&next, LIMIT).result().to_vec();
        let pid = kit::scan::path(&answer, &["structuredContent", "pid"]).expect("a pid");
        assert_ne!(pid, server.to_string().as_bytes(), "{share:?}: new calls are the next one's");
        process::wait_until("the first one is gone", LIMIT, || !process::is_alive(server));
    }
}

#[test]
fn an_edit_of_a_server_lets_open_calls_end() {
    for share in SHARES {
        let room = house_with(share);
        let (client, call, server) = with_open_call(&room);
        let since = Instant::now();
        let starts = || ledger::started(&room.ledger("a")).len();
        let before = starts();
        let config = std::fs::read_to_string(room.path("mcp.json")).expect("the config");
        let mut config: Value = serde_json::from_str(&config).expect("JSON");
        config["mcpServers"]["a"]["env"]["CHANGED"] = json!("1");
        room.write("mcp.json", config.to_string());
        process::wait_until("it is started anew", LIMIT, || starts() > before);
        assert_ne!(server_of(&client), server, "{share:?}: new calls are the next one's");
        room.open_gate("go");
        assert_let_end(&client.answer(&call, LIMIT), br#"{"n":1}"#, since);
        process::wait_until("the first one is gone", LIMIT, || !process::is_alive(server));
    }
}

#[test]
fn a_call_behind_restart_waits_for_a_server_that_was_given_up() {
    let room = Room::shared();
    let entry = room.fake("a").tool("echo", say::echo()).entry();
    let words = [&entry["command"]].into_iter().chain(entry["args"].as_array().expect("a list"));
    let words: Vec<String> =
        words.map(|it| format!("'{}'", it.as_str().expect("a word"))).collect();
    let wrapper = room.path("wrapper");
    let wrap = |script: &str| room.write("wrapper", format!("#!/bin/sh\n{script}\n"));
    let serve = format!("exec {}", words.join(" "));
    wrap(&serve);
    room.config([("a", json!({ "command": "sh", "args": [wrapper], "env": entry["env"] }))]);
    let client = room.start_ready(&[]);
    let server = server_of(&client);
    wrap("exit 1");
    process::kill(server, Signal::KILL);
    client.wait_list("it is given up", 2 * LIMIT, |names| names.is_empty());
    // It takes its time to start: the call comes before it is there.
    let gate = room.path("start");
    wrap(&format!("while ! [ -e '{}' ]; do sleep 0.05; done\n{serve}", gate.display()));
    assert_eq!(said(&room, &["restart", "a"]).code, Some(0));
    let call = client.begin("a:echo", r#"{"n":2}"#);
    let ready = client.call("a:nothing", "{}");
    assert!(ready.try_result().is_none(), "read behind the call: {ready}");
    room.write("start", "");
    let answer = client.answer(&call, LIMIT);
    assert!(answer.try_result().is_some(), "{answer}");
}

#[test]
fn what_a_runtime_warns_of_before_its_first_client_is_there_is_told_to_that() {
    let room = house_with(None);
    let first = room.start_ready(&[]);
    server_of(&first);
    said(&room, &["stop"]);
    drop(first);
    process::wait_until("none runs", LIMIT, || room.runtimes().is_empty());
    let [record] = &records(&room.path("remembered"))[..] else { panic!("one record") };
    std::fs::write(record, "{").expect("it can be written");
    let (first, second) = (room.start_ready(&[]), room.start_ready(&[]));
    first.wait_stderr(&["is ignored", "damaged"], LIMIT);
    for client in [&first, &second] {
        server_of(client);
    }
    let told =
        |client: &Client| complaints(client).iter().filter(|it| it.contains("is ignored")).count();
    assert_eq!((told(&first), told(&second)), (1, 0), "once, and to the one who started it");
}

/// What is remembered of servers.
fn records(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => records(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .collect()
}

/// They were finished before the restart: that its client reads them late does not make them unknown.
#[test]
fn answers_that_a_client_reads_late_outlive_a_restart() {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::Stdio;
    use std::time::Duration;
    const CALLS: usize = 8;
    let room = house_with(None);
    let mut command = room.trunkline(&["--start-timeout", "25"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut front = command.spawn().expect("it starts");
    let (mut stdin, stdout) = (front.stdin.take().unwrap(), front.stdout.take().unwrap());
    let writing = std::thread::spawn(move || {
        let text = "x".repeat(512 * 1024);
        writeln!(stdin, "{}", kit::mcp::initialize("0", "2025-11-25")).unwrap();
        for number in 1..=CALLS {
            let arguments = format!(r#"{{"text":"{text}"}}"#);
            let call = kit::mcp::call(&number.to_string(), "a:mirror", &arguments);
            writeln!(stdin, "{call}").unwrap();
        }
        stdin // stays open until all is read
    });
    let calls = || ledger::calls(&room.ledger("a")).len();
    process::wait_until("the server has them all", LIMIT, || calls() == CALLS);
    let mut answers = Vec::new();
    std::thread::scope(|threads| {
        let restarted = threads.spawn(|| said(&room, &["restart"]));
        // Longer than a runtime once waited for, and much shorter than it promises to.
        std::thread::sleep(Duration::from_secs(1));
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        answers.extend(lines.filter(|line| line.contains("\"id\":")).take(CALLS + 1));
        assert_eq!(restarted.join().unwrap().code, Some(0));
    });
    for answer in &answers {
        assert!(answer.contains("\"result\":"), "{answer:.200}");
    }
    assert_eq!(answers.len(), CALLS + 1);
    drop(writing.join().unwrap());
    assert!(front.wait().unwrap().success());
}
