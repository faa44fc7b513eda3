//! What is not known here may have been made by another replica a moment ago: the store is looked at, once
//! for all who wait and seldom, so that guessing keys and ids costs it nothing.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until, timeout};

use super::holder::ApiKeys;
use crate::access::id_of;

/// Between the beginnings of two looks: ten a second, however many guess.
const GAP: Duration = Duration::from_millis(100);
/// A store that hangs must not keep a caller with a wrong key waiting.
const LONGEST: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Looks {
    turn: Semaphore,
    /// When the last one began.
    // A leaf lock, only taken by who holds `turn`; never held while the store answers.
    last: Mutex<Option<Instant>>,
}

impl Looks {
    pub(crate) fn new() -> Self {
        Self { turn: Semaphore::new(1), last: Mutex::new(None) }
    }

    /// Ends when a look that began after this has ended, or could not be had in time.
    pub(crate) async fn look(&self, look: impl Future<Output = ()>) {
        timeout(LONGEST, self.wait(Instant::now(), look)).await.unwrap_or_default();
    }

    async fn wait(&self, came: Instant, look: impl Future<Output = ()>) {
        // It is never closed.
        let Ok(_turn) = self.turn.acquire().await else { return };
        let last = *self.last.lock();
        match last {
            Some(last) if last > came => return,
            Some(last) => sleep_until(last + GAP).await,
            None => {}
        }
        *self.last.lock() = Some(Instant::now());
        look.await;
    }
}

impl ApiKeys {
    /// Is this written like a key, so that it may be one we have not heard of?
    pub fn may_be_new(&self, bearer: Option<&str>) -> bool {
        !self.is_locked() && bearer.and_then(id_of).is_some()
    }

    /// Ends when a look that began after this has ended, or could not be had in time.
    pub async fn look_again(&self) {
        // Boxed: a future that is passed on is held twice, and this one is large.
        self.looks.look(Box::pin(self.see_changes())).await;
    }
}
