//! Which of a server's tools the file shows and hides, in our words and in those of other clients.

use std::collections::{HashMap, HashSet};

use super::checker::{ConfigChecker, find, wrong_type};
use super::custom::misspelt;
use super::escape::shown;
use super::harmless::shown_key;
use super::path::Path;
use super::problem::Problem;
use super::shape::{ConfigKey, Takes};
use super::spec::{Era, Exposed, Rules, Share, ToolFilter};
use crate::jsonc::{JsonMember, Node, Value};
use crate::name::admissible;

/// Gemini CLI, Codex, Goose and Copilot CLI, after ours (notes/clients.md, "Config formats").
pub(crate) const EXPOSE: [ConfigKey; 5] = [
    ConfigKey::new(
        "exposedTools",
        Takes::Exposed,
        "Only these tools are offered, by the names the server uses; {\"original\": …, \"exposed\": …} \
         gives one another name.",
    ),
    ConfigKey::new("includeTools", Takes::Exposed, "The same, as Gemini CLI calls it."),
    ConfigKey::new("enabled_tools", Takes::Exposed, "The same, as Codex calls it."),
    ConfigKey::new("available_tools", Takes::Exposed, "The same, as Goose calls it."),
    ConfigKey::new(
        COPILOT,
        Takes::ExposedElsewhere,
        "The same, as Copilot CLI calls it; [\"*\"] is all of them.",
    ),
];

/// Gemini CLI and Copilot CLI, Codex, Windsurf, after ours.
pub(crate) const HIDE: [ConfigKey; 4] = [
    ConfigKey::new("hiddenTools", Takes::ToolNames, "These tools are not offered."),
    ConfigKey::new(
        "excludeTools",
        Takes::ToolNames,
        "The same, as Gemini CLI and Copilot CLI call it.",
    ),
    ConfigKey::new("disabled_tools", Takes::ToolNames, "The same, as Codex calls it."),
    ConfigKey::new("disabledTools", Takes::ToolNames, "The same, as Windsurf calls it."),
];

/// An entry of `exposedTools` with a name of its own.
pub(crate) static RENAMED: [ConfigKey; 2] = [
    ConfigKey::new("original", Takes::Name, "The tool, as its server calls it.").needed(),
    ConfigKey::new("exposed", Takes::ToolName, "Its name for clients."),
];

/// What `share` and `era` may say.
pub(crate) const SHARES: [&str; 2] = [SHARED, PER_SESSION];
const SHARED: &str = "shared";
const PER_SESSION: &str = "per-session";
pub(crate) const ERAS: [&str; 3] = [AUTO, LEGACY, MODERN];
const AUTO: &str = "auto";
const LEGACY: &str = "legacy";
const MODERN: &str = "modern";

/// Ours alone.
pub(crate) const PIN: [ConfigKey; 1] = [ConfigKey::new(
    "pinnedTools",
    Takes::ToolNames,
    "Where tools are searched (`--expose search`): these are listed all the same.",
)];

/// Names or `"*"` here, permissions in Claude Code's files, settings for each tool in Codex's.
const COPILOT: &str = "tools";

const LIST_EXAMPLE: &str = "write [\"TOOL\", …], with the names that the server itself uses";

const EXPOSED_EXAMPLE: &str =
    "write \"TOOL\", or {\"original\": \"TOOL\", \"exposed\": \"NEW_NAME\"}";

const SHARE_HELP: &str = "write \"shared\" or \"per-session\"";

const ERA_HELP: &str = "write \"auto\", \"legacy\" or \"modern\"";

/// What stands in a list of tools to be exposed.
const EXPOSED_ITEM: &str = "a string or {\"original\": …, \"exposed\": …}";

