//! Containers: what an engine is asked to do, and that nothing is left. The engine is a stand-in that writes down what
//! it is asked and runs the command itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use kit::LIMIT;
use kit::process::wait_until;
use kit::room::Room;
use kit::run::run;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{hostile, trunkline};

const ENGINE: &str = r#"
echo "$@" >> "${0%/*}/../engine.log"
[ "$1" = run ] || exit 0
for word; do
    case "$word" in
        --entrypoint=*) program=${word#--entrypoint=} ;;
        the-image) shift; break ;;
    esac
    shift
done
exec "$program" "$@"
"#;

/// A room with an engine; what it was asked.
fn engine(room: &Room, name: &str) -> PathBuf {
    std::fs::create_dir_all(room.path("bin")).unwrap();
    room.script(&format!("bin/{name}"), ENGINE);
    room.write("engine.log", "")
}

fn with_engine(mut command: Command, room: &Room) -> Command {
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", room.path("bin").display()));
    command
}

fn contained(room: &Room, container: Value) -> Value {
    let mut entry = hostile(room, &[]);
    entry["container"] = container;
    entry["env"] = json!({ "TOKEN": "hunter2" });
    entry
}

fn asked(log: &Path) -> Vec<String> {
    std::fs::read_to_string(log).unwrap().lines().map(str::to_owned).collect()
}

/// The name that the container was given.
fn name_of(line: &str) -> &str {
    let name = line.split(' ').find_map(|word| word.strip_prefix("--name="));
    name.unwrap_or_else(|| panic!("no name: {line}"))
}

#[test]
fn a_server_runs_in_a_container_and_is_removed_with_it() {
    let room = Room::new();
    let log = engine(&room, "podman");
    let mounted = room.path("hostile");
    let container =
        json!({ "image": "the-image", "engine": "podman", "mounts": [mounted], "network": "none" });
    room.config([("a", contained(&room, container))]);
    let call = trunkline(&room, &["call", "a:try", "what=fine-child"]);
    assert_eq!(run(with_engine(call, &room), b"").text().trim(), "done");
    wait_until("the container is removed", LIMIT, || asked(&log).len() > 1);
    let lines = asked(&log);
    let started = &lines[0];
    let mount = format!("--volume={0}:{0}:ro", mounted.display());
    for word in [
        "run",
        "--rm",
        "--interactive",
        "--init",
        "--read-only",
        "--cap-drop=all",
        "--security-opt=no-new-privileges",
        "--network=none",
        "--env=TOKEN",
        "--label=trunkline.server=file:a",
        &mount,
    ] {
        assert!(started.split(' ').any(|it| it == word), "{word}: {started}");
    }
    assert!(started.contains("--user=") && !started.contains("hunter2"), "{started}");
    assert_eq!(lines[1], format!("rm --force {}", name_of(started)));
}

#[test]
fn no_container_is_left_when_trunkline_is_killed() {
    let room = Room::new();
    let log = engine(&room, "docker");
    room.config([("a", contained(&room, json!({ "image": "the-image", "engine": "docker" })))]);
    let client = kit::client::Client::spawn(with_engine(room.trunkline(&[]), &room));
    client.initialize("2025-11-25");
    client.list();
    client.signal(Signal::KILL);
    wait_until("the container is removed", LIMIT, || asked(&log).len() > 1);
    let lines = asked(&log);
    assert_eq!(lines[1], format!("rm --force {}", name_of(&lines[0])));
}

#[test]
fn our_own_files_are_not_mounted_and_show_says_what_is_run() {
    let room = Room::new();
    engine(&room, "podman");
    let container =
        json!({ "image": "the-image", "mounts": [room.path(""), room.path("hostile")] });
    room.config([("a", contained(&room, container))]);
    let show = trunkline(&room, &["sandbox", "show", "a"]);
    let shown = run(with_engine(show, &room), b"").text().to_owned();
    assert!(shown.contains("command: podman run --rm --interactive"), "{shown}");
    assert!(shown.contains("is not mounted: it is or holds a file of Trunkline's own"), "{shown}");
    let volumes = shown.split(' ').filter(|word| word.starts_with("--volume=")).count();
    assert_eq!(volumes, 1, "{shown}");
}

#[test]
fn an_engine_that_is_missing_is_said() {
    let room = Room::new();
    room.config([("a", contained(&room, json!({ "image": "the-image", "engine": "docker" })))]);
    let mut check = trunkline(&room, &["check"]);
    check.env("PATH", room.path("bin"));
    let done = run(check, b"");
    let all = format!("{}{}", String::from_utf8_lossy(&done.stdout), done.stderr);
    assert!(all.contains("command `docker` was not found"), "{all}");
}
