//! Our entry in a client's file: what it must say, and whether an existing one is ours.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use trunkline_catalog::client::{Client, ENTRY, EntryWords, EnvPolicy, Literal};

use super::error::InstallError;
use super::request::{EntryTarget, InstallRequest};

#[derive(Debug)]
pub(crate) struct OurEntry {
    pub(super) client: Client,
    pub(super) name: String,
    command: String,
    config: String,
    variables: Vec<String>,
}

/// One value inside our entry.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Setting {
    pub(super) path: Vec<String>,
    pub(super) value: Value,
}

impl OurEntry {
    pub(crate) fn new(request: &InstallRequest) -> Result<Self, InstallError> {
        let folders = &request.folders;
        let mut variables = request.variables.clone();
        variables.sort();
        variables.dedup();
        Ok(Self {
            client: request.target.client,
            name: request.target.entry_name()?,
            command: as_text(folders.absolute(&request.executable))?,
            config: as_text(folders.absolute(&request.config))?,
            variables,
        })
    }

    /// What the client will run.
    pub(super) fn command_line(&self) -> Vec<String> {
        [vec![self.command.clone()], self.args(&Value::Null)].concat()
    }

    /// The whole entry, for a file that has none.
    pub(super) fn fresh(&self) -> Value {
        let mut entry = Value::Object(Map::new());
        for Setting { path, value } in self.missing(&Value::Null) {
            put(&mut entry, &path, value);
        }
        entry
    }

    /// What has to be set in an entry of ours. Everything else in it, such as an `env` or a timeout the
    /// user wrote, is his.
    pub(super) fn missing(&self, existing: &Value) -> Vec<Setting> {
        let Some(spec) = self.client.config() else { return Vec::new() };
        let words = &spec.entry;
        let mut wanted = Vec::new();
        if let Some(stdio) = words.transport.stdio {
            wanted.push(setting(&["type"], stdio.into()));
        }
        if words.named {
            wanted.push(setting(&["name"], self.name.as_str().into()));
        }
        wanted.push(setting(&[words.command], self.command.as_str().into()));
        wanted.push(setting(&["args"], self.args(existing).into()));
        for (key, value) in words.defaults.iter().filter(|(key, _)| existing.get(key).is_none()) {
            let value = match value {
                Literal::Flag(flag) => Value::from(*flag),
                Literal::Text(text) => Value::from(*text),
            };
            wanted.push(setting(&[key], value));
        }
        match spec.env_policy {
            EnvPolicy::All => {}
            EnvPolicy::Referred => wanted.extend(self.referred_variables(words, existing)),
            EnvPolicy::Named => wanted.extend(self.named_variables(words, existing)),
        }
        wanted.retain(|Setting { path, value }| at(existing, path) != Some(value));
        wanted
    }

    /// Whether the entry starts Trunkline, this one or another.
    pub(super) fn is_ours(&self, existing: &Value) -> bool {
        started(existing) == Some(&self.command) || starts_trunkline(existing)
    }

    /// Ours first, then the flags the user added.
    fn args(&self, existing: &Value) -> Vec<String> {
        let ours = ["--config", &self.config, "--for", self.client.id()];
        let there = existing.get("args").and_then(Value::as_array);
        let there = there.into_iter().flatten().filter_map(Value::as_str);
        ours.into_iter().chain(without_ours(there)).map(str::to_owned).collect()
    }

    fn referred_variables(&self, words: &EntryWords, existing: &Value) -> Vec<Setting> {
        let is_unset =
            |name: &&String| at(existing, &[words.env.to_owned(), (*name).clone()]).is_none();
        let unset = self.variables.iter().filter(is_unset);
        unset.map(|name| setting(&[words.env, name], format!("${name}").into())).collect()
    }

    fn named_variables(&self, words: &EntryWords, existing: &Value) -> Option<Setting> {
        let key = words.named_variables.as_ref()?.key;
        let there = existing.get(key).and_then(Value::as_array);
        let mut names = there.cloned().unwrap_or_default();
        for name in &self.variables {
            if !names.iter().any(|there| there == name) {
                names.push(name.as_str().into());
            }
        }
        (!names.is_empty()).then(|| setting(&[key], names.into()))
    }
}

