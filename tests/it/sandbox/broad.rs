//! A `cwd` or an argument that is far more than a place to work in does not open it for writing.

use kit::LIMIT;
use kit::run::run;
use serde_json::{Value, json};

use super::{Stage, hostile, trunkline};

fn refused(stage: &Stage, rows: &[(&str, &str)], words: &str) {
    for (what, expected) in rows {
        assert_eq!(stage.attempt(what), *expected, "{what}");
    }
    stage.platform.serve().process().wait_stderr(&[words], LIMIT);
}

#[test]
fn the_home_directory_as_cwd_is_read_only() {
    let stage = Stage::with(&[], |room, entry| entry["cwd"] = json!(room.path("home")));
    refused(
        &stage,
        &[
            ("read-documents", "done"),
            ("read-ssh-key", "EACCES"),
            ("write-documents", "EACCES"),
            ("write-bashrc", "EACCES"),
            ("fine-write-work", "done"),
        ],
        "is the home directory: it can be read, not written; name what it may write with",
    );
}

#[test]
fn the_root_as_an_argument_opens_nothing() {
    let stage = Stage::with(&[], |_, entry| entry["args"].as_array_mut().unwrap().push(json!("/")));
    refused(
        &stage,
        &[
            ("read-documents", "EACCES"),
            ("write-documents", "EACCES"),
            ("write-system", "EACCES"),
            ("read-key", "EACCES"),
        ],
        "`/` is the root of everything: it can be listed, not written",
    );
}

#[test]
fn a_directory_with_our_files_is_not_written() {
    let stage = Stage::with(&[], |room, entry| {
        std::fs::create_dir_all(room.path("data")).unwrap();
        entry["cwd"] = json!(room.path("data"));
    });
    refused(
        &stage,
        &[("write-store", "EACCES"), ("read-key", "EACCES"), ("fine-write-work", "done")],
        "Trunkline's own files: it can be read, not written",
    );
}

#[test]
fn show_says_it_and_knows_the_default_of_a_platform() {
    let room = kit::room::Room::new();
    let mut entry = hostile(&room, &[]);
    entry["cwd"] = json!("/");
    room.config([("a", entry)]);
    let done = run(trunkline(&room, &["sandbox", "show", "a", "--json"]), b"");
    let off: Value = serde_json::from_slice(done.good()).unwrap();
    assert_eq!(off["sandbox"], "off");
    let flags = ["sandbox", "show", "a", "--json", "--sandbox", "standard"];
    let shown: Value = serde_json::from_slice(run(trunkline(&room, &flags), b"").good()).unwrap();
    assert_eq!(shown["sandbox"], "standard");
    assert!(shown["notes"][0].as_str().unwrap().contains("root of everything"), "{shown}");
    assert!(!shown["writes"].as_array().unwrap().contains(&json!("/")), "{shown}");
}

#[test]
fn without_walls_nothing_is_inherited_of_who_started_us() {
    let room = kit::room::Room::new();
    room.config([("a", hostile(&room, &[]))]);
    let call = trunkline(&room, &["call", "a:try", "what=inherit-a-descriptor"]);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "exec 9</dev/null; exec \"$0\" \"$@\""]).arg(call.get_program());
    shell.args(call.get_args());
    for (name, value) in call.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    assert_eq!(run(shell, b"").text().trim(), "EBADF");
}

/// A server that can write where its entry names a file puts a link there, ends, and is started again.
#[test]
fn a_link_that_the_server_may_have_made_leads_nowhere() {
    let stage = Stage::with(&[], |room, entry| {
        let notes = room.write("work/notes.db", "x");
        entry["args"].as_array_mut().unwrap().push(json!(notes));
    });
    for (what, expected) in [("fine-write-work", "done"), ("read-ssh-key", "EACCES")] {
        assert_eq!(stage.attempt(what), expected, "{what}");
    }
    let notes = stage.room.path("work/notes.db");
    std::fs::remove_file(&notes).unwrap();
    std::os::unix::fs::symlink(stage.room.path("home/.ssh"), &notes).unwrap();
    let rest = stage.platform.admin();
    for (order, status) in [("disconnect", "DISCONNECTED"), ("connect", "CONNECTED")] {
        rest.post(&format!("/api/v1/aggregator/servers/file:hostile/{order}"), &json!({}));
        stage.platform.wait_status("file:hostile", status);
    }
    refused(
        &stage,
        &[("read-ssh-key", "EACCES"), ("fine-write-work", "done")],
        "the sandbox does not follow the link",
    );
}
