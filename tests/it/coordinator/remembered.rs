//! CO-9: `initialize` and `server/discover` are answered before servers have started; what each server said
//! of itself when it last ran is remembered in the user's cache, so that clients hear it all the same.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use kit::client::Client;
use kit::line::Line;
use kit::modern::Modern;
use kit::room::Room;
use kit::{LIMIT, process, say, scan};
use serde_json::{Value, json};

const WORDS: &str = "Trains leave at noon.";
const SECRET: &str = "sup3r-s3cret-value";

/// A server that says these words, and keeps everybody waiting while there is no file `go`.
fn entry(room: &Room, words: &str) -> Value {
    let wait = say::steps([say::gate(room, "go"), say::usual()]);
    let info = r#"{"name":"rail","title":"Railway","version":"1"}"#;
    let fake = room.fake("rail").on("initialize", wait).info(info).instructions(words);
    fake.tool("echo", say::echo()).env("RAIL_TOKEN", SECRET).entry()
}

fn write(room: &Room, words: &str) {
    room.config([("rail", shell_entry(room, words))]);
}

/// Started at once, although what it lists is remembered.
fn write_eager(room: &Room, words: &str) {
    let mut entry = shell_entry(room, words);
    entry["start"] = json!("eager");
    room.config([("rail", entry)]);
}

