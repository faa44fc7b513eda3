//! One server in the words of a client: the way back from `read`.

use serde_json::{Map, Value};

use crate::import::owner::Owner;
use crate::import::read::number;
use crate::import::variables::{only_reference, theirs};

type Entry = Map<String, Value>;

/// The client's entry and what it cannot say; or why the client cannot have this server.
pub(super) fn write(
    owner: Owner,
    name: &str,
    server: &Entry,
) -> Result<(Entry, Vec<String>), String> {
    if owner == Owner::Trunkline {
        return Ok((server.clone(), Vec::new()));
    }
    let mut writing = Writing { owner, server, made: Map::new(), notes: Vec::new() };
    if server.contains_key("command") {
        writing.command(name);
    } else if server.contains_key("url") {
        writing.address(name)?;
    } else {
        return Err("has neither a command nor an address".to_owned());
    }
    writing.switches();
    writing.own();
    Ok((writing.made, writing.notes))
}

struct Writing<'w> {
    owner: Owner,
    server: &'w Entry,
    made: Entry,
    notes: Vec<String>,
}

impl Writing<'_> {
    fn command(&mut self, name: &str) {
        let owner = self.owner;
        match owner {
            Owner::ClaudeCode | Owner::VsCode | Owner::Cline => self.put("type", "stdio".into()),
            Owner::Goose => {
                self.put("type", "stdio".into());
                self.put("name", name.into());
            }
            _ => {}
        }
        let command = self.text("command");
        self.put(if owner == Owner::Goose { "cmd" } else { "command" }, command.into());
        if let Some(args) = self.server.get("args").and_then(Value::as_array) {
            let args: Vec<Value> =
                args.iter().filter_map(Value::as_str).map(|arg| self.theirs(arg).into()).collect();
            self.put("args", args.into());
        }
        self.env();
        let knows_cwd =
            matches!(owner, Owner::VsCode | Owner::Codex | Owner::Gemini | Owner::Cline);
        match self.server.contains_key("cwd") {
            true if knows_cwd => {
                let cwd = self.text("cwd");
                self.put("cwd", cwd.into());
            }
            true => self.notes.push(format!("{} cannot set the folder (`cwd`)", owner.title())),
            false => {}
        }
    }

    /// Codex and Goose name variables instead of referring to them.
    fn env(&mut self) {
        let pairs = self.server.get("env").and_then(Value::as_object);
        let pairs: Vec<(String, Value)> = pairs
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let (mut env, mut named) = (Map::new(), Vec::new());
        for (name, value) in pairs {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let by_name = matches!(self.owner, Owner::Codex | Owner::Goose);
            if by_name && only_reference(&text) == Some(&name) {
                named.push(Value::from(name));
            } else {
                let text = self.theirs(&text);
                env.insert(name, text.into());
            }
        }
        if !env.is_empty() {
            self.put(if self.owner == Owner::Goose { "envs" } else { "env" }, env.into());
        }
        if !named.is_empty() {
            let key = if self.owner == Owner::Goose { "env_keys" } else { "env_vars" };
            self.put(key, named.into());
        }
    }

    fn address(&mut self, name: &str) -> Result<(), String> {
        let declared = self.server.get("type").and_then(Value::as_str);
        let hint = self.server.get("transportType").and_then(Value::as_str);
        let sse = declared == Some("sse");
        let (kind, key) = match self.owner {
            Owner::ClaudeDesktop => {
                return Err("Claude Desktop's file takes commands only".to_owned());
            }
            Owner::Goose if sse => return Err("Goose does not speak SSE any more".to_owned()),
            Owner::Goose => (Some("streamable_http"), "uri"),
            Owner::ClaudeCode | Owner::VsCode => (Some(if sse { "sse" } else { "http" }), "url"),
            Owner::Cline => match (sse, declared, hint) {
                (_, None, Some("sse")) => (None, "url"),
                (true, ..) => (Some("sse"), "url"),
                _ => (Some("streamableHttp"), "url"),
            },
            Owner::Gemini if sse || (declared.is_none() && hint == Some("sse")) => (None, "url"),
            Owner::Gemini => (None, "httpUrl"),
            Owner::Windsurf => (None, "serverUrl"),
            _ => (None, "url"),
        };
        if let Some(kind) = kind {
            self.put("type", kind.into());
        }
        if self.owner == Owner::Goose {
            self.put("name", name.into());
        }
        let url = self.text("url");
        self.put(key, url.into());
        self.headers();
        Ok(())
    }

    fn headers(&mut self) {
        let pairs = self.server.get("headers").and_then(Value::as_object);
        let pairs: Vec<(String, String)> = pairs
            .into_iter()
            .flatten()
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect();
        let (mut headers, mut named) = (Map::new(), Map::new());
        for (name, text) in pairs {
            let bearer = text.strip_prefix("Bearer ").and_then(only_reference);
            let is_bearer = name.eq_ignore_ascii_case("Authorization") && bearer.is_some();
            match (self.owner, only_reference(&text)) {
                (Owner::Codex, _) if is_bearer => {
                    self.put("bearer_token_env_var", bearer.unwrap_or_default().into());
                }
                (Owner::Codex, Some(variable)) => drop(named.insert(name, variable.into())),
                _ => {
                    let text = self.theirs(&text);
                    headers.insert(name, text.into());
                }
            }
        }
        if !headers.is_empty() {
            let key = if self.owner == Owner::Codex { "http_headers" } else { "headers" };
            self.put(key, headers.into());
        }
        if !named.is_empty() {
            self.put("env_http_headers", named.into());
        }
    }

    fn switches(&mut self) {
        let off = self.server.get("disabled") == Some(&Value::Bool(true));
        match self.owner {
            Owner::Goose => self.put("enabled", (!off).into()),
            Owner::Zed | Owner::Codex if off => self.put("enabled", false.into()),
            Owner::Windsurf | Owner::Cline if off => self.put("disabled", true.into()),
            _ if off => self.notes.push(format!(
                "{} cannot switch a server off in its file; this one is off in Trunkline",
                self.owner.title()
            )),
            _ => {}
        }
        let (shown, hidden) = match self.owner {
            Owner::Gemini => (Some("includeTools"), Some("excludeTools")),
            Owner::Codex => (Some("enabled_tools"), Some("disabled_tools")),
            Owner::Goose => (Some("available_tools"), None),
            Owner::Windsurf => (None, Some("disabledTools")),
            _ => (None, None),
        };
        for (ours, theirs) in [("exposedTools", shown), ("hiddenTools", hidden)] {
            match (self.server.get(ours).cloned(), theirs) {
                (Some(tools), Some(theirs)) => self.put(theirs, tools),
                (Some(_), None) => {
                    self.notes.push(format!("{} cannot say `{ours}`", self.owner.title()));
                }
                (None, _) => {}
            }
        }
        self.timeout();
    }

    fn timeout(&mut self) {
        let Some(seconds) = self.server.get("callTimeout").and_then(Value::as_f64) else { return };
        match self.owner {
            Owner::ClaudeCode | Owner::Gemini => {
                self.put("timeout", number((seconds * 1000.0).round()));
            }
            Owner::Codex => self.put("tool_timeout_sec", number(seconds)),
            Owner::Cline | Owner::Zed | Owner::Goose => self.put("timeout", number(seconds)),
            _ => self.notes.push(format!("{} cannot say `callTimeout`", self.owner.title())),
        }
    }

    /// What only this client knows, kept since the import.
    fn own(&mut self) {
        for key in own_keys(self.owner) {
            let is_theirs = |value: &&Value| self.owner != Owner::Codex || is_codex(key, value);
            if let Some(value) = self.server.get(*key).filter(is_theirs).cloned() {
                self.put(key, value);
            }
        }
    }

    fn text(&mut self, key: &str) -> String {
        let text = self.server.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        self.theirs(&text)
    }

    fn theirs(&mut self, text: &str) -> String {
        let said = theirs(self.owner, text);
        self.notes.extend(said.notes);
        said.text
    }

    fn put(&mut self, key: &str, value: Value) {
        self.made.insert(key.to_owned(), value);
    }
}

