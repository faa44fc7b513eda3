//! How a runtime is started, shared and ended.

use std::time::{Duration, Instant};

use kit::client::Client;
use kit::mcp::Speak;
use kit::room::SHARED;
use kit::{LIMIT, ledger, process, yardstick};
use rustix::process::Signal;

use super::{another_program, house, house_with, runtime_of, server_of};

const ABLE: &str = r#"{"elicitation":{"form":{}}}"#;

#[test]
fn two_clients_have_one_set_of_servers() {
    let room = house();
    let (first, second) = (room.start_ready(&[]), room.start_ready(&["--for", "cursor"]));
    let pid = server_of(&first);
    let names = second.list_names();
    assert!(!names.contains(&"a:echo".to_owned()), "names for its kind of client: {names:?}");
    let echo = names.iter().find(|name| name.ends_with("echo")).expect("the tool");
    let answer = second.call(echo, "{}");
    assert!(String::from_utf8_lossy(answer.result()).contains(&format!("\"pid\":{pid}")));
    assert_eq!(ledger::started(&room.ledger("a")).len(), 1);
    runtime_of(&room);
    for client in [first, second] {
        client.assert_only_protocol();
        client.close_stdin();
        assert!(client.wait_exit(LIMIT).success());
    }
    process::wait_gone(room.marker(), LIMIT).expect("it ends with its last client");
}

#[test]
fn fronts_that_start_at_once_make_one_runtime() {
    let room = house();
    let clients: Vec<Client> =
        (0..6).map(|_| Client::spawn(room.trunkline(&["--start-timeout", "25"]))).collect();
    clients.iter().for_each(|client| drop(client.initialize("2025-11-25")));
    let pids: Vec<i32> = clients.iter().map(server_of).collect();
    assert!(pids.iter().all(|pid| *pid == pids[0]), "{pids:?}");
    assert_eq!(ledger::started(&room.ledger("a")).len(), 1);
    runtime_of(&room);
}

#[test]
fn a_server_per_session_is_each_client_s_own() {
    let room = house_with(Some("per-session"));
    let (first, second) = (room.start_ready(&[]), room.start_ready(&[]));
    let (one, other) = (server_of(&first), server_of(&second));
    assert_ne!(one, other);
    runtime_of(&room);
    drop(second);
    process::wait_until("it ends with its client", LIMIT, || !process::is_alive(other));
    assert_eq!(server_of(&first), one);
}

