//! The tools of all servers that run, as the API shows them: those the asker may call.

use sha2::{Digest as _, Sha256};
use trunkline_gateway::{CustomInfo, Offer, ToolInfo};
use trunkline_wire::{decode, member};

use super::Platform;
use super::custom::{GROUP_ID, GROUP_NAME};
use super::roster::{ServerDirectory, ServerEntry};
use super::show::{no_such_server, no_such_tool, sees};
use crate::access::{Grants, Principal};
use crate::api::etag;
use crate::api::paging::{List, Page, cursor};
use crate::api::problem::Problem;
use crate::api::view::{Status, ToolGroup, ToolView, one_tool, server_tools, tool_list};
use crate::skills::AssignedSkills;

/// A page of tools, and the tag it goes by.
#[derive(Debug)]
pub struct Tagged {
    pub tag: String,
    /// `None`: whoever asks has it already, and it was not made.
    pub body: Option<Vec<u8>>,
}

impl Platform {
    /// The body of `GET /tools`, of all servers that the asker sees or of the one with this name.
    /// `is_known`: does the asker have what goes by this tag?
    pub fn tools(
        &self,
        server: Option<&str>,
        asker: &Principal,
        page: &Page,
        is_known: impl Fn(&str) -> bool,
    ) -> Tagged {
        let (roster, grants) = (self.roster(), asker.grants());
        let is_asked = |shelf: &Shelf<'_>| server.is_none_or(|name| shelf.name == name);
        let seen = roster.placed().filter(|entry| sees(asker, &entry.name));
        let shelves = seen.map(|entry| (self.shelf(entry), self.offer(entry)));
        let offers: Vec<_> = shelves.filter(|(shelf, _)| is_asked(shelf)).collect();
        let custom = match is_asked(&Shelf::CUSTOM) {
            true => self.custom_offer(grants),
            false => Vec::new(),
        };
        let tag = self.tag(&roster, &offers, Some(&custom), grants, page);
        if is_known(&tag) {
            return Tagged { tag, body: None };
        }
        let placed =
            offers.iter().map(|(shelf, offer)| (*shelf, shown(shelf, offer.as_ref(), grants)));
        let custom: Vec<ToolInfo<'_>> = custom.iter().map(CustomInfo::tool).collect();
        let custom = (!custom.is_empty()).then_some((Shelf::CUSTOM, custom));
        let mut all: Vec<_> = placed.chain(custom).collect();
        // Servers are sorted already; pages go by this order.
        all.sort_by_key(|(shelf, _)| (shelf.name, shelf.is_custom));
        let total = all.iter().map(|(_, tools)| tools.len()).sum();
        let (groups, next) = cut(&all, page);
        let views: Vec<_> =
            groups.iter().map(|(shelf, tools)| self.group(&roster, *shelf, tools)).collect();
        let views: Vec<_> = views.iter().map(Group::view).collect();
        Tagged { tag, body: Some(tool_list(&views, total, next.as_deref())) }
    }

    /// The body of `GET /aggregator/servers/{id}/tools`.
    pub fn tools_of(
        &self,
        id: &str,
        grants: &Grants,
        page: &Page,
        is_known: impl Fn(&str) -> bool,
    ) -> Result<Tagged, Problem> {
        let roster = self.roster();
        let entry = roster.find(id).ok_or_else(|| no_such_server(id))?;
        let offered = [(self.shelf(entry), self.offer(entry))];
        let tag = self.tag(&roster, &offered, None, grants, page);
        if is_known(&tag) {
            return Ok(Tagged { tag, body: None });
        }
        let all =
            offered.each_ref().map(|(shelf, offer)| (*shelf, shown(shelf, offer.as_ref(), grants)));
        let total = all.iter().map(|(_, tools)| tools.len()).sum();
        let (groups, next) = cut(&all, page);
        let tools = groups.first().map(|(_, tools)| *tools).unwrap_or_default();
        let [(shelf, _)] = all;
        let body = server_tools(&self.group(&roster, shelf, tools).view(), total, next.as_deref());
        Ok(Tagged { tag, body: Some(body) })
    }

