//! `ToolService`: the tools of all servers that run, in groups, as far as the asker may call them.

use std::borrow::Cow;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use trunkline_gateway::{CallKeys, CustomInfo, Offer, ToolInfo};
use trunkline_wire::{decode, member};

use crate::access::{Grants, Principal};
use crate::audit::Audit;
use crate::fault::Problem;
use crate::health::ServerStatus;
use crate::keys::ApiKeys;
use crate::services::background::Background;
use crate::services::directory::{
    CUSTOM_GROUP_ID, CUSTOM_GROUP_NAME, ServerDirectory, ServerEntry,
};
use crate::services::grants::sees;
use crate::services::live::LiveServers;
use crate::services::page::Page;
use crate::services::problems::no_such_tool;
use crate::services::settings::Settings;
use crate::services::skills::SkillIndex;
use crate::skills::AssignedSkills;

#[derive(Debug)]
pub struct ToolService {
    pub(in crate::services) live: Arc<LiveServers>,
    pub(in crate::services) skills: Arc<SkillIndex>,
    pub(in crate::services) audit: Audit,
    pub(in crate::services) settings: Arc<Settings>,
    pub(in crate::services) background: Background,
    /// What callers may have at most.
    pub(in crate::services) keys: Arc<ApiKeys>,
    /// Keeps idempotency keys; `None`: the store is locked.
    pub(in crate::services) call_keys: Option<Arc<dyn CallKeys>>,
}

/// A page of tools.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolPage {
    pub(crate) groups: Vec<ToolGroup>,
    /// On all pages.
    pub(crate) total: usize,
    /// Where the next page begins; none on the last one.
    pub(crate) next: Option<String>,
}

/// Tools of one server, or those that are made of tools of several.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolGroup {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) status: ServerStatus,
    pub(crate) tools: Vec<ListedTool>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ListedTool {
    /// `server-id/tool`.
    pub(crate) id: String,
    /// `server.tool`.
    pub(crate) name: String,
    /// As its server calls it.
    pub(crate) original_name: String,
    pub(crate) description: Option<String>,
    /// As its server wrote it.
    pub(crate) definition: Vec<u8>,
    /// `None`: it is not classified yet.
    pub(crate) assigned: Option<AssignedSkills>,
}

/// A page of tools, or the news that the asker has it already.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DigestedPage {
    /// Over everything that the page is made of.
    pub(crate) digest: [u8; 32],
    /// `None`: the asker knows the digest, and the page was not made.
    pub(crate) page: Option<ToolPage>,
}

impl ToolService {
    /// The tools of all servers that the asker sees, or of the one with this name. `is_known`: does the
    /// asker have the page with this digest?
    pub(crate) fn list(
        &self,
        server: Option<&str>,
        asker: &Principal,
        page: &Page,
        is_known: impl Fn(&[u8]) -> bool,
    ) -> DigestedPage {
        let (directory, grants) = (self.live.directory(), asker.grants());
        let is_asked = |group: &GroupKey<'_>| server.is_none_or(|name| group.name == name);
        let seen = directory.reachable().filter(|entry| sees(asker, &entry.name));
        let groups = seen.map(|entry| (self.group_key(entry), self.live.offer(entry)));
        let offers: Vec<_> = groups.filter(|(group, _)| is_asked(group)).collect();
        let custom = match is_asked(&GroupKey::CUSTOM) {
            true => self.custom_tools(grants),
            false => Vec::new(),
        };
        // Before anything is rendered: dashboards ask every few seconds for pages that stay the same.
        let digest = self.digest(&directory, &offers, Some(&custom), grants, page);
        if is_known(&digest) {
            return DigestedPage { digest, page: None };
        }
        let placed =
            offers.iter().map(|(group, offer)| (*group, allowed(group, offer.as_ref(), grants)));
        let custom: Vec<ToolInfo<'_>> = custom.iter().map(CustomInfo::tool).collect();
        let custom = (!custom.is_empty()).then_some((GroupKey::CUSTOM, custom));
        let mut all: Vec<_> = placed.chain(custom).collect();
        // Servers are sorted already; pages go by this order.
        all.sort_by_key(|(group, _)| (group.name, group.is_custom));
        DigestedPage { digest, page: Some(self.page(&directory, &all, page)) }
    }

