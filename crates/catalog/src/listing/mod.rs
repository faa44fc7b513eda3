//! What one server says it offers: verbatim, but for what `repair` must change.

mod cache;
mod headers;
mod repair;

use std::collections::HashSet;
use std::sync::Arc;

use trunkline_wire::{Span, decode, elements, member, members, pick};

use crate::name::escaped;
use repair::{Repaired, repair};

pub use cache::CacheHint;
pub use headers::{ParamHeader, param_headers};

/// The four lists a server may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ListKind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

impl ListKind {
    pub const ALL: [Self; 4] = [Self::Tools, Self::Resources, Self::Templates, Self::Prompts];

    /// The method that asks for the list.
    pub fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
            Self::Prompts => "prompts/list",
        }
    }

    /// The member of the result that holds the list.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// The member by which an entry is called for.
    pub(crate) fn identity(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    /// What an entry is called for by, as a message says it.
    fn identity_noun(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "URI",
            Self::Templates => "URI template",
        }
    }

    /// One entry, as a message says it.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Tools => "tool",
            Self::Resources => "resource",
            Self::Templates => "resource template",
            Self::Prompts => "prompt",
        }
    }
}

/// One tool, resource, template or prompt as its server defined it.
#[derive(Clone, Debug)]
pub struct ListingEntry {
    /// `name`, `uri` or `uriTemplate` as text.
    pub name: String,
    /// The definition, byte for byte unless it had to be repaired.
    pub definition: Box<[u8]>,
    /// Where the name's token lies in the definition.
    pub name_at: Span,
    /// The arguments that its calls repeat in headers, if it is a tool and its schema says so in a
    /// proper way.
    pub headers: Option<Arc<[ParamHeader]>>,
    /// It is a tool whose annotations say that calls change something, and not that they may be repeated:
    /// its server may hold state for its client.
    pub declares_effects: bool,
}

pub type Tool = ListingEntry;

impl ListingEntry {
    /// The name as the server spelt it, with quotes: what a call must carry.
    pub fn name_token(&self) -> &[u8] {
        self.name_at.of(&self.definition)
    }
}

/// What one server offers, gathered page by page.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    tools: List,
    resources: List,
    templates: List,
    prompts: List,
    rules: ListingRules,
    /// What was left out or repaired, and why. For the log.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, Default)]
struct List {
    entries: Vec<ListingEntry>,
    names: HashSet<String>,
    /// What was taken out, so that callers are not shown it.
    withheld: Vec<String>,
    /// What the pages so far say; `None` before the first.
    cache: Option<CacheHint>,
}

#[derive(Clone, Copy, Debug, Default)]
struct ListingRules {
    /// Nothing is repaired.
    verbatim: bool,
    /// Tools that ask for impossible headers are left out.
    strict_headers: bool,
}

/// What stands in a list in the place of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Substitute<'s> {
    Nothing,
    /// Another definition under the same name, which stood in a listing before.
    Definition(&'s [u8]),
}

/// The server's answer to a list request was not such a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its answer to {} has no `{}` array", .0.method(), .0.member())]
pub struct NotAList(pub ListKind);

impl Listing {
    /// A listing that takes definitions as they are, also those that strict clients refuse: for the
    /// literal simple product.
    pub fn verbatim() -> Self {
        Self {
            rules: ListingRules { verbatim: true, ..ListingRules::default() },
            ..Self::default()
        }
    }

    /// Also leaves out the tools whose `x-mcp-header`s break the protocol's rules, as is required
    /// for servers that are called over HTTP in the modern way.
    pub fn strict_headers(mut self) -> Self {
        self.rules.strict_headers = true;
        self
    }

    pub fn tools(&self) -> &[Tool] {
        self.entries(ListKind::Tools)
    }

    pub fn entries(&self, kind: ListKind) -> &[ListingEntry] {
        match kind {
            ListKind::Tools => &self.tools.entries,
            ListKind::Resources => &self.resources.entries,
            ListKind::Templates => &self.templates.entries,
            ListKind::Prompts => &self.prompts.entries,
        }
    }

