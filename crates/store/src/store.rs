//! The store as the control plane sees it: one handle, whatever database is behind it.

use std::sync::Arc;
use std::time::Duration;

use crate::audit::{
    self, AuditAppend, AuditFilter, AuditHead, AuditKey, AuditRecord, AuditRetention,
};
use crate::audit::{AuditVerdict, NewAudit, PrunedAudit};
use crate::change::{self, Change, Committed};
use crate::changes::Changes;
use crate::dump::{self, Dumped};
use crate::error::StoreError;
use crate::limits::{DUMP, OPERATION};
use crate::postgres::Pool;
use crate::schema::SchemaGoal;
use crate::session::{Doing, Session, TransactionMode};
use crate::sqlite::Worker;
use crate::url::{StoreLocation, StoreUrl};

/// Cheap to clone. Every operation is one transaction; a caller that stops waiting either prevents
/// it or lets it be done whole.
#[derive(Debug, Clone)]
pub struct Store {
    backend: Backend,
    keys: Arc<[AuditKey]>,
}

#[derive(Debug, Clone)]
enum Backend {
    Sqlite(Worker),
    Postgres(Pool),
}

#[derive(Debug, Clone, Default)]
pub struct StoreOptions {
    /// Authenticate the end of the audit log: the first is used, the others (of before a rotation)
    /// are recognised. Without any the end is only hashed.
    pub audit_keys: Vec<AuditKey>,
}

impl Store {
    /// Opens the database and brings it to the schema of this version.
    pub async fn open(url: &StoreUrl, options: StoreOptions) -> Result<Self, StoreError> {
        let backend = match &url.0 {
            StoreLocation::Sqlite(path) => {
                Backend::Sqlite(Worker::open(path.clone(), SchemaGoal::Current).await?)
            }
            StoreLocation::Postgres(address) => {
                Backend::Postgres(Pool::open(address, SchemaGoal::Current).await?)
            }
        };
        Ok(Self { backend, keys: options.audit_keys.into() })
    }

    /// Opens a store that is there, and leaves its schema as it is, whatever older version made it.
    pub async fn open_as_it_is(url: &StoreUrl, options: StoreOptions) -> Result<Self, StoreError> {
        let backend = match &url.0 {
            StoreLocation::Sqlite(path) => {
                Backend::Sqlite(Worker::open(path.clone(), SchemaGoal::AsItIs).await?)
            }
            StoreLocation::Postgres(address) => {
                Backend::Postgres(Pool::open(address, SchemaGoal::AsItIs).await?)
            }
        };
        Ok(Self { backend, keys: options.audit_keys.into() })
    }

    /// All that the store holds, in one state, to `take`. Others go on working with it. The version of its schema.
    pub async fn dump(
        &self,
        mut take: impl FnMut(Dumped) -> Result<(), String> + Send + 'static,
    ) -> Result<i64, StoreError> {
        self.run(DUMP, TransactionMode::Read, move |session| {
            Box::pin(async move { dump::read(session, &mut take).await })
        })
        .await
    }

    /// Makes a store of what `give` gives, all of it or nothing: where there is none yet. `version`: the schema of what
    /// is given. How many rows were written.
    pub async fn restore(
        url: &StoreUrl,
        version: i64,
        mut give: impl FnMut() -> Result<Option<Dumped>, String> + Send + 'static,
    ) -> Result<u64, StoreError> {
        let backend = match &url.0 {
            StoreLocation::Sqlite(path) => {
                Backend::Sqlite(Worker::open(path.clone(), SchemaGoal::New).await?)
            }
            StoreLocation::Postgres(address) => {
                Backend::Postgres(Pool::open(address, SchemaGoal::New).await?)
            }
        };
        let store = Self { backend, keys: Vec::new().into() };
        let written = store
            .run(DUMP, TransactionMode::Write, move |session| {
                Box::pin(async move { dump::write(session, version, &mut give).await })
            })
            .await;
        store.close().await;
        written
    }

    /// Waits until what was asked before is done and all is closed. Later calls fail.
    pub async fn close(&self) {
        match &self.backend {
            Backend::Sqlite(worker) => worker.close().await,
            Backend::Postgres(pool) => pool.close().await,
        }
    }

    /// Makes all changes, in this order, and appends all audit records; or does nothing at all.
    pub async fn commit(
        &self,
        changes: Vec<Change>,
        audit: Vec<NewAudit>,
    ) -> Result<Committed, StoreError> {
        let keys = Arc::clone(&self.keys);
        self.write(|session| {
            Box::pin(async move { change::commit(session, changes, audit, &keys).await })
        })
        .await
    }

    /// Word of what is committed, by anybody. From the first call on a connection is kept for it.
    pub fn changes(&self) -> Changes {
        match &self.backend {
            // SQLite has no way to tell other processes; whoever needs to know looks now and then.
            Backend::Sqlite(_) => Changes::never(),
            Backend::Postgres(pool) => Changes::told_by(pool.listen()),
        }
    }

