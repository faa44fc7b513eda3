//! The spool of audit records in the hands of somebody who can write it, but does not have the key.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use kit::LIMIT;
use kit::process::wait_until;
use kit::room::Room;
use serde_json::json;

use super::{maintain, metric, stop};

const FORGED: &str =
    r#"{"at":1700000000000,"principal":"mallory","action":"call-tool","outcome":"ok"}"#;

/// A platform has been there and has ended; its spool.
fn left(room: &Room) -> PathBuf {
    let platform = room.platform(&[]);
    platform.make_key(&json!({ "name": "k", "role": "viewer" }));
    stop(&platform);
    room.path("data").join("audit-spool")
}

fn fifo(path: &std::path::Path) {
    let made = Command::new("mkfifo").arg(path).status().expect("mkfifo");
    assert!(made.success());
}

#[test]
fn nfr_sec4_what_others_wrote_into_the_spool_is_no_record_and_is_told_of() {
    let room = Room::new();
    let spool = left(&room);
    // Lines that could be records count as damaged like one that could not.
    let text = format!("{FORGED}\n{FORGED}\ndamaged\n");
    fs::write(spool.join("00000000000000999999.ndjson"), text).expect("it is written");
    let platform = room.platform(&[]);
    let told = platform.wait_audit("it is told", |it| it["action"] == "lose-audit-records");
    assert!(told["detail"].as_str().expect("words").starts_with("3 records"), "{told:#}");
    assert!(platform.audit().iter().all(|it| it["principal"] != "mallory"));
    assert!(metric(&platform, "trunkline_audit_lost_total") > 2.5);
    stop(&platform);
    // It is told of once.
    let platform = room.platform(&[]);
    assert!(metric(&platform, "trunkline_audit_lost_total") < 0.5);
}

#[test]
fn nfr_sec4_a_link_in_the_spool_leads_to_no_key() {
    for name in ["id", "lock"] {
        let room = Room::new();
        let spool = left(&room);
        let key = fs::read(room.path("data").join("key")).expect("the key");
        fs::remove_file(spool.join(name)).expect("it can go");
        symlink("../key", spool.join(name)).expect("a link");
        let platform = room.platform(&[]);
        assert_eq!(fs::read(room.path("data").join("key")).expect("the key"), key, "{name}");
        // It runs, without a spool.
        let words = format!("audit-spool/{name}: it is a link");
        platform.serve().process().wait_stderr(&["cannot be used", &words], LIMIT);
    }
}

#[test]
fn nfr_sec4_a_pipe_in_the_spool_does_not_hold_up_the_start() {
    let room = Room::new();
    let spool = left(&room);
    fifo(&spool.join("00000000000000000007.ndjson"));
    symlink("../key", spool.join("00000000000000000008.ndjson")).expect("a link");
    // Names that the spool does not write.
    fs::write(spool.join("5.ndjson"), format!("{FORGED}\n")).expect("it is written");
    fs::write(spool.join("18446744073709551615.ndjson"), format!("{FORGED}\n")).expect("written");
    let platform = room.platform(&[]);
    platform.wait_audit("it is told", |it| it["action"] == "lose-audit-records");
    wait_until("the spool is used", LIMIT, || {
        metric(&platform, "trunkline_audit_spool_limit_bytes") > 0.5
    });
    assert!(metric(&platform, "trunkline_audit_spool_records") < 0.5);
}

#[test]
fn nfr_sec4_an_export_to_a_pipe_is_refused_at_the_start() {
    let room = Room::new();
    let pipe = room.path("pipe");
    fifo(&pipe);
    let (data, export) = (room.path("data"), format!("file:{}", pipe.display()));
    let flags = ["serve", "--listen", "127.0.0.1:0", "--audit-export", &export, "--data-dir"];
    let data = data.to_str().expect("UTF-8");
    let done = maintain(&[&flags[..], &[data]].concat());
    done.bad(2, &["--audit-export", "pipe", "no regular file"]);
}
