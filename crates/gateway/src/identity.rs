//! `Identity`: which server it is, whatever it is called at the moment.

use std::fmt;
use std::sync::Arc;

use crate::lock::{Mutex, rank};

/// Shown as the server's name. All clones are renamed together; two are the same if their ids are.
#[derive(Clone, Debug)]
pub(crate) struct Identity(Arc<IdentityNames>);

#[derive(Debug)]
struct IdentityNames {
    id: Arc<str>,
    // Below nearly all locks: log lines and errors name the server wherever they are made.
    name: Mutex<Arc<str>, rank::ServerName>,
}

impl Identity {
    pub(crate) fn new(id: &str, name: &str) -> Self {
        Self(Arc::new(IdentityNames { id: id.into(), name: Mutex::new(name.into()) }))
    }

    /// Never changes.
    pub(crate) fn id(&self) -> &Arc<str> {
        &self.0.id
    }

    /// The prefix of its tools: what it is called now.
    pub(crate) fn name(&self) -> Arc<str> {
        Arc::clone(&self.0.name.lock())
    }

    pub(crate) fn is_called(&self, name: &str) -> bool {
        **self.0.name.lock() == *name
    }

    /// False: that is its name already.
    pub(crate) fn rename(&self, name: &str) -> bool {
        let mut held = self.0.name.lock();
        let changed = **held != *name;
        if changed {
            *held = name.into();
        }
        changed
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_the_same_whatever_it_is_called() {
        let (server, other) = (Identity::new("1", "a"), Identity::new("2", "a"));
        let held = server.clone();
        assert!(server != other);
        assert!(server.rename("b") && !server.rename("b"));
        assert_eq!(held.to_string(), "b");
        assert!(held.is_called("b") && !held.is_called("a"));
        assert!(held == server && **held.id() == *"1");
    }
}
