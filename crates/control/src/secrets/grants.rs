//! The grants of authorization servers in the store, sealed: the vault of `oauth`.

use std::sync::Arc;
use std::time::Duration;

use trunkline_gateway::shortened;
use trunkline_store::seal::Aad;
use trunkline_store::{Change, GrantRecord, PendingLogin, Store, StoreError};

use super::safe::Safe;
use crate::oauth::{Grant, Hold, KeptGrant, Parked, Vault, VaultError, VaultFuture, holder};

/// For everybody: who may use a server's grant is not decided here.
const EVERYBODY: &str = "-";

/// How long a renewal may take: asking the server and its issuer, and writing down what came. If its
/// process dies, others wait as long.
const RENEWAL: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
pub struct StoredGrants {
    store: Store,
    safe: Arc<Safe>,
}

impl StoredGrants {
    pub fn new(store: Store, safe: Arc<Safe>) -> Self {
        Self { store, safe }
    }

    async fn newest(&self, server: &str) -> Result<Option<KeptGrant>, VaultError> {
        let records = self.store.grants(server).await.map_err(unavailable)?;
        let ours = records.into_iter().filter(|record| record.principal == EVERYBODY);
        let kept = ours.map(|record| self.open(&record)).collect::<Result<Vec<_>, _>>()?;
        Ok(kept.into_iter().max_by_key(|kept| kept.grant.granted_at()))
    }

    fn open(&self, record: &GrantRecord) -> Result<KeptGrant, VaultError> {
        let row = record.row();
        let keys = self.safe.keys().map_err(unavailable)?;
        let opened = keys.open(&record.aad(&row), &record.sealed).map_err(unavailable)?;
        let grant = Grant::from_json(&opened).map_err(unavailable)?;
        Ok(KeptGrant { grant, revision: record.revision })
    }

    async fn put(
        &self,
        server: &str,
        grant: &Grant,
        after: Option<i64>,
    ) -> Result<i64, VaultError> {
        let keys = self.safe.keys().map_err(unavailable)?;
        let mut record = GrantRecord {
            server_id: server.to_owned(),
            issuer: grant.issuer().to_owned(),
            principal: EVERYBODY.to_owned(),
            sealed: Vec::new(),
            key_version: keys.current_id(),
            expires_at: grant.expires_at(),
            revision: 1,
        };
        let row = record.row();
        let json = zeroize::Zeroizing::new(grant.to_json());
        record.sealed = keys.seal(&record.aad(&row), &json).map_err(unavailable)?;
        let change = Change::PutGrant { record, expected: after };
        match self.store.commit(vec![change], Vec::new()).await {
            Ok(_) => Ok(after.map_or(1, |revision| revision + 1)),
            // Another replica has renewed it: its grant is the newer one.
            Err(StoreError::Stale) => Err(VaultError::Conflict),
            Err(error) => Err(unavailable(error)),
        }
    }

    async fn put_login(&self, login: Parked<'_>) -> Result<bool, VaultError> {
        let keys = self.safe.keys().map_err(unavailable)?;
        let sealed = keys.seal(&aad(login.id, login.server), login.secrets).map_err(unavailable)?;
        let pending = PendingLogin {
            id: login.id.to_owned(),
            server_id: login.server.to_owned(),
            sealed,
            expires_at: login.until,
        };
        self.store.put_pending_login(pending, login.now).await.map_err(unavailable)?;
        Ok(true)
    }

    async fn take_login(&self, id: &str, now: i64) -> Result<Option<Vec<u8>>, VaultError> {
        let taken = self.store.take_pending_login(id, now).await.map_err(unavailable)?;
        let Some(pending) = taken else { return Ok(None) };
        let keys = self.safe.keys().map_err(unavailable)?;
        let opened = keys.open(&aad(id, &pending.server_id), &pending.sealed);
        Ok(Some(opened.map_err(unavailable)?.to_vec()))
    }

    async fn renewing(&self, server: &str) -> Result<Option<Box<dyn Hold>>, VaultError> {
        let holder = holder().ok_or_else(|| unavailable("the system gives no random numbers"))?;
        let (store, name) = (self.store.clone(), format!("renew {server}"));
        let taken =
            store.take_lease(&name, &holder, shortened(RENEWAL)).await.map_err(unavailable)?;
        Ok(taken.then(|| Box::new(Renewing { store, name, holder }) as Box<dyn Hold>))
    }

    async fn remove(&self, server: &str, issuer: &str) -> Result<(), VaultError> {
        let [server_id, issuer, principal] = [server, issuer, EVERYBODY].map(str::to_owned);
        let change = Change::DeleteGrant { server_id, issuer, principal };
        match self.store.commit(vec![change], Vec::new()).await {
            Ok(_) | Err(StoreError::NotFound) => Ok(()),
            Err(error) => Err(unavailable(error)),
        }
    }
}

impl Vault for StoredGrants {
    fn load<'a>(
        &'a self,
        server: &'a str,
    ) -> VaultFuture<'a, Result<Option<KeptGrant>, VaultError>> {
        Box::pin(self.newest(server))
    }

    fn save<'a>(
        &'a self,
        server: &'a str,
        grant: &'a Grant,
        after: Option<i64>,
    ) -> VaultFuture<'a, Result<i64, VaultError>> {
        Box::pin(self.put(server, grant, after))
    }

    fn park<'a>(&'a self, login: Parked<'a>) -> VaultFuture<'a, Result<bool, VaultError>> {
        Box::pin(self.put_login(login))
    }

    fn unpark<'a>(
        &'a self,
        id: &'a str,
        now: i64,
    ) -> VaultFuture<'a, Result<Option<Vec<u8>>, VaultError>> {
        Box::pin(self.take_login(id, now))
    }

    fn abandon<'a>(&'a self, server: &'a str) -> VaultFuture<'a, Result<(), VaultError>> {
        let forgotten = self.store.forget_pending_logins(server);
        Box::pin(async move { forgotten.await.map_err(unavailable) })
    }

    fn hold<'a>(
        &'a self,
        server: &'a str,
    ) -> VaultFuture<'a, Result<Option<Box<dyn Hold>>, VaultError>> {
        Box::pin(self.renewing(server))
    }

    fn delete<'a>(
        &'a self,
        server: &'a str,
        issuer: &'a str,
    ) -> VaultFuture<'a, Result<(), VaultError>> {
        Box::pin(self.remove(server, issuer))
    }
}

/// A lease: several processes may share the store.
struct Renewing {
    store: Store,
    name: String,
    holder: String,
}

impl Hold for Renewing {
    fn release(self: Box<Self>) -> VaultFuture<'static, ()> {
        Box::pin(async move {
            if let Err(error) = self.store.end_lease(&self.name, &self.holder).await {
                tracing::warn!(%error, "the lease of a login's renewal cannot be released: other replicas wait until it expires");
            }
        })
    }
}

/// What the secrets of a login under way are bound to.
fn aad<'a>(row: &'a str, owner: &'a str) -> Aad<'a> {
    Aad { table: "pending_logins", row, column: "sealed", owner }
}

fn unavailable(error: impl std::fmt::Display) -> VaultError {
    VaultError::Unavailable(error.to_string())
}
