//! The custom tools of the file: `tools.NAME.{description, subtools}`.

use super::check::{Checker, find};
use super::escape::shown;
use super::keys::Keys;
use super::near::nearest;
use super::path::Path;
use super::problem::Problem;
use super::spec::{CustomTool, ServerSpec, Subtool};
use crate::jsonc::{Member, Node, Value};
use crate::name::admissible;
use crate::place::Span;

const CUSTOM: Keys<'_> = Keys {
    known: &["description", "subtools"],
    more: &[],
    spellings: &[("description", "description"), ("subtools", "subtools")],
    not_yet: &[],
};

/// The tools of one server, inside `subtools`.
const OF_SERVER: Keys<'_> =
    Keys { known: &["tools"], more: &[], spellings: &[("tools", "tools")], not_yet: &[] };

const SUBTOOL: Keys<'_> = Keys {
    known: &["name", "description"],
    more: &[],
    spellings: &[("name", "name"), ("description", "description")],
    not_yet: &[],
};

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

impl Checker<'_> {
    pub(crate) fn custom_tools(&mut self, member: &Member, servers: &Servers<'_>) -> Vec<Placed> {
        let at = Path::root().key(&member.key.value);
        let Value::Object(tools) = &member.value.value else {
            self.wrong_type(&member.value, &at, "`tools`", "an object of custom tools");
            return Vec::new();
        };
        self.duplicates(tools, &at);
        // Gemini CLI has settings of its own under this key.
        if !tools.is_empty() && !tools.iter().any(looks_custom) {
            let message = "`tools` holds no custom tool and is ignored";
            let problem = Problem::warning(&at, member.key.span, message);
            self.report(problem.help(
                "a custom tool is \"NAME\": {\"description\": \"…\", \"subtools\": {\"SERVER\": {\"tools\": [\"…\"]}}}",
            ));
            return Vec::new();
        }
        tools.iter().filter_map(|tool| self.custom_tool(tool, &at, servers)).collect()
    }

    fn custom_tool(&mut self, member: &Member, at: &Path, servers: &Servers<'_>) -> Option<Placed> {
        let path = at.key(&member.key.value);
        if let Err(fault) = admissible(&member.key.value) {
            self.report(Problem::schema(&path, member.key.span, fault.to_string()));
        }
        let Value::Object(members) = &member.value.value else {
            self.wrong_type(&member.value, &path, "a custom tool", "an object");
            return None;
        };
        self.duplicates(members, &path);
        self.other_keys(members, &path, &CUSTOM, None);
        let description = self.required(member, members, &path, "description");
        let description = description.and_then(|member| self.string(member, &path));
        let subtools = self.required(member, members, &path, "subtools");
        let subtools = subtools.map(|member| self.subtools(member, &path, servers));
        let tool = CustomTool {
            name: member.key.value.clone(),
            description: description?,
            subtools: subtools?,
        };
        Some(Placed { tool, path, span: member.key.span })
    }

    fn required<'n>(
        &mut self,
        of: &Member,
        members: &'n [Member],
        at: &Path,
        field: &str,
    ) -> Option<&'n Member> {
        let found = find(members, field);
        if found.is_none() {
            let message = format!("missing required field `{field}`");
            self.report(Problem::schema(&at.key(field), of.key.span, message));
        }
        found
    }

    fn subtools(&mut self, member: &Member, at: &Path, servers: &Servers<'_>) -> Vec<Subtool> {
        let at = at.key(&member.key.value);
        let Value::Object(members) = &member.value.value else {
            self.wrong_type(&member.value, &at, "`subtools`", "an object with servers as keys");
            return Vec::new();
        };
        self.duplicates(members, &at);
        let mut subtools = Vec::new();
        for server in members {
            self.named_server(server, &at.key(&server.key.value), servers);
            self.of_server(server, &at.key(&server.key.value), &mut subtools);
        }
        if members.is_empty() {
            let message = "`subtools` is empty: there is nothing to call";
            self.report(Problem::schema(&at, member.value.span, message));
        }
        subtools
    }

    fn named_server(&mut self, member: &Member, at: &Path, servers: &Servers<'_>) {
        let (key, span) = (member.key.value.as_str(), member.key.span);
        if !servers.keys.contains(&key) {
            let message = format!("no server is called `{}`", shown(key));
            let problem = Problem::schema(at, span, message);
            let spellings: Vec<_> = servers.keys.iter().map(|key| (*key, *key)).collect();
            self.report(match nearest(key, &spellings) {
                Some(meant) => problem.help(format!("did you mean `{}`?", shown(meant))),
                None => problem,
            });
        }
        if servers.specs.iter().any(|spec| spec.key == key && spec.disabled) {
            let message =
                format!("server `{}` is disabled: its tools cannot be called", shown(key));
            self.report(Problem::warning(at, span, message));
        }
    }

    fn of_server(&mut self, server: &Member, at: &Path, subtools: &mut Vec<Subtool>) {
        let Value::Object(members) = &server.value.value else {
            let what = format!("`{}`", shown(&server.key.value));
            self.wrong_type(&server.value, at, &what, "{\"tools\": […]}");
            return;
        };
        self.duplicates(members, at);
        self.other_keys(members, at, &OF_SERVER, None);
        let Some(tools) = self.required(server, members, at, "tools") else { return };
        let at = at.key("tools");
        let Value::Array(items) = &tools.value.value else {
            self.wrong_type(&tools.value, &at, "`tools`", "an array");
            return;
        };
        for (index, item) in items.iter().enumerate() {
            let at = at.index(index);
            let Some((tool, description)) = self.subtool(item, &at, index) else { continue };
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
                    self.report(Problem::schema(&at.key("name"), item.span, message));
                    return None;
                };
                Some((self.string(name, at)?, description.flatten()))
            }
            _ => {
                let expected = "a string or {\"name\": …, \"description\": …}";
                self.wrong_type(item, at, &format!("`tools[{index}]`"), expected);
                None
            }
        }
    }
}

fn looks_custom(member: &Member) -> bool {
    let Value::Object(members) = &member.value.value else { return false };
    CUSTOM.known.iter().any(|key| find(members, key).is_some())
}
