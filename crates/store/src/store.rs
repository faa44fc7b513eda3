//! The store as the control plane sees it: one handle, whatever database is behind it.

use std::sync::Arc;
use std::time::Duration;

use crate::audit::{self, AuditFilter, AuditHead, AuditKey, AuditRecord, AuditVerdict, NewAudit};
use crate::change::{self, Change, Committed};
use crate::changes::Changes;
use crate::error::StoreError;
use crate::limits::PAGE;
use crate::postgres::Pool;
use crate::records::{CredentialRecord, GrantRecord, HealthSample, KeyRecord, NewTool};
use crate::records::{PendingLogin, ServerRecord, ToolRecord};
use crate::records::{credential, grant, health, key, lease, pending, server, setting, tool};
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
pub struct Options {
    /// Authenticate the end of the audit log: the first is used, the others (of before a rotation)
    /// are recognised. Without any the end is only hashed.
    pub audit_keys: Vec<AuditKey>,
}

impl Store {
    /// Opens the database and brings it to the schema of this version.
    pub async fn open(url: &StoreUrl, options: Options) -> Result<Self, StoreError> {
        let backend = match &url.0 {
            StoreLocation::Sqlite(path) => Backend::Sqlite(Worker::open(path.clone()).await?),
            StoreLocation::Postgres(address) => Backend::Postgres(Pool::open(address).await?),
        };
        Ok(Self { backend, keys: options.audit_keys.into() })
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
            Backend::Sqlite(_) => Changes::never(),
            Backend::Postgres(pool) => Changes::told_by(pool.listen()),
        }
    }

    // -- servers

    pub async fn server(&self, id: &str) -> Result<ServerRecord, StoreError> {
        let id = id.to_owned();
        self.read(|session| Box::pin(async move { server::by_id(session, &id).await })).await
    }

    pub async fn server_by_name(&self, name: &str) -> Result<ServerRecord, StoreError> {
        let name = name.to_owned();
        self.read(|session| Box::pin(async move { server::by_name(session, &name).await })).await
    }

    /// By name, those after this name; from the beginning if it is empty.
    pub async fn servers(
        &self,
        after: &str,
        limit: usize,
    ) -> Result<Vec<ServerRecord>, StoreError> {
        let after = after.to_owned();
        self.read(move |session| {
            Box::pin(async move { server::list(session, &after, limit).await })
        })
        .await
    }

    /// Every server, by name, read some at a time: one that is renamed meanwhile may be missed.
    pub async fn all_servers(&self) -> Result<Vec<ServerRecord>, StoreError> {
        let (mut all, mut after) = (Vec::new(), String::new());
        loop {
            let page = self.servers(&after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(all) };
            after.clone_from(&last.name);
            all.extend(page);
        }
    }

    // -- credentials and grants

    pub async fn credential(
        &self,
        owner: &str,
        name: &str,
    ) -> Result<CredentialRecord, StoreError> {
        let (owner, name) = (owner.to_owned(), name.to_owned());
        self.read(|session| Box::pin(async move { credential::get(session, &owner, &name).await }))
            .await
    }

    pub async fn credentials(&self, owner: &str) -> Result<Vec<CredentialRecord>, StoreError> {
        let owner = owner.to_owned();
        self.read(|session| Box::pin(async move { credential::list(session, &owner).await })).await
    }

    /// Those that are sealed with another key than this one, by id, after this id.
    pub async fn credentials_under_other_keys(
        &self,
        key_version: i64,
        after: &str,
        limit: usize,
    ) -> Result<Vec<CredentialRecord>, StoreError> {
        let after = after.to_owned();
        self.read(move |session| {
            Box::pin(async move {
                credential::under_other_keys(session, key_version, &after, limit).await
            })
        })
        .await
    }

    /// Replaces what is sealed if it is still what `old` says; Stale otherwise.
    pub async fn reseal_credential(
        &self,
        old: CredentialRecord,
        sealed: Vec<u8>,
        key_version: i64,
    ) -> Result<(), StoreError> {
        self.write(move |session| {
            Box::pin(async move { credential::reseal(session, old, sealed, key_version).await })
        })
        .await
    }

    pub async fn grant(
        &self,
        server_id: &str,
        issuer: &str,
        principal: &str,
    ) -> Result<GrantRecord, StoreError> {
        let [server, issuer, principal] = [server_id, issuer, principal].map(str::to_owned);
        self.read(|session| {
            Box::pin(async move { grant::get(session, &server, &issuer, &principal).await })
        })
        .await
    }

    pub async fn grants(&self, server_id: &str) -> Result<Vec<GrantRecord>, StoreError> {
        let server_id = server_id.to_owned();
        self.read(|session| Box::pin(async move { grant::list(session, &server_id).await })).await
    }

    /// Those that are sealed with another key than this one.
    pub async fn grants_under_other_keys(
        &self,
        key_version: i64,
        limit: usize,
    ) -> Result<Vec<GrantRecord>, StoreError> {
        self.read(move |session| {
            Box::pin(async move { grant::under_other_keys(session, key_version, limit).await })
        })
        .await
    }

    // -- logins under way

    pub async fn put_pending_login(&self, login: PendingLogin, now: i64) -> Result<(), StoreError> {
        self.write(move |session| Box::pin(async move { pending::put(session, login, now).await }))
            .await
    }

    /// Once, and only in time.
    pub async fn take_pending_login(
        &self,
        id: &str,
        now: i64,
    ) -> Result<Option<PendingLogin>, StoreError> {
        let id = id.to_owned();
        self.write(move |session| Box::pin(async move { pending::take(session, &id, now).await }))
            .await
    }

    pub async fn forget_pending_logins(&self, server_id: &str) -> Result<(), StoreError> {
        let server_id = server_id.to_owned();
        self.write(|session| Box::pin(async move { pending::forget(session, &server_id).await }))
            .await
    }

    // -- leases

    /// The right to do something alone, for a while: it ends by itself, in case its holder dies. False
    /// while another holder has it.
    pub async fn take_lease(
        &self,
        name: &str,
        holder: &str,
        length: Duration,
    ) -> Result<bool, StoreError> {
        let (name, holder) = (name.to_owned(), holder.to_owned());
        let length = i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
        self.write(move |session| {
            Box::pin(async move { lease::take(session, &name, &holder, length).await })
        })
        .await
    }

    pub async fn end_lease(&self, name: &str, holder: &str) -> Result<(), StoreError> {
        let (name, holder) = (name.to_owned(), holder.to_owned());
        self.write(|session| Box::pin(async move { lease::end(session, &name, &holder).await }))
            .await
    }

    // -- tools

    /// The tools of this server are these, and all are available.
    pub async fn replace_tools(
        &self,
        server_id: &str,
        tools: Vec<NewTool>,
        at: i64,
    ) -> Result<(), StoreError> {
        let server_id = server_id.to_owned();
        self.write(move |session| {
            Box::pin(async move { tool::replace(session, &server_id, tools, at).await })
        })
        .await
    }

    pub async fn mark_tools_unavailable(&self, server_id: &str) -> Result<(), StoreError> {
        let server_id = server_id.to_owned();
        self.write(|session| {
            Box::pin(async move { tool::mark_unavailable(session, &server_id).await })
        })
        .await
    }

    /// By name, those after this name.
    pub async fn tools_of(
        &self,
        server_id: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<ToolRecord>, StoreError> {
        let (server_id, after) = (server_id.to_owned(), after.to_owned());
        self.read(move |session| {
            Box::pin(async move { tool::of_server(session, &server_id, &after, limit).await })
        })
        .await
    }

    /// By server id and name, those after this tool of this server.
    pub async fn tools(
        &self,
        after: (&str, &str),
        limit: usize,
    ) -> Result<Vec<ToolRecord>, StoreError> {
        let (server_id, name) = (after.0.to_owned(), after.1.to_owned());
        self.read(move |session| {
            Box::pin(async move { tool::all(session, (&server_id, &name), limit).await })
        })
        .await
    }

    // -- health

    /// Samples of servers that are gone are left out.
    pub async fn append_health(&self, samples: Vec<HealthSample>) -> Result<(), StoreError> {
        self.write(|session| Box::pin(async move { health::append(session, samples).await })).await
    }

    /// Newest first.
    pub async fn health(
        &self,
        server_id: &str,
        limit: usize,
    ) -> Result<Vec<HealthSample>, StoreError> {
        let server_id = server_id.to_owned();
        self.read(move |session| {
            Box::pin(async move { health::latest(session, &server_id, limit).await })
        })
        .await
    }

    /// Removes the samples from before this time, and says how many.
    pub async fn prune_health(&self, before: i64) -> Result<u64, StoreError> {
        self.write(move |session| Box::pin(async move { health::prune(session, before).await }))
            .await
    }

    // -- keys

    pub async fn key(&self, id: &str) -> Result<KeyRecord, StoreError> {
        let id = id.to_owned();
        self.read(|session| Box::pin(async move { key::by_id(session, &id).await })).await
    }

    pub async fn key_by_prefix(&self, prefix: &str) -> Result<KeyRecord, StoreError> {
        let prefix = prefix.to_owned();
        self.read(|session| Box::pin(async move { key::by_prefix(session, &prefix).await })).await
    }

    /// By prefix, those after this one.
    pub async fn keys(&self, after: &str, limit: usize) -> Result<Vec<KeyRecord>, StoreError> {
        let after = after.to_owned();
        self.read(move |session| Box::pin(async move { key::list(session, &after, limit).await }))
            .await
    }

    /// When these keys, by id, were last used.
    pub async fn touch_keys(&self, uses: Vec<(String, i64)>) -> Result<(), StoreError> {
        self.write(|session| Box::pin(async move { key::touch(session, uses).await })).await
    }

    // -- settings

    pub async fn setting(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let name = name.to_owned();
        self.read(|session| Box::pin(async move { setting::get(session, &name).await })).await
    }

    pub async fn put_setting(&self, name: &str, value: Vec<u8>) -> Result<(), StoreError> {
        let name = name.to_owned();
        self.write(|session| Box::pin(async move { setting::put(session, &name, value).await }))
            .await
    }

    /// Returns what is there afterwards: this value, or that of whoever was first.
    pub async fn put_setting_if_absent(
        &self,
        name: &str,
        value: Vec<u8>,
    ) -> Result<Vec<u8>, StoreError> {
        let name = name.to_owned();
        self.write(|session| {
            Box::pin(async move { setting::put_if_absent(session, &name, value).await })
        })
        .await
    }

    // -- audit

    /// Returns the number of the last record.
    pub async fn append_audit(&self, records: Vec<NewAudit>) -> Result<i64, StoreError> {
        Ok(self.commit(Vec::new(), records).await?.last_audit)
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

    /// Checks the whole log, some records at a time: others may go on writing.
    pub async fn verify_audit(&self) -> Result<AuditVerdict, StoreError> {
        let keys = Arc::clone(&self.keys);
        let mut checker = self
            .read(|session| Box::pin(async move { audit::begin(session, &keys).await }))
            .await?;
        loop {
            let wanted = checker.wants();
            let records = self
                .read(move |session| Box::pin(async move { audit::next(session, wanted).await }))
                .await;
            let records = match records {
                Ok(records) => records,
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
        self.run(TransactionMode::Read, operation).await
    }

    pub(crate) async fn write<T: Send + 'static>(
        &self,
        operation: impl for<'a> FnOnce(&'a mut Session) -> Doing<'a, T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(TransactionMode::Write, operation).await
    }

    async fn run<T: Send + 'static>(
        &self,
        mode: TransactionMode,
        operation: impl for<'a> FnOnce(&'a mut Session) -> Doing<'a, T> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &self.backend {
            Backend::Sqlite(worker) => worker.run(mode, operation).await,
            Backend::Postgres(pool) => pool.run(mode, operation).await,
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
