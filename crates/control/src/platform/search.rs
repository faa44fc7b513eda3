//! `POST /search`: which tools of connected servers a question means, of those the asker may see.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use trunkline_gateway::{CustomInfo, Embedder as _, FoundTool, SearchQuery, SearchResult};
use trunkline_wire::{decode, member};

use super::custom::{GROUP_ID, GROUP_NAME};
use super::roster::ServerEntry;
use super::{Platform, ServerDirectory};
use crate::access::{Grants, Principal};
use crate::api::input::SearchTools;
use crate::api::problem::{Kind, Problem};
use crate::api::view::{FoundView, Status, add};

/// What is searched for one asker.
#[derive(Debug, Clone, Default)]
struct SearchScope {
    /// Servers by id, with their names and statuses.
    servers: BTreeMap<String, (String, Status)>,
    /// The custom tools that are there for the asker, as they are for them.
    custom: BTreeMap<String, CustomInfo>,
    /// What was asked for and is not there.
    unknown: Vec<String>,
}

impl Platform {
    /// The body of the answer.
    pub async fn search(&self, wanted: &SearchTools, asker: &Principal) -> Result<Value, Problem> {
        let field = self.field(wanted, asker.grants());
        let found = self.found(wanted, &field, asker.grants()).await?;
        let tools: Vec<Value> =
            found.tools.iter().filter_map(|tool| self.found_view(tool, &field)).collect();
        let mut metadata = json!({
            "servers_searched": field.servers.len(),
            "total_tools_searched": found.compared,
        });
        if !field.unknown.is_empty() {
            add(&mut metadata, "unknown_servers", json!(field.unknown));
        }
        if let Some(by) = self.embedded_by(found.by_endpoint) {
            add(&mut metadata, "embeddings", by);
        }
        Ok(json!({ "query": wanted.query, "tools": tools, "metadata": metadata }))
    }

    async fn found(
        &self,
        wanted: &SearchTools,
        field: &SearchScope,
        grants: &Grants,
    ) -> Result<SearchResult, Problem> {
        let Some(fleet) = self.0.fleet.get().cloned() else { return Ok(SearchResult::default()) };
        let (field, grants) = (field.clone(), grants.clone());
        let (text, limit) = (wanted.query.clone(), wanted.limit);
        let vector = match &self.0.settings.embeddings {
            Some(embeddings) => embeddings.question(&text).await,
            None => None,
        };
        let turns = fleet.clone();
        let _turn = turns.search_turn().await;
        // What has changed is read first, which may take a while.
        let searching = self.0.tasks.spawn_blocking(move || {
            let may = |server: &str, tool: &str| match server {
                GROUP_ID => field.custom.contains_key(tool),
                _ => field.servers.get(server).is_some_and(|(name, _)| grants.allows(name, tool)),
            };
            let servers: Vec<&str> = field.servers.keys().map(String::as_str).collect();
            let (servers, vector) = (Some(servers.as_slice()), vector.as_ref());
            fleet.search_tools(&SearchQuery { text: &text, limit, servers, may: &may, vector })
        });
        searching.await.map_err(|error| Problem::new(Kind::Internal, error.to_string()))
    }

    fn field(&self, wanted: &SearchTools, grants: &Grants) -> SearchScope {
        let roster = self.roster();
        let names = wanted.server_filter.as_deref();
        let is_asked = |id: &str, name: &str| {
            names.is_none_or(|names| names.iter().any(|asked| asked == name || asked == id))
        };
        let mut field =
            SearchScope { unknown: unknown(names, &roster, grants), ..SearchScope::default() };
        if is_asked(GROUP_ID, GROUP_NAME) {
            let custom = self.custom_offer(grants).into_iter();
            field.custom = custom.map(|tool| (tool.tool().name.to_owned(), tool)).collect();
        }
        if !field.custom.is_empty() {
            let place = (GROUP_NAME.to_owned(), Status::Connected);
            field.servers.insert(GROUP_ID.to_owned(), place);
        }
        if wanted.include_external {
            let asked = roster.placed().filter(|it| is_asked(&it.id, &it.name));
            let seen = asked.filter(|entry| grants.touches(&entry.name));
            let there = seen.filter_map(|entry| self.reachable(entry));
            field.servers.extend(there);
        }
        field
    }

    /// A server whose tools can be called now.
    fn reachable(&self, entry: &ServerEntry) -> Option<(String, (String, Status))> {
        let status = self.status(entry);
        let is_there = entry.wanted && matches!(status, Status::Connected | Status::Degraded);
        is_there.then(|| (entry.id.clone(), (entry.name.clone(), status)))
    }

    fn found_view(&self, tool: &FoundTool, field: &SearchScope) -> Option<Value> {
        let (server, status) = field.servers.get(&tool.server)?;
        let custom = field.custom.get(&tool.name).filter(|_| tool.server == GROUP_ID);
        let definition = custom.map_or(&*tool.definition, |custom| custom.tool().definition);
        let description = member(definition, "description").and_then(decode);
        let assigned = self.skills_of(&tool.server, &tool.name);
        let view = FoundView {
            id: &format!("{}/{}", tool.server, tool.name),
            name: &self.called(&tool.server, server, &tool.name),
            original_name: &tool.name,
            description: description.as_deref(),
            score: tool.score,
            server: (&tool.server, server, *status),
            assigned: assigned.as_ref(),
        };
        Some(view.json())
    }
}

/// What of a filter is the name or the id of nothing that the asker can see.
fn unknown(
    names: Option<&[String]>,
    roster: &Arc<ServerDirectory>,
    grants: &Grants,
) -> Vec<String> {
    let is_known = |asked: &&String| {
        let is_custom = *asked == GROUP_NAME || *asked == GROUP_ID;
        is_custom || roster.find(asked).is_some_and(|entry| grants.touches(&entry.name))
    };
    names.unwrap_or_default().iter().filter(|asked| !is_known(asked)).cloned().collect()
}
