//! Resources and templates: whose they are, and how two of one URI are both reached.

use std::borrow::Cow;
use std::collections::HashMap;

use foldhash::fast::RandomState;
use trunkline_http::{decode as percent_decode, encode_value};
use trunkline_wire::{decode, encode};

use super::offer::{Offer, Route};
use super::page::{ListPage, ListedEntry, spliced, value_of};
use super::withheld::WithheldResources;
use crate::listing::{ListKind, ListingEntry};
use crate::name::{Naming, escaped};
use crate::template::{Template, TemplateReading};

/// What an alias starts with: `trunkline://KEY/URI`.
const ALIAS: &str = "trunkline://";

/// How much matching one server's templates may cost a look-up, in steps of a few nanoseconds: far
/// above what honest templates need, and hostile ones delay nobody.
const MOST_STEPS: usize = 1_000_000;

#[derive(Debug, Default)]
pub(super) struct Resources {
    resources: Uris,
    templates: Uris,
    /// Each running server's templates that name a scheme, in config order.
    patterns: Vec<(usize, Vec<Template>)>,
    /// … and those that fit URIs of any scheme.
    catch_alls: Vec<(usize, Vec<Template>)>,
    /// What servers have and nobody is shown.
    withheld: HashMap<usize, WithheldResources>,
    keys: HashMap<String, usize>,
    /// The one server with URIs of a scheme; `None` if there are several.
    schemes: HashMap<String, Option<usize>>,
    /// The first server that lists resources of a scheme.
    listed_schemes: HashMap<String, usize>,
    /// The one server that has resources or templates at all.
    only: Option<usize>,
    pub(super) resource_page: ListPage,
    pub(super) template_page: ListPage,
}

/// By the URI or the template as it is listed.
type Uris = HashMap<String, Route, RandomState>;

