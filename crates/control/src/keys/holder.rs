//! `ApiKeys`: every credential there is as an immutable snapshot, and a version that changes with it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use trunkline_store::{Store, StoreError};

use super::lookup::Looks;
use super::record::{known, seconds};
use super::uses::Uses;
use crate::access::{
    ApiKey, CertificateRoles, Credential, Credentials, Issuer, KeyId, Mac, NoRandom, PeopleRules,
    Pepper, WithoutToken,
};

/// How soon a replica knows what another has changed, where the store does not tell.
const LOOK: Duration = Duration::from_secs(2);
/// How soon it is noticed that a key has expired. Ticks, because the clock of the wall may jump.
const TICK: Duration = Duration::from_millis(500);
/// Keys that are read at a time.
const PAGE: usize = 1_000;
/// Something else whenever keys have changed; written in the same transaction.
pub(super) const MARK: &str = "keys.mark";

/// What does not change while Trunkline runs.
#[derive(Debug, Clone)]
pub struct FixedTokens {
    pub pepper: Arc<Pepper>,
    pub admin_token: Option<Mac>,
    pub static_token: Option<Mac>,
    pub without_token: WithoutToken,
    pub certificates: Arc<CertificateRoles>,
    pub people: Option<Arc<PeopleRules>>,
    /// Without a word of the store for so long, no key is trusted.
    pub max_stale: Duration,
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
pub struct ApiKeys {
    pub(super) store: Store,
    pub(super) fixed: FixedTokens,
    /// Read for every request, replaced as a whole at every change. A leaf lock.
    known: RwLock<Arc<Credentials>>,
    version: AtomicU64,
    /// Rung when the version changes.
    bell: watch::Sender<()>,
    /// Changes made here; counted under the lock of `known`.
    edits: AtomicU64,
    /// The store's mark of the keys as they were last read. A leaf lock.
    // Not held while the store answers: an older mark that comes last is noticed at the next look.
    mark: Mutex<Option<Vec<u8>>>,
    /// Taken for every request with a key: a leaf lock, and nothing is written under it.
    uses: Mutex<Uses>,
    pub(super) looks: Looks,
    /// When the store was last asked what has changed, and said it. A leaf lock.
    heard: Mutex<Instant>,
    /// Nothing is trusted that may have been revoked. Changed under the lock of `known`.
    is_stale: AtomicBool,
}

impl ApiKeys {
    /// With all keys of the store.
    pub async fn open(store: Store, fixed: FixedTokens) -> Result<Self, KeysError> {
        let holder = Self {
            known: RwLock::new(Arc::new(snapshot(&fixed, HashMap::new(), None))),
            store,
            fixed,
            version: AtomicU64::new(1),
            bell: watch::Sender::new(()),
            edits: AtomicU64::new(0),
            mark: Mutex::new(None),
            uses: Mutex::new(Uses::default()),
            looks: Looks::new(),
            heard: Mutex::new(Instant::now()),
            is_stale: AtomicBool::new(false),
        };
        holder.reload().await?;
        // On every start: whoever has forgotten it learns it again.
        match (holder.fixed.without_token, holder.is_open()) {
            (WithoutToken::MayUseMcp, true) => tracing::warn!(
                "MCP is open: every user and program of this machine may call every tool without a token; an \
                 API key closes it"
            ),
            (WithoutToken::MayUseMcp, false) => {
                tracing::warn!("MCP is closed although it was to be open: {EXISTS}");
            }
            (WithoutToken::Refused, _) => {}
        }
        Ok(holder)
    }

    /// For `access::decide`.
    pub fn known(&self) -> Arc<Credentials> {
        Arc::clone(&self.known.read())
    }

    /// May clients without a token speak MCP now?
    pub fn is_open(&self) -> bool {
        self.known().without_token == WithoutToken::MayUseMcp
    }

    /// The store was sealed with another key: no API key can be checked.
    pub fn is_locked(&self) -> bool {
        self.fixed.is_locked
    }

    /// A decision that was made at another version has to be made again. It also changes when a
    /// key expires. To be read before `known`: what is known is replaced first.
    pub fn version(&self) -> u64 {
        // Pairs with `changed`: a reader of the new version finds the keys that made it.
        self.version.load(Ordering::Acquire)
    }

    /// Wakes at every version from now on.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.bell.subscribe()
    }

