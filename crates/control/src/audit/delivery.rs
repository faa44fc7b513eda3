//! `Delivery`: the one task that brings records to the store, and to the spool on disk while the store is slow or away.
//!
//! Records go one way: from memory to the store, or from memory to the spool and from there to the store. While the
//! spool has any, nothing goes past it: the chain keeps their order.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use trunkline_store::{NewAudit, StoreError};

use super::log::{AuditLog, AuditMark, BoxFuture};
use super::spool::{Spool, SpoolBatch};
use super::writer::{AuditShared, SpoolState};
use crate::clock::now;

/// Pauses while the store takes nothing: doubled from the first to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
// Bounds how long records wait after the store is back.
const LAST_PAUSE: Duration = Duration::from_secs(5);
/// A store that takes longer for a batch is slow: what waits goes to the disk meanwhile.
const SLOW: Duration = Duration::from_millis(250);
/// Between two looks at what waits in memory while the store is slow or away: so much a `kill -9` can take along.
const SPILL: Duration = Duration::from_millis(100);

pub(super) struct Delivery {
    shared: Arc<AuditShared>,
    log: Arc<dyn AuditLog>,
    /// Away while a thread works with it.
    spool: Option<Spool>,
    /// This writer's name in the store.
    writer: String,
    /// How many of its records the store has.
    until: u64,
    /// When what is in memory goes to the disk, unless it is in the store by then.
    spill_at: Instant,
    /// The backlog says what is in memory.
    is_noted: bool,
}

/// Records on their way to the store.
struct DeliveryBatch {
    records: Vec<NewAudit>,
    /// How many the mark moves on.
    count: u64,
    /// Where they stand in the spool, if they do.
    spooled: Option<SpoolBatch>,
}

impl Delivery {
    pub(super) fn new(
        shared: Arc<AuditShared>,
        log: Arc<dyn AuditLog>,
        spool: Option<Spool>,
    ) -> Self {
        let writer = match &spool {
            Some(spool) => spool.id().to_owned(),
            // Without random numbers nothing else starts, either.
            None => hex::encode(crate::access::random::<16>().unwrap_or_default()),
        };
        // The first batch tells of what the process before has left.
        Self { shared, log, spool, writer, until: 0, spill_at: Instant::now(), is_noted: true }
    }

    /// Until what there is at the end is in the store, or on the disk.
    pub(super) async fn run(mut self) {
        self.begin().await;
        loop {
            let is_closing = self.shared.closing.is_cancelled();
            match self.next_batch(is_closing).await {
                Some(batch) => {
                    if !self.deliver(batch).await {
                        return;
                    }
                }
                None if is_closing => return,
                None => self.wait().await,
            }
        }
    }

