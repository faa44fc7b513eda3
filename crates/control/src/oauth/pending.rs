//! Logins that wait for the browser to come back: each state is good for one answer.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::oauth::issuer::Issuer;
use crate::oauth::registration::Client;
use crate::oauth::secret::Secret;

/// How long a person may take.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// Logins at once; the oldest one goes first.
const MOST: usize = 256;

/// Everything the answer is checked against, recorded before anybody is sent anywhere.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub(super) server: String,
    pub(super) issuer: Issuer,
    pub(super) client: Client,
    pub(super) verifier: Secret,
    pub(super) redirect_uri: String,
    pub(super) resource: String,
    pub(super) scope: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Pending {
    by_state: HashMap<String, (Instant, Waiting)>,
}

impl Pending {
    pub(super) fn add(&mut self, state: String, waiting: Waiting, now: Instant) {
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
    pub(super) fn take(&mut self, state: &str, now: Instant) -> Option<Waiting> {
        let (since, waiting) = self.by_state.remove(state)?;
        (now.duration_since(since) < PATIENCE).then_some(waiting)
    }

    /// The client that was registered for a login that is still waited for.
    pub(super) fn client(&self, server: &str, issuer: &str, redirect_uri: &str) -> Option<Client> {
        let mut waiting = self.by_state.values().map(|(_, waiting)| waiting);
        let same = waiting.find(|waiting| {
            waiting.server == server
                && waiting.issuer.id == issuer
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
    use crate::oauth::registration::Auth;
    use trunkline_http::Url;

    fn waiting(server: &str) -> Waiting {
        let url = || Url::parse("https://a/").unwrap();
        Waiting {
            server: server.to_owned(),
            issuer: Issuer {
                id: "https://a".to_owned(),
                authorization: url(),
                token: url(),
                registration: None,
                revocation: None,
                auth_methods: None,
                scopes: Vec::new(),
                says_iss: false,
                takes_documents: false,
            },
            client: Client {
                id: "c".into(),
                auth: Auth::None,
                redirect_uri: None,
                expires_at: None,
            },
            verifier: Secret::new("v"),
            redirect_uri: String::new(),
            resource: String::new(),
            scope: None,
        }
    }

    #[test]
    fn a_state_is_good_once_and_for_ten_minutes() {
        let now = Instant::now();
        let mut pending = Pending::default();
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
        let mut pending = Pending::default();
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