    /// The tools of one server.
    pub(crate) fn of_server(
        &self,
        id: &str,
        asker: &Principal,
        page: &Page,
        is_known: impl Fn(&[u8]) -> bool,
    ) -> Result<DigestedPage, Problem> {
        self.live.check_seen(id, asker)?;
        let (directory, grants) = (self.live.directory(), asker.grants());
        let entry = self.live.entry(id)?;
        let offered = [(self.group_key(&entry), self.live.offer(&entry))];
        let digest = self.digest(&directory, &offered, None, grants, page);
        if is_known(&digest) {
            return Ok(DigestedPage { digest, page: None });
        }
        let all = offered
            .each_ref()
            .map(|(group, offer)| (*group, allowed(group, offer.as_ref(), grants)));
        let mut listed = self.page(&directory, &all, page);
        if listed.groups.is_empty() {
            // Behind the last tool: the server is named all the same.
            let [(group, _)] = &all;
            listed.groups.push(self.group(&directory, *group, &[]));
        }
        Ok(DigestedPage { digest, page: Some(listed) })
    }

    /// A group of one tool, by its id or its name.
    pub(crate) fn one(&self, id: &str, grants: &Grants) -> Result<ToolGroup, Problem> {
        let directory = self.live.directory();
        let found = |group: ToolGroup| (!group.tools.is_empty()).then_some(group);
        let missing = match self.live.find_tool(id, grants) {
            Ok((entry, name)) => {
                let (group, offer) = (self.group_key(&entry), self.live.offer(&entry));
                let mut tools = allowed(&group, offer.as_ref(), grants);
                tools.retain(|tool| tool.name == name);
                // It may have gone a moment ago.
                let group = found(self.group(&directory, group, &tools));
                return group.ok_or_else(|| no_such_tool(id));
            }
            Err(missing) => missing,
        };
        let name = id.strip_prefix(CUSTOM_GROUP_ID).and_then(|rest| rest.strip_prefix('/'));
        let name = name.unwrap_or(id);
        let custom = self.custom_tools(grants);
        let tools = custom.iter().map(CustomInfo::tool).filter(|tool| tool.name == name);
        let tools: Vec<ToolInfo<'_>> = tools.collect();
        found(self.group(&directory, GroupKey::CUSTOM, &tools)).ok_or(missing)
    }

    /// How many tools of these servers the asker may call, with those that are made of others.
    pub(in crate::services) fn count_seen(
        &self,
        seen: &[&ServerEntry],
        asker: &Principal,
    ) -> usize {
        let grants = asker.grants();
        let own: usize = seen.iter().map(|entry| self.live.count_allowed(entry, grants)).sum();
        own + self.custom_tools(grants).len()
    }

    /// Over everything that a page is made of, so that it need not be made to know that it is the same: which
    /// servers there are (they decide on the names of tools), what those that are asked for offer, the
    /// skills of that, the grants, and which part is wanted.
    fn digest(
        &self,
        directory: &ServerDirectory,
        offers: &[(GroupKey<'_>, Option<Offer>)],
        custom: Option<&[CustomInfo]>,
        grants: &Grants,
        page: &Page,
    ) -> [u8; 32] {
        let mut sum = Sha256::new();
        let mut add = |part: &[u8]| {
            sum.update(part.len().to_le_bytes());
            sum.update(part);
        };
        for entry in directory.all() {
            add(entry.id.as_bytes());
            add(entry.name.as_bytes());
        }
        add(b"offers");
        for (group, offer) in offers {
            add(group.id.as_bytes());
            // The page shows the status, so that a change of it makes another page.
            add(group.status.as_str().as_bytes());
            let offer = offer.as_ref().map(|offer| self.live.offers.digest_of(group.id, offer));
            add(&offer.unwrap_or_default());
            add(&self.skills.digest_of(group.id));
        }
        if let Some(custom) = custom {
            add(b"custom");
            custom.iter().for_each(|tool| add(tool.tool().definition));
        }
        add(format!("{grants:?} {page:?}").as_bytes());
        sum.finalize().into()
    }

    fn group_key<'a>(&self, entry: &'a ServerEntry) -> GroupKey<'a> {
        let (id, name, status) = (&entry.id, &entry.name, self.live.status(entry));
        GroupKey { id, name, status, is_custom: false }
    }

