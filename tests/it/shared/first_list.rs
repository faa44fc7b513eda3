//! The first list of a client holds every tool: from memory, or after a wait for servers never seen before.

use std::time::Duration;

use kit::client::Client;
use kit::line::Line;
use kit::mcp::Speak as _;
use kit::room::Room;
use kit::{LIMIT, process, say};
use serde_json::{Value, json};

const SERVERS: [&str; 10] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
const STARTS: usize = 20;
const CHANGED: &str = "notifications/tools/list_changed";

/// Ten servers; those that `waits` do not start before the gate `go` is open.
fn ten(room: &Room, waits: bool) {
    let entry = |name: &str| -> (String, Value) {
        let fake = room.fake(name).tool("one", say::echo()).tool("two", say::echo());
        let fake = match waits {
            true => fake.at_start(say::steps([say::gate(room, "go")])),
            false => fake,
        };
        (name.to_owned(), fake.entry())
    };
    room.config_of(SERVERS.iter().map(|name| entry(name)).collect());
}

fn all_tools() -> Vec<String> {
    SERVERS.iter().flat_map(|name| [format!("{name}:one"), format!("{name}:two")]).collect()
}

fn first_list(room: &Room) -> (Client, Vec<String>) {
    let client = room.start(&[]);
    let mut names = client.list_names();
    names.sort();
    (client, names)
}

/// The servers were seen once. From then on no start waits for any of them: here they do not even start.
#[test]
fn every_tool_is_in_the_first_list_of_every_start() {
    let room = Room::shared();
    ten(&room, false);
    let (client, names) = first_list(&room);
    assert_eq!(names, all_tools());
    let remembered =
        || std::fs::read_dir(room.path("remembered/listings")).map_or(0, Iterator::count);
    process::wait_until("they are remembered", LIMIT, || remembered() == SERVERS.len());
    client.close_stdin();
    assert!(client.wait_exit(LIMIT).success());
    process::wait_until("the runtime ends with its client", LIMIT, || room.runtimes().is_empty());
    let servers = std::fs::read_to_string(room.path("mcp.json")).expect("the config");
    ten(&room, true);
    let same = std::fs::read_to_string(room.path("mcp.json")).expect("the config");
    assert_eq!(servers, same, "the same entries, whose servers now wait at the gate");
    for start in 0..STARTS {
        let (client, names) = first_list(&room);
        assert_eq!(names, all_tools(), "start {start}, a runtime of its own");
        let (second, names) = first_list(&room);
        assert_eq!(names, all_tools(), "start {start}, the runtime is there");
        for client in [client, second] {
            client.close_stdin();
            assert!(client.wait_exit(LIMIT).success());
        }
        process::wait_until("the runtime ends with its clients", LIMIT, || {
            room.runtimes().is_empty()
        });
    }
}

/// A download takes longer than the first client waits for it. It says so, and the second client waits in its turn.
#[test]
fn a_client_that_comes_while_servers_start_for_the_first_time_waits_as_well() {
    let room = Room::shared();
    ten(&room, true);
    let patience = ["--start-timeout", "6"];
    let first = room.start(&patience);
    assert_eq!(first.list_names(), Vec::<String>::new());
    first.wait_stderr(&["waiting for 10 of 10 servers to start: a, b, c"], LIMIT);
    let second = room.start(&patience);
    let id = second.start("tools/list", "{}");
    room.open_gate("go");
    let list = second.answer(&id, LIMIT);
    let list = String::from_utf8_lossy(list.result()).into_owned();
    for tool in all_tools() {
        assert!(list.contains(&format!("\"{tool}\"")), "{tool} is not in {list}");
    }
}

/// A server that lists this tool to whoever starts it next; one that `waits` says nothing before the gate `go` is open.
fn lists(room: &Room, tool: &str, waits: bool) {
    let fake = room.fake("a").tool(tool, say::echo()).instructions(&format!("To {tool}."));
    let fake = match waits {
        true => fake.at_start(say::steps([say::gate(room, "go")])),
        false => fake,
    };
    let mut entry = fake.entry();
    entry["start"] = json!("eager");
    room.config([("a", entry)]);
}

/// A server may list by what its client can do. A shared runtime tells it of everything, `--no-shared` of what its client
/// declares: each start finds the list that was made for its kind, whichever ran last.
#[test]
fn shared_and_unshared_starts_find_the_list_that_was_made_for_their_kind() {
    let room = Room::shared();
    let other = r#"{"elicitation":{"form":{}}}"#;
    let kinds: [(&[&str], &str, &str); 3] =
        [(&[], "{}", "all"), (&["--no-shared"], "{}", "one"), (&["--no-shared"], other, "asked")];
    let remembered = || -> Vec<String> {
        let files = std::fs::read_dir(room.path("remembered/listings")).into_iter().flatten();
        let files = files.flatten().map(|file| file.path());
        let records = files.filter(|path| path.extension().is_some_and(|it| it == "json"));
        records.filter_map(|path| std::fs::read_to_string(path).ok()).collect()
    };
    for round in 0..3 {
        for (place, (flags, capabilities, tool)) in kinds.into_iter().enumerate() {
            lists(&room, tool, round > 0);
            let command = room.trunkline(&[flags, &["--start-timeout", "25"]].concat());
            let client = Client::spawn(command);
            let hello = client.initialize_with("2025-11-25", capabilities);
            assert_eq!(client.list_names(), [format!("a:{tool}")], "round {round}, {flags:?}");
            match round {
                0 => {
                    let is_kept = process::comes_true(LIMIT, || remembered().len() == place + 1);
                    assert!(is_kept, "{flags:?}: {:?}", remembered());
                }
                _ => {
                    let hello = String::from_utf8_lossy(hello.result()).into_owned();
                    assert!(hello.contains(&format!("To {tool}.")), "round {round}: {hello}");
                    room.open_gate("go");
                    client.call(&format!("a:{tool}"), "{}").result();
                    client.list();
                    let is_change = |line: &Line| line.is_notification(CHANGED);
                    let told = client.try_wait_for(Duration::ZERO, is_change);
                    assert_eq!(told, None, "round {round}, {flags:?}: the list is the same");
                    std::fs::remove_file(room.path("go")).expect("the gate is a file");
                }
            }
            client.close_stdin();
            assert!(client.wait_exit(LIMIT).success());
            process::wait_until("the runtime ends", LIMIT, || room.runtimes().is_empty());
        }
    }
    assert_eq!(remembered().len(), kinds.len());
}
