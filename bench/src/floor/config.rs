//! Reads the `mcpServers` file.

use serde_json::Value;
use std::error::Error;
use std::path::Path;

/// One entry of `mcpServers`.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) name: String,
    pub(super) command: String,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    /// Of a server over HTTP, which has no command.
    pub(super) url: Option<String>,
}

pub(super) fn read(path: &Path) -> Result<Vec<Server>, Box<dyn Error>> {
    let file: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    let servers = file["mcpServers"].as_object().ok_or("no mcpServers")?;
    Ok(servers.iter().map(|(name, entry)| server(name, entry)).collect())
}

fn server(name: &str, entry: &Value) -> Server {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let env = entry["env"].as_object().into_iter().flatten();
    Server {
        name: name.to_owned(),
        command: text(&entry["command"]),
        args: entry["args"].as_array().into_iter().flatten().map(text).collect(),
        url: entry["url"].as_str().map(str::to_owned),
        env: env.map(|(key, value)| (key.clone(), text(value))).collect(),
    }
}
