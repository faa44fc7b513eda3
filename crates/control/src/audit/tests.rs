//! Records that wait, are lost, or are written twice if nobody looks.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use trunkline_store::{AuditFilter, AuditVerdict, NewAudit, Store, StoreError};

use super::{
    Audit, AuditBounds, AuditLog, AuditMark, AuditPlaces, AuditState, BoxFuture, Spool, SpoolKey,
    SpoolState,
};
use crate::scratch::Folder;

/// A log that can be told to fail.
#[derive(Debug, Default)]
struct Memory {
    written: Mutex<Vec<String>>,
    /// The mark of the only writer.
    until: Mutex<u64>,
    mood: Mutex<Mood>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Mood {
    #[default]
    Fine,
    Gone,
    /// Writes, and then says that it does not know; cannot be read for a moment.
    BreaksOff,
    Hangs,
}

impl Memory {
    fn gone<T>() -> Result<T, StoreError> {
        Err(StoreError::Unavailable { reason: "gone".to_owned() })
    }

    fn set(&self, mood: Mood) {
        *self.mood.lock() = mood;
    }
}

impl AuditLog for Memory {
    fn append(
        &self,
        records: Vec<NewAudit>,
        mark: AuditMark,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let mood = *self.mood.lock();
        Box::pin(async move {
            let names = records.into_iter().map(|record| record.action);
            let write = |names: &mut dyn Iterator<Item = String>| {
                self.written.lock().extend(names);
                *self.until.lock() = mark.until;
            };
            match mood {
                Mood::Fine => write(&mut { names }),
                Mood::Gone => return Self::gone(),
                Mood::Hangs => std::future::pending().await,
                Mood::BreaksOff => {
                    write(&mut { names });
                    self.set(Mood::Gone);
                    return Err(StoreError::Uncertain { reason: "broke off".to_owned() });
                }
            }
            Ok(())
        })
    }

    fn mark<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move {
            if *self.mood.lock() == Mood::Gone && !self.written.lock().is_empty() {
                // The next time it can be asked.
                self.set(Mood::Fine);
                return Self::gone();
            }
            Ok(*self.until.lock())
        })
    }
}

fn record(action: &str) -> NewAudit {
    NewAudit { action: action.to_owned(), outcome: "ok".to_owned(), ..NewAudit::default() }
}

fn started(waiting: usize) -> (Arc<Memory>, Audit) {
    let log = Arc::new(Memory::default());
    let audit = started_with(&log, waiting, None);
    (log, audit)
}

fn started_with(log: &Arc<Memory>, waiting: usize, spool: Option<Spool>) -> Audit {
    let bounds = AuditBounds { waiting, refused: 2, batch: 2 };
    let places = AuditPlaces { backlog: None, spool };
    Audit::start(Arc::clone(log) as Arc<dyn AuditLog>, bounds, places, &TaskTracker::new())
}

fn spool(folder: &Folder, limit: u64) -> Spool {
    Spool::open(folder.path(), limit, SpoolKey::new(&[7; 32])).unwrap()
}

async fn closed(audit: &Audit) -> usize {
    audit.close(Instant::now() + Duration::from_secs(60)).await
}

#[tokio::test(start_paused = true)]
async fn records_are_written_in_their_order() {
    let (log, audit) = started(100);
    for name in ["a", "b", "c", "d", "e"] {
        audit.record(record(name));
    }
    assert_eq!(closed(&audit).await, 0);
    assert_eq!(*log.written.lock(), ["a", "b", "c", "d", "e"]);
    let spool = SpoolState::default();
    assert_eq!(audit.state(), AuditState { waiting: 0, lost: 0, trouble: None, spool });
}

