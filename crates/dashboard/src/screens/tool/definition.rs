//! A tool as the API lists it.

use serde_json::Value;

use crate::api_client::ApiError;
use crate::form::encode;
use crate::format::short;
use crate::page_request::PageRequest;
use crate::screens::tools::text;

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

/// The server of tools that are made of others.
const CUSTOM: &str = "custom-tools";

impl Tool {
    /// By its id: the server's id, a slash, and the server's name for it.
    pub(super) async fn find(request: &PageRequest<'_>, id: &str) -> Result<Self, ApiError> {
        match request.get(&format!("/api/v1/tools/{}", encode(id))).await {
            Ok(tool) => Ok(Self::read(&tool)),
            Err(trouble) if trouble.status == 404 => Err(missing()),
            Err(trouble) => Err(trouble),
        }
    }

    fn read(tool: &Value) -> Self {
        let skills = tool["skill_ids"].as_array().into_iter().flatten();
        let server_id = text(&tool["server"], "id");
        Self {
            id: text(tool, "id"),
            name: text(tool, "name"),
            original: text(tool, "original_name"),
            is_custom: server_id == CUSTOM,
            server_id,
            server: text(&tool["server"], "name"),
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

fn missing() -> ApiError {
    ApiError::new(
        404,
        "Tool not found",
        "No connected server that you can access has this tool.",
        "Its server may be disconnected. Search all tools.",
    )
}
