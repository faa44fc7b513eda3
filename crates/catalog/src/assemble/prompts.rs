//! The prompts: under their own names where nobody else has them, else with their server's key.

use std::collections::{HashMap, HashSet};
use std::iter;

use foldhash::fast::RandomState;
use trunkline_wire::{decode, encode};

use super::offer::{Offer, Route};
use super::page::{ListPage, ListedEntry, spliced, value_of};
use crate::listing::{ListKind, ListingEntry};
use crate::name::{Assigned, Identity, NameWarning, Naming, assign, escaped};

#[derive(Debug, Default)]
pub(super) struct Prompts {
    pub(super) routes: HashMap<String, Route, RandomState>,
    pub(super) page: ListPage,
}

impl Prompts {
    /// The first server in config order that ever offered a name keeps it bare. A name that reads
    /// like another prompt's full one is bare for nobody.
    pub(super) fn assemble(
        offers: &[Offer<'_>],
        naming: &Naming,
        warnings: &mut Vec<String>,
    ) -> Self {
        let prompts: Vec<(&Offer<'_>, &ListingEntry)> = offers
            .iter()
            .filter(|offer| offer.scope.is_whole())
            .filter_map(|offer| Some((offer, offer.listing?)))
            .flat_map(|(offer, listing)| {
                iter::repeat(offer).zip(listing.entries(ListKind::Prompts))
            })
            .filter(|(offer, prompt)| offer.scope.shows(ListKind::Prompts, prompt))
            .collect();
        let offered = prompts.iter().map(|(offer, prompt)| Identity::of(offer.key, &prompt.name));
        let known = offers
            .iter()
            .flat_map(|offer| offer.known_prompts.iter().map(|name| Identity::of(offer.key, name)));
        let identities: Vec<_> = offered.chain(known).collect();
        // Prompts are said by people, not by models: no client's rule for tool names holds here.
        let full = Naming::canonical(naming.separator());
        let assignment = assign(&identities, &full);
        warnings.extend(assignment.warnings.iter().filter_map(ambiguous));

        let full = full_names(&identities, &assignment.names, &full);
        let owners = bare_owners(offers);
        let bare = |offer: &Offer<'_>, name: &str| {
            owners.get(name) == Some(&offer.server) && !full.contains(name)
        };
        let mut routes = HashMap::default();
        let mut lines = Vec::with_capacity(prompts.len());
        for ((offer, prompt), names) in iter::zip(&prompts, &assignment.names) {
            let bare = bare(offer, &prompt.name);
            let name = if bare { prompt.name.as_str() } else { &*names.wire };
            let route = Route::to(offer.server, prompt);
            for name in callable(name, names) {
                routes.insert(name.to_owned(), route.clone());
            }
            lines.push(ListedEntry {
                name,
                definition: definition(naming.label(offer.key), prompt, name),
            });
        }
        Self { routes, page: ListPage::of(ListKind::Prompts, lines) }
    }
}

fn callable<'a>(listed: &'a str, names: &'a Assigned) -> impl Iterator<Item = &'a str> {
    let canonical = names.canonical.as_deref();
    [Some(listed), Some(&*names.wire), canonical].into_iter().flatten()
}

/// Every name with a key in it, also those that two prompts have and that lead nowhere.
fn full_names(prompts: &[Identity<'_>], names: &[Assigned], naming: &Naming) -> HashSet<String> {
    let canonical =
        prompts.iter().map(|prompt| naming.exposed(prompt.server.unwrap_or_default(), prompt.tool));
    canonical.chain(names.iter().map(|names| names.wire.to_string())).collect()
}

/// Which server's prompt has its name to itself.
fn bare_owners<'a>(offers: &[Offer<'a>]) -> HashMap<&'a str, usize> {
    let mut owners = HashMap::new();
    for offer in offers {
        let now = offer.listing.into_iter().flat_map(|listing| listing.entries(ListKind::Prompts));
        let now = now.map(|prompt| prompt.name.as_str());
        for name in now.chain(offer.known_prompts.iter().map(String::as_str)) {
            owners.entry(name).or_insert(offer.server);
        }
    }
    owners
}

/// The prompt under its listed name, its server in front of the description.
fn definition(label: Option<&str>, prompt: &ListingEntry, name: &str) -> Vec<u8> {
    let Some(label) = label else { return prompt.definition.to_vec() };
    let name = encode(name);
    let described = value_of(&prompt.definition, "description");
    let text = described.and_then(|at| decode(at.of(&prompt.definition)));
    let text = match text.as_deref() {
        None | Some("") => format!("[{label}]"),
        Some(text) => format!("[{label}] {text}"),
    };
    let text = encode(&text);
    let mut edits = vec![(prompt.name_at, &*name)];
    if let Some(at) = described {
        edits.push((at, &*text));
        return spliced(&prompt.definition, &edits);
    }
    let mut out = spliced(&prompt.definition, &edits);
    // An object that has a name: it ends with a brace, and a comma goes before what is added.
    out.pop();
    out.extend_from_slice(b",\"description\":");
    out.extend_from_slice(&text);
    out.push(b'}');
    out
}

fn ambiguous(warning: &NameWarning) -> Option<String> {
    let NameWarning::Ambiguous { names } = warning else { return None };
    let names = names.iter().map(|name| format!("\"{}\"", escaped(name)));
    let names = names.collect::<Vec<_>>().join(", ");
    Some(format!("two prompts have the same full name, both get a hash instead: {names}"))
}
