//! `trunkline backup`: all of a store in a file, and a store made of it, SQLite or Postgres.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use kit::database::Database;
use kit::mcp::Speak;
use kit::platform::{Platform, SERVERS, id_of, remote};
use kit::process::wait_until;
use kit::room::Room;
use kit::service::{Service, Wire};
use kit::{LIMIT, run};
use serde_json::json;

use super::{calls, echoing, maintain, stop};

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A platform with a server that has a secret, a key, and calls in its audit log.
fn filled(room: &Room, service: &Service, flags: &[&str]) -> (Platform, String, String) {
    let platform = room.platform(flags);
    let mut body = remote("a", service);
    body["connection_config"]["headers"] = json!({ "X-Key": "hunter2" });
    let id = id_of(&platform.register(&body));
    platform.wait_status(&id, "CONNECTED");
    let key = platform.key("caller");
    for n in 0..5 {
        platform.call("a.echo", &json!({ "n": n })).is(200);
    }
    wait_until("the calls are recorded", LIMIT, || calls(&platform) == 5);
    (platform, id, key)
}

#[track_caller]
fn works(platform: &Platform, id: &str, key: &str) {
    platform.wait_status(id, "CONNECTED");
    platform.mcp(key).assert_echo("a", "echo", "{}");
    assert!(calls(platform) >= 5);
    let shown = platform.admin().get(&format!("{SERVERS}/{id}")).is(200);
    assert_eq!(shown["name"], "a", "{shown:#}");
}

/// The directory of another installation, with this one's key.
fn elsewhere(room: &Room, other: &Room) -> std::path::PathBuf {
    let data = other.path("data");
    std::fs::create_dir(&data).expect("a directory");
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o700)).expect("its mode");
    std::fs::copy(room.path("data").join("key"), data.join("key")).expect("the key");
    data
}

#[test]
fn what_is_backed_up_beside_a_running_serve_is_whole_and_runs_elsewhere() {
    let (room, other) = (Room::new(), Room::new());
    let service = echoing(&room, "a").listen(Wire::Http);
    let (platform, id, key) = filled(&room, &service, &[]);
    let (data, file) = (room.path("data"), room.path("backup"));
    let create = ["backup", "create", text(&file), "--data-dir", text(&data)];
    let done = maintain(&create);
    assert_eq!(done.code, Some(0), "{done}");
    assert!(done.text().contains("the key is not in it"), "{done}");
    assert_eq!(std::fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
    let kept = std::fs::read_to_string(&file).expect("a file");
    assert!(!kept.contains("hunter2"), "secrets are sealed in it");
    maintain(&create).bad(1, &["exists"]);
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), kept, "nothing is written over");
    stop(&platform);
    // Without the key nothing is made.
    let there = other.path("data");
    let restore = ["backup", "restore", text(&file), "--data-dir", text(&there)];
    maintain(&restore).bad(1, &["key"]);
    assert!(!there.join("trunkline.db").exists());
    elsewhere(&room, &other);
    let done = maintain(&restore);
    assert_eq!(done.code, Some(0), "{done}");
    assert!(done.text().contains("its audit log of") && done.text().contains("is whole"), "{done}");
    maintain(&restore).bad(1, &["only restored where there is none"]);
    let platform = other.platform(&[]);
    works(&platform, &id, &key);
}

#[test]
fn a_backup_of_sqlite_is_restored_in_postgres_and_back() {
    let database = Database::new();
    let url = database.direct_url();
    let (room, replica, last) = (Room::new(), Room::new(), Room::new());
    let service = echoing(&room, "a").listen(Wire::Http);
    let (platform, id, key) = filled(&room, &service, &[]);
    stop(&platform);
    let (data, file) = (room.path("data"), room.path("backup"));
    maintain(&["backup", "create", text(&file), "--data-dir", text(&data)]).good();
    let there = elsewhere(&room, &replica);
    let restore = ["backup", "restore", text(&file), "--data-dir", text(&there), "--store", &url];
    maintain(&restore).good();
    maintain(&restore).bad(1, &["only restored where there is none"]);
    let platform = replica.platform(&["--store", &url]);
    works(&platform, &id, &key);
    let again = replica.path("backup");
    let create = ["backup", "create", text(&again), "--data-dir", text(&there), "--store", &url];
    maintain(&create).good();
    let back = elsewhere(&room, &last);
    maintain(&["backup", "restore", text(&again), "--data-dir", text(&back)]).good();
    works(&last.platform(&[]), &id, &key);
}

#[test]
fn a_backup_that_was_changed_or_cut_is_refused_and_nothing_is_made_of_it() {
    let (room, other) = (Room::new(), Room::new());
    let platform = room.platform(&[]);
    platform.key("viewer");
    stop(&platform);
    let (data, file) = (room.path("data"), room.path("backup"));
    maintain(&["backup", "create", text(&file), "--data-dir", text(&data)]).good();
    let whole = std::fs::read_to_string(&file).expect("a file");
    let there = elsewhere(&room, &other);
    let cut: String = whole.lines().take(20).map(|line| format!("{line}\n")).collect();
    for (harmed, why) in [
        (whole.replacen("viewer", "admin", 1), "it was changed since it was written"),
        (cut, "its end is missing"),
        (format!("{whole}{{}}\n"), "there is more behind its end"),
        ("hello\n".to_owned(), "not JSON"),
        ("{}\n".to_owned(), "its first line"),
    ] {
        std::fs::write(&file, harmed).expect("it is written");
        for command in ["verify", "restore"] {
            let done = maintain(&["backup", command, text(&file), "--data-dir", text(&there)]);
            done.bad(1, &[why]);
        }
        assert!(!there.join("trunkline.db").exists());
    }
    // Whoever may write where backups are kept, and has no key, computes the hash anew.
    for forged in [forged(&whole, true), forged(&whole, false)] {
        std::fs::write(&file, forged).expect("it is written");
        maintain(&["backup", "verify", text(&file)]).good();
        let restore = ["backup", "restore", text(&file), "--data-dir", text(&there)];
        maintain(&restore).bad(1, &["somebody who does not have its key"]);
        assert!(!there.join("trunkline.db").exists());
    }
    std::fs::write(&file, &whole).expect("it is written");
    let done: run::Done = maintain(&["backup", "verify", text(&file), "--json"]);
    assert!(done.text().contains("\"rows\":"), "{done}");
}

/// The backup with an admin in the place of a viewer, and the hash of that.
fn forged(whole: &str, keeps_hmac: bool) -> String {
    let changed = whole.replacen("\"viewer\"", "\"admin\"", 1);
    assert_ne!(changed, whole);
    let (rows, end) = changed.trim_end().rsplit_once('\n').expect("its last line");
    let mut end: serde_json::Value = serde_json::from_str(end).expect("JSON");
    let hash = ring::digest::digest(&ring::digest::SHA256, format!("{rows}\n").as_bytes());
    let hash: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    end["sha256"] = hash.into();
    if !keeps_hmac {
        end.as_object_mut().expect("an object").remove("hmac");
    }
    format!("{rows}\n{end}\n")
}

#[test]
fn what_is_not_there_is_not_backed_up_and_not_made() {
    let room = Room::new();
    let (data, file) = (room.path("data"), room.path("backup"));
    let done = maintain(&["backup", "create", text(&file), "--data-dir", text(&data)]);
    done.bad(1, &["there is no store"]);
    assert!(!data.exists() && !file.exists());
}
