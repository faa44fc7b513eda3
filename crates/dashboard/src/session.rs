//! `Sessions`: who has signed in, as this process knows it: a random id in a cookie, good while it is used.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use trunkline_control::access::{Credential, NoRandom, Principal, random};

/// Without a visit for that long it is over. Pages that keep themselves up to date are no visits.
pub(crate) const IDLE: Duration = Duration::from_secs(60 * 60);
/// After that long somebody shows their token again in any case.
pub(crate) const LONGEST: Duration = Duration::from_secs(12 * 60 * 60);
/// Between two looks whether the store still has it: another replica may have ended it.
const LOOK: Duration = Duration::from_secs(5);
/// Between two notes in the store that it is used: it is over an hour after the last.
const NOTE: Duration = Duration::from_secs(60);
/// Beyond that one ends of whoever has the most.
const MOST: usize = 1_024;
/// Ids that are known to have been signed out; beyond that the oldest is forgotten.
const MOST_SIGNED_OUT: usize = 4 * MOST;

/// Times are monotonic, since whatever moment the caller likes.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    /// By the digest of the id, so that looking one up tells nothing about the others.
    // Locked before those of a session, never after: sessions are compared under it.
    all: Mutex<HashMap<Digest, Arc<Session>>>,
    /// Who has signed out, and when: the store may still have their sessions. Never locked with the other.
    signed_out: Mutex<HashMap<Digest, Duration>>,
}

pub(crate) type Digest = [u8; 32];

/// Somebody who has signed in.
pub(crate) struct Session {
    pub(crate) principal: Principal,
    /// What every form of theirs carries.
    pub(crate) csrf: String,
    began: Duration,
    // The three locks of a session are leaves: held for a look or a change, one after the other.
    used: Mutex<Duration>,
    notice: Mutex<Option<Notice>>,
    /// Whoever still holds it learns so.
    is_over: AtomicBool,
    /// When the store was last asked for it, and told that it is used; `None`: the store does not have it.
    kept: Mutex<Option<StoreMarks>>,
}

#[derive(Debug, Clone, Copy)]
struct StoreMarks {
    looked: Duration,
    noted: Duration,
}

/// Since when a session is there, and when it was last used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) began: Duration,
    pub(crate) used: Duration,
}

/// Something to be said on the next page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Notice {
    Done(String),
    Failed(String),
    /// A key that was made: shown this once.
    Key {
        name: String,
        key: String,
    },
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("principal", &self.principal.name()).finish_non_exhaustive()
    }
}

impl Sessions {
    /// A new one, and the id that its cookie has.
    pub(crate) fn begin(
        &self,
        principal: Principal,
        now: Duration,
    ) -> Result<(String, Arc<Session>), NoRandom> {
        let id = hex(&random::<32>()?);
        let session = self.add(&id, principal, Times { began: now, used: now }, now);
        Ok((id, session))
    }

    /// One that began elsewhere or before this process did.
    pub(crate) fn add(
        &self,
        id: &str,
        principal: Principal,
        times: Times,
        now: Duration,
    ) -> Arc<Session> {
        let session = Arc::new(Session {
            principal,
            // Made of the id, which no page shows: it is the same after a restart.
            csrf: hex(&Sha256::digest(format!("csrf {id}"))),
            began: times.began,
            used: Mutex::new(times.used),
            notice: Mutex::new(None),
            is_over: AtomicBool::new(false),
            kept: Mutex::new(None),
        });
        // Held for the whole step: two sign-ins at the bound must not both find room.
        let mut all = self.all.lock();
        // Swept at each sign-in: no timer is needed, and the table is small.
        all.retain(|_, session| session.is_alive(now));
        if all.len() >= MOST {
            one_too_many(&all).map(|digest| all.remove(&digest));
        }
        // The digest and not the id: who reads this memory cannot use what it finds.
        all.insert(digest(id), Arc::clone(&session));
        session
    }

    /// The one with this id, if it is not over.
    pub(crate) fn find(&self, id: &str, now: Duration) -> Option<Arc<Session>> {
        let mut all = self.all.lock();
        let digest = digest(id);
        let session = all.get(&digest).cloned()?;
        if session.is_alive(now) {
            return Some(session);
        }
        // Removed under the same lock: between look and removal nobody can revive it.
        all.remove(&digest);
        None
    }

