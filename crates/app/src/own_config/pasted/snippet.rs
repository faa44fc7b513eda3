//! JSON with servers in it: a client's whole file, the object of its servers, or one server.

use std::path::Path;

use serde_json::{Map, Value, json};
use trunkline_catalog::client::Client;

use super::{JsonObject, PastedServer, registry};
use crate::import::{FileOwner, Section, read_file};
use crate::install::{COMMENTED, Document, DocumentProblem};

/// The keys that make an object a server.
const SERVER: [&str; 4] = ["command", "url", "serverUrl", "httpUrl"];

/// Stands in for a name that the text does not give.
const UNNAMED: &str = "\u{0}";

pub(super) fn json(text: &str) -> Result<Vec<PastedServer>, String> {
    let root = match parse(text) {
        Ok(root) => root,
        // `"git": { … }`, cut out of a file.
        Err(why) if text.starts_with('"') => {
            let cut = text.trim_end().trim_end_matches(',');
            parse(&format!("{{{cut}}}")).map_err(|_| why)?
        }
        Err(why) => return Err(why),
    };
    let Value::Object(root) = root else {
        return Err("the JSON is not an object with servers".to_owned());
    };
    if let Some(server) = registry_server(&root) {
        return registry::server(server).map(|server| vec![server]);
    }
    let vs_code = FileOwner::Client(Client::VsCode);
    let inputs = root.get("inputs").cloned();
    let ours = if inputs.is_some() { vs_code } else { FileOwner::Trunkline };
    let nested = root.get("mcp").and_then(|mcp| mcp.get("servers"));
    let found = [
        (root.get("mcpServers"), ours),
        (root.get("servers"), vs_code),
        (nested, vs_code),
        (root.get("context_servers"), FileOwner::Client(Client::Zed)),
    ];
    if let Some((servers, owner)) =
        found.into_iter().find_map(|(servers, owner)| Some((servers?, owner)))
    {
        return read(owner, servers, inputs);
    }
    if SERVER.iter().any(|key| root.contains_key(*key)) {
        return single(root, inputs);
    }
    let is_server = |value: &Value| {
        value.as_object().is_some_and(|it| SERVER.iter().any(|key| it.contains_key(*key)))
    };
    if !root.is_empty() && root.values().all(is_server) {
        return read(ours, &Value::Object(root), None);
    }
    Err("no server was found: expected `mcpServers`, `servers`, a server with a `command` or a `url`, or a \
         server.json of the MCP registry"
        .to_owned())
}

/// Codex's TOML.
pub(super) fn codex(text: &str) -> Result<Vec<PastedServer>, String> {
    let owner = FileOwner::Client(Client::Codex);
    imported(owner, text)
}

/// A server by itself, perhaps with its name in it, as for `code --add-mcp`.
fn single(mut root: JsonObject, inputs: Option<Value>) -> Result<Vec<PastedServer>, String> {
    let name = match root.shift_remove("name") {
        Some(Value::String(name)) => name,
        _ => UNNAMED.to_owned(),
    };
    root.shift_remove("inputs");
    let owner = match inputs {
        Some(_) => FileOwner::Client(Client::VsCode),
        None => FileOwner::Trunkline,
    };
    let servers: Map<String, Value> = [(name, Value::Object(root))].into_iter().collect();
    read(owner, &Value::Object(servers), inputs)
}

fn read(
    owner: FileOwner,
    servers: &Value,
    inputs: Option<Value>,
) -> Result<Vec<PastedServer>, String> {
    let mut file = json!({ owner.key(): servers });
    if let (Some(inputs), Value::Object(file)) = (inputs, &mut file) {
        file.insert("inputs".to_owned(), inputs);
    }
    imported(owner, &file.to_string())
}

/// As `import` reads it.
fn imported(owner: FileOwner, text: &str) -> Result<Vec<PastedServer>, String> {
    let read = read_file(owner, Path::new("pasted"), text, &Section::main(owner, None));
    let shown =
        |name: &str| if name == UNNAMED { "the server".to_owned() } else { format!("`{name}`") };
    if let Some(problem) = read.problems.iter().find(|it| it.left_out || it.server.is_none()) {
        let server = problem.server.as_deref().map_or_else(|| "the text".to_owned(), shown);
        return Err(format!("{server} {}", problem.message));
    }
    if read.servers.is_empty() {
        return Err("there is no server in it".to_owned());
    }
    let pasted = |server: crate::import::ImportedServer| {
        let of_it = read.problems.iter().filter(|it| it.server.as_deref() == Some(&*server.name));
        let notes = of_it.map(|it| it.message.clone()).collect();
        let name = (server.name != UNNAMED).then_some(server.name);
        PastedServer { name, entry: server.entry, notes, needs: Vec::new() }
    };
    Ok(read.servers.clone().into_iter().map(pasted).collect())
}

fn parse(text: &str) -> Result<Value, String> {
    match Document::parse(text, COMMENTED) {
        Ok(document) => Ok(document.get(&[]).unwrap_or(Value::Null)),
        Err(DocumentProblem::Syntax { line, column, problem }) => {
            Err(format!("the JSON cannot be read: line {line}, column {column}: {problem}"))
        }
        Err(_) => Err("the JSON cannot be read".to_owned()),
    }
}

/// The file itself, or what the registry's API answers with it in it.
fn registry_server(root: &JsonObject) -> Option<&JsonObject> {
    let inner = root.get("server").and_then(Value::as_object);
    let is_one = |it: &&JsonObject| it.contains_key("packages") || it.contains_key("remotes");
    inner.filter(is_one).or_else(|| Some(root).filter(is_one))
}
