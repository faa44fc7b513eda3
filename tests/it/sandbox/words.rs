//! What a wall has refused is said, with the remedy.

use kit::room::Room;
use kit::run::{Done, run};
use serde_json::json;

use super::{Stage, hostile, trunkline};

#[test]
fn a_server_that_fails_for_a_file_is_explained() {
    let room = Room::new();
    let mut entry = hostile(&room, &["fail", "/srv/data/x"]);
    entry["sandbox"] = json!("standard");
    room.config([("a", entry)]);
    let done = run(trunkline(&room, &["check"]), b"");
    let all = words_of(&done);
    let words = r#"sandbox standard refused to read `/srv/data/x`; allow it with "sandbox": {"read": ["/srv/data/x"]}"#;
    assert!(all.contains(words), "{all}");
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
    let words = "sandbox standard refused to read `";
    stage.platform.serve().process().wait_stderr(&[words], kit::LIMIT);
    assert_eq!(stage.attempt("fine-child"), "done");
    assert_eq!(stage.stderr().matches(words).count(), 1, "{}", stage.stderr());
}

#[test]
fn hosts_are_refused_with_a_word_about_it() {
    let room = Room::new();
    let mut entry = hostile(&room, &[]);
    entry["sandbox"] = json!({ "net": ["api.example.org:443"] });
    room.config([("a", entry)]);
    let done = run(trunkline(&room, &["check"]), b"");
    assert!(words_of(&done).contains("single hosts cannot be allowed yet"), "{}", words_of(&done));
}

fn words_of(done: &Done) -> String {
    format!("{}{}", String::from_utf8_lossy(&done.stdout), done.stderr)
}