impl ConfigChecker<'_> {
    pub(crate) fn filter(&mut self, members: &[JsonMember], at: &Path) -> ToolFilter {
        // The simple product has none of these keys.
        if self.rules == Rules::Simple {
            return ToolFilter::default();
        }
        let exposed = self.exposed(members, at);
        let mut hidden: Vec<String> = Vec::new();
        for member in HIDE.iter().filter_map(|key| find(members, key.name)) {
            hidden.extend(self.names(member, &at.key(&member.key.value)));
        }
        let mut seen = HashSet::new();
        hidden.retain(|name| seen.insert(name.clone()));
        let pinned = PIN.iter().filter_map(|key| find(members, key.name));
        let pinned =
            pinned.flat_map(|member| self.names(member, &at.key(&member.key.value))).collect();
        ToolFilter { exposed, hidden, pinned, selection: None }
    }

    pub(crate) fn share(&mut self, members: &[JsonMember], at: &Path) -> Share {
        let Some(member) = find(members, "share").filter(|_| self.rules == Rules::Full) else {
            return Share::default();
        };
        let at = at.key("share");
        let Value::String(text) = &member.value.value else {
            let problem = wrong_type(&member.value, &at, "`share`", "a string");
            self.report(problem.help(SHARE_HELP));
            return Share::default();
        };
        match text.value.as_str() {
            SHARED => Share::Shared,
            PER_SESSION => Share::PerSession,
            _ => {
                let problem = Problem::schema(&at, text.span, "this way to `share` is not known");
                self.report(problem.help(SHARE_HELP));
                Share::default()
            }
        }
    }

    pub(crate) fn era(&mut self, members: &[JsonMember], at: &Path) -> Era {
        let Some(member) = find(members, "era").filter(|_| self.rules == Rules::Full) else {
            return Era::default();
        };
        let at = at.key("era");
        let Value::String(text) = &member.value.value else {
            let problem = wrong_type(&member.value, &at, "`era`", "a string");
            self.report(problem.help(ERA_HELP));
            return Era::default();
        };
        match text.value.as_str() {
            AUTO => Era::Auto,
            LEGACY => Era::Legacy,
            MODERN => Era::Modern,
            _ => {
                let problem = Problem::schema(&at, text.span, "this `era` is not known");
                self.report(problem.help(ERA_HELP));
                Era::default()
            }
        }
    }

    /// The one list of tools to be exposed. Several that say the same are one.
    fn exposed(&mut self, members: &[JsonMember], at: &Path) -> Option<Vec<Exposed>> {
        let mut found: Option<(&JsonMember, Vec<Exposed>)> = None;
        for member in EXPOSE.iter().filter_map(|key| find(members, key.name)) {
            let Some(list) = self.exposed_list(member, &at.key(&member.key.value)) else {
                continue;
            };
            match &found {
                None => found = Some((member, list)),
                // Files that serve several clients may name the same tools in the words of each.
                Some((_, same)) if *same == list => {}
                Some((first, _)) => self.exclusive("a server", first, member, at),
            }
        }
        found.map(|(_, list)| list)
    }

    /// `None`: the list does not say which tools there are.
    fn exposed_list(&mut self, member: &JsonMember, at: &Path) -> Option<Vec<Exposed>> {
        let items = match (&member.value.value, member.key.value.as_str()) {
            (Value::Object(_), COPILOT) => {
                self.note(at, member.key.span);
                return None;
            }
            (Value::Array(items), COPILOT) if items.iter().any(is_object) => {
                self.note(at, member.key.span);
                return None;
            }
            // In Copilot CLI's words "*" means every tool, which is what no list means here.
            (Value::Array(items), COPILOT) if items.iter().any(is_star) => return None,
            (Value::Array(items), _) => items,
            (_, key) => {
                self.not_a_list(member, at, key);
                return None;
            }
        };
        // Legal, and hardly ever meant: a warning, not an error.
        if items.is_empty() {
            let key = &member.key.value;
            let message = format!("`{key}` is empty: no tool of this server is exposed");
            let problem = Problem::warning(at, member.value.span, message);
            self.report(problem.help("leave it out to expose all of them"));
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
            Value::String(text) if text.value.is_empty() => {
                self.empty_name(item, at);
                None
            }
            Value::String(text) => Some(Exposed { original: text.value.clone(), exposed: None }),
            Value::Object(members) => {
                self.duplicates(members, at);
                let other =
                    |member: &&JsonMember| RENAMED.iter().all(|key| key.name != member.key.value);
                for member in members.iter().filter(other) {
                    self.note(&at.key(&member.key.value), member.key.span);
                }
                let exposed = find(members, "exposed").map(|member| self.new_name(member, at));
                let Some(original) = find(members, "original") else {
                    let message = "missing required field `original`";
                    let problem = Problem::schema(&at.key("original"), item.span, message);
                    let help = misspelt(members, "original");
                    self.report(problem.help(help.unwrap_or_else(|| EXPOSED_EXAMPLE.to_owned())));
                    return None;
                };
                let name = self.string(original, at)?;
                if name.is_empty() {
                    self.empty_name(&original.value, &at.key("original"));
                    return None;
                }
                let exposed = match exposed {
                    None => None,
                    Some(new) => Some(new?).filter(|new| *new != name),
                };
                Some(Exposed { original: name, exposed })
            }
            _ => {
                let what = format!("`{key}[{index}]`");
                self.report(wrong_type(item, at, &what, EXPOSED_ITEM).help(EXPOSED_EXAMPLE));
                None
            }
        }
    }

    /// A name that clients are to see: nothing may be hidden in it.
    fn new_name(&mut self, member: &JsonMember, at: &Path) -> Option<String> {
        let name = self.string(member, at)?;
        if let Err(fault) = admissible(&name) {
            let at = at.key(&member.key.value);
            let problem = Problem::schema(&at, member.value.span, fault.to_string());
            self.report(problem.help("this is the name that clients call the tool by"));
            return None;
        }
        Some(name)
    }

    /// A list of names.
    fn names(&mut self, member: &JsonMember, at: &Path) -> Vec<String> {
        let key = &member.key.value;
        let Value::Array(items) = &member.value.value else {
            self.not_a_list(member, at, key);
            return Vec::new();
        };
        let mut names: Vec<String> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let at = at.index(index);
            match &item.value {
                Value::String(text) if names.contains(&text.value) => {
                    self.given_twice(&text.value, item, &at);
                }
                Value::String(text) if text.value.is_empty() => self.empty_name(item, &at),
                Value::String(text) => names.push(text.value.clone()),
                _ => {
                    let problem = wrong_type(item, &at, &format!("`{key}[{index}]`"), "a string");
                    self.report(problem.help(LIST_EXAMPLE));
                }
            }
        }
        names
    }

    fn not_a_list(&mut self, member: &JsonMember, at: &Path, key: &str) {
        let expected = "an array of tool names";
        let problem = wrong_type(&member.value, at, &format!("`{key}`"), expected);
        self.report(problem.help(LIST_EXAMPLE));
    }

    fn empty_name(&mut self, item: &Node, at: &Path) {
        let problem = Problem::schema(at, item.span, "the name of a tool is empty");
        self.report(problem.help("write the name that the server itself uses"));
    }

    fn given_twice(&mut self, name: &str, item: &Node, at: &Path) {
        let message = format!("`{}` is given twice in this list", shown(name));
        self.report(Problem::warning(at, item.span, message));
    }

    /// A plain string: nothing in it is expanded.
    pub(crate) fn string(&mut self, member: &JsonMember, at: &Path) -> Option<String> {
        let Value::String(text) = &member.value.value else {
            let (key, at) = (&member.key.value, at.key(&member.key.value));
            self.wrong_type(&member.value, &at, &format!("`{}`", shown_key(key)), "a string");
            return None;
        };
        Some(text.value.clone())
    }
}

