//! A runtime whose files are removed while it runs: by a logout, or by somebody who tidies `/tmp`.

use std::fs;

use kit::room::Room;
use kit::{LIMIT, process};
use rustix::process::Signal;
use serde_json::Value;

use super::commands::said;
use super::{furnished, runtime_of, server_of};

/// Those that `ps` shows: process, state and why.
#[track_caller]
fn shown(room: &Room) -> Vec<(i64, String, String)> {
    let told = said(room, &["ps", "--json"]);
    let told: Value = serde_json::from_str(&told.stdout).expect("JSON");
    let text = |of: &Value, key: &str| of[key].as_str().unwrap_or_default().to_owned();
    let runtimes = told["runtimes"].as_array().expect("runtimes").iter();
    runtimes
        .map(|it| (it["pid"].as_i64().expect("a pid"), text(it, "state"), text(it, "why")))
        .collect()
}

#[test]
fn a_runtime_whose_directory_was_removed_is_found_again() {
    let room = furnished(Room::shared_hurried(), None);
    let first = room.start_ready(&["--linger", "600"]);
    let (runtime, server) = (runtime_of(&room), server_of(&first));
    fs::remove_dir_all(room.path("run")).expect("it is there");
    process::wait_until("it has made its files again", LIMIT, || {
        shown(&room) == [(runtime.into(), "running".to_owned(), String::new())]
    });
    let second = room.start_ready(&["--linger", "600"]);
    assert_eq!((server_of(&second), server_of(&first)), (server, server));
    assert_eq!(runtime_of(&room), runtime);
    drop((first, second));
    assert!(process::is_alive(runtime), "it lingers as it was asked to");
    let stopped = said(&room, &["stop"]);
    assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
    process::wait_gone(room.marker(), LIMIT).expect("nothing is left");
}

#[test]
fn a_runtime_whose_place_was_taken_serves_its_clients_and_can_be_seen_and_stopped() {
    // All files, or those by which it is found: the next one has another key, or the same.
    for (is_all, is_stopped) in [(true, false), (false, false), (true, true)] {
        let room = furnished(Room::shared_hurried(), None);
        let first = room.start_ready(&["--linger", "600"]);
        let (old, server) = (runtime_of(&room), server_of(&first));
        process::kill(old, Signal::STOP); // it must not notice before the next one has come
        let directory = room.path("run/trunkline");
        let files = fs::read_dir(&directory).expect("the directory").flatten();
        for path in files.map(|entry| entry.path()) {
            let is_found_by = path.extension().is_some_and(|it| it == "sock" || it == "lock");
            if is_found_by {
                fs::remove_file(path).expect("it is there");
            }
        }
        if is_all {
            fs::remove_dir_all(&directory).expect("it is there");
        }
        let second = room.start_ready(&[]);
        let next = server_of(&second);
        process::kill(old, Signal::CONT);
        process::wait_until("both are shown", LIMIT, || {
            let shown = shown(&room);
            let of_old = shown.iter().find(|(pid, ..)| *pid == i64::from(old));
            let is_draining = of_old.is_some_and(|(_, state, why)| {
                state == "draining" && why.contains("another runtime has its place")
            });
            shown.len() == 2 && is_draining
        });
        let third = room.start_ready(&[]);
        assert_eq!(server_of(&third), next, "clients find the other one");
        assert_eq!((server_of(&first), server_of(&second)), (server, next));
        if is_stopped {
            let stopped = said(&room, &["stop", &old.to_string()]);
            assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
            assert!(!process::is_alive(old));
            assert_eq!(server_of(&first), next, "its client goes on with the other one");
        } else {
            drop(first);
            process::wait_until("it does not linger", LIMIT, || !process::is_alive(old));
        }
        assert_eq!(room.runtimes().len(), 1);
        assert_eq!(server_of(&second), next);
    }
}

#[test]
fn a_runtime_that_has_ended_leaves_no_file_but_the_key() {
    let room = furnished(Room::shared(), None);
    for _ in 0..2 {
        let client = room.start_ready(&[]);
        server_of(&client);
        let runtime = runtime_of(&room);
        drop(client);
        process::wait_until("it has ended", LIMIT, || !process::is_alive(runtime));
        let files = fs::read_dir(room.path("run/trunkline")).expect("the directory").flatten();
        let names: Vec<_> = files.map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["key"]);
    }
}

#[test]
fn a_runtime_whose_directory_cannot_be_made_again_does_not_linger() {
    let room = furnished(Room::shared_hurried(), None);
    let client = room.start_ready(&["--linger", "600"]);
    let (runtime, server) = (runtime_of(&room), server_of(&client));
    fs::remove_dir_all(room.path("run")).expect("it is there");
    room.write("run", "");
    assert_eq!(server_of(&client), server, "its client notices nothing");
    drop(client);
    process::wait_until("it has ended", LIMIT, || !process::is_alive(runtime));
    process::wait_gone(room.marker(), LIMIT).expect("nothing is left");
}

#[test]
fn a_runtime_whose_key_was_removed_is_found_by_new_clients_and_commands() {
    let room = furnished(Room::shared(), None);
    let first = room.start_ready(&["--linger", "600"]);
    let (runtime, server) = (runtime_of(&room), server_of(&first));
    let key = room.path("run/trunkline/key");
    let bytes = fs::read(&key).expect("a key");
    fs::remove_file(&key).expect("it is there");
    assert_eq!(shown(&room), [(runtime.into(), "running".to_owned(), String::new())]);
    let second = room.start_ready(&[]);
    assert_eq!((server_of(&second), runtime_of(&room)), (server, runtime));
    assert_eq!(fs::read(&key).expect("it was made again"), bytes);
    fs::remove_file(&key).expect("it is there");
    let stopped = said(&room, &["stop"]);
    assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
    assert!(!process::is_alive(runtime));
    // With a key that nobody has any more, both are named anew, and alike.
    let again = server_of(&first);
    assert!(again != server && server_of(&second) == again, "one runtime for both");
    runtime_of(&room);
    drop((first, second));
}

#[test]
fn a_runtime_puts_a_removed_key_back_and_parts_from_another_one() {
    let room = furnished(Room::shared_hurried(), None);
    let first = room.start_ready(&["--linger", "600"]);
    let (old, server) = (runtime_of(&room), server_of(&first));
    let key = room.path("run/trunkline/key");
    let bytes = fs::read(&key).expect("a key");
    fs::remove_file(&key).expect("it is there");
    process::wait_until("it is back", LIMIT, || fs::read(&key).is_ok_and(|it| it == bytes));
    room.write("run/trunkline/key", [7; 32]);
    let second = room.start_ready(&[]);
    assert_ne!(server_of(&second), server, "another key is another name");
    process::wait_until("the first one takes no more clients", LIMIT, || {
        shown(&room).iter().any(|(pid, state, _)| *pid == i64::from(old) && state == "draining")
    });
    assert_eq!(server_of(&first), server, "those that it has are served");
    drop(first);
    process::wait_until("it does not linger", LIMIT, || !process::is_alive(old));
    let names = fs::read_dir(room.path("run/trunkline")).expect("the directory").flatten();
    let sockets = names.filter(|entry| entry.path().extension().is_some_and(|it| it == "sock"));
    assert_eq!(sockets.count(), 1, "it leaves nothing behind");
}
