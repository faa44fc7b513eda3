//! The protocol's revisions and what is agreed on when a client asks for one.

/// A revision of the era that opens with `initialize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(&'static str);

/// Oldest first.
const LEGACY: [Revision; 4] = [
    Revision("2024-11-05"),
    Revision("2025-03-26"),
    Revision("2025-06-18"),
    Revision("2025-11-25"),
];

/// The newest revision that opens with `initialize`.
pub const LATEST_LEGACY: Revision = Revision("2025-11-25");

/// The revision in which every request stands for itself.
pub const MODERN: &str = "2026-07-28";

/// Every revision spoken, newest first.
pub const ALL_VERSIONS: [&str; 5] =
    [MODERN, LATEST_LEGACY.0, "2025-06-18", "2025-03-26", "2024-11-05"];

impl Revision {
    /// The revision of that name, if we speak it.
    pub fn known(name: &str) -> Option<Self> {
        LEGACY.into_iter().find(|revision| revision.0 == name)
    }

    /// What to answer to a client that asks for `name`: the same if we speak it, else our newest.
    pub fn negotiate(name: &str) -> Self {
        // 2025-11-25, Lifecycle, Version negotiation: "Otherwise, the server MUST respond with
        // another protocol version it supports"; the client decides whether it can go on.
        Self::known(name).unwrap_or(LATEST_LEGACY)
    }

    /// Only this one lets several messages travel in one array.
    pub fn allows_batches(self) -> bool {
        // Revision 2025-03-26 introduced JSON-RPC batches, 2025-06-18 removed them.
        self.0 == "2025-03-26"
    }

    pub fn as_str(self) -> &'static str {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_revision_is_kept_and_an_unknown_one_gets_our_newest() {
        for (asked, agreed) in [
            ("2024-11-05", "2024-11-05"),
            ("2025-03-26", "2025-03-26"),
            ("2025-06-18", "2025-06-18"),
            ("2025-11-25", "2025-11-25"),
            ("2026-07-28", "2025-11-25"),
            ("1999-01-01", "2025-11-25"),
            ("", "2025-11-25"),
        ] {
            assert_eq!(Revision::negotiate(asked).as_str(), agreed);
        }
    }

    #[test]
    fn every_revision_is_named_once() {
        let legacy = LEGACY.iter().rev().map(|revision| revision.0);
        assert!(std::iter::once(MODERN).chain(legacy).eq(ALL_VERSIONS));
    }
}