#[tokio::test(start_paused = true)]
async fn while_the_store_is_gone_records_wait_and_those_beyond_the_bound_are_told_of() {
    let (log, audit) = started(3);
    log.set(Mood::Gone);
    for name in ["a", "b", "c", "d", "e"] {
        audit.record(record(name));
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(audit.is_degraded());
    let state = audit.state();
    assert_eq!((state.waiting, state.lost, audit.lost()), (3, 2, 2));
    assert!(state.trouble.unwrap().contains("gone"));
    log.set(Mood::Fine);
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!(!audit.is_degraded());
    assert_eq!(*log.written.lock(), ["a", "b", "c", "lose-audit-records"]);
    audit.record(record("f"));
    assert_eq!(closed(&audit).await, 0);
    assert_eq!(log.written.lock().last().unwrap(), "f");
    assert_eq!(audit.lost(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_broke_off_is_not_made_twice() {
    let (log, audit) = started(100);
    log.set(Mood::BreaksOff);
    audit.record(record("a"));
    audit.record(record("b"));
    tokio::time::sleep(Duration::from_secs(30)).await;
    audit.record(record("c"));
    assert_eq!(closed(&audit).await, 0);
    assert_eq!(*log.written.lock(), ["a", "b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn the_end_does_not_wait_for_a_store_that_hangs() {
    for mood in [Mood::Hangs, Mood::Gone] {
        let (log, audit) = started(100);
        log.set(mood);
        for name in ["a", "b", "c"] {
            audit.record(record(name));
        }
        assert_eq!(closed(&audit).await, 3, "{mood:?}");
    }
}

async fn filled(store: &Store, count: usize) {
    let log: Arc<dyn AuditLog> = Arc::new(store.clone());
    let audit =
        Audit::start(log, AuditBounds::default(), AuditPlaces::default(), &TaskTracker::new());
    for number in 0..count {
        let principal = if number % 2 == 0 { "even" } else { "odd" }.to_owned();
        audit.record(NewAudit {
            at: i64::try_from(number).unwrap() * 1_000,
            principal,
            ..record(&number.to_string())
        });
    }
    assert_eq!(closed(&audit).await, 0);
}

#[tokio::test]
async fn what_is_recorded_is_in_the_chain_and_found_again() {
    let folder = Folder::new();
    let store = folder.store().await;
    filled(&store, 1_000).await;
    let verdict = store.verify_audit().await.unwrap();
    assert!(matches!(verdict, AuditVerdict::Verified { records: 1_000, .. }), "{verdict:?}");
    let newest = store.audit(AuditFilter::default(), 1).await.unwrap();
    assert_eq!(newest[0].what.action, "999");
}

#[tokio::test]
async fn a_store_says_how_far_each_writer_is() {
    let folder = Folder::new();
    let store = folder.store().await;
    let mark = |writer: &str, until| AuditMark { writer: writer.to_owned(), until };
    assert_eq!(store.mark("a").await, Ok(0));
    store.append(vec![record("x"), record("y")], mark("a", 2)).await.unwrap();
    store.append(vec![record("z")], mark("b", 7)).await.unwrap();
    assert_eq!((store.mark("a").await, store.mark("b").await), (Ok(2), Ok(7)));
}

fn names(from: u64, until: u64) -> Vec<String> {
    (from..until).map(|number| number.to_string()).collect()
}

/// What the writer's task does on other threads cannot be waited for with a paused clock.
async fn until(what: &str, is_so: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < limit, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn while_the_store_is_gone_records_wait_on_disk_and_are_written_in_their_order() {
    let folder = Folder::new();
    let log = Arc::new(Memory::default());
    let audit = started_with(&log, 8, Some(spool(&folder, 1 << 20)));
    audit.record(record("0"));
    until("the first is written", || log.written.lock().len() == 1).await;
    log.set(Mood::Hangs);
    for name in names(1, 40) {
        audit.record(record(&name));
        until("it has a place", || !audit.is_stuck().load(Ordering::Relaxed)).await;
    }
    until("all are on disk", || audit.state().spool.records == 39).await;
    assert_eq!((audit.lost(), audit.state().waiting), (0, 39));
    log.set(Mood::Fine);
    // The attempt that hangs is the store's to end; here the process ends.
    assert_eq!(audit.close(Instant::now()).await, 0);
    let audit = started_with(&log, 8, Some(spool(&folder, 1 << 20)));
    audit.record(record("40"));
    assert_eq!(closed(&audit).await, 0);
    assert_eq!(*log.written.lock(), names(0, 41));
    assert_eq!(audit.state().spool.records, 0);
}

#[tokio::test]
async fn what_was_written_just_before_the_end_is_not_written_again_by_the_next_start() {
    let folder = Folder::new();
    let log = Arc::new(Memory::default());
    let audit = started_with(&log, 100, Some(spool(&folder, 1 << 20)));
    audit.record(record("0"));
    until("the first is written", || log.written.lock().len() == 1).await;
    log.set(Mood::Hangs);
    for name in names(1, 6) {
        audit.record(record(&name));
    }
    until("all are on disk", || audit.state().spool.records == 5).await;
    assert_eq!(audit.close(Instant::now()).await, 0);
    // The store had taken them, and nobody has heard of it.
    log.written.lock().extend(names(1, 4));
    *log.until.lock() = 4;
    log.set(Mood::Fine);
    let audit = started_with(&log, 100, Some(spool(&folder, 1 << 20)));
    assert_eq!(closed(&audit).await, 0);
    assert_eq!(*log.written.lock(), names(0, 6));
}

#[tokio::test]
async fn what_somebody_has_added_is_told_of_and_what_comes_later_is_written_once() {
    let folder = Folder::new();
    let log = Arc::new(Memory::default());
    drop(spool(&folder, 1 << 20));
    let dir = folder.path().join("audit-spool");
    for number in [3_u64, 999_999, u64::MAX - 1] {
        let line = "{\"action\":\"forged\"}\n";
        std::fs::write(dir.join(format!("{number:020}.ndjson")), line.repeat(2)).unwrap();
    }
    let audit = started_with(&log, 100, Some(spool(&folder, 1 << 20)));
    until("it is told of", || *log.written.lock() == ["lose-audit-records"]).await;
    assert_eq!(audit.lost(), 6);
    log.set(Mood::Hangs);
    for name in names(1, 6) {
        audit.record(record(&name));
    }
    until("all are on disk", || audit.state().spool.records == 5).await;
    assert_eq!(audit.close(Instant::now()).await, 0);
    log.set(Mood::Fine);
    let audit = started_with(&log, 100, Some(spool(&folder, 1 << 20)));
    assert_eq!(closed(&audit).await, 0);
    assert_eq!(log.written.lock()[1..], names(1, 6));
    assert_eq!(audit.lost(), 0);
}

#[tokio::test]
async fn a_full_spool_is_said_and_what_has_no_room_is_counted() {
    let folder = Folder::new();
    let log = Arc::new(Memory::default());
    let audit = started_with(&log, 4, Some(spool(&folder, 300)));
    log.set(Mood::Gone);
    let long = NewAudit { detail: Some("x".repeat(100)), ..record("long") };
    for _ in 0..40 {
        audit.record(long.clone());
    }
    until("it is full", || audit.state().spool.is_full && audit.is_stuck().load(Ordering::Relaxed))
        .await;
    assert!(audit.lost() > 0 && audit.state().spool.bytes <= 300);
    log.set(Mood::Fine);
    until("all are written", || audit.state().waiting == 0).await;
    until("there is room", || !audit.is_stuck().load(Ordering::Relaxed)).await;
    assert_eq!(closed(&audit).await, 0);
    let written = log.written.lock();
    let told = written.iter().filter(|name| *name == "lose-audit-records").count();
    assert!(told > 0, "{written:?}");
    assert_eq!(written.len() - told + usize::try_from(audit.lost()).unwrap(), 40);
}