    fn page(
        &self,
        directory: &ServerDirectory,
        all: &[(GroupKey<'_>, Vec<ToolInfo<'_>>)],
        page: &Page,
    ) -> ToolPage {
        let (groups, next) = cut(all, page);
        let groups = groups.iter().map(|(group, tools)| self.group(directory, *group, tools));
        ToolPage {
            groups: groups.collect(),
            total: all.iter().map(|(_, tools)| tools.len()).sum(),
            next,
        }
    }

    fn group(
        &self,
        directory: &ServerDirectory,
        group: GroupKey<'_>,
        tools: &[ToolInfo<'_>],
    ) -> ToolGroup {
        let listed = |tool: &ToolInfo<'_>| ListedTool {
            id: format!("{}/{}", group.id, tool.name),
            name: directory.qualified_name(group.id, group.name, tool.name),
            original_name: tool.name.to_owned(),
            description: member(tool.definition, "description")
                .and_then(decode)
                .map(Cow::into_owned),
            definition: tool.definition.to_vec(),
            assigned: self.skills.of_tool(group.id, tool.name),
        };
        ToolGroup {
            id: group.id.to_owned(),
            name: group.name.to_owned(),
            status: group.status,
            tools: tools.iter().map(listed).collect(),
        }
    }
}

/// The tools that the grants allow, by name.
fn allowed<'a>(
    group: &GroupKey<'_>,
    offer: Option<&'a Offer>,
    grants: &Grants,
) -> Vec<ToolInfo<'a>> {
    let tools = offer.into_iter().flat_map(Offer::tools);
    let mut tools: Vec<_> = tools.filter(|tool| grants.allows(group.name, tool.name)).collect();
    tools.sort_by_key(|tool| tool.name);
    tools
}

/// A group of tools before they are listed.
#[derive(Clone, Copy)]
struct GroupKey<'a> {
    id: &'a str,
    name: &'a str,
    status: ServerStatus,
    is_custom: bool,
}

impl GroupKey<'static> {
    /// Custom tools are listed only while they can be called.
    const CUSTOM: Self = Self {
        id: CUSTOM_GROUP_ID,
        name: CUSTOM_GROUP_NAME,
        status: ServerStatus::Connected,
        is_custom: true,
    };
}

type Cut<'a> = (Vec<(GroupKey<'a>, &'a [ToolInfo<'a>])>, Option<String>);

/// The page's part of the tools, and where the next page begins. Servers without tools are named on the
/// first page.
fn cut<'a>(all: &'a [(GroupKey<'a>, Vec<ToolInfo<'a>>)], page: &Page) -> Cut<'a> {
    let mut groups = Vec::new();
    let mut left = page.limit;
    let mut last = None;
    for (group, tools) in all {
        // Custom tools come behind those of a server with the same name.
        let mark = if group.is_custom { "\u{10ffff}" } else { "" };
        let place = |tool: &ToolInfo<'_>| format!("{}\n{mark}{}", group.name, tool.name);
        let from = match &page.after {
            None => 0,
            Some(after) => tools.partition_point(|tool| place(tool) <= *after),
        };
        let rest = tools.get(from..).unwrap_or_default();
        let part = rest.get(..left.min(rest.len())).unwrap_or_default();
        if part.len() < rest.len() {
            if !part.is_empty() {
                groups.push((*group, part));
            }
            return (groups, part.last().map(place).or(last));
        }
        let is_first = page.after.is_none();
        if !part.is_empty() || (is_first && tools.is_empty()) {
            groups.push((*group, part));
        }
        left -= part.len();
        last = part.last().map(place).or(last);
    }
    (groups, None)
}
