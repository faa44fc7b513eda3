//! Who stands in the middle, and which eras it has on its two sides.

use super::peers::Peer;
use crate::era::Era;

#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// Nobody: one connection to each child.
    Direct,
    Floor,
    Subject,
    /// Another build of the subject, or the subject with other arguments.
    Before,
    /// The subject over stdio as a thin front before a runtime that clients share.
    Shared,
    /// The subject as a platform: a store, an audit log, and keys at the door.
    Platform(Door),
    /// The subject with everything that guards switched off, or on.
    Guarded(Guards),
    /// The subject with so many threads that move messages.
    Threads(usize),
    Peer(Peer),
}

/// Whether pins, scanner, limits, sandbox and policies are at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guards {
    Off,
    On,
}

/// How a platform is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
    Mcp,
    Rest,
}

impl Kind {
    pub(super) fn is_peer(&self) -> bool {
        matches!(self, Self::Peer(_))
    }

    /// With this era on both sides.
    pub(super) fn of(self, era: Era) -> Contender {
        Contender { kind: self, eras: Eras { client: era, children: era } }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Eras {
    pub(super) client: Era,
    pub(super) children: Era,
}

impl Eras {
    pub(super) fn crossed(self) -> bool {
        self.client != self.children
    }

    pub(super) fn label(self) -> String {
        format!("{} → {}", self.client.label(), self.children.label())
    }
}

#[derive(Debug, Clone)]
pub(super) struct Contender {
    pub(super) kind: Kind,
    pub(super) eras: Eras,
}

impl Contender {
    /// Whether its failure leaves it out instead of ending the scenario: no target depends on it.
    pub(super) fn is_optional(&self) -> bool {
        self.kind.is_peer() || self.eras.crossed()
    }
}
