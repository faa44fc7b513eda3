//! The servers of a config's text, and edits of them that keep every other byte.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::error::OwnConfigError;
use super::list_edit::{append, take};
use crate::client::did_you_mean;
use crate::install::{COMMENTED, Document};

/// Between a server and its tool, as clients of all kinds see it.
const SEPARATORS: [&str; 3] = [":", ".", "__"];

/// A config as it is to be edited.
#[derive(Debug)]
pub(crate) struct ConfigServers {
    path: PathBuf,
    document: Document,
    /// `mcpServers`, or `servers` as VS Code calls it.
    key: &'static str,
}

impl ConfigServers {
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self, OwnConfigError> {
        let document = Document::parse(text, COMMENTED)
            .map_err(|problem| OwnConfigError::document(path, problem))?;
        let root = document.get(&[]);
        let is_vs_code = |root: &Value| {
            root.get("servers").is_some_and(Value::is_object) && root.get("mcpServers").is_none()
        };
        let key = if root.as_ref().is_some_and(is_vs_code) { "servers" } else { "mcpServers" };
        let held = root.as_ref().map(|root| (root.is_object(), root.get(key)));
        let not_an_object = |key: &str| {
            Err(OwnConfigError::NotAnObject { path: path.to_owned(), key: key.to_owned() })
        };
        match held {
            Some((false, _)) => return not_an_object("the file"),
            Some((true, Some(servers))) if !servers.is_object() => return not_an_object(key),
            _ => {}
        }
        Ok(Self { path: path.to_owned(), document, key })
    }

    pub(crate) fn text(&self) -> String {
        self.document.text()
    }

    /// In the order of the file.
    pub(crate) fn all(&self) -> Map<String, Value> {
        match self.document.get(&[self.key]) {
            Some(Value::Object(servers)) => servers,
            _ => Map::new(),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        self.document.get(&[self.key, name])
    }

    /// The server of this name, or an error with the names that are near.
    pub(crate) fn known(&self, name: &str) -> Result<Value, OwnConfigError> {
        self.get(name).ok_or_else(|| {
            let all = self.all();
            let near = did_you_mean(name, all.keys().map(String::as_str));
            let file = self.path.display();
            OwnConfigError::Usage(format!("there is no server `{name}` in {file}{near}"))
        })
    }

    pub(crate) fn set(&mut self, name: &str, entry: &Value) -> Result<(), OwnConfigError> {
        self.set_at(&[self.key, name], entry)
    }

    fn remove(&mut self, name: &str) -> Result<(), OwnConfigError> {
        self.known(name)?;
        self.remove_at(&[self.key, name])
    }

    /// The lists of presets and clients that name this server or tools of it: where, and which entry.
    pub(crate) fn references(&self, name: &str) -> Vec<(Vec<String>, String)> {
        let mut found = Vec::new();
        let mut look = |path: Vec<String>, list: &Value| {
            let items = list.as_array().into_iter().flatten().filter_map(Value::as_str);
            let of_it =
                items.filter(|item| self.tool(item).is_ok_and(|(server, _)| server == name));
            found.extend(of_it.map(|item| (path.clone(), item.to_owned())));
        };
        let members = |key: &str| match self.document.get(&[key]) {
            Some(Value::Object(members)) => members,
            _ => Map::new(),
        };
        for (preset, list) in &members("presets") {
            look(vec!["presets".to_owned(), preset.clone()], list);
        }
        for (client, rules) in &members("clients") {
            if let Some(list) = rules.get("hiddenTools") {
                let path = ["clients", client.as_str(), "hiddenTools"];
                look(path.map(str::to_owned).to_vec(), list);
            }
        }
        found
    }

    /// Takes a server out, and out of the lists that name it: they would be wrong without it.
    pub(crate) fn remove_everywhere(&mut self, name: &str) -> Result<(), OwnConfigError> {
        for (path, item) in self.references(name) {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            let is_last = self.get_at(&path) == Some(Value::from(vec![item.clone()]));
            // A preset without entries is still one that clients and command lines may name.
            match is_last && path.first() == Some(&"presets") {
                true => self.set_at(&path, &Value::Array(Vec::new()))?,
                false => drop(self.take_from_list(&path, &item)?),
            }
        }
        self.remove(name)
    }

    /// What a member of a server says.
    pub(super) fn member(&self, name: &str, member: &str) -> Option<Value> {
        self.document.get(&[self.key, name, member])
    }

    /// The path of a member of a server.
    pub(super) fn member_path<'p>(&self, name: &'p str, member: &'p str) -> [&'p str; 3] {
        [self.key, name, member]
    }