    /// Would this credential still be let in? A token of an issuer has its own end.
    pub fn is_good(&self, credential: &Credential, now: i64) -> bool {
        let id = match credential {
            Credential::Key(id) => id,
            Credential::Open => return self.is_open(),
            Credential::AdminToken
            | Credential::StaticToken
            | Credential::Jwt { .. }
            | Credential::Person { .. }
            | Credential::Certificate(_) => return true,
        };
        let known = self.known();
        let now = seconds(now);
        known.keys.get(id).is_some_and(|key| {
            key.revoked_at.is_none() && key.expires_at.is_none_or(|end| end > now)
        })
    }

    /// Tokens of this issuer are taken, checked with these of its keys.
    pub fn set_issuer(&self, issuer: Option<Issuer>) {
        let mut known = self.known.write();
        *known = self.made(known.keys.clone(), issuer);
        drop(known);
        self.publish_version();
    }

    /// Notes that this key was used, at this time (ms).
    pub fn used(&self, id: &KeyId, now: i64) {
        self.uses.lock().note(id, now);
    }

    /// When this instance last saw the key used, if it remembers that.
    pub(super) fn last_use(&self, id: &str) -> Option<i64> {
        self.uses.lock().last(&KeyId::read(id)?)
    }

    /// A change that has been made is known at once, whether or not the store can be read again.
    pub(super) fn apply(&self, change: impl FnOnce(&mut HashMap<KeyId, ApiKey>)) {
        let mut known = self.known.write();
        let (mut keys, issuer) = (known.keys.clone(), known.issuer.clone());
        change(&mut keys);
        let was_open = known.without_token;
        *known = self.made(keys, issuer);
        tell_openness(was_open, known.without_token);
        self.edits.fetch_add(1, Ordering::AcqRel);
        drop(known);
        self.publish_version();
    }

    /// Reads all keys again.
    pub async fn reload(&self) -> Result<(), KeysError> {
        loop {
            // Acquire: an edit that is not counted yet is not in the keys that are read next.
            let edits = self.edits.load(Ordering::Acquire);
            // Before the keys: a change in between is seen as one at the next look.
            let mark = self.store.setting(MARK).await?;
            let keys = self.read().await?;
            if self.replace(keys, edits) {
                *self.mark.lock() = mark;
                return Ok(());
            }
        }
    }

    async fn read(&self) -> Result<HashMap<KeyId, ApiKey>, KeysError> {
        let (mut keys, mut after) = (HashMap::new(), String::new());
        loop {
            let page = self.store.keys(&after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(keys) };
            after.clone_from(&last.prefix);
            for record in &page {
                match known(record) {
                    Some(key) => drop(keys.insert(key.id.clone(), key)),
                    None => tracing::warn!(
                        key = record.id,
                        "the record of this API key is damaged: nobody gets in by it; revoke it and make another"
                    ),
                }
            }
        }
    }

    /// False if something was changed here since `edits`: these keys may have been read before it,
    /// and a key that is revoked must not come back for a moment.
    fn replace(&self, keys: HashMap<KeyId, ApiKey>, edits: u64) -> bool {
        let mut known = self.known.write();
        if self.edits.load(Ordering::Acquire) != edits {
            return false;
        }
        if known.keys != keys {
            let issuer = known.issuer.clone();
            *known = self.made(keys, issuer);
            drop(known);
            self.publish_version();
        }
        true
    }

    /// Sees what other replicas change, lets keys expire and writes down their uses, until the end.
    /// `clock` says the time in milliseconds since 1970.
    pub async fn run(&self, clock: impl Fn() -> i64, end: CancellationToken) {
        // In two loops: a store that hangs must not keep keys from expiring.
        let work = async { tokio::join!(self.expire(&clock), self.follow(&clock)) };
        tokio::select! {
            _ = work => {}
            () = end.cancelled() => {}
        }
        let uses = self.uses.lock().unwritten();
        self.write_down(uses).await;
    }

    /// The credentials, as far as they can be trusted now.
    fn made(&self, keys: HashMap<KeyId, ApiKey>, issuer: Option<Issuer>) -> Arc<Credentials> {
        // Relaxed: it is changed under the lock that the caller holds.
        let is_stale = self.is_stale.load(Ordering::Relaxed);
        Arc::new(Credentials { is_stale, ..snapshot(&self.fixed, keys, issuer) })
    }

    /// How long ago the store last said which keys are good.
    pub fn silence(&self) -> Duration {
        self.heard.lock().elapsed()
    }

    /// Is no key trusted, because the store has been silent for too long?
    pub fn is_stale(&self) -> bool {
        self.known().is_stale
    }

