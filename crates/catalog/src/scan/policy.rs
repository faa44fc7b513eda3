//! `ScanPolicy`: what becomes of what was found: nothing, a report, a cleaned text, or an item that is withheld.

use std::collections::HashSet;

use crate::listing::{ListKind, Listing};
use crate::scan::finding::{Finding, ItemKind, Severity};
use crate::scan::strip::strip_definition;
use crate::scan::{ScanContext, each_item, keep_worst};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScanMode {
    /// Nothing is looked at.
    Off,
    /// What is found is told.
    #[default]
    Report,
    /// It is told, and what nobody can see is taken out of the definitions that are listed.
    Strip,
    /// It is told, and an item with a finding of severity high is withheld.
    Hold,
}

impl ScanMode {
    pub const WORDS: [&str; 4] = ["off", "report", "strip", "hold"];

    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Report => "report",
            Self::Strip => "strip",
            Self::Hold => "hold",
        }
    }

    pub fn read(word: &str) -> Option<Self> {
        let all = [Self::Off, Self::Report, Self::Strip, Self::Hold];
        all.into_iter().find(|mode| mode.word() == word)
    }
}

/// What a server's entry says about scanning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanPolicy {
    /// `None`: as for all.
    pub mode: Option<ScanMode>,
    /// Accepted findings: `RULE`, `ITEM:RULE` or `ITEM:*`.
    pub allow: Vec<String>,
    /// Are results looked at, too? `None`: as for all.
    pub results: Option<bool>,
}

/// What `scanAllow` writes for every rule.
const ANY: &str = "*";

/// What a policy has done to a listing.
#[derive(Debug, Default)]
pub struct Screening {
    /// What nobody has accepted, of the listing as its server wrote it.
    pub findings: Vec<Finding>,
    /// Items that are not to be listed, each once.
    pub held: Vec<HeldItem>,
    /// Definitions that were cleaned.
    pub stripped: usize,
}

/// An item that is withheld, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldItem {
    pub kind: ItemKind,
    /// As its server calls it.
    pub item: String,
    pub note: String,
}

impl Screening {
    /// Is anything listed otherwise than its server wrote it?
    pub fn has_changed(&self) -> bool {
        self.stripped > 0 || !self.held.is_empty()
    }
}

impl ScanPolicy {
    pub fn mode(&self) -> ScanMode {
        self.mode.unwrap_or_default()
    }

    /// What a server says, and where it says nothing, what the file says for all. Both accept.
    pub fn or(mut self, default: &Self) -> Self {
        self.mode = self.mode.or(default.mode);
        self.results = self.results.or(default.results);
        self.allow.extend(default.allow.iter().cloned());
        self
    }

    /// Are results looked at, too?
    pub fn scans_results(&self) -> bool {
        self.results == Some(true) && self.mode() != ScanMode::Off
    }

    /// Does it change what is listed?
    pub fn changes_listings(&self) -> bool {
        matches!(self.mode(), ScanMode::Strip | ScanMode::Hold)
    }

    /// Has somebody accepted this finding?
    pub fn accepts(&self, finding: &Finding) -> bool {
        self.allow.iter().any(|allowed| {
            let (item, rule) = allowed.rsplit_once(':').unwrap_or((ANY, allowed));
            let is_item = item == ANY || item == finding.item;
            // A star alone would turn the scanner off unseen; `scan` does that in words.
            let is_rule = rule == finding.rule.id || rule == ANY && item != ANY;
            is_item && is_rule
        })
    }

    /// The findings that nobody has accepted.
    pub fn open(&self, mut findings: Vec<Finding>) -> Vec<Finding> {
        findings.retain(|finding| !self.accepts(finding));
        findings
    }

    /// Looks at the listing and does to it what the policy says. Of what is withheld only resources are taken out
    /// here: the rest is pinned, and a person may have approved it as it is.
    pub fn screen(&self, listing: &mut Listing, instructions: Option<&str>) -> Screening {
        let context = ScanContext::of(listing);
        let mut screening = Screening::default();
        let mut held = Vec::new();
        each_item(listing, instructions, &context, |found| {
            let found = self.open(found);
            // Item by item: of a long list not every finding is kept, and every item is withheld.
            held.extend(found.iter().find(|it| it.is_held()).map(|it| HeldItem {
                kind: it.kind,
                item: it.item.clone(),
                note: it.note(),
            }));
            keep_worst(&mut screening.findings, found);
        });
        match self.mode() {
            ScanMode::Strip => {
                screening.stripped = listing.rewrite(|entry| strip_definition(&entry.definition));
            }
            ScanMode::Hold => {
                held.sort();
                held.dedup_by(|one, other| one.kind == other.kind && one.item == other.item);
                let resources = held.iter().filter(|it| it.kind == ItemKind::Resource);
                let resources: HashSet<_> = resources.map(|it| it.item.as_str()).collect();
                listing.retain(|kind, entry| {
                    kind != ListKind::Resources || !resources.contains(entry.name.as_str())
                });
                screening.held = held;
            }
            ScanMode::Off | ScanMode::Report => {}
        }
        screening
    }
}

impl Finding {
    /// Is it bad enough for `hold`?
    pub fn is_held(&self) -> bool {
        self.severity >= Severity::High
    }

    /// `takes-secret-file (The model is told to …)`
    pub fn note(&self) -> String {
        format!("{} ({})", self.rule.id, self.rule.reason)
    }

    /// Is it bad enough for `check` to show it?
    pub fn is_shown(&self) -> bool {
        self.severity >= Severity::Medium
    }
}
