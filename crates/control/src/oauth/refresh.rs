//! Renews a server's token: asks once, keeps what came before anybody uses it.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::oauth::discover;
use crate::oauth::driver::OAuthState;
use crate::oauth::error::{NoToken, Reason};
use crate::oauth::expiry::{Advice, advise, is_alive, pause};
use crate::oauth::flight::{GrantSlot, IssuerOutage, Renewal, RenewalReason};
use crate::oauth::grant::{Grant, HeldTokens};
use crate::oauth::resource::covers;
use crate::oauth::token::{self, TokenAnswer, Tokens};
use crate::oauth::vault::{Hold, KeptGrant, VaultError};

/// A token that was renewed because the server rejected its predecessor, and is rejected as well:
/// within this time it is the server that is wrong, and asking the issuer again does not help. One that
/// cannot be renewed is lost only after it: servers have bad moments.
const REJECTION: Duration = Duration::from_secs(60);

/// How long to wait for another process that renews it, and how often to look: two requests of ours
/// and what is written are done by then.
const PATIENCE: Duration = Duration::from_secs(25);
const LOOK: Duration = Duration::from_millis(100);

pub(super) async fn renew(shared: &OAuthState, server: &str, order: &RenewalReason) -> Renewal {
    if let Err(error) = keep_unsaved(shared, server).await {
        return instead(shared, server, order, unavailable(&error));
    }
    // Somebody else (a login on the command line, another replica) may have been here.
    let kept = match current(shared, server).await {
        Ok(kept) => kept,
        Err(no) => return instead(shared, server, order, no),
    };
    let grant = shared.slot(server, |slot| slot.know(kept.grant.clone()));
    // The step is decided once without the hold and once with it: most callers need no hold at all.
    match step(shared, server, order, &kept) {
        NextStep::Use => return Ok(grant),
        NextStep::Login(reason) => return needs(reason),
        NextStep::Wait => return Err(NoToken::Rejected),
        NextStep::Lose(_) | NextStep::Ask => {}
    }
    // Asked before the hold is taken: while the issuer is down, replicas need not queue for one.
    if let Some(no) = shared.slot(server, |slot| slot.pause(Instant::now())) {
        return instead(shared, server, order, no);
    }
    let hold = match hold(shared, server).await {
        Ok(hold) => hold,
        Err(no) => return instead(shared, server, order, no),
    };
    let outcome = alone(shared, server, order).await;
    hold.release().await;
    outcome
}

/// Waits for whoever else renews it.
async fn hold(shared: &OAuthState, server: &str) -> Result<Box<dyn Hold>, NoToken> {
    let until = Instant::now() + PATIENCE;
    loop {
        match shared.vault.hold(server).await {
            Ok(Some(hold)) => return Ok(hold),
            // Polled and not awaited: the hold may be a row or a file lock of another process,
            // which wakes nobody.
            Ok(None) if Instant::now() < until => sleep(LOOK).await,
            Ok(None) => {
                let why = "another process has not yet ended to renew it".to_owned();
                return Err(NoToken::Unavailable { why, retry_in: Some(LOOK) });
            }
            Err(error) => return Err(unavailable(&error)),
        }
    }
}

/// Nobody else renews it now. Somebody may just have done.
async fn alone(shared: &OAuthState, server: &str, order: &RenewalReason) -> Renewal {
    let kept = match current(shared, server).await {
        Ok(kept) => kept,
        Err(no) => return instead(shared, server, order, no),
    };
    let grant = shared.slot(server, |slot| slot.know(kept.grant.clone()));
    match step(shared, server, order, &kept) {
        NextStep::Use => Ok(grant),
        NextStep::Login(reason) => needs(reason),
        NextStep::Wait => Err(NoToken::Rejected),
        NextStep::Lose(why) => lose(shared, server, kept, why).await,
        // A compromised or moved server could name another issuer; the refresh token never goes
        // there.
        NextStep::Ask if !is_trusted(shared, order, &kept).await => {
            let why = "the server now trusts another authorization server".to_owned();
            lose(shared, server, kept, why).await
        }
        NextStep::Ask => ask(shared, server, order, kept).await,
    }
}