    /// The store has said what was true at this time.
    fn hear(&self, asked: Instant) {
        *self.heard.lock() = asked;
        self.judge_silence();
    }

    /// Trusts keys, or trusts them no longer, after what was heard of the store.
    fn judge_silence(&self) {
        let is_stale = self.silence() > self.fixed.max_stale;
        let mut known = self.known.write();
        // Relaxed: read and written under this lock only.
        if self.is_stale.swap(is_stale, Ordering::Relaxed) == is_stale {
            return;
        }
        *known = self.made(known.keys.clone(), known.issuer.clone());
        drop(known);
        // What was decided before has to be decided again.
        self.publish_version();
        match is_stale {
            true => tracing::error!(
                "the store has not been heard for {} s (--max-stale): API keys are refused, for any of them may have \
                 been revoked; the admin token and what is open go on",
                self.fixed.max_stale.as_secs()
            ),
            false => tracing::warn!("the store is heard again: API keys are taken again"),
        }
    }

    async fn expire(&self, clock: &impl Fn() -> i64) {
        let mut seen = seconds(clock());
        loop {
            sleep(TICK).await;
            self.judge_silence();
            let now = seconds(clock());
            if next_expiry(&self.known(), seen).is_some_and(|at| at <= now) {
                self.publish_version();
            }
            seen = now;
        }
    }

    async fn follow(&self, clock: &impl Fn() -> i64) {
        let mut changes = self.store.changes();
        loop {
            tokio::select! {
                () = sleep(LOOK) => {}
                () = changes.next() => {}
            }
            self.look(clock()).await;
        }
    }

    async fn look(&self, now: i64) {
        self.see_changes().await;
        let due = self.uses.lock().due(now);
        self.write_down(due).await;
    }

    /// Reads the keys again if they were changed elsewhere.
    pub(super) async fn see_changes(&self) {
        // The answer may be as old as the question.
        let asked = Instant::now();
        match self.store.setting(MARK).await {
            Ok(mark) if mark == *self.mark.lock() => self.hear(asked),
            Ok(_) => {
                let before = self.known().without_token;
                match self.reload().await {
                    Ok(()) => self.hear(asked),
                    Err(error) => {
                        tracing::warn!(%error, "the API keys cannot be read from the store; those known here stay valid");
                    }
                }
                tell_openness(before, self.known().without_token);
            }
            // Known keys stay valid for a while; the reconciler logs that the store is away.
            Err(error) => {
                tracing::debug!(%error, "the store does not say whether API keys have changed");
            }
        }
    }

    async fn write_down(&self, uses: Vec<(String, i64)>) {
        if uses.is_empty() {
            return;
        }
        match self.store.touch_keys(uses.clone()).await {
            Ok(()) => self.uses.lock().wrote(&uses),
            Err(error) => {
                tracing::debug!(%error, "the last use of API keys cannot be written to the store");
            }
        }
    }

    fn publish_version(&self) {
        // After the keys were replaced: a decision at the new version must see them.
        self.version.fetch_add(1, Ordering::AcqRel);
        self.bell.send_replace(());
    }
}

fn snapshot(
    fixed: &FixedTokens,
    keys: HashMap<KeyId, ApiKey>,
    issuer: Option<Issuer>,
) -> Credentials {
    // Whoever makes a key wants to know who calls, and perhaps to limit them: without a token they would have
    // no name and no limit. An expired one counts: time alone must not open what was closed.
    let has_key = keys.values().any(|key| key.revoked_at.is_none());
    Credentials {
        pepper: Arc::clone(&fixed.pepper),
        admin_token: fixed.admin_token,
        static_token: fixed.static_token,
        without_token: if has_key { WithoutToken::Refused } else { fixed.without_token },
        certificates: Arc::clone(&fixed.certificates),
        people: fixed.people.clone(),
        is_stale: false,
        keys,
        issuer,
    }
}

const EXISTS: &str = "an API key exists, so clients show it (or the admin token)";

/// A key was made where none was needed before, or the last one was revoked.
fn tell_openness(before: WithoutToken, now: WithoutToken) {
    match (before, now) {
        (WithoutToken::MayUseMcp, WithoutToken::Refused) => {
            tracing::warn!("MCP is closed from now on: {EXISTS}");
        }
        (WithoutToken::Refused, WithoutToken::MayUseMcp) => tracing::warn!(
            "MCP is open again: the last API key was revoked, and every user and program of this machine may \
             call every tool without a token"
        ),
        _ => {}
    }
}

