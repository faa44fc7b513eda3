//! A key that is not known here may have been made by another a moment ago: the store is looked at, once
//! for all who wait and seldom, so that guessing keys costs it nothing.

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
pub(super) struct Looks {
    turn: Semaphore,
    /// When the last one began.
    // A leaf lock, only taken by who holds `turn`; never held while the store answers.
    last: Mutex<Option<Instant>>,
}

impl Looks {
    pub(super) fn new() -> Self {
        Self { turn: Semaphore::new(1), last: Mutex::new(None) }
    }
}

impl ApiKeys {
    /// Is this written like a key, so that it may be one we have not heard of?
    pub fn may_be_new(&self, bearer: Option<&str>) -> bool {
        !self.is_locked() && bearer.and_then(id_of).is_some()
    }

    /// Ends when a look that began after this has ended, or could not be had in time.
    pub async fn look_again(&self) {
        timeout(LONGEST, self.wait_for_look(Instant::now())).await.unwrap_or_default();
    }

    async fn wait_for_look(&self, came: Instant) {
        // It is never closed.
        let Ok(_turn) = self.looks.turn.acquire().await else { return };
        let last = *self.looks.last.lock();
        match last {
            Some(last) if last > came => return,
            Some(last) => sleep_until(last + GAP).await,
            None => {}
        }
        *self.looks.last.lock() = Some(Instant::now());
        self.see_changes().await;
    }
}
