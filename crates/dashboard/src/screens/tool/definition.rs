//! A tool as the API lists it.

use serde_json::Value;

use crate::ask::Trouble;
use crate::form::encode;
use crate::screens::tools::text;
use crate::visitor::Visitor;
use crate::words::short;

pub(super) struct Tool {
    pub(super) id: String,
    /// `server.tool`.
    pub(super) name: String,
    pub(super) original: String,
    pub(super) server_id: String,
    pub(super) server: String,
    pub(super) description: String,
    pub(super) schema: Value,
    pub(super) annotations: Value,
    pub(super) skills: Vec<String>,
    pub(super) is_custom: bool,
}

/// The group of tools that are made of others.
const CUSTOM: (&str, &str) = ("custom-tools", "custom");
/// Pages of a thousand; no server has that many.
const MOST_PAGES: usize = 50;

impl Tool {
    /// By its id: the server's id, a slash, and the server's name for it.
    pub(super) async fn find(visitor: &Visitor<'_>, id: &str) -> Result<Self, Trouble> {
        let (server, _) = id.split_once('/').ok_or_else(missing)?;
        let path = match server == CUSTOM.0 {
            true => format!("/api/v1/tools?limit=1000&server={}", CUSTOM.1),
            false => format!("/api/v1/aggregator/servers/{}/tools?limit=1000", encode(server)),
        };
        let mut next = path.clone();
        for _ in 0..MOST_PAGES {
            let told = &visitor.get(&next).await?;
            let found = groups(told).find_map(|group| {
                let tools = group["tools"].as_array()?;
                tools.iter().find(|tool| tool["id"] == id).map(|tool| Self::read(group, tool))
            });
            if let Some(found) = found {
                return Ok(found);
            }
            let Some(cursor) = told["next_cursor"].as_str() else { break };
            next = format!("{path}&cursor={}", encode(cursor));
        }
        Err(missing())
    }

    fn read(group: &Value, tool: &Value) -> Self {
        let skills = tool["skill_ids"].as_array().into_iter().flatten();
        let server_id = text(group, "id");
        Self {
            id: text(tool, "id"),
            name: text(tool, "name"),
            original: text(tool, "original_name"),
            is_custom: server_id == CUSTOM.0,
            server_id,
            server: text(group, "name"),
            description: text(tool, "description"),
            schema: tool["input_schema"].clone(),
            annotations: tool["annotations"].clone(),
            skills: skills.filter_map(|skill| skill.as_str().map(str::to_owned)).collect(),
        }
    }

    /// Cut where it is too long for a page.
    pub(super) fn schema_shown(&self) -> String {
        short(&format!("{:#}", self.schema), 30_000)
    }
}

/// `GET /tools` has several groups, `GET /servers/{id}/tools` is one.
fn groups(told: &Value) -> impl Iterator<Item = &Value> {
    let several = told["servers"].as_array();
    let one = several.is_none().then_some(told);
    several.into_iter().flatten().chain(one)
}

fn missing() -> Trouble {
    Trouble::new(
        404,
        "No such tool",
        "No connected server that you may see has this tool.",
        "It may have gone with its server. Look for it among all tools.",
    )
}