#[derive(Debug, PartialEq, Eq)]
enum NextStep {
    Use,
    Ask,
    /// The token should be good.
    Wait,
    Login(Reason),
    Lose(String),
}

fn step(shared: &OAuthState, server: &str, order: &RenewalReason, kept: &KeptGrant) -> NextStep {
    let held = &kept.grant.held;
    match order {
        // If the token in the vault is another one by now, the rejection is answered by using that.
        RenewalReason::Rejected { token, server: place, .. } if held.access == *token => {
            if !covers(&kept.grant.resource, place) {
                return NextStep::Login(Reason::Moved);
            }
            let now = Instant::now();
            let (renewed, rejected) = shared.slot(server, |slot| {
                let renewed = slot.renewed_on_rejection.map(|at| now.duration_since(at));
                (renewed, slot.rejected_for(token, now))
            });
            // The slot is asked in one look: the two times belong to the same moment.
            on_rejection(held.refresh.is_some(), is_alive(held, shared.now()), renewed, rejected)
        }
        _ => match advise(held, shared.settings.early, shared.now()) {
            Advice::Use => NextStep::Use,
            Advice::UseAndRenew | Advice::Renew => NextStep::Ask,
            Advice::Ended => NextStep::Login(Reason::Ended),
        },
    }
}

/// What to do about a token that the server does not take: for so long, and so long after one was
/// renewed for the same reason.
fn on_rejection(
    can_renew: bool,
    is_alive: bool,
    renewed: Option<Duration>,
    rejected: Duration,
) -> NextStep {
    match (can_renew, is_alive) {
        (true, _) if renewed.is_some_and(|since| since < REJECTION) => NextStep::Wait,
        (true, _) => NextStep::Ask,
        (false, false) => NextStep::Login(Reason::Ended),
        (false, true) if rejected < REJECTION => NextStep::Wait,
        (false, true) => NextStep::Lose("the server does not take the token any more".to_owned()),
    }
}

/// Before the issuer is asked for a token that the server rejected: is it still the one the server
/// trusts? If the server cannot say, the tokens still go only to the issuer that gave them.
async fn is_trusted(shared: &OAuthState, order: &RenewalReason, kept: &KeptGrant) -> bool {
    let RenewalReason::Rejected { server, challenge, .. } = order else { return true };
    let (net, limits) = (&shared.net, shared.settings.limits);
    let named = discover::resource(net, limits, server, challenge.as_ref()).await;
    // A resource that cannot be discovered is no proof of a change: the grant's own issuer is
    // asked.
    named.map_or(true, |resource| resource.issuers.contains(&kept.grant.issuer))
}

/// The request itself: one, to the issuer that gave the grant.
async fn ask(shared: &OAuthState, server: &str, order: &RenewalReason, kept: KeptGrant) -> Renewal {
    let grant = &kept.grant;
    let Some(refresh) = &grant.held.refresh else { return needs(Reason::Ended) };
    let fields = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh.reveal()),
        // RFC 8707, 2.2: the resource is repeated with the refresh token, so that the new token is
        // bound to it again.
        ("resource", grant.resource.as_str()),
    ];
    let request = token::request(grant.token_endpoint.clone(), &grant.client, &fields);
    // Taken before the request: a lifetime counts from when the issuer made the token, and that is
    // not later than the answer. Early is safe, late is not.
    let asked_at = shared.now();
    let verdict = match shared.net.send(request, shared.settings.limits).await {
        Ok(answer) => token::judge(&answer),
        // A request without an answer is no refusal: the refresh token may still be good.
        Err(error) => TokenAnswer::Later { why: error.to_string(), after: None },
    };
    match verdict {
        TokenAnswer::Granted(tokens) => {
            let renewed = with(grant, tokens, asked_at);
            keep(shared, server, order, renewed, kept.revision).await
        }
        TokenAnswer::Refused(why) => refused(shared, server, kept, why).await,
        // 5xx, 429 and broken connections: the grant is kept, and the next attempt waits.
        TokenAnswer::Later { why, after } => {
            tracing::warn!(server, issuer = grant.issuer, why, "a token could not be renewed");
            let no = shared.slot(server, |slot| {
                let failures = slot.trouble.as_ref().map_or(0, |trouble| trouble.failures) + 1;
                let left = pause(failures, after);
                let until = Instant::now() + left;
                slot.trouble = Some(IssuerOutage { failures, until, why: why.clone() });
                NoToken::Unavailable { why, retry_in: Some(left) }
            });
            instead(shared, server, order, no)
        }
    }
}

