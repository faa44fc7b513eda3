//! `AuditFollower`: reads what is in the log, whoever has written it, and passes it on: to a file, syslog
//! or a collector, and its end to an anchor. And removes what is older than it has to be kept.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use trunkline_store::{
    AuditFilter, AuditHead, AuditRecord, AuditRetention, NewAudit, Store, StoreError,
};

use super::anchor::AuditAnchor;
use super::archive::AuditArchive;
use super::destination::AuditExport;
use super::otlp_logs::{BATCH, BatchResult, OtlpLogs};
use crate::clock;
use crate::otlp::PartialSuccess;

/// Between two looks at the log: how late a record may arrive elsewhere.
const LOOK: Duration = Duration::from_secs(1);
/// Between two notes of its end: what is written in between could be rolled back unnoticed.
const ANCHOR: Duration = Duration::from_secs(60);
/// Between two removals of what is too old.
const PRUNE: Duration = Duration::from_secs(60 * 60);
/// The lease of the replica that removes.
const PRUNING: &str = "audit.prune";
/// How long a collector may take for the last records at the end.
const FAREWELL: Duration = Duration::from_secs(2);
/// Records that are read at once.
const PAGE: i64 = 1_000;

/// How a record is written elsewhere.
pub type RenderRecord = fn(&AuditRecord) -> Value;

/// How long records are kept; `None`: for ever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AuditKeep {
    pub age: Option<Duration>,
    pub records: Option<i64>,
}

#[derive(Debug)]
pub(crate) struct AuditFollower {
    pub(crate) store: Store,
    pub(crate) keep: AuditKeep,
    /// Where records go that are removed from the store.
    pub(crate) archive: Option<AuditArchive>,
    pub(crate) anchor: Option<AuditAnchor>,
    pub(crate) export: Option<AuditExport>,
    pub(crate) render: RenderRecord,
    /// Records that are in the log, but were not passed on.
    pub(crate) export_lost: Arc<AtomicU64>,
}

/// How far it is.
#[derive(Debug, Default)]
struct Progress {
    exported: Option<i64>,
    otlp: Option<OtlpLogs>,
    /// The last batch was lost: that is said once, not each time.
    is_losing: bool,
    /// The end that was noted last by this program; `None`: it has not looked at the anchor yet.
    anchored: Option<i64>,
    trouble: Option<String>,
}

impl AuditFollower {
    /// Until `end`; what is in the log then is passed on.
    pub(crate) async fn run(self, end: CancellationToken) {
        let this = Arc::new(self);
        let otlp = this.export.as_ref().and_then(|export| match export {
            AuditExport::Otlp(target) => Some(OtlpLogs::new(target.clone())),
            AuditExport::Lines(_) => None,
        });
        let mut progress = Progress { otlp, ..Progress::default() };
        let (mut anchor_at, mut prune_at) = (Instant::now(), Instant::now());
        loop {
            let now = Instant::now();
            if prune_at <= now {
                this.tell(&mut progress, this.prune().await);
                prune_at = now + PRUNE;
            }
            let is_anchored = anchor_at <= now;
            if is_anchored {
                anchor_at = now + ANCHOR;
            }
            let done = this.follow(&mut progress, is_anchored, &end).await;
            this.tell(&mut progress, done);
            tokio::select! {
                () = sleep(LOOK) => {}
                () = end.cancelled() => break,
            }
        }
        Box::pin(this.take_leave(&mut progress)).await;
    }

    /// Passes on what is left; a collector that is slow is not waited for.
    async fn take_leave(self: &Arc<Self>, progress: &mut Progress) {
        if let Some(otlp) = &mut progress.otlp {
            otlp.hurry();
        }
        let cut = CancellationToken::new();
        let done = {
            let last = self.follow(progress, true, &cut);
            tokio::pin!(last);
            tokio::select! {
                done = &mut last => done,
                () = sleep(FAREWELL) => {
                    cut.cancel();
                    last.await
                }
            }
        };
        self.tell(progress, done);
        let (Some(export), Some(exported)) = (&self.export, progress.exported) else { return };
        let newest = self.store.audit_head().await.ok().flatten().map_or(0, |head| head.seq);
        if exported < newest && !export.is_remembering() {
            tracing::error!(
                records = newest - exported,
                first = exported + 1,
                "audit records were not passed on before the end: `trunkline audit export` writes them"
            );
        }
    }

    /// Is there anything to do?
    pub(crate) fn is_needed(&self) -> bool {
        self.keep != AuditKeep::default() || self.anchor.is_some() || self.export.is_some()
    }