    /// The names of entries that were taken out of the list.
    pub fn withheld(&self, kind: ListKind) -> &[String] {
        match kind {
            ListKind::Tools => &self.tools.withheld,
            ListKind::Resources => &self.resources.withheld,
            ListKind::Templates => &self.templates.withheld,
            ListKind::Prompts => &self.prompts.withheld,
        }
    }

    /// How the list may be kept: the strictest of what its pages say. `None` if it was not read.
    pub fn cache(&self, kind: ListKind) -> Option<CacheHint> {
        match kind {
            ListKind::Tools => self.tools.cache,
            ListKind::Resources => self.resources.cache,
            ListKind::Templates => self.templates.cache,
            ListKind::Prompts => self.prompts.cache,
        }
    }

    /// Adds the entries of one result; returns the cursor of the next page, as written. An empty
    /// string is a cursor like any other; `null` is none.
    pub fn add_page<'a>(
        &mut self,
        kind: ListKind,
        result: &'a [u8],
        most: usize,
    ) -> Result<Option<&'a [u8]>, NotAList> {
        // One walk for all: lists are long.
        let [list, cursor, ttl, scope] =
            pick(result, [kind.member(), "nextCursor", "ttlMs", "cacheScope"]);
        let list = list.filter(|list| list.starts_with(b"[")).ok_or(NotAList(kind))?;
        self.list(kind).keep(CacheHint::read(ttl, scope));
        let mut repairs = Repairs { kind, first: None, more: 0 };
        for element in elements(list) {
            // A server that lists without end must not fill the memory, nor every client's context.
            if self.entries(kind).len() >= most {
                let noun = kind.noun();
                self.warnings
                    .push(format!("it offers more than {most} {noun}s; the rest is left out"));
                self.warnings.extend(repairs.warning());
                return Ok(None);
            }
            let rules = self.rules;
            match self.list(kind).add(kind, element.of(list), rules) {
                Ok(why) => repairs.note(why),
                Err(warning) => self.warnings.push(warning),
            }
        }
        self.warnings.extend(repairs.warning());
        match cursor {
            // 2025-11-25, Pagination: a missing cursor ends the list. `null` is not in the schema,
            // but servers write it for "none".
            None | Some(b"null") => Ok(None),
            Some(cursor) if cursor.starts_with(b"\"") => Ok(Some(cursor)),
            Some(cursor) => {
                let (method, what) = (kind.method(), json_type(cursor));
                self.warnings.push(format!(
                    "its answer to {method} has a `nextCursor` that is {what}, not a string; what \
                     came so far is used"
                ));
                Ok(None)
            }
        }
    }

    /// The list as one result that `add_page` reads: every entry as it is, and how the list may be
    /// kept. `None` if it was not read.
    pub fn page(&self, kind: ListKind) -> Option<Vec<u8>> {
        let CacheHint { ttl_ms, private } = self.cache(kind)?;
        let mut page = format!("{{\"{}\":[", kind.member()).into_bytes();
        for (place, entry) in self.entries(kind).iter().enumerate() {
            if place > 0 {
                page.push(b',');
            }
            page.extend_from_slice(&entry.definition);
        }
        let scope = if private { "private" } else { "public" };
        let end = format!("],\"ttlMs\":{ttl_ms},\"cacheScope\":\"{scope}\"}}");
        page.extend_from_slice(end.as_bytes());
        Some(page)
    }

    /// Takes one list over from a fresh listing. The warnings are the fresh ones: a server that
    /// changes its list for ever must not make them grow.
    pub fn replace(&mut self, kind: ListKind, mut from: Self) {
        *self.list(kind) = std::mem::take(from.list(kind));
        self.warnings = from.warnings;
    }

    /// These lists with some entries defined in another way, or left out; `None`: the entry stays.
    #[must_use]
    pub fn substituted<'s>(
        &self,
        substitute: impl Fn(ListKind, &ListingEntry) -> Option<Substitute<'s>>,
    ) -> Self {
        let mut all = self.clone();
        for kind in ListKind::ALL {
            let list = all.list(kind);
            let entries = std::mem::take(&mut list.entries).into_iter();
            let shown = |entry: ListingEntry| match substitute(kind, &entry) {
                None => Ok(entry),
                Some(Substitute::Definition(bytes)) => {
                    defined_as(kind, bytes, &entry).ok_or(entry.name)
                }
                Some(Substitute::Nothing) => Err(entry.name),
            };
            let (entries, withheld): (Vec<_>, Vec<_>) = entries.map(shown).partition(Result::is_ok);
            list.entries = entries.into_iter().flatten().collect();
            list.withhold(withheld.into_iter().filter_map(Result::err));
        }
        all
    }

    /// Gives entries other definitions, where `change` makes one that still has the same name. How many.
    pub fn rewrite(&mut self, change: impl Fn(&ListingEntry) -> Option<Vec<u8>>) -> usize {
        let mut changed = 0;
        for kind in ListKind::ALL {
            for entry in &mut self.list(kind).entries {
                let Some(definition) = change(entry) else { continue };
                let Ok((name_at, name)) = identity(kind, &definition) else { continue };
                if name == entry.name {
                    entry.definition = definition.into();
                    entry.name_at = name_at;
                    changed += 1;
                }
            }
        }
        changed
    }

    /// Withholds all but some entries.
    pub fn retain(&mut self, keep: impl Fn(ListKind, &ListingEntry) -> bool) {
        for kind in ListKind::ALL {
            let list = self.list(kind);
            let entries = std::mem::take(&mut list.entries).into_iter();
            let (kept, withheld) = entries.partition(|entry| keep(kind, entry));
            list.entries = kept;
            list.withhold(Vec::into_iter(withheld).map(|entry: ListingEntry| entry.name));
        }
    }

    fn list(&mut self, kind: ListKind) -> &mut List {
        match kind {
            ListKind::Tools => &mut self.tools,
            ListKind::Resources => &mut self.resources,
            ListKind::Templates => &mut self.templates,
            ListKind::Prompts => &mut self.prompts,
        }
    }
}

