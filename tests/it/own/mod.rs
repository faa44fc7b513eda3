//! The user's own config and the commands that change it, through the shipped program.

mod changes;
mod editor;
mod pasted;
mod selection;

use std::path::PathBuf;
use std::process::Command;

use kit::bin;
use kit::client::Client;
use kit::room::{CACHE, MARK, Room};
use kit::run::{Done, run};
use kit::say;
use serde_json::Value;

/// Where the config is in a fresh home.
const CONFIG: &str = ".config/trunkline/config.json";

/// `trunkline` for a user whose home is the room.
fn trunkline(room: &Room, args: &[&str]) -> Command {
    let mut command = Command::new(bin::trunkline());
    command.args(args).current_dir(room.path("")).env("HOME", room.path(""));
    command.env(MARK, room.marker()).env(CACHE, room.path("remembered"));
    for name in [
        "XDG_CONFIG_HOME",
        "XDG_STATE_HOME",
        "MCP_PROXY_CONFIG_PATH",
        "VISUAL",
        "EDITOR",
        "NO_COLOR",
        "CLICOLOR_FORCE",
    ] {
        command.env_remove(name);
    }
    command
}

#[track_caller]
fn done(room: &Room, args: &[&str]) -> Done {
    run(trunkline(room, args), b"")
}

/// It went well; what it said.
#[track_caller]
fn good(room: &Room, args: &[&str]) -> String {
    done(room, args).text().to_owned()
}

fn text(room: &Room) -> String {
    std::fs::read_to_string(room.path(CONFIG)).expect("the config is there")
}

/// Writes the config as somebody has it.
fn put(room: &Room, text: &str) -> PathBuf {
    let path = room.path(CONFIG);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("the room can be written");
    room.write(CONFIG, text)
}

/// What to write behind `add NAME` for a scripted server with these tools.
fn command(room: &Room, name: &str, tools: &[&str]) -> Vec<String> {
    let fake = tools.iter().fold(room.fake(name), |fake, tool| fake.tool(tool, say::echo()));
    words(&fake.entry())
}

fn words(entry: &Value) -> Vec<String> {
    let mut words = Vec::new();
    for (name, value) in entry["env"].as_object().expect("it has variables") {
        words.extend(["--env".to_owned(), format!("{name}={}", value.as_str().expect("text"))]);
    }
    words.extend(["--".to_owned(), entry["command"].as_str().expect("text").to_owned()]);
    let args = entry["args"].as_array().expect("it has arguments").iter();
    words.extend(args.map(|word| word.as_str().expect("text").to_owned()));
    words
}

/// Adds a scripted server with these tools.
#[track_caller]
fn add(room: &Room, name: &str, tools: &[&str]) -> Done {
    let command = command(room, name, tools);
    let mut args = vec!["add", name];
    args.extend(command.iter().map(String::as_str));
    done(room, &args)
}

/// A session over stdio without `--config`, ready.
#[track_caller]
fn session(room: &Room, flags: &[&str]) -> Client {
    let flags = [flags, &["--start-timeout", "25"]].concat();
    let client = Client::spawn(trunkline(room, &flags));
    client.initialize("2025-11-25");
    client
}
