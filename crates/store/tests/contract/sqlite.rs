//! What only a file can meet: a killed process, a full disk, other processes, a stranger's lock.

use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use tokio::time::sleep;
use trunkline_store::{AuditVerdict, Change, Store, StoreError, StoreUrl};

use crate::place::{Folder, a_server, on_a_runtime, options};
use crate::writer::{Writer, on_a_small_disk};

#[test]
fn every_acknowledged_write_survives_sigkill() {
    let folder = Folder::new();
    let path = folder.path().join("store.db");
    let mut acknowledged = HashSet::new();
    for round in 0..20u32 {
        let mut writer = Writer::start(&path);
        assert_eq!(writer.hear(), "open");
        writer.say(&format!("flood r{round}"));
        // At least one is acknowledged; then the kill comes at any point of the next ones.
        acknowledged.insert(writer.hear());
        let moment = Duration::from_micros(u64::from(rand(round)) % 60_000);
        acknowledged.extend(writer.hear_for(moment));
        acknowledged.extend(writer.kill());
        holds(&path, &acknowledged);
    }
    assert!(acknowledged.len() >= 20);
}

/// All that was acknowledged is there, whole, and so is what tells of it; at most one more in each
/// round was written and not acknowledged any more.
fn holds(path: &Path, acknowledged: &HashSet<String>) {
    on_a_runtime(async {
        let store = Store::open(&StoreUrl::sqlite(path), options()).await.unwrap();
        for name in acknowledged {
            let server = store.server(name).await.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(server.description.len(), 300);
        }
        let verdict = store.verify_audit().await.unwrap();
        let AuditVerdict::Verified { records, .. } = verdict else { panic!("{verdict:?}") };
        let count = "SELECT count(*) FROM servers";
        assert_eq!(ask(path, count), records.to_string(), "a server without its record");
        store.close().await;
    });
    assert_eq!(ask(path, "PRAGMA integrity_check"), "ok");
}