    /// Returns the number of the last record.
    pub async fn append_audit(&self, records: Vec<NewAudit>) -> Result<i64, StoreError> {
        Ok(self.commit(Vec::new(), records).await?.last_audit)
    }

    /// Appends the records and puts the mark, a setting that says how far their writer is: both or neither. Returns
    /// the number of the last record.
    pub async fn append_marked_audit(
        &self,
        records: Vec<NewAudit>,
        mark: (String, Vec<u8>),
    ) -> Result<i64, StoreError> {
        let keys = Arc::clone(&self.keys);
        self.write(move |session| {
            let append = AuditAppend { records, mark: Some(mark), ..AuditAppend::default() };
            Box::pin(async move { audit::append(session, append, &keys).await })
        })
        .await
    }

    /// How the database goes about such a query, line by line in its own words: whether it reads an index or all.
    pub async fn explain_audit(
        &self,
        filter: AuditFilter,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        self.read(move |session| {
            Box::pin(async move { audit::explain(session, filter, limit).await })
        })
        .await
    }

    /// Newest first.
    pub async fn audit(
        &self,
        filter: AuditFilter,
        limit: usize,
    ) -> Result<Vec<AuditRecord>, StoreError> {
        self.read(move |session| {
            Box::pin(async move { audit::query(session, filter, limit).await })
        })
        .await
    }

    /// The last record; none if nothing was ever logged.
    pub async fn audit_head(&self) -> Result<Option<AuditHead>, StoreError> {
        let keys = Arc::clone(&self.keys);
        self.read(|session| Box::pin(async move { audit::head(session, &keys).await })).await
    }

    /// The last record that was removed from the beginning of the log; none if all are there.
    pub async fn audit_checkpoint(&self) -> Result<Option<AuditHead>, StoreError> {
        let keys = Arc::clone(&self.keys);
        self.read(|session| Box::pin(async move { audit::checkpoint(session, &keys).await })).await
    }

    /// The first and the last of the records that `prune_audit` would remove next.
    pub async fn prunable_audit(
        &self,
        retention: AuditRetention,
    ) -> Result<Option<(i64, i64)>, StoreError> {
        let keys = Arc::clone(&self.keys);
        self.read(move |session| {
            Box::pin(async move { audit::prunable(session, retention, &keys).await })
        })
        .await
    }

    /// Removes some of the oldest records. `None`: none can go.
    pub async fn prune_audit(
        &self,
        retention: AuditRetention,
    ) -> Result<Option<PrunedAudit>, StoreError> {
        let keys = Arc::clone(&self.keys);
        self.write(move |session| {
            Box::pin(async move { audit::prune(session, retention, &keys).await })
        })
        .await
    }

    /// Checks the whole log, some records at a time: others may go on writing.
    pub async fn verify_audit(&self) -> Result<AuditVerdict, StoreError> {
        let keys = Arc::clone(&self.keys);
        let mut checker = self
            .read(|session| Box::pin(async move { audit::begin(session, &keys).await }))
            .await?;
        loop {
            let wanted = checker.wants();
            // A transaction for each batch: a long one would hold up the writer of SQLite and the
            // vacuum of Postgres.
            let records = self
                .read(move |session| Box::pin(async move { audit::next(session, wanted).await }))
                .await;
            let records = match records {
                Ok(records) => records,
                // A record that cannot be read is a finding, not an end: the chain around it is
                // still checked.
                Err(StoreError::Corrupt { reason }) => match checker.unreadable(&reason) {
                    Ok(()) => continue,
                    Err(verdict) => return Ok(verdict),
                },
                Err(error) => return Err(error),
            };
            if records.is_empty() {
                return Ok(checker.verdict());
            }
            for record in &records {
                if let Err(verdict) = checker.take(record) {
                    return Ok(verdict);
                }
            }
        }
    }

    pub(crate) async fn read<T: Send + 'static>(
        &self,
        operation: impl for<'a> FnOnce(&'a mut Session) -> Doing<'a, T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(OPERATION, TransactionMode::Read, operation).await
    }

    pub(crate) async fn write<T: Send + 'static>(
        &self,
        operation: impl for<'a> FnOnce(&'a mut Session) -> Doing<'a, T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(OPERATION, TransactionMode::Write, operation).await
    }

    async fn run<T: Send + 'static>(
        &self,
        limit: Duration,
        mode: TransactionMode,
        operation: impl for<'a> FnOnce(&'a mut Session) -> Doing<'a, T> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &self.backend {
            Backend::Sqlite(worker) => worker.run(mode, operation).await,
            Backend::Postgres(pool) => pool.run(limit, mode, operation).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may_move<T: Send>(_: T) {}

    /// So that tasks can be made of them, whatever runtime there is.
    #[test]
    fn what_is_asked_of_a_store_may_move_between_threads() {
        let asked = |store: &Store| {
            may_move(store.commit(Vec::new(), Vec::new()));
            may_move(store.verify_audit());
            may_move(store.servers("", 1));
            may_move(store.close());
        };
        let _: &dyn Fn(&Store) = &asked;
    }
}
