//! Which of a server's tools the file shows and hides, in our words and in those of other clients.

use std::collections::{HashMap, HashSet};

use super::check::{Checker, find, wrong_type};
use super::escape::shown;
use super::load::Rules;
use super::path::Path;
use super::problem::Problem;
use super::spec::{Exposed, Share, ToolFilter};
use crate::jsonc::{Member, Node, Value};
use crate::name::admissible;

/// Gemini CLI, Codex, Goose and Copilot CLI, after ours (notes/clients.md, "Config formats").
pub(crate) const EXPOSE: [&str; 5] =
    ["exposedTools", "includeTools", "enabled_tools", "available_tools", COPILOT];

/// Gemini CLI and Copilot CLI, Codex, Windsurf, after ours.
pub(crate) const HIDE: [&str; 4] =
    ["hiddenTools", "excludeTools", "disabled_tools", "disabledTools"];

/// Names or `"*"` here, permissions in Claude Code's files, settings for each tool in Codex's.
const COPILOT: &str = "tools";

/// What stands in a list of tools to be exposed.
const EXPOSED_ITEM: &str = "a string or {\"original\": …, \"exposed\": …}";

impl Checker<'_> {
    pub(crate) fn filter(&mut self, members: &[Member], at: &Path) -> ToolFilter {
        if self.rules == Rules::Simple {
            return ToolFilter::default();
        }
        let exposed = self.exposed(members, at);
        let mut hidden: Vec<String> = Vec::new();
        for member in HIDE.iter().filter_map(|key| find(members, key)) {
            hidden.extend(self.hidden(member, &at.key(&member.key.value)));
        }
        let mut seen = HashSet::new();
        hidden.retain(|name| seen.insert(name.clone()));
        ToolFilter { exposed, hidden }
    }

    pub(crate) fn share(&mut self, members: &[Member], at: &Path) -> Share {
        let Some(member) = find(members, "share").filter(|_| self.rules == Rules::Full) else {
            return Share::default();
        };
        let at = at.key("share");
        let Value::String(text) = &member.value.value else {
            self.wrong_type(&member.value, &at, "`share`", "a string");
            return Share::default();
        };
        match text.value.as_str() {
            "shared" => Share::Shared,
            "per-session" => Share::PerSession,
            _ => {
                let problem = Problem::schema(&at, text.span, "this way to `share` is not known");
                self.report(problem.help("write \"shared\" or \"per-session\""));
                Share::default()
            }
        }
    }

    /// The one list of tools to be exposed. Several that say the same are one.
    fn exposed(&mut self, members: &[Member], at: &Path) -> Option<Vec<Exposed>> {
        let mut found: Option<(&Member, Vec<Exposed>)> = None;
        for member in EXPOSE.iter().filter_map(|key| find(members, key)) {
            let Some(list) = self.exposed_list(member, &at.key(&member.key.value)) else {
                continue;
            };
            match &found {
                None => found = Some((member, list)),
                Some((_, same)) if *same == list => {}
                Some((first, _)) => self.exclusive("a server", first, member, at),
            }
        }
        found.map(|(_, list)| list)
    }

    /// `None`: the list does not say which tools there are.
    fn exposed_list(&mut self, member: &Member, at: &Path) -> Option<Vec<Exposed>> {
        let items = match (&member.value.value, member.key.value.as_str()) {
            (Value::Object(_), COPILOT) => {
                self.note(at, member.key.span);
                return None;
            }
            (Value::Array(items), COPILOT) if items.iter().any(is_object) => {
                self.note(at, member.key.span);
                return None;
            }
            (Value::Array(items), COPILOT) if items.iter().any(is_star) => return None,
            (Value::Array(items), _) => items,
            (_, key) => {
                self.wrong_type(&member.value, at, &format!("`{key}`"), "an array of tool names");
                return None;
            }
        };
        if items.is_empty() {
            let key = &member.key.value;
            let message = format!("`{key}` is empty: no tool of this server is exposed");
            self.report(Problem::warning(at, member.value.span, message));
        }
        let mut names = Names::default();
        for (index, item) in items.iter().enumerate() {
            let at = at.index(index);
            if let Some(exposed) = self.exposed_item(item, &at, &member.key.value, index) {
                names.add(self, exposed, item, &at);
            }
        }
        Some(names.list)
    }

    fn exposed_item(&mut self, item: &Node, at: &Path, key: &str, index: usize) -> Option<Exposed> {
        match &item.value {
            Value::String(text) => Some(Exposed { original: text.value.clone(), exposed: None }),
            Value::Object(members) => {
                self.duplicates(members, at);
                let other = |member: &&Member| {
                    !["original", "exposed"].contains(&member.key.value.as_str())
                };
                for member in members.iter().filter(other) {
                    self.note(&at.key(&member.key.value), member.key.span);
                }
                let exposed = find(members, "exposed").map(|member| self.new_name(member, at));
                let Some(original) = find(members, "original") else {
                    let message = "missing required field `original`";
                    self.report(Problem::schema(&at.key("original"), item.span, message));
                    return None;
                };
                let original = self.string(original, at)?;
                let exposed = match exposed {
                    None => None,
                    Some(name) => Some(name?).filter(|name| *name != original),
                };
                Some(Exposed { original, exposed })
            }
            _ => {
                let what = format!("`{key}[{index}]`");
                self.report(wrong_type(item, at, &what, EXPOSED_ITEM));
                None
            }
        }
    }

    /// A name that clients are to see: nothing may be hidden in it.
    fn new_name(&mut self, member: &Member, at: &Path) -> Option<String> {
        let name = self.string(member, at)?;
        if let Err(fault) = admissible(&name) {
            let at = at.key(&member.key.value);
            self.report(Problem::schema(&at, member.value.span, fault.to_string()));
            return None;
        }
        Some(name)
    }

    fn hidden(&mut self, member: &Member, at: &Path) -> Vec<String> {
        let key = &member.key.value;
        let Value::Array(items) = &member.value.value else {
            self.wrong_type(&member.value, at, &format!("`{key}`"), "an array of tool names");
            return Vec::new();
        };
        let mut names: Vec<String> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let at = at.index(index);
            match &item.value {
                Value::String(text) if names.contains(&text.value) => {
                    self.given_twice(&text.value, item, &at);
                }
                Value::String(text) => names.push(text.value.clone()),
                _ => self.wrong_type(item, &at, &format!("`{key}[{index}]`"), "a string"),
            }
        }
        names
    }

    fn given_twice(&mut self, name: &str, item: &Node, at: &Path) {
        let message = format!("`{}` is given twice in this list", shown(name));
        self.report(Problem::warning(at, item.span, message));
    }

    /// A plain string: nothing in it is expanded.
    pub(crate) fn string(&mut self, member: &Member, at: &Path) -> Option<String> {
        let Value::String(text) = &member.value.value else {
            let (key, at) = (&member.key.value, at.key(&member.key.value));
            self.wrong_type(&member.value, &at, &format!("`{}`", shown(key)), "a string");
            return None;
        };
        Some(text.value.clone())
    }
}