    /// The body of `GET /tools/{id}`: by its id or its name, if it is there for the asker.
    pub fn one_tool(&self, id: &str, grants: &Grants) -> Result<Vec<u8>, Problem> {
        let roster = self.roster();
        let missing = match self.tool(id, grants) {
            Ok((entry, name)) => {
                let (shelf, offer) = (self.shelf(&entry), self.offer(&entry));
                let mut tools = shown(&shelf, offer.as_ref(), grants);
                tools.retain(|tool| tool.name == name);
                let body = one_tool(&self.group(&roster, shelf, &tools).view());
                // It may have gone a moment ago.
                return body.ok_or_else(|| no_such_tool(id));
            }
            Err(missing) => missing,
        };
        let name = id.strip_prefix(GROUP_ID).and_then(|rest| rest.strip_prefix('/')).unwrap_or(id);
        let custom = self.custom_offer(grants);
        let tools = custom.iter().map(CustomInfo::tool).filter(|tool| tool.name == name);
        let tools: Vec<ToolInfo<'_>> = tools.collect();
        one_tool(&self.group(&roster, Shelf::CUSTOM, &tools).view()).ok_or(missing)
    }

    /// How many tools of these servers the asker may call, with those that are made of others.
    pub(super) fn all_tools_seen(&self, seen: &[&ServerEntry], asker: &Principal) -> usize {
        let grants = asker.grants();
        let own: usize = seen.iter().map(|entry| self.tools_for(entry, grants)).sum();
        own + self.custom_offer(grants).len()
    }

    /// Everything that a page is made of, so that it need not be made to know that it is the same: which
    /// servers there are (they decide on the names of tools), what those that are asked for offer and
    /// the skills of that, to whom, and which part of it.
    fn tag(
        &self,
        roster: &ServerDirectory,
        offers: &[(Shelf<'_>, Option<Offer>)],
        custom: Option<&[CustomInfo]>,
        grants: &Grants,
        page: &Page,
    ) -> String {
        let mut sum = Sha256::new();
        let mut add = |part: &[u8]| {
            sum.update(part.len().to_le_bytes());
            sum.update(part);
        };
        for entry in roster.all() {
            add(entry.id.as_bytes());
            add(entry.name.as_bytes());
        }
        add(b"offers");
        for (shelf, offer) in offers {
            add(shelf.id.as_bytes());
            add(shelf.status.as_str().as_bytes());
            add(&offer.as_ref().map(|offer| self.digest_of(shelf.id, offer)).unwrap_or_default());
            add(&self.0.book.print(shelf.id));
        }
        if let Some(custom) = custom {
            add(b"custom");
            custom.iter().for_each(|tool| add(tool.tool().definition));
        }
        add(format!("{grants:?} {page:?}").as_bytes());
        etag::tag_of(&sum.finalize())
    }

    fn shelf<'a>(&self, entry: &'a ServerEntry) -> Shelf<'a> {
        let (id, name, status) = (&entry.id, &entry.name, self.status(entry));
        Shelf { id, name, status, is_custom: false }
    }

    /// Nothing of a server that is not connected.
    fn offer(&self, entry: &ServerEntry) -> Option<Offer> {
        self.0.fleet.get().filter(|_| entry.wanted).and_then(|fleet| fleet.tools(&entry.id))
    }

    /// How many of a server's tools these grants are for.
    pub(super) fn tools_for(&self, entry: &ServerEntry, grants: &Grants) -> usize {
        shown(&self.shelf(entry), self.offer(entry).as_ref(), grants).len()
    }

    /// As it is called by: `server.tool`; where that means another one, by the server's id.
    pub(super) fn called(&self, id: &str, server: &str, tool: &str) -> String {
        called_by(&self.roster(), id, server, tool)
    }

