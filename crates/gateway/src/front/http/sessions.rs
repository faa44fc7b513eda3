//! The sessions of HTTP clients, by their ids.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use foldhash::quality::RandomState;
use rustix::rand::{GetRandomFlags, getrandom};
use trunkline_wire::{LATEST_LEGACY, Revision};

use crate::call::{Presence, ResponseSink};
use crate::front::http::caller::Owner;
use crate::front::http::clock::Clock;
use crate::front::http::events::Stream;
use crate::front::http::sse::SseSession;
use crate::front::http::streams::Streams;
use crate::gate::Pass;
use crate::limits::{SESSION_SECONDS, SESSIONS};
use crate::lock::{Mutex, rank};
use crate::pump::FlushSet;
use crate::session::{Session, SessionContext};

/// 128 random bits as hexadecimal digits: whoever knows it is the client.
pub(super) type SessionId = [u8; 32];

pub(super) fn random_id() -> io::Result<SessionId> {
    let mut random = [0; 16];
    getrandom(&mut random, GetRandomFlags::empty())?;
    let mut id = [0; 32];
    for (digit, place) in id.iter_mut().enumerate() {
        let byte = random.get(digit / 2).copied().unwrap_or_default();
        let nibble = if digit % 2 == 0 { byte >> 4 } else { byte & 15 };
        *place = if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
    }
    Ok(id)
}

/// One client of `/mcp`.
#[derive(Debug)]
pub(super) struct HttpSession {
    pub(super) id: SessionId,
    pub(super) session: Arc<Session>,
    pub(super) streams: Arc<Streams>,
    pub(super) owner: Owner,
    pub(super) agreed: Revision,
    /// When it was opened.
    pub(super) began: u32,
    clock: Arc<Clock>,
    pub(super) seen: AtomicU32,
    over: AtomicBool,
}

impl HttpSession {
    fn new(session: Arc<Session>, agreed: Revision, clock: &Arc<Clock>) -> io::Result<Arc<Self>> {
        let id = random_id()?;
        let opened = Arc::new(Self {
            id,
            streams: Arc::new(Streams::new(id, agreed >= LATEST_LEGACY, clock)),
            owner: Owner::new(session.caller.as_ref()),
            agreed,
            began: clock.now(),
            session,
            clock: Arc::clone(clock),
            seen: AtomicU32::new(clock.now()),
            over: AtomicBool::new(false),
        });
        let presence = Arc::downgrade(&opened);
        opened.session.client.watched_by(presence);
        Ok(opened)
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// The client has just been heard of.
    pub(super) fn seen(&self) {
        self.seen.store(self.clock.now(), Ordering::Relaxed);
    }

    /// The stream for what concerns no call: that leaves through it from now on.
    pub(super) fn general(&self) -> Arc<Stream> {
        let general = self.streams.general();
        self.session.client.set_stream(Some(ResponseSink::Responder(Arc::clone(&general) as _)));
        general
    }

    /// The session is over: nothing more is said, and its id is unknown. Calls that are open end
    /// as they would.
    fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
        let mut touched = FlushSet::default();
        self.streams.close_general(&mut touched);
        touched.flush();
        self.session.end();
    }

    /// Nothing is open and nobody listens.
    fn is_idle(&self) -> bool {
        self.session.client.is_idle() && !self.streams.any_attached()
    }

    /// Has nothing happened for long? Forgets old streams meanwhile.
    fn has_expired(&self, now: u32) -> bool {
        self.streams.forget(now);
        if now.saturating_sub(self.seen.load(Ordering::Relaxed)) < SESSION_SECONDS {
            return false;
        }
        let idle = self.is_idle();
        if !idle {
            self.seen();
        }
        idle
    }
}

impl Presence for HttpSession {
    fn absent_seconds(&self) -> Option<u32> {
        let seen = self.seen.load(Ordering::Relaxed);
        self.is_idle().then(|| self.clock.now().saturating_sub(seen))
    }
}

#[derive(Debug, Default)]
pub(super) struct Sessions {
    http: Mutex<HashMap<SessionId, Arc<HttpSession>, RandomState>, rank::HttpSessions>,
    sse: Mutex<HashMap<SessionId, Arc<SseSession>, RandomState>, rank::SseSessions>,
    /// Counts those that have come and those that have gone.
    turnover: AtomicU64,
}

