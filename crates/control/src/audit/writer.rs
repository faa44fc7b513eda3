//! `Audit`: takes records without waiting, and starts the task that writes them down.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use trunkline_store::NewAudit;

use super::backlog::Backlog;
use super::delivery::Delivery;
use super::log::AuditLog;
use super::queue::{AuditBounds, Queue};
use super::spool::Spool;

/// Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Audit {
    shared: Arc<AuditShared>,
}

/// For health reports and metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditState {
    /// Records that are not in the store yet, those of the spool included.
    pub waiting: usize,
    /// Records that never will be, since the start.
    pub lost: u64,
    /// Why nothing can be written at the moment.
    pub trouble: Option<String>,
    pub spool: SpoolState,
}

/// What waits on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpoolState {
    pub records: u64,
    pub bytes: u64,
    pub limit: u64,
    /// It has no room for what waits in memory, or cannot be written.
    pub is_full: bool,
}

/// Where an `Audit` keeps what is not in the store.
#[derive(Debug, Default)]
pub struct AuditPlaces {
    pub backlog: Option<Backlog>,
    pub spool: Option<Spool>,
}

#[derive(Debug)]
pub(super) struct AuditShared {
    /// A leaf lock, taken by every caller of `record`: nothing waits for the store under it.
    pub(super) queue: Mutex<Queue>,
    /// Keeps how many are not written, across a crash.
    pub(super) backlog: Option<Backlog>,
    /// A leaf lock.
    // Only the writer's task changes it; reports copy it. Never held together with `queue`.
    pub(super) trouble: Mutex<Option<String>>,
    /// What happens now may not be recorded: nothing can be written, or much waits already.
    // Relaxed where it is used: nothing is read because of it. A call that sees it late is recorded
    // in the half of the queue that is still free.
    pub(super) is_stuck: Arc<AtomicBool>,
    // Relaxed where it is used: a count that is only shown.
    export_lost: Arc<AtomicU64>,
    pub(super) filled: Notify,
    /// Much waits in memory.
    pub(super) crowded: Notify,
    /// A leaf lock: the writer's task notes it, reports copy it.
    pub(super) spool: Mutex<SpoolState>,
    /// Write what there is, then stop.
    pub(super) closing: CancellationToken,
    /// Stop.
    end: CancellationToken,
    done: CancellationToken,
}

impl Audit {
    /// The writer runs on `tasks` until `close`.
    pub fn start(
        log: Arc<dyn AuditLog>,
        bounds: AuditBounds,
        places: AuditPlaces,
        tasks: &TaskTracker,
    ) -> Self {
        let AuditPlaces { backlog, spool } = places;
        let left = backlog.as_ref().map_or(0, Backlog::left);
        let shared = Arc::new(AuditShared {
            queue: Mutex::new(Queue::new(bounds, left)),
            backlog,
            trouble: Mutex::new(None),
            is_stuck: Arc::default(),
            export_lost: Arc::default(),
            filled: Notify::new(),
            crowded: Notify::new(),
            spool: Mutex::default(),
            closing: CancellationToken::new(),
            end: CancellationToken::new(),
            done: CancellationToken::new(),
        });
        let own = Arc::clone(&shared);
        tasks.spawn(async move {
            tokio::select! {
                () = Delivery::new(Arc::clone(&own), log, spool).run() => {}
                () = own.end.cancelled() => {}
            }
            own.done.cancel();
        });
        Self { shared }
    }

    /// Never waits. Without room the record is counted as lost, and a record will tell of it.
    pub fn record(&self, record: NewAudit) {
        let (fits, is_crowded) = {
            let mut queue = self.shared.queue.lock();
            (queue.push(record), queue.is_crowded())
        };
        if is_crowded {
            // Relaxed: a flag alone; nothing is read because of it.
            self.shared.is_stuck.store(true, Ordering::Relaxed);
            self.shared.crowded.notify_one();
        }
        if fits {
            self.shared.filled.notify_one();
        }
    }

    /// So many requests like this one did not run.
    pub fn count_refusals(&self, record: NewAudit, times: u64) {
        self.shared.queue.lock().count_refusals(record, times);
        self.shared.filled.notify_one();
    }

    pub fn lost(&self) -> u64 {
        self.shared.queue.lock().lost()
    }

    /// True while what happens now may not be recorded.
    pub fn is_stuck(&self) -> &Arc<AtomicBool> {
        &self.shared.is_stuck
    }

    /// Cancelled when nothing will be written any more.
    pub(crate) fn end(&self) -> CancellationToken {
        self.shared.done.clone()
    }

    /// Counts records that are in the log, but were not passed on.
    pub(crate) fn export_lost(&self) -> &Arc<AtomicU64> {
        &self.shared.export_lost
    }

    pub fn is_degraded(&self) -> bool {
        self.shared.trouble.lock().is_some()
    }

    pub fn state(&self) -> AuditState {
        let (waiting, lost) = {
            let queue = self.shared.queue.lock();
            (queue.waiting(), queue.lost())
        };
        let spool = self.shared.spool.lock().clone();
        let waiting = waiting + usize::try_from(spool.records).unwrap_or(usize::MAX);
        AuditState { waiting, lost, trouble: self.shared.trouble.lock().clone(), spool }
    }

    /// Writes what waits, as long as the deadline allows. Says how many records were left.
    pub async fn close(&self, deadline: Instant) -> usize {
        self.shared.closing.cancel();
        if timeout_at(deadline, self.shared.done.cancelled()).await.is_err() {
            self.shared.end.cancel();
            self.shared.done.cancelled().await;
        }
        let (left, unwritten) = {
            let queue = self.shared.queue.lock();
            (queue.waiting(), queue.unwritten())
        };
        if let Some(backlog) = &self.shared.backlog {
            backlog.keep(unwritten);
        }
        let spooled = self.shared.spool.lock().records;
        if spooled > 0 {
            tracing::warn!(
                records = spooled,
                "these audit records are in the spool of the data directory: the next start writes them to the store"
            );
        }
        if left > 0 {
            tracing::error!(
                records = left,
                "these audit records were not written before the end: the store did not answer"
            );
        }
        left
    }
}
