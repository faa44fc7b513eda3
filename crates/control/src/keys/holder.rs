//! `Keyholder`: every credential there is as an immutable snapshot, and a version that changes with it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use trunkline_store::{Store, StoreError};

use super::record::{known, seconds};
use super::uses::Uses;
use crate::access::{ApiKey, Issuer, KeyId, Known, Mac, NoRandom, Pepper, WithoutToken};

/// How soon a replica knows what another has changed.
const LOOK: Duration = Duration::from_secs(2);
/// Keys that are read at a time.
const PAGE: usize = 1_000;
/// Something else whenever keys have changed; written in the same transaction.
pub(super) const MARK: &str = "keys.mark";

/// What does not change while Trunkline runs.
#[derive(Debug, Clone)]
pub struct Fixed {
    pub pepper: Arc<Pepper>,
    pub admin_token: Option<Mac>,
    pub static_token: Option<Mac>,
    pub without_token: WithoutToken,
    /// Is the pepper the one of the store? With another one (the store is locked) no key of the
    /// store can be recognised, and none must be made.
    pub is_locked: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    #[error("the store is locked: API keys cannot be made with another key than the store's")]
    Locked,
    #[error(transparent)]
    NoRandom(#[from] NoRandom),
    #[error("pattern {at} cannot be read: {why}")]
    Pattern { at: usize, why: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug)]
pub struct Keyholder {
    pub(super) store: Store,
    pub(super) fixed: Fixed,
    /// Read for every request, replaced at every change.
    known: RwLock<Arc<Known>>,
    version: AtomicU64,
    mark: Mutex<Option<Vec<u8>>>,
    uses: Mutex<Uses>,
}

impl Keyholder {
    /// With all keys of the store.
    pub async fn open(store: Store, fixed: Fixed) -> Result<Self, KeysError> {
        let holder = Self {
            known: RwLock::new(Arc::new(snapshot(&fixed, HashMap::new(), None))),
            store,
            fixed,
            version: AtomicU64::new(1),
            mark: Mutex::new(None),
            uses: Mutex::new(Uses::default()),
        };
        holder.reload().await?;
        Ok(holder)
    }

    /// For `access::decide`.
    pub fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known.read())
    }

    /// A decision that was made at another version has to be made again. It also changes when a
    /// key expires.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Tokens of this issuer are taken, checked with these of its keys.
    pub fn set_issuer(&self, issuer: Option<Issuer>) {
        let mut known = self.known.write();
        *known = Arc::new(snapshot(&self.fixed, known.keys.clone(), issuer));
        drop(known);
        self.changed();
    }

    /// Somebody was let in by this key, at this time (ms).
    pub fn used(&self, id: &KeyId, now: i64) {
        self.uses.lock().note(id, now);
    }

    /// A change that has been made is known at once, whether or not the store can be read again.
    pub(super) fn apply(&self, change: impl FnOnce(&mut HashMap<KeyId, ApiKey>)) {
        let mut known = self.known.write();
        let (mut keys, issuer) = (known.keys.clone(), known.issuer.clone());
        change(&mut keys);
        *known = Arc::new(snapshot(&self.fixed, keys, issuer));
        drop(known);
        self.changed();
    }

    /// Reads all keys again.
    pub async fn reload(&self) -> Result<(), KeysError> {
        // Before the keys: a change in between is seen as one at the next look.
        let mark = self.store.setting(MARK).await?;
        let (mut keys, mut after) = (HashMap::new(), String::new());
        loop {
            let page = self.store.keys(&after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after.clone_from(&last.prefix);
            for record in &page {
                match known(record) {
                    Some(key) => drop(keys.insert(key.id.clone(), key)),
                    None => tracing::warn!(key = record.id, "an API key of the store is damaged"),
                }
            }
        }
        *self.mark.lock() = mark;
        let mut known = self.known.write();
        if known.keys != keys {
            let issuer = known.issuer.clone();
            *known = Arc::new(snapshot(&self.fixed, keys, issuer));
            drop(known);
            self.changed();
        }
        Ok(())
    }

    /// Sees what other replicas change, lets keys expire and writes down their uses, until the end.
    /// `clock` says the time in milliseconds since 1970.
    pub async fn run(&self, clock: impl Fn() -> i64, end: CancellationToken) {
        let mut look = Instant::now() + LOOK;
        let mut seen = clock();
        loop {
            let now = clock();
            let known = self.known();
            let expiry = next_expiry(&known, seconds(seen));
            if expiry.is_some_and(|at| at <= seconds(now)) {
                self.changed();
            }
            seen = now;
            let expiry = next_expiry(&known, seconds(now)).map(|at| Instant::now() + until(at, now));
            let wake = expiry.map_or(look, |expiry| expiry.min(look));
            tokio::select! {
                () = end.cancelled() => break,
                () = sleep_until(wake) => {}
            }
            if Instant::now() >= look {
                self.look(clock()).await;
                look = Instant::now() + LOOK;
            }
        }
        let uses = self.uses.lock().unwritten();
        self.write_down(uses).await;
    }

    async fn look(&self, now: i64) {
        match self.store.setting(MARK).await {
            Ok(mark) if mark == *self.mark.lock() => {}
            Ok(_) => {
                if let Err(error) = self.reload().await {
                    tracing::warn!(%error, "the API keys cannot be read again");
                }
            }
            // Those we know count on; the store's own trouble is said elsewhere.
            Err(error) => tracing::debug!(%error, "the API keys cannot be looked at"),
        }
        let due = self.uses.lock().due(now);
        self.write_down(due).await;
    }

    async fn write_down(&self, uses: Vec<(String, i64)>) {
        if uses.is_empty() {
            return;
        }
        match self.store.touch_keys(uses.clone()).await {
            Ok(()) => self.uses.lock().wrote(&uses),
            Err(error) => tracing::debug!(%error, "the use of API keys cannot be written down"),
        }
    }

    fn changed(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
    }
}

fn snapshot(
    fixed: &Fixed,
    keys: HashMap<KeyId, ApiKey>,
    issuer: Option<Issuer>,
) -> Known {
    Known {
        pepper: Arc::clone(&fixed.pepper),
        admin_token: fixed.admin_token,
        static_token: fixed.static_token,
        keys,
        issuer,
        without_token: fixed.without_token,
    }
}

/// The first moment after this one (s) at which a key ends that is still good.
fn next_expiry(known: &Known, now: u64) -> Option<u64> {
    let good = known.keys.values().filter(|key| key.revoked_at.is_none());
    good.filter_map(|key| key.expires_at).filter(|end| *end > now).min()
}

fn until(second: u64, now: i64) -> Duration {
    let now = Duration::from_millis(u64::try_from(now).unwrap_or(0));
    Duration::from_secs(second).saturating_sub(now)
}
