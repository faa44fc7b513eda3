//! The tools of all servers that run, as the API shows them: those the asker may call.

use trunkline_gateway::ToolInfo;
use trunkline_wire::{decode, member};

use super::Platform;
use super::custom::{GROUP_ID, GROUP_NAME};
use super::roster::Entry;
use super::show::{no_such_server, sees};
use crate::access::{Grants, Principal};
use crate::api::paging::{List, Page, cursor};
use crate::api::problem::Problem;
use crate::api::view::{Status, ToolGroup, ToolView, server_tools, tool_list};

impl Platform {
    /// The body of `GET /tools`, of all servers that the asker sees or of the one with this name.
    pub fn tools(&self, server: Option<&str>, asker: &Principal, page: &Page) -> Vec<u8> {
        let roster = self.roster();
        let grants = asker.grants();
        let seen = roster.placed().filter(|entry| sees(asker, &entry.name));
        let placed = seen.map(|entry| (self.shelf(entry), self.offer(entry, grants)));
        let custom = self.custom_offer(grants);
        let custom = (!custom.is_empty()).then_some((Shelf::CUSTOM, custom));
        let is_asked = |(shelf, _): &(Shelf<'_>, _)| server.is_none_or(|name| shelf.name == name);
        let mut all: Vec<_> = placed.chain(custom).filter(is_asked).collect();
        // Servers are sorted already; pages go by this order.
        all.sort_by_key(|(shelf, _)| (shelf.name, shelf.is_custom));
        let total = all.iter().map(|(_, tools)| tools.len()).sum();
        let (groups, next) = cut(&all, page);
        let views: Vec<_> = groups.iter().map(|(shelf, tools)| self.group(*shelf, tools)).collect();
        let views: Vec<_> = views.iter().map(Group::view).collect();
        tool_list(&views, total, next.as_deref())
    }

    /// The body of `GET /aggregator/servers/{id}/tools`.
    pub fn tools_of(&self, id: &str, grants: &Grants, page: &Page) -> Result<Vec<u8>, Problem> {
        let roster = self.roster();
        let entry = roster.find(id).ok_or_else(|| no_such_server(id))?;
        let shelf = self.shelf(entry);
        let all = [(shelf, self.offer(entry, grants))];
        let total = all.iter().map(|(_, tools)| tools.len()).sum();
        let (groups, next) = cut(&all, page);
        let tools = groups.first().map(|(_, tools)| *tools).unwrap_or_default();
        Ok(server_tools(&self.group(shelf, tools).view(), total, next.as_deref()))
    }

    fn shelf<'a>(&self, entry: &'a Entry) -> Shelf<'a> {
        let (id, name, status) = (&entry.id, &entry.name, self.status(entry));
        Shelf { id, name, status, is_custom: false }
    }

    /// By name; nothing of a server that is not connected.
    fn offer(&self, entry: &Entry, grants: &Grants) -> Vec<ToolInfo> {
        let tools =
            self.0.fleet.get().filter(|_| entry.wanted).and_then(|fleet| fleet.tools(&entry.id));
        let mut tools = tools.unwrap_or_default();
        tools.retain(|tool| grants.allows(&entry.name, &tool.name));
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        tools
    }

    /// As it is called by: `server.tool`; where that means another one, by the server's id.
    fn full_name(&self, shelf: Shelf<'_>, tool: &str) -> String {
        if shelf.is_custom {
            return tool.to_owned();
        }
        let name = format!("{}.{tool}", shelf.name);
        let roster = self.roster();
        match roster.split(&name) {
            Some((found, rest)) if found.id == shelf.id && rest == tool => name,
            _ => format!("{}.{tool}", shelf.id),
        }
    }

    fn group<'a>(&self, shelf: Shelf<'a>, tools: &'a [ToolInfo]) -> Group<'a> {
        let named = tools.iter().map(|tool| Named {
            id: format!("{}/{}", shelf.id, tool.name),
            name: self.full_name(shelf, &tool.name),
            description: member(&tool.definition, "description")
                .and_then(decode)
                .map(std::borrow::Cow::into_owned),
            tool,
        });
        Group { shelf, tools: named.collect() }
    }
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
    tool: &'a ToolInfo,
}

impl Group<'_> {
    fn view(&self) -> ToolGroup<'_> {
        let tools = self.tools.iter().map(|named| ToolView {
            id: &named.id,
            name: &named.name,
            original_name: &named.tool.name,
            description: named.description.as_deref(),
            input_schema: member(&named.tool.definition, "inputSchema"),
            annotations: member(&named.tool.definition, "annotations"),
        });
        ToolGroup {
            id: self.shelf.id,
            name: self.shelf.name,
            status: self.shelf.status,
            tools: tools.collect(),
        }
    }
}

type Cut<'a> = (Vec<(Shelf<'a>, &'a [ToolInfo])>, Option<String>);

/// The page's part of it, and where the next one begins. Servers without tools are named on the
/// first page.
fn cut<'a>(all: &'a [(Shelf<'a>, Vec<ToolInfo>)], page: &Page) -> Cut<'a> {
    let mut groups = Vec::new();
    let mut left = page.limit;
    let mut last = None;
    for (shelf, tools) in all {
        // Behind the tools of a server of the same name.
        let mark = if shelf.is_custom { "\u{10ffff}" } else { "" };
        let place = |tool: &ToolInfo| format!("{}\n{mark}{}", shelf.name, tool.name);
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
