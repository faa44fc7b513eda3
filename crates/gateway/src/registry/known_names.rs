//! `KnownNames`: every name that servers have offered so far, so that none changes its owner.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use trunkline_catalog::{ListKind, Listing};

use crate::limits::KNOWN_NAMES;

/// By the servers' ids.
pub(super) type KnownNames = HashMap<Arc<str>, Arc<Known>>;

#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub(super) tools: BTreeSet<String>,
    pub(super) prompts: BTreeSet<String>,
}

impl Known {
    /// Does it name everything that is listed, or as much as it may?
    pub(super) fn has_all(&self, listing: &Listing) -> bool {
        let has = |names: &BTreeSet<String>, kind| {
            let mut entries = listing.entries(kind).iter().take(KNOWN_NAMES);
            names.len() >= KNOWN_NAMES || entries.all(|entry| names.contains(&entry.name))
        };
        has(&self.tools, ListKind::Tools) && has(&self.prompts, ListKind::Prompts)
    }

    pub(super) fn extend(&mut self, listing: &Listing) {
        for (names, kind) in
            [(&mut self.tools, ListKind::Tools), (&mut self.prompts, ListKind::Prompts)]
        {
            let room = KNOWN_NAMES.saturating_sub(names.len());
            let entries = listing.entries(kind).iter();
            names.extend(entries.map(|entry| entry.name.clone()).take(room));
        }
    }
}
