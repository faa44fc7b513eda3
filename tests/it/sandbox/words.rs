//! What a wall has refused is said, with the remedy.

use kit::client::Client;
use kit::mcp::Speak as _;
use kit::platform::Platform;
use kit::room::Room;
use kit::run::{Done, run};
use serde_json::json;

use super::{Stage, command, hostile, trunkline};

#[test]
fn a_server_that_fails_for_a_file_is_explained() {
    let room = Room::new();
    let mut entry = hostile(&room, &["fail", "/srv/data/x"]);
    entry["sandbox"] = json!("standard");
    room.config([("a", entry)]);
    let done = run(trunkline(&room, &["check"]), b"");
    let all = words_of(&done);
    // It is not there: a server that only wanted to read it would have been told so.
    let words = r#"sandbox standard refused to write to `/srv/data/x`; make it a directory of its own and allow it with "sandbox": {"write": ["/srv/data/x"]}"#;
    assert!(all.contains(words), "{all}");
}

#[test]
fn a_file_that_was_to_be_made_is_told_with_a_directory_that_can_be_allowed() {
    let room = Room::new();
    let folder = room.path("elsewhere");
    std::fs::create_dir(&folder).unwrap();
    let folder = folder.to_str().unwrap();
    let new = format!("{folder}/new");
    let mut entry = hostile(&room, &["fail", &new]);
    entry["sandbox"] = json!("standard");
    room.config([("a", entry)]);
    let all = words_of(&run(trunkline(&room, &["check"]), b""));
    let write = format!(
        r#"refused to write to `{new}`; allow it with "sandbox": {{"write": ["{folder}"]}}"#
    );
    assert!(all.contains(&write), "{all}");
}

#[test]
fn callers_read_nothing_of_the_files_that_operators_are_told() {
    let room = Room::new();
    let private = room.path("home/private/x");
    let private = private.to_str().unwrap();
    room.config([("a", hostile(&room, &["fail", private]))]);
    let platform = Platform::start(command(&room, &[]));
    let [caller, viewer, operator] =
        ["caller", "viewer", "operator"].map(|role| platform.key(role));
    let told = "its sandbox may be the reason";
    // Perhaps while it starts, and when it has failed.
    let early = platform.mcp(&caller).call("a.try", "{}").to_string();
    assert!(early.contains("error") && !early.contains(private), "{early}");
    platform.wait_server("file:a", "failed", kit::LIMIT, |it| it["last_error"].is_object());
    let late = platform.mcp(&caller).call("a.try", "{}").to_string();
    assert!(!late.contains(private), "{late}");
    let called =
        platform.rest(Some(&caller)).send(&Platform::call_ask("a.try", "{}")).json().to_string();
    assert!(called.contains(told) && !called.contains(private), "{called}");
    let seen = |key: &str| {
        let server = platform.rest(Some(key)).get("/api/v1/aggregator/servers/file:a").is(200);
        server["last_error"].to_string()
    };
    for key in [&caller, &viewer] {
        assert!(seen(key).contains(told) && !seen(key).contains(private), "{}", seen(key));
    }
    assert!(seen(&operator).contains(private), "{}", seen(&operator));
    platform.serve().process().wait_stderr(&["refused to write to `", private], kit::LIMIT);
}

#[test]
fn whoever_runs_it_alone_is_told_everything() {
    let room = Room::new();
    let mut entry = hostile(&room, &["fail", "/srv/data/x"]);
    entry["sandbox"] = json!("standard");
    room.config([("a", entry)]);
    let client = Client::spawn(room.trunkline(&[]));
    client.initialize("2025-11-25");
    client.wait_stderr(&["refused to write to `/srv/data/x`"], kit::LIMIT);
    let answer = client.call("a:try", "{}");
    assert!(answer.message().contains("refused to write to `/srv/data/x`"), "{answer}");
}

#[test]
fn without_a_sandbox_the_same_failure_names_none() {
    let room = Room::new();
    room.config([("a", hostile(&room, &["fail", "/srv/data/x"]))]);
    let done = run(trunkline(&room, &["check"]), b"");
    let all = words_of(&done);
    assert!(all.contains("Permission denied") && !all.contains("sandbox"), "{all}");
}

#[test]
fn what_a_running_server_complains_about_is_logged_once() {
    let stage = Stage::new(None, &[]);
    for _ in 0..3 {
        assert_eq!(stage.attempt("complain"), "done");
    }
    let words = "sandbox standard refused to write to `";
    stage.platform.serve().process().wait_stderr(&[words], kit::LIMIT);
    assert_eq!(stage.attempt("fine-child"), "done");
    assert_eq!(stage.stderr().matches(words).count(), 1, "{}", stage.stderr());
}

#[test]
fn a_list_of_hosts_is_refused_with_how_to_write_it() {
    let room = Room::new();
    let mut entry = hostile(&room, &[]);
    entry["sandbox"] = json!({ "net": ["api.example.org:443"] });
    room.config([("a", entry)]);
    let done = run(trunkline(&room, &["check"]), b"");
    let all = words_of(&done);
    assert!(all.contains(r#"write true, false or {"hosts": ["api.example.com:443"]}"#), "{all}");
}

fn words_of(done: &Done) -> String {
    format!("{}{}", String::from_utf8_lossy(&done.stdout), done.stderr)
}