impl Sessions {
    /// A new session; `None`: there are too many, and none is idle.
    pub(super) fn open(
        &self,
        context: &Arc<SessionContext>,
        caller: Option<&Arc<Pass>>,
        agreed: Revision,
        clock: &Arc<Clock>,
    ) -> io::Result<Option<Arc<HttpSession>>> {
        if !self.make_room() {
            return Ok(None);
        }
        let session = Session::of(Arc::clone(context), caller.cloned());
        let opened = HttpSession::new(Arc::clone(&session), agreed, clock)?;
        self.http.lock().insert(opened.id, Arc::clone(&opened));
        self.turnover.fetch_add(1, Ordering::Relaxed);
        Ok(Some(opened))
    }

    fn make_room(&self) -> bool {
        let oldest = {
            let http = self.http.lock();
            if http.len() < SESSIONS {
                return true;
            }
            let idle = http.values().filter(|session| session.is_idle());
            idle.min_by_key(|session| session.seen.load(Ordering::Relaxed)).cloned()
        };
        oldest.is_some_and(|oldest| self.end(&oldest))
    }

    /// The session of this id, if it is this caller's: others' are not there.
    pub(super) fn get(&self, id: &[u8], caller: Option<&Arc<Pass>>) -> Option<Arc<HttpSession>> {
        let id: &SessionId = id.try_into().ok()?;
        let session = self.http.lock().get(id).cloned();
        session.filter(|session| session.owner.is(caller))
    }

    /// False: it was over already.
    pub(super) fn end(&self, session: &HttpSession) -> bool {
        let removed = self.http.lock().remove(&session.id);
        self.turnover.fetch_add(1, Ordering::Relaxed);
        removed.inspect(|session| session.end()).is_some()
    }

    pub(super) fn add_sse(&self, session: &Arc<SseSession>) {
        self.sse.lock().insert(session.id, Arc::clone(session));
        self.turnover.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn get_sse(&self, id: &[u8], caller: Option<&Arc<Pass>>) -> Option<Arc<SseSession>> {
        let id: &SessionId = id.try_into().ok()?;
        let session = self.sse.lock().get(id).cloned();
        session.filter(|session| session.owner.is(caller))
    }

    /// How many are left; `None`: it had left already.
    pub(super) fn remove_sse(&self, session: &SseSession) -> Option<usize> {
        let mut sse = self.sse.lock();
        sse.remove(&session.id)?;
        self.turnover.fetch_add(1, Ordering::Relaxed);
        Some(sse.len())
    }

    pub(super) fn sse_count(&self) -> usize {
        self.sse.lock().len()
    }

    /// Ends the sessions in which nothing happens any more.
    pub(super) fn expire(&self, now: u32) {
        let all = self.all_http();
        for session in all.iter().filter(|session| session.has_expired(now)) {
            tracing::debug!("a session in which nothing happened is over");
            self.end(session);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.http.lock().is_empty() && self.sse.lock().is_empty()
    }

    /// Ends every session and every stream.
    pub(super) fn end_all(&self) {
        let http: Vec<_> = self.http.lock().drain().map(|(_, session)| session).collect();
        for session in http {
            session.end();
        }
        let sse: Vec<_> = self.sse.lock().drain().map(|(_, client)| client).collect();
        let mut touched = FlushSet::default();
        for client in sse {
            client.close(&mut touched);
            client.session.end();
        }
        touched.flush();
    }

    pub(super) fn all_http(&self) -> Vec<Arc<HttpSession>> {
        self.http.lock().values().cloned().collect()
    }

    pub(super) fn all_sse(&self) -> Vec<Arc<SseSession>> {
        self.sse.lock().values().cloned().collect()
    }

    /// Another number whenever one has come or gone.
    pub(super) fn turnover(&self) -> u64 {
        self.turnover.load(Ordering::Relaxed)
    }

    /// Every session there is.
    pub(super) fn all(&self) -> Vec<Arc<Session>> {
        let mut all: Vec<_> =
            self.http.lock().values().map(|http| Arc::clone(&http.session)).collect();
        all.extend(self.sse.lock().values().map(|sse| Arc::clone(&sse.session)));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_long_and_different() {
        let (one, other) = (random_id().unwrap(), random_id().unwrap());
        assert!(one.iter().all(u8::is_ascii_hexdigit));
        assert_ne!(one, other);
    }
}
