//! The tools: filtered and renamed as the config says, then named for the client.

use std::collections::{HashMap, HashSet};
use std::iter;

use foldhash::fast::RandomState;
use trunkline_wire::encode;

use super::custom::CustomRoute;
use super::page::{Line, Page, spliced};
use super::{Offer, Route, ToolRoute};
use crate::config::{CustomTool, Exposed, ToolFilter};
use crate::listing::{ListKind, Listing, Tool};
use crate::name::{Assigned, Identity, Naming, ToolName, assign, escaped};

#[derive(Debug, Default)]
pub(super) struct Tools {
    pub(super) routes: HashMap<ToolName, ToolRoute, RandomState>,
    pub(super) page: Page,
    /// Some want arguments in headers, too.
    pub(super) mirrors_arguments: bool,
}

/// A running server's tool that clients may see.
struct Visible<'a> {
    server: usize,
    key: &'a str,
    tool: &'a Tool,
    /// Its own name, or the one the config gives it.
    name: &'a str,
}

impl Tools {
    pub(super) fn assemble(
        offers: &[Offer<'_>],
        custom: &[CustomTool],
        naming: &Naming,
        warnings: &mut Vec<String>,
    ) -> Self {
        let views: Vec<View<'_>> = offers.iter().map(|offer| View::of(offer.filter)).collect();
        let tools: Vec<Visible<'_>> =
            iter::zip(offers, &views).flat_map(|(offer, view)| visible(offer, view)).collect();
        let offered = tools.iter().map(|tool| Identity::of(tool.key, tool.name));
        let own = custom.iter().map(|tool| Identity::unprefixed(&tool.name));
        let known = iter::zip(offers, &views).flat_map(|(offer, view)| {
            let names = offer.known.iter().filter_map(|name| view.name(name));
            names.map(|name| Identity::of(offer.key, name))
        });
        // The same tool twice has the same names twice.
        let identities: Vec<_> = offered.chain(own).chain(known).collect();
        let assignment = assign(&identities, naming);
        warnings.extend(assignment.warnings.iter().map(ToString::to_string));
        for (offer, view) in iter::zip(offers, &views) {
            warnings.extend(view.unmatched(offer));
        }

        let mut names = assignment.names.iter();
        let mut routes = Routes::with_capacity(tools.len() + custom.len());
        let mut lines = Vec::with_capacity(tools.len() + custom.len());
        for (tool, names) in iter::zip(&tools, names.by_ref()) {
            routes.add(names, ToolRoute::Server(Route::to(tool.server, tool.tool)));
            lines.push(Line {
                name: names.wire.as_str(),
                definition: spliced(
                    &tool.tool.definition,
                    &[(tool.tool.name_at, &encode(names.wire.as_str()))],
                ),
            });
        }
        for (tool, names) in iter::zip(custom, names) {
            let route = CustomRoute::new(tool, offers, warnings);
            let definition = route.definition(tool, names.wire.as_str(), offers);
            lines.extend(
                definition.map(|definition| Line { name: names.wire.as_str(), definition }),
            );
            if !tool.subtools.is_empty() {
                routes.add(names, ToolRoute::Custom(route));
            }
        }
        let mirrors_arguments = tools.iter().any(|tool| tool.tool.headers.is_some());
        Self { routes: routes.0, page: Page::of(ListKind::Tools, lines), mirrors_arguments }
    }
}

struct Routes(HashMap<ToolName, ToolRoute, RandomState>);

impl Routes {
    fn with_capacity(tools: usize) -> Self {
        Self(HashMap::with_capacity_and_hasher(tools, RandomState::default()))
    }

    fn add(&mut self, names: &Assigned, route: ToolRoute) {
        if let Some(canonical) = names.canonical.as_ref().filter(|name| **name != names.wire) {
            self.0.insert(canonical.clone(), route.clone());
        }
        self.0.insert(names.wire.clone(), route);
    }
}

fn visible<'a>(offer: &Offer<'a>, view: &View<'a>) -> Vec<Visible<'a>> {
    let tools = offer.listing.into_iter().flat_map(Listing::tools);
    let visible = tools.filter(|tool| offer.scope.has(&tool.name)).filter_map(|tool| {
        let name = view.name(&tool.name)?;
        Some(Visible { server: offer.server, key: offer.key, tool, name })
    });
    visible.collect()
}

/// A filter, ready to be asked.
struct View<'a> {
    /// By the server's own names.
    exposed: Option<HashMap<&'a str, &'a str>>,
    hidden: HashSet<&'a str>,
}

impl<'a> View<'a> {
    fn of(filter: &'a ToolFilter) -> Self {
        let pair = |tool: &'a Exposed| (tool.original.as_str(), tool.name());
        Self {
            exposed: filter.exposed.as_ref().map(|list| list.iter().map(pair).collect()),
            hidden: filter.hidden.iter().map(String::as_str).collect(),
        }
    }

    /// What clients know the tool by; `None` if they do not.
    fn name(&self, original: &'a str) -> Option<&'a str> {
        if self.hidden.contains(original) {
            return None;
        }
        match &self.exposed {
            None => Some(original),
            Some(exposed) => exposed.get(original).copied(),
        }
    }

    /// Names of the filter that are no tool's, where that can be known.
    fn unmatched(&self, offer: &Offer<'a>) -> Vec<String> {
        let Some(listing) = offer.listing else { return Vec::new() };
        let offered: HashSet<&str> = listing.tools().iter().map(|t| t.name.as_str()).collect();
        let exposed = offer.filter.exposed.iter().flatten().map(|tool| (&tool.original, "exposed"));
        let hidden = offer.filter.hidden.iter().map(|name| (name, "hidden"));
        let strange = exposed.chain(hidden).filter(|(name, _)| !offered.contains(name.as_str()));
        let say = |(name, what): (&String, &str)| {
            let (key, name) = (escaped(offer.key), escaped(name));
            format!("the tool \"{name}\" to be {what} is not one of server \"{key}\"")
        };
        strange.map(say).collect()
    }
}
