//! `Sessions`: the sessions of HTTP clients by their ids, of `/mcp` and of `/sse`.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use crate::lock::{Mutex, rank};
use foldhash::quality::RandomState;
use rustix::rand::{GetRandomFlags, getrandom};
use tokio_util::sync::CancellationToken;
use trunkline_wire::{Edits, LATEST_LEGACY, Revision};

use super::resumable_stream::ResumableStream;
use super::session_names::{SessionName, SessionNames};
use super::session_streams::{SessionId, SessionStreams};
use crate::call::{Payload, Presence, Responder};
use crate::front::http::access::SessionOwner;
use crate::front::http::connection::{Clock, Conn, EventStream, MESSAGE, OpenReply};
use crate::gate::{ANYONE, Pass};
use crate::limiter::AddressAccount;
use crate::limits::{SESSION_SECONDS, SESSIONS, SESSIONS_PER_CALLER};
use crate::pump::FlushSet;
use crate::session::{Session, SessionContext, leave_all};

impl Sessions {
    /// An id that nobody can guess, and the name that its client gets.
    pub(crate) fn new_name(&self) -> io::Result<(SessionId, SessionName)> {
        let id = random_id()?;
        Ok((id, self.names.name(&id)))
    }
}

fn random_id() -> io::Result<SessionId> {
    let mut random = [0; 16];
    // From the kernel: an id that could be guessed would open the session to others.
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
pub(crate) struct HttpSession {
    pub(crate) id: SessionId,
    pub(crate) session: Arc<Session>,
    pub(crate) streams: Arc<SessionStreams>,
    pub(crate) owner: SessionOwner,
    pub(crate) agreed: Revision,
    /// When it was opened.
    pub(crate) began: u32,
    clock: Arc<Clock>,
    heard: AtomicU32,
    over: AtomicBool,
}

impl HttpSession {
    fn new(
        session: Arc<Session>,
        agreed: Revision,
        names: &SessionNames,
        clock: &Arc<Clock>,
    ) -> io::Result<Arc<Self>> {
        let id = random_id()?;
        let opened = Arc::new(Self {
            id,
            // 2025-11-25, Transports, Resumability: a priming event with `retry` is new there;
            // older clients would take its empty data for a message.
            streams: Arc::new(SessionStreams::new(names.name(&id), agreed >= LATEST_LEGACY, clock)),
            owner: SessionOwner::new(session.caller.as_ref()),
            agreed,
            began: clock.now(),
            session,
            clock: Arc::clone(clock),
            heard: AtomicU32::new(clock.now()),
            over: AtomicBool::new(false),
        });
        // Weak: the client must not keep its session alive.
        let presence = Arc::downgrade(&opened);
        opened.session.client.watched_by(presence);
        Ok(opened)
    }

    pub(crate) fn is_over(&self) -> bool {
        // Relaxed: a request that just misses the end is answered like one before it.
        self.over.load(Ordering::Relaxed)
    }

    /// Notes that the client has sent something.
    pub(crate) fn touch(&self) {
        // Relaxed: only an age is read from it.
        self.heard.store(self.clock.now(), Ordering::Relaxed);
    }

    /// When the client last sent something.
    pub(crate) fn last_heard(&self) -> u32 {
        // Relaxed: only an age is computed from it.
        self.heard.load(Ordering::Relaxed)
    }

    /// Opens the stream for what concerns no call; such messages leave through it from now on.
    pub(crate) fn open_general(&self) -> Arc<ResumableStream> {
        let general = self.streams.general();
        self.session.client.set_stream(Some(Arc::clone(&general) as _));
        general
    }

    /// Ends the session: its id is unknown from now on. Open calls end as they would.
    fn end(&self) {
        // Relaxed: a request that races with the end may go either way.
        self.over.store(true, Ordering::Relaxed);
        let mut touched = FlushSet::default();
        self.streams.close_general(&mut touched);
        touched.flush();
        self.session.end();
    }

    /// Has it neither an open call nor a connected stream?
    fn is_idle(&self) -> bool {
        self.session.client.is_idle() && !self.streams.any_attached()
    }
}

impl Presence for HttpSession {
    // An idle session only: a client with an open stream or call is present however long it is
    // silent.
    fn absent_seconds(&self) -> Option<u32> {
        self.is_idle().then(|| self.clock.now().saturating_sub(self.last_heard()))
    }
}

/// One client of `/sse` (revision 2024-11-05): its one stream carries everything to it.
#[derive(Debug)]
pub(crate) struct SseSession {
    pub(crate) id: SessionId,
    name: SessionName,
    pub(crate) session: Arc<Session>,
    pub(crate) owner: SessionOwner,
    /// When it was opened.
    pub(crate) began: u32,
    // Held while an event is written: events of two threads must not mix.
    to: Mutex<Option<EventStream>, rank::SseReply>,
    /// Where its stream goes to; what it posts counts there, too.
    address: Option<Arc<AddressAccount>>,
    peer: Option<IpAddr>,
    /// Where it leaves when its stream is gone.
    sessions: Weak<Sessions>,
}

impl SseSession {
    /// Ends the stream in order.
    pub(crate) fn close(&self, touched: &mut FlushSet) {
        // Taken out in a statement of its own: the guard is gone before the stream ends, which
        // writes.
        let stream = self.to.lock().take();
        if let Some(stream) = stream {
            stream.end(touched);
        }
    }
}

impl OpenReply for SseSession {
    fn tick(&self, _: u32, touched: &mut FlushSet) {
        // The lock is held for the comment: it must not fall into the middle of an event.
        if let Some(stream) = &mut *self.to.lock() {
            stream.comment_if_silent(touched);
        }
    }

    /// This era has no way back to a stream: the session goes with it, and nobody waits for its calls.
    fn client_left(&self, _: &Arc<Conn>, touched: &mut FlushSet) {
        leave_all(&self.session.client, touched);
        if let Some(sessions) = self.sessions.upgrade() {
            sessions.remove_sse(self);
        }
    }
}

impl Responder for SseSession {
    fn say(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        self.answer(Payload::Borrowed(bytes), edits, touched)
    }

    fn answer(&self, payload: Payload<'_>, edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        // Held while the event is put: events of two threads must not mix.
        let mut to = self.to.lock();
        let Some(stream) = &mut *to else { return false };
        if stream.is_unread() {
            // A client that reads nothing holds everything sent to it in memory: its connection is
            // closed.
            stream.reply.conn.outbox.close();
            return false;
        }
        stream.event(MESSAGE, payload, edits, touched)
    }

    fn address(&self) -> Option<&Arc<AddressAccount>> {
        self.address.as_ref().filter(|address| address.meter.is_on())
    }

    fn peer(&self) -> Option<IpAddr> {
        self.peer
    }
}

#[derive(Debug, Default)]
pub(crate) struct Sessions {
    // Neither is held while a session ends, which takes the locks of its calls and servers.
    http: Mutex<Table<HttpSession>, rank::HttpSessions>,
    sse: Mutex<Table<SseSession>, rank::SseSessions>,
    /// Counts arrivals and departures.
    // Relaxed where it is used: readers only compare it with an earlier value.
    turnover: AtomicU64,
    /// Cancelled when the last client of `/sse` has left; `None`: the front outlives it.
    deserted: Option<CancellationToken>,
    /// What clients call their sessions.
    pub(crate) names: SessionNames,
}

/// Sessions by their ids, and how many each caller has.
#[derive(Debug)]
struct Table<T> {
    by_id: HashMap<SessionId, Arc<T>, RandomState>,
    of_caller: HashMap<Arc<[u8]>, usize, RandomState>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { by_id: HashMap::default(), of_caller: HashMap::default() }
    }
}

