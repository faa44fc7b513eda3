//! The custom tools of the file: `tools.NAME.{description, subtools}`.

use super::checker::{ConfigChecker, find, wrong_type};
use super::escape::shown;
use super::harmless::shown_key;
use super::keys::{Keys, NONE};
use super::names::{SEPARATORS, clash, named_alike};
use super::near::nearest;
use super::path::Path;
use super::problem::Problem;
use super::shape::{ConfigKey, Takes};
use super::spec::{CustomTool, ServerSpec, Subtool};
use crate::jsonc::{JsonMember, Node, Value};
use crate::name::admissible;
use crate::place::Span;

pub(crate) const CUSTOM: Keys<'_> = Keys {
    known: &[
        ConfigKey::new("description", Takes::Text, "What clients are told about the tool.")
            .needed(),
        ConfigKey::new("subtools", Takes::Subtools, "The tools it stands for, by server.").needed(),
    ],
    spellings: &[("description", "description"), ("desc", "description"), ("subtools", "subtools")],
    ..NONE
};

/// The tools of one server, inside `subtools`.
pub(crate) const OF_SERVER: Keys<'_> = Keys {
    known: &[ConfigKey::new(
        "tools",
        Takes::SubtoolList,
        "Tools of this server, by the names it uses, also those that are not offered.",
    )
    .needed()],
    spellings: &[("tools", "tools"), ("subtools", "tools")],
    ..NONE
};

pub(crate) const SUBTOOL: Keys<'_> = Keys {
    known: &[
        ConfigKey::new("name", Takes::Name, "The tool, as its server calls it.").needed(),
        ConfigKey::new("description", Takes::Text, "What clients are told about it."),
    ],
    spellings: &[("name", "name"), ("description", "description"), ("desc", "description")],
    ..NONE
};

const CUSTOM_EXAMPLE: &str = "a custom tool is \"NAME\": {\"description\": \"…\", \"subtools\": {\"SERVER\": {\"tools\": [\"…\"]}}}";

const SUBTOOLS_EXAMPLE: &str = "write {\"SERVER\": {\"tools\": [\"TOOL\", …]}}";

const SUBTOOL_EXAMPLE: &str = "write \"TOOL\" or {\"name\": \"TOOL\", \"description\": \"…\"}";

/// How many servers a help names.
const MOST_NAMED: usize = 8;

/// A custom tool and where its name stands.
pub(crate) struct Placed {
    pub(crate) tool: CustomTool,
    pub(crate) path: Path,
    pub(crate) span: Span,
}

/// The servers a subtool may be of.
pub(crate) struct Servers<'s> {
    /// Also those that have problems of their own.
    pub(crate) keys: Vec<&'s str>,
    pub(crate) specs: &'s [ServerSpec],
}

