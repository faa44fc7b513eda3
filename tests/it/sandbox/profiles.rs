//! Who is walled in: what the entry says, what the file says, what `serve` is told.

use kit::room::Room;
use serde_json::{Value, json};

use super::{Stage, hostile, trunkline};

fn shown(room: &Room, server: &str) -> Value {
    let done = kit::run::run(trunkline(room, &["sandbox", "show", server, "--json"]), b"");
    serde_json::from_slice(done.good()).unwrap()
}

#[test]
fn what_the_entry_says_goes_before_what_the_file_says() {
    let room = Room::new();
    let mut off = hostile(&room, &[]);
    off["sandbox"] = json!("off");
    let config = json!({
        "sandbox": "strict",
        "mcpServers": { "usual": hostile(&room, &[]), "off": off },
    });
    room.write("mcp.json", config.to_string());
    let usual = shown(&room, "usual");
    assert_eq!((&usual["sandbox"], &usual["network"]), (&json!("strict"), &json!(false)));
    assert_eq!(shown(&room, "off")["sandbox"], "off");
}

#[test]
fn without_a_platform_and_without_a_word_there_is_no_sandbox() {
    let room = Room::new();
    room.config([("a", hostile(&room, &[]))]);
    assert_eq!(shown(&room, "a")["sandbox"], "off");
}

#[test]
fn our_own_files_are_shown_as_never_given() {
    let room = Room::new();
    let mut entry = hostile(&room, &[]);
    entry["sandbox"] = json!({ "read": ["/"] });
    room.config([("a", entry)]);
    let shown = shown(&room, "a");
    let never: Vec<&str> =
        shown["never"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(never.iter().any(|path| path.ends_with("/mcp.json")), "{never:?}");
    assert!(shown["reads"].as_array().unwrap().contains(&json!("/")), "{shown}");
}

#[test]
fn a_platform_can_be_told_to_have_none() {
    let stage = Stage::new(None, &["--sandbox", "off"]);
    assert_eq!(stage.attempt("read-documents"), "done");
}

#[test]
fn what_is_named_in_full_does_not_open_what_is_ours() {
    let stage = Stage::new(Some(json!({ "read": ["/"], "write": ["~"] })), &[]);
    for (what, expected) in [
        ("read-documents", "done"),
        ("read-key", "EACCES"),
        ("read-store", "EACCES"),
        ("read-config", "EACCES"),
        ("read-ssh-key", "EACCES"),
        ("write-bashrc", "EACCES"),
        ("read-shadow", "EACCES"),
    ] {
        assert_eq!(stage.attempt(what), expected, "{what}");
    }
}
