//! What a catalog shows and where it leads.

mod custom;
mod exposure;
mod prompts;
mod resources;
mod scope;
mod tools;

use std::collections::BTreeSet;

use super::{Catalog, Exposure, Offer, Route, Scope};
use crate::config::{CustomTool, Exposed, SelectedTools, ToolFilter};
use crate::listing::{CacheHint, ListKind, Listing};
use crate::name::Naming;

/// A server of these tests: running if it has a listing.
#[derive(Default)]
struct Server {
    key: &'static str,
    listing: Option<Listing>,
    known: BTreeSet<String>,
    known_prompts: BTreeSet<String>,
    filter: ToolFilter,
    selected: SelectedTools,
    /// `None`: all of it is seen.
    seen: Option<BTreeSet<String>>,
}

/// A running server with one page of one kind.
fn server(key: &'static str, kind: ListKind, page: &str) -> Server {
    Server { key, ..Server::default() }.and(kind, page)
}

/// A server that does not run.
fn stopped(key: &'static str) -> Server {
    Server { key, ..Server::default() }
}

impl Server {
    fn and(mut self, kind: ListKind, page: &str) -> Self {
        let page = format!("{{\"{}\":{page}}}", kind.member());
        let listing = self.listing.get_or_insert_default();
        listing.add_page(kind, page.as_bytes(), 100).unwrap();
        // Short definitions: what they lack is the matter of `repair`.
        let others = listing.warnings.iter().filter(|warning| !warning.contains("is repaired"));
        assert_eq!(others.count(), 0, "{:?}", listing.warnings);
        self
    }

    fn knowing(mut self, tools: &[&str], prompts: &[&str]) -> Self {
        self.known = tools.iter().map(ToString::to_string).collect();
        self.known_prompts = prompts.iter().map(ToString::to_string).collect();
        self
    }

    /// `a=b` is a rename.
    fn exposing(mut self, tools: &[&str]) -> Self {
        let exposed = |text: &&str| match text.split_once('=') {
            Some((original, exposed)) => {
                Exposed { original: original.to_owned(), exposed: Some(exposed.to_owned()) }
            }
            None => Exposed { original: (*text).to_owned(), exposed: None },
        };
        self.filter.exposed = Some(tools.iter().map(exposed).collect());
        self
    }

    fn seen_by(mut self, tools: &[&str]) -> Self {
        self.seen = Some(tools.iter().map(ToString::to_string).collect());
        self
    }

    fn hiding(mut self, tools: &[&str]) -> Self {
        self.filter.hidden = tools.iter().map(ToString::to_string).collect();
        self
    }
}

fn assemble(servers: &[Server]) -> Catalog {
    assemble_with(servers, &[], &Naming::default())
}

fn assemble_with(servers: &[Server], custom: &[CustomTool], naming: &Naming) -> Catalog {
    assemble_exposing(Exposure::Full, servers, custom, naming)
}

fn assemble_exposing(
    exposure: Exposure,
    servers: &[Server],
    custom: &[CustomTool],
    naming: &Naming,
) -> Catalog {
    Catalog::exposing(exposure, &offers(servers), custom, naming)
}

fn offers(servers: &[Server]) -> Vec<Offer<'_>> {
    servers
        .iter()
        .enumerate()
        .map(|(index, server)| Offer {
            server: index,
            key: server.key,
            listing: server.listing.as_ref(),
            known: &server.known,
            known_prompts: &server.known_prompts,
            filter: &server.filter,
            selected: &server.selected,
            scope: server.seen.as_ref().map_or(Scope::Whole, Scope::Tools),
        })
        .collect()
}

fn shown(catalog: &Catalog, kind: ListKind) -> &str {
    std::str::from_utf8(catalog.list(kind)).unwrap()
}

/// The server a route leads to and the name it has there.
fn leads(route: &Route) -> String {
    format!("{} {}", route.server, String::from_utf8_lossy(&route.name_token))
}

#[test]
fn nothing_gives_empty_lists() {
    let catalog = assemble(&[]);
    for kind in ListKind::ALL {
        assert_eq!(shown(&catalog, kind), format!("{{\"{}\":[]}}", kind.member()));
        assert_eq!(catalog.count(kind), 0);
    }
    assert_eq!(catalog.route("x"), None);
    assert_eq!(catalog.prompt("x"), None);
    assert_eq!(catalog.resource("x:y"), None);
    assert_eq!(catalog.template("x:{y}"), None);
}

/// A running server whose tools may be kept for so long.
fn kept(ttl_ms: u64, scope: &str) -> Server {
    let page = format!(r#"{{"tools":[],"ttlMs":{ttl_ms},"cacheScope":"{scope}"}}"#);
    let mut listing = Listing::default();
    listing.add_page(ListKind::Tools, page.as_bytes(), 100).unwrap();
    Server { key: "s", listing: Some(listing), ..Server::default() }
}

#[test]
fn a_list_is_kept_as_the_strictest_server_says() {
    let table: [(&[Server], u64, bool); 9] = [
        (&[], 0, true),
        (&[stopped("s")], 0, true),
        (&[kept(9, "public")], 9, false),
        (&[kept(9, "public"), stopped("s")], 9, false),
        (&[kept(9, "public"), kept(4, "public")], 4, false),
        (&[kept(4, "private"), kept(9, "public")], 4, true),
        (&[kept(9, "public"), server("l", ListKind::Tools, "[]")], 0, true),
        // What has no such list does not change it.
        (&[kept(9, "public"), server("p", ListKind::Prompts, "[]")], 9, false),
        (&[kept(9, "public").hiding(&["a"])], 9, false),
    ];
    for (index, (servers, ttl_ms, private)) in table.into_iter().enumerate() {
        let catalog = assemble(servers);
        let expected = CacheHint { ttl_ms, private };
        assert_eq!(catalog.cache(ListKind::Tools), expected, "row {index}");
        assert_eq!(catalog.cache(ListKind::Prompts), CacheHint::default(), "row {index}");
    }
    assert_eq!(Catalog::default().cache(ListKind::Tools), CacheHint { ttl_ms: 0, private: true });
}
