//! `AuditLog`: where records go. The store is one, tests have another.

use std::fmt::Debug;
use std::pin::Pin;

use trunkline_store::{NewAudit, Store, StoreError};

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// How far a writer is: so many of its records, counted from its first one, are in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditMark {
    pub writer: String,
    pub until: u64,
}

pub trait AuditLog: Debug + Send + Sync {
    /// All of them, in this order and one behind the other, and the mark; or nothing.
    fn append(
        &self,
        records: Vec<NewAudit>,
        mark: AuditMark,
    ) -> BoxFuture<'_, Result<(), StoreError>>;

    /// How many records of this writer are in the log. Asked when it starts, and when it is uncertain whether
    /// something was written.
    fn mark<'a>(&'a self, writer: &'a str) -> BoxFuture<'a, Result<u64, StoreError>>;
}

fn setting_of(writer: &str) -> String {
    format!("audit.writer.{writer}")
}

impl AuditLog for Store {
    fn append(
        &self,
        records: Vec<NewAudit>,
        AuditMark { writer, until }: AuditMark,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let mark = (setting_of(&writer), until.to_string().into_bytes());
        Box::pin(async move { self.append_marked_audit(records, mark).await.map(drop) })
    }

    fn mark<'a>(&'a self, writer: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move {
            let Some(kept) = self.setting(&setting_of(writer)).await? else { return Ok(0) };
            let until = String::from_utf8(kept).ok().and_then(|text| text.parse().ok());
            until.ok_or_else(|| StoreError::Corrupt {
                reason: "it does not say how far a writer of the audit log is".to_owned(),
            })
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
    fn append(&self, _: Vec<NewAudit>, _: AuditMark) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(self.refused()))
    }

    fn mark<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(std::future::ready(self.refused()))
    }
}
