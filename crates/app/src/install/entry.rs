//! Our entry in a client's file: what it must say, and whether an existing one is ours.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use trunkline_catalog::client::{Client, ENTRY, EntryWords, EnvPolicy, Literal};

use super::error::InstallError;
use super::request::{EntryTarget, InstallRequest, Launch};
use super::wrapper::{program_name, unwrapped};

#[derive(Debug)]
pub(crate) struct OurEntry {
    pub(super) client: Client,
    pub(super) name: String,
    way: EntryWay,
}

/// How the client comes to Trunkline.
#[derive(Debug)]
enum EntryWay {
    Command {
        command: String,
        config: String,
        variables: Vec<String>,
        /// Flags that `setup` was asked to write.
        flags: Vec<String>,
    },
    /// Members of an entry for a `serve` that runs, in the client's words.
    Address { members: Map<String, Value>, url: String },
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
        let way = match &request.launch {
            Launch::Command { config, variables, flags } => {
                let mut variables = variables.clone();
                variables.extend(held_back(request));
                variables.sort();
                variables.dedup();
                EntryWay::Command {
                    command: as_text(folders.absolute(&request.executable))?,
                    config: as_text(folders.absolute(config))?,
                    variables,
                    flags: flags.clone(),
                }
            }
            Launch::Address { members, url, .. } => {
                EntryWay::Address { members: members.clone(), url: url.clone() }
            }
        };
        Ok(Self { client: request.target.client, name: request.target.entry_name()?, way })
    }

    /// What the client will run or connect to.
    pub(super) fn leads_to(&self) -> Vec<String> {
        match &self.way {
            EntryWay::Command { command, .. } => {
                [vec![command.clone()], self.args(&Value::Null)].concat()
            }
            EntryWay::Address { url, .. } => vec![url.clone()],
        }
    }

    pub(super) fn is_address(&self) -> bool {
        matches!(self.way, EntryWay::Address { .. })
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
        let mut wanted = match &self.way {
            EntryWay::Command { command, variables, .. } => {
                let mut wanted = self.command_line(words, command, existing);
                match spec.env_policy {
                    EnvPolicy::All => {}
                    EnvPolicy::Referred => {
                        wanted.extend(referred_variables(words, variables, existing));
                    }
                    EnvPolicy::Named(_) => {
                        wanted.extend(named_variables(words, variables, existing));
                    }
                }
                wanted
            }
            EntryWay::Address { members, .. } => address_settings(members),
        };
        let defaults = defaults(words).into_iter();
        wanted.extend(defaults.filter(|it| at(existing, &it.path).is_none()));
        wanted.retain(|Setting { path, value }| at(existing, path) != Some(value));
        wanted
    }

    /// Whether the entry leads to Trunkline, this one or another.
    pub(super) fn is_ours(&self, existing: &Value) -> bool {
        let is_equal = match &self.way {
            EntryWay::Command { command, .. } => started(existing) == Some(command),
            EntryWay::Address { members, .. } => {
                let ours = address_in(members);
                ours.is_some() && existing.as_object().and_then(address_in) == ours
            }
        };
        is_equal || is_our_entry(existing)
    }

    /// Whether an entry of ours starts a command where this one has an address, or the other way round.
    /// Clients refuse an entry that has both.
    pub(super) fn is_of_other_way(&self, existing: &Value) -> bool {
        started(existing).is_some() == self.is_address()
    }

    fn command_line(&self, words: &EntryWords, command: &str, existing: &Value) -> Vec<Setting> {
        let mut wanted = Vec::new();
        if let Some(stdio) = words.transport.stdio {
            wanted.push(setting(&["type"], stdio.into()));
        }
        if words.named {
            wanted.push(setting(&["name"], self.name.as_str().into()));
        }
        let args = self.args(existing);
        if words.command_is_list {
            let line = [vec![command.to_owned()], args].concat();
            wanted.push(setting(&[words.command], line.into()));
        } else {
            wanted.push(setting(&[words.command], command.into()));
            wanted.push(setting(&["args"], args.into()));
        }
        wanted
    }

    /// Ours first, then the flags the user added.
    fn args(&self, existing: &Value) -> Vec<String> {
        let EntryWay::Command { config, flags, .. } = &self.way else { return Vec::new() };
        let ours = ["--config", config, "--for", self.client.id()];
        let ours = ours.into_iter().chain(flags.iter().map(String::as_str));
        // A flag that is there twice is an error.
        let known = ours.clone().filter(|word| word.starts_with("--")).collect::<Vec<_>>();
        let there = without(&known, arguments(existing));
        ours.chain(there).map(str::to_owned).collect()
    }
}

