//! `Log`: where records go. The store is one, tests have another.

use std::fmt::Debug;
use std::pin::Pin;

use trunkline_store::{AuditFilter, NewAudit, Store, StoreError};

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

pub trait AuditLog: Debug + Send + Sync {
    /// All of them, in this order and one behind the other, or none.
    fn append(&self, records: Vec<NewAudit>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Are these, in this order, among the newest? Asked when it is uncertain whether they were
    /// written.
    fn has<'a>(&'a self, records: &'a [NewAudit]) -> BoxFuture<'a, Result<bool, StoreError>>;
}

/// How far back a batch is looked for: replicas may have written since.
const NEWEST: usize = 1_000;

impl AuditLog for Store {
    fn append(&self, records: Vec<NewAudit>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move { self.append_audit(records).await.map(drop) })
    }

    fn has<'a>(&'a self, records: &'a [NewAudit]) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let mut newest = self.audit(AuditFilter::default(), NEWEST).await?;
            newest.reverse();
            let written: Vec<&NewAudit> = newest.iter().map(|record| &record.what).collect();
            // What was written is not always what was given.
            let records: Vec<NewAudit> = records.iter().cloned().map(NewAudit::storable).collect();
            let mut runs = written.windows(records.len().max(1));
            Ok(runs.any(|run| run.iter().copied().eq(&records)))
        })
    }
}

/// The log of a store that was sealed with another key: its end cannot be told from a forged one, and
/// nothing is written behind it.
#[derive(Debug)]
pub struct LockedLog {
    pub why: String,
}

impl LockedLog {
    fn refused<T>(&self) -> Result<T, StoreError> {
        Err(StoreError::Unavailable { reason: self.why.clone() })
    }
}

impl AuditLog for LockedLog {
    fn append(&self, _: Vec<NewAudit>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(self.refused()))
    }

    fn has<'a>(&'a self, _: &'a [NewAudit]) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(std::future::ready(self.refused()))
    }
}
