//! `Logins`: one for all servers. Who waits for a login learns of it here.

use std::fmt::{self, Debug};
use std::sync::Arc;
use std::time::Duration;

use trunkline_gateway::{Bearer, Later};

use super::bearer::One;
use super::marks::Marks;
use super::words::How;
use crate::oauth::{
    Back, Callback, Challenge, Granted, Login, LoginError, OAuth, Registered, Started, VaultError,
};

/// Told once when a login is of no use any more: under what it is kept, and why.
pub type Lost = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Logins(Arc<Inner>);

struct Inner {
    oauth: OAuth,
    how: How,
    /// How often to look whether somebody has logged in elsewhere.
    look: Duration,
    lost: Lost,
    marks: Marks,
}

impl Logins {
    pub fn new(oauth: OAuth, how: How, look: Duration, lost: Lost) -> Self {
        Self(Arc::new(Inner { oauth, how, look, lost, marks: Marks::default() }))
    }

    pub fn oauth(&self) -> &OAuth {
        &self.0.oauth
    }

    pub(super) fn how(&self) -> &How {
        &self.0.how
    }

    /// Where somebody has to go, for the server at `url`.
    pub async fn begin(
        &self,
        login: &str,
        url: &str,
        redirect_uri: &str,
        client: Option<&Registered>,
        scope: Option<&str>,
        note: Option<&str>,
    ) -> Result<Started, LoginError> {
        let challenge = self.0.marks.challenge(login);
        let challenge = challenge.as_ref();
        let server = login;
        let login = Login { server, url, challenge, redirect_uri, client, scope };
        self.0.oauth.begin_noted(login, note).await
    }

    /// What they brought back. Whoever waits for the login learns of it.
    pub async fn finish(&self, callback: &Callback) -> Result<Granted, LoginError> {
        let back = self.0.oauth.came_back(&callback.state).await?;
        self.complete(back, callback).await
    }

    pub async fn complete(&self, back: Back, callback: &Callback) -> Result<Granted, LoginError> {
        let granted = self.0.oauth.complete(back, callback).await?;
        self.0.marks.ring(&granted.server);
        Ok(granted)
    }

    /// Forgets the login. Has the issuer heard of it?
    pub async fn forget(&self, login: &str) -> Result<bool, VaultError> {
        let told = self.0.oauth.forget(login).await?;
        self.0.marks.ring(login);
        Ok(told)
    }

    /// Only these are there still: nothing is remembered of the others.
    pub fn keep_only(&self, is_there: impl Fn(&str) -> bool) {
        self.0.marks.keep_only(is_there);
    }

    pub(super) fn heard(&self, login: &str, challenge: Option<Challenge>) {
        if let Some(challenge) = challenge {
            self.0.marks.set_challenge(login, challenge);
        }
    }

    pub(super) fn version(&self, login: &str) -> u64 {
        self.0.marks.version(login)
    }

    pub(super) async fn changed(&self, login: &str, since: u64) {
        let elsewhere = async {
            loop {
                tokio::time::sleep(self.0.look).await;
                if self.0.oauth.is_outdated(login).await {
                    return self.0.marks.ring(login);
                }
            }
        };
        tokio::select! {
            () = self.0.marks.changed(login, since) => {}
            () = elsewhere => {}
        }
    }

    /// It is of no use any more: told once for each login.
    pub(super) fn lost(&self, login: &str, why: &str) {
        if self.0.marks.is_news(login) {
            (self.0.lost)(login, why);
        }
    }
}

impl trunkline_gateway::Logins for Logins {
    fn bearer(&self, login: &str, key: &str, url: &str) -> Arc<dyn Bearer> {
        Arc::new(One {
            logins: self.clone(),
            login: login.to_owned(),
            key: key.to_owned(),
            url: url.to_owned(),
        })
    }

    fn close(&self) -> Later<'_, ()> {
        Box::pin(self.0.oauth.close())
    }
}

impl Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logins").field("how", &self.how).finish_non_exhaustive()
    }
}
