//! `Bearer`: who we are to a server in the network, where that comes of a login. What a login is, how
//! its tokens are kept and renewed, is decided elsewhere; here is what the data plane asks.

use std::fmt::{self, Debug};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Knows the logins of all servers.
pub trait Logins: Debug + Send + Sync {
    /// For the server `key` at `url`, whose login is kept under `login`.
    fn bearer(&self, login: &str, key: &str, url: &str) -> Arc<dyn Bearer>;

    /// Waits for what must not be interrupted: tokens that come are kept.
    fn close(&self) -> Later<'_, ()>;
}

/// The login of one server. Nothing of it is asked on the thread that moves bytes.
pub trait Bearer: Debug + Send + Sync {
    /// What is said from now on. `None`: nobody has logged in, and the server may not want it.
    fn authorization(&self) -> Later<'_, Result<Option<Authorization>, NoAuthorization>>;

    /// The server did not take what was said: something else to say, if there is.
    fn refused<'a>(
        &'a self,
        refusal: &'a Refusal,
    ) -> Later<'a, Result<Authorization, NoAuthorization>>;

    /// Changes when somebody logs in or out.
    fn version(&self) -> u64;

    /// Waits until the version is another one.
    fn changed(&self, since: u64) -> Later<'_, ()>;
}

/// What stands in the header of that name.
#[derive(Clone, PartialEq, Eq)]
pub struct Authorization {
    pub value: Arc<str>,
    /// When to ask for another one.
    pub renew_at: Option<Instant>,
}

/// Without the value: it is a secret.
impl Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorization").field("renew_at", &self.renew_at).finish_non_exhaustive()
    }
}

/// A request that the server refused for who sent it.
#[derive(Clone)]
pub struct Refusal {
    /// What the request said, if anything.
    pub said: Option<Arc<str>>,
    /// 401 or 403.
    pub status: u16,
    /// The values of `WWW-Authenticate`.
    pub challenges: Vec<String>,
}

/// Without what was said.
impl Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refusal")
            .field("status", &self.status)
            .field("challenges", &self.challenges)
            .finish_non_exhaustive()
    }
}

/// Why there is nothing (else) to say. `what` completes "server X …".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAuthorization {
    /// Nothing helps but somebody logging in.
    NeedsLogin { what: String, advice: String },
    /// This request alone wants more than was granted: somebody has to log in for it.
    NeedsMore { what: String, advice: String },
    /// What is said should be good, and the server does not take it: it is the server that has to come
    /// round.
    Rejected { what: String, advice: String },
    /// There may be something later.
    Unavailable { what: String, retry_in: Option<Duration> },
}