/// What came is kept before it is used: a refresh token that was replaced and then lost with this
/// process would be the end of the grant.
async fn keep(
    shared: &OAuthState,
    server: &str,
    order: &RenewalReason,
    grant: Grant,
    after: i64,
) -> Renewal {
    // With the revision that was read: if another replica saved in between, this is a conflict and
    // not a silent overwrite.
    match shared.vault.save(server, &grant, Some(after)).await {
        Ok(_) => Ok(shared.slot(server, |slot| {
            slot.trouble = None;
            if matches!(order, RenewalReason::Rejected { .. }) {
                slot.renewed_on_rejection = Some(Instant::now());
            }
            slot.know(grant)
        })),
        // Somebody was faster, or it is ours from a save whose answer was lost.
        Err(VaultError::Conflict) => match current(shared, server).await {
            Ok(kept) => usable(shared, server, kept),
            Err(no) => Err(no),
        },
        Err(error) => {
            tracing::error!(server, %error, "a renewed token could not be kept and is not used");
            // Kept in memory although it is not used: the issuer may have replaced the refresh
            // token, and then the kept one is dead.
            shared.slot(server, |slot| slot.unsaved = Some((grant, after)));
            instead(shared, server, order, unavailable(&error))
        }
    }
}

/// Tokens that could not be kept the last time: they are there, so nobody is asked for others.
async fn keep_unsaved(shared: &OAuthState, server: &str) -> Result<(), VaultError> {
    let Some((grant, after)) = shared.slot(server, |slot| slot.unsaved.clone()) else {
        return Ok(());
    };
    match shared.vault.save(server, &grant, Some(after)).await {
        // Something newer is there, or these are.
        Ok(_) | Err(VaultError::Conflict) => {
            shared.slot(server, |slot| slot.unsaved = None);
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// The issuer says that the grant is gone. With several replicas another one may just have renewed it.
async fn refused(shared: &OAuthState, server: &str, kept: KeptGrant, why: String) -> Renewal {
    match current(shared, server).await {
        // Compared as a whole: a refusal of an old refresh token says nothing about the newer one.
        Ok(newer) if newer != kept => usable(shared, server, newer),
        _ => lose(shared, server, kept, why).await,
    }
}

/// From now on nobody asks with this grant; a login replaces it.
async fn lose(shared: &OAuthState, server: &str, kept: KeptGrant, why: String) -> Renewal {
    tracing::warn!(
        server,
        issuer = kept.grant.issuer,
        why,
        "a grant is lost; somebody has to log in"
    );
    let mut grant = kept.grant;
    grant.lost = Some(why.clone());
    let saved = shared.vault.save(server, &grant, Some(kept.revision)).await;
    shared.slot(server, |slot| {
        slot.known = None;
        // Only if the loss could not be written: otherwise the vault says so itself, also after a
        // restart.
        slot.dead = saved.is_err().then(|| (grant.held.access, why.clone()));
    });
    needs(Reason::Lost(why))
}

/// The grant as it is kept now, if it is still one.
async fn current(shared: &OAuthState, server: &str) -> Result<KeptGrant, NoToken> {
    let kept = shared.vault.load(server).await.map_err(|error| unavailable(&error))?;
    // Taken after the load: the lock spans no await. What came in between is found at the next
    // look.
    let mut slots = shared.slots.lock();
    let Some(kept) = kept else {
        // The slot goes along with the grant: its failures belong to an issuer that no longer
        // matters.
        slots.remove(server);
        return Err(NoToken::NeedsAuth { reason: Reason::Never });
    };
    let slot = slots.entry(server.to_owned()).or_default();
    let dead = |slot: &GrantSlot| {
        slot.dead.clone().filter(|(access, _)| *access == kept.grant.held.access)
    };
    match kept.grant.lost.clone().or_else(|| dead(slot).map(|(_, why)| why)) {
        Some(why) => {
            slot.known = None;
            Err(NoToken::NeedsAuth { reason: Reason::Lost(why) })
        }
        None => Ok(kept),
    }
}

/// A grant that somebody else has renewed.
fn usable(shared: &OAuthState, server: &str, kept: KeptGrant) -> Renewal {
    let alive = is_alive(&kept.grant.held, shared.now());
    let grant = shared.slot(server, |slot| slot.know(kept.grant));
    let why = || "it was renewed elsewhere and has ended again".to_owned();
    // No second renewal from here: two replicas that renew for each other in turns would never end.
    if alive { Ok(grant) } else { Err(NoToken::Unavailable { why: why(), retry_in: None }) }
}

/// The token in use does as long as it lives, unless it is the one that was rejected, or the grant
/// is gone.
fn instead(shared: &OAuthState, server: &str, order: &RenewalReason, no: NoToken) -> Renewal {
    let known = shared.slot(server, |slot| slot.known.clone());
    let known = known.filter(|_| matches!(no, NoToken::Unavailable { .. }));
    let known = known.filter(|known| match order {
        RenewalReason::WhenDue => is_alive(&known.held, shared.now()),
        // Handing the rejected token out again would make the caller send it again.
        RenewalReason::Rejected { .. } => false,
    });
    known.ok_or(no)
}

fn with(grant: &Grant, tokens: Tokens, asked_at: i64) -> Grant {
    let mut renewed = grant.clone();
    let before = renewed.held.refresh.take();
    renewed.held =
        // RFC 6749, 6: an issuer that sends no new refresh token lets the old one go on.
        HeldTokens::new(tokens.access, tokens.refresh.or(before), asked_at, tokens.lifetime);
    // RFC 6749, 5.1: an omitted scope is the scope that was asked for.
    renewed.scope = tokens.scope.or(renewed.scope);
    renewed
}

fn needs(reason: Reason) -> Renewal {
    Err(NoToken::NeedsAuth { reason })
}

fn unavailable(error: &VaultError) -> NoToken {
    NoToken::Unavailable { why: error.to_string(), retry_in: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_is_not_taken_is_lost_only_if_nothing_else_is_left() {
        let lost = || NextStep::Lose("the server does not take the token any more".to_owned());
        // Can it be renewed? Is it alive? How long ago was it renewed, and for how long is it refused?
        for (can_renew, is_alive, renewed, rejected, step) in [
            (true, true, None, 0, NextStep::Ask),
            (true, false, None, 0, NextStep::Ask),
            (true, true, Some(0), 0, NextStep::Wait),
            (true, true, Some(59), 59, NextStep::Wait),
            (true, true, Some(60), 600, NextStep::Ask),
            (false, true, None, 0, NextStep::Wait),
            (false, true, None, 59, NextStep::Wait),
            (false, true, None, 60, lost()),
            (false, false, None, 0, NextStep::Login(Reason::Ended)),
        ] {
            let renewed = renewed.map(Duration::from_secs);
            let rejected = Duration::from_secs(rejected);
            assert_eq!(on_rejection(can_renew, is_alive, renewed, rejected), step);
        }
    }
}