impl Resources {
    pub(super) fn assemble(
        offers: &[Offer<'_>],
        naming: &Naming,
        warnings: &mut Vec<String>,
    ) -> Self {
        let keys = offers.iter().map(|offer| (offer.key.to_owned(), offer.server)).collect();
        let withheld = offers
            .iter()
            .filter_map(|offer| Some((offer.server, WithheldResources::of(offer.listing?)?)))
            .collect();
        let mut out = Self { keys, withheld, ..Self::default() };
        (out.resources, out.resource_page) =
            out.exposed(ListKind::Resources, offers, naming, warnings);
        (out.templates, out.template_page) =
            out.exposed(ListKind::Templates, offers, naming, warnings);
        let catch_alls: Vec<String> = offers.iter().filter_map(|offer| out.learn(offer)).collect();
        let mut owners: Vec<usize> = offers.iter().filter(has_any).map(|o| o.server).collect();
        owners.dedup();
        out.only = <[usize; 1]>::try_from(owners).ok().map(|[server]| server);
        // A server that is alone takes nothing from anybody.
        warnings.extend(catch_alls.into_iter().filter(|_| out.only.is_none()));
        out
    }

    /// What one server's URIs look like, for those that it does not list. A warning, if it could take what is
    /// another's.
    fn learn(&mut self, offer: &Offer<'_>) -> Option<String> {
        let listing = offer.listing?;
        let templates = listing.entries(ListKind::Templates);
        let (any, named): (Vec<_>, Vec<_>) =
            templates.iter().partition(|entry| self.takes_from_others(&entry.name, offer.server));
        for listed in listing.entries(ListKind::Resources) {
            if let Some(scheme) = scheme(&listed.name) {
                self.listed_schemes.entry(scheme).or_insert(offer.server);
            }
        }
        let uris = listing.entries(ListKind::Resources).iter().chain(named.iter().copied());
        for scheme in uris.filter_map(|entry| scheme(&entry.name)) {
            let owner = self.schemes.entry(scheme).or_insert(Some(offer.server));
            // Two servers with one scheme: then it says nothing about the owner.
            *owner = owner.filter(|owner| *owner == offer.server);
        }
        let warning = any.first().map(|entry| {
            format!(
                "the template \"{}\" of server \"{}\" fits what other servers have; it is used only \
                 for schemes that no other server has",
                escaped(&entry.name),
                escaped(offer.key)
            )
        });
        let of = |list: Vec<&ListingEntry>| {
            list.into_iter().filter_map(|entry| Template::compile(&entry.name)).collect()
        };
        self.patterns.push((offer.server, of(named)));
        self.catch_alls.push((offer.server, of(any)));
        warning
    }

    /// Does this template fit URIs of any scheme, or everything of a scheme that a server before this one has, or
    /// whole places (`db://{place}`, `db://ma{+x}`) of a scheme of which one before lists resources?
    fn takes_from_others(&self, template: &str, server: usize) -> bool {
        let Some(scheme) = scheme(template) else { return true };
        let owner = self.schemes.get(&scheme);
        let is_anothers = owner.is_some_and(|owner| *owner != Some(server));
        let is_listed = || self.listed_schemes.get(&scheme).is_some_and(|first| *first != server);
        (is_anothers && is_all_of_its_scheme(template)) || (names_no_place(template) && is_listed())
    }

    /// The first server in config order has the URI; others have an alias for theirs. So has a URI
    /// that reads like an alias itself: else one server could take what is another's.
    fn exposed(
        &self,
        kind: ListKind,
        offers: &[Offer<'_>],
        naming: &Naming,
        warnings: &mut Vec<String>,
    ) -> (Uris, ListPage) {
        let mut routes = Uris::default();
        let mut listed: Vec<(String, Vec<u8>)> = Vec::new();
        let mut hidden = Vec::new();
        for offer in offers {
            let entries = offer.listing.map(|listing| listing.entries(kind)).unwrap_or_default();
            let mut aliased: Vec<&str> = Vec::new();
            for entry in entries {
                let taken = routes.contains_key(&entry.name) || self.alias(&entry.name).is_some();
                let uri = if taken { alias(offer.key, &entry.name) } else { entry.name.clone() };
                if taken {
                    aliased.push(&entry.name);
                }
                let route = Route::to(offer.server, entry);
                match offer.scope.shows(kind, entry) {
                    true => {
                        listed
                            .push((uri.clone(), definition(naming.label(offer.key), entry, &uri)));
                    }
                    // Its URI stays taken: whoever sees less sees the same names.
                    false => hidden.push(uri.clone()),
                }
                routes.insert(uri, route);
            }
            warnings.extend(aliases_given(kind, offer.key, &aliased));
        }
        for uri in hidden {
            routes.remove(&uri);
        }
        let lines = listed.iter_mut();
        let lines = lines
            .map(|(name, definition)| ListedEntry { name, definition: std::mem::take(definition) });
        let page = ListPage::of(kind, lines.collect());
        (routes, page)
    }

    pub(super) fn resource(&self, uri: &str) -> Option<Cow<'_, Route>> {
        if let Some(route) = self.resources.get(uri) {
            return Some(Cow::Borrowed(route));
        }
        let (server, own) = self.alias(uri).or_else(|| Some((self.owner(uri)?, uri)))?;
        let is_withheld = self.withheld.get(&server).is_some_and(|it| it.has(own));
        (!is_withheld).then(|| Cow::Owned(to(server, own)))
    }

    /// Whose a URI is that nobody lists.
    fn owner(&self, uri: &str) -> Option<usize> {
        // Strict before loose over all servers: a server whose template fits exactly goes before one that
        // only might.
        let readings = [TemplateReading::Strict, TemplateReading::Loose];
        let find =
            |list: &[_]| readings.iter().find_map(|reading| most_specific(list, uri, *reading));
        let owner = scheme(uri).and_then(|scheme| self.schemes.get(&scheme));
        find(&self.patterns)
            .or_else(|| owner.copied().flatten())
            // A server that says it has everything gets what nobody has, and nothing that is another's.
            .or_else(|| find(&self.catch_alls).filter(|_| owner.is_none()))
            .or(self.only)
    }

    pub(super) fn template(&self, uri: &str) -> Option<Cow<'_, Route>> {
        match self.templates.get(uri) {
            Some(route) => Some(Cow::Borrowed(route)),
            None => self.resource(uri),
        }
    }

    /// The server an alias names, and the URI as that server knows it.
    fn alias<'u>(&self, uri: &'u str) -> Option<(usize, &'u str)> {
        let (key, own) = uri.strip_prefix(ALIAS)?.split_once('/')?;
        let server = self.keys.get(&*percent_decode(key).ok()?)?;
        (!own.is_empty()).then_some((*server, own))
    }
}

