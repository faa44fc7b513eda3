//! The command line for people: clients' files, `doctor`, a `serve` that runs, the shell.

mod doctor;
mod files;
mod import;
mod progress;
mod running;
mod scan;
mod scanned_results;
mod setup;
mod shell;

use std::process::Command;

use kit::bin;
use kit::room::{MARK, Room};
use kit::run::{Done, run};

/// `trunkline` for a user whose home is the room.
fn trunkline(room: &Room, args: &[&str]) -> Command {
    let mut command = Command::new(bin::trunkline());
    command.args(args).current_dir(room.path("")).env("HOME", room.path(""));
    command.env(MARK, room.marker());
    for name in [
        "XDG_CONFIG_HOME",
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "COPILOT_HOME",
        "CONTINUE_GLOBAL_DIR",
        "TRUNKLINE_CONFIG",
        "MCP_PROXY_CONFIG_PATH",
        "PORT",
        "TRUNKLINE_TOKEN",
        "TRUNKLINE_ADMIN_TOKEN",
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

/// Writes a file of the home, with the folders it is in.
fn put(room: &Room, name: &str, text: &str) {
    let path = room.path(name);
    let folder = path.parent().expect("a file is in a folder");
    std::fs::create_dir_all(folder).expect("the room can be written");
    room.write(name, text);
}

fn read(room: &Room, name: &str) -> String {
    let path = room.path(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