    fn group<'a>(
        &self,
        roster: &ServerDirectory,
        shelf: Shelf<'a>,
        tools: &[ToolInfo<'a>],
    ) -> Group<'a> {
        let named = tools.iter().copied().map(|tool| Named {
            id: format!("{}/{}", shelf.id, tool.name),
            name: called_by(roster, shelf.id, shelf.name, tool.name),
            description: member(tool.definition, "description")
                .and_then(decode)
                .map(std::borrow::Cow::into_owned),
            assigned: self.skills_of(shelf.id, tool.name),
            tool,
        });
        Group { shelf, tools: named.collect() }
    }
}

fn called_by(roster: &ServerDirectory, id: &str, server: &str, tool: &str) -> String {
    if id == GROUP_ID {
        return tool.to_owned();
    }
    let name = format!("{server}.{tool}");
    match roster.split(&name) {
        Some((found, rest)) if found.id == id && rest == tool => name,
        _ => format!("{id}.{tool}"),
    }
}

/// What of it the asker may call, by name.
fn shown<'a>(shelf: &Shelf<'_>, offer: Option<&'a Offer>, grants: &Grants) -> Vec<ToolInfo<'a>> {
    let tools = offer.into_iter().flat_map(Offer::tools);
    let mut tools: Vec<_> = tools.filter(|tool| grants.allows(shelf.name, tool.name)).collect();
    tools.sort_by_key(|tool| tool.name);
    tools
}

/// Where tools stand: a server, or those that are made of tools of several.
#[derive(Clone, Copy)]
struct Shelf<'a> {
    id: &'a str,
    name: &'a str,
    status: Status,
    is_custom: bool,
}

impl Shelf<'static> {
    /// They are only there while they can be called.
    const CUSTOM: Self =
        Self { id: GROUP_ID, name: GROUP_NAME, status: Status::Connected, is_custom: true };
}

/// What a view borrows from.
struct Group<'a> {
    shelf: Shelf<'a>,
    tools: Vec<Named<'a>>,
}

struct Named<'a> {
    id: String,
    name: String,
    description: Option<String>,
    assigned: Option<AssignedSkills>,
    tool: ToolInfo<'a>,
}

impl Group<'_> {
    fn view(&self) -> ToolGroup<'_> {
        let tools = self.tools.iter().map(|named| ToolView {
            id: &named.id,
            name: &named.name,
            original_name: named.tool.name,
            description: named.description.as_deref(),
            input_schema: member(named.tool.definition, "inputSchema"),
            annotations: member(named.tool.definition, "annotations"),
            assigned: named.assigned.as_ref(),
        });
        ToolGroup {
            id: self.shelf.id,
            name: self.shelf.name,
            status: self.shelf.status,
            tools: tools.collect(),
        }
    }
}

type Cut<'a> = (Vec<(Shelf<'a>, &'a [ToolInfo<'a>])>, Option<String>);

/// The page's part of it, and where the next one begins. Servers without tools are named on the
/// first page.
fn cut<'a>(all: &'a [(Shelf<'a>, Vec<ToolInfo<'a>>)], page: &Page) -> Cut<'a> {
    let mut groups = Vec::new();
    let mut left = page.limit;
    let mut last = None;
    for (shelf, tools) in all {
        // Behind the tools of a server of the same name.
        let mark = if shelf.is_custom { "\u{10ffff}" } else { "" };
        let place = |tool: &ToolInfo<'_>| format!("{}\n{mark}{}", shelf.name, tool.name);
        let from = match &page.after {
            None => 0,
            Some(after) => tools.partition_point(|tool| place(tool) <= *after),
        };
        let rest = tools.get(from..).unwrap_or_default();
        let part = rest.get(..left.min(rest.len())).unwrap_or_default();
        if part.len() < rest.len() {
            if !part.is_empty() {
                groups.push((*shelf, part));
            }
            let end = part.last().map(place).or(last);
            return (groups, end.map(|end| cursor(List::Tools, &end)));
        }
        let is_first = page.after.is_none();
        if !part.is_empty() || (is_first && tools.is_empty()) {
            groups.push((*shelf, part));
        }
        left -= part.len();
        last = part.last().map(place).or(last);
    }
    (groups, None)
}
