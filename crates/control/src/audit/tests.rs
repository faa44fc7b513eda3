//! Records that wait, are lost, or are written twice if nobody looks.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use trunkline_store::{AuditFilter, AuditVerdict, NewAudit, Store, StoreError};

use super::{Audit, AuditBounds, AuditLog, AuditState, BoxFuture};
use crate::scratch::Folder;

/// A log that can be told to fail.
#[derive(Debug, Default)]
struct Memory {
    written: Mutex<Vec<String>>,
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
    fn append(&self, records: Vec<NewAudit>) -> BoxFuture<'_, Result<(), StoreError>> {
        let mood = *self.mood.lock();
        Box::pin(async move {
            let names = records.into_iter().map(|record| record.action);
            match mood {
                Mood::Fine => self.written.lock().extend(names),
                Mood::Gone => return Self::gone(),
                Mood::Hangs => std::future::pending().await,
                Mood::BreaksOff => {
                    self.written.lock().extend(names);
                    self.set(Mood::Gone);
                    return Err(StoreError::Uncertain { reason: "broke off".to_owned() });
                }
            }
            Ok(())
        })
    }

    fn has<'a>(&'a self, records: &'a [NewAudit]) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            if *self.mood.lock() != Mood::Fine {
                // The next time it can be asked.
                self.set(Mood::Fine);
                return Self::gone();
            }
            let written = self.written.lock();
            let names: Vec<_> = records.iter().map(|record| record.action.as_str()).collect();
            Ok(written.ends_with(&names.iter().map(|&n| n.to_owned()).collect::<Vec<_>>()))
        })
    }
}

fn record(action: &str) -> NewAudit {
    NewAudit { action: action.to_owned(), outcome: "ok".to_owned(), ..NewAudit::default() }
}

fn started(waiting: usize) -> (Arc<Memory>, Audit) {
    let log = Arc::new(Memory::default());
    let bounds = AuditBounds { waiting, refused: 2, batch: 2 };
    let audit =
        Audit::start(Arc::clone(&log) as Arc<dyn AuditLog>, bounds, None, &TaskTracker::new());
    (log, audit)
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
    assert_eq!(audit.state(), AuditState { waiting: 0, lost: 0, trouble: None });
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
    let audit = Audit::start(log, AuditBounds::default(), None, &TaskTracker::new());
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
    let newest = store.audit(AuditFilter::default(), 2).await.unwrap();
    let batch: Vec<_> = newest.into_iter().rev().map(|record| record.what).collect();
    assert!(AuditLog::has(&store, &batch).await.unwrap());
    let swapped = [batch[1].clone(), batch[0].clone()];
    assert!(!AuditLog::has(&store, &swapped).await.unwrap());
}

#[tokio::test]
async fn what_was_written_is_recognised_however_it_was_spelt() {
    let folder = Folder::new();
    let store = folder.store().await;
    let records = ["plain", "with\0NUL"].map(|tool| NewAudit {
        action: "call-tool".to_owned(),
        tool: Some(tool.to_owned()),
        ..NewAudit::default()
    });
    assert!(!store.has(&records).await.unwrap());
    store.append(records.to_vec()).await.unwrap();
    assert!(store.has(&records).await.unwrap());
    assert!(!store.has(&[records[1].clone(), records[0].clone()]).await.unwrap(), "in this order");
}
