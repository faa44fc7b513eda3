//! `WebSessions`: who is signed in at the dashboard, as the store has it: found again after a restart, and by
//! other replicas.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::sleep;
use trunkline_store::{Store, StoreError, WebSession, WebSessionEnds};

use super::background::Background;
use super::control_plane::ControlPlane;
use crate::access::{Principal, RememberedPrincipal, recall};
use crate::clock;
use crate::keys::ApiKeys;

/// Between two attempts to end a session in a store that does not take it.
const END_AGAIN: Duration = Duration::from_secs(2);
/// After half a day it is over by its age.
const MOST_ATTEMPTS: usize = 12 * 60 * 60 / 2;

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
    background: &'a Background,
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
        WebSessions { store: self.store(), keys: self.keys(), background: self.background() }
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
        self.background.tasks().spawn(async move {
            // A note that is lost shortens the session at the next start, by minutes.
            drop(store.touch_web_session(&id, at).await);
        });
    }

    /// Ends it in the store; returns after the first attempt. A store that does not take it is asked again: else
    /// other replicas, or this one after a restart, would let somebody in who has signed out.
    pub async fn end(&self, id: &str) {
        let (store, id) = (self.store.clone(), id.to_owned());
        let (done, first) = oneshot::channel::<()>();
        // A task of its own: whoever closes the browser meanwhile has signed out as well.
        self.background.spawn_until_end(async move {
            let mut done = Some(done);
            for _ in 0..MOST_ATTEMPTS {
                let Err(error) = store.end_web_session(&id).await else { return };
                if done.take().is_some() {
                    tracing::warn!(
                        %error,
                        "a session of the dashboard has ended, and the store still has it: it is asked again until it \
                         takes it"
                    );
                }
                sleep(END_AGAIN).await;
            }
        });
        // An error says that the sender is gone: so ends every first attempt.
        let _ = first.await;
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