#[test]
fn a_question_goes_to_the_client_that_called() {
    let room = house();
    let clients = [room.start(&[]), room.start(&[])];
    for client in &clients {
        client.initialize_with("2025-11-25", ABLE);
        client.list();
    }
    for number in [1, 0, 1] {
        let asker = &clients[number];
        let id = asker.begin("a:ask", "{}");
        let question = asker.question("elicitation/create", LIMIT);
        asker.reply(&question, r#""result":{"action":"accept","content":{"it":"was me"}}"#);
        let answer = asker.answer(&id, LIMIT);
        assert!(String::from_utf8_lossy(answer.result()).contains("was me"), "{answer}");
    }
    for client in &clients {
        let asked = client.try_wait_for(Duration::ZERO, |line| {
            line.method() == Some("elicitation/create".into())
        });
        assert_eq!(asked, None, "a question too many");
    }
}

#[test]
fn a_client_that_is_killed_takes_only_its_own_calls_with_it() {
    let room = house();
    let (first, second) = (room.start_ready(&[]), room.start_ready(&[]));
    let pid = server_of(&first);
    first.begin("a:wait", r#"{"n":1}"#);
    let calls = || ledger::with_method(&room.ledger("a"), "tools/call").len();
    process::wait_until("the call is there", LIMIT, || calls() == 2);
    let id = second.begin("a:wait", r#"{"n":2}"#);
    first.signal(Signal::KILL);
    let cancelled = || ledger::with_method(&room.ledger("a"), "notifications/cancelled").len() == 1;
    process::wait_until("its call is cancelled at the server", LIMIT, cancelled);
    room.open_gate("go");
    assert_eq!(second.answer(&id, LIMIT).result(), br#"{"n":2}"#);
    assert_eq!(server_of(&second), pid);
}

/// Some clients end all processes below one, and so do people.
#[test]
fn a_client_that_is_killed_with_all_below_it_leaves_the_runtime_to_the_others() {
    let room = house();
    let (first, second) = (room.start_ready(&[]), room.start_ready(&[]));
    let (runtime, pid) = (runtime_of(&room), server_of(&second));
    let id = second.begin("a:wait", r#"{"n":2}"#);
    let calls = || ledger::with_method(&room.ledger("a"), "tools/call").len();
    process::wait_until("the call is there", LIMIT, || calls() == 2);
    let below = process::descendants(first.pid().as_raw_nonzero().get());
    below.iter().for_each(|process| process.kill(Signal::KILL));
    first.signal(Signal::KILL);
    room.open_gate("go");
    assert_eq!(second.answer(&id, LIMIT).result(), br#"{"n":2}"#);
    assert_eq!((runtime_of(&room), server_of(&second)), (runtime, pid));
}

#[test]
fn a_runtime_lingers_for_the_next_client_and_then_ends() {
    let room = house();
    let first = room.start_ready(&["--linger", "60"]);
    let (runtime, pid) = (runtime_of(&room), server_of(&first));
    first.close_stdin();
    assert!(first.wait_exit(LIMIT).success());
    let second = room.start_ready(&["--linger", "0.2"]);
    assert_eq!((runtime_of(&room), server_of(&second)), (runtime, pid), "it was still there");
    second.close_stdin();
    second.wait_exit(LIMIT);
    process::wait_gone(room.marker(), LIMIT).expect("the last client decides how long it stays");
    let left = std::fs::read_dir(room.path("run/trunkline")).expect("the directory");
    let sockets = left.flatten().filter(|entry| entry.path().extension() == Some("sock".as_ref()));
    assert_eq!(sockets.count(), 0, "no socket stays");
}

#[test]
fn a_running_runtime_is_found_quickly() {
    let room = house();
    let first = room.start_ready(&[]);
    let begun = Instant::now();
    let second = room.start(&[]);
    println!("from spawn to initialize: {:?}", begun.elapsed());
    drop((first, second));
}

#[test]
fn without_sharing_there_is_one_process() {
    let room = house();
    let mut off = room.trunkline(&["--start-timeout", "25"]);
    off.env(SHARED, "off");
    let clients = [Client::spawn(off), room.start(&["--no-shared"]), room.start(&["--simple"])];
    clients[0].initialize("2025-11-25");
    let pids = clients.each_ref().map(server_of);
    assert!(pids[0] != pids[1] && pids[1] != pids[2]);
    assert!(room.runtimes().is_empty() && !room.path("run/trunkline").exists());
    let mut odd = room.trunkline(&[]);
    odd.env(SHARED, "perhaps");
    let refused = Client::run(odd);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("must be on or off"), "{}", refused.stderr);
}

#[test]
fn a_session_that_is_read_from_a_file_leaves_nothing_behind() {
    let room = house();
    let session = [
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"file","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a:echo","arguments":{}}}"#,
    ];
    room.write("session.jsonl", session.join("\n"));
    let mut command = room.trunkline(&["--start-timeout", "25"]);
    command.stdin(std::fs::File::open(room.path("session.jsonl")).unwrap());
    yardstick::watch();
    let begun = Instant::now();
    let end = command.output().unwrap();
    let answers = String::from_utf8_lossy(&end.stdout).into_owned();
    // At the end of its input, a server that is still starting gets some seconds: on a quiet machine many times
    // what it needs.
    let slowed = yardstick::slowed_since(begun);
    let is_late = slowed > 3.0 && answers.contains("is shutting down");
    let is_served = answers.contains("\"pid\"") || is_late;
    assert!(end.status.success() && is_served, "slowed {slowed:.1} times: {answers}");
    assert!(room.runtimes().is_empty());
    process::wait_gone(room.marker(), LIMIT).expect("no server is left");
}

#[test]
fn a_config_that_can_be_read_only_once_is_served_alone() {
    let room = house();
    let text = std::fs::read(room.path("mcp.json")).expect("the config");
    std::fs::remove_file(room.path("mcp.json")).unwrap();
    let pipe = room.path("mcp.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let writing = std::thread::spawn(move || std::fs::write(pipe, text));
    let client = room.start_ready(&[]);
    server_of(&client);
    writing.join().unwrap().expect("it was read");
    assert!(room.runtimes().is_empty());
}

#[test]
fn a_front_that_has_nothing_to_do_is_small() {
    let room = house();
    let (client, direct) = (room.start_ready(&[]), room.start_ready(&["--no-shared"]));
    let memory = |client: &Client| process::memory_kib(client.pid().as_raw_nonzero().get());
    // A debug build needs more than the product; what counts is that the gateway is elsewhere.
    let is_small = || memory(&client) < 8 * 1024 && memory(&client) * 2 < memory(&direct);
    process::wait_until("the front gives back what its start took", LIMIT, is_small);
    server_of(&client);
}

#[test]
fn a_failed_server_is_told_on_the_standard_error_of_each_client() {
    let room = house();
    let config = std::fs::read_to_string(room.path("mcp.json")).expect("the config");
    let bad = r#""mcpServers":{"bad":{"command":"no-such-command-here"},"#;
    room.write("mcp.json", config.replacen(r#""mcpServers":{"#, bad, 1));
    let (first, second) = (room.start_ready(&[]), room.start_ready(&[]));
    for client in [&first, &second] {
        client.wait_stderr(&["server `bad`", "no-such-command-here", "PATH"], LIMIT);
    }
    runtime_of(&room);
    room.write("mcp.json", "{");
    let broken = Client::run(room.trunkline(&[]));
    assert_eq!(broken.code, Some(2));
    assert!(broken.stderr.contains("mcp.json:1:"), "{}", broken.stderr);
    first.wait_stderr(&["the edited config is not valid"], LIMIT);
}

#[test]
fn an_edited_config_reaches_every_client() {
    let room = house();
    let (first, second) = (room.start_ready(&[]), room.start_ready(&[]));
    let b = room.fake("b").tool("new", kit::say::echo()).entry();
    let config = std::fs::read_to_string(room.path("mcp.json")).expect("the config");
    let mut config: serde_json::Value = serde_json::from_str(&config).expect("JSON");
    config["mcpServers"]["b"] = b;
    room.write("mcp.json", config.to_string());
    for client in [&first, &second] {
        client.wait_list("the new tool", LIMIT, |names| names.contains(&"b:new".to_owned()));
    }
    runtime_of(&room);
}

#[test]
fn a_link_that_leads_elsewhere_takes_nobody_along() {
    let room = house();
    let other = room.fake("b").tool("new", kit::say::echo()).entry();
    room.write("other.json", serde_json::json!({ "mcpServers": { "b": other } }).to_string());
    let link = room.path("link.json");
    std::os::unix::fs::symlink(room.path("mcp.json"), &link).expect("a link");
    // As `Room::start`: flags are a part of what a runtime is for.
    let by_link = || {
        let flags = ["--start-timeout", "25"];
        let client = Client::spawn(room.program_of(&kit::bin::trunkline(), &link, &flags));
        client.initialize("2025-11-25");
        client
    };
    let first = by_link();
    first.list();
    let second = room.start_ready(&[]);
    assert_eq!(server_of(&first), server_of(&second), "one file, one runtime");
    std::fs::remove_file(&link).expect("the link");
    std::os::unix::fs::symlink(room.path("other.json"), &link).expect("a link");
    let third = by_link();
    third.wait_list("the new file's tool", LIMIT, |names| names.contains(&"b:new".to_owned()));
    assert_eq!(server_of(&first), server_of(&second));
    let fourth = room.start_ready(&[]);
    assert_eq!(server_of(&fourth), server_of(&second), "the file is what it was");
}

#[test]
fn another_program_has_another_runtime_and_the_old_one_serves_its_clients() {
    let room = house();
    let first = room.start_ready(&["--linger", "600"]);
    let (old, pid) = (runtime_of(&room), server_of(&first));
    // A copy: another file, as after an upgrade.
    let program = another_program(&room, "trunkline");
    let second =
        Client::spawn(room.program(&program, &["--linger", "600", "--start-timeout", "25"]));
    second.initialize("2025-11-25");
    assert_ne!(server_of(&second), pid, "new clients have new servers");
    assert_eq!(server_of(&first), pid, "the old one goes on");
    assert_eq!(room.runtimes().len(), 2);
    // Replaced on disk: no client will ever come to that runtime again.
    std::fs::rename(room.write("newer", "#!/bin/sh"), &program).expect("it can be replaced");
    second.close_stdin();
    assert!(second.wait_exit(LIMIT).success());
    let one_is_left = || room.runtimes().iter().all(|runtime| runtime.pid == old);
    process::wait_until("the outdated runtime does not linger", LIMIT, one_is_left);
    assert_eq!(server_of(&first), pid);
}

#[test]
fn large_messages_pass_to_a_client_that_reads_late_in_bounded_memory() {
    use std::collections::BTreeSet;
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::Stdio;
    const CALLS: usize = 48;
    const SIZE: usize = 1024 * 1024;
    let room = house();
    let mut command = room.trunkline(&["--start-timeout", "25"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut front = command.spawn().expect("it starts");
    let (mut stdin, stdout) = (front.stdin.take().unwrap(), front.stdout.take().unwrap());
    let writing = std::thread::spawn(move || {
        let text = "x".repeat(SIZE);
        writeln!(stdin, "{}", kit::mcp::initialize("0", "2025-11-25")).unwrap();
        for number in 1..=CALLS {
            let arguments = format!(r#"{{"text":"{text}"}}"#);
            writeln!(stdin, "{}", kit::mcp::call(&number.to_string(), "a:mirror", &arguments))
                .unwrap();
        }
        stdin // stays open until all is read
    });
    // It reads nothing until everything that is bounded is full.
    let pid = i32::try_from(front.id()).unwrap();
    let received = || ledger::with_method(&room.ledger("a"), "tools/call").len();
    let (mut before, mut memory) = (usize::MAX, 0);
    process::wait_until("nothing moves any more", LIMIT, || {
        for _ in 0..70 {
            memory = memory.max(process::own_memory_kib(pid));
            std::thread::sleep(Duration::from_millis(10));
        }
        std::mem::replace(&mut before, received()) == received() && before > 0
    });
    assert!(before < CALLS, "a client that does not read is not read");
    // A few messages in each direction, of 48 that are 1 MiB each.
    assert!((1..20 * 1024).contains(&memory), "the front has {memory} KiB of its own");
    let mut lines = BufReader::new(stdout).lines();
    lines.next().unwrap().unwrap();
    // In any order: calls that came before their tool was listed were waiting, later ones were not.
    let mut missing: BTreeSet<String> = (1..=CALLS).map(|number| number.to_string()).collect();
    while !missing.is_empty() {
        let line = lines.next().unwrap().unwrap();
        let id = line.split_once("\"id\":").and_then(|(_, rest)| rest.split_once(','));
        let Some((id, _)) = id else { continue }; // a notification
        assert!(line.len() > SIZE && missing.remove(id), "{}", &line[..line.len().min(200)]);
    }
    drop(writing.join().unwrap());
    assert!(front.wait().unwrap().success());
}