    /// Learns how far this writer is. Before that nothing has a number.
    async fn begin(&mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.log.mark(&self.writer).await {
                Ok(until) => {
                    self.until = until;
                    break;
                }
                Err(error) => self.troubled(&error),
            }
            self.note();
            sleep(pause).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }
        let until = self.until;
        self.with_spool(move |spool| spool.begin_at(until)).await;
        let Some(spool) = &mut self.spool else { return };
        self.until = spool.position().max(until);
        let damaged = spool.take_damaged();
        self.lose(damaged);
    }

    /// The oldest records that are not in the store.
    async fn next_batch(&mut self, is_closing: bool) -> Option<DeliveryBatch> {
        let most = self.shared.queue.lock().batch_size();
        let is_spooling = self.spool.as_ref().is_some_and(|spool| spool.records() > 0);
        if is_spooling {
            let read = self.with_spool(move |spool| spool.peek(most)).await;
            if let Some(batch) = read.filter(|batch| batch.lines > 0) {
                let records = batch.records.clone();
                return Some(DeliveryBatch { records, count: batch.lines, spooled: Some(batch) });
            }
            // It cannot be read now: nothing goes past it.
            sleep(LAST_PAUSE).await;
            return Some(DeliveryBatch { records: Vec::new(), count: 0, spooled: None });
        }
        let records = self.shared.queue.lock().batch(now(), is_closing);
        let count = records.len() as u64;
        (count > 0).then_some(DeliveryBatch { records, count, spooled: None })
    }

    /// Until there may be something to write.
    async fn wait(&self) {
        let next_due = self.shared.queue.lock().next_due();
        let due = async {
            match next_due {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.shared.filled.notified() => {}
            () = due => {}
            () = self.shared.closing.cancelled() => {}
        }
    }

    /// Tries until the batch is in the store. False: it is not, and this is the end; it is on the disk with all
    /// others.
    async fn deliver(&mut self, mut batch: DeliveryBatch) -> bool {
        let (mut pause, mut may_be_there) = (FIRST_PAUSE, false);
        if batch.spooled.is_none() {
            self.spill_at = Instant::now() + SLOW;
        }
        loop {
            let attempt = self.attempt(&batch, may_be_there);
            let error = match self.beside(&mut batch, attempt).await {
                Ok(()) => break,
                Err(error) => error,
            };
            // A commit broke off: the mark says whether the batch is there, lest it stands there twice.
            may_be_there |= matches!(error, StoreError::Uncertain { .. });
            self.troubled(&error);
            let is_safe = self.spill(&mut batch).await;
            self.note();
            if is_safe && self.shared.closing.is_cancelled() {
                return false;
            }
            self.beside(&mut batch, Box::pin(sleep(pause))).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }
        if self.shared.trouble.lock().take().is_some() {
            tracing::info!("audit records are written again");
        }
        self.delivered(batch).await;
        true
    }

    fn attempt(
        &self,
        batch: &DeliveryBatch,
        may_be_there: bool,
    ) -> BoxFuture<'static, Result<(), StoreError>> {
        let (log, records) = (Arc::clone(&self.log), batch.records.clone());
        let mark = AuditMark { writer: self.writer.clone(), until: self.until + batch.count };
        Box::pin(async move {
            if may_be_there && log.mark(&mark.writer).await? >= mark.until {
                return Ok(());
            }
            log.append(records, mark).await
        })
    }

    /// Waits for this; what comes meanwhile does not stay in memory for long.
    async fn beside<T>(
        &mut self,
        batch: &mut DeliveryBatch,
        mut waited_for: BoxFuture<'static, T>,
    ) -> T {
        let shared = Arc::clone(&self.shared);
        loop {
            tokio::select! {
                done = &mut waited_for => return done,
                () = sleep_until(self.spill_at) => {}
                () = shared.crowded.notified() => {}
            }
            self.spill(batch).await;
        }
    }

    /// Moves what is in memory to the spool, the batch first. True: nothing is left in memory.
    async fn spill(&mut self, batch: &mut DeliveryBatch) -> bool {
        self.spill_at = Instant::now() + SPILL;
        if self.spool.is_none() {
            return false;
        }
        let own = (batch.spooled.is_none() && batch.count > 0).then(|| batch.records.clone());
        let is_last = self.shared.closing.is_cancelled();
        let waiting = self.shared.queue.lock().take(is_last);
        if own.is_none() && waiting.is_empty() {
            self.report(false);
            return true;
        }
        let lines = own.as_ref().map(|records| records.len() as u64);
        let spilled = self
            .with_spool(move |spool| {
                let mut spilled =
                    Spilled { own: own.is_none(), bytes: 0, left: waiting, error: None };
                if let Some(records) = own.filter(|records| spool.has_room_for(records)) {
                    let before = spool.bytes();
                    match spool.append(&records) {
                        Ok(_) => spilled.own = true,
                        Err(error) => spilled.error = Some(error),
                    }
                    spilled.bytes = spool.bytes() - before;
                }
                if spilled.own {
                    match spool.append(&spilled.left) {
                        Ok(added) => drop(spilled.left.drain(..added)),
                        Err(error) => spilled.error = Some(error),
                    }
                }
                Ok(spilled)
            })
            .await;
        let Some(spilled) = spilled else { return false };
        if let (Some(lines), true) = (lines, spilled.own) {
            batch.spooled = Some(SpoolBatch::at(lines, spilled.bytes));
            self.shared.queue.lock().written();
        }
        let is_safe = spilled.own && spilled.left.is_empty();
        self.shared.queue.lock().put_back(spilled.left);
        if let Some(error) = spilled.error
            && !self.shared.spool.lock().is_full
        {
            tracing::error!(%error, "audit records cannot be written to the spool in the data directory");
        }
        self.report(!is_safe);
        is_safe
    }

    async fn delivered(&mut self, batch: DeliveryBatch) {
        self.until += batch.count;
        let lost = batch.count - (batch.records.len() as u64).min(batch.count);
        match batch.spooled {
            Some(spooled) => {
                self.with_spool(move |spool| spool.advance(&spooled)).await;
                // Behind a file that has gone, the numbers go on with those of the next.
                let position = self.spool.as_ref().map_or(self.until, Spool::position);
                self.until = self.until.max(position);
                self.report(false);
            }
            None => {
                if let Some(spool) = &mut self.spool {
                    spool.skip(batch.count);
                }
                self.report(false);
                let mut queue = self.shared.queue.lock();
                queue.written();
            }
        }
        self.lose(lost);
        if std::mem::take(&mut self.is_noted) {
            self.note();
            self.is_noted = false;
        }
    }

    /// So many lines of the spool cannot be read, or are not ours.
    fn lose(&self, lines: u64) {
        if lines > 0 {
            tracing::error!(records = lines, "audit records in the spool were damaged");
            self.shared.queue.lock().lose(lines);
        }
    }

    fn troubled(&self, error: &StoreError) {
        let before = self.shared.trouble.lock().replace(error.to_string());
        if before.is_none() {
            tracing::error!(%error, "audit records cannot be written to the store; they wait until it answers");
        }
        // Copied first: `report` takes the lock, too.
        let is_full = self.shared.spool.lock().is_full;
        self.report(is_full);
    }

    /// Keeps how many would be lost if the process ended here.
    fn note(&mut self) {
        self.is_noted = true;
        if let Some(backlog) = &self.shared.backlog {
            backlog.keep(self.shared.queue.lock().unwritten());
        }
    }

    /// For reports, and for those who may only go on while there is room.
    fn report(&self, is_full: bool) {
        let has_spool = self.spool.as_ref().is_some_and(|spool| spool.limit() > 0);
        *self.shared.spool.lock() = match &self.spool {
            Some(spool) => SpoolState {
                records: spool.records(),
                bytes: spool.bytes(),
                limit: spool.limit(),
                is_full: is_full && has_spool,
            },
            None => SpoolState::default(),
        };
        let is_away = self.shared.trouble.lock().is_some();
        let is_crowded = self.shared.queue.lock().is_crowded();
        let is_stuck = is_crowded || (is_away && (is_full || !has_spool));
        self.shared.is_stuck.store(is_stuck, Ordering::Relaxed);
    }

    /// Works with the spool where a disk may be waited for.
    async fn with_spool<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Spool) -> io::Result<T> + Send + 'static,
    ) -> Option<T> {
        let mut spool = self.spool.take()?;
        let done = tokio::task::spawn_blocking(move || {
            let outcome = work(&mut spool);
            (spool, outcome)
        });
        // A thread that panicked has the spool: there is none from then on.
        let (spool, outcome) = done.await.ok()?;
        self.spool = Some(spool);
        match outcome {
            Ok(done) => Some(done),
            Err(error) => {
                tracing::error!(%error, "the spool of audit records in the data directory fails");
                None
            }
        }
    }
}

/// What became of records that were to go to the spool.
struct Spilled {
    /// The batch on its way is there.
    own: bool,
    bytes: u64,
    /// There was no room for these.
    left: Vec<NewAudit>,
    error: Option<io::Error>,
}