/// A list of exposed tools in which each tool has one name, and each name one tool.
#[derive(Default)]
struct Names {
    list: Vec<Exposed>,
    /// By what clients see: whose it is.
    owners: HashMap<String, String>,
}

impl Names {
    fn add(&mut self, check: &mut Checker<'_>, tool: Exposed, item: &Node, at: &Path) {
        let name = tool.name().to_owned();
        let same = self.list.iter().find(|other| other.original == tool.original);
        match (same, self.owners.get(&name)) {
            (Some(same), _) if same.name() == name => {
                check.given_twice(&tool.original, item, at);
            }
            (Some(same), _) => {
                let (tool, one, two) = (shown(&tool.original), shown(same.name()), shown(&name));
                let message = format!("the tool `{tool}` is given two names: `{one}` and `{two}`");
                check.report(Problem::schema(at, item.span, message));
            }
            (None, Some(owner)) => {
                let (one, two, name) = (shown(owner), shown(&tool.original), shown(&name));
                let message =
                    format!("the tools `{one}` and `{two}` would both be called `{name}`");
                check.report(Problem::schema(at, item.span, message));
            }
            (None, None) => {
                self.owners.insert(name, tool.original.clone());
                self.list.push(tool);
            }
        }
    }
}

fn is_object(node: &Node) -> bool {
    matches!(node.value, Value::Object(_))
}

fn is_star(node: &Node) -> bool {
    matches!(&node.value, Value::String(text) if text.value == "*")
}