/// The first moment after this one (s) at which a key ends that is still good.
fn next_expiry(known: &Credentials, now: u64) -> Option<u64> {
    let good = known.keys.values().filter(|key| key.revoked_at.is_none());
    good.filter_map(|key| key.expires_at).filter(|end| *end > now).min()
}

#[cfg(test)]
mod tests {
    use trunkline_catalog::config::LimitRules;

    use super::*;
    use crate::access::{Grants, Role};
    use crate::scratch::Folder;

    fn key(id: &str, expires_at: Option<u64>, revoked_at: Option<u64>) -> (KeyId, ApiKey) {
        let id = KeyId::read(id).unwrap();
        let key = ApiKey {
            id: id.clone(),
            name: "ci".to_owned(),
            role: Role::Caller,
            grants: Grants::All,
            limits: LimitRules::default(),
            mac: Mac::from_bytes([0; 32]),
            expires_at,
            revoked_at,
        };
        (id, key)
    }

    fn fixed() -> FixedTokens {
        FixedTokens {
            pepper: Arc::new(Pepper::new(&[1; 32])),
            admin_token: None,
            static_token: None,
            without_token: WithoutToken::Refused,
            certificates: Arc::default(),
            people: None,
            max_stale: Duration::from_secs(30),
            is_locked: false,
        }
    }

    #[tokio::test]
    async fn what_was_read_before_a_change_does_not_undo_it() {
        let folder = Folder::new();
        let holder = ApiKeys::open(folder.store().await, fixed()).await.unwrap();
        let (id, good) = key("abcdefghij", None, None);
        let before = holder.edits.load(Ordering::SeqCst);
        let stale = HashMap::from([(id.clone(), good)]);
        let (_, revoked) = key("abcdefghij", None, Some(5));
        holder.apply(|keys| drop(keys.insert(id.clone(), revoked)));
        assert!(!holder.replace(stale.clone(), before));
        assert_eq!(holder.known().keys[&id].revoked_at, Some(5));
        assert!(holder.replace(stale, before + 1));
        assert_eq!(holder.known().keys[&id].revoked_at, None);
    }

    #[tokio::test]
    async fn a_key_is_trusted_for_as_long_as_the_store_is_heard() {
        let folder = Folder::new();
        let holder = ApiKeys::open(folder.store().await, fixed()).await.unwrap();
        let version = holder.version();
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
        for (silent, expected) in [(29, false), (31, true), (60, true), (0, false)] {
            *holder.heard.lock() = ago(silent);
            holder.judge_silence();
            assert_eq!(holder.is_stale(), expected, "{silent}");
            // A change that comes meanwhile does not make it fresh.
            holder.apply(|_| {});
            assert_eq!(holder.is_stale(), expected, "{silent}");
        }
        assert_eq!(holder.version(), version + 4 + 2, "four changes, and two of what is trusted");
        *holder.heard.lock() = ago(31);
        holder.see_changes().await;
        assert!(!holder.is_stale() && holder.silence() < Duration::from_secs(30));
    }

    #[test]
    fn a_key_that_is_not_revoked_closes_what_was_open() {
        let open = FixedTokens { without_token: WithoutToken::MayUseMcp, ..fixed() };
        for (keys, is_open) in [
            (vec![], true),
            (vec![key("aaaaaaaaaa", None, Some(1))], true),
            (vec![key("aaaaaaaaaa", None, None)], false),
            (vec![key("aaaaaaaaaa", Some(1), None)], false),
            (vec![key("aaaaaaaaaa", None, Some(1)), key("bbbbbbbbbb", None, None)], false),
        ] {
            let known = snapshot(&open, keys.clone().into_iter().collect(), None);
            assert_eq!(known.without_token == WithoutToken::MayUseMcp, is_open, "{keys:?}");
            let known = snapshot(&fixed(), keys.into_iter().collect(), None);
            assert_eq!(known.without_token, WithoutToken::Refused);
        }
    }

    #[test]
    fn the_next_expiry_is_that_of_a_key_that_is_still_good() {
        let keys = [
            key("aaaaaaaaaa", Some(10), None),
            key("bbbbbbbbbb", Some(20), Some(1)),
            key("cccccccccc", Some(30), None),
            key("dddddddddd", None, None),
        ];
        let known = snapshot(&fixed(), keys.into(), None);
        for (now, expected) in [(0, Some(10)), (9, Some(10)), (10, Some(30)), (30, None)] {
            assert_eq!(next_expiry(&known, now), expected, "{now}");
        }
    }
}