/// A list of exposed tools in which each tool has one name, and each name one tool. What is wrong is
/// in the list as well: else it would hide what is wrong further down.
#[derive(Default)]
struct Names {
    list: Vec<Exposed>,
    /// By what clients see: whose it is.
    owners: HashMap<String, String>,
}

impl Names {
    fn add(&mut self, check: &mut ConfigChecker<'_>, tool: Exposed, item: &Node, at: &Path) {
        let name = tool.name().to_owned();
        let mut same = self.list.iter().filter(|other| other.original == tool.original).peekable();
        let first = same.peek().map(|other| other.name().to_owned());
        if same.any(|other| other.name() == name) {
            check.given_twice(&tool.original, item, at);
            return;
        }
        if let Some(first) = first {
            let (tool, one, two) = (shown(&tool.original), shown(&first), shown(&name));
            let message = format!("the tool `{tool}` is given two names: `{one}` and `{two}`");
            let problem = Problem::schema(at, item.span, message);
            check.report(problem.help("keep one of them"));
        }
        let owner = self.owners.get(&name).filter(|owner| **owner != tool.original);
        if let Some(owner) = owner {
            let (one, two, name) = (shown(owner), shown(&tool.original), shown(&name));
            let message = format!("the tools `{one}` and `{two}` would both be called `{name}`");
            let problem = Problem::schema(at, item.span, message);
            check.report(problem.help("give one of them another `exposed` name"));
        }
        self.owners.entry(name).or_insert_with(|| tool.original.clone());
        self.list.push(tool);
    }
}

fn is_object(node: &Node) -> bool {
    matches!(node.value, Value::Object(_))
}

fn is_star(node: &Node) -> bool {
    matches!(&node.value, Value::String(text) if text.value == "*")
}