/// What a JSON value is, in words.
fn json_type(value: &[u8]) -> &'static str {
    match value.first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b't' | b'f') => "a boolean",
        _ => "a number",
    }
}

impl List {
    fn keep(&mut self, said: CacheHint) {
        self.cache = Some(self.cache.map_or(said, |before| before.and(said)));
    }

    /// These were taken out of its entries.
    fn withhold(&mut self, names: impl Iterator<Item = String>) {
        self.withheld.extend(names);
        self.names = self.entries.iter().map(|entry| entry.name.clone()).collect();
    }

    /// Adds one entry and says what was wrong with it, or why it is left out.
    fn add(
        &mut self,
        kind: ListKind,
        definition: &[u8],
        rules: ListingRules,
    ) -> Result<Option<(String, String)>, String> {
        let noun = kind.noun();
        let (name_at, name) = identity(kind, definition)?;
        if let Err(fault) = crate::name::admissible(&name) {
            let fault = fault.to_string().replacen("name", kind.identity_noun(), 1);
            return Err(format!("a {noun} is left out: {fault}"));
        }
        // Before the name is taken: a tool that is left out must not shut out a later one of its
        // name.
        let headers = headers_of(kind, &name, definition, rules)?;
        // A call carries only the name: a second entry could never be called.
        if !self.names.insert(name.clone()) {
            return Err(format!(
                "it offers the {noun} `{name}` more than once; only the first is used"
            ));
        }
        let declares_effects = kind == ListKind::Tools && declares_effects(definition);
        let repaired = (!rules.verbatim).then(|| repair(kind, &name, definition)).flatten();
        let Some(Repaired { definition, why }) = repaired else {
            self.entries.push(ListingEntry {
                name,
                definition: definition.into(),
                name_at,
                headers,
                declares_effects,
            });
            return Ok(None);
        };
        let (name_at, name) = identity(kind, &definition)?;
        let told = (escaped(&name), why);
        let definition = definition.into();
        self.entries.push(ListingEntry { name, definition, name_at, headers, declares_effects });
        Ok(Some(told))
    }
}