/// Others have keys of the same names, and Codex refuses what it does not know.
fn is_codex(key: &str, value: &Value) -> bool {
    match key {
        "auth" => value.is_string(),
        "oauth" => value.get("client_id").or_else(|| value.get("callback_port")).is_some(),
        "tools" => value.is_object(),
        _ => true,
    }
}

fn own_keys(owner: Owner) -> &'static [&'static str] {
    match owner {
        Owner::ClaudeCode => &[
            "alwaysLoad",
            "headersHelper",
            "oauth",
            "request_timeout_ms",
            "tools",
            "displayName",
            "toolPermissions",
        ],
        Owner::Cursor => &["envFile", "auth"],
        Owner::VsCode => &["envFile", "dev", "sandboxEnabled", "sandbox", "oauth"],
        Owner::Zed => &["source", "remote", "oauth"],
        Owner::Codex => &[
            "http_headers_helper",
            "startup_timeout_sec",
            "startup_timeout_ms",
            "required",
            "supports_parallel_tool_calls",
            "default_tools_approval_mode",
            "tools",
            "scopes",
            "oauth",
            "oauth_resource",
            "environment_id",
            "auth",
        ],
        Owner::Gemini => &[
            "trust",
            "description",
            "oauth",
            "authProviderType",
            "targetAudience",
            "targetServiceAccount",
        ],
        Owner::Goose => &["name", "display_name", "description", "bundled"],
        Owner::Cline => &["autoApprove", "oauth", "metadata", "remoteConfigured"],
        Owner::Trunkline | Owner::ClaudeDesktop | Owner::Windsurf => &[],
    }
}
