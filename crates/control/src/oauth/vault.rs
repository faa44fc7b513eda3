//! `Vault`: where grants are kept. The store is one, tests have another.

use std::fmt::{self, Debug};
use std::pin::Pin;

use crate::oauth::grant::Grant;

pub type VaultFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Grants are keyed by server and issuer. A grant that is saved has been kept for good. A vault that
/// cannot answer says so in time: nobody else watches the clock for it.
pub trait Vault: Debug + Send + Sync {
    /// The server's grant; of several (a server that changed its issuer) the one with the newest
    /// `granted_at`.
    fn load<'a>(
        &'a self,
        server: &'a str,
    ) -> VaultFuture<'a, Result<Option<KeptGrant>, VaultError>>;

    /// Replaces the grant of this server and `grant.issuer()`, if it is still at revision `after`
    /// (`None`: if there is none yet). The new revision.
    fn save<'a>(
        &'a self,
        server: &'a str,
        grant: &'a Grant,
        after: Option<i64>,
    ) -> VaultFuture<'a, Result<i64, VaultError>>;

    /// The right to renew the server's grant: one process at a time has it, from reading the grant to
    /// saving it, for a refresh token that is used twice is the end of most grants. `None` while
    /// another has it. It does not outlive a process that dies, or not for long.
    fn hold<'a>(
        &'a self,
        server: &'a str,
    ) -> VaultFuture<'a, Result<Option<Box<dyn Hold>>, VaultError>>;

    /// Keeps a login that waits for the browser, for whichever process it comes back to. False: this
    /// vault does not, and the process has to.
    fn park<'a>(&'a self, _login: Parked<'a>) -> VaultFuture<'a, Result<bool, VaultError>> {
        Box::pin(async { Ok(false) })
    }

    /// What was kept under this id, once, if it is not late.
    fn unpark<'a>(
        &'a self,
        _id: &'a str,
        _now: i64,
    ) -> VaultFuture<'a, Result<Option<Vec<u8>>, VaultError>> {
        Box::pin(async { Ok(None) })
    }

    /// Nobody waits for logins at this server any more.
    fn abandon<'a>(&'a self, _server: &'a str) -> VaultFuture<'a, Result<(), VaultError>> {
        Box::pin(async { Ok(()) })
    }

    /// Nothing there is fine, too.
    fn delete<'a>(
        &'a self,
        server: &'a str,
        issuer: &'a str,
    ) -> VaultFuture<'a, Result<(), VaultError>>;
}

/// A login that waits: secrets, to be sealed.
#[derive(Clone, Copy)]
pub struct Parked<'a> {
    /// Known to who comes back, and made so that it tells nobody else how to.
    pub id: &'a str,
    pub server: &'a str,
    pub secrets: &'a [u8],
    /// Milliseconds since 1970.
    pub now: i64,
    pub until: i64,
}

/// Without the secrets.
impl Debug for Parked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parked").field("server", &self.server).finish_non_exhaustive()
    }
}

/// What `Vault::hold` gives; to be given back.
pub trait Hold: Send {
    fn release(self: Box<Self>) -> VaultFuture<'static, ()>;
}

/// A grant as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptGrant {
    pub grant: Grant,
    pub revision: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    #[error("somebody else has changed the grant in the meantime")]
    Conflict,
    #[error("the grant cannot be kept or read: {0}")]
    Unavailable(String),
}