/// The command that an entry of a client's file starts; Cline has it one level down as well.
pub(crate) fn started(entry: &Value) -> Option<&str> {
    let deeper = entry.get("transport").unwrap_or(&Value::Null);
    let mut keys = Client::with_config().map(|(_, spec)| spec.entry.command);
    let found = keys.find_map(|key| entry.get(key)?.as_str());
    found.or_else(|| deeper.get("command")?.as_str())
}

/// Whether an entry of a client's file starts this program, by its name.
pub(crate) fn starts_trunkline(entry: &Value) -> bool {
    let command = started(entry).unwrap_or_default();
    // also a Windows path, read on any system
    let program = command.rsplit(['/', '\\']).next().unwrap_or(command);
    matches!(program, "trunkline" | "trunkline.exe")
}

/// Whether an entry starts this program directly or through npm. One that goes through npm is not ours
/// to rewrite, but no server to put behind Trunkline either.
pub(crate) fn leads_to_trunkline(entry: &Value) -> bool {
    let runner = started(entry).unwrap_or_default();
    let runner = runner.rsplit(['/', '\\']).next().unwrap_or(runner);
    let args = entry.get("args").and_then(Value::as_array).into_iter().flatten();
    let mut args = args.filter_map(Value::as_str).filter(|arg| !arg.starts_with('-'));
    let package = match runner.trim_end_matches(".cmd") {
        "npx" | "bunx" | "pnpx" => args.next(),
        "npm" | "pnpm" | "yarn" => args.nth(1),
        _ => None,
    };
    let is_ours = |package: &str| package.split('@').next() == Some("trunkline");
    starts_trunkline(entry) || package.is_some_and(is_ours)
}

fn without_ours<'a>(args: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut kept = Vec::new();
    let mut skip_value = false;
    for arg in args {
        let is_value = std::mem::replace(&mut skip_value, matches!(arg, "--config" | "--for"));
        let is_ours = skip_value || arg.starts_with("--config=") || arg.starts_with("--for=");
        if !is_value && !is_ours {
            kept.push(arg);
        }
    }
    kept
}

fn setting(path: &[&str], value: Value) -> Setting {
    Setting { path: path.iter().map(|&key| key.to_owned()).collect(), value }
}

fn at<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

fn put(object: &mut Value, path: &[String], value: Value) {
    let (Some((key, inner)), Value::Object(members)) = (path.split_first(), object) else {
        return;
    };
    if inner.is_empty() {
        members.insert(key.clone(), value);
    } else {
        let next = members.entry(key.clone()).or_insert_with(|| Value::Object(Map::new()));
        put(next, inner, value);
    }
}

impl EntryTarget {
    /// The entry's name, if it is one that clients can carry.
    pub(super) fn entry_name(&self) -> Result<String, InstallError> {
        checked_name(self.client, self.name.as_deref().unwrap_or(ENTRY))
    }
}

/// The name becomes part of tool names and of permission rules in most clients.
fn checked_name(client: Client, name: &str) -> Result<String, InstallError> {
    let problem = |problem| InstallError::EntryName { name: name.to_owned(), problem };
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) {
        return Err(problem("may only have letters, digits, `_` and `-`".to_owned()));
    }
    if client.config().is_some_and(|spec| spec.reserved.contains(&name)) {
        return Err(problem(format!("is reserved by {}", client.title())));
    }
    Ok(name.to_owned())
}

