//! A `cwd` or an argument that is far more than a place to work in does not open it for writing.

use kit::LIMIT;
use kit::platform::Platform;
use kit::room::Room;
use kit::run::run;
use serde_json::{Value, json};

use super::{Stage, command, hostile, trunkline};

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
fn files_that_we_write_beside_its_work_are_never_given() {
    const LOG: &str = "MCP_PROXY_LOG_DIRECTORY_PATH";
    let room = Room::new();
    let work = room.path("work");
    std::fs::create_dir_all(&work).unwrap();
    // A link on the way to a file that is not there yet.
    std::os::unix::fs::symlink(&work, room.path("link")).unwrap();
    let export = format!("file:{}", room.path("link").join("audit.jsonl").display());
    let anchor = work.join("anchor").to_str().unwrap().to_owned();
    let store = format!("sqlite:{}", work.join("own.db").display());
    let policies = room.write("work/all.cedar", "permit(principal, action, resource);");
    let policies = policies.to_str().unwrap();
    let all = [
        "--audit-export",
        &export,
        "--audit-anchor",
        &anchor,
        "--store",
        &store,
        "--policies",
        policies,
    ];
    let written = json!({ "write": [work] });
    let exported = ["audit.jsonl"];
    let logged = ["trunkline.log", "trunkline.log.1"];
    let everything = [
        "audit.jsonl",
        "anchor",
        "trunkline.log",
        "trunkline.log.1",
        "own.db",
        "own.db.lock",
        "all.cedar",
    ];
    for (flags, has_log, sandbox, ours) in [
        (&all[..2], false, None, &exported[..]),
        (&[], true, None, &logged),
        (&all, true, Some(&written), &everything),
    ] {
        room.write("work/mine", "x");
        let mut entry = hostile(&room, &[]);
        entry["cwd"] = json!(work);
        if let Some(sandbox) = sandbox {
            entry["sandbox"] = sandbox.clone();
        }
        room.config([("hostile", entry)]);
        let mut command = command(&room, flags);
        if has_log {
            command.env(LOG, &work);
        }
        let platform = Platform::start(command);
        platform.wait_status("file:hostile", "CONNECTED");
        for (name, what) in ours.iter().flat_map(|it| [(it, "write-place"), (it, "replace-place")])
        {
            let arguments = json!({ "what": what, "place": work.join(name), "work": work });
            let answer = platform.call("hostile.try", &arguments).is(200);
            let came = answer["content"][0]["text"].as_str().unwrap_or_default();
            assert!(["EACCES", "EXDEV"].contains(&came), "{flags:?} {what} {name}: {came}");
        }
    }
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
