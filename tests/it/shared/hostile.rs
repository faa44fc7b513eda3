//! Places, files and moments that are against us: each ends in a clear word and a client that works.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use kit::apart::{apart, word};
use kit::client::Client;
use kit::rng::Rng;
use kit::room::Room;
use kit::{LIMIT, ledger, mcp, process};
use rustix::process::Signal;

use super::commands::said;
use super::{complaints, house, runtime_of, server_of};

const ALONE: &str = "servers are started for this client alone";

/// A front of this room, not yet started.
fn front(room: &Room) -> Command {
    room.trunkline(&["--start-timeout", "25"])
}

/// A client that works; what it complains of.
#[track_caller]
fn served(command: Command) -> (Client, Vec<String>) {
    let client = Client::spawn(command);
    client.initialize("2025-11-25");
    server_of(&client);
    let complaints = complaints(&client);
    (client, complaints)
}

/// It works by itself, and has said why in one line.
#[track_caller]
fn served_alone(command: Command, why: &str) -> Client {
    let (client, complaints) = served(command);
    let [line] = &complaints[..] else { panic!("one line is expected: {complaints:?}") };
    assert!(line.contains(ALONE) && line.contains(why), "{line}");
    client
}

#[track_caller]
fn leaves(room: &Room, client: Client) {
    client.assert_only_protocol();
    client.close_stdin();
    assert!(client.wait_exit(LIMIT).success(), "{}", client.describe());
    process::wait_gone(room.marker(), LIMIT).expect("nothing is left");
}

/// Where the socket of this room's runtime is to be.
fn socket(room: &Room) -> PathBuf {
    let client = room.start_ready(&["--linger", "60"]);
    let files = fs::read_dir(room.path("run/trunkline")).expect("the directory").flatten();
    let mut sockets =
        files.map(|it| it.path()).filter(|it| it.extension() == Some("sock".as_ref()));
    let socket = sockets.next().expect("a socket");
    drop(client);
    assert_eq!(said(room, &["stop"]).code, Some(0));
    assert!(!socket.exists());
    socket
}

#[test]
fn a_full_disk_at_any_point_of_the_start_leaves_a_client_that_works() {
    // How many files there may be: none at all, the directory, the key, each lock, the socket, the log …
    for files in 1..=9 {
        let room = house();
        let run = word(room.path("run").to_str().expect("UTF-8"));
        let disk = format!("mount -t tmpfs -o size=64k,nr_inodes={files},mode=700 none {run}");
        let (client, complaints) = served(apart(&front(&room), &disk));
        let is_told = complaints.iter().all(|line| line.contains(ALONE) && line.contains("space"));
        assert!(complaints.len() <= 1 && is_told, "{files} files: {complaints:?}");
        let runtimes = room.runtimes().len();
        assert_eq!(runtimes + complaints.len(), 1, "{files} files: {complaints:?}");
        assert!(files > 2 || runtimes == 0, "nothing can be shared there");
        leaves(&room, client);
    }
    // Names can be made, but nothing can be written: what is remembered cannot be either.
    let room = house();
    fs::create_dir(room.path("remembered")).expect("the room can be written");
    let at = |name: &str| word(room.path(name).to_str().expect("UTF-8"));
    let full = |place: String| {
        format!(
            "mount -t tmpfs -o size=4k,mode=700 none {place}; cat /dev/zero > {place}/fill 2>/dev/null || true"
        )
    };
    let disks = format!("{}; {}", full(at("run")), full(at("remembered")));
    let client = served_alone(apart(&front(&room), &disks), "space");
    leaves(&room, client);
}

#[test]
fn a_home_that_cannot_be_written_or_is_not_there_leaves_a_client_that_works() {
    let room = house();
    fs::create_dir(room.path("home")).expect("the room can be written");
    let home = word(room.path("home").to_str().expect("UTF-8"));
    let only_home = |home: PathBuf| {
        let mut command = front(&room);
        command.env("HOME", home);
        for name in ["XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "TRUNKLINE_CACHE"] {
            command.env_remove(name);
        }
        command
    };
    let read_only = format!("mount -t tmpfs -o mode=700 none {home}; mount -o remount,ro {home}");
    let client =
        served_alone(apart(&only_home(room.path("home")), &read_only), "Read-only file system");
    leaves(&room, client);
    let client = served_alone(only_home(PathBuf::from("/proc/nobody")), "cannot be made");
    leaves(&room, client);
}

