//! The rules of the whole file: where the servers are, their keys, what else may stand there.

use super::checker::{ConfigChecker, find};
use super::custom::{Placed, Servers};
use super::keys::{TOP, TOP_SIMPLE};
use super::limit_rules::SharedLimits;
use super::limits::LimitsReader;
use super::near::nearest;
use super::path::Path;
use super::presets::Nameable;
use super::problem::Problem;
use super::read::ConfigReader;
use super::scanning::scan_policy;
use super::secrets::Secrets;
use super::spec::{Rules, ServerSpec, TextRules, Transport};
use crate::jsonc::{JsonMember, Node, Value};
use crate::place::Span;

/// What a file says.
#[derive(Default)]
pub(crate) struct File {
    pub(crate) servers: Vec<ServerSpec>,
    pub(crate) custom: Vec<Placed>,
    /// The names of its presets.
    pub(crate) presets: Vec<String>,
    /// What callers and addresses may have.
    pub(crate) limits: SharedLimits,
    /// Where policies are.
    pub(crate) policies: Option<String>,
}

impl ConfigChecker<'_> {
    pub(crate) fn file(&mut self, root: &Node) -> File {
        let at = Path::root();
        let Value::Object(members) = &root.value else {
            self.wrong_type(root, &at, "the config", "an object");
            return File::default();
        };
        self.duplicates(members, &at);
        let full = self.rules == Rules::Full;
        let keys = if full { TOP } else { TOP_SIMPLE };
        let vs_code = find(members, "servers").filter(|_| full);
        let standard = find(members, "mcpServers");
        let Some(node) = standard.or(vs_code) else {
            let explained = self.no_servers(root, members);
            self.other_keys(members, &at, &keys, explained);
            return File::default();
        };
        if let (Some(standard), Some(vs_code)) = (standard, vs_code) {
            self.exclusive("the file", standard, vs_code, &at);
        }
        self.other_keys(members, &at, &keys, None);
        let mut servers = self.servers(&node.value, &at.key(&node.key.value));
        let run = self.run_rules(members, &at);
        servers.iter_mut().for_each(|server| server.run = server.run.or(run));
        let on_change = self.on_change(members, &at);
        let mut reader = ConfigReader { check: self, secrets: Secrets::new(), disabled: false };
        let sandbox = reader.sandbox(members, &at);
        let scan = scan_policy(self, members, &at);
        for TextRules { on_change: own, scan: policy } in servers.iter_mut().map(|it| &mut it.texts)
        {
            *own = own.or(on_change);
            *policy = std::mem::take(policy).or(&scan);
        }
        for server in
            servers.iter_mut().filter(|it| matches!(it.transport, Transport::Stdio { .. }))
        {
            server.sandbox = server.sandbox.take().or_else(|| sandbox.clone());
        }
        if !full {
            return File { servers, ..File::default() };
        }
        let tools = find(members, "tools");
        let known = Servers { keys: keys_of(&node.value), specs: &servers };
        let custom = tools.map(|custom| self.custom_tools(custom, &known));
        let mut custom = custom.unwrap_or_default();
        let nameable = Nameable {
            servers: keys_of(&node.value),
            custom: tools.map(|tools| keys_of(&tools.value)).unwrap_or_default(),
        };
        let presets = self.selections(members, &nameable, &mut servers, &mut custom);
        let limits = LimitsReader(self).shared(members, &at);
        let mut reader = ConfigReader { check: self, secrets: Secrets::new(), disabled: false };
        let policies = find(members, "policies").and_then(|named| reader.filled(named, &at));
        File { servers, custom, presets, limits, policies }
    }

    fn servers(&mut self, node: &Node, at: &Path) -> Vec<ServerSpec> {
        let Value::Object(members) = &node.value else {
            self.wrong_type(node, at, &name_of(at), "an object");
            return Vec::new();
        };
        if members.is_empty() {
            let message = format!("{} is empty: there is no server to start", name_of(at));
            self.report(Problem::warning(at, node.span, message));
        }
        self.duplicates(members, at);
        members.iter().filter_map(|member| self.keyed_server(member, at)).collect()
    }

    fn keyed_server(&mut self, member: &JsonMember, at: &Path) -> Option<ServerSpec> {
        let key = &member.key;
        let at = at.key(&key.value);
        if key.value.is_empty() {
            self.report(Problem::schema(&at, key.span, "a server key must not be empty"));
        } else if key.value.contains(char::is_control) {
            let message = "a server key must not contain control characters";
            self.report(Problem::schema(&at, key.span, message));
        }
        self.server(member, &at)
    }

    /// Reports the missing `mcpServers`; returns the key that explains it, if there is one.
    fn no_servers<'n>(&mut self, root: &Node, members: &'n [JsonMember]) -> Option<&'n str> {
        let (member, help) = match guess(members) {
            Some((member, help)) => (Some(member), help),
            None => (None, "write {\"mcpServers\": {\"NAME\": {\"command\": \"…\"}}}".to_owned()),
        };
        let span = member.map_or(Span::new(root.span.start, root.span.start + 1), |m| m.key.span);
        let path = Path::root().key("mcpServers");
        let problem = Problem::schema(&path, span, "missing required field `mcpServers`");
        self.report(problem.help(help));
        member.map(|member| member.key.value.as_str())
    }
}

fn keys_of(node: &Node) -> Vec<&str> {
    match &node.value {
        Value::Object(members) => members.iter().map(|member| member.key.value.as_str()).collect(),
        _ => Vec::new(),
    }
}

/// The last step of a path as a message says it.
fn name_of(at: &Path) -> String {
    let location = at.location();
    format!("`{}`", location.rsplit('.').next().unwrap_or(location))
}

/// What the author of a file without `mcpServers` probably has there.
fn guess(members: &[JsonMember]) -> Option<(&JsonMember, String)> {
    let rename = |from: &str| format!("`{from}`; rename it to `mcpServers`");
    let misspelt = members.iter().find(|m| nearest(&m.key.value, TOP_SIMPLE.spellings).is_some());
    if let Some(member) = misspelt {
        return Some((member, "did you mean `mcpServers`?".to_owned()));
    }
    let others = [
        ("servers", "this is VS Code's ", "; trunkline without --simple reads it as it is"),
        ("context_servers", "this is Zed's ", ""),
        (
            "mcp",
            "this looks like opencode's or VS Code's ",
            " and put the servers directly under it",
        ),
    ];
    for (key, whose, more) in others {
        if let Some(member) = find(members, key) {
            return Some((member, format!("{whose}{}{more}", rename(key))));
        }
    }
    let looks_like_server = |member: &&JsonMember| match &member.value.value {
        Value::Object(inner) => ["command", "url"].iter().any(|key| find(inner, key).is_some()),
        _ => false,
    };
    let member = members.iter().find(looks_like_server)?;
    Some((member, "wrap the servers: {\"mcpServers\": { … }}".to_owned()))
}