/// What `install` writes where the user says nothing.
fn defaults(words: &EntryWords) -> Vec<Setting> {
    let defaults = words.defaults.iter().map(|(key, value)| {
        let value = match value {
            Literal::Flag(flag) => Value::from(*flag),
            Literal::Number(number) => Value::from(*number),
            Literal::Text(text) => Value::from(*text),
        };
        setting(&[key], value)
    });
    let all = words.tools.shown.zip(words.tools.all);
    let all = all.map(|(key, all)| setting(&[key], vec![all].into()));
    defaults.chain(all).collect()
}

/// Each header by itself: others in the entry are the user's.
fn address_settings(members: &Map<String, Value>) -> Vec<Setting> {
    let each = members.iter().flat_map(|(key, value)| match value {
        Value::Object(inner) => {
            inner.iter().map(|(name, value)| setting(&[key, name], value.clone())).collect()
        }
        value => vec![setting(&[key], value.clone())],
    });
    each.collect()
}

/// What the client would hold back of what its servers inherit under other clients: without it they would not
/// share servers with those, and some would lack a proxy or a certificate.
fn held_back(request: &InstallRequest) -> Vec<String> {
    let policy = request.target.client.config().map(|spec| spec.env_policy);
    let Some(EnvPolicy::Named(passed)) = policy else { return Vec::new() };
    let inherited = request.folders.inherited.iter();
    inherited.filter(|name| !passed.contains(&name.as_str())).cloned().collect()
}

fn referred_variables(words: &EntryWords, variables: &[String], existing: &Value) -> Vec<Setting> {
    let is_unset =
        |name: &&String| at(existing, &[words.env.to_owned(), (*name).clone()]).is_none();
    let unset = variables.iter().filter(is_unset);
    unset.map(|name| setting(&[words.env, name], format!("${name}").into())).collect()
}

fn named_variables(words: &EntryWords, variables: &[String], existing: &Value) -> Option<Setting> {
    let key = words.named_variables.as_ref()?.key;
    let there = existing.get(key).and_then(Value::as_array);
    let mut names = there.cloned().unwrap_or_default();
    for name in variables {
        if !names.iter().any(|there| there == name) {
            names.push(name.as_str().into());
        }
    }
    (!names.is_empty()).then(|| setting(&[key], names.into()))
}

/// The command that an entry of a client's file starts; Cline has it one level down as well, and opencode
/// first in a list.
pub(crate) fn started(entry: &Value) -> Option<&str> {
    let deeper = entry.get("transport").unwrap_or(&Value::Null);
    let mut keys = Client::with_config().map(|(_, spec)| spec.entry.command);
    let found = keys.find_map(|key| command_word(entry.get(key)?));
    found.or_else(|| command_word(deeper.get("command")?))
}

fn command_word(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value.get(0)?.as_str())
}

/// The arguments of an entry's command.
pub(crate) fn arguments(entry: &Value) -> Vec<&str> {
    let listed = entry.get("args").and_then(Value::as_array).map(|args| args.iter());
    let behind = entry.get("command").and_then(Value::as_array).map(|line| line.iter());
    let args = listed.into_iter().flatten().chain(behind.into_iter().flatten().skip(1));
    args.filter_map(Value::as_str).collect()
}

/// The value behind a flag of an entry's command, `--flag VALUE` or `--flag=VALUE`.
pub(crate) fn flag_value<'e>(entry: &'e Value, flag: &str) -> Option<&'e str> {
    let args = arguments(entry);
    let joined = |arg: &&'e str| arg.strip_prefix(flag)?.strip_prefix('=');
    match args.iter().position(|arg| *arg == flag) {
        Some(at) => args.get(at + 1).copied(),
        None => args.iter().find_map(joined),
    }
}