#[test]
fn something_else_in_the_place_of_the_socket_leaves_a_client_that_works() {
    let room = house();
    let socket = socket(&room);
    fs::create_dir(&socket).expect("the room can be written");
    let client = served_alone(front(&room), "Is a directory");
    let listed = said(&room, &["ps"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    leaves(&room, client);
    fs::remove_dir(&socket).expect("it is empty");
    // A file is no runtime; it is replaced.
    fs::write(&socket, "").expect("the room can be written");
    let (client, complaints) = served(front(&room));
    assert_eq!((complaints.len(), room.runtimes().len()), (0, 1), "{complaints:?}");
    leaves(&room, client);
}

#[test]
fn a_damaged_key_is_named_with_its_remedy() {
    let room = house();
    let directory = socket(&room).parent().expect("a directory").to_owned();
    fs::write(directory.join("key"), "short").expect("the room can be written");
    let client = served_alone(front(&room), "key is damaged; remove it");
    leaves(&room, client);
    fs::remove_file(directory.join("key")).expect("it is there");
    let (client, complaints) = served(front(&room));
    assert_eq!((complaints.len(), room.runtimes().len()), (0, 1), "{complaints:?}");
    leaves(&room, client);
}

/// Listens at its argument as another user, and says so. The user is the one who calls `listen`.
const FOREIGN: &str = "import os, socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
os.setuid(12345)
s.listen()
print('listening', flush=True)
time.sleep(600)
";

#[test]
fn the_socket_of_another_user_is_not_spoken_to() {
    // Only root can become another user; for others the directory says no before.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let room = house();
    let socket = socket(&room);
    let mut foreign = Command::new("python3");
    foreign.args(["-c", FOREIGN]).arg(&socket);
    foreign.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut foreign = foreign.spawn().expect("python3");
    let mut word = [0; 9];
    let said_so = std::io::Read::read_exact(foreign.stdout.as_mut().expect("a pipe"), &mut word);
    said_so.expect("it listens");
    let client = served_alone(front(&room), "belongs to another user (uid 12345)");
    for command in ["ps", "stop"] {
        let told = said(&room, &[command]);
        let all = format!("{}{}", told.stdout, told.stderr);
        assert!(all.contains("belongs to another user (uid 12345)"), "{command}: {all}");
    }
    foreign.kill().expect("it can be ended");
    foreign.wait().expect("it has ended");
    leaves(&room, client);
}

/// Listens at its argument and lets each one wait, or answers all with its second argument and hangs up.
const STRANGER: &str = "import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
print('listening', flush=True)
held = []
while True:
    c, _ = s.accept()
    if len(sys.argv) < 3:
        held.append(c)
        continue
    c.recv(65536)
    c.sendall(sys.argv[2].encode() + b'\\n')
    c.close()
";

fn stranger(at: &std::path::Path, answer: Option<&str>) -> std::process::Child {
    let mut stranger = Command::new("python3");
    stranger.args(["-c", STRANGER]).arg(at).args(answer);
    stranger.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut stranger = stranger.spawn().expect("python3");
    let mut word = [0; 9];
    let said_so = std::io::Read::read_exact(stranger.stdout.as_mut().expect("a pipe"), &mut word);
    said_so.expect("it listens");
    stranger
}

#[test]
fn another_program_at_the_place_of_the_socket_is_not_ended() {
    for answer in [None, Some("{}"), Some("hello")] {
        let room = house();
        let mut stranger = stranger(&socket(&room), answer);
        let told = said(&room, &["ps"]).stdout;
        let why = format!("process {} listens there and is no runtime of Trunkline", stranger.id());
        assert!(told.contains(&why), "{answer:?}: {told}");
        for arguments in [&["stop"][..], &["stop", "--all", "--now"], &["restart"]] {
            let told = said(&room, arguments);
            assert_eq!(told.code, Some(1), "{arguments:?}");
            assert!(told.stderr.contains(&why), "{arguments:?}: {}", told.stderr);
        }
        assert_eq!(stranger.try_wait().expect("it can be asked"), None, "it lives");
        stranger.kill().expect("it can be ended");
        stranger.wait().expect("it has ended");
    }
}

#[test]
fn a_runtime_that_closes_every_connection_is_not_tried_for_ever() {
    let room = house();
    let mut closes = stranger(&socket(&room), Some(r#"{"trunkline":1,"welcome":true}"#));
    let client = served_alone(front(&room), "closed 5 connections in a row");
    closes.kill().expect("it can be ended");
    closes.wait().expect("it has ended");
    leaves(&room, client);
}

#[test]
fn where_hardly_a_file_may_be_open_one_error_says_so() {
    let room = house();
    let mut limited = Command::new("sh");
    let usual = front(&room);
    limited.args(["-c", "ulimit -n 24; exec \"$@\"", "sh"]).arg(usual.get_program());
    limited.args(usual.get_args());
    for (name, value) in usual.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let ended = Client::run(limited);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{}", ended.stderr);
    let [line] = &ended.stderr.lines().collect::<Vec<_>>()[..] else { panic!("{}", ended.stderr) };
    for part in ["only 24 files may be open", "ulimit -n"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(room.runtimes().is_empty());
}

#[test]
fn a_client_whose_config_is_gone_is_told_what_to_do() {
    let room = house();
    let client = room.start_ready(&[]);
    let config = room.path("mcp.json");
    fs::remove_file(&config).expect("it is there");
    assert_eq!(said(&room, &["stop"]).code, Some(0));
    let answer = client.call("a:echo", "{}");
    assert_eq!(answer.code(), -31012, "{answer}");
    let may_retry = kit::scan::path(&answer.0, &["error", "data", "mayRetry"]);
    assert_eq!(may_retry, Some(&b"false"[..]), "{answer}");
    let told = answer.message();
    for part in ["no server can be started any more", "mcp.json", "reconnect Trunkline"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(client.wait_exit(LIMIT).code(), Some(1));
}

/// Fronts at once.
const CROWD: usize = 200;

#[test]
fn two_hundred_fronts_at_once_are_all_served_by_one_runtime() {
    let _turn = crate::ONE_AT_A_TIME.lock();
    let room = house();
    let clients: Vec<Client> = (0..CROWD).map(|_| Client::spawn(front(&room))).collect();
    clients.iter().for_each(|client| client.send_line(mcp::initialize("0", "2025-11-25")));
    for client in &clients {
        client.answer(b"0", LIMIT).result();
        client.send_line(mcp::call("1", "a:echo", "{}"));
    }
    for client in &clients {
        client.answer(b"1", LIMIT).result();
    }
    assert_eq!(room.runtimes().len(), 1);
    // One that is not welcomed within ten seconds, on a machine that is busy, says so and goes on alone.
    let alone: Vec<String> = clients.iter().flat_map(complaints).collect();
    assert!(alone.iter().all(|line| line.contains(ALONE)), "{alone:?}");
    assert_eq!(ledger::started(&room.ledger("a")).len(), 1 + alone.len(), "{alone:?}");
    assert!(alone.len() < CROWD / 10, "{alone:?}");
    drop(clients);
    process::wait_gone(room.marker(), LIMIT).expect("nothing is left");
}

#[test]
fn a_client_that_dies_in_the_middle_of_a_line_has_called_nothing() {
    let room = house();
    let (first, other) = (room.start_ready(&[]), room.start_ready(&[]));
    let server = server_of(&other);
    let calls = || ledger::with_method(&room.ledger("a"), "tools/call").len();
    let half = mcp::call("7", "a:echo", r#"{"text":"never"}"#);
    first.send(&half.as_bytes()[..half.len() - 4]);
    first.close_stdin();
    assert!(first.wait_exit(LIMIT).success());
    // Half a line is on its way to a runtime that does not read when its front is killed.
    let second = room.start_ready(&[]);
    let runtime = runtime_of(&room);
    process::halt(runtime);
    let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(4 * 1024 * 1024));
    second.send_line(mcp::call("8", "a:echo", &long));
    let front = second.pid().as_raw_nonzero().get();
    process::wait_until("it writes as much as it can", LIMIT, || {
        process::memory_kib(front) > 2 * 1024 && process::is_asleep(front)
    });
    second.signal(Signal::KILL);
    second.wait_exit(LIMIT);
    process::kill(runtime, Signal::CONT);
    assert_eq!(server_of(&other), server, "the other client goes on");
    assert_eq!(calls(), 2, "only the calls of the other one");
    assert_eq!(runtime_of(&room), runtime);
}

#[test]
fn a_runtime_that_is_killed_before_the_first_line_is_replaced() {
    let room = house();
    let mut rng = Rng::new(4);
    for round in 0..8 {
        let client = Client::spawn(front(&room));
        process::wait_until("there is a runtime", LIMIT, || !room.runtimes().is_empty());
        // Between its start, the hello and the welcome: nobody knows where it is.
        std::thread::sleep(std::time::Duration::from_millis(rng.below(60) as u64));
        room.runtimes().iter().for_each(|runtime| runtime.kill(Signal::KILL));
        client.initialize("2025-11-25");
        server_of(&client);
        let complaints = complaints(&client);
        assert!(complaints.iter().all(|line| line.contains(ALONE)), "{round}: {complaints:?}");
        leaves(&room, client);
    }
}

#[test]
fn a_session_whose_runtime_is_lost_goes_on_alone_where_nothing_can_be_shared_any_more() {
    let room = house();
    let client = room.start_ready(&[]);
    let (runtime, server) = (runtime_of(&room), server_of(&client));
    let directory = room.path("run/trunkline");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let open = client.begin("a:wait", r#"{"n":1}"#);
    let calls = || ledger::with_method(&room.ledger("a"), "tools/call").len();
    process::wait_until("the server has it", LIMIT, || calls() == 2);
    process::kill(runtime, Signal::KILL);
    let answer = client.answer(&open, LIMIT);
    assert!(answer.message().contains("may have run"), "{answer}");
    let own = server_of(&client);
    assert_ne!(own, server);
    client.wait_stderr(&[ALONE, "chmod 700"], LIMIT);
    let [gateway] = &room.runtimes()[..] else { panic!("one process serves it") };
    assert!(gateway.command_line().contains("--no-shared"), "{}", gateway.command_line());
    assert_eq!(gateway.parent, client.pid().as_raw_nonzero().get());
    assert_eq!(server_of(&client), own, "it stays");
    client.assert_only_protocol();
    client.signal(Signal::KILL);
    client.wait_exit(LIMIT);
    process::wait_gone(room.marker(), LIMIT).expect("nothing is left");
}