fn ask(path: &Path, sql: &str) -> String {
    let connection = rusqlite::Connection::open(path).unwrap();
    let value: rusqlite::types::Value = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    match value {
        rusqlite::types::Value::Integer(number) => number.to_string(),
        rusqlite::types::Value::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

/// Different in every run, so that in time every point is met.
fn rand(round: u32) -> u32 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    now.subsec_nanos().wrapping_mul(2_654_435_761).rotate_left(round)
}

#[test]
fn a_full_disk_refuses_whole_writes_and_recovers() {
    let folder = Folder::new();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let ballast = disk.join("ballast");
    let prepare = format!("head -c 1000000 /dev/zero > {}", ballast.display());
    let mut writer = on_a_small_disk(&disk, &prepare, &disk.join("store.db"));
    assert_eq!(writer.hear(), "open");
    let mut acknowledged = Vec::new();
    let refusal = loop {
        let name = format!("s{}", acknowledged.len());
        let answer = writer.ask(&format!("put {name} 20000"));
        if answer != name {
            break answer;
        }
        acknowledged.push(name);
        assert!(acknowledged.len() < 1_000, "the disk is never full");
    };
    assert_eq!(refusal, r#"Full { reason: "the disk is full" }"#);
    for attempt in 0..5 {
        assert_eq!(writer.ask(&format!("put refused{attempt} 20000")), refusal);
    }
    // Reading goes on, and nothing of what was refused is there.
    acknowledged.sort_unstable();
    assert!(!acknowledged.is_empty());
    assert_eq!(writer.ask("servers"), acknowledged.join(" "));
    assert_eq!(writer.ask("verify"), format!("whole {}", acknowledged.len()));
    assert_eq!(writer.ask(&format!("remove {}", ballast.display())), "Ok(())");
    assert_eq!(writer.ask("put after 20000"), "after");
    assert_eq!(writer.ask("verify"), format!("whole {}", acknowledged.len() + 1));
}

#[test]
fn a_read_only_disk_is_said_to_be_one() {
    let folder = Folder::new();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let path = disk.join("store.db");
    let writer = Writer::program().display().to_string();
    let prepare = format!(
        "echo put s 1 | {writer} {} > /dev/null && mount -o remount,bind,ro {}",
        path.display(),
        disk.display()
    );
    let mut writer = on_a_small_disk(&disk, &prepare, &path);
    assert_eq!(writer.hear(), r#"Full { reason: "the file is read-only" }"#);
}

#[test]
fn several_processes_write_to_one_file() {
    let folder = Folder::new();
    let path = folder.path().join("store.db");
    let mut writers: Vec<Writer> = (0..3).map(|_| Writer::start(&path)).collect();
    for (number, writer) in writers.iter_mut().enumerate() {
        assert_eq!(writer.hear(), "open");
        writer.say(&format!("flood w{number}"));
    }
    let mut acknowledged = HashSet::new();
    for writer in &mut writers {
        acknowledged.extend((0..40).map(|_| writer.hear()));
    }
    for writer in writers {
        acknowledged.extend(writer.kill());
    }
    assert!(acknowledged.iter().all(|name| name.starts_with('w')), "{acknowledged:?}");
    holds(&path, &acknowledged);
}

#[test]
fn a_file_that_stays_locked_is_unavailable_and_nobody_else_waits() {
    let folder = Folder::new();
    let path = folder.path().join("store.db");
    on_a_runtime(async {
        let store = Store::open(&StoreUrl::sqlite(&path), options()).await.unwrap();
        let stranger = rusqlite::Connection::open(&path).unwrap();
        stranger.execute_batch("BEGIN IMMEDIATE").unwrap();
        let mut write = Box::pin(store.commit(vec![Change::InsertServer(a_server("a"))], vec![]));
        let mut ticks = 0;
        let outcome = loop {
            tokio::select! {
                outcome = &mut write => break outcome,
                () = sleep(Duration::from_millis(10)) => ticks += 1,
            }
        };
        let error = outcome.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
        assert!(error.may_retry());
        assert!(ticks > 10, "the runtime was blocked");
        stranger.execute_batch("ROLLBACK").unwrap();
        store.commit(vec![Change::InsertServer(a_server("a"))], vec![]).await.unwrap();
    });
}

#[test]
fn who_stops_waiting_before_it_began_prevents_it() {
    let folder = Folder::new();
    let path = folder.path().join("store.db");
    on_a_runtime(async {
        let store = Store::open(&StoreUrl::sqlite(&path), options()).await.unwrap();
        let stranger = rusqlite::Connection::open(&path).unwrap();
        stranger.execute_batch("BEGIN IMMEDIATE").unwrap();
        let insert = |id| store.commit(vec![Change::InsertServer(a_server(id))], vec![]);
        let (mut waits, mut leaves) = (Box::pin(insert("a")), Box::pin(insert("b")));
        // Both are in the queue after they have been asked once; the first is at work.
        tokio::select! {
            biased;
            outcome = &mut waits => panic!("{outcome:?}"),
            outcome = &mut leaves => panic!("{outcome:?}"),
            () = sleep(Duration::from_millis(1)) => {}
        }
        drop(leaves);
        stranger.execute_batch("ROLLBACK").unwrap();
        waits.await.unwrap();
        assert_eq!(store.server("b").await, Err(StoreError::NotFound));
    });
}

#[test]
fn the_file_is_its_owners_only() {
    let folder = Folder::new();
    let path = folder.path().join("store.db");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    on_a_runtime(async {
        let store = Store::open(&StoreUrl::sqlite(&path), options()).await.unwrap();
        store.put_setting("a", vec![1]).await.unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(&folder.path().join("store.db-wal")), 0o600);
        store.close().await;
        fs::set_permissions(&path, Permissions::from_mode(0o664)).unwrap();
        let store = Store::open(&StoreUrl::sqlite(&path), options()).await.unwrap();
        assert_eq!(mode(&path), 0o600);
        store.close().await;
    });
}

#[test]
fn what_is_not_a_store_is_refused_and_not_touched() {
    let folder = Folder::new();
    let text = folder.path().join("text");
    fs::write(&text, "This is a letter and not a database, and it is to stay one.".repeat(99))
        .unwrap();
    let before = fs::read(&text).unwrap();
    let missing = folder.path().join("missing/store.db");
    on_a_runtime(async {
        let open = async |path: &Path| Store::open(&StoreUrl::sqlite(path), options()).await;
        let outcome = open(&text).await;
        assert!(matches!(outcome, Err(StoreError::Corrupt { .. })), "{outcome:?}");
        assert_eq!(fs::read(&text).unwrap(), before);
        for path in [folder.path(), &missing] {
            let outcome = open(path).await;
            assert!(matches!(outcome, Err(StoreError::Invalid { .. })), "{outcome:?}");
        }
    });
}
