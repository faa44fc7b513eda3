//! What retention removes, in an archive; and exports that go on where they were.

use kit::room::Room;
use serde_json::{Value, json};

use super::{maintain, stop};

#[test]
fn nfr_sec4_what_is_removed_is_in_the_archive_and_proven_with_the_rest() {
    let room = Room::new();
    let archive = room.path("archive");
    let archive = archive.to_str().expect("UTF-8");
    let data = room.path("data");
    let verify =
        ["audit", "verify", "--archive", archive, "--data-dir", data.to_str().expect("UTF-8")];
    for round in 0..3 {
        let platform = room.platform(&["--audit-keep-records", "4", "--audit-archive", archive]);
        for n in 0..6 {
            platform.make_key(&json!({ "name": format!("k{round}-{n}"), "role": "viewer" }));
        }
        if round > 0 {
            platform.wait_audit("the removal", |record| record["action"] == "prune-audit");
        }
        stop(&platform);
    }
    let done = maintain(&verify);
    assert_eq!(done.code, Some(0), "{done}");
    assert!(done.text().contains("the archive has records 1 to"), "{done}");
    let files: Vec<_> = std::fs::read_dir(archive).expect("the archive").flatten().collect();
    let first = files.iter().map(std::fs::DirEntry::path).min().expect("a file");
    let text = std::fs::read_to_string(&first).expect("a file").replacen("k0-0", "k0-9", 1);
    std::fs::write(&first, text).expect("it is written");
    maintain(&verify).bad(1, &["the archive:", "was changed"]);
    std::fs::remove_file(&first).expect("it can go");
    assert!(files.len() > 1, "{files:?}");
    maintain(&verify).bad(1, &["the archive: it begins with record", "--archive-from"]);
    let rest = files.iter().map(std::fs::DirEntry::path).filter(|path| *path != first).min();
    let rest = rest.expect("a file").file_name().expect("a name").to_string_lossy().into_owned();
    let from = rest.split('-').nth(1).expect("a number").trim_start_matches('0').to_owned();
    let done = maintain(&[&verify[..], &["--archive-from", &from]].concat());
    assert_eq!(done.code, Some(0), "{done}");
}

fn seqs(lines: &str) -> Vec<i64> {
    let number = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["seq"].as_i64();
    lines.lines().map(|line| number(line).expect("a number")).collect()
}

#[test]
fn nfr_sec4_an_export_goes_on_behind_its_last_whole_record() {
    let room = Room::new();
    let platform = room.platform(&[]);
    for n in 0..9 {
        platform.make_key(&json!({ "name": format!("a,\"b\" {n}"), "role": "viewer" }));
    }
    stop(&platform);
    let (data, whole) = (room.path("data"), room.path("whole"));
    let data = data.to_str().expect("UTF-8");
    for format in ["ndjson", "csv"] {
        let name = format!("out.{format}");
        let path = room.path(&name);
        let output = path.to_str().expect("UTF-8");
        let export = [
            "audit",
            "export",
            "--format",
            format,
            "--data-dir",
            data,
            "--resume",
            "--output",
            output,
        ];
        maintain(&export).good();
        let all = std::fs::read_to_string(&path).expect("a file");
        // Interrupted in the middle of a record, and in the middle of the line of names.
        for left in [all.len() * 2 / 3, 3] {
            std::fs::write(&path, &all[..left]).expect("it is written");
            maintain(&export).good();
            assert_eq!(std::fs::read_to_string(&path).expect("a file"), all, "{format} {left}");
        }
        maintain(&export).good();
        assert_eq!(
            std::fs::read_to_string(&path).expect("a file"),
            all,
            "nothing new, nothing twice"
        );
        std::fs::write(&path, "hello\n").expect("it is written");
        maintain(&export).bad(1, &["no record of this format"]);
        if format == "ndjson" {
            let numbers = seqs(&all);
            assert_eq!(numbers, (1..=i64::try_from(numbers.len()).unwrap()).collect::<Vec<_>>());
        } else {
            assert!(all.starts_with("seq,at,principal,"), "{all}");
        }
    }
    maintain(&["audit", "export", "--resume", "--data-dir", data]).bad(2, &["--output"]);
    assert!(!whole.exists());
}
