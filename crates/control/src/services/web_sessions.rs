//! `WebSessions`: who is signed in at the dashboard, as the store has it: found again after a restart, and by
//! other replicas.

use std::time::Duration;

use tokio_util::task::TaskTracker;
use trunkline_store::{Store, StoreError, WebSession, WebSessionEnds};

use super::control_plane::ControlPlane;
use crate::access::{Principal, RememberedPrincipal, recall};
use crate::clock;
use crate::keys::ApiKeys;

/// When a session is over.
#[derive(Debug, Clone, Copy)]
pub struct SessionAges {
    /// Without a visit for that long.
    pub idle: Duration,
    /// After that long in any case.
    pub longest: Duration,
}

#[derive(Debug, Clone, Copy)]
pub struct WebSessions<'a> {
    store: &'a Store,
    keys: &'a ApiKeys,
    tasks: &'a TaskTracker,
}

/// A session that the store has.
#[derive(Debug)]
pub struct KeptSession {
    pub principal: Principal,
    /// How long ago it began, and was last used.
    pub began: Duration,
    pub used: Duration,
}

impl ControlPlane {
    pub fn web_sessions(&self) -> WebSessions<'_> {
        let tasks = self.background().tasks();
        WebSessions { store: self.store(), keys: self.keys(), tasks }
    }
}

impl WebSessions<'_> {
    /// Keeps a new one under the digest of its id. False: nothing of this principal can be kept.
    pub async fn keep(
        &self,
        id: &str,
        principal: &Principal,
        ages: SessionAges,
    ) -> Result<bool, StoreError> {
        let remembered = principal.remember(&self.keys.known());
        let Some(RememberedPrincipal { credential, detail }) = remembered else { return Ok(false) };
        let at = clock::now();
        let kept = WebSession { id: id.to_owned(), credential, detail, began_at: at, used_at: at };
        self.store.put_web_session(kept, ends(ages)).await.map(|()| true)
    }

    /// Is it still there?
    pub async fn has(&self, id: &str, ages: SessionAges) -> Result<bool, StoreError> {
        Ok(self.store.web_session(id, ends(ages)).await?.is_some())
    }

    /// `None` also if whoever began it would not be let in any more.
    pub async fn find(
        &self,
        id: &str,
        ages: SessionAges,
    ) -> Result<Option<KeptSession>, StoreError> {
        let Some(kept) = self.store.web_session(id, ends(ages)).await? else { return Ok(None) };
        let WebSession { credential, detail, began_at, used_at, .. } = kept;
        let remembered = RememberedPrincipal { credential, detail };
        let principal = recall(&remembered, &self.keys.known(), clock::seconds());
        let (began, used) = (since(began_at), since(used_at));
        Ok(principal.map(|principal| KeptSession { principal, began, used }))
    }

    /// Notes that it is used.
    pub fn touch(&self, id: &str) {
        let (store, id, at) = (self.store.clone(), id.to_owned(), clock::now());
        self.tasks.spawn(async move {
            // A note that is lost shortens the session at the next start, by minutes.
            drop(store.touch_web_session(&id, at).await);
        });
    }

    pub async fn end(&self, id: &str) {
        if let Err(error) = self.store.end_web_session(id).await {
            tracing::warn!(%error, "a session of the dashboard that has ended stays in the store");
        }
    }
}

fn ends(ages: SessionAges) -> WebSessionEnds {
    let before = |age: Duration| {
        clock::now().saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX))
    };
    WebSessionEnds { began_before: before(ages.longest), used_before: before(ages.idle) }
}

/// How long ago that was, in milliseconds since 1970.
fn since(at: i64) -> Duration {
    Duration::from_millis(u64::try_from(clock::now() - at).unwrap_or_default())
}