    /// Neither an export that fails keeps the anchor from being set, nor the other way round.
    async fn follow(
        self: &Arc<Self>,
        progress: &mut Progress,
        is_anchored: bool,
        end: &CancellationToken,
    ) -> Result<(), String> {
        let head = self.store.audit_head().await.map_err(|error| error.to_string())?;
        let newest = head.map_or(0, |head| head.seq);
        let exported = self.pass_on(progress, newest, end).await;
        let anchored = match head {
            Some(head) if is_anchored => self.set_anchor(progress, head).await,
            _ => Ok(()),
        };
        exported.and(anchored)
    }

    async fn pass_on(
        self: &Arc<Self>,
        progress: &mut Progress,
        newest: i64,
        end: &CancellationToken,
    ) -> Result<(), String> {
        let Some(export) = &self.export else { return Ok(()) };
        let mut last = progress.exported.unwrap_or_else(|| first(export, newest));
        progress.exported = Some(last);
        if let Some(why) = progress.otlp.as_ref().and_then(OtlpLogs::held) {
            return Err(format!("the export: {why}"));
        }
        while last < newest {
            let until = newest.min(last + PAGE);
            let records = self.page(last, until).await.map_err(|error| error.to_string())?;
            let found = i64::try_from(records.len()).unwrap_or(i64::MAX);
            let pruned = u64::try_from(until - last - found).unwrap_or(0);
            match export {
                AuditExport::Lines(lines) => {
                    let shown = records.iter().map(self.render).collect::<Vec<_>>();
                    let lines = lines.clone();
                    let written = tokio::task::spawn_blocking(move || lines.write(&shown));
                    in_words("the export", written.await)?;
                }
                AuditExport::Otlp(_) => self.post(progress, &records, end).await?,
            }
            if pruned > 0 {
                self.lose(progress, pruned, "they were removed by the rules of retention before");
            }
            last = until;
            progress.exported = Some(last);
        }
        Ok(())
    }

    /// In batches; each that is done with is never sent again.
    async fn post(
        &self,
        progress: &mut Progress,
        records: &[AuditRecord],
        end: &CancellationToken,
    ) -> Result<(), String> {
        for batch in records.chunks(BATCH) {
            let Some(otlp) = &mut progress.otlp else { return Ok(()) };
            match otlp.send(batch, self.render, end).await {
                BatchResult::Taken => progress.is_losing = false,
                BatchResult::TakenInPart(PartialSuccess { rejected, why }) => {
                    // No more can be lost than were sent, whatever the collector says.
                    self.lose(progress, rejected.min(batch.len() as u64), &why);
                }
                BatchResult::Lost(why) => self.lose(progress, batch.len() as u64, &why),
                BatchResult::Held(why) => return Err(format!("the export: {why}")),
            }
            progress.exported = batch.last().map(|record| record.seq).or(progress.exported);
        }
        Ok(())
    }

    fn lose(&self, progress: &mut Progress, records: u64, why: &str) {
        // Relaxed: a count that is only shown.
        self.export_lost.fetch_add(records, Ordering::Relaxed);
        if !progress.is_losing {
            tracing::error!(
                records,
                why,
                "audit records were not passed on: `trunkline audit export` writes what is in the store"
            );
            progress.is_losing = true;
        }
    }

    async fn set_anchor(
        self: &Arc<Self>,
        progress: &mut Progress,
        head: AuditHead,
    ) -> Result<(), String> {
        let Some(anchor) = &self.anchor else { return Ok(()) };
        if progress.anchored == Some(head.seq) {
            return Ok(());
        }
        if progress.anchored.is_none() {
            self.check_anchored(anchor, head).await?;
        }
        let own = Arc::clone(self);
        let noted = tokio::task::spawn_blocking(move || match &own.anchor {
            Some(anchor) => anchor.note(head, clock::now()),
            None => Ok(()),
        });
        in_words("the anchor", noted.await)?;
        progress.anchored = Some(head.seq);
        Ok(())
    }

    /// Is the log the one that is anchored? One that was set back must not be anchored anew: that would
    /// overwrite the proof.
    async fn check_anchored(&self, anchor: &AuditAnchor, head: AuditHead) -> Result<(), String> {
        let Some(noted) = anchor.noted()? else { return Ok(()) };
        let only = AuditFilter {
            since_seq: Some(noted.seq),
            until_seq: Some(noted.seq),
            ..AuditFilter::default()
        };
        let found = self.store.audit(only, 1).await.map_err(|error| error.to_string())?;
        // One that was removed by the rules of retention is not there any more.
        let is_other = found.first().is_some_and(|record| record.hash != noted.hash);
        if noted.seq <= head.seq && !is_other {
            return Ok(());
        }
        Err(format!(
            "the audit log was set back: {} knows record {}, which the store does not have as it was; nothing \
             is anchored until that is cleared up (`trunkline audit verify --anchor`) and the file is moved away",
            anchor.place(),
            noted.seq
        ))
    }

