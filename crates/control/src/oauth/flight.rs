//! One renewal per server at a time: who comes while it is under way shares what comes of it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use trunkline_http::Url;

use crate::oauth::challenge::Challenge;
use crate::oauth::driver::OAuthState;
use crate::oauth::error::NoToken;
use crate::oauth::expiry::{Advice, Early, advise};
use crate::oauth::grant::Grant;
use crate::oauth::refresh::renew;
use crate::oauth::secret::Secret;

pub(super) type Renewal = Result<Arc<Grant>, NoToken>;

/// What is known of a server's grant between two looks into the vault.
#[derive(Debug, Default)]
pub(super) struct GrantSlot {
    /// A grant that is kept and in use.
    pub(super) known: Option<Arc<Grant>>,
    /// Tokens that came and could not be kept yet, and the revision they follow.
    pub(super) unsaved: Option<(Grant, i64)>,
    /// The access token of a grant that the issuer refused, in case that cannot be written down.
    pub(super) dead: Option<(Secret, String)>,
    pub(super) trouble: Option<IssuerOutage>,
    /// The token that the server does not take, and since when.
    pub(super) rejected: Option<(Secret, Instant)>,
    /// When a token was last renewed because the server did not take it.
    pub(super) renewed_on_rejection: Option<Instant>,
    flight: Option<watch::Receiver<Option<Renewal>>>,
}

/// The issuer could not be asked.
#[derive(Debug, Clone)]
pub(super) struct IssuerOutage {
    pub(super) failures: u32,
    /// Nobody asks again before this.
    pub(super) until: Instant,
    pub(super) why: String,
}

/// Why a renewal is started.
#[derive(Debug, Clone)]
pub(super) enum RenewalReason {
    WhenDue,
    /// The server at this address did not take this token.
    Rejected {
        token: Secret,
        server: Url,
        challenge: Option<Challenge>,
    },
}

/// What can be done without waiting.
#[derive(Debug, Clone)]
pub(super) enum Glance {
    Use(Arc<Grant>),
    UseAndRenew(Arc<Grant>),
    Renew,
    Refuse(NoToken),
}

impl GrantSlot {
    pub(super) fn glance(&self, early: Early, now: i64, moment: Instant) -> Glance {
        let Some(known) = &self.known else { return Glance::Renew };
        let grant = Arc::clone(known);
        match (advise(&grant.held, early, now), self.pause(moment)) {
            // During an outage a token that still lives is used without another attempt per call.
            (Advice::Use, _) | (Advice::UseAndRenew, Some(_)) => Glance::Use(grant),
            (Advice::UseAndRenew, None) => Glance::UseAndRenew(grant),
            (Advice::Renew, Some(why)) => Glance::Refuse(why),
            // An ended token is not refused here: the vault may hold a newer one of another
            // replica.
            (Advice::Renew | Advice::Ended, _) => Glance::Renew,
        }
    }

    /// Why nobody is asked at the moment.
    pub(super) fn pause(&self, moment: Instant) -> Option<NoToken> {
        let trouble = self.trouble.as_ref().filter(|trouble| moment < trouble.until)?;
        let left: Duration = trouble.until.duration_since(moment);
        Some(NoToken::Unavailable { why: trouble.why.clone(), retry_in: Some(left) })
    }

    /// For how long the server has not taken this token.
    pub(super) fn rejected_for(&mut self, token: &Secret, now: Instant) -> Duration {
        // Another token starts the count anew: its predecessor's rejections say nothing about it.
        let same = self.rejected.take().filter(|(rejected, _)| rejected == token);
        let (rejected, since) = same.unwrap_or_else(|| (token.clone(), now));
        self.rejected = Some((rejected, since));
        now.duration_since(since)
    }

    pub(super) fn know(&mut self, grant: Grant) -> Arc<Grant> {
        let grant = Arc::new(grant);
        self.known = Some(Arc::clone(&grant));
        grant
    }

    /// A new login: what was wrong before does not count any more.
    pub(super) fn start_over(&mut self, grant: Grant) {
        // The flight stays: its task still holds the sender, and joining it is right whatever it
        // finds.
        *self = Self { flight: self.flight.take(), ..Self::default() };
        self.know(grant);
    }
}

/// Starts a renewal, or joins the one under way. It goes on when nobody waits any more: a refresh
/// token that is used up must not be lost with a caller who hung up.
pub(super) fn fly(
    shared: &Arc<OAuthState>,
    server: &str,
    order: RenewalReason,
) -> watch::Receiver<Option<Renewal>> {
    // Looking for a flight and starting one is one step under the lock: two callers that come at
    // once would otherwise use up one refresh token twice.
    let mut slots = shared.slots.lock();
    let slot = slots.entry(server.to_owned()).or_default();
    // One whose sender is gone has crashed.
    if let Some(flight) = slot.flight.as_ref().filter(|flight| flight.has_changed().is_ok()) {
        return flight.clone();
    }
    let (sender, receiver) = watch::channel(None);
    slot.flight = Some(receiver.clone());
    let (own, server) = (Arc::clone(shared), server.to_owned());
    shared.tasks.spawn(async move {
        let outcome = renew(&own, &server, &order).await;
        // Before the outcome is told: who hears it and asks again must not join this flight.
        if let Some(slot) = own.slots.lock().get_mut(&server) {
            slot.flight = None;
        }
        sender.send_replace(Some(outcome));
    });
    receiver
}

pub(super) async fn landed(mut flight: watch::Receiver<Option<Renewal>>) -> Renewal {
    // `wait_for` sees a value that was sent before it was called: a flight that landed meanwhile is
    // not missed.
    let outcome = flight.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
    let crashed =
        || NoToken::Unavailable { why: "the renewal was interrupted".into(), retry_in: None };
    outcome.unwrap_or_else(|| Err(crashed()))
}
