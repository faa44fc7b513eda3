//! What a search has found.

use serde_json::{Value, json};

use crate::api::view::{FoundView, add};
use crate::services::{EmbeddingStatus, FoundToolInfo, SearchReport};

pub(crate) fn search_report(query: &str, report: &SearchReport) -> Value {
    let tools: Vec<Value> = report.tools.iter().map(found).collect();
    let mut metadata = json!({
        "servers_searched": report.servers_searched,
        "total_tools_searched": report.tools_searched,
    });
    if !report.unknown_servers.is_empty() {
        add(&mut metadata, "unknown_servers", json!(report.unknown_servers));
    }
    if let Some(of) = &report.embedding {
        add(&mut metadata, "embeddings", embedding(of));
    }
    json!({ "query": query, "tools": tools, "metadata": metadata })
}

fn found(tool: &FoundToolInfo) -> Value {
    FoundView {
        id: &tool.id,
        name: &tool.name,
        original_name: &tool.original_name,
        description: tool.description.as_deref(),
        score: tool.score,
        server: (&tool.server_id, &tool.server_name, tool.server_status),
        assigned: tool.assigned.as_ref(),
    }
    .json()
}

fn embedding(of: &EmbeddingStatus) -> Value {
    let mut shown = json!({
        "source": if of.by_endpoint { "endpoint" } else { "built-in" },
        "model": of.model,
        "tools_known": of.tools_known,
        "tools_waiting": of.tools_waiting,
    });
    if let Some(trouble) = &of.trouble {
        add(&mut shown, "trouble", json!(trouble));
    }
    shown
}
