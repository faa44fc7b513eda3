//! Search: which tools of connected servers a question means, of those the asker may see.

use std::collections::BTreeMap;

use trunkline_gateway::{CustomInfo, FoundTool, SearchQuery, SearchResult};
use trunkline_wire::{decode, member};

use super::embedding::EmbeddingStatus;
use super::service::ToolService;
use crate::access::{Grants, Principal};
use crate::fault::{Problem, ProblemKind};
use crate::health::ServerStatus;
use crate::services::directory::{
    CUSTOM_GROUP_ID, CUSTOM_GROUP_NAME, ServerDirectory, ServerEntry,
};
use crate::skills::AssignedSkills;

/// A question, and where to look.
#[derive(Debug, Clone)]
pub(crate) struct ToolSearch {
    pub(crate) query: String,
    /// Also tools of servers, not only custom tools.
    pub(crate) include_external: bool,
    /// Only servers with these names or ids.
    pub(crate) server_filter: Option<Vec<String>>,
    pub(crate) limit: usize,
}

/// The best tools first, and what was searched.
#[derive(Debug, Clone)]
pub(crate) struct SearchReport {
    pub(crate) tools: Vec<FoundToolInfo>,
    pub(crate) servers_searched: usize,
    pub(crate) tools_searched: usize,
    /// Names of the filter that are no server's that the asker sees.
    pub(crate) unknown_servers: Vec<String>,
    pub(crate) embedding: Option<EmbeddingStatus>,
}

#[derive(Debug, Clone)]
pub(crate) struct FoundToolInfo {
    /// `server-id/tool`.
    pub(crate) id: String,
    /// `server.tool`.
    pub(crate) name: String,
    pub(crate) original_name: String,
    pub(crate) description: Option<String>,
    pub(crate) score: f32,
    pub(crate) server_id: String,
    pub(crate) server_name: String,
    pub(crate) server_status: ServerStatus,
    pub(crate) assigned: Option<AssignedSkills>,
}

/// What is searched for one asker.
#[derive(Debug, Clone, Default)]
struct SearchScope {
    /// Servers by id, with their names and statuses.
    servers: BTreeMap<String, (String, ServerStatus)>,
    /// The custom tools that the asker may call.
    custom: BTreeMap<String, CustomInfo>,
    unknown: Vec<String>,
}

impl ToolService {
    pub(crate) async fn search(
        &self,
        wanted: &ToolSearch,
        asker: &Principal,
    ) -> Result<SearchReport, Problem> {
        let scope = self.scope(wanted, asker.grants());
        let found = self.search_within(wanted, &scope, asker.grants()).await?;
        let tools = found.tools.iter().filter_map(|tool| self.found(tool, &scope));
        Ok(SearchReport {
            tools: tools.collect(),
            servers_searched: scope.servers.len(),
            tools_searched: found.compared,
            embedding: self.embedding_status(found.by_endpoint),
            unknown_servers: scope.unknown,
        })
    }

    async fn search_within(
        &self,
        wanted: &ToolSearch,
        scope: &SearchScope,
        grants: &Grants,
    ) -> Result<SearchResult, Problem> {
        let Some(fleet) = self.live.fleet().cloned() else { return Ok(SearchResult::default()) };
        let (scope, grants) = (scope.clone(), grants.clone());
        let (text, limit) = (wanted.query.clone(), wanted.limit);
        let vector = self.embed(&text).await;
        let turns = fleet.clone();
        // Searches of REST and MCP take turns: each takes a thread for a while.
        let _turn = turns.search_turn().await;
        // The index first reads what has changed, which may take a while.
        let searching = self.background.spawn_blocking(move || {
            let may = |server: &str, tool: &str| match server {
                CUSTOM_GROUP_ID => scope.custom.contains_key(tool),
                _ => scope.servers.get(server).is_some_and(|(name, _)| grants.allows(name, tool)),
            };
            let servers: Vec<&str> = scope.servers.keys().map(String::as_str).collect();
            let (servers, vector) = (Some(servers.as_slice()), vector.as_ref());
            fleet.search_tools(&SearchQuery { text: &text, limit, servers, may: &may, vector })
        });
        searching.await.map_err(|error| Problem::new(ProblemKind::Internal, error.to_string()))
    }

    fn scope(&self, wanted: &ToolSearch, grants: &Grants) -> SearchScope {
        let directory = self.live.directory();
        let names = wanted.server_filter.as_deref();
        let is_asked = |id: &str, name: &str| {
            names.is_none_or(|names| names.iter().any(|asked| asked == name || asked == id))
        };
        let unknown = unknown_names(names, &directory, grants);
        let mut scope = SearchScope { unknown, ..SearchScope::default() };
        if is_asked(CUSTOM_GROUP_ID, CUSTOM_GROUP_NAME) {
            let custom = self.custom_tools(grants).into_iter();
            scope.custom = custom.map(|tool| (tool.tool().name.to_owned(), tool)).collect();
        }
        if !scope.custom.is_empty() {
            let group = (CUSTOM_GROUP_NAME.to_owned(), ServerStatus::Connected);
            scope.servers.insert(CUSTOM_GROUP_ID.to_owned(), group);
        }
        if wanted.include_external {
            let asked = directory.reachable().filter(|it| is_asked(&it.id, &it.name));
            let seen = asked.filter(|entry| grants.touches(&entry.name));
            scope.servers.extend(seen.filter_map(|entry| self.reachable(entry)));
        }
        scope
    }

    /// A server whose tools can be called now.
    fn reachable(&self, entry: &ServerEntry) -> Option<(String, (String, ServerStatus))> {
        let status = self.live.status(entry);
        let can_serve = matches!(status, ServerStatus::Connected | ServerStatus::Degraded);
        (entry.wanted && can_serve).then(|| (entry.id.clone(), (entry.name.clone(), status)))
    }

    fn found(&self, tool: &FoundTool, scope: &SearchScope) -> Option<FoundToolInfo> {
        let (server, status) = scope.servers.get(&tool.server)?;
        // As this asker may call it: the index holds a custom tool with all its subtools.
        let custom = scope.custom.get(&tool.name).filter(|_| tool.server == CUSTOM_GROUP_ID);
        let definition = custom.map_or(&*tool.definition, |custom| custom.tool().definition);
        let description = member(definition, "description").and_then(decode);
        Some(FoundToolInfo {
            id: format!("{}/{}", tool.server, tool.name),
            name: self.live.directory().qualified_name(&tool.server, server, &tool.name),
            original_name: tool.name.clone(),
            description: description.map(std::borrow::Cow::into_owned),
            score: tool.score,
            server_id: tool.server.clone(),
            server_name: server.clone(),
            server_status: *status,
            assigned: self.skills.of_tool(&tool.server, &tool.name),
        })
    }
}

/// The entries of a filter that name nothing the asker can see.
fn unknown_names(
    names: Option<&[String]>,
    directory: &ServerDirectory,
    grants: &Grants,
) -> Vec<String> {
    let is_known = |asked: &&String| {
        let is_custom = *asked == CUSTOM_GROUP_NAME || *asked == CUSTOM_GROUP_ID;
        is_custom || directory.find(asked).is_some_and(|entry| grants.touches(&entry.name))
    };
    names.unwrap_or_default().iter().filter(|asked| !is_known(asked)).cloned().collect()
}
