//! Listings + naming rule -> `Catalog`: one immutable snapshot of what clients see. Pure.

use std::collections::{BTreeSet, HashMap};
use std::iter;

use bytes::Bytes;
use foldhash::fast::RandomState;

use crate::listing::{Listing, Tool};
use crate::name::{Identity, Naming, ToolName, assign};

/// What one server contributes.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    pub server: usize,
    pub key: &'a str,
    /// `None`: it does not run now.
    pub listing: Option<&'a Listing>,
    /// Every tool name it has offered so far.
    pub known: &'a BTreeSet<String>,
}

/// Everything clients may see and call at one moment. Never changed, only replaced.
#[derive(Debug, Default)]
pub struct Catalog {
    routes: HashMap<ToolName, Route, RandomState>,
    /// The result of `tools/list`, as it is sent.
    tools: Bytes,
    count: usize,
    /// Names that had to be changed or dropped. For the log.
    pub warnings: Vec<String>,
}

/// Where a tool's calls go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub server: usize,
    /// The tool's name as its server spelt it, with quotes.
    pub name_token: Box<[u8]>,
}

impl Catalog {
    /// Sorted by exposed name, so that the same tools always give the same bytes.
    ///
    /// Which names collide is decided over all that was ever offered, running or not: a name that
    /// was one tool's never becomes another's because a server went away.
    pub fn assemble(offers: &[Offer<'_>], naming: &Naming) -> Self {
        let tools: Vec<(&Offer<'_>, &Tool)> = offers
            .iter()
            .filter_map(|offer| Some((offer, offer.listing?)))
            .flat_map(|(offer, listing)| iter::repeat(offer).zip(listing.tools()))
            .collect();
        let offered = tools.iter().map(|(offer, tool)| Identity::of(offer.key, &tool.name));
        let known = offers.iter().flat_map(|offer| iter::repeat(offer.key).zip(offer.known));
        let known = known.map(|(key, name)| Identity::of(key, name));
        // The same tool twice has the same names twice.
        let identities: Vec<_> = offered.chain(known).collect();
        let assignment = assign(&identities, naming);

        let mut routes = HashMap::with_capacity_and_hasher(tools.len(), RandomState::default());
        let mut listed: Vec<(&ToolName, &Tool)> = Vec::with_capacity(tools.len());
        for ((offer, tool), names) in iter::zip(&tools, &assignment.names) {
            let route = Route { server: offer.server, name_token: tool.name_token().into() };
            if let Some(canonical) = names.canonical.as_ref().filter(|name| **name != names.wire) {
                routes.insert(canonical.clone(), route.clone());
            }
            routes.insert(names.wire.clone(), route);
            listed.push((&names.wire, tool));
        }
        listed.sort_by(|a, b| a.0.cmp(b.0));
        Self {
            routes,
            count: listed.len(),
            tools: list(&listed),
            warnings: assignment.warnings.iter().map(ToString::to_string).collect(),
        }
    }

    pub fn route(&self, name: &str) -> Option<&Route> {
        self.routes.get(name)
    }

    /// The result of `tools/list`.
    pub fn tools(&self) -> &Bytes {
        &self.tools
    }

    pub fn count(&self) -> usize {
        self.count
    }
}

/// `{"tools":[…]}`: each definition as its server wrote it, but for the name.
fn list(tools: &[(&ToolName, &Tool)]) -> Bytes {
    let size = tools.iter().map(|(name, tool)| name.as_str().len() + tool.definition.len() + 3);
    let mut out = Vec::with_capacity(size.sum::<usize>() + 16);
    out.extend_from_slice(b"{\"tools\":[");
    for (index, (name, tool)) in tools.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        let token = trunkline_wire::encode(name.as_str());
        trunkline_wire::Edits::one(tool.name_at, &token).write(&tool.definition, &mut out);
    }
    out.extend_from_slice(b"]}");
    Bytes::from(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(page: &str) -> Listing {
        let mut listing = Listing::default();
        listing.add_page(page.as_bytes(), 100).unwrap();
        listing
    }

    /// Assembles (key, tools now or `None`, names known before).
    fn assemble(servers: &[(&str, Option<&str>, &[&str])]) -> Catalog {
        let listings: Vec<_> = servers.iter().map(|(_, page, _)| page.map(listing)).collect();
        let known: Vec<BTreeSet<String>> = servers
            .iter()
            .map(|(.., known)| known.iter().map(ToString::to_string).collect())
            .collect();
        let offers: Vec<_> = iter::zip(servers, iter::zip(&listings, &known))
            .enumerate()
            .map(|(server, ((key, ..), (listing, known)))| Offer {
                server,
                key,
                listing: listing.as_ref(),
                known,
            })
            .collect();
        Catalog::assemble(&offers, &Naming::default())
    }

    #[test]
    fn definitions_change_in_their_name_only_and_are_sorted() {
        let one = r#"{"tools":[{"z":1e2,"name":"search", "q":[ ]},{"name":"a"}]}"#;
        let two = r#"{"tools":[{"name":"search"}]}"#;
        let catalog = assemble(&[("s2", Some(one), &[]), ("s1", Some(two), &[])]);
        assert_eq!(
            &catalog.tools()[..],
            br#"{"tools":[{"name":"s1:search"},{"name":"s2:a"},{"z":1e2,"name":"s2:search", "q":[ ]}]}"#
        );
        assert_eq!(catalog.route("s2:search").map(|route| route.server), Some(0));
        assert_eq!(catalog.route("s1:search").map(|route| route.server), Some(1));
        assert_eq!(catalog.route("search"), None);
    }

    #[test]
    fn nothing_gives_an_empty_list() {
        assert_eq!(&assemble(&[]).tools()[..], br#"{"tools":[]}"#);
    }

    #[test]
    fn keys_and_names_may_contain_the_separator() {
        let catalog = assemble(&[("a:x", Some(r#"{"tools":[{"name":"b:c"}]}"#), &[])]);
        let route = catalog.route("a:x:b:c").unwrap();
        assert_eq!(&*route.name_token, b"\"b:c\"");
    }

    #[test]
    fn k24_a_name_never_changes_its_owner() {
        let echo = r#"{"tools":[{"name":"echo"}]}"#;
        let both =
            [("a", Some(r#"{"tools":[{"name":"b:echo"}]}"#), &[][..]), ("a:b", Some(echo), &[])];
        assert_eq!(assemble(&both).route("a:b:echo"), None, "two tools want it");
        let gone = [("a", None, &["b:echo"][..]), ("a:b", Some(echo), &["echo"])];
        assert_eq!(assemble(&gone).route("a:b:echo"), None, "it was the other's, too");
        assert_eq!(assemble(&gone).count(), 1);
    }
}
