//! `ps`, `stop`, `restart` and `logs` of a shared runtime.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use kit::client::{Client, Finished};
use kit::mcp::Speak;
use kit::room::Room;
use kit::{LIMIT, apart, bin, ledger, process};
use rustix::process::Signal;
use serde_json::Value;

use super::{assert_let_end, house, runtime_of, server_of};

pub(super) fn said(room: &Room, arguments: &[&str]) -> Finished {
    Client::run(command(room, arguments))
}

/// A command in the environment of this room's clients.
pub(super) fn command(room: &Room, arguments: &[&str]) -> Command {
    let mut command = Command::new(bin::trunkline());
    for (name, value) in room.trunkline(&[]).get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.args(arguments);
    command
}

#[test]
fn ps_shows_runtimes_with_their_clients_and_servers() {
    let room = house();
    let none = said(&room, &["ps"]);
    assert_eq!(none.code, Some(0));
    assert!(none.stdout.contains("no shared runtime is running"), "{}", none.stdout);
    let first = room.start_ready(&["--for", "cursor"]);
    let second = room.start_ready(&[]);
    let (runtime, server) = (runtime_of(&room), server_of(&second));
    let told: Value = serde_json::from_str(&said(&room, &["ps", "--json"]).stdout).expect("JSON");
    let [of] = told["runtimes"].as_array().expect("runtimes").as_slice() else { panic!("{told}") };
    assert_eq!(
        (of["pid"].as_i64(), of["servers"][0]["pid"].as_i64()),
        (Some(runtime.into()), Some(server.into()))
    );
    assert_eq!(of["servers"][0]["state"], "running");
    assert!(of["memory_total_kib"].as_u64() > of["memory_kib"].as_u64(), "{of}");
    let mut clients: Vec<i64> =
        of["clients"].as_array().unwrap().iter().filter_map(|it| it["pid"].as_i64()).collect();
    clients.sort_unstable();
    let mut pids = [&first, &second].map(|it| i64::from(it.pid().as_raw_nonzero().get()));
    pids.sort_unstable();
    assert_eq!(clients, pids);
    let text = said(&room, &["ps", "--config", room.path("mcp.json").to_str().unwrap()]).stdout;
    for part in [&runtime.to_string(), &server.to_string(), "running", "cursor", "any", "MiB"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn a_stopped_runtime_is_started_again_when_its_client_needs_it() {
    let room = house();
    for command in ["stop", "restart"] {
        let none = said(&room, &[command]);
        assert_eq!(none.code, Some(1));
        assert!(none.stderr.contains("no shared runtime is running"), "{}", none.stderr);
    }
    let client = room.start_ready(&[]);
    let (runtime, server) = (runtime_of(&room), server_of(&client));
    let stopped = said(&room, &["stop"]);
    assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
    process::wait_until("it is gone", LIMIT, || {
        !process::is_alive(runtime) && !process::is_alive(server)
    });
    assert!(room.runtimes().is_empty() && client.is_alive(), "the client does not need it now");
    assert_ne!(server_of(&client), server);
    assert_ne!(runtime_of(&room), runtime);
    client.notification("notifications/tools/list_changed", LIMIT);
    client.assert_only_protocol();
}

#[test]
fn restart_is_for_one_server_or_for_all() {
    let room = house();
    let client = room.start_ready(&[]);
    let (runtime, server) = (runtime_of(&room), server_of(&client));
    let unknown = said(&room, &["restart", "b"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("has a server `b`; there are a"), "{}", unknown.stderr);
    assert_eq!(said(&room, &["restart", "a"]).code, Some(0));
    process::wait_until("its process is gone", LIMIT, || !process::is_alive(server));
    process::wait_until("it is back", LIMIT, || client.call("a:echo", "{}").try_result().is_some());
    let again = server_of(&client);
    assert!(again != server && runtime_of(&room) == runtime);
    assert_eq!(said(&room, &["restart"]).code, Some(0));
    process::wait_until("the runtime is another one", LIMIT, || {
        !process::is_alive(runtime) && room.runtimes().len() == 1
    });
    assert_ne!(server_of(&client), again);
    let logs = said(&room, &["logs", "a"]);
    assert_eq!((logs.code, logs.stdout.as_str()), (Some(0), ""));
    assert!(logs.stderr.contains("server `a` has written nothing"), "{}", logs.stderr);
}

#[test]
fn restart_with_a_broken_config_leaves_everything_as_it_is() {
    let room = house();
    let client = room.start_ready(&[]);
    let (runtime, server) = (runtime_of(&room), server_of(&client));
    let good = std::fs::read(room.path("mcp.json")).expect("a config");
    room.write("mcp.json", "{\"mcpServers\": {\"a\": {\"command\": }}}");
    let refused = said(&room, &["restart"]);
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    for part in ["nothing was restarted", "the config is not valid", "mcp.json"] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    assert_eq!((runtime_of(&room), server_of(&client)), (runtime, server));
    room.write("mcp.json", &good);
    assert_eq!(said(&room, &["restart"]).code, Some(0));
    process::wait_until("the runtime is another one", LIMIT, || {
        !process::is_alive(runtime) && room.runtimes().len() == 1
    });
    assert_ne!(server_of(&client), server);
}

#[test]
fn logs_of_an_unknown_server_name_those_that_there_are() {
    let room = Room::shared();
    let entry = |name: &str| room.fake(name).tool("echo", kit::say::echo()).entry();
    room.config([("files", entry("files")), ("tickets", entry("tickets"))]);
    let _client = room.start_ready(&[]);
    for (name, near) in [("file", "did you mean"), ("x", "")] {
        let unknown = said(&room, &["logs", name]);
        assert_eq!(unknown.code, Some(1));
        for part in [&format!("no shared runtime has a server `{name}`"), near, "files, tickets"] {
            assert!(unknown.stderr.contains(part), "{part}: {}", unknown.stderr);
        }
        assert!(!unknown.stderr.contains("3006"), "{}", unknown.stderr);
    }
}

#[test]
fn logs_without_a_runtime_say_so_and_how_a_platform_is_named() {
    let room = house();
    for arguments in [&["logs"][..], &["logs", "a"], &["logs", "a", "-f"]] {
        let mut asked = command(&room, arguments);
        asked.env("PORT", "9").env_remove("TRUNKLINE_ADMIN_TOKEN"); // nobody listens there
        let none = Client::run(asked);
        assert_eq!((none.code, none.stdout.as_str()), (Some(1), ""), "{arguments:?}");
        for part in ["no shared runtime is running", "no platform answers", "--url URL"] {
            assert!(none.stderr.contains(part), "{arguments:?} {part}: {}", none.stderr);
        }
    }
    let _client = room.start_ready(&[]);
    let mut asked = command(&room, &["logs"]);
    asked.env("PORT", "9");
    let unnamed = Client::run(asked);
    assert!(unnamed.stderr.contains("`trunkline logs SERVER`"), "{}", unnamed.stderr);
}

#[test]
fn several_runtimes_have_to_be_named() {
    let (room, other) = (house(), house());
    let client = room.start_ready(&[]);
    let mut second = other.trunkline(&["--start-timeout", "25"]);
    second.env("XDG_RUNTIME_DIR", room.path("run"));
    let second = Client::spawn(second);
    second.initialize("2025-11-25");
    server_of(&second);
    let several = said(&room, &["stop"]);
    assert_eq!(several.code, Some(1));
    assert!(
        several.stderr.contains("--all") && several.stderr.contains("--config"),
        "{}",
        several.stderr
    );
    let config = other.path("mcp.json");
    assert_eq!(said(&room, &["stop", "--config", config.to_str().unwrap()]).code, Some(0));
    process::wait_until("that one is gone", LIMIT, || other.runtimes().is_empty());
    server_of(&client);
    server_of(&second);
    assert_eq!(said(&room, &["stop", "--all"]).code, Some(0));
    process::wait_until("all are gone", LIMIT, || {
        room.runtimes().is_empty() && other.runtimes().is_empty()
    });
}

/// The sockets of this room's runtimes, those of connections among them, by their inodes.
fn sockets(room: &Room) -> BTreeSet<String> {
    let place = room.path("run").display().to_string();
    let all = std::fs::read_to_string("/proc/net/unix").expect("/proc is mounted");
    let lines = all.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let ours = lines.filter(|words| words.get(7).is_some_and(|path| path.starts_with(&place)));
    ours.map(|words| words[6].to_owned()).collect()
}

#[test]
fn restart_between_two_runtimes_waits_for_the_next_one() {
    let room = house();
    let client = room.start_ready(&[]);
    let (runtime, server) = (runtime_of(&room), server_of(&client));
    let call = client.begin("a:wait", r#"{"n":1}"#);
    let calls = || ledger::with_method(&room.ledger("a"), "tools/call").len();
    process::wait_until("the call is there", LIMIT, || calls() == 2);
    let since = Instant::now();
    assert_eq!(said(&room, &["restart"]).code, Some(0));
    // The first one drains, because a call is open; nobody has started another one.
    let others = sockets(&room);
    let mut second = command(&room, &["restart"]);
    second.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let second = second.spawn().expect("it starts");
    let mut asked = BTreeSet::new();
    process::wait_until("it has asked the first one, and asks again", LIMIT, || {
        asked.extend(sockets(&room).difference(&others).cloned());
        asked.len() >= 2
    });
    room.open_gate("go");
    assert_let_end(&client.answer(&call, LIMIT), br#"{"n":1}"#, since);
    let second = second.wait_with_output().expect("it ends");
    let why = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(second.status.success(), "{why}");
    assert_ne!(server_of(&client), server);
    assert!(!process::is_alive(runtime));
    client.assert_only_protocol();
}

/// A runtime was killed, and its client has not noticed yet.
#[test]
fn restart_right_behind_a_kill_waits_for_the_next_runtime() {
    let room = house();
    let client = room.start_ready(&[]);
    let (runtime, server) = (runtime_of(&room), server_of(&client));
    let front = client.pid().as_raw_nonzero().get();
    process::kill(front, Signal::STOP);
    process::kill(runtime, Signal::KILL);
    process::wait_until("it is gone", LIMIT, || !process::is_alive(runtime));
    // A lock that nobody holds goes when somebody looks whether a front holds it.
    let trace = room.write("run/trunkline/0-start.lock", "");
    let mut restart = command(&room, &["restart"]);
    restart.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let restart = restart.spawn().expect("it starts");
    process::wait_until("it has looked for runtimes", LIMIT, || !trace.exists());
    process::kill(front, Signal::CONT);
    let restart = restart.wait_with_output().expect("it ends");
    let why = String::from_utf8_lossy(&restart.stderr).into_owned();
    assert!(restart.status.success(), "{why}");
    assert_ne!(server_of(&client), server);
    client.assert_only_protocol();
}

/// Many clients hand on `HOME`, `PATH` and little more to what they start; a terminal has everything.
#[test]
fn a_runtime_is_found_from_a_terminal_whatever_variables_its_client_hands_on() {
    let room = house();
    let session = room.path("session");
    std::fs::create_dir(&session).expect("the room can be written");
    std::fs::set_permissions(&session, PermissionsExt::from_mode(0o700)).expect("it is ours");
    let mut front = room.trunkline(&["--start-timeout", "25"]);
    front.env_remove("XDG_RUNTIME_DIR");
    // As the session manager has it.
    let place = apart::word(session.to_str().expect("UTF-8"));
    let own =
        format!("mount -t tmpfs none /run; mkdir -p /run/user/0; mount --bind {place} /run/user/0");
    let client = Client::spawn(apart::apart(&front, &own));
    client.initialize("2025-11-25");
    let (runtime, server) = (runtime_of(&room), server_of(&client));
    let terminal = |arguments: &[&str]| {
        let mut command = command(&room, arguments);
        Client::run({
            command.env("XDG_RUNTIME_DIR", &session);
            command
        })
    };
    let listed = terminal(&["ps"]).stdout;
    assert!(listed.contains(&format!("pid {runtime},")), "{listed}");
    let restarted = terminal(&["restart", "a"]);
    assert_eq!(restarted.code, Some(0), "{}", restarted.stderr);
    process::wait_until("another process answers", LIMIT, || {
        client.call("a:echo", "{}").try_result().is_some() && server_of(&client) != server
    });
    client.assert_only_protocol();
}

/// A client that calls without a pause has nothing open for moments only. What it writes in one of them, while its
/// runtime ends, is served there or by the next one.
#[test]
fn restarts_lose_no_call_of_busy_clients() {
    const RESTARTS: usize = 6;
    let room = house();
    let clients: Vec<Client> = (0..3).map(|_| room.start_ready(&[])).collect();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let calls = clients.iter().map(|client| {
            scope.spawn(|| {
                let mut answered = 0_usize;
                while !is_over.load(Ordering::Relaxed) {
                    client.assert_echo("a", "echo", r#"{"n":1}"#);
                    answered += 1;
                }
                answered
            })
        });
        let calls: Vec<_> = calls.collect();
        for _ in 0..RESTARTS {
            process::wait_until("one is left", LIMIT, || {
                room.runtimes().len() == 1 || calls.iter().any(|call| call.is_finished())
            });
            let before = runtime_of(&room);
            let again = said(&room, &["restart"]);
            assert_eq!(again.code, Some(0), "{}", again.stderr);
            process::wait_until("it has ended", LIMIT, || {
                !process::is_alive(before) || calls.iter().any(|call| call.is_finished())
            });
        }
        is_over.store(true, Ordering::Relaxed);
        for call in calls {
            assert!(call.join().expect("no call was lost") > RESTARTS);
        }
    });
}
