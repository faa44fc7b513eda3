//! What OAuth is told once: who we are, how long to wait, and what time it is.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::net::Limits;
use crate::oauth::authorize::random;
use crate::oauth::expiry::Early;

/// Milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

#[derive(Clone)]
pub struct Settings {
    /// Shown to people when they are asked for consent.
    pub client_name: String,
    /// Where our client metadata document is published, if it is: https, with a path.
    pub client_document: Option<String>,
    /// Of each request to a server or an issuer.
    pub limits: Limits,
    pub clock: Clock,
    /// How much earlier than it must this process renews.
    pub early: Early,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            client_name: "Trunkline".to_owned(),
            client_document: None,
            // A person waits for a login, calls wait for a renewal; metadata is a few kilobytes.
            limits: Limits { deadline: Duration::from_secs(10), max_body: 256 * 1024 },
            clock: Arc::new(wall_clock),
            early: random().map_or_else(Early::default, |[a, b, ..]| Early::of([a, b])),
        }
    }
}

fn wall_clock() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("client_name", &self.client_name)
            .field("client_document", &self.client_document)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
