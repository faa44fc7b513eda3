//! What one server says it offers: verbatim, but for what `repair` must change.

mod repair;

use std::collections::HashSet;

use trunkline_wire::{Span, decode, elements, member, members};

use crate::name::escaped;
use repair::{Repaired, repair};

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
pub struct Entry {
    /// `name`, `uri` or `uriTemplate` as text.
    pub name: String,
    /// The definition, byte for byte unless it had to be repaired.
    pub definition: Box<[u8]>,
    /// Where the name's token lies in the definition.
    pub name_at: Span,
}

pub type Tool = Entry;

impl Entry {
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
    /// Nothing is repaired.
    verbatim: bool,
    /// What was left out or repaired, and why. For the log.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, Default)]
struct List {
    entries: Vec<Entry>,
    names: HashSet<String>,
}

/// The server's answer to a list request was not such a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its answer to {} has no `{}` array", .0.method(), .0.member())]
pub struct NotAList(pub ListKind);

impl Listing {
    /// A listing that takes definitions as they are, also those that strict clients refuse: for the
    /// literal simple product.
    pub fn verbatim() -> Self {
        Self { verbatim: true, ..Self::default() }
    }

    pub fn tools(&self) -> &[Tool] {
        self.entries(ListKind::Tools)
    }

    pub fn entries(&self, kind: ListKind) -> &[Entry] {
        match kind {
            ListKind::Tools => &self.tools.entries,
            ListKind::Resources => &self.resources.entries,
            ListKind::Templates => &self.templates.entries,
            ListKind::Prompts => &self.prompts.entries,
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
        let list = member(result, kind.member()).filter(|list| list.starts_with(b"["));
        let list = list.ok_or(NotAList(kind))?;
        let mut repairs = Repairs { kind, first: None, more: 0 };
        for element in elements(list) {
            if self.entries(kind).len() >= most {
                let noun = kind.noun();
                self.warnings
                    .push(format!("it offers more than {most} {noun}s; the rest is left out"));
                self.warnings.extend(repairs.warning());
                return Ok(None);
            }
            let repair = if self.verbatim { |_, _: &_, _: &_| None } else { repair };
            match self.list(kind).add(kind, element.of(list), repair) {
                Ok(why) => repairs.note(why),
                Err(warning) => self.warnings.push(warning),
            }
        }
        self.warnings.extend(repairs.warning());
        Ok(member(result, "nextCursor").filter(|cursor| cursor.starts_with(b"\"")))
    }

    /// Takes one list over from a fresh listing. The warnings are the fresh ones: a server that
    /// changes its list for ever must not make them grow.
    pub fn replace(&mut self, kind: ListKind, mut from: Self) {
        *self.list(kind) = std::mem::take(from.list(kind));
        self.warnings = from.warnings;
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

type Repair = fn(ListKind, &str, &[u8]) -> Option<Repaired>;

impl List {
    /// Adds one entry and says what was wrong with it, or why it is left out.
    fn add(
        &mut self,
        kind: ListKind,
        definition: &[u8],
        repair: Repair,
    ) -> Result<Option<(String, String)>, String> {
        let noun = kind.noun();
        let (name_at, name) = identity(kind, definition)?;
        if let Err(fault) = crate::name::admissible(&name) {
            let fault = fault.to_string().replacen("name", kind.identity_noun(), 1);
            return Err(format!("a {noun} is left out: {fault}"));
        }
        if !self.names.insert(name.clone()) {
            return Err(format!(
                "it offers the {noun} `{name}` more than once; only the first is used"
            ));
        }
        let Some(Repaired { definition, why }) = repair(kind, &name, definition) else {
            self.entries.push(Entry { name, definition: definition.into(), name_at });
            return Ok(None);
        };
        let (name_at, name) = identity(kind, &definition)?;
        let told = (escaped(&name), why);
        self.entries.push(Entry { name, definition: definition.into(), name_at });
        Ok(Some(told))
    }
}

/// What the entry is called for by, and where that stands.
fn identity(kind: ListKind, definition: &[u8]) -> Result<(Span, String), String> {
    let (noun, key) = (kind.noun(), kind.identity());
    let mut names = members(definition).filter(|(name, _)| name == key).map(|(_, at)| at);
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
mod tests {
    use super::*;

    #[track_caller]
    fn check(page: &str, tools: &[&str], warnings: usize, cursor: Option<&str>) {
        let mut listing = Listing::default();
        let next = listing.add_page(ListKind::Tools, page.as_bytes(), 3).unwrap();
        assert_eq!(next.map(|c| String::from_utf8_lossy(c).into_owned()).as_deref(), cursor);
        let names: Vec<_> = listing.tools().iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, tools);
        assert_eq!(listing.warnings.len(), warnings, "{:?}", listing.warnings);
    }

    #[test]
    fn tools_are_kept_verbatim() {
        let mut listing = Listing::default();
        let definition =
            r#"{"x":1.0, "name" : "a\u0062","inputSchema":{"type" : "object","n":1e400}}"#;
        let page = format!("{{\"tools\":[ {definition} ]}}");
        assert_eq!(listing.add_page(ListKind::Tools, page.as_bytes(), 9), Ok(None));
        let tool = &listing.tools()[0];
        assert_eq!(&*tool.definition, definition.as_bytes());
        assert_eq!(tool.name, "ab");
        assert_eq!(tool.name_token(), br#""a\u0062""#);
    }

    #[test]
    fn every_kind_has_its_method_its_member_and_its_identity() {
        let table = [
            (ListKind::Tools, "tools/list", r#"{"tools":[{"name":"n"}]}"#, "n"),
            (ListKind::Prompts, "prompts/list", r#"{"prompts":[{"name":"n"}]}"#, "n"),
            (
                ListKind::Resources,
                "resources/list",
                r#"{"resources":[{"name":"n","uri":"a:b"}]}"#,
                "a:b",
            ),
            (
                ListKind::Templates,
                "resources/templates/list",
                r#"{"resourceTemplates":[{"uriTemplate":"a:{b}","name":"n"}]}"#,
                "a:{b}",
            ),
        ];
        for (kind, method, page, name) in table {
            let mut listing = Listing::default();
            assert_eq!(kind.method(), method);
            assert_eq!(listing.add_page(kind, page.as_bytes(), 9), Ok(None));
            let names: Vec<_> = listing.entries(kind).iter().map(|e| e.name.as_str()).collect();
            assert_eq!(names, [name]);
            let others = ListKind::ALL.into_iter().filter(|other| *other != kind);
            assert!(others.into_iter().all(|other| listing.entries(other).is_empty()));
        }
    }

    #[test]
    fn a_fresh_list_takes_the_place_of_the_old_one_of_its_kind_only() {
        let mut listing = Listing::default();
        listing.add_page(ListKind::Tools, br#"{"tools":[{"name":"a"}, 5]}"#, 9).unwrap();
        listing.add_page(ListKind::Prompts, br#"{"prompts":[{"name":"p"}]}"#, 9).unwrap();
        let mut fresh = Listing::default();
        let page = br#"{"tools":[{"name":"b","inputSchema":{"type":"object"}},{"name":"b"}]}"#;
        fresh.add_page(ListKind::Tools, page, 9).unwrap();
        listing.replace(ListKind::Tools, fresh);
        let names = |kind| -> Vec<&str> {
            listing.entries(kind).iter().map(|entry| entry.name.as_str()).collect()
        };
        assert_eq!(names(ListKind::Tools), ["b"]);
        assert_eq!(names(ListKind::Prompts), ["p"]);
        assert_eq!(
            listing.warnings,
            ["it offers the tool `b` more than once; only the first is used"]
        );
    }

    #[test]
    fn cursors() {
        check(r#"{"tools":[],"nextCursor":""}"#, &[], 0, Some("\"\""));
        check(r#"{"tools":[],"nextCursor":"p2"}"#, &[], 0, Some("\"p2\""));
        check(r#"{"tools":[],"nextCursor":null}"#, &[], 0, None);
    }

    #[test]
    fn edge_3_of_duplicates_the_first_wins() {
        let page = r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"a","v":2}]}"#;
        check(page, &["a"], 1, None);
    }

    #[test]
    fn what_is_no_tool_is_left_out() {
        check(r#"{"tools":[5,{},{"name":7},{"name":""},{"name":"a","name":"b"}]}"#, &[], 5, None);
        check(
            r#"{"tools":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"}],"nextCursor":"x"}"#,
            &["a", "b", "c"],
            2,
            None,
        );
    }

    #[test]
    fn a_bad_definition_is_repaired_with_one_warning() {
        let page = br#"{"tools":[{"inputSchema":5,"name":"a\u0062"},{"name":"b"},{"name":"c"}]}"#;
        let mut listing = Listing::default();
        listing.add_page(ListKind::Tools, page, 9).unwrap();
        let tool = &listing.tools()[0];
        let expected = br#"{"inputSchema":{"type":"object"},"name":"a\u0062"}"#;
        assert_eq!(&*tool.definition, expected);
        assert_eq!(tool.name_token(), br#""a\u0062""#, "the name is found in its new place");
        let expected = "its tool \"ab\" has an `inputSchema` that is not a schema; it is repaired in the list (and 2 more like it)";
        assert_eq!(listing.warnings, [expected]);
        let mut listing = Listing::verbatim();
        listing.add_page(ListKind::Tools, page, 9).unwrap();
        assert_eq!(&*listing.tools()[1].definition, br#"{"name":"b"}"#);
        assert!(listing.warnings.is_empty());
    }

    #[test]
    fn a_uri_is_called_one() {
        let mut listing = Listing::default();
        listing.add_page(ListKind::Resources, br#"{"resources":[{"uri":""}]}"#, 9).unwrap();
        let page = br#"{"resourceTemplates":[{"uriTemplate":"a\u0000"}]}"#;
        listing.add_page(ListKind::Templates, page, 9).unwrap();
        let expected = [
            "a resource is left out: the URI is empty",
            "a resource template is left out: the URI template \"a\\u{0}\" has a control character (U+0000) at character 2",
        ];
        assert_eq!(listing.warnings, expected);
    }

    #[test]
    fn an_answer_without_a_list_is_refused() {
        let mut listing = Listing::default();
        let tools = ListKind::Tools;
        assert_eq!(listing.add_page(tools, b"{}", 9), Err(NotAList(tools)));
        assert_eq!(listing.add_page(tools, br#"{"tools":{}}"#, 9), Err(NotAList(tools)));
        assert_eq!(
            NotAList(ListKind::Templates).to_string(),
            "its answer to resources/templates/list has no `resourceTemplates` array"
        );
    }
}