impl<T> Table<T> {
    fn insert(&mut self, id: SessionId, caller: Option<&Arc<Pass>>, session: Arc<T>) {
        if let Some(who) = told_apart(caller) {
            *self.of_caller.entry(Arc::clone(who)).or_default() += 1;
        }
        self.by_id.insert(id, session);
    }

    fn remove(&mut self, id: &SessionId, caller: Option<&Arc<Pass>>) -> Option<Arc<T>> {
        let removed = self.by_id.remove(id)?;
        if let Some(who) = told_apart(caller)
            && let Some(count) = self.of_caller.get_mut(who)
        {
            *count -= 1;
            if *count == 0 {
                self.of_caller.remove(who);
            }
        }
        Some(removed)
    }

    /// Has this caller as many as one may have?
    fn is_full_for(&self, caller: Option<&Arc<Pass>>, most: usize) -> bool {
        let count = told_apart(caller).and_then(|who| self.of_caller.get(who));
        count.is_some_and(|count| *count >= most)
    }

    fn take_all(&mut self) -> Vec<Arc<T>> {
        self.of_caller.clear();
        self.by_id.drain().map(|(_, session)| session).collect()
    }
}

/// Who a caller is, if that is known: those without a token are one only in name.
fn told_apart(caller: Option<&Arc<Pass>>) -> Option<&Arc<[u8]>> {
    caller.map(|pass| &pass.who).filter(|who| ***who != *ANYONE)
}

/// How many sessions of a kind this caller may have.
fn most_sessions(context: &SessionContext, caller: Option<&Arc<Pass>>) -> usize {
    let account = caller.and_then(|caller| context.limiter.account_of(caller));
    account.map_or(SESSIONS_PER_CALLER, |account| account.most_sessions())
}

