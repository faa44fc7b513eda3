//! The login of one server, for the data plane.

use std::time::Duration;

use tokio::time::Instant;
use trunkline_gateway::{Authorization, Bearer, Later, NoAuthorization, Refusal};

use super::desk::Logins;
use super::words::said;
use crate::oauth::{Challenge, NoToken, Reason, Secret, Token};

/// A renewal that failed is not tried again before this, whatever the token says.
const LEAST: Duration = Duration::from_secs(1);
const SCHEME: &str = "Bearer ";

#[derive(Debug)]
pub(super) struct One {
    pub(super) logins: Logins,
    pub(super) login: String,
    pub(super) key: String,
    pub(super) url: String,
}

impl One {
    async fn current(&self) -> Result<Authorization, NoToken> {
        let oauth = self.logins.oauth();
        let (token, due) = oauth.fresh_token(&self.login, &self.url).await?;
        let left = due.map(|due| u64::try_from(due.saturating_sub(oauth.now())).unwrap_or(0));
        let left = left.map(|millis| Duration::from_millis(millis).max(LEAST));
        Ok(Authorization {
            value: format!("{SCHEME}{}", token.value.reveal()).into(),
            renew_at: left.map(|left| Instant::now() + left),
        })
    }

    async fn other(&self, refusal: &Refusal) -> Result<Authorization, NoToken> {
        let challenge = Challenge::find(refusal.challenges.iter().map(String::as_str));
        self.logins.heard(&self.login, challenge.clone());
        let said = refusal.said.as_deref().and_then(|said| said.strip_prefix(SCHEME));
        if let Some(said) = said {
            let token = Token { value: Secret::new(said), expires_at: None };
            let (login, url) = (&self.login, &self.url);
            self.logins.oauth().rejected(login, url, &token, challenge.as_ref()).await?;
        }
        // Without a word: somebody may have logged in since.
        self.current().await
    }

    fn none(&self, no: NoToken, status: u16) -> NoAuthorization {
        if let NoToken::NeedsAuth { reason } = &no
            && !matches!(reason, Reason::Never | Reason::MoreScope)
        {
            self.logins.lost(&self.login, &reason.to_string());
        }
        said(no, &self.key, &self.login, self.logins.how(), status)
    }
}

impl Bearer for One {
    fn authorization(&self) -> Later<'_, Result<Option<Authorization>, NoAuthorization>> {
        Box::pin(async move {
            match self.current().await {
                Ok(known) => Ok(Some(known)),
                Err(NoToken::NeedsAuth { reason: Reason::Never }) => Ok(None),
                Err(no) => Err(self.none(no, 401)),
            }
        })
    }

    fn refused<'a>(
        &'a self,
        refusal: &'a Refusal,
    ) -> Later<'a, Result<Authorization, NoAuthorization>> {
        Box::pin(
            async move { self.other(refusal).await.map_err(|no| self.none(no, refusal.status)) },
        )
    }

    fn version(&self) -> u64 {
        self.logins.version(&self.login)
    }

    fn changed(&self, since: u64) -> Later<'_, ()> {
        Box::pin(self.logins.changed(&self.login, since))
    }
}
