//! `OAuth`: logins, tokens and their renewal for all servers of this process.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use trunkline_http::Url;

use crate::net::Client;
use crate::oauth::challenge::Challenge;
use crate::oauth::error::{NoToken, Reason};
use crate::oauth::expiry::renewal_at;
use crate::oauth::flight::{self, Glance, GrantSlot, RenewalReason, fly};
use crate::oauth::grant::{Grant, Token};
use crate::oauth::pending::PendingLogins;
use crate::oauth::resource::covers;
use crate::oauth::settings::Settings;
use crate::oauth::vault::Vault;

/// Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct OAuth {
    pub(super) shared: Arc<OAuthState>,
}

/// What may be shown of a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantSummary {
    pub issuer: String,
    pub scope: Option<String>,
    pub expires_at: Option<i64>,
}

pub(super) struct OAuthState {
    pub(super) net: Client,
    pub(super) vault: Arc<dyn Vault>,
    pub(super) settings: Settings,
    // Both locks are leaves: held for one look, never together and across no await. What is asked
    // of a vault or an issuer meanwhile finds the slot again by its server.
    pub(super) pending: Mutex<PendingLogins>,
    /// By server.
    pub(super) slots: Mutex<HashMap<String, GrantSlot>>,
    /// What must not end with its caller: a grant that has been given is kept.
    pub(super) tasks: TaskTracker,
}

impl OAuth {
    pub fn new(net: Client, vault: Arc<dyn Vault>, settings: Settings) -> Self {
        let pending = Mutex::new(PendingLogins::default());
        let (slots, tasks) = (Mutex::new(HashMap::new()), TaskTracker::new());
        Self { shared: Arc::new(OAuthState { net, vault, settings, pending, slots, tasks }) }
    }

    /// A token for requests to `url`, the server's address as configured. While a token is valid this
    /// waits for nobody; one that ends soon is renewed meanwhile.
    pub async fn access_token(&self, server: &str, url: &str) -> Result<Token, NoToken> {
        let grant = match self.glance(server) {
            Glance::Use(grant) => grant,
            Glance::UseAndRenew(grant) => {
                // The flight is not awaited: the token in hand still lives, and a call must not
                // wait for an issuer.
                drop(fly(&self.shared, server, RenewalReason::WhenDue));
                grant
            }
            Glance::Renew => {
                flight::landed(fly(&self.shared, server, RenewalReason::WhenDue)).await?
            }
            Glance::Refuse(why) => return Err(why),
        };
        self.token_for(&grant, url)
    }

    /// A token that is good for a while, and when (ms) to ask for another one. Unlike `access_token`
    /// this waits for a renewal that is due: it is for those who keep what they get.
    pub async fn fresh_token(
        &self,
        server: &str,
        url: &str,
    ) -> Result<(Token, Option<i64>), NoToken> {
        let grant = match self.glance(server) {
            Glance::Use(grant) => grant,
            // What is handed out here is kept by its caller for minutes, so that a token about to
            // end is no use.
            Glance::UseAndRenew(_) | Glance::Renew => {
                flight::landed(fly(&self.shared, server, RenewalReason::WhenDue)).await?
            }
            Glance::Refuse(why) => return Err(why),
        };
        Ok((self.token_for(&grant, url)?, renewal_at(&grant.held, self.shared.settings.early)))
    }

    /// Has somebody logged in or out elsewhere, with the same vault? What is known here is forgotten
    /// then. A vault that cannot be read says nothing.
    pub async fn is_outdated(&self, server: &str) -> bool {
        // Loaded before the lock is taken: a vault may be a database, and the lock spans no await.
        let Ok(kept) = self.shared.vault.load(server).await else { return false };
        let usable = kept.filter(|kept| !kept.grant.is_lost());
        let there = usable.map(|kept| kept.grant.granted_at);
        let mut slots = self.shared.slots.lock();
        let slot = slots.get_mut(server);
        let here = slot.as_ref().and_then(|slot| Some(slot.known.as_ref()?.granted_at));
        if there == here {
            return false;
        }
        if let Some(slot) = slot {
            slot.known = None;
            // Only what is known is dropped: a pause after an outage or an unsaved grant still counts.
        }
        true
    }

    /// What is known of the server's grant without asking anybody.
    pub fn known(&self, server: &str) -> Option<GrantSummary> {
        let slots = self.shared.slots.lock();
        let grant = slots.get(server)?.known.as_ref()?;
        let (issuer, scope) = (grant.issuer.clone(), grant.scope.clone());
        Some(GrantSummary { issuer, scope, expires_at: grant.held.expires_at })
    }

    /// The server has answered 401 or 403 to a request with `token`: another token, if there is one.
    /// A request that fails with that one, too, is not to be tried again.
    pub async fn rejected(
        &self,
        server: &str,
        url: &str,
        token: &Token,
        challenge: Option<&Challenge>,
    ) -> Result<Token, NoToken> {
        // RFC 6750, 3.1: `insufficient_scope` is not cured by a new token of the same grant; only a
        // login can ask for more.
        if challenge.is_some_and(Challenge::wants_more_scope) {
            return Err(NoToken::NeedsAuth { reason: Reason::MoreScope });
        }
        let place = address(url)?;
        // A renewal that was under way already may not have known about this.
        for _ in 0..2 {
            let order = RenewalReason::Rejected {
                token: token.value.clone(),
                server: place.clone(),
                challenge: challenge.cloned(),
            };
            let grant = flight::landed(fly(&self.shared, server, order)).await?;
            if grant.held.access != token.value {
                return self.token_for(&grant, url);
            }
        }
        Err(NoToken::Rejected)
    }

    /// The clock that the times of tokens are counted with (ms).
    pub fn now(&self) -> i64 {
        self.shared.now()
    }

    /// Waits for renewals and logins that are under way.
    pub async fn close(&self) {
        // Closed before waiting: a closed tracker still takes tasks, and `wait` ends only once it
        // is closed.
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }

    fn glance(&self, server: &str) -> Glance {
        let slots = self.shared.slots.lock();
        // A server without a slot may still have a grant in the vault: the renewal looks there
        // first.
        let Some(slot) = slots.get(server) else { return Glance::Renew };
        slot.glance(self.shared.settings.early, self.shared.now(), Instant::now())
    }

    /// A token goes to the server it was granted for: not to where somebody has moved its entry.
    // RFC 8707: a token is bound to a resource. An entry that was moved to another host must not
    // carry it there.
    fn token_for(&self, grant: &Grant, url: &str) -> Result<Token, NoToken> {
        if covers(&grant.resource, &address(url)?) {
            Ok(grant.token())
        } else {
            Err(NoToken::NeedsAuth { reason: Reason::Moved })
        }
    }
}

impl OAuthState {
    pub(super) fn now(&self) -> i64 {
        (self.settings.clock)()
    }

    /// The slot of the server, for a moment.
    pub(super) fn slot<T>(&self, server: &str, look: impl FnOnce(&mut GrantSlot) -> T) -> T {
        let mut slots = self.slots.lock();
        // By entry and not by `get_mut`: a note about a failure must not be lost because nothing
        // was known yet.
        look(slots.entry(server.to_owned()).or_default())
    }
}

fn address(url: &str) -> Result<Url, NoToken> {
    Url::parse(url).map_err(|why| NoToken::Unavailable { why: why.to_string(), retry_in: None })
}

impl fmt::Debug for OAuthState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth").field("settings", &self.settings).finish_non_exhaustive()
    }
}
