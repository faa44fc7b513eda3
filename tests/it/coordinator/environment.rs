//! CO-8: the variables of the Coordinator document.

use std::process::Command;
use std::time::Duration;

use kit::client::Client;
use kit::mcp::Speak;
use kit::room::{MARK, Room};
use kit::serve::Serve;
use kit::{LIMIT, bin, process, say};

fn house() -> Room {
    let room = Room::new();
    let warn = say::steps([say::stderr("a word\n"), say::text("fine")]);
    room.config([("a", room.fake("a").tool("echo", say::echo()).tool("warn", warn).entry())]);
    room
}

fn command(room: &Room, args: &[&str]) -> Command {
    let mut command = Command::new(bin::trunkline());
    command.args(args).env(MARK, room.marker());
    command.env("MCP_PROXY_CONFIG_PATH", room.path("mcp.json"));
    command.env_remove("PORT").env_remove("KEEP_SERVER_OPEN");
    command
}

#[test]
fn co_8_the_config_may_be_named_by_the_environment_for_every_front() {
    let room = house();
    let client = Client::spawn(command(&room, &[]));
    client.initialize("2025-11-25");
    client.assert_echo("a", "echo", "{}");
    let serve = Serve::start(command(&room, &["serve", "--listen", "127.0.0.1:0"]));
    serve.http().assert_echo("a", "echo", "{}");
}

#[test]
fn co_8_the_log_goes_to_the_directory_and_at_the_level_the_environment_names() {
    let mut sizes = Vec::new();
    for level in ["info", "debug"] {
        let room = house();
        let logs = room.path("logs");
        let mut command = command(&room, &["serve", "--listen", "127.0.0.1:0"]);
        command.env("MCP_PROXY_LOG_DIRECTORY_PATH", &logs).env("MCP_PROXY_LOG_LEVEL", level);
        let serve = Serve::start(command);
        serve.http().assert_echo("a", "echo", "{}");
        serve.process().signal(rustix::process::Signal::TERM);
        assert!(serve.process().wait_exit(LIMIT).success());
        let files = std::fs::read_dir(&logs).expect("the directory was made");
        let size: u64 = files.flatten().filter_map(|file| Some(file.metadata().ok()?.len())).sum();
        sizes.push(size);
    }
    assert!(sizes[1] > 0, "debug writes something: {sizes:?}");
    assert!(sizes[0] < sizes[1], "and info less: {sizes:?}");
}

#[test]
fn co_8_a_level_nobody_knows_is_refused() {
    let room = house();
    let mut command = command(&room, &["serve", "--listen", "127.0.0.1:0"]);
    command.env("MCP_PROXY_LOG_LEVEL", "deafening");
    let end = Client::run(command);
    assert_eq!(end.code, Some(2), "{end:?}");
    assert!(end.stderr.contains("MCP_PROXY_LOG_LEVEL"), "{end:?}");
}

fn serve(room: &Room, keep: Option<&str>) -> Serve {
    let mut command = command(room, &["serve", "--listen", "127.0.0.1:0"]);
    if let Some(keep) = keep {
        command.env("KEEP_SERVER_OPEN", keep);
    }
    Serve::start(command)
}

#[test]
fn co_8_keep_server_open_decides_what_happens_when_the_last_sse_client_goes() {
    for keep in [None, Some("1")] {
        let room = house();
        let serve = serve(&room, keep);
        let client = serve.sse();
        client.assert_echo("a", "echo", "{}");
        drop(client);
        // Long enough for an end that nobody asked for.
        std::thread::sleep(Duration::from_millis(1_500));
        assert!(serve.process().is_alive(), "{keep:?}");
        serve.sse().assert_echo("a", "echo", "{}");
    }
    let room = house();
    let serve = serve(&room, Some("0"));
    let (first, last) = (serve.sse(), serve.sse());
    drop(first);
    last.assert_echo("a", "echo", "{}");
    drop(last);
    assert_eq!(serve.process().wait_exit(LIMIT).code(), Some(0));
    process::wait_gone(room.marker(), kit::SOON).expect("and its children with it");
}

#[test]
fn co_8_without_keep_server_open_it_does_not_end_before_the_first_client() {
    let room = house();
    let serve = serve(&room, Some("0"));
    std::thread::sleep(Duration::from_millis(1_500));
    serve.sse().assert_echo("a", "echo", "{}");
}