/// Why no session can be opened.
#[derive(Debug)]
pub(crate) enum NoSession {
    /// There are too many, and none is idle.
    Full,
    /// The caller has so many, and none of them is idle.
    CallerFull(usize),
    NoRandom(io::Error),
}

impl Sessions {
    pub(crate) fn new(names: SessionNames, deserted: Option<CancellationToken>) -> Arc<Self> {
        Arc::new(Self { names, deserted, ..Self::default() })
    }

    pub(crate) fn open(
        &self,
        context: &Arc<SessionContext>,
        caller: Option<&Arc<Pass>>,
        agreed: Revision,
        clock: &Arc<Clock>,
    ) -> Result<Arc<HttpSession>, NoSession> {
        self.make_room(caller, most_sessions(context, caller))?;
        let session = Session::of(Arc::clone(context), caller.cloned());
        let opened = HttpSession::new(Arc::clone(&session), agreed, &self.names, clock);
        let opened = opened.map_err(NoSession::NoRandom)?;
        self.http.lock().insert(opened.id, caller, Arc::clone(&opened));
        // Relaxed: readers only compare it with an earlier value.
        self.turnover.fetch_add(1, Ordering::Relaxed);
        Ok(opened)
    }

    /// Bounds the number of sessions: the idle one that was silent longest goes. A caller with too many
    /// loses one of its own, not one of others.
    fn make_room(&self, caller: Option<&Arc<Pass>>, most: usize) -> Result<(), NoSession> {
        let (oldest, why) = {
            let http = self.http.lock();
            let is_own = |session: &&Arc<HttpSession>| {
                let owner = session.session.caller.as_ref();
                owner.map(|pass| &pass.who) == caller.map(|pass| &pass.who)
            };
            let idle = http.by_id.values().filter(|session| session.is_idle());
            // The lock is released before the session ends: `end` takes it again.
            if http.is_full_for(caller, most) {
                let own = idle.filter(is_own).min_by_key(|session| session.last_heard());
                (own.cloned(), NoSession::CallerFull(most))
            } else if http.by_id.len() >= SESSIONS {
                (idle.min_by_key(|session| session.last_heard()).cloned(), NoSession::Full)
            } else {
                return Ok(());
            }
        };
        match oldest {
            Some(oldest) if self.end(&oldest) => Ok(()),
            _ => Err(why),
        }
    }

    /// The session of this id, if it is this caller's. Another caller's session is answered like
    /// one that does not exist.
    pub(crate) fn get(&self, name: &[u8], caller: Option<&Arc<Pass>>) -> Option<Arc<HttpSession>> {
        // A wrong length is answered like an unknown id: nothing is told about the form of ids.
        let id = name.first_chunk()?;
        // Not held while the owner is checked: that takes a lock of its own.
        let session = self.http.lock().by_id.get(id).cloned();
        let session = session.filter(|session| *session.streams.session == *name);
        session.filter(|session| session.owner.check_and_renew(caller))
    }

    /// False: it was over already.
    pub(crate) fn end(&self, session: &HttpSession) -> bool {
        // The guard ends with this statement: `end` takes the locks of the session.
        let caller = session.session.caller.as_ref();
        let removed = self.http.lock().remove(&session.id, caller);
        self.turnover.fetch_add(1, Ordering::Relaxed);
        removed.inspect(|session| session.end()).is_some()
    }

    /// Opens a session whose messages leave through this stream.
    pub(crate) fn open_sse(
        self: &Arc<Self>,
        (id, name): (SessionId, SessionName),
        session: &Arc<Session>,
        stream: EventStream,
    ) -> Arc<SseSession> {
        let opened = Arc::new(SseSession {
            id,
            name,
            session: Arc::clone(session),
            owner: SessionOwner::new(session.caller.as_ref()),
            began: stream.reply.conn.now(),
            address: stream.reply.conn.accounts.address().cloned(),
            peer: stream.reply.conn.accounts.peer(),
            to: Mutex::new(Some(stream)),
            sessions: Arc::downgrade(self),
        });
        self.sse.lock().insert(id, session.caller.as_ref(), Arc::clone(&opened));
        self.turnover.fetch_add(1, Ordering::Relaxed);
        opened
    }

    pub(crate) fn get_sse(
        &self,
        name: &[u8],
        caller: Option<&Arc<Pass>>,
    ) -> Option<Arc<SseSession>> {
        let id = name.first_chunk()?;
        // Released before the owner is checked, as in `get`.
        let session = self.sse.lock().by_id.get(id).cloned();
        let session = session.filter(|session| *session.name == *name);
        session.filter(|session| session.owner.check_and_renew(caller))
    }

