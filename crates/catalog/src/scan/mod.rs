//! Texts that lie: what a server's definitions say to a model that nobody else reads. Pure.
//!
//! Rules are data (`rules.json`), each with its reason. A rule names what is said (`concepts`: phrases) and
//! where; several weak ones together weigh as much as a strong one. Nothing here needs a model.

mod decode;
mod fields;
mod finding;
mod fold;
mod hidden;
mod invisible;
mod item;
mod likeness;
mod markup;
mod names;
mod phrases;
mod policy;
mod rules;
mod sentences;
mod strip;
#[cfg(test)]
mod tests;
mod tokens;

use std::collections::HashSet;

use crate::listing::{ListKind, Listing};
use item::ItemScan;

pub use finding::{Confidence, Finding, ItemKind, Severity};
pub use names::{ScannedServer, scan_catalog};
pub use policy::{HeldItem, ScanMode, ScanPolicy, Screening};
pub use rules::{ScanRule, rule, rules};
pub use strip::{strip_definition, strip_text};

/// Findings of one listing: a hostile server must not fill the memory with them.
const MOST_FINDINGS: usize = 1000;

/// What is known of the names around a text.
#[derive(Debug, Default)]
pub struct ScanContext {
    /// Tools of the same server: it may say how they belong together.
    pub own: HashSet<String>,
    /// Tools of other servers.
    pub others: HashSet<String>,
}

impl ScanContext {
    /// The tools of this listing are its server's own.
    pub fn of(listing: &Listing) -> Self {
        let own = listing.tools().iter().map(|tool| tool.name.to_lowercase()).collect();
        Self { own, others: HashSet::new() }
    }
}

/// Everything that one server lists, and what it says of itself.
pub fn scan_listing(
    listing: &Listing,
    instructions: Option<&str>,
    context: &ScanContext,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    each_item(listing, instructions, context, |found| keep_worst(&mut findings, found));
    findings
}

/// Calls `each` with what was found in each item.
fn each_item(
    listing: &Listing,
    instructions: Option<&str>,
    context: &ScanContext,
    mut each: impl FnMut(Vec<Finding>),
) {
    each(instructions.map(|text| scan_instructions(text, context)).unwrap_or_default());
    for kind in ListKind::ALL {
        for entry in listing.entries(kind) {
            each(scan_definition(kind.into(), &entry.name, &entry.definition, context));
        }
    }
}

/// Adds to what was found; where that is too much, the worst is kept.
fn keep_worst(findings: &mut Vec<Finding>, more: Vec<Finding>) {
    findings.extend(more);
    if findings.len() >= MOST_FINDINGS {
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        findings.truncate(MOST_FINDINGS / 2);
    }
}

/// One definition, as its server wrote it.
pub fn scan_definition(
    kind: ItemKind,
    name: &str,
    definition: &[u8],
    context: &ScanContext,
) -> Vec<Finding> {
    let mut scan = ItemScan::new(kind, name, context);
    scan.definition(definition);
    scan.finish()
}

/// What a server answers to a call, a read or a prompt: every text of the result. The response may be cut anywhere.
pub fn scan_result(kind: ItemKind, name: &str, response: &[u8]) -> Vec<Finding> {
    let context = ScanContext::default();
    let mut scan = ItemScan::new(kind, name, &context);
    fields::each_text(response, |field| {
        let is_text =
            field.key_before(0) == Some("text") || field.is_within(&["structuredContent"]);
        if !field.is_key && field.first_key() == "result" && is_text {
            scan.text(&field.pointer(), &field.text);
        }
    });
    scan.finish()
}

/// What a server says of itself in its handshake.
pub fn scan_instructions(text: &str, context: &ScanContext) -> Vec<Finding> {
    let mut scan = ItemScan::new(ItemKind::Instructions, "instructions", context);
    scan.text("/instructions", text);
    scan.finish()
}
