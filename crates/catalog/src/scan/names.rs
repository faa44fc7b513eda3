//! Names across servers: a name that looks like another server's, and texts that speak of other servers' tools.

use std::collections::{HashMap, HashSet};

use crate::listing::{ListKind, Listing};
use crate::scan::finding::{Confidence, Finding, ItemKind, excerpt};
use crate::scan::fold::{fold, skeleton};
use crate::scan::rules::rule;
use crate::scan::{ScanContext, scan_listing};

/// One server, for a scan of all of them together.
#[derive(Clone, Copy, Debug)]
pub struct ScannedServer<'a> {
    pub key: &'a str,
    pub listing: &'a Listing,
    pub instructions: Option<&'a str>,
}

/// Every server, each with the names of the others known. The findings are in the servers' order.
pub fn scan_catalog(servers: &[ScannedServer<'_>]) -> Vec<Vec<Finding>> {
    let mut all: HashMap<String, usize> = HashMap::new();
    let own: Vec<ScanContext> =
        servers.iter().map(|server| ScanContext::of(server.listing)).collect();
    for name in own.iter().flat_map(|context| &context.own) {
        *all.entry(name.clone()).or_default() += 1;
    }
    let alike = look_alikes(servers);
    let scans = servers.iter().zip(own).zip(alike).map(|((server, mut context), mut alike)| {
        // A name that both have is its own.
        let others = all.keys().filter(|name| !context.own.contains(*name));
        context.others = others.cloned().collect::<HashSet<_>>();
        alike.extend(scan_listing(server.listing, server.instructions, &context));
        alike
    });
    scans.collect()
}

/// Names that can be taken for those of other servers.
fn look_alikes(servers: &[ScannedServer<'_>]) -> Vec<Vec<Finding>> {
    let mut by_look: HashMap<String, Vec<(usize, &str)>> = HashMap::new();
    for (place, server) in servers.iter().enumerate() {
        for tool in server.listing.entries(ListKind::Tools) {
            by_look.entry(skeleton(&tool.name)).or_default().push((place, &tool.name));
        }
    }
    let mut findings: Vec<Vec<Finding>> = servers.iter().map(|_| Vec::new()).collect();
    let Some(rule) = rule("look-alike-name") else { return findings };
    for group in by_look.values().filter(|group| group.len() > 1) {
        // A group is small unless a server makes it big: each name is compared with a bounded number.
        for (place, name) in group {
            let twin = group.iter().take(64).find(|(other, other_name)| {
                other != place
                    && plain(name) != plain(other_name)
                    && oddness(name) > oddness(other_name)
            });
            let Some((other, other_name)) = twin else { continue };
            let key = servers.get(*other).map(|server| server.key).unwrap_or_default();
            if let Some(found) = findings.get_mut(*place) {
                found.push(Finding {
                    rule,
                    severity: rule.severity,
                    confidence: Confidence::Rule,
                    kind: ItemKind::Tool,
                    item: (*name).to_owned(),
                    pointer: "/name".to_owned(),
                    excerpt: excerpt(&format!("{name} looks like {other_name} of server {key}")),
                    signs: Vec::new(),
                });
            }
        }
    }
    findings
}

/// The name without what honest spellings differ in: case and separators.
fn plain(name: &str) -> String {
    name.chars().filter_map(fold).filter(|c| c.is_alphanumeric()).collect()
}

/// Which of two names pretends: letters of other scripts, digits among letters, capitals inside a word.
fn oddness(name: &str) -> usize {
    let foreign = name.chars().filter(|c| !c.is_ascii()).count();
    let digits = name.chars().filter(char::is_ascii_digit).count();
    let is_small = name.chars().any(|c| c.is_ascii_lowercase());
    let capitals = name.chars().filter(|c| is_small && matches!(c, 'I' | 'O')).count();
    foreign * 100 + digits * 10 + capitals
}