    /// Ends it for good, whatever the store says of it.
    pub(crate) fn sign_out(&self, session: Digest, now: Duration) {
        self.end_digest(&session);
        let mut signed_out = self.signed_out.lock();
        // The store gives none back that is older.
        signed_out.retain(|_, at| now.saturating_sub(*at) < LONGEST);
        if signed_out.len() >= MOST_SIGNED_OUT {
            let oldest = signed_out.iter().min_by_key(|(_, at)| **at).map(|(digest, _)| *digest);
            oldest.map(|digest| signed_out.remove(&digest));
        }
        signed_out.insert(session, now);
    }

    pub(crate) fn was_signed_out(&self, id: &str) -> bool {
        self.signed_out.lock().contains_key(&digest(id))
    }

    pub(crate) fn end(&self, id: &str) {
        self.end_digest(&digest(id));
    }

    fn end_digest(&self, session: &Digest) {
        if let Some(session) = self.all.lock().remove(session) {
            // Relaxed: a page that is being made may still end; the next request sees it.
            session.is_over.store(true, Ordering::Relaxed);
        }
    }
}

/// Of whoever has the most sessions, the one that has been idle for longest: whoever signs in again and again ends
/// their own.
fn one_too_many(all: &HashMap<Digest, Arc<Session>>) -> Option<Digest> {
    let mut held: HashMap<&Credential, usize> = HashMap::new();
    for session in all.values() {
        *held.entry(session.principal.credential()).or_default() += 1;
    }
    let order = |session: &Session| {
        let held = held.get(session.principal.credential()).copied();
        // The only order of these locks: the table, then a session's own.
        (Reverse(held), *session.used.lock())
    };
    all.iter().min_by_key(|(_, session)| order(session)).map(|(digest, _)| *digest)
}

impl Session {
    pub(crate) fn is_alive(&self, now: Duration) -> bool {
        // Read and released: nothing else is locked meanwhile.
        let idle = now.saturating_sub(*self.used.lock());
        let is_old = idle >= IDLE || now.saturating_sub(self.began) >= LONGEST;
        // Relaxed: the flag guards no other data.
        !is_old && !self.is_over.load(Ordering::Relaxed)
    }

    /// Somebody was here. True if the store is to be told.
    pub(crate) fn touch(&self, now: Duration) -> bool {
        *self.used.lock() = now;
        // A lock of its own, after the other is released.
        let mut kept = self.kept.lock();
        let due = kept.as_mut().filter(|kept| now.saturating_sub(kept.noted) >= NOTE);
        due.map(|kept| kept.noted = now).is_some()
    }

    /// The store has it from now on.
    pub(crate) fn set_kept(&self, now: Duration) {
        *self.kept.lock() = Some(StoreMarks { looked: now, noted: now });
    }

    /// True if the store is to be asked whether it still has it.
    pub(crate) fn take_look(&self, now: Duration) -> bool {
        let mut kept = self.kept.lock();
        let due = kept.as_mut().filter(|kept| now.saturating_sub(kept.looked) >= LOOK);
        due.map(|kept| kept.looked = now).is_some()
    }

    pub(crate) fn leave(&self, notice: Notice) {
        *self.notice.lock() = Some(notice);
    }

    pub(crate) fn take_notice(&self) -> Option<Notice> {
        // Taken: a key that was made is shown once, also if two tabs load.
        self.notice.lock().take()
    }
}

pub(crate) fn digest(id: &str) -> Digest {
    Sha256::digest(id.as_bytes()).into()
}