/// The server with the most specific of the templates that could have become this URI; of several, the first in
/// config order.
fn most_specific(
    servers: &[(usize, Vec<Template>)],
    uri: &str,
    reading: TemplateReading,
) -> Option<usize> {
    let mut best: Option<(usize, usize)> = None;
    for (server, templates) in servers {
        let mut steps = 0;
        let better = |template: &&Template| {
            // A look at the number costs less than a match.
            best.is_none_or(|(literal, _)| template.literal_bytes() > literal)
                && template.may_match(uri)
        };
        let matching = templates.iter().filter(better).filter(|template| {
            // Counted per server: hostile templates of one cost the others nothing.
            steps += template.steps(uri);
            steps <= MOST_STEPS && template.matches(uri, reading)
        });
        let found = matching.map(Template::literal_bytes).max();
        best = found.map(|literal| (literal, *server)).or(best);
    }
    best.map(|(_, server)| server)
}

fn has_any(offer: &&Offer<'_>) -> bool {
    let kinds = [ListKind::Resources, ListKind::Templates];
    let has = |kind| offer.listing.is_some_and(|listing| !listing.entries(kind).is_empty());
    kinds.into_iter().any(has)
}

fn to(server: usize, uri: &str) -> Route {
    Route { server, name_token: encode(uri).into(), headers: None, keeps_state: false }
}

/// `trunkline://KEY/URI`, the key as one segment, the URI as it is.
fn alias(key: &str, uri: &str) -> String {
    format!("{ALIAS}{}/{uri}", encode_value(key))
}

/// `db:{+x}`, `db://{+host}{/path*}`: no part of a URI behind the scheme is written out, and a variable stands
/// for more than one segment.
fn is_all_of_its_scheme(template: &str) -> bool {
    let Some((_, rest)) = template.split_once(':') else { return false };
    let is_wide = ["{+", "{/", "{#", "*}"].iter().any(|mark| rest.contains(mark));
    let mut literals = rest.split('{').map(|piece| piece.rsplit('}').next().unwrap_or_default());
    is_wide && literals.all(|literal| literal.bytes().all(|byte| byte == b'/'))
}

/// `db://{place}`, `db://{place}/x`, `db://ma{+rest}`: whose URIs these are is not written out.
fn names_no_place(template: &str) -> bool {
    let written = template.split('{').next().unwrap_or_default();
    let place = written.split_once("://").map(|(_, place)| place);
    written.len() < template.len() && place.is_some_and(|place| !place.contains('/'))
}

/// In lower case: schemes are the same in any.
fn scheme(uri: &str) -> Option<String> {
    let (scheme, _) = uri.split_once(':')?;
    let starts = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    let belongs = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
    (starts && scheme.bytes().all(belongs)).then(|| scheme.to_ascii_lowercase())
}

/// The entry under its listed URI, its server in front of the name.
fn definition(label: Option<&str>, entry: &ListingEntry, uri: &str) -> Vec<u8> {
    let uri = (uri != entry.name).then(|| encode(uri));
    let name = value_of(&entry.definition, "name");
    let name = name.and_then(|at| Some((at, decode(at.of(&entry.definition))?)));
    let name = name.zip(label);
    let name = name.map(|((at, name), label)| (at, encode(&format!("[{label}] {name}"))));
    let uri = uri.iter().map(|uri| (entry.name_at, &**uri));
    let name = name.iter().map(|(at, name)| (*at, &**name));
    spliced(&entry.definition, &uri.chain(name).collect::<Vec<_>>())
}

/// One line for all of a server's, or two servers of one kind would fill the log.
fn aliases_given(kind: ListKind, key: &str, uris: &[&str]) -> Option<String> {
    let (first, others) = uris.split_first()?;
    let (noun, identity) = (kind.noun(), kind.identity());
    let more = match others.len() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let (key, first, alias) = (escaped(key), escaped(first), escaped(&alias(key, first)));
    Some(format!(
        "the {identity} \"{first}\"{more} is not for server \"{key}\" alone; its {noun} is listed \
         as \"{alias}\""
    ))
}
