//! `AuditFollower`: reads what is in the log, whoever has written it, and passes it on: to a file or syslog, and its
//! end to an anchor. And removes what is older than it has to be kept.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};
use trunkline_store::{
    AuditFilter, AuditHead, AuditRecord, AuditRetention, NewAudit, Store, StoreError,
};

use super::anchor::AuditAnchor;
use super::export::AuditExport;
use crate::clock;

/// Between two looks at the log: how late a record may arrive elsewhere.
const LOOK: Duration = Duration::from_secs(1);
/// Between two notes of its end: what is written in between could be rolled back unnoticed.
const ANCHOR: Duration = Duration::from_secs(60);
/// Between two removals of what is too old.
const PRUNE: Duration = Duration::from_secs(60 * 60);
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
    pub(crate) anchor: Option<AuditAnchor>,
    pub(crate) export: Option<AuditExport>,
    pub(crate) render: RenderRecord,
}

/// How far it is.
#[derive(Debug, Default)]
struct Progress {
    exported: Option<i64>,
    /// The end that was noted last by this program; `None`: it has not looked at the anchor yet.
    anchored: Option<i64>,
    trouble: Option<String>,
}

impl AuditFollower {
    /// Until `end`; what is in the log then is passed on.
    pub(crate) async fn run(self, end: impl Future<Output = ()>) {
        tokio::pin!(end);
        let this = Arc::new(self);
        let mut progress = Progress::default();
        let (mut anchor_at, mut prune_at) = (Instant::now(), Instant::now());
        loop {
            let now = Instant::now();
            if prune_at <= now {
                this.tell(&mut progress, this.prune().await.map_err(|it| it.to_string()));
                prune_at = now + PRUNE;
            }
            let is_anchored = anchor_at <= now;
            if is_anchored {
                anchor_at = now + ANCHOR;
            }
            let done = this.follow(&mut progress, is_anchored).await;
            this.tell(&mut progress, done);
            tokio::select! {
                () = sleep(LOOK) => {}
                () = &mut end => break,
            }
        }
        let done = this.follow(&mut progress, true).await;
        this.tell(&mut progress, done);
    }

    /// Is there anything to do?
    pub(crate) fn is_needed(&self) -> bool {
        self.keep != AuditKeep::default() || self.anchor.is_some() || self.export.is_some()
    }

    async fn follow(
        self: &Arc<Self>,
        progress: &mut Progress,
        is_anchored: bool,
    ) -> Result<(), String> {
        let head = self.store.audit_head().await.map_err(|error| error.to_string())?;
        if let (Some(export), None) = (&self.export, progress.exported) {
            // What is before a first start is not sent: `audit export` writes it.
            let newest = head.map_or(0, |head| head.seq);
            let last = export.last_seq().unwrap_or(newest);
            if last > newest {
                tracing::error!(
                    exported = last,
                    newest,
                    "the audit log was set back: its export has records that the store does not have; new ones follow"
                );
            }
            progress.exported = Some(last.min(newest));
        }
        let Some(head) = head else { return Ok(()) };
        if let Some(mut last) = progress.exported {
            while last < head.seq {
                let records = self.page(last).await.map_err(|error| error.to_string())?;
                // Pruned meanwhile: there is nothing in this window any more.
                last = records.last().map_or(last + PAGE, |record| record.seq).min(head.seq);
                let (own, shown) =
                    (Arc::clone(self), records.iter().map(self.render).collect::<Vec<_>>());
                let written = tokio::task::spawn_blocking(move || match &own.export {
                    Some(export) => export.write(&shown),
                    None => Ok(()),
                });
                in_words("the export", written.await)?;
                progress.exported = Some(last);
            }
        }
        if let Some(anchor) = &self.anchor
            && is_anchored
            && progress.anchored != Some(head.seq)
        {
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
        }
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

    /// Those behind this one, the oldest first.
    async fn page(&self, last: i64) -> Result<Vec<AuditRecord>, StoreError> {
        let filter = AuditFilter {
            since_seq: Some(last + 1),
            until_seq: Some(last + PAGE),
            ..AuditFilter::default()
        };
        let mut records = self.store.audit(filter, usize::try_from(PAGE).unwrap_or(1)).await?;
        records.reverse();
        Ok(records)
    }

    async fn prune(&self) -> Result<(), StoreError> {
        if self.keep == AuditKeep::default() {
            return Ok(());
        }
        let age = self.keep.age.map(|age| i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
        let retention = AuditRetention {
            before: age.map(|age| clock::now().saturating_sub(age)),
            records: self.keep.records,
        };
        let (mut removed, mut last) = (0, None);
        while let Some(pruned) = self.store.prune_audit(retention).await? {
            removed += pruned.removed;
            last = Some(pruned.last);
            if !pruned.is_partial {
                break;
            }
        }
        let Some(last) = last else { return Ok(()) };
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
        self.store.append_audit(vec![record]).await.map(drop)
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