    /// Those behind `last` up to `until`, the oldest first.
    async fn page(&self, last: i64, until: i64) -> Result<Vec<AuditRecord>, StoreError> {
        let filter = AuditFilter {
            since_seq: Some(last + 1),
            until_seq: Some(until),
            ..AuditFilter::default()
        };
        let mut records = self.store.audit(filter, usize::try_from(PAGE).unwrap_or(1)).await?;
        records.reverse();
        Ok(records)
    }

    /// A bounded part after the other. How many went, and the last of them.
    async fn prune_parts(
        &self,
        retention: AuditRetention,
    ) -> Result<(u64, Option<AuditHead>), String> {
        let (mut removed, mut last) = (0, None);
        while let Some((first, until)) =
            self.store.prunable_audit(retention).await.map_err(words)?
        {
            if let Some(archive) = &self.archive {
                let records = self.records(first, until).await.map_err(words)?;
                let archive = archive.clone();
                let kept = tokio::task::spawn_blocking(move || archive.keep(&records));
                in_words("the archive", kept.await)?;
            }
            let part = AuditRetention { upto: Some(until), ..retention };
            let Some(pruned) = self.store.prune_audit(part).await.map_err(words)? else { break };
            removed += pruned.removed;
            last = Some(pruned.last);
        }
        Ok((removed, last))
    }

    /// All of these, the oldest first.
    async fn records(&self, first: i64, until: i64) -> Result<Vec<AuditRecord>, StoreError> {
        let (mut all, mut at) = (Vec::new(), first - 1);
        while at < until {
            let next = until.min(at + PAGE);
            all.extend(self.page(at, next).await?);
            at = next;
        }
        Ok(all)
    }

    async fn prune(&self) -> Result<(), String> {
        if self.keep == AuditKeep::default() {
            return Ok(());
        }
        let age = self.keep.age.map(|age| i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
        let retention = AuditRetention {
            before: age.map(|age| clock::now().saturating_sub(age)),
            records: self.keep.records,
            upto: None,
        };
        // One replica at a time: what one archives another must not have removed.
        let holder = hex::encode(crate::access::random::<8>().unwrap_or_default());
        if !self.store.take_lease(PRUNING, &holder, PRUNE).await.map_err(words)? {
            return Ok(());
        }
        let pruned = self.prune_parts(retention).await;
        drop(self.store.end_lease(PRUNING, &holder).await);
        let (removed, Some(last)) = pruned? else { return Ok(()) };
        let hash: String = last.hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let detail =
            format!("{removed} records up to number {} were removed; its hash: {hash}", last.seq);
        let record = NewAudit {
            at: clock::now(),
            principal: "trunkline".to_owned(),
            action: "prune-audit".to_owned(),
            outcome: "ok".to_owned(),
            detail: Some(detail),
            ..NewAudit::default()
        };
        self.store.append_audit(vec![record]).await.map(drop).map_err(words)
    }

    /// Once, when it begins and when it is over.
    fn tell(&self, progress: &mut Progress, done: Result<(), String>) {
        match (done, &progress.trouble) {
            (Err(why), None) => {
                tracing::error!(%why, "the audit log is not passed on, anchored or pruned; it is tried again");
                progress.trouble = Some(why);
            }
            (Ok(()), Some(_)) => {
                tracing::info!("the audit log is passed on again");
                progress.trouble = None;
            }
            _ => {}
        }
    }
}

/// The record behind which an export begins. What is before a first start is not sent: `audit export` writes it.
fn first(export: &AuditExport, newest: i64) -> i64 {
    let last = export.last_seq().unwrap_or(newest);
    if last > newest {
        tracing::error!(
            exported = last,
            newest,
            "the audit log was set back: its export has records that the store does not have; new ones follow"
        );
    }
    last.min(newest)
}

#[expect(clippy::needless_pass_by_value, reason = "a way to name it in `map_err`")]
fn words(error: StoreError) -> String {
    error.to_string()
}

fn in_words(
    what: &str,
    done: Result<io::Result<()>, tokio::task::JoinError>,
) -> Result<(), String> {
    match done {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(format!("{what}: {error}")),
        Err(_) => Err(format!("{what}: it was interrupted")),
    }
}
