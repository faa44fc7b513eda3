//! Runtimes that end, hang or are many: what `ps` shows, and what `stop` ends.

use std::process::Stdio;
use std::time::{Duration, Instant};

use kit::client::Client;
use kit::limit::Limit;
use kit::mcp::Speak as _;
use kit::room::Room;
use kit::yardstick::Yardstick;
use kit::{LIMIT, ledger, process};
use rustix::process::Signal;
use serde_json::Value;

use super::commands::said;
use super::{another_program, complaints, furnished, house, runtime_of, server_of};

/// A client that meets a runtime that hangs is told so within this time, and goes on alone.
const GREETING: Duration = Duration::from_secs(2);

/// What `ps` tells of each runtime.
#[track_caller]
fn listed(room: &Room) -> Vec<Value> {
    let told = said(room, &["ps", "--json"]);
    let told: Value = serde_json::from_str(&told.stdout).unwrap_or_else(|_| panic!("{told:?}"));
    told["runtimes"].as_array().expect("runtimes").clone()
}

/// A client whose call waits at the gate `go`.
fn with_open_call(room: &Room) -> (Client, Vec<u8>) {
    let client = room.start_ready(&[]);
    let calls = || ledger::with_method(&room.ledger("a"), "tools/call").len();
    let before = calls();
    let id = client.begin("a:wait", r#"{"n":1}"#);
    process::wait_until("the call is there", LIMIT, || calls() == before + 1);
    (client, id)
}

/// Starts a command that is not waited for.
fn begin(room: &Room, arguments: &[&str]) -> std::process::Child {
    let mut command = super::commands::command(room, arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("it starts")
}

#[test]
fn a_runtime_that_drains_is_shown_and_can_be_ended_at_once() {
    let room = house();
    let (client, call) = with_open_call(&room);
    let (runtime, server) = (runtime_of(&room), server_of_idle(&room));
    let mut stopping = begin(&room, &["stop"]);
    let draining = || listed(&room).into_iter().find(|it| it["state"] == "draining");
    process::wait_until("it drains", LIMIT, || draining().is_some());
    if let Some(of) = draining() {
        assert_eq!(
            (of["pid"].as_i64(), of["open_calls"].as_u64()),
            (Some(runtime.into()), Some(1))
        );
        assert_eq!(of["clients"].as_array().map(Vec::len), Some(1), "{of}");
        let text = said(&room, &["ps"]).stdout;
        let shown = format!("pid {runtime}, id ");
        assert!(text.contains(&shown) && text.contains("1 client, 1 open call"), "{text}");
    }
    let now = said(&room, &["stop", "--now"]);
    assert_eq!(now.code, Some(0), "{}", now.stderr);
    assert!(!process::is_alive(runtime), "it was waited for");
    assert!(now.stdout.contains(&format!("(pid {runtime})")), "{}", now.stdout);
    assert!(stopping.wait().expect("it ends").success(), "both have stopped it");
    let answer = client.answer(&call, LIMIT);
    assert!(answer.message().contains("may have run"), "{answer}");
    process::wait_until("its server is gone", LIMIT, || !process::is_alive(server));
    assert!(listed(&room).is_empty());
    let left = std::fs::read_dir(room.path("run/trunkline")).expect("the directory").flatten();
    assert_eq!(left.filter(|it| it.path().extension() == Some("sock".as_ref())).count(), 0);
    assert_ne!(server_of(&client), server, "the client goes on");
}

/// The process of the server `a`, without calling it.
fn server_of_idle(room: &Room) -> i32 {
    let pid = listed(room)[0]["servers"][0]["pid"].as_i64().expect("a pid");
    i32::try_from(pid).expect("a pid")
}

#[test]
fn stop_waits_until_open_calls_have_ended() {
    let room = house();
    let (client, call) = with_open_call(&room);
    let runtime = runtime_of(&room);
    let mut stopping = begin(&room, &["stop"]);
    process::wait_until("it drains", LIMIT, || listed(&room)[0]["state"] == "draining");
    room.open_gate("go");
    assert_eq!(client.answer(&call, LIMIT).result(), br#"{"n":1}"#, "the call has ended well");
    assert!(stopping.wait().expect("it ends").success());
    assert!(!process::is_alive(runtime));
}

#[test]
fn a_draining_runtime_that_is_killed_leaves_nothing_behind() {
    let room = house();
    let (client, call) = with_open_call(&room);
    let (runtime, server) = (runtime_of(&room), server_of_idle(&room));
    let mut stopping = begin(&room, &["stop"]);
    process::wait_until("it drains", LIMIT, || listed(&room)[0]["state"] == "draining");
    process::kill(runtime, Signal::KILL);
    assert!(stopping.wait().expect("it ends").success(), "it is gone, as was wanted");
    assert!(client.answer(&call, LIMIT).message().contains("may have run"));
    process::wait_until("its server is gone", LIMIT, || !process::is_alive(server));
    server_of(&client);
    let there = listed(&room);
    assert_eq!((there.len(), &there[0]["state"]), (1, &Value::from("running")), "{there:?}");
    let sockets = std::fs::read_dir(room.path("run/trunkline")).expect("the directory").flatten();
    assert_eq!(sockets.filter(|it| it.path().extension() == Some("sock".as_ref())).count(), 1);
}

#[test]
fn a_replaced_program_s_runtime_is_shown_as_draining() {
    let room = house();
    let program = another_program(&room, "trunkline");
    let old = Client::spawn(room.program(&program, &["--start-timeout", "25"]));
    old.initialize("2025-11-25");
    server_of(&old);
    let runtime = runtime_of(&room);
    std::fs::rename(room.write("newer", "#!/bin/sh"), &program).expect("it can be replaced");
    let [of] = &listed(&room)[..] else { panic!("one is there") };
    assert_eq!((&of["state"], of["pid"].as_i64()), (&"draining".into(), Some(runtime.into())));
    assert!(of["why"].as_str().is_some_and(|why| why.contains("program")), "{of}");
    server_of(&old);
    assert_eq!(said(&room, &["stop"]).code, Some(0));
    assert!(!process::is_alive(runtime));
}

#[test]
fn a_runtime_that_hangs_is_told_to_a_new_client_and_ended_by_stop() {
    let _turn = crate::ONE_AT_A_TIME.lock();
    let room = house();
    let (client, call) = with_open_call(&room);
    let (runtime, server) = (runtime_of(&room), server_of_idle(&room));
    process::halt(runtime);
    let (yardstick, begun) = (Yardstick::new(), Instant::now());
    let second = Client::spawn(room.trunkline(&["--start-timeout", "25"]));
    second.initialize("2025-11-25");
    // The greeting, and a start of its own.
    yardstick.assert_kept(GREETING + Duration::from_secs(1), begun.elapsed());
    let advice = format!("`trunkline stop {runtime}` ends it");
    second.wait_stderr(&["servers are started for this client alone", "hangs", &advice], LIMIT);
    assert_eq!(complaints(&second).len(), 1, "{}", second.stderr());
    assert_ne!(server_of(&second), server, "it works");
    let [of] = &listed(&room)[..] else { panic!("one is there") };
    assert_eq!((&of["state"], of["pid"].as_i64()), (&"hung".into(), Some(runtime.into())));
    assert_eq!(of["config"].as_str(), room.path("mcp.json").to_str());
    assert!(said(&room, &["ps"]).stdout.contains(&advice));
    let logs = said(&room, &["logs", "a"]);
    assert_eq!(logs.code, Some(1));
    assert!(logs.stderr.contains(&advice) && !logs.stderr.contains("no servers"), "{logs:?}");
    let stopped = said(&room, &["stop"]);
    assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
    assert!(stopped.stdout.contains("was killed"), "{}", stopped.stdout);
    assert!(!process::is_alive(runtime));
    let answer = client.answer(&call, LIMIT);
    assert!(answer.message().contains("may have run"), "{answer}");
    let promised = Limit::promised(Duration::from_secs(2));
    process::wait_until("no orphan", promised, || !process::is_alive(server));
    assert_ne!(server_of(&client), server, "the first client goes on with another runtime");
}

#[test]
fn a_runtime_that_hangs_is_ended_by_restart_and_its_client_goes_on() {
    let _turn = crate::ONE_AT_A_TIME.lock();
    let room = house();
    let (client, call) = with_open_call(&room);
    let (runtime, server) = (runtime_of(&room), server_of_idle(&room));
    process::halt(runtime);
    let one = said(&room, &["restart", "a"]);
    assert_eq!(one.code, Some(1), "it cannot be asked for one server: {one:?}");
    assert!(one.stderr.contains(&format!("`trunkline stop {runtime}` ends it")), "{one:?}");
    let told = said(&room, &["restart"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    let how = format!("(pid {runtime}): it did not end by itself and was killed");
    assert!(told.stdout.contains("restarted") && told.stdout.contains(&how), "{told:?}");
    assert!(!process::is_alive(runtime));
    let answer = client.answer(&call, LIMIT);
    assert_eq!(answer.code(), -31012, "{answer}");
    assert!(answer.message().contains("may have run"), "{answer}");
    process::wait_until("no orphan", LIMIT, || !process::is_alive(server));
    assert_ne!(server_of(&client), server, "the client goes on with another runtime");
    let twice = client.try_wait_for(Duration::ZERO, |line| line.is_answer_to(&call));
    assert_eq!(twice, None, "an outcome too many");
    client.assert_only_protocol();
}

#[test]
fn a_runtime_that_hangs_under_a_session_is_replaced_and_each_call_has_its_outcome() {
    let room = furnished(Room::shared_hurried(), None);
    let (client, call) = with_open_call(&room);
    let (runtime, server) = (runtime_of(&room), server_of_idle(&room));
    process::halt(runtime);
    // One that it has not got, and a list, which can be asked for again.
    let (second, list) = (client.begin("a:echo", "{}"), client.start("tools/list", "{}"));
    for open in [&call, &second] {
        let answer = client.answer(open, LIMIT);
        assert_eq!(answer.code(), -31012);
        assert!(answer.message().contains("may have run"), "{answer}");
    }
    client.answer(&list, LIMIT).result();
    let pid = format!("(pid {runtime}) hung and was ended");
    client.wait_stderr(&[&pid, "another one is started"], LIMIT);
    process::wait_until("no orphan", LIMIT, || {
        !process::is_alive(runtime) && !process::is_alive(server)
    });
    assert_ne!(server_of(&client), server, "it works");
    for open in [&call, &second, &list] {
        let twice = client.try_wait_for(Duration::ZERO, |line| line.is_answer_to(open));
        assert_eq!(twice, None, "an outcome too many");
    }
    let echoes = ledger::with_method(&room.ledger("a"), "tools/call");
    assert_eq!(echoes.len(), 2, "the open call and the last one; none was sent again: {echoes:?}");
    client.assert_only_protocol();
}

/// Longer than a runtime may be silent before it is asked, and asked again, in a hurried room.
const LONG_SILENCE: Duration = Duration::from_secs(8);

#[test]
fn a_call_that_takes_long_is_no_reason_to_end_its_runtime() {
    let room = furnished(Room::shared_hurried(), None);
    let (client, call) = with_open_call(&room);
    let runtime = runtime_of(&room);
    let early = client.try_wait_for(LONG_SILENCE, |line| line.is_answer_to(&call));
    assert_eq!(early, None, "nobody has answered it");
    room.open_gate("go");
    assert_eq!(client.answer(&call, LIMIT).result(), br#"{"n":1}"#);
    assert_eq!(runtime_of(&room), runtime);
    assert_eq!(complaints(&client), Vec::<String>::new());
}

#[test]
fn runtimes_of_one_config_are_told_apart_without_a_secret() {
    let room = house();
    let config = std::fs::read_to_string(room.path("mcp.json")).expect("the config");
    let mut config: Value = serde_json::from_str(&config).expect("JSON");
    config["mcpServers"]["a"]["env"]["GIVEN"] = "${TOKEN:-none}".into();
    room.write("mcp.json", config.to_string());
    let secrets = ["alpha-secret-1", "beta-secret-2"];
    let clients = secrets.map(|secret| {
        let mut command = room.trunkline(&["--start-timeout", "25"]);
        command.env("TOKEN", secret);
        let client = Client::spawn(command);
        client.initialize("2025-11-25");
        server_of(&client);
        client
    });
    let there = listed(&room);
    let [first, second] = &there[..] else { panic!("two are there: {there:?}") };
    assert_eq!(second["differs_in"], serde_json::json!(["TOKEN"]));
    assert_eq!(second["differs_from"], first["pid"]);
    let text = said(&room, &["ps"]).stdout;
    assert!(text.contains(&format!("differs from pid {} in: TOKEN", first["pid"])), "{text}");
    for told in [text, there.iter().map(Value::to_string).collect()] {
        assert!(!told.contains("inputs") && !secrets.iter().any(|secret| told.contains(secret)));
    }
    let several = said(&room, &["stop"]);
    assert_eq!(several.code, Some(1));
    let [one, other] = [first, second].map(|it| it["pid"].to_string());
    assert!(several.stderr.contains(&one) && several.stderr.contains(&other), "{}", several.stderr);
    for wrong in ["999999999", "zz"] {
        let unknown = said(&room, &["stop", wrong]);
        assert_eq!(unknown.code, Some(1));
        assert!(unknown.stderr.contains("no shared runtime has the pid or id"), "{unknown:?}");
    }
    assert_eq!(said(&room, &["logs", "a", "--runtime", &one]).code, Some(0));
    let before = second["servers"][0]["pid"].as_i64().expect("a pid");
    let before = i32::try_from(before).expect("a pid");
    assert_eq!(said(&room, &["restart", "a", "--runtime", &other]).code, Some(0));
    process::wait_until("its process is gone", LIMIT, || !process::is_alive(before));
    let short = second["id"].as_str().expect("an id").get(..6).expect("digits");
    assert_eq!(said(&room, &["stop", short]).code, Some(0));
    let left: Vec<String> = room.runtimes().iter().map(|it| it.pid.to_string()).collect();
    assert_eq!(left, [one]);
    drop(clients);
}

#[test]
fn two_stops_at_once_both_succeed() {
    let room = house();
    let (client, _) = with_open_call(&room);
    let runtime = runtime_of(&room);
    let mut both = [begin(&room, &["stop", "--now"]), begin(&room, &["stop", "--now"])];
    let ends: Vec<bool> = both.iter_mut().map(|it| it.wait().expect("it ends").success()).collect();
    assert!(!process::is_alive(runtime));
    // One that comes when everything is over finds nothing to stop.
    assert!(ends.contains(&true), "{ends:?}");
    server_of(&client);
}

#[test]
fn a_pipe_that_a_client_leaves_open_ends_with_the_client() {
    let room = house();
    let pipe = room.path("left-open");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let plain = room.trunkline(&["--start-timeout", "25", "--linger", "60"]);
    let mut leaving = std::process::Command::new("sh");
    leaving.args(["-c", r#"exec "$0" "$@" 9>"$LEFT_OPEN""#]).arg(plain.get_program());
    leaving.args(plain.get_args()).env("LEFT_OPEN", &pipe);
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => leaving.env(name, value),
            None => leaving.env_remove(name),
        };
    }
    let (ended, end) = std::sync::mpsc::channel();
    let reading = std::thread::spawn(move || ended.send(std::fs::read(pipe).map(|it| it.len())));
    let client = Client::spawn(leaving);
    client.initialize("2025-11-25");
    server_of(&client);
    let runtime = runtime_of(&room);
    client.close_stdin();
    assert!(client.wait_exit(LIMIT).success());
    let heard = end.recv_timeout(LIMIT).expect("the pipe ends with its client");
    assert_eq!(heard.expect("it can be read"), 0);
    assert!(process::is_alive(runtime), "which stays for the next client");
    reading.join().expect("it read").expect("it was heard");
    assert_eq!(said(&room, &["stop"]).code, Some(0));
}
