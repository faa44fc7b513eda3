//! A gate made of keys that the tests give and take, and grants made of words.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use trunkline_gateway::{Admission, Asking, Decision, Denied, Gate, Grant, Pass};

#[derive(Debug, Default)]
pub(crate) struct Keys {
    version: AtomicU64,
    known: Mutex<HashMap<String, Arc<Pass>>>,
    grants: AtomicU64,
    /// How often it was asked.
    pub(crate) asked: AtomicU64,
}

/// `server`: all of it; `server/tool`: that tool.
#[derive(Debug)]
struct Allowed(u64, Vec<String>);

impl Grant for Allowed {
    fn allows(&self, server: &str, tool: &str) -> bool {
        self.all_of(server) || self.1.contains(&format!("{server}/{tool}"))
    }
    fn all_of(&self, server: &str) -> bool {
        self.1.iter().any(|known| known == server)
    }
    fn id(&self) -> u64 {
        self.0
    }
}

impl Keys {
    /// A key that is good for everything, or for what the words say.
    pub(crate) fn give(&self, key: &str, grant: Option<&[&str]>) {
        self.put(key, grant, None);
    }

    pub(crate) fn give_for(&self, key: &str, time: Duration) {
        self.put(key, None, Some(SystemTime::now() + time));
    }

    fn put(&self, key: &str, grant: Option<&[&str]>, expires: Option<SystemTime>) {
        let grant = grant.map(|words| {
            let words = words.iter().map(ToString::to_string).collect();
            Arc::new(Allowed(self.grants.fetch_add(1, Ordering::Relaxed), words)) as _
        });
        let pass =
            Pass { who: key.as_bytes().into(), label: key.into(), grant, expires, allowance: None };
        self.known.lock().insert(key.to_owned(), Arc::new(pass));
        self.version.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn take(&self, key: &str) {
        self.known.lock().remove(key).unwrap();
        self.version.fetch_add(1, Ordering::Release);
    }

    fn decide(&self, key: &str) -> Decision {
        let pass = self.known.lock().get(key).cloned();
        pass.filter(|pass| pass.expires.is_none_or(|end| end > SystemTime::now())).ok_or(Denied {
            status: 401,
            challenge: Some("Bearer realm=\"test\", error=\"invalid_token\"".to_owned()),
            retry_after: None,
            message: "this key opens nothing".to_owned(),
        })
    }
}

impl Gate for Keys {
    /// A key whose name starts with `late` is looked up later; `never` opens nothing after a while.
    fn admit(&self, asking: &Asking<'_>) -> Admission {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let shown = asking.authorization.and_then(|shown| shown.strip_prefix(b"Bearer "));
        let key = String::from_utf8_lossy(shown.unwrap_or_default()).into_owned();
        let decision = self.decide(&key);
        if key == "never" {
            let message = "the keys cannot be had".to_owned();
            let denied = Denied { status: 503, challenge: None, retry_after: None, message };
            return Admission::Later(Box::pin(async move { Err(denied) }));
        }
        if key.starts_with("late") {
            return Admission::Later(Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(20)).await;
                decision
            }));
        }
        Admission::Now(decision)
    }

    fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    fn holds(&self, pass: &Pass) -> bool {
        let number = |pass: &Pass| pass.grant.as_ref().map(|grant| grant.id());
        let known = self.known.lock();
        known.values().any(|known| known.who == pass.who && number(known) == number(pass))
    }
}
