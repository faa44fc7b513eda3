//! One field of a server: its type, its references, its secrets.

use super::checker::{ConfigChecker, wrong_type};
use super::escape::shown;
use super::expand::expand;
use super::harmless::{CommandLine, shown_key};
use super::mask::LONG_NUMBER;
use super::path::Path;
use super::problem::Problem;
use super::secrets::Secrets;
use super::spec::Rules;
use super::suspect::{is_ordinary_name, is_secret_name, is_secret_value, password_in_url};
use crate::jsonc::{JsonMember, JsonText, Node, Value};

/// Reads the fields of one server and remembers what must not be printed. A field with a problem
/// reads as `None` (or is left out): the problem makes loading fail anyway.
pub(crate) struct ConfigReader<'r, 'c> {
    pub(crate) check: &'r mut ConfigChecker<'c>,
    pub(crate) secrets: Secrets,
    /// A disabled server is checked, but its variables need not be set.
    pub(crate) disabled: bool,
}

/// What is wrong with the name or the value of a pair, if something is.
pub(crate) type PairRule = fn(name: &str, value: &str) -> Option<&'static str>;

impl ConfigReader<'_, '_> {
    /// A string that says something, before and after its expansion.
    pub(crate) fn filled(&mut self, member: &JsonMember, at: &Path) -> Option<String> {
        let name = &member.key.value;
        let at = at.key(name);
        let Value::String(text) = &member.value.value else {
            let problem = wrong_type(&member.value, &at, &format!("`{name}`"), "a string");
            let is_list = name == "command" && matches!(member.value.value, Value::Array(_));
            self.check.report(match is_list {
                true => problem.help("write the program here and the rest in `args`"),
                false => problem,
            });
            return None;
        };
        let value = self.text(text, &at)?;
        if value.trim().is_empty() {
            let message = match text.value.trim().is_empty() {
                true => format!("`{name}` must not be empty"),
                false => format!("`{name}` is empty once its variables are expanded"),
            };
            self.check.report(Problem::schema(&at, text.span, message));
            return None;
        }
        Some(value)
    }