impl ConfigChecker<'_> {
    pub(crate) fn custom_tools(
        &mut self,
        member: &JsonMember,
        servers: &Servers<'_>,
    ) -> Vec<Placed> {
        let at = Path::root().key(&member.key.value);
        let Value::Object(tools) = &member.value.value else {
            let problem = wrong_type(&member.value, &at, "`tools`", "an object of custom tools");
            self.report(problem.help(CUSTOM_EXAMPLE));
            return Vec::new();
        };
        self.duplicates(tools, &at);
        // Gemini CLI has settings of its own under this key.
        if !tools.is_empty() && !tools.iter().any(looks_custom) {
            let message = "`tools` holds no custom tool and is ignored";
            let problem = Problem::warning(&at, member.key.span, message);
            self.report(problem.help(CUSTOM_EXAMPLE));
            return Vec::new();
        }
        tools.iter().filter_map(|tool| self.custom_tool(tool, &at, servers)).collect()
    }

    fn custom_tool(
        &mut self,
        member: &JsonMember,
        at: &Path,
        servers: &Servers<'_>,
    ) -> Option<Placed> {
        let path = at.key(&member.key.value);
        if let Err(fault) = admissible(&member.key.value) {
            let problem = Problem::schema(&path, member.key.span, fault.to_string());
            self.report(problem.help("this is the name that clients call the tool by"));
        }
        // A custom tool has no prefix: one that reads like a server's tool would take its place.
        if let Some(key) = clash(&member.key.value, servers.keys.iter().copied(), &SEPARATORS) {
            self.report(named_alike(&path, member.key.span, &member.key.value, key));
        }
        let Value::Object(members) = &member.value.value else {
            let problem = wrong_type(&member.value, &path, "a custom tool", "an object");
            self.report(problem.help(CUSTOM_EXAMPLE));
            return None;
        };
        self.duplicates(members, &path);
        self.other_keys(members, &path, &CUSTOM, None);
        let description = self.required(member, members, &path, "description", CUSTOM_EXAMPLE);
        let description = description.and_then(|member| self.string(member, &path));
        let subtools = self.required(member, members, &path, "subtools", CUSTOM_EXAMPLE);
        let subtools = subtools.map(|member| self.subtools(member, &path, servers));
        let tool = CustomTool {
            name: member.key.value.clone(),
            description: description?,
            subtools: subtools?,
            selection: None,
        };
        Some(Placed { tool, path, span: member.key.span })
    }

    fn required<'n>(
        &mut self,
        of: &JsonMember,
        members: &'n [JsonMember],
        at: &Path,
        field: &str,
        example: &str,
    ) -> Option<&'n JsonMember> {
        let found = find(members, field);
        if found.is_none() {
            let message = format!("missing required field `{field}`");
            let problem = Problem::schema(&at.key(field), of.key.span, message);
            let misspelt = misspelt(members, field);
            self.report(problem.help(misspelt.unwrap_or_else(|| example.to_owned())));
        }
        found
    }

    fn subtools(&mut self, member: &JsonMember, at: &Path, servers: &Servers<'_>) -> Vec<Subtool> {
        let at = at.key(&member.key.value);
        let Value::Object(members) = &member.value.value else {
            let expected = "an object with servers as keys";
            let problem = wrong_type(&member.value, &at, "`subtools`", expected);
            self.report(problem.help(SUBTOOLS_EXAMPLE));
            return Vec::new();
        };
        self.duplicates(members, &at);
        let mut subtools = Vec::new();
        for server in members {
            self.named_server(server, &at.key(&server.key.value), servers);
            self.of_server(server, &at.key(&server.key.value), &mut subtools);
        }
        if members.iter().all(has_no_tools) {
            let message = match members.is_empty() {
                true => "`subtools` is empty: there is nothing to call",
                false => "`subtools` names no tool: there is nothing to call",
            };
            let problem = Problem::schema(&at, member.value.span, message);
            self.report(problem.help(SUBTOOLS_EXAMPLE));
        } else {
            for server in members.iter().filter(|server| has_no_tools(server)) {
                let at = at.key(&server.key.value);
                let message = "no tool of this server is named: it has no effect";
                self.report(Problem::warning(&at, server.key.span, message));
            }
        }
        subtools
    }

    fn named_server(&mut self, member: &JsonMember, at: &Path, servers: &Servers<'_>) {
        let (key, span) = (member.key.value.as_str(), member.key.span);
        if !servers.keys.contains(&key) {
            let message = format!("no server is called `{}`", shown_key(key));
            self.report(Problem::schema(at, span, message).help(servers.meant(key)));
        }
        if servers.specs.iter().any(|spec| spec.key == key && spec.disabled) {
            let message =
                format!("server `{}` is disabled: its tools cannot be called", shown_key(key));
            self.report(Problem::warning(at, span, message));
        }
    }

    fn of_server(&mut self, server: &JsonMember, at: &Path, subtools: &mut Vec<Subtool>) {
        let Value::Object(members) = &server.value.value else {
            let what = format!("`{}`", shown_key(&server.key.value));
            let problem = wrong_type(&server.value, at, &what, "{\"tools\": […]}");
            self.report(problem.help(SUBTOOLS_EXAMPLE));
            return;
        };
        self.duplicates(members, at);
        self.other_keys(members, at, &OF_SERVER, None);
        let tools = self.required(server, members, at, "tools", SUBTOOLS_EXAMPLE);
        let Some(tools) = tools else { return };
        let at = at.key("tools");
        let Value::Array(items) = &tools.value.value else {
            let problem = wrong_type(&tools.value, &at, "`tools`", "an array");
            self.report(problem.help("write [\"TOOL\", …]"));
            return;
        };
        for (index, item) in items.iter().enumerate() {
            let at = at.index(index);
            let Some((tool, description)) = self.subtool(item, &at, index) else { continue };
            if tool.is_empty() {
                let problem = Problem::schema(&at, item.span, "the name of a tool is empty");
                self.report(problem.help(SUBTOOL_EXAMPLE));
                continue;
            }
            let server = server.key.value.clone();
            if subtools.iter().any(|other| other.server == server && other.tool == tool) {
                let message = format!("`{}` is given twice in this list", shown(&tool));
                self.report(Problem::warning(&at, item.span, message));
                continue;
            }
            subtools.push(Subtool { server, tool, description });
        }
    }

    /// A name, or a name with its description.
    fn subtool(
        &mut self,
        item: &Node,
        at: &Path,
        index: usize,
    ) -> Option<(String, Option<String>)> {
        match &item.value {
            Value::String(text) => Some((text.value.clone(), None)),
            Value::Object(members) => {
                self.duplicates(members, at);
                self.other_keys(members, at, &SUBTOOL, None);
                let description = find(members, "description");
                let description = description.map(|member| self.string(member, at));
                let Some(name) = find(members, "name") else {
                    let message = "missing required field `name`";
                    let problem = Problem::schema(&at.key("name"), item.span, message);
                    let help = misspelt(members, "name");
                    self.report(problem.help(help.unwrap_or_else(|| SUBTOOL_EXAMPLE.to_owned())));
                    return None;
                };
                Some((self.string(name, at)?, description.flatten()))
            }
            _ => {
                let expected = "a string or {\"name\": …, \"description\": …}";
                let problem = wrong_type(item, at, &format!("`tools[{index}]`"), expected);
                self.report(problem.help(SUBTOOL_EXAMPLE));
                None
            }
        }
    }
}

