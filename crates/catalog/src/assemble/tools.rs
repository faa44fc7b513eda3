//! The tools: filtered and renamed as the config says, then named for the client.

use std::collections::{HashMap, HashSet};
use std::iter;
use std::sync::Arc;

use foldhash::fast::RandomState;
use trunkline_wire::encode;

use super::behind::{Behind, Hidden, ToolOrigin};
use super::custom::CustomRoute;
use super::meta::{Exposure, MetaNames, MetaTool};
use super::offer::{Offer, Route};
use super::page::{ListPage, ListedEntry, spliced};
use crate::config::{CustomTool, Exposed, SelectedTools, ToolFilter, fits};
use crate::listing::{ListKind, Listing, Tool};
use crate::name::{Assigned, Assignment, Identity, NameWarning, Naming, assign, escaped};

/// Where a tool's calls go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolRoute {
    Server(Route),
    /// To one of several; the arguments say which.
    Custom(CustomRoute),
    /// To nobody: it is Trunkline's own.
    Meta(MetaTool),
}

#[derive(Debug, Default)]
pub(super) struct Tools {
    pub(super) routes: HashMap<Arc<str>, ToolRoute, RandomState>,
    pub(super) page: ListPage,
    /// Some want arguments in headers, too.
    pub(super) mirrors_arguments: bool,
    /// `None`: the list shows everything.
    pub(super) behind: Option<Behind>,
}

/// A running server's tool that clients may see.
struct Visible<'a> {
    server: usize,
    key: &'a str,
    tool: &'a Tool,
    /// Its own name, or the one the config gives it.
    name: &'a str,
    /// It is listed in any case.
    pinned: bool,
}

impl Tools {
    pub(super) fn assemble(
        offers: &[Offer<'_>],
        custom: &[CustomTool],
        (naming, exposure): (&Naming, Exposure),
        warnings: &mut Vec<String>,
    ) -> Self {
        let views: Vec<View<'_>> = offers.iter().map(|offer| View::of(offer.filter)).collect();
        let tools: Vec<Visible<'_>> =
            iter::zip(offers, &views).flat_map(|(offer, view)| visible(offer, view)).collect();
        let offered = tools.iter().map(|tool| Identity::of(tool.key, tool.name));
        let own = custom.iter().map(|tool| Identity::unprefixed(&tool.name));
        // Tools of servers that are away count: else a name would change its owner when a server
        // restarts.
        let known = iter::zip(offers, &views).flat_map(|(offer, view)| {
            let names = offer.known.iter().filter_map(|name| view.name(name));
            names.map(|name| Identity::of(offer.key, name))
        });
        // The same tool twice has the same names twice.
        let identities: Vec<_> = offered.chain(own).chain(known).collect();
        let assignment = assign(&identities, naming);
        let amount = || custom.len() + iter::zip(offers, &views).map(ever_seen).sum::<usize>();
        let searched = Searched::decide(exposure, naming, amount);
        warnings.extend(told(&assignment, searched));
        for (offer, view) in iter::zip(offers, &views) {
            warnings.extend(view.unmatched(offer));
        }

        // In the order in which the identities were chained: offered, custom, known.
        let mut names = assignment.names.iter();
        let mut routes = Routes::with_capacity(tools.len() + custom.len());
        let mut listed = Vec::with_capacity(tools.len() + custom.len());
        for (tool, names) in iter::zip(&tools, names.by_ref()) {
            routes.add(names, ToolRoute::Server(Route::to(tool.server, tool.tool)));
            let new = encode(&names.wire);
            let definition = spliced(&tool.tool.definition, &[(tool.tool.name_at, &new)]);
            let (origin, own) = (Some(tool.server), tool.tool.name.as_str());
            listed.push(Listed { origin, own, names, definition, pinned: tool.pinned });
        }
        for (tool, names) in iter::zip(custom, names) {
            let route = CustomRoute::new(tool, offers, warnings);
            let definition = route.definition(tool, &names.wire, offers);
            let own = tool.name.as_str();
            listed.extend(definition.map(|definition| Listed {
                origin: None,
                own,
                names,
                definition,
                pinned: true, // the config has made it for clients
            }));
            if !tool.subtools.is_empty() {
                routes.add(names, ToolRoute::Custom(route));
            }
        }
        let mirrors_arguments = tools.iter().any(|tool| tool.tool.headers.is_some());
        match searched {
            Searched::No => {
                let lines = listed.into_iter().map(Listed::line).collect();
                Self {
                    routes: routes.0,
                    page: ListPage::of(ListKind::Tools, lines),
                    mirrors_arguments,
                    behind: None,
                }
            }
            Searched::Wanted | Searched::Needed(_) => {
                Self { mirrors_arguments, ..Self::searched(routes, listed, &assignment) }
            }
        }
    }

    /// The list without what is not pinned, and with Trunkline's own tools.
    fn searched(mut routes: Routes, listed: Vec<Listed<'_>>, assignment: &Assignment) -> Self {
        let all = assignment.names.iter();
        let taken = all.flat_map(|names| iter::once(&names.wire).chain(&names.canonical));
        // Chosen after all others: a server's tool keeps its name, ours gets out of its way.
        let own = MetaNames::beside(taken.map(|name| &**name));
        let hidden = listed.iter().map(|tool| Hidden {
            origin: tool.origin,
            own: tool.own,
            names: tool.names,
            definition: &tool.definition,
        });
        let behind = Behind::new(own.clone(), hidden);
        let metas = MetaTool::ALL.map(|tool| (tool, own.name(tool)));
        for (tool, name) in &metas {
            routes.0.insert(name.as_str().into(), ToolRoute::Meta(*tool));
        }
        let pinned = listed.into_iter().filter(|tool| tool.pinned).map(Listed::line);
        let metas = metas
            .iter()
            .map(|(tool, name)| ListedEntry { name, definition: own.definition(*tool) });
        let lines = pinned.chain(metas).collect();
        let page = ListPage::of(ListKind::Tools, lines);
        Self { routes: routes.0, page, mirrors_arguments: false, behind: Some(behind) }
    }
}

/// A tool that is there for clients.
struct Listed<'a> {
    origin: ToolOrigin,
    own: &'a str,
    names: &'a Assigned,
    definition: Vec<u8>,
    pinned: bool,
}