fn shell_entry(room: &Room, words: &str) -> Value {
    let mut entry = entry(room, words);
    let fake = entry["command"].take();
    let args = entry["args"].as_array().expect("arguments").clone();
    // The shell drops the argument that the scripted server would not know.
    let mut all = vec![json!("-c"), json!(r#"exec "$0" "$1" "$2""#), fake];
    all.extend(args);
    all.push(json!(format!("--token={SECRET}")));
    entry["command"] = json!("sh");
    entry["args"] = Value::Array(all);
    entry
}

pub(super) fn cache(room: &Room) -> PathBuf {
    room.path("cache")
}

/// The gateway as somebody runs it whose cache is this room's.
pub(super) fn command(room: &Room, flags: &[&str]) -> Command {
    let mut command = room.trunkline(flags);
    command.env("XDG_CACHE_HOME", cache(room)).env_remove("TRUNKLINE_CACHE");
    command
}

/// How many records are kept below a directory: one that is still being written has another ending.
pub(super) fn records(below: &Path) -> usize {
    files(below).iter().filter(|path| path.extension().is_some_and(|it| it == "json")).count()
}

/// Every file below a directory.
pub(super) fn files(below: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(below) else { return Vec::new() };
    let entries = entries.filter_map(Result::ok).map(|entry| entry.path());
    let mut all: Vec<_> =
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect();
    all.sort();
    all
}

fn told(answer: &Line) -> String {
    scan::get(answer.result(), "instructions").and_then(scan::text).unwrap_or_default()
}

/// Runs until its server is up and what it said is kept.
fn run_once(room: &Room, kept: usize) {
    room.open_gate("go");
    let client = Client::spawn(command(room, &["--start-timeout", "25"]));
    client.initialize("2025-11-25");
    client.list();
    process::wait_until("it is remembered", LIMIT, || records(&cache(room)) == kept);
    client.close_stdin();
    client.wait_exit(LIMIT);
    std::fs::remove_file(room.path("go")).expect("the gate is a file");
}

/// What the first answer says while the server has not answered anything.
fn first_words(command: Command) -> String {
    told(&Client::spawn(command).initialize("2025-11-25"))
}

#[test]
fn co_9_what_a_server_said_when_it_last_ran_is_told_before_it_runs_again() {
    let room = Room::new();
    write(&room, WORDS);
    assert!(!first_words(command(&room, &[])).contains(WORDS), "nobody has said it yet");
    run_once(&room, 1);
    let line = format!("- rail: Railway. {WORDS}");
    let words = first_words(command(&room, &[]));
    assert!(words.contains(&line), "{words}");
    let modern = Modern::stdio(Client::spawn(command(&room, &[])), "{}");
    let answer = modern.discover();
    assert!(told(&answer).contains(&line), "{answer}");
    // What a server that runs says counts, and is remembered instead.
    write_eager(&room, "Trains leave at one.");
    room.open_gate("go");
    let client = Client::spawn(command(&room, &["--start-timeout", "25"]));
    assert!(told(&client.initialize("2025-11-25")).contains("Trains leave"));
    process::wait_until("the server that runs is quoted", LIMIT, || {
        let id = client.fresh_id();
        let again = client.request(kit::mcp::initialize(&id, "2025-11-25"));
        told(&again).contains("Trains leave at one.")
    });
    let text = || files(&cache(&room)).iter().map(read).collect::<String>();
    process::wait_until("the new words are kept", LIMIT, || text().contains("at one."));
    std::fs::remove_file(room.path("go")).expect("the gate is a file");
    let words = first_words(command(&room, &[]));
    assert!(words.contains("Trains leave at one."), "{words}");
}

fn read(path: &PathBuf) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
}

#[test]
fn what_is_remembered_is_its_owners_and_holds_no_secret() {
    let room = Room::new();
    write(&room, WORDS);
    run_once(&room, 1);
    let [file] = &files(&cache(&room))[..] else { panic!("one file") };
    let mode = |path: &Path| std::fs::metadata(path).expect("it is there").permissions().mode();
    assert_eq!(mode(file) & 0o777, 0o600, "{file:?}");
    let own = cache(&room).join("trunkline");
    for directory in file.ancestors().skip(1).take_while(|path| path.starts_with(&own)) {
        assert_eq!(mode(directory) & 0o777, 0o700, "{directory:?}");
    }
    let text = read(file);
    assert!(text.contains(WORDS), "{text}");
    for secret in [SECRET, "RAIL_TOKEN", "--token"] {
        assert!(!text.contains(secret) && !file.to_string_lossy().contains(secret), "{text}");
    }
}

/// Another value of a secret is the same entry; another argument is another.
#[test]
fn an_entry_is_known_by_its_key_and_what_it_starts_and_not_by_its_secrets() {
    let room = Room::new();
    write(&room, WORDS);
    run_once(&room, 1);
    let config = || std::fs::read_to_string(room.path("mcp.json")).expect("the config");
    let renamed = config().replace("\"rail\":", "\"train\":");
    let rotated = config().replace(SECRET, "an0ther-s3cret-value");
    let other = config().replace("--token=", "--other=");
    for (what, text, known) in
        [("renamed", renamed, false), ("rotated", rotated, true), ("other", other, false)]
    {
        room.write("mcp.json", text);
        let words = first_words(command(&room, &[]));
        assert_eq!(words.contains(WORDS), known, "{what}: {words}");
    }
}

#[test]
fn a_damaged_memory_is_ignored_and_replaced() {
    for damage in ["", "{", "[]", r#"{"format":99,"instructions":"old"}"#, "\u{0}\u{1}"] {
        let room = Room::new();
        write(&room, WORDS);
        run_once(&room, 1);
        let [file] = &files(&cache(&room))[..] else { panic!("one file") };
        std::fs::write(file, damage).expect("it can be written");
        let client = Client::spawn(command(&room, &[]));
        assert!(!told(&client.initialize("2025-11-25")).contains(WORDS), "{damage:?}");
        client.wait_stderr(&["is ignored"], LIMIT);
        let said = client.stderr().matches("is ignored").count();
        assert_eq!(said, 1, "{damage:?}: {}", client.stderr());
        drop(client);
        run_once(&room, 1);
        assert!(first_words(command(&room, &[])).contains(WORDS), "{damage:?}");
    }
}

#[test]
fn a_cache_that_cannot_be_written_harms_nothing() {
    let room = Room::new();
    write(&room, WORDS);
    room.open_gate("go");
    std::fs::write(cache(&room), "no directory").expect("it can be written");
    let client = Client::spawn(command(&room, &["--start-timeout", "25"]));
    client.initialize("2025-11-25");
    client.list();
    client.assert_echo("rail", "echo", "{}");
    client.close_stdin();
    let end = client.finish(LIMIT);
    assert_eq!(end.code, Some(0), "{end:?}");
    assert!(end.stderr.is_empty(), "nobody is bothered with it: {}", end.stderr);
}

#[test]
fn who_wants_nothing_remembered_says_so() {
    let room = Room::new();
    write(&room, WORDS);
    room.open_gate("go");
    let mut off = command(&room, &["--start-timeout", "25"]);
    off.env("TRUNKLINE_CACHE", "off");
    let mut elsewhere = command(&room, &["--start-timeout", "25"]);
    elsewhere.env("TRUNKLINE_CACHE", room.path("elsewhere"));
    let simple = command(&room, &["--start-timeout", "25", "--simple"]);
    for (what, command, kept) in
        [("off", off, false), ("simple", simple, false), ("elsewhere", elsewhere, true)]
    {
        let client = Client::spawn(command);
        client.initialize("2025-11-25");
        client.list();
        if kept {
            let there = || records(&room.path("elsewhere")) == 1;
            process::wait_until("it is remembered there", LIMIT, there);
        }
        client.close_stdin();
        client.wait_exit(LIMIT);
        assert_eq!(files(&cache(&room)), Vec::<PathBuf>::new(), "{what}");
    }
    std::fs::remove_file(room.path("go")).expect("the gate is a file");
    run_once(&room, 1);
    let mut off = command(&room, &[]);
    off.env("TRUNKLINE_CACHE", "off");
    assert!(!first_words(off).contains(WORDS), "nothing is read either");
}

/// Whoever runs a test must not find its servers in his own cache, nor the test find his there.
#[test]
fn no_test_touches_the_cache_of_the_user() {
    let given = std::env::var_os("TRUNKLINE_CACHE");
    assert!(given.is_some(), "`.cargo/config.toml` turns it off for everything cargo starts");
}

/// One program stands under two keys, with other values in its environment: two accounts, two databases.
#[test]
fn co_9_two_keys_of_one_command_are_remembered_apart() {
    let room = Room::new();
    let (prod, mut staging) = (entry(&room, WORDS), entry(&room, WORDS));
    staging["env"]["RAIL_TOKEN"] = json!("another-value");
    room.config([("prod", prod), ("staging", staging)]);
    run_once(&room, 2);
    let words = first_words(command(&room, &[]));
    for key in ["prod", "staging"] {
        assert!(words.contains(key), "{words}");
    }
}