/// Ours, ours misspelt, or nothing at all: but not a setting of something else.
fn looks_custom(member: &JsonMember) -> bool {
    let Value::Object(members) = &member.value.value else { return false };
    members.is_empty() || members.iter().any(|m| nearest(&m.key.value, CUSTOM.spellings).is_some())
}

/// A server with a proper list in which nothing stands. What is wrong is reported elsewhere.
fn has_no_tools(server: &JsonMember) -> bool {
    let Value::Object(members) = &server.value.value else { return false };
    let tools = find(members, "tools").map(|tools| &tools.value.value);
    matches!(tools, Some(Value::Array(items)) if items.is_empty())
}

/// The help where `field` is missing and another key was probably meant to be it.
pub(crate) fn misspelt(members: &[JsonMember], field: &str) -> Option<String> {
    let near = |member: &&JsonMember| nearest(&member.key.value, &[(field, field)]).is_some();
    members.iter().find(near).map(|_| format!("did you mean `{field}`?"))
}

impl Servers<'_> {
    /// Which server was meant, or which there are.
    pub(crate) fn meant(&self, key: &str) -> String {
        let spellings: Vec<_> = self.keys.iter().map(|key| (*key, *key)).collect();
        if let Some(meant) = nearest(key, &spellings) {
            return format!("did you mean `{}`?", shown_key(meant));
        }
        let named = self.keys.iter().take(MOST_NAMED).map(|key| format!("`{}`", shown_key(key)));
        let named = named.collect::<Vec<_>>().join(", ");
        let more = if self.keys.len() > MOST_NAMED { ", …" } else { "" };
        match self.keys.is_empty() {
            true => "the file has no servers".to_owned(),
            false => format!("the servers of this file are {named}{more}"),
        }
    }
}