    pub(super) fn get_at(&self, path: &[&str]) -> Option<Value> {
        self.document.get(path)
    }

    pub(super) fn set_at(&mut self, path: &[&str], value: &Value) -> Result<(), OwnConfigError> {
        let set = self.document.set(path, value);
        set.map_err(|problem| OwnConfigError::document(&self.path, problem))
    }

    pub(super) fn remove_at(&mut self, path: &[&str]) -> Result<(), OwnConfigError> {
        let removed = self.document.remove(path);
        removed.map_err(|problem| OwnConfigError::document(&self.path, problem))
    }

    /// Adds a text to the list at `path`, which is made if it is not there. False: it is in it already.
    pub(super) fn add_to_list(
        &mut self,
        path: &[&str],
        item: &str,
    ) -> Result<bool, OwnConfigError> {
        let mut items = match self.get_at(path) {
            None => Vec::new(),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(self.not_a_list(path)),
        };
        if items.iter().any(|known| known.as_str() == Some(item)) {
            return Ok(false);
        }
        if let Some(edited) = append(&self.document.text(), path, item) {
            return self.replace(&edited).map(|()| true);
        }
        items.push(item.into());
        self.set_at(path, &Value::Array(items)).map(|()| true)
    }

    /// Takes a text out of the list at `path`, and the list if nothing is left. False: it is not in it.
    pub(super) fn take_from_list(
        &mut self,
        path: &[&str],
        item: &str,
    ) -> Result<bool, OwnConfigError> {
        let Some(Value::Array(mut items)) = self.get_at(path) else { return Ok(false) };
        let mut changed = false;
        while items.iter().any(|known| known.as_str() == Some(item)) {
            match take(&self.document.text(), path, item) {
                Some(edited) => self.replace(&edited)?,
                None => self.remove_at(path)?,
            }
            changed = true;
            let Some(Value::Array(left)) = self.get_at(path) else { break };
            items = left;
        }
        Ok(changed)
    }

    fn replace(&mut self, text: &str) -> Result<(), OwnConfigError> {
        let parsed = Document::parse(text, COMMENTED);
        self.document = parsed.map_err(|problem| OwnConfigError::document(&self.path, problem))?;
        Ok(())
    }

    fn not_a_list(&self, path: &[&str]) -> OwnConfigError {
        let (file, key) = (self.path.display(), path.join("."));
        OwnConfigError::Usage(format!("{file}: `{key}` is not a list; mend it first"))
    }

    /// The server and the tool that a name means; no tool: the whole server.
    pub(crate) fn tool<'n>(
        &self,
        name: &'n str,
    ) -> Result<(String, Option<&'n str>), OwnConfigError> {
        let all = self.all();
        if all.contains_key(name) {
            return Ok((name.to_owned(), None));
        }
        // The longest key: `a:b` may be a server of its own beside `a`.
        let parts = all.keys().filter_map(|key| {
            let rest = name.strip_prefix(key.as_str())?;
            let tool = SEPARATORS.iter().find_map(|separator| rest.strip_prefix(separator))?;
            (!tool.is_empty()).then_some((key, tool))
        });
        let found = parts.max_by_key(|(key, _)| key.len());
        found.map(|(key, tool)| (key.clone(), Some(tool))).ok_or_else(|| {
            let first = SEPARATORS.iter().filter_map(|separator| name.find(separator)).min();
            let server = name.get(..first.unwrap_or(name.len())).unwrap_or(name);
            let near = did_you_mean(server, all.keys().map(String::as_str));
            OwnConfigError::Usage(format!(
                "`{name}` is no tool of a server in {}{near}; write SERVER:TOOL",
                self.path.display()
            ))
        })
    }

    /// What the server calls the tool that the config may have given another name.
    pub(crate) fn original_name(&self, server: &str, tool: &str) -> String {
        let exposed = self.member(server, "exposedTools");
        let mut exposed = exposed.as_ref().and_then(Value::as_array).into_iter().flatten();
        let renamed =
            exposed.find(|item| item.get("exposed").and_then(Value::as_str) == Some(tool));
        let original = renamed.and_then(|item| item.get("original")?.as_str());
        original.unwrap_or(tool).to_owned()
    }

    /// Is this the name of a custom tool?
    pub(crate) fn has_custom_tool(&self, name: &str) -> bool {
        self.document.get(&["tools", name]).is_some()
    }
}

/// Does the name of a tool stand for several?
pub(crate) fn is_pattern(tool: &str) -> bool {
    tool.contains('*')
}
