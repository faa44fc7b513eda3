//! Who has signed in: sessions of this process, and those that the store has of before or of other replicas.

use std::sync::Arc;

use trunkline_control::access::{NoRandom, Principal};
use trunkline_control::services::{KeptSession, SessionAges};
use trunkline_gateway::WebRequest;

use crate::guard;
use crate::page_request::DashboardState;
use crate::session::{Digest, IDLE, LONGEST, Session, Times, digest, hex, read_digest};

/// Characters of an id: the store is not asked for anything else.
const ID: usize = 64;

const AGES: SessionAges = SessionAges { idle: IDLE, longest: LONGEST };

/// The id in the request's cookie, if it could be one of ours.
pub(crate) fn cookie_id<'a>(state: &DashboardState, visit: &'a WebRequest) -> Option<&'a str> {
    let id = guard::cookie(&visit.headers, &cookie_name(state, visit))?;
    (id.len() == ID && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
}

pub(crate) fn cookie_name(state: &DashboardState, visit: &WebRequest) -> String {
    guard::session_cookie(&visit.headers, is_secure(state, visit))
}

pub(crate) fn is_secure(state: &DashboardState, visit: &WebRequest) -> bool {
    visit.is_secure
        || guard::is_secure(&visit.headers, state.api.plane().settings().public_url.as_deref())
}

/// Where this browser has to go instead: its page came without TLS, and it drops the cookies of those that come with.
pub(crate) fn secure_place(state: &DashboardState, visit: &WebRequest) -> Option<String> {
    let public = state.api.plane().settings().public_url.clone();
    let public = public.filter(|public| public.starts_with("https://"))?;
    let origin = visit.headers.text("origin").unwrap_or_default();
    (origin.starts_with("http://") && is_secure(state, visit)).then_some(public)
}

/// The session of the request's cookie, if this process knows it and whoever began it would still be let in.
pub(crate) fn known(state: &DashboardState, visit: &WebRequest) -> Option<Arc<Session>> {
    let id = cookie_id(state, visit)?;
    let session = state.sessions.find(id, state.now())?;
    // A key that was revoked ends the sessions that it began.
    if state.api.still_knows(&session.principal) {
        return Some(session);
    }
    // The store may keep it: nobody is let in by it.
    state.sessions.end(id);
    None
}

/// The session of the request's cookie, wherever it began.
pub(crate) async fn find(state: &DashboardState, visit: &WebRequest) -> Option<Arc<Session>> {
    let id = cookie_id(state, visit)?;
    let sessions = state.api.plane().web_sessions();
    if let Some(session) = known(state, visit) {
        // A store that does not answer ends nothing.
        let is_gone = session.take_look(state.now())
            && matches!(sessions.has(&kept_id(id), AGES).await, Ok(false));
        if is_gone {
            state.sessions.end(id);
        }
        return (!is_gone).then_some(session);
    }
    // The store may not have heard of it yet.
    if state.sessions.was_signed_out(id) {
        return None;
    }
    // One at a time: whoever invents cookies does not load the store. The semaphore is never closed.
    let _turn = state.looks.acquire().await;
    let kept = sessions.find(&kept_id(id), AGES).await;
    let KeptSession { principal, began, used } = kept.ok().flatten()?;
    // Somebody may have signed out while the store was asked.
    if state.sessions.was_signed_out(id) {
        return None;
    }
    let now = state.now();
    let times = Times { began: now.saturating_sub(began), used: now.saturating_sub(used) };
    let session = state.sessions.add(id, principal, times, now);
    session.set_kept(now);
    Some(session)
}

/// A new session; the id for its cookie. Where the store cannot take it, it ends with this process.
pub(crate) async fn begin(
    state: &DashboardState,
    principal: Principal,
) -> Result<String, NoRandom> {
    let (id, session) = state.sessions.begin(principal, state.now())?;
    let sessions = state.api.plane().web_sessions();
    match sessions.keep(&kept_id(&id), &session.principal, AGES).await {
        Ok(true) => session.set_kept(state.now()),
        Ok(false) => {}
        Err(error) => {
            tracing::warn!(%error, "a session of the dashboard cannot be kept: it ends with this process");
        }
    }
    Ok(id)
}

/// Somebody was there.
pub(crate) fn touch(state: &DashboardState, id: &str, session: &Session) {
    if session.touch(state.now()) {
        state.api.plane().web_sessions().touch(&kept_id(id));
    }
}

/// Ends it here at once, and in the store as soon as that takes it.
pub(crate) async fn end(state: &DashboardState, id: &str) {
    end_digest(state, digest(id)).await;
}

/// Names the session of the request's cookie to `end_named`; of no use for anything else.
pub(crate) fn name(state: &DashboardState, visit: &WebRequest) -> Option<String> {
    cookie_id(state, visit).map(kept_id)
}

/// Ends the session that `name` has named.
pub(crate) async fn end_named(state: &DashboardState, name: &str) {
    if let Some(digest) = read_digest(name) {
        end_digest(state, digest).await;
    }
}

async fn end_digest(state: &DashboardState, digest: Digest) {
    state.sessions.sign_out(digest, state.now());
    // Waited for: another replica is not to find it again, if that can be had.
    state.api.plane().web_sessions().end(&hex(&digest)).await;
}

/// The digest: who reads the store cannot use what it finds.
fn kept_id(id: &str) -> String {
    hex(&digest(id))
}