impl<'a> Listed<'a> {
    fn line(self) -> ListedEntry<'a> {
        ListedEntry { name: &self.names.wire, definition: self.definition }
    }
}

/// Are tools to be found instead of listed?
#[derive(Clone, Copy)]
enum Searched {
    No,
    /// Somebody wants it so.
    Wanted,
    /// There are more than the client carries: so many.
    Needed(usize),
}

impl Searched {
    /// `amount`: how many tools were ever there, running or not. So the list does not change its
    /// kind because a server goes away for a while.
    fn decide(exposure: Exposure, naming: &Naming, amount: impl Fn() -> usize) -> Self {
        let budget = naming.client().and_then(|client| client.spec().budget);
        match (exposure, budget) {
            (Exposure::Search, _) => Self::Wanted,
            (Exposure::Auto, Some(budget)) if amount() > budget.tools => Self::Needed(amount()),
            _ => Self::No,
        }
    }
}

/// What is to be said about names, and about the number of tools where it is too high.
fn told(assignment: &Assignment, searched: Searched) -> impl Iterator<Item = String> {
    assignment.warnings.iter().filter_map(move |warning| match (warning, searched) {
        (NameWarning::OverBudget { .. }, Searched::Wanted) => None,
        (NameWarning::OverBudget { client, budget, beyond, .. }, Searched::Needed(tools)) => {
            let title = client.title();
            Some(format!(
                "{tools} tools: above {budget} {title} {beyond}; so only pinned ones are listed, and \
                 the others are found with `search_tools` (`--expose full` lists all, `pinnedTools` \
                 pins)"
            ))
        }
        _ => Some(warning.to_string()),
    })
}

/// How many tools of a server whoever looks has ever seen.
fn ever_seen((offer, view): (&Offer<'_>, &View<'_>)) -> usize {
    let offered = offer.listing.into_iter().flat_map(Listing::tools).map(|tool| &tool.name);
    let names: HashSet<&String> = offer.known.iter().chain(offered).collect();
    let seen = |name: &&&String| offer.sees(name) && view.shows(name);
    names.iter().filter(seen).count()
}

struct Routes(HashMap<Arc<str>, ToolRoute, RandomState>);

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
    let visible = tools.filter(|tool| offer.sees(&tool.name)).filter_map(|tool| {
        let name = view.name(&tool.name)?;
        let pinned = offer.filter.pins(&tool.name);
        Some(Visible { server: offer.server, key: offer.key, tool, name, pinned })
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

    fn shows(&self, original: &str) -> bool {
        let is_exposed = |exposed: &HashMap<&str, &str>| exposed.contains_key(original);
        !self.hidden.contains(original) && self.exposed.as_ref().is_none_or(is_exposed)
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
        let is_unmatched = |pattern: &str| !offered.iter().any(|name| fits(pattern, name));
        let pinned = offer
            .filter
            .pinned
            .iter()
            .filter(|name| is_unmatched(name))
            .map(|name| (name, "pinned"));
        let SelectedTools { taken, hidden } = offer.selected;
        let taken = taken.iter().flat_map(|taken| &taken.tools).map(|name| (name, "in a preset"));
        let off = hidden.tools.iter().map(|name| (name, "hidden from this client"));
        let chosen = taken.chain(off).filter(|(pattern, _)| is_unmatched(pattern));
        strange.chain(pinned).chain(chosen).map(say).collect()
    }
}