    pub(crate) fn list(&mut self, member: &JsonMember, at: &Path) -> Vec<String> {
        let name = &member.key.value;
        let at = at.key(name);
        let Value::Array(items) = &member.value.value else {
            let expected = "an array of strings";
            let problem = wrong_type(&member.value, &at, &format!("`{name}`"), expected);
            self.check.report(problem.help("write [\"-y\", …], one string for each argument"));
            return Vec::new();
        };
        let mut line = CommandLine::default();
        let mut list = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let at = at.index(index);
            let Value::String(text) = &item.value else {
                let problem = wrong_type(item, &at, &format!("`{name}[{index}]`"), "a string");
                let written = if let Value::Number(number) = &item.value { number } else { "" };
                let may_be_secret = !line.next(written).is_empty();
                self.check.report(with_quoting_help(problem, item, may_be_secret));
                continue;
            };
            // The line is followed word by word: whether an argument may be a secret depends on the
            // one before it.
            line.next(&text.value);
            if let Some(word) = self.text(text, &at) {
                self.note_secret_argument(list.last().map(String::as_str), &word);
                list.push(word);
            }
        }
        list
    }

    /// An argument that is a secret by the name it has is one, as the value of a variable would be: `--token V`,
    /// `--token=V`, `-e TOKEN=V`, `--header "X-Api-Key: V"`, `https://h/?key=V`.
    // By its name only: versions of packages and digests of images look random, too.
    fn note_secret_argument(&mut self, before: Option<&str>, word: &str) {
        if self.disabled {
            return;
        }
        if let Some((_scheme, rest)) = word.split_once("://") {
            if password_in_url(word).is_some() {
                self.secrets.add("args", word);
            }
            let query = rest.split_once('?').map_or("", |(_, query)| query);
            for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
                self.note_named_argument(name, value);
            }
            return;
        }
        let flag = before.filter(|flag| flag.starts_with('-') && !flag.contains('='));
        match (word.split_once('='), flag) {
            (None, Some("--header" | "-H")) => {
                if let Some((name, value)) = word.split_once(':') {
                    self.note_named_argument(name, value.trim());
                }
            }
            (None, Some(flag)) if !word.starts_with("--") => self.note_named_argument(flag, word),
            (None, _) => {}
            (Some((name, value)), _) => self.note_named_argument(name, value),
        }
    }

    fn note_named_argument(&mut self, name: &str, value: &str) {
        // Where a secret is kept is none.
        let is_place = ["file", "path", "dir"].iter().any(|end| name.ends_with(end));
        if is_secret_name(name) && !is_place {
            self.secrets.add(name, value);
        }
    }

    /// An object of strings, in file order.
    pub(crate) fn pairs(
        &mut self,
        member: &JsonMember,
        at: &Path,
        rule: PairRule,
    ) -> Vec<(String, String)> {
        let at = at.key(&member.key.value);
        let Value::Object(members) = &member.value.value else {
            let what = format!("`{}`", member.key.value);
            self.check.wrong_type(&member.value, &at, &what, "an object of strings");
            return Vec::new();
        };
        self.check.duplicates(members, &at);
        let pairs = members.iter().filter_map(|pair| {
            let at = at.key(&pair.key.value);
            let value = self.pair_value(pair, &at);
            // The name is judged even where the value has a problem of its own.
            if let Some(message) = rule(&pair.key.value, value.as_deref().unwrap_or_default()) {
                self.check.report(Problem::schema(&at, pair.key.span, message));
                return None;
            }
            Some((pair.key.value.clone(), value?))
        });
        pairs.collect()
    }

    fn pair_value(&mut self, pair: &JsonMember, at: &Path) -> Option<String> {
        let name = &pair.key.value;
        let value = match (&pair.value.value, self.check.rules) {
            (Value::String(text), _) => self.text(text, at)?,
            // VS Code allows them; what is written is what the server gets.
            (Value::Number(number), Rules::Full) => number.clone(),
            (Value::Bool(flag), Rules::Full) => flag.to_string(),
            _ => {
                let problem =
                    wrong_type(&pair.value, at, &format!("`{}`", shown_key(name)), "a string");
                self.check.report(with_quoting_help(problem, &pair.value, is_secret_name(name)));
                return None;
            }
        };
        let is_secret = is_secret_name(name) || is_secret_value(&value);
        if !self.disabled && is_secret && !is_ordinary_name(name) {
            self.secrets.add(name, &value);
        }
        Some(value)
    }

    /// Expands a string; all of its missing variables and broken references are reported.
    fn text(&mut self, text: &JsonText, at: &Path) -> Option<String> {
        if text.value.contains('\0') {
            let message = "this string contains a NUL character";
            self.check.report(Problem::schema(at, text.span, message));
            return None;
        }
        if self.disabled {
            return Some(text.value.clone());
        }
        let expanded = expand(&text.value, self.check.environment);
        for (fault, range) in &expanded.faults {
            let problem = Problem::schema(at, text.span_of(range.clone()), fault.message());
            self.check.report(problem.help(fault.help()));
        }
        for (name, range) in &expanded.missing {
            let problem = Problem::missing_variable(at, text.span_of(range.clone()), name);
            let help = self.missing_help(name);
            self.check.report(problem.help(help));
        }
        for (name, value) in expanded.used.iter().filter(|(name, _)| !is_ordinary_name(name)) {
            self.secrets.add(name, value);
        }
        if expanded.value.contains('\0') {
            let message = "a variable in this string contains a NUL character";
            self.check.report(Problem::schema(at, text.span, message));
            return None;
        }
        let whole = expanded.faults.is_empty() && expanded.missing.is_empty();
        whole.then_some(expanded.value)
    }

    fn missing_help(&self, name: &str) -> String {
        let upper = name.to_uppercase();
        if upper != name && (self.check.environment)(&upper).is_some() {
            return format!("did you mean ${{{}}}? It is set", shown(&upper));
        }
        if matches!(
            name,
            "workspaceFolder" | "workspaceFolderBasename" | "userHome" | "pathSeparator"
        ) {
            return "this is a variable of an editor: write the path itself, or use $HOME"
                .to_owned();
        }
        format!("set it before the start, or write ${{{}:-default}}", shown(name))
    }
}

/// Tells how to write a number or a boolean as text, unless it may be a secret.
fn with_quoting_help(problem: Problem, node: &Node, may_be_secret: bool) -> Problem {
    match &node.value {
        Value::Number(_) | Value::Bool(_) if may_be_secret => {
            problem.help("put it in double quotes")
        }
        Value::Number(number) if number.len() > LONG_NUMBER => {
            problem.help("put it in double quotes")
        }
        Value::Number(number) => problem.help(format!("write \"{number}\"")),
        Value::Bool(flag) => problem.help(format!("write \"{flag}\"")),
        Value::Null => problem.help("remove it, or write \"\""),
        _ => problem,
    }
}