/// Whether an entry of a client's file starts this program, by its name.
pub(crate) fn starts_trunkline(entry: &Value) -> bool {
    let command = started(entry).unwrap_or_default();
    program_name(command) == "trunkline"
}

/// Whether an entry is one that `install` writes: it starts Trunkline, or has the address of a `serve`.
pub(crate) fn is_our_entry(entry: &Value) -> bool {
    starts_trunkline(entry) || has_serve_address(entry)
}

/// Whether an entry has the address `…/mcp/for/CLIENT`.
fn has_serve_address(entry: &Value) -> bool {
    let url = entry.as_object().and_then(address_in).unwrap_or_default();
    let path = url.split(['?', '#']).next().unwrap_or(url);
    path.rsplit_once("/mcp/for/").is_some_and(|(_, word)| word.parse::<Client>().is_ok())
}

/// The address in an entry of any client.
fn address_in(entry: &Map<String, Value>) -> Option<&str> {
    let mut words = Client::with_config().filter_map(|(_, spec)| spec.entry.remote.as_ref());
    words.find_map(|words| {
        let keys = [words.http_url, Some(words.url)];
        keys.into_iter().flatten().find_map(|key| entry.get(key)?.as_str())
    })
}

/// Whether an entry starts this program directly or through npm, or connects to a `serve`. One that goes
/// through npm is not ours to rewrite, but no server to put behind Trunkline either.
pub(crate) fn leads_to_trunkline(entry: &Value) -> bool {
    let (command, args) = unwrapped(started(entry).unwrap_or_default(), arguments(entry));
    let runner = program_name(command);
    let mut args = args.into_iter().filter(|arg| !arg.starts_with('-'));
    let package = match runner.as_str() {
        "npx" | "bunx" | "pnpx" => args.next(),
        "npm" | "pnpm" | "yarn" => args.nth(1),
        _ => None,
    };
    let is_ours = |package: &str| package.split('@').next() == Some("trunkline");
    runner == "trunkline" || has_serve_address(entry) || package.is_some_and(is_ours)
}