fn as_text(path: PathBuf) -> Result<String, InstallError> {
    let text = Path::new(&path).to_str().map(str::to_owned);
    text.ok_or(InstallError::PathNotText { path })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(client: Client, variables: &[&str]) -> OurEntry {
        OurEntry {
            client,
            name: "trunkline".to_owned(),
            command: "/bin/trunkline".to_owned(),
            config: "/etc/mcp.json".to_owned(),
            variables: variables.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    #[test]
    fn each_client_gets_the_entry_it_understands() {
        let args = |client: &str| json!(["--config", "/etc/mcp.json", "--for", client]);
        let plain = |client: &str| json!({"command": "/bin/trunkline", "args": args(client)});
        let typed =
            |client| json!({"type": "stdio", "command": "/bin/trunkline", "args": args(client)});
        let table = [
            (Client::ClaudeDesktop, plain("claude-desktop")),
            (Client::ClaudeCode, typed("claude-code")),
            (Client::Cursor, plain("cursor")),
            (Client::VsCode, typed("vscode")),
            (Client::Codex, plain("codex")),
            (Client::Gemini, plain("gemini")),
            (Client::Zed, plain("zed")),
            (Client::Windsurf, plain("windsurf")),
            (Client::Cline, typed("cline")),
        ];
        for (client, expected) in table {
            assert_eq!(entry(client, &[]).fresh(), expected, "{client}");
        }
    }

    #[test]
    fn variables_are_named_where_the_client_would_hold_them_back() {
        let named = ["B", "A"];
        assert_eq!(entry(Client::Gemini, &named).fresh()["env"], json!({"B": "$B", "A": "$A"}));
        assert_eq!(entry(Client::Codex, &named).fresh()["env_vars"], json!(["B", "A"]));
        assert_eq!(entry(Client::Cursor, &named).fresh().get("env"), None);
    }

    #[test]
    fn what_the_user_wrote_into_our_entry_stays_his() {
        let existing = json!({
            "command": "/old/trunkline",
            "args": ["--restart", "--config", "/old.json", "--for=cursor", "--debug"],
            "env": {"A": "mine"}, "timeout": 5,
        });
        let missing = entry(Client::Gemini, &["A", "B"]).missing(&existing);
        let args = json!(["--config", "/etc/mcp.json", "--for", "gemini", "--restart", "--debug"]);
        assert_eq!(
            missing,
            [
                setting(&["command"], "/bin/trunkline".into()),
                setting(&["args"], args),
                setting(&["env", "B"], "$B".into()),
            ]
        );
    }

    #[test]
    fn an_entry_is_ours_when_it_starts_trunkline() {
        let table = [
            (json!({"command": "/x/trunkline"}), true),
            (json!({"command": "trunkline", "args": []}), true),
            (json!({"command": r"C:\tools\trunkline.exe"}), true),
            (json!({"cmd": "/x/trunkline"}), true),
            (json!({"transport": {"type": "stdio", "command": "/x/trunkline"}}), true),
            (json!({"command": "npx", "args": ["trunkline"]}), false),
            (json!({"command": "/x/not-trunkline"}), false),
            (json!({"url": "http://127.0.0.1:3006/mcp"}), false),
            (json!(null), false),
        ];
        for (existing, expected) in table {
            assert_eq!(entry(Client::Cursor, &[]).is_ours(&existing), expected, "{existing}");
        }
    }

    #[test]
    fn an_entry_leads_to_trunkline_through_npm_as_well() {
        let table = [
            (json!({"command": "/x/trunkline"}), true),
            (json!({"command": "npx", "args": ["-y", "trunkline@0.1", "--config", "x"]}), true),
            (json!({"cmd": "/usr/bin/npx", "args": ["trunkline"]}), true),
            (json!({"command": "pnpm", "args": ["dlx", "trunkline"]}), true),
            (json!({"command": "npx", "args": ["-y", "other", "trunkline"]}), false),
            (json!({"command": "npx", "args": ["trunkline-x"]}), false),
            (json!({"command": "echo", "args": ["trunkline"]}), false),
        ];
        for (entry, expected) in table {
            assert_eq!(leads_to_trunkline(&entry), expected, "{entry}");
        }
    }

    #[test]
    fn names_that_clients_cannot_carry_are_refused() {
        for name in ["", "a b", "a.b", "ä"] {
            assert!(checked_name(Client::Cursor, name).is_err(), "{name}");
        }
        assert!(checked_name(Client::ClaudeCode, "workspace").is_err());
        assert!(checked_name(Client::Cursor, "workspace").is_ok());
    }
}
