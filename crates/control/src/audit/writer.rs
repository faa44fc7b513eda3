//! `Audit`: takes records without waiting, and one task that writes them down.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use trunkline_store::{NewAudit, StoreError};

use super::backlog::Backlog;
use super::log::AuditLog;
use super::queue::{AuditBounds, Queue};
use crate::clock::now;

/// Pauses while the store takes nothing: doubled from the first to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
// Bounds how long records wait in memory after the store is back.
const LAST_PAUSE: Duration = Duration::from_secs(5);

/// Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Audit {
    shared: Arc<AuditShared>,
}

/// For health reports and metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditState {
    /// Records that are not written yet.
    pub waiting: usize,
    /// Records that never will be, since the start.
    pub lost: u64,
    /// Why nothing can be written at the moment.
    pub trouble: Option<String>,
}

#[derive(Debug)]
struct AuditShared {
    /// A leaf lock, taken by every caller of `record`: nothing waits for the store under it.
    queue: Mutex<Queue>,
    /// Keeps how many are not written, across a crash.
    backlog: Option<Backlog>,
    /// A leaf lock.
    // Only the writer's task changes it; reports copy it. Never held together with `queue`.
    trouble: Mutex<Option<String>>,
    /// What happens now may not be recorded: nothing can be written, or much waits already.
    // Relaxed where it is used: nothing is read because of it. A call that sees it late is recorded
    // in the half of the queue that is still free.
    is_stuck: Arc<AtomicBool>,
    // Relaxed where it is used: a count that is only shown.
    export_lost: Arc<AtomicU64>,
    filled: Notify,
    /// Write what there is, then stop.
    closing: CancellationToken,
    /// Stop.
    end: CancellationToken,
    done: CancellationToken,
}

impl Audit {
    /// The writer runs on `tasks` until `close`.
    pub fn start(
        log: Arc<dyn AuditLog>,
        bounds: AuditBounds,
        backlog: Option<Backlog>,
        tasks: &TaskTracker,
    ) -> Self {
        let left = backlog.as_ref().map_or(0, Backlog::left);
        let shared = Arc::new(AuditShared {
            queue: Mutex::new(Queue::new(bounds, left)),
            backlog,
            trouble: Mutex::new(None),
            is_stuck: Arc::default(),
            export_lost: Arc::default(),
            filled: Notify::new(),
            closing: CancellationToken::new(),
            end: CancellationToken::new(),
            done: CancellationToken::new(),
        });
        let own = Arc::clone(&shared);
        tasks.spawn(async move {
            tokio::select! {
                () = write(&own, log.as_ref()) => {}
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
        AuditState { waiting, lost, trouble: self.shared.trouble.lock().clone() }
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
        if left > 0 {
            tracing::error!(
                records = left,
                "these audit records were not written before the end: the store did not answer"
            );
        }
        left
    }
}

async fn write(shared: &AuditShared, log: &dyn AuditLog) {
    // The first batch tells of what the process before has left.
    let mut is_first = true;
    loop {
        let is_closing = shared.closing.is_cancelled();
        let (batch, next_due) = {
            let mut queue = shared.queue.lock();
            (queue.batch(now(), is_closing), queue.next_due())
        };
        if batch.is_empty() {
            if is_closing {
                return;
            }
            let due = async {
                match next_due {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = shared.filled.notified() => {}
                () = due => {}
                () = shared.closing.cancelled() => {}
            }
            continue;
        }
        let kept = insist(shared, log, batch).await;
        let unwritten = {
            let mut queue = shared.queue.lock();
            queue.written();
            shared.is_stuck.store(queue.is_crowded(), Ordering::Relaxed);
            queue.unwritten()
        };
        if let Some(backlog) = shared.backlog.as_ref().filter(|_| kept || is_first) {
            backlog.keep(unwritten);
        }
        is_first = false;
    }
}

/// Tries until the batch is written. Later records wait, so that the chain keeps their order. True: the
/// backlog has noted meanwhile how many wait.
async fn insist(shared: &AuditShared, log: &dyn AuditLog, batch: Vec<NewAudit>) -> bool {
    let mut noted = false;
    let mut attempt = Attempt { pause: FIRST_PAUSE, may_be_there: false };
    while let Err(error) = attempt.append(log, &batch).await {
        shared.is_stuck.store(true, Ordering::Relaxed);
        let before = shared.trouble.lock().replace(error.to_string());
        if before.is_none() {
            tracing::error!(%error, "audit records cannot be written to the store; they wait in memory until it answers");
        }
        if let Some(backlog) = &shared.backlog {
            backlog.keep(shared.queue.lock().unwritten());
            noted = true;
        }
        sleep(attempt.pause).await;
        attempt.pause = (attempt.pause * 2).min(LAST_PAUSE);
    }
    if shared.trouble.lock().take().is_some() {
        tracing::info!("audit records are written again");
    }
    noted
}

struct Attempt {
    pause: Duration,
    /// A commit broke off: before the batch is written again it is looked for, lest it stands
    /// there twice.
    may_be_there: bool,
}

impl Attempt {
    async fn append(&mut self, log: &dyn AuditLog, batch: &[NewAudit]) -> Result<(), StoreError> {
        if self.may_be_there && log.has(batch).await? {
            return Ok(());
        }
        self.may_be_there = false;
        let outcome = log.append(batch.to_vec()).await;
        self.may_be_there = matches!(outcome, Err(StoreError::Uncertain { .. }));
        outcome
    }
}