    /// The stream of this client is gone, and its session with it.
    pub(crate) fn remove_sse(&self, client: &SseSession) {
        let left = {
            let mut sse = self.sse.lock();
            if sse.remove(&client.id, client.session.caller.as_ref()).is_none() {
                return; // it had left already
            }
            // Counted under the lock that removed it: only the last one to leave sees zero.
            sse.by_id.len()
        };
        self.turnover.fetch_add(1, Ordering::Relaxed);
        // Dropped and not ended: the client has closed its side, there is nothing to say any more.
        drop(client.to.lock().take());
        client.session.end();
        if let (0, Some(deserted)) = (left, &self.deserted) {
            deserted.cancel();
        }
    }

    /// Has this caller room for another client of `/sse`? All of them are connected: none can go.
    pub(crate) fn has_room_for_sse(
        &self,
        context: &SessionContext,
        caller: Option<&Arc<Pass>>,
    ) -> Result<(), NoSession> {
        let most = most_sessions(context, caller);
        let sse = self.sse.lock();
        match sse.is_full_for(caller, most) {
            true => Err(NoSession::CallerFull(most)),
            false if sse.by_id.len() >= SESSIONS => Err(NoSession::Full),
            false => Ok(()),
        }
    }

    /// Ends the sessions that have been silent for long, and forgets old streams of the others.
    pub(crate) fn expire(&self, now: u32) {
        for session in self.all_http() {
            session.streams.forget(now);
            // From the last sign of the client and not from the opening.
            if now.saturating_sub(session.last_heard()) < SESSION_SECONDS {
                continue;
            }
            // A client that waits for an answer or listens is there, however silent.
            if session.is_idle() {
                tracing::debug!("an idle session has expired");
                self.end(&session);
            } else {
                // Counted as heard, so that the next sweep does not look at its streams again.
                session.touch();
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        // One after the other, never both at once: no order between them is needed.
        self.http.lock().by_id.is_empty() && self.sse.lock().by_id.is_empty()
    }

    /// Ends every session and every stream.
    pub(crate) fn end_all(&self) {
        // Collected first: ending a session takes other locks.
        let http = self.http.lock().take_all();
        for session in http {
            session.end();
        }
        let sse = self.sse.lock().take_all();
        let mut touched = FlushSet::default();
        for client in sse {
            client.close(&mut touched);
            client.session.end();
        }
        touched.flush();
    }

    pub(crate) fn all_http(&self) -> Vec<Arc<HttpSession>> {
        // Cloned out of the lock: what callers do with a session takes locks above this one.
        self.http.lock().by_id.values().cloned().collect()
    }

    pub(crate) fn all_sse(&self) -> Vec<Arc<SseSession>> {
        self.sse.lock().by_id.values().cloned().collect()
    }

    /// A number that changes with every arrival and departure.
    pub(crate) fn turnover(&self) -> u64 {
        // Relaxed: readers only compare it with an earlier value.
        self.turnover.load(Ordering::Relaxed)
    }

    /// Every session there is.
    pub(crate) fn all(&self) -> Vec<Arc<Session>> {
        let mut all: Vec<_> =
            self.http.lock().by_id.values().map(|http| Arc::clone(&http.session)).collect();
        all.extend(self.sse.lock().by_id.values().map(|sse| Arc::clone(&sse.session)));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_has_so_many_and_others_have_their_own() {
        let pass = |who: &[u8]| {
            let (who, label) = (who.into(), "somebody".into());
            Arc::new(Pass { who, label, grant: None, expires: None, allowance: None })
        };
        let [me, you, anyone] = [&b"me"[..], b"you", ANYONE].map(pass);
        let mut table = Table::<()>::default();
        let id = |number: usize| {
            let mut id = [0; 32];
            id[..8].copy_from_slice(&number.to_ne_bytes());
            id
        };
        for caller in [&me, &anyone] {
            for number in 0..SESSIONS_PER_CALLER {
                assert!(!table.is_full_for(Some(caller), SESSIONS_PER_CALLER), "{number}");
                table.insert(id(number), Some(caller), Arc::new(()));
            }
        }
        assert!(
            table.is_full_for(Some(&me), SESSIONS_PER_CALLER)
                && !table.is_full_for(Some(&you), SESSIONS_PER_CALLER)
        );
        for nobody in [Some(&anyone), None] {
            assert!(!table.is_full_for(nobody, SESSIONS_PER_CALLER), "not one person");
        }
        table.remove(&id(5), Some(&me)).unwrap();
        assert!(
            !table.is_full_for(Some(&me), SESSIONS_PER_CALLER)
                && table.remove(&id(5), Some(&me)).is_none()
        );
        table.take_all();
        assert!(table.of_caller.is_empty());
    }

    #[test]
    fn ids_are_long_and_different() {
        let (one, other) = (random_id().unwrap(), random_id().unwrap());
        assert!(one.iter().all(u8::is_ascii_hexdigit));
        assert_ne!(one, other);
    }
}
