//! The spool of audit records in the hands of somebody who can write it, but does not have the key.

use std::fs;
use std::path::PathBuf;

use kit::room::Room;
use serde_json::json;

use super::{metric, stop};

const FORGED: &str =
    r#"{"at":1700000000000,"principal":"mallory","action":"call-tool","outcome":"ok"}"#;

/// A platform has been there and has ended; its spool.
fn left(room: &Room) -> PathBuf {
    let platform = room.platform(&[]);
    platform.make_key(&json!({ "name": "k", "role": "viewer" }));
    stop(&platform);
    room.path("data").join("audit-spool")
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
