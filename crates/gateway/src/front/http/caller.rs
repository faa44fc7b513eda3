//! Who speaks, as the gate has said: remembered by a connection for as long as the gate would say
//! the same, and by a session for as long as it lasts.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::front::http::guard::is_equal;
use crate::gate::{Asking, Pass};
use crate::lock::{Mutex, rank};

/// Whom the gate has let in last on a connection.
#[derive(Default)]
pub(super) struct Remembered(Mutex<Option<Known>, rank::RememberedCaller>);

struct Known {
    authorization: Option<Box<[u8]>>,
    path: Box<str>,
    /// Of the gate, from before it was asked.
    version: u64,
    pass: Arc<Pass>,
}

/// Without what was shown: that is a secret.
impl fmt::Debug for Remembered {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Remembered")
    }
}

impl Remembered {
    /// What the gate said about the same words, if it would still say so.
    pub(super) fn find(&self, asking: &Asking<'_>, version: u64) -> Option<Arc<Pass>> {
        let known = self.0.lock();
        let known = known.as_ref().filter(|known| known.version == version)?;
        let same = match (&known.authorization, asking.authorization) {
            (Some(known), Some(shown)) => is_equal(shown, known),
            (None, None) => true,
            _ => false,
        };
        let good = same && *known.path == *asking.path;
        let expired = || known.pass.expires.is_some() && known.pass.is_expired(SystemTime::now());
        (good && !expired()).then(|| Arc::clone(&known.pass))
    }

    pub(super) fn set(&self, asking: &Asking<'_>, version: u64, pass: &Arc<Pass>) {
        let known = Known {
            authorization: asking.authorization.map(Into::into),
            path: asking.path.into(),
            version,
            pass: Arc::clone(pass),
        };
        *self.0.lock() = Some(known);
    }
}

/// Whose session it is; `None`: anybody's who knows its id.
#[derive(Debug)]
pub(super) struct Owner(Mutex<Option<Arc<Pass>>, rank::SessionOwner>);

impl Owner {
    pub(super) fn new(caller: Option<&Arc<Pass>>) -> Self {
        Self(Mutex::new(caller.cloned()))
    }

    /// Is it this caller's? Who shows a pass that is good for longer has it for longer: tokens are
    /// renewed while sessions go on.
    pub(super) fn is(&self, caller: Option<&Arc<Pass>>) -> bool {
        let mut held = self.0.lock();
        match (&mut *held, caller) {
            (None, None) => true,
            (Some(held), Some(caller)) if held.is_same(caller) => {
                let longer = match (held.expires, caller.expires) {
                    (Some(held), Some(new)) => new > held,
                    (held, None) => held.is_some(),
                    (None, Some(_)) => false,
                };
                if longer {
                    *held = Arc::clone(caller);
                }
                true
            }
            _ => false,
        }
    }

    pub(super) fn pass(&self) -> Option<Arc<Pass>> {
        self.0.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn pass(who: &str, seconds: Option<u64>) -> Arc<Pass> {
        let expires = seconds.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        Arc::new(Pass { who: who.as_bytes().into(), label: who.into(), grant: None, expires })
    }

    fn asking<'a>(authorization: Option<&'a str>, path: &'a str) -> Asking<'a> {
        let authorization = authorization.map(str::as_bytes);
        Asking { authorization, path, peer: ([127, 0, 0, 1], 9).into() }
    }

    #[test]
    fn the_same_words_are_decided_once_until_something_changes() {
        let remembered = Remembered::default();
        let me = pass("me", None);
        remembered.set(&asking(Some("Bearer a"), "/mcp"), 7, &me);
        for (authorization, path, version, expected) in [
            (Some("Bearer a"), "/mcp", 7, true),
            (Some("Bearer a"), "/mcp", 8, false),
            (Some("Bearer b"), "/mcp", 7, false),
            (Some("Bearer aa"), "/mcp", 7, false),
            (None, "/mcp", 7, false),
            (Some("Bearer a"), "/sse", 7, false),
        ] {
            let found = remembered.find(&asking(authorization, path), version);
            assert_eq!(found.is_some(), expected, "{authorization:?} {path} {version}");
        }
        remembered.set(&asking(None, "/mcp"), 7, &pass("old", Some(1)));
        assert!(remembered.find(&asking(None, "/mcp"), 7).is_none(), "it has expired");
    }

    #[test]
    fn a_session_is_its_owners() {
        let mine = Owner::new(Some(&pass("me", Some(10))));
        assert!(mine.is(Some(&pass("me", Some(5)))));
        assert!(!mine.is(Some(&pass("you", None))) && !mine.is(None));
        assert!(Owner::new(None).is(None) && !Owner::new(None).is(Some(&pass("me", None))));
    }

    #[test]
    fn a_renewed_pass_renews_the_session() {
        for (held, shown, expected) in [
            (Some(10), Some(20), Some(20)),
            (Some(10), Some(5), Some(10)),
            (Some(10), None, None),
            (None, Some(10), None),
        ] {
            let owner = Owner::new(Some(&pass("me", held)));
            assert!(owner.is(Some(&pass("me", shown))));
            let expires = owner.pass().and_then(|pass| pass.expires);
            assert_eq!(expires, pass("me", expected).expires, "{held:?} {shown:?}");
        }
    }
}