/// As `hex` writes it.
pub(crate) fn read_digest(text: &str) -> Option<Digest> {
    let mut digest = Digest::default();
    if text.len() != 2 * digest.len() {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(digest)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use trunkline_control::access::{Credentials, Pepper, Use, WithoutToken, decide};

    use super::*;

    fn somebody() -> Principal {
        by(None)
    }

    fn by(admin_token: Option<&str>) -> Principal {
        let pepper = Arc::new(Pepper::new(&[0; 32]));
        let known = Credentials {
            admin_token: admin_token.map(|token| pepper.mac(Use::AdminToken, token)),
            pepper,
            static_token: None,
            keys: HashMap::new(),
            is_stale: false,
            issuer: None,
            without_token: WithoutToken::MayUseMcp,
            certificates: Arc::default(),
            people: None,
        };
        decide(admin_token, &known, 0).unwrap()
    }

    fn minutes(count: u64) -> Duration {
        Duration::from_secs(60 * count)
    }

    #[test]
    fn a_session_lasts_while_it_is_used_and_half_a_day_at_most() {
        let sessions = Sessions::default();
        let id = sessions.begin(somebody(), minutes(0)).unwrap().0;
        for minute in (0..720).step_by(45) {
            let session = sessions.find(&id, minutes(minute)).expect("it is used");
            session.touch(minutes(minute));
        }
        assert!(sessions.find(&id, minutes(720)).is_none(), "it has lasted for long enough");
        assert!(sessions.find(&id, minutes(1)).is_none(), "and does not come back");
        let idle = sessions.begin(somebody(), minutes(0)).unwrap().0;
        assert!(sessions.find(&idle, minutes(59)).is_some());
        assert!(sessions.find(&idle, minutes(60)).is_none());
    }

    #[test]
    fn ids_and_tokens_are_long_random_and_nobody_elses() {
        let sessions = Sessions::default();
        let [one, other] = [(); 2].map(|()| sessions.begin(somebody(), minutes(0)).unwrap().0);
        let tokens = [&one, &other].map(|id| sessions.find(id, minutes(0)).unwrap().csrf.clone());
        for text in [&one, &other, &tokens[0], &tokens[1]] {
            assert!(text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        }
        assert!(one != other && tokens[0] != tokens[1] && one != tokens[0]);
        assert!(sessions.find(&tokens[0], minutes(0)).is_none());
    }

    #[test]
    fn who_holds_a_session_that_was_ended_learns_so() {
        let sessions = Sessions::default();
        let id = sessions.begin(somebody(), minutes(0)).unwrap().0;
        let held = sessions.find(&id, minutes(0)).unwrap();
        held.leave(Notice::Done("x".to_owned()));
        assert!(held.take_notice().is_some() && held.take_notice().is_none());
        sessions.end(&id);
        assert!(!held.is_alive(minutes(0)) && sessions.find(&id, minutes(0)).is_none());
    }

    #[test]
    fn of_too_many_the_one_that_was_idle_for_longest_ends() {
        let sessions = Sessions::default();
        let first = sessions.begin(somebody(), minutes(0)).unwrap().0;
        let second = sessions.begin(somebody(), minutes(1)).unwrap().0;
        for _ in 2..MOST {
            sessions.begin(somebody(), minutes(2)).unwrap();
        }
        sessions.find(&first, minutes(3)).unwrap().touch(minutes(3));
        sessions.begin(somebody(), minutes(3)).unwrap();
        assert!(sessions.find(&second, minutes(3)).is_none());
        assert!(sessions.find(&first, minutes(3)).is_some());
        assert_eq!(sessions.all.lock().len(), MOST);
    }

    #[test]
    fn whoever_has_the_most_sessions_ends_their_own() {
        let sessions = Sessions::default();
        let others = [0, 1].map(|at| sessions.begin(by(Some("t")), minutes(at)).unwrap().0);
        let first = sessions.begin(somebody(), minutes(2)).unwrap().0;
        for _ in 0..2 * MOST {
            sessions.begin(somebody(), minutes(3)).unwrap();
        }
        assert!(others.iter().all(|id| sessions.find(id, minutes(3)).is_some()));
        assert!(sessions.find(&first, minutes(3)).is_none());
        assert_eq!(sessions.all.lock().len(), MOST);
    }

    #[test]
    fn who_has_signed_out_is_known_for_as_long_as_the_store_may_not_know() {
        let sessions = Sessions::default();
        let id = sessions.begin(somebody(), minutes(0)).unwrap().0;
        assert!(!sessions.was_signed_out(&id));
        sessions.sign_out(digest(&id), minutes(0));
        assert!(sessions.was_signed_out(&id) && sessions.find(&id, minutes(0)).is_none());
        for number in 0..MOST_SIGNED_OUT {
            sessions.sign_out(digest(&number.to_string()), minutes(1));
        }
        assert!(!sessions.was_signed_out(&id) && sessions.was_signed_out("0"));
        assert_eq!(sessions.signed_out.lock().len(), MOST_SIGNED_OUT);
        sessions.sign_out(digest("late"), minutes(12 * 60 + 1));
        assert_eq!(sessions.signed_out.lock().len(), 1);
    }
}
