//! Logins that wait for the browser to come back: each state is good for one answer.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::oauth::registration::OAuthClient;
use crate::oauth::waiting::WaitingLogin;

/// How long a person may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// Logins at once; the oldest one goes first.
const MOST: usize = 256;

#[derive(Debug, Default)]
pub(super) struct PendingLogins {
    by_state: HashMap<String, (Instant, WaitingLogin)>,
}

impl PendingLogins {
    pub(super) fn add(&mut self, state: String, waiting: WaitingLogin, now: Instant) {
        self.by_state.retain(|_, (since, _)| now.duration_since(*since) < PATIENCE);
        if self.by_state.len() >= MOST {
            let oldest = self.by_state.iter().min_by_key(|(_, (since, _))| *since);
            if let Some(oldest) = oldest.map(|(state, _)| state.clone()) {
                self.by_state.remove(&oldest);
            }
        }
        self.by_state.insert(state, (now, waiting));
    }

    /// Once.
    pub(super) fn take(&mut self, state: &str, now: Instant) -> Option<WaitingLogin> {
        let (since, waiting) = self.by_state.remove(state)?;
        (now.duration_since(since) < PATIENCE).then_some(waiting)
    }

    /// The client that was registered for a login that is still waited for.
    pub(super) fn client(
        &self,
        server: &str,
        issuer: &str,
        redirect_uri: &str,
    ) -> Option<OAuthClient> {
        let mut waiting = self.by_state.values().map(|(_, waiting)| waiting);
        let same = waiting.find(|waiting| {
            waiting.server == server
                && waiting.issuer == issuer
                && waiting.client.redirect_uri.as_deref() == Some(redirect_uri)
        });
        same.map(|waiting| waiting.client.clone())
    }

    pub(super) fn forget(&mut self, server: &str) {
        self.by_state.retain(|_, (_, waiting)| waiting.server != server);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oauth::waiting::tests::waiting;

    #[test]
    fn a_state_is_good_once_and_for_ten_minutes() {
        let now = Instant::now();
        let mut pending = PendingLogins::default();
        pending.add("a".to_owned(), waiting("s"), now);
        pending.add("b".to_owned(), waiting("s"), now);
        assert!(pending.take("x", now).is_none());
        assert!(pending.take("a", now + PATIENCE - Duration::from_secs(1)).is_some());
        assert!(pending.take("a", now).is_none());
        assert!(pending.take("b", now + PATIENCE).is_none());
    }

    #[test]
    fn there_are_only_so_many_and_the_oldest_goes() {
        let now = Instant::now();
        let mut pending = PendingLogins::default();
        for number in 0..=MOST {
            let at = now + Duration::from_millis(u64::try_from(number).unwrap());
            pending.add(number.to_string(), waiting(if number == 1 { "gone" } else { "s" }), at);
        }
        assert_eq!(pending.by_state.len(), MOST);
        assert!(pending.take("0", now).is_none());
        pending.forget("gone");
        assert!(pending.take("1", now).is_none());
        assert!(pending.take("2", now).is_some());
    }
}
