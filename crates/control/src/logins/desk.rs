//! `Logins`: one for all servers. Who waits for a login learns of it here.

use std::fmt::{self, Debug};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use trunkline_gateway::{Bearer, Later};

use super::bearer::One;
use super::marks::Marks;
use super::words::How;
use crate::oauth::{
    Back, Callback, Challenge, Granted, Login, LoginError, OAuth, Started, VaultError,
};

/// Told once when a login is of no use any more: under what it is kept, and why.
pub type Lost = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Logins(Arc<LoginState>);

struct LoginState {
    oauth: OAuth,
    how: How,
    /// How often to look whether somebody has logged in elsewhere.
    look: Duration,
    /// Counts up when something may have happened elsewhere: then it is looked at once.
    elsewhere: watch::Sender<u64>,
    lost: Lost,
    marks: Marks,
}

impl Logins {
    pub fn new(oauth: OAuth, how: How, look: Duration, lost: Lost) -> Self {
        let (elsewhere, marks) = (watch::Sender::new(0), Marks::default());
        Self(Arc::new(LoginState { oauth, how, look, elsewhere, lost, marks }))
    }

    pub fn oauth(&self) -> &OAuth {
        &self.0.oauth
    }

    pub(super) fn how(&self) -> &How {
        &self.0.how
    }

    /// Where somebody has to go. What the server said when it last refused a request is known here.
    pub async fn begin(&self, login: Login<'_>, note: Option<&str>) -> Result<Started, LoginError> {
        let challenge = self.0.marks.challenge(login.server);
        let login = Login { challenge: challenge.as_ref(), ..login };
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

    /// Somebody may have logged in or out elsewhere.
    pub fn look(&self) {
        self.0.elsewhere.send_modify(|count| *count += 1);
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
        let mut told = self.0.elsewhere.subscribe();
        let elsewhere = async {
            loop {
                // Elapsed: not every vault tells.
                drop(tokio::time::timeout(self.0.look, told.changed()).await);
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
        if self.0.marks.take_news(login) {
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

impl Debug for LoginState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logins").field("how", &self.how).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logins::GrantFiles;
    use crate::net::Client;
    use crate::oauth::{Grant, Settings, Vault as _};
    use crate::scratch::Folder;

    #[tokio::test]
    async fn who_is_told_that_something_happened_elsewhere_looks_at_once() {
        let folder = Folder::new();
        let files = GrantFiles::new(folder.path().to_owned());
        let client = Client::new(Arc::new(|_| Err("not in this test".to_owned())));
        let oauth = OAuth::new(client, Arc::new(files.clone()), Settings::default());
        let (never, lost) = (Duration::from_secs(3600), Arc::new(|_: &str, _: &str| {}));
        let logins = Logins::new(oauth, How::Command, never, lost);
        let since = logins.version("s");
        let document = serde_json::json!({
            "issuer": "https://a", "resource": "https://h/mcp", "token_endpoint": "https://a/token",
            "client": {"id": "c", "auth": "none"}, "access_token": "a", "issued_at": 1,
            "granted_at": 1,
        });
        let grant = Grant::from_json(document.to_string().as_bytes()).unwrap();
        let login = async {
            tokio::task::yield_now().await;
            files.save("s", &grant, None).await.unwrap();
            logins.look();
        };
        tokio::join!(logins.changed("s", since), login);
        assert_ne!(logins.version("s"), since);
    }
}