/// The entry as `bytes` define it; `None` if they define something else.
fn defined_as(kind: ListKind, bytes: &[u8], entry: &ListingEntry) -> Option<ListingEntry> {
    let (name_at, name) = identity(kind, bytes).ok().filter(|(_, name)| *name == entry.name)?;
    Some(ListingEntry {
        headers: headers_of(kind, &name, bytes, ListingRules::default()).ok()?,
        name,
        definition: bytes.into(),
        name_at,
        // Where one of the two says that calls change something, they may.
        declares_effects: entry.declares_effects
            || (kind == ListKind::Tools && declares_effects(bytes)),
    })
}

/// The headers of a tool's calls, or why it is left out.
fn headers_of(
    kind: ListKind,
    name: &str,
    definition: &[u8],
    rules: ListingRules,
) -> Result<Option<Arc<[ParamHeader]>>, String> {
    if kind != ListKind::Tools {
        return Ok(None);
    }
    match param_headers(member(definition, "inputSchema").unwrap_or_default()) {
        Ok(headers) => Ok((!headers.is_empty()).then(|| headers.into())),
        Err(why) if rules.strict_headers => {
            Err(format!("its tool \"{}\" is left out: {why}", escaped(name)))
        }
        Err(_) => Ok(None),
    }
}

/// Do the annotations say something else than that calls only read, or may be repeated? Without annotations
/// nothing is said.
fn declares_effects(definition: &[u8]) -> bool {
    let annotations = member(definition, "annotations").unwrap_or_default();
    let hints = pick(annotations, ["readOnlyHint", "destructiveHint", "idempotentHint"]);
    let [reads, _, repeats] = hints.map(|hint| hint == Some(b"true"));
    hints.iter().any(Option::is_some) && !reads && !repeats
}

/// What the entry is called for by, and where that stands.
fn identity(kind: ListKind, definition: &[u8]) -> Result<(Span, String), String> {
    let (noun, key) = (kind.noun(), kind.identity());
    let mut names = members(definition).filter(|(name, _)| name == key).map(|(_, at)| at);
    // Two members of one name are two names to different parsers (RFC 8259, 4): such an entry is
    // not offered.
    let (first, second) = (names.next(), names.next());
    let name = first.and_then(|at| Some((at, decode(at.of(definition))?)));
    let (Some((name_at, name)), None) = (name, second) else {
        let shown = String::from_utf8_lossy(definition.get(..80).unwrap_or(definition));
        return Err(format!("a {noun} without one proper {key} is left out: {shown}"));
    };
    Ok((name_at, name.into_owned()))
}

/// One line for all of a page's: a server with one bad habit must not fill the log.
struct Repairs {
    kind: ListKind,
    /// The name of the first, and what was wrong.
    first: Option<(String, String)>,
    more: usize,
}

impl Repairs {
    fn note(&mut self, told: Option<(String, String)>) {
        match (&self.first, told) {
            (None, told) => self.first = told,
            (Some(_), Some(_)) => self.more += 1,
            (Some(_), None) => {}
        }
    }

    fn warning(self) -> Option<String> {
        let noun = self.kind.noun();
        let (name, why) = self.first?;
        let more = match self.more {
            0 => String::new(),
            more => format!(" (and {more} more like it)"),
        };
        Some(format!("its {noun} \"{name}\" {why}; it is repaired in the list{more}"))
    }
}

#[cfg(test)]
mod tests;
