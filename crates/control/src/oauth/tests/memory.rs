//! A vault in memory that can be told to fail.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::oauth::{Grant, Hold, KeptGrant, Parked, Vault, VaultError, VaultFuture};

/// Server and issuer.
type Key = (String, String);
/// Bytes, as a store has them, and their revision.
type Row = (Vec<u8>, i64);

/// Whose it is, what was sealed, and until when.
type Waiting = (String, Vec<u8>, i64);

#[derive(Debug, Default)]
pub(super) struct Memory {
    rows: Mutex<HashMap<Key, Row>>,
    /// Logins that wait, by their ids.
    parked: Mutex<HashMap<String, Waiting>>,
    /// Servers whose grant somebody renews.
    pub(super) held: Arc<Mutex<HashSet<String>>>,
    pub(super) refuses_to_save: Mutex<bool>,
    pub(super) refuses_to_load: Mutex<bool>,
}

impl Memory {
    pub(super) fn grants(&self, server: &str) -> Vec<KeptGrant> {
        let rows = self.rows.lock();
        let own = rows.iter().filter(|((row, _), _)| row == server);
        own.map(|(_, (bytes, revision))| KeptGrant {
            grant: Grant::from_json(bytes).unwrap(),
            revision: *revision,
        })
        .collect()
    }

    /// Another process changes the grant of the server.
    pub(super) fn change(&self, server: &str, change: impl FnOnce(&mut Grant)) {
        let mut kept = self.grants(server).pop().unwrap();
        let before = kept.grant.issuer().to_owned();
        change(&mut kept.grant);
        let after = (kept.grant.issuer() == before).then_some(kept.revision);
        self.put(server, &kept.grant, after).unwrap();
    }

    fn put(&self, server: &str, grant: &Grant, after: Option<i64>) -> Result<i64, VaultError> {
        if *self.refuses_to_save.lock() {
            return Err(VaultError::Unavailable("the disk is full".to_owned()));
        }
        let mut rows = self.rows.lock();
        let key = (server.to_owned(), grant.issuer().to_owned());
        if rows.get(&key).map(|(_, revision)| *revision) != after {
            return Err(VaultError::Conflict);
        }
        let revision = after.unwrap_or(0) + 1;
        rows.insert(key, (grant.to_json(), revision));
        Ok(revision)
    }
}

impl Vault for Memory {
    fn load<'a>(
        &'a self,
        server: &'a str,
    ) -> VaultFuture<'a, Result<Option<KeptGrant>, VaultError>> {
        let refuses = *self.refuses_to_load.lock();
        let newest = self.grants(server).into_iter().max_by_key(|kept| kept.grant.granted_at());
        let gone = || VaultError::Unavailable("the store is gone".to_owned());
        Box::pin(async move { if refuses { Err(gone()) } else { Ok(newest) } })
    }

    fn save<'a>(
        &'a self,
        server: &'a str,
        grant: &'a Grant,
        after: Option<i64>,
    ) -> VaultFuture<'a, Result<i64, VaultError>> {
        Box::pin(async move { self.put(server, grant, after) })
    }

    fn park<'a>(&'a self, login: Parked<'a>) -> VaultFuture<'a, Result<bool, VaultError>> {
        let row = (login.server.to_owned(), login.secrets.to_vec(), login.until);
        self.parked.lock().insert(login.id.to_owned(), row);
        Box::pin(async { Ok(true) })
    }

    fn unpark<'a>(
        &'a self,
        id: &'a str,
        now: i64,
    ) -> VaultFuture<'a, Result<Option<Vec<u8>>, VaultError>> {
        let row = self.parked.lock().remove(id).filter(|(_, _, until)| now < *until);
        Box::pin(async move { Ok(row.map(|(_, secrets, _)| secrets)) })
    }

    fn abandon<'a>(&'a self, server: &'a str) -> VaultFuture<'a, Result<(), VaultError>> {
        self.parked.lock().retain(|_, (own, _, _)| own != server);
        Box::pin(async { Ok(()) })
    }

    fn hold<'a>(
        &'a self,
        server: &'a str,
    ) -> VaultFuture<'a, Result<Option<Box<dyn Hold>>, VaultError>> {
        let taken = self.held.lock().insert(server.to_owned());
        let held = Held { held: Arc::clone(&self.held), server: server.to_owned() };
        Box::pin(async move { Ok(taken.then(|| Box::new(held) as Box<dyn Hold>)) })
    }

    fn delete<'a>(
        &'a self,
        server: &'a str,
        issuer: &'a str,
    ) -> VaultFuture<'a, Result<(), VaultError>> {
        self.rows.lock().remove(&(server.to_owned(), issuer.to_owned()));
        Box::pin(async { Ok(()) })
    }
}

struct Held {
    held: Arc<Mutex<HashSet<String>>>,
    server: String,
}

impl Hold for Held {
    fn release(self: Box<Self>) -> VaultFuture<'static, ()> {
        self.held.lock().remove(&self.server);
        Box::pin(async {})
    }
}
