//! The walls around servers that are commands: what a hostile server cannot do, what honest ones still can, and what
//! is said about it.

mod broad;
mod containers;
mod escapes;
mod hosts;
mod learning;
mod profiles;
mod real;
mod registered;
mod words;

use std::path::PathBuf;
use std::process::Command;

use kit::platform::{ADMIN, Platform};
use kit::room::Room;
use kit::{bin, say};
use rustix::process::Pid;
use serde_json::{Value, json};

use crate::peers::python;

/// A platform with a hostile server and a sibling of it, for a user whose home is in the room.
struct Stage {
    platform: Platform,
    /// What the hostile server is told about its surroundings.
    places: Value,
    room: Room,
}

/// Where the hostile server is, in the room.
fn hostile_program(room: &Room) -> PathBuf {
    std::fs::create_dir_all(room.path("hostile")).expect("the room can be written");
    room.write("hostile/hostile.py", include_bytes!("../../testdata/hostile.py"))
}

/// Its entry, with more arguments.
fn hostile(room: &Room, more: &[&str]) -> Value {
    let program = hostile_program(room);
    let mut args = vec![json!(program)];
    args.extend(more.iter().map(|it| json!(it)));
    json!({ "command": python(), "args": args })
}

impl Stage {
    /// `sandbox`: what the entry of the hostile server says; `None`: nothing, so that the platform decides.
    fn new(sandbox: Option<Value>, flags: &[&str]) -> Self {
        Self::with(flags, |_, entry| {
            if let Some(sandbox) = sandbox {
                entry["sandbox"] = sandbox;
            }
        })
    }

    /// `change`: what is different about the entry of the hostile server.
    fn with(flags: &[&str], change: impl FnOnce(&Room, &mut Value)) -> Self {
        let room = Room::new();
        for folder in ["home/.ssh", "home/.aws", "home/documents", "work"] {
            std::fs::create_dir_all(room.path(folder)).unwrap();
        }
        for file in
            ["home/.ssh/id", "home/.aws/credentials", "home/documents/letter", "home/.bashrc"]
        {
            room.write(file, "x");
        }
        let work = room.path("work").to_str().unwrap().to_owned();
        let mut entry = hostile(&room, &[&work]);
        change(&room, &mut entry);
        let mut victim = room.fake("victim").tool("echo", say::echo()).entry();
        // Its files lie beside those of the platform.
        victim["sandbox"] = json!("off");
        room.config([("victim", victim), ("hostile", entry)]);
        let platform = Platform::start(command(&room, flags));
        for server in ["victim", "hostile"] {
            platform.wait_status(&format!("file:{server}"), "CONNECTED");
        }
        let places = places(&room, &platform);
        Self { platform, places, room }
    }

    /// With a hostile server that is not the first process behind its walls: a launcher starts it.
    fn behind_a_launcher(flags: &[&str]) -> Self {
        Self::with(flags, |room, entry| {
            // Not `exec`: the launcher stays, as npx does.
            let launcher = room.script("hostile/npx", "\"$@\"\nexit $?\n");
            let program = entry["command"].clone();
            let args = entry["args"].as_array_mut().expect("it has some");
            args.insert(0, program);
            entry["command"] = json!(launcher);
        })
    }

    /// What comes of one try: `done`, or the name of an error.
    fn attempt(&self, what: &str) -> String {
        self.attempt_at(what, "")
    }

    /// … at a host with its port.
    fn attempt_at(&self, what: &str, place: &str) -> String {
        let mut arguments = self.places.clone();
        arguments["what"] = what.into();
        arguments["place"] = place.into();
        let answer = self.platform.call("hostile.try", &arguments).is(200);
        let text = answer["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{what}: {answer}")).to_owned()
    }

    fn stderr(&self) -> String {
        self.platform.serve().process().stderr()
    }
}

fn command(room: &Room, flags: &[&str]) -> Command {
    let config = room.path("mcp.json");
    let mut command = room.walled_platform_command(flags);
    command.arg("--config").arg(config).env("HOME", room.path("home"));
    for name in
        ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"]
    {
        command.env_remove(name);
    }
    command
}

fn places(room: &Room, platform: &Platform) -> Value {
    let trunkline = raw(platform.serve().process().pid());
    let below = kit::process::descendants(trunkline);
    let sibling =
        below.iter().find(|it| it.command_line().contains("victim.script")).expect("the victim");
    let keeper = below.iter().find(|it| it.command_line().contains("tl-keeper")).expect("a keeper");
    let data = room.path("data");
    let text = |path: PathBuf| path.to_str().unwrap().to_owned();
    json!({
        "key": text(data.join("key")),
        // Made by the kit's own variable, so the platform has written none.
        "admin_token": text(room.write("data/admin-token", ADMIN)),
        "store": text(data.join("trunkline.db")),
        "config": text(room.path("mcp.json")),
        "home": text(room.path("home")),
        "work": text(room.path("work")),
        "socket": text(room.path("a.socket")),
        "datagrams": text(room.path("b.socket")),
        "abstract": room.marker(),
        "sibling": sibling.pid,
        "trunkline": trunkline,
        "keeper": keeper.pid,
        "port": platform.serve().address().port(),
    })
}

fn raw(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}

/// `trunkline` for a user whose home is in the room.
fn trunkline(room: &Room, args: &[&str]) -> Command {
    let mut command = Command::new(bin::trunkline());
    command.args(args).arg("--config").arg(room.path("mcp.json"));
    command.env("HOME", room.path("")).env(kit::room::CACHE, room.path("cache"));
    command.env(kit::room::SHARED, "off").env(kit::room::MARK, room.marker());
    command
}
