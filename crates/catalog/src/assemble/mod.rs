//! Listings + naming rule -> `Catalog`: one immutable snapshot of what clients see. Pure.

mod behind;
mod custom;
mod meta;
mod near;
mod offer;
mod page;
mod prompts;
mod resources;
mod tools;
mod withheld;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;
use trunkline_wire::{decode, elements, member};

use crate::config::CustomTool;
use crate::listing::{CacheHint, ListKind};
use crate::name::Naming;

pub use behind::{Behind, ToolOrigin};
pub use custom::{CustomRoute, SubtoolRefusal, custom_tools};
pub use meta::{Exposure, MetaNames, MetaTool};
pub use offer::{Offer, Route, Scope, SeenParts};
pub use tools::ToolRoute;

/// So many names are told to somebody who has said a wrong one.
const MOST_NEAR: usize = 3;

/// Everything clients may see and call at one moment. Never changed, only replaced.
#[derive(Debug, Default)]
pub struct Catalog {
    tools: tools::Tools,
    resources: resources::Resources,
    prompts: prompts::Prompts,
    /// Of the lists that any server has.
    caches: BTreeMap<ListKind, CacheHint>,
    /// Names that had to be changed or dropped, and names in the config that are nobody's. For the
    /// log.
    pub warnings: Vec<String>,
}

impl Catalog {
    /// From the servers in config order. Every list is sorted by what clients call the entries, so
    /// that the same entries always give the same bytes.
    ///
    /// Which names of tools and prompts collide is decided over all that was ever offered, running
    /// or not: a name that was one tool's never becomes another's because a server went away.
    pub fn assemble(offers: &[Offer<'_>], custom: &[CustomTool], naming: &Naming) -> Self {
        Self::exposing(Exposure::Full, offers, custom, naming)
    }

    /// Assembles a catalog whose list of tools shows only so much.
    pub fn exposing(
        exposure: Exposure,
        offers: &[Offer<'_>],
        custom: &[CustomTool],
        naming: &Naming,
    ) -> Self {
        let mut warnings = Vec::new();
        // Nobody else's URIs depend on those of a server that is not wholly seen.
        let whole: Vec<_> = offers.iter().filter(|offer| offer.scope.is_whole()).copied().collect();
        Self {
            tools: tools::Tools::assemble(offers, custom, (naming, exposure), &mut warnings),
            resources: resources::Resources::assemble(&whole, naming, &mut warnings),
            prompts: prompts::Prompts::assemble(offers, naming, &mut warnings),
            caches: caches(offers),
            warnings,
        }
    }

    /// The result of the list request, as it is sent.
    pub fn list(&self, kind: ListKind) -> &Bytes {
        &self.page(kind).bytes
    }

    /// How the list may be kept: the strictest of what the servers say that have one. What the
    /// config leaves out or renames is the same for everybody.
    pub fn cache(&self, kind: ListKind) -> CacheHint {
        self.caches.get(&kind).copied().unwrap_or_default()
    }

    /// How many entries the list has.
    pub fn count(&self, kind: ListKind) -> usize {
        self.page(kind).count
    }

    /// The tool of this name, listed or canonical.
    pub fn route(&self, name: &str) -> Option<&ToolRoute> {
        self.tools.routes.get(name)
    }

    /// Does any tool want arguments of its calls in headers, too?
    pub fn mirrors_arguments(&self) -> bool {
        self.tools.mirrors_arguments
    }

    /// What the list of tools does not show; `None`: it shows everything.
    pub fn behind(&self) -> Option<&Behind> {
        self.tools.behind.as_ref()
    }

    /// The names of tools that somebody may have meant who said this one, the nearest first.
    pub fn near(&self, name: &str) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        let known = self.tools.routes.keys().map(|name| &**name);
        for near in near::nearest(name, known) {
            // A tool may have two names: which of them does not matter.
            let is_new = !found.iter().any(|other| self.route(other) == self.route(near));
            if is_new && found.len() < MOST_NEAR {
                found.push(near);
            }
        }
        found
    }

    /// How many names tools have.
    pub fn names(&self) -> usize {
        self.tools.routes.len()
    }

    /// How many of a server's tools can be called by name.
    pub fn tools_of(&self, server: usize) -> usize {
        let routes = self.tools.routes.values().filter_map(|route| match route {
            ToolRoute::Server(route) if route.server == server => Some(&route.name_token),
            _ => None,
        });
        routes.collect::<HashSet<_>>().len()
    }

    /// The prompt of this name, listed or canonical.
    pub fn prompt(&self, name: &str) -> Option<&Route> {
        self.prompts.routes.get(name)
    }

    /// What the tool or prompt is listed as that is also known by this name.
    pub fn listed(&self, kind: ListKind, name: &str) -> Option<String> {
        match kind {
            ListKind::Tools => self.listed_like(kind, self.route(name)?, |name| self.route(name)),
            ListKind::Prompts => {
                self.listed_like(kind, self.prompt(name)?, |name| self.prompt(name))
            }
            ListKind::Resources | ListKind::Templates => None,
        }
    }

    fn listed_like<'c, R: PartialEq + 'c>(
        &'c self,
        kind: ListKind,
        wanted: &R,
        route: impl Fn(&str) -> Option<&'c R>,
    ) -> Option<String> {
        let entries = member(self.list(kind), kind.member())?;
        let mut names = elements(entries)
            .filter_map(|entry| member(entry.of(entries), "name").and_then(decode));
        names.find(|name| route(name) == Some(wanted)).map(Cow::into_owned)
    }

    /// Whose resource this is: listed, an alias, an expanded template, or the only one's who could
    /// have it.
    pub fn resource(&self, uri: &str) -> Option<Cow<'_, Route>> {
        self.resources.resource(uri)
    }

    /// Whose template this is, as `completion/complete` names it; a plain URI does as well.
    pub fn template(&self, uri_template: &str) -> Option<Cow<'_, Route>> {
        self.resources.template(uri_template)
    }

    fn page(&self, kind: ListKind) -> &page::ListPage {
        match kind {
            ListKind::Tools => &self.tools.page,
            ListKind::Resources => &self.resources.resource_page,
            ListKind::Templates => &self.resources.template_page,
            ListKind::Prompts => &self.prompts.page,
        }
    }
}

fn caches(offers: &[Offer<'_>]) -> BTreeMap<ListKind, CacheHint> {
    let of = |kind| {
        let hints = offers.iter().filter_map(|offer| offer.listing?.cache(kind));
        Some((kind, hints.reduce(CacheHint::and)?))
    };
    ListKind::ALL.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests;