/// The arguments without these flags and their values.
fn without<'a>(flags: &[&str], args: Vec<&'a str>) -> Vec<&'a str> {
    let mut kept = Vec::new();
    let mut skip_value = false;
    for arg in args {
        let is_value = std::mem::replace(&mut skip_value, flags.contains(&arg));
        let name = arg.split_once('=').map_or(arg, |(name, _)| name);
        if !is_value && !flags.contains(&name) {
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
    use trunkline_catalog::client::System;

    use super::*;
    use crate::install::request::UserFolders;

    fn entry(client: Client, variables: &[&str]) -> OurEntry {
        let way = EntryWay::Command {
            command: "/bin/trunkline".to_owned(),
            config: "/etc/mcp.json".to_owned(),
            variables: variables.iter().map(|&name| name.to_owned()).collect(),
            flags: Vec::new(),
        };
        OurEntry { client, name: "trunkline".to_owned(), way }
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
            (Client::Gemini, plain("gemini")),
            (Client::Zed, plain("zed")),
            (Client::Windsurf, plain("windsurf")),
            (Client::Cline, typed("cline")),
            (Client::Qwen, plain("qwen")),
            (Client::Amp, plain("amp")),
            (Client::Kiro, plain("kiro")),
            (Client::LmStudio, plain("lmstudio")),
            (Client::Continue, typed("continue")),
            (
                Client::Codex,
                json!({"command": "/bin/trunkline", "args": args("codex"),
                    "startup_timeout_sec": 30, "tool_timeout_sec": 600, "required": true}),
            ),
            (
                Client::Copilot,
                json!({"type": "local", "command": "/bin/trunkline", "args": args("copilot"),
                    "tools": ["*"]}),
            ),
            (
                Client::OpenCode,
                json!({"type": "local",
                    "command": ["/bin/trunkline", "--config", "/etc/mcp.json", "--for", "opencode"],
                    "enabled": true, "timeout": 30000}),
            ),
            (
                Client::Crush,
                json!({"type": "stdio", "command": "/bin/trunkline", "args": args("crush"),
                    "timeout": 60}),
            ),
        ];
        for (client, expected) in table {
            assert_eq!(entry(client, &[]).fresh(), expected, "{client}");
        }
    }

    #[test]
    fn what_servers_inherit_is_named_where_the_client_would_hold_it_back() {
        let folders = UserFolders {
            inherited: ["PATH", "HTTPS_PROXY", "XDG_RUNTIME_DIR"].map(str::to_owned).to_vec(),
            ..UserFolders::in_home(System::Linux, Path::new("/home/me"))
        };
        for (client, expected) in [
            (Client::Codex, json!(["A", "HTTPS_PROXY", "XDG_RUNTIME_DIR"])),
            (Client::Cursor, Value::Null),
        ] {
            let target = EntryTarget {
                client,
                name: None,
                project: None,
                file: None,
                dry_run: false,
                force: false,
            };
            let launch = Launch::Command {
                config: "/etc/mcp.json".into(),
                variables: vec!["A".to_owned()],
                flags: Vec::new(),
            };
            let request = InstallRequest {
                target,
                launch,
                executable: "/bin/trunkline".into(),
                folders: folders.clone(),
                now: std::time::UNIX_EPOCH,
            };
            let entry = OurEntry::new(&request).unwrap().fresh();
            assert_eq!(entry.get("env_vars").cloned().unwrap_or_default(), expected, "{client:?}");
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
    fn a_flag_is_never_there_twice() {
        let mut entry = entry(Client::Cursor, &[]);
        let EntryWay::Command { flags, .. } = &mut entry.way else { panic!("a command") };
        *flags = vec!["--expose".to_owned(), "search".to_owned()];
        let ours = ["--config", "/etc/mcp.json", "--for", "cursor", "--expose", "search"];
        for there in [
            json!(["--expose", "full", "--debug"]),
            json!(["--expose=full", "--debug"]),
            json!(["--debug", "--expose", "search"]),
        ] {
            let args = entry.args(&json!({"args": there}));
            assert_eq!(args, [&ours[..], &["--debug"]].concat(), "{there}");
        }
    }

    #[test]
    fn an_entry_is_ours_when_it_starts_trunkline() {
        let table = [
            (json!({"command": "/x/trunkline"}), true),
            (json!({"command": "trunkline", "args": []}), true),
            (json!({"command": r"C:\tools\trunkline.exe"}), true),
            (json!({"command": r"C:\Tools\Trunkline.EXE"}), true),
            (json!({"command": "cmd", "args": ["/c", r"C:\tools\trunkline.exe"]}), false),
            (json!({"cmd": "/x/trunkline"}), true),
            (json!({"transport": {"type": "stdio", "command": "/x/trunkline"}}), true),
            (json!({"command": "npx", "args": ["trunkline"]}), false),
            (json!({"command": "/x/not-trunkline"}), false),
            (json!({"command": ["/x/trunkline", "--for", "opencode"]}), true),
            (json!({"command": ["npx", "/x/trunkline"]}), false),
            (json!({"url": "http://127.0.0.1:3006/mcp"}), false),
            (json!({"url": "http://127.0.0.1:3006/mcp/for/cursor"}), true),
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
            (json!({"command": r"C:\nodejs\npx.CMD", "args": ["trunkline"]}), true),
            (json!({"command": "cmd", "args": ["/c", "npx", "-y", "trunkline"]}), true),
            (json!({"command": "cmd", "args": ["/c", r"C:\tools\trunkline.exe"]}), true),
            (json!({"command": "cmd", "args": ["/c", "npx", "-y", "git"]}), false),
            (json!({"command": ["npx", "-y", "trunkline"]}), true),
            (json!({"httpUrl": "http://h:3006/mcp/for/gemini"}), true),
            (json!({"uri": "https://h/mcp/for/zed?x=1"}), true),
            (json!({"url": "https://h/mcp/for/nobody"}), false),
            (json!({"url": "https://h/mcp"}), false),
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
