//! One server's entry of a client, in the words of Trunkline's config. What Trunkline has no use for is
//! kept as it is: it ignores it, and the client gets it back.

use serde_json::{Map, Number, Value};
use trunkline_catalog::client::{Client, ConfigFile};
use trunkline_catalog::config::CALL_TIMEOUT;

use super::transport::{ServerKind, server_kind};
use crate::import::owner::FileOwner;
use crate::import::variables::{VariableContext, ours};
use crate::import::words;
use crate::install::unwrapped;

type JsonObject = Map<String, Value>;

/// The entry and what is to be said of it; or why it cannot be taken.
pub(super) fn read(
    owner: FileOwner,
    given: &JsonObject,
    context: &VariableContext,
) -> Result<(JsonObject, Vec<String>), String> {
    let Some(spec) = owner.spec() else {
        return Ok((given.clone(), Vec::new()));
    };
    let given = flat(given);
    let kind = server_kind(owner, &spec.entry, &given)?;
    let mut reading =
        Reading { owner, spec, context, rest: given, made: Map::new(), notes: Vec::new() };
    match kind {
        ServerKind::Command => reading.command()?,
        ServerKind::Address { key, declared, taken_for } => {
            reading.address(key, declared, taken_for);
        }
    }
    reading.switches();
    reading.remarks();
    let Reading { mut made, rest, notes, .. } = reading;
    made.extend(rest);
    Ok((made, notes))
}

/// What Zed, Cline's own programs and Continue nest, laid open; a command that is a list, cut into command
/// and arguments.
fn flat(given: &JsonObject) -> JsonObject {
    let mut flat = given.clone();
    if let Some(Value::Array(line)) = given.get("command") {
        let mut line = line.iter().cloned();
        flat.insert("command".to_owned(), line.next().unwrap_or_default());
        flat.insert("args".to_owned(), line.collect());
    }
    if let Some(Value::Object(options)) = flat.get_mut("requestOptions") {
        let headers = options.shift_remove("headers");
        let is_empty = options.is_empty();
        flat.extend(headers.map(|headers| ("headers".to_owned(), headers)));
        if is_empty {
            flat.shift_remove("requestOptions");
        }
    }
    for (outer, inner_name, name) in [("transport", "type", "type"), ("command", "path", "command")]
    {
        if let Some(Value::Object(inner)) = given.get(outer) {
            flat.shift_remove(outer);
            for (key, value) in inner {
                let key = if key == inner_name { name } else { key.as_str() };
                flat.insert(key.to_owned(), value.clone());
            }
        }
    }
    flat
}

/// An entry on its way: what is still to be read, and what has been made of it.
struct Reading<'r> {
    owner: FileOwner,
    spec: &'static ConfigFile,
    context: &'r VariableContext,
    rest: JsonObject,
    made: JsonObject,
    notes: Vec<String>,
}

impl Reading<'_> {
    fn command(&mut self) -> Result<(), String> {
        let own = &self.spec.entry;
        // Dialogs leave empty fields of the other kind behind.
        self.drop_keys(&["type", "transportType"]);
        self.drop_keys(&[words::url(own), words::headers(own)].concat());
        let command = self.take(&words::command(own));
        let command = command.as_ref().and_then(Value::as_str).ok_or("`command` is no text")?;
        let given = self.take(&["args"]);
        let listed = given.as_ref().and_then(Value::as_array).into_iter().flatten();
        let listed: Vec<String> = listed.filter_map(plain).collect();
        let (command, args) = unwrapped(command, listed.iter().map(String::as_str).collect());
        let command = self.ours(command);
        self.put("command", command.into());
        if given.is_some() {
            let args: Vec<Value> = args.into_iter().map(|arg| self.ours(arg).into()).collect();
            self.put("args", args.into());
        }
        let env = self.take(&words::env(own));
        let mut env = self.pairs(env.as_ref());
        self.named_variables(&mut env);
        if !env.is_empty() {
            self.put("env", env.into());
        }
        if let Some(Value::String(cwd)) = self.take(&["cwd"]) {
            let cwd = self.ours(&cwd);
            self.put("cwd", cwd.into());
        }
        Ok(())
    }

    /// Variables that the client sets from its own environment or its keyring.
    fn named_variables(&mut self, env: &mut JsonObject) {
        for (client, spec) in Client::with_config() {
            let Some(words) = &spec.entry.named_variables else { continue };
            let named = self.take(&[words.key]);
            for name in names(named.as_ref()) {
                let unset = if words.keyring { "" } else { ":-" };
                env.entry(&name).or_insert_with(|| format!("${{{name}{unset}}}").into());
                if words.keyring {
                    let title = client.title();
                    self.notes.push(format!(
                        "{title} keeps {name} in the keyring; set it before the start"
                    ));
                }
            }
        }
    }

    fn address(&mut self, key: &str, declared: Option<&str>, taken_for: Option<&str>) {
        let own = &self.spec.entry;
        self.drop_keys(&["type", "transportType", "args", "cwd"]);
        self.drop_keys(&[words::command(own), words::env(own)].concat());
        if let Some(declared) = declared {
            self.put("type", declared.into());
        }
        let url = self.take(&[key]);
        let url = self.ours(url.as_ref().and_then(Value::as_str).unwrap_or_default());
        self.put("url", url.into());
        let headers = self.take(&words::headers(own));
        let mut headers = self.pairs(headers.as_ref());
        let each = words::remote(own, |it| it.header_variables.as_ref().map(|it| it.each));
        if let Some(Value::Object(named)) = self.take(&each) {
            for (header, variable) in &named {
                let variable = variable.as_str().unwrap_or_default();
                headers.insert(header.clone(), format!("${{{variable}}}").into());
            }
        }
        let bearer = words::remote(own, |it| it.header_variables.as_ref().map(|it| it.bearer));
        if let Some(Value::String(variable)) = self.take(&bearer) {
            headers.insert("Authorization".to_owned(), format!("Bearer ${{{variable}}}").into());
        }
        if !headers.is_empty() {
            self.put("headers", headers.into());
        }
        // Trunkline does not look at this: it is for the way back.
        if let Some(taken_for) = taken_for {
            self.put("transportType", taken_for.into());
        }
    }

    /// On or off, which tools, how long.
    fn switches(&mut self) {
        let off = self.take(&["disabled"]) == Some(Value::Bool(true));
        let on = self.take(&["enabled"]);
        if off || on == Some(Value::Bool(false)) {
            self.put("disabled", true.into());
        }
        let own = &self.spec.entry;
        let shown = self.take(&self.shown_keys());
        let nothing = own.tools.none_shown_means_all && shown.as_ref().is_some_and(is_empty);
        let everything = words::keys(own, |words| words.tools.all);
        let names_all = |list: &Value| {
            let items = list.as_array().into_iter().flatten().filter_map(Value::as_str);
            items.into_iter().any(|item| everything.contains(&item))
        };
        let all = nothing || shown.as_ref().is_some_and(names_all);
        if let Some(shown @ Value::Array(_)) = shown.filter(|_| !all) {
            self.put("exposedTools", shown);
        }
        let hidden = self.take(&words::keys(own, |words| words.tools.hidden));
        if let Some(hidden @ Value::Array(_)) = hidden.filter(|hidden| !is_empty(hidden)) {
            self.put("hiddenTools", hidden);
        }
        if let Some(seconds) = self.timeout() {
            self.put(CALL_TIMEOUT.key, number(seconds));
        }
    }

    /// The keys of the tools that are shown. What is a key of this client's own with another meaning, such
    /// as `tools` of Claude Code, is none of them.
    fn shown_keys(&self) -> Vec<&'static str> {
        let own = &self.spec.entry;
        let is_own = |key: &str| {
            own.own.split_whitespace().any(|known| known == key)
                || own.own_shaped.iter().any(|(known, _)| *known == key)
        };
        let keys = words::keys(own, |words| words.tools.shown);
        keys.into_iter().filter(|key| !is_own(key)).collect()
    }

    /// In seconds; clients count in two ways.
    fn timeout(&mut self) -> Option<f64> {
        let words = self.spec.entry.timeout.as_ref()?;
        let given = self.take(&[words.key])?;
        let seconds = given.as_f64()? / words.units_per_second;
        if let Some(longest) = words.longest.filter(|longest| seconds > *longest) {
            self.notes.push(format!(
                "`{}` is in seconds; {seconds} looks like milliseconds and counts as {longest}, as in {}",
                words.key,
                self.owner.title()
            ));
            return Some(longest);
        }
        // Longer or shorter than `callTimeout` may be: the default holds.
        CALL_TIMEOUT.read(&seconds.to_string()).map(|_| seconds)
    }

    /// What the client did and Trunkline does not.
    fn remarks(&mut self) {
        for (key, words) in REMARKS {
            let says = self.rest.get(*key).is_some_and(|value| !is_empty(value));
            if says && self.rest.get(*key) != Some(&Value::Bool(false)) {
                self.notes.push((*words).to_owned());
            }
        }
    }

    /// Names and texts; what is null is not there, as VS Code has it.
    fn pairs(&mut self, given: Option<&Value>) -> JsonObject {
        let given = given.and_then(Value::as_object).into_iter().flatten();
        let texts: Vec<_> = given.filter_map(|(name, value)| Some((name, plain(value)?))).collect();
        texts.into_iter().map(|(name, text)| (name.clone(), self.ours(&text).into())).collect()
    }

    fn ours(&mut self, text: &str) -> String {
        let said = ours(self.owner, text, self.context);
        for note in said.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        said.text
    }

    /// The first of these keys that is there; all of them are done with.
    fn take(&mut self, keys: &[&str]) -> Option<Value> {
        let taken: Vec<Value> =
            keys.iter().filter_map(|key| self.rest.shift_remove(*key)).collect();
        taken.into_iter().next()
    }

    fn drop_keys(&mut self, keys: &[&str]) {
        keys.iter().for_each(|key| drop(self.rest.shift_remove(*key)));
    }

    fn put(&mut self, key: &str, value: Value) {
        self.made.insert(key.to_owned(), value);
    }
}

const REMARKS: &[(&str, &str)] = &[
    (
        "envFile",
        "`envFile` is not read: put its variables into `env`, or set them before the start",
    ),
    ("headersHelper", "headers made by a program are not sent: put them into `headers`"),
    ("http_headers_helper", "headers made by a program are not sent: put them into `headers`"),
    ("sandboxEnabled", "the client runs it in a sandbox; Trunkline does not"),
    ("oauth", "it may want a login: `trunkline login` after the import"),
    ("auth", "it may want a login: `trunkline login` after the import"),
];

/// A text, or a number or flag as it is written.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// `["A", {"name": "B"}]`.
fn names(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    let name = |item: &Value| match item {
        Value::String(name) => Some(name.clone()),
        other => other.get("name")?.as_str().map(str::to_owned),
    };
    items.filter_map(name).collect()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whole where it is.
pub(in crate::import) fn number(value: f64) -> Value {
    let text = format!("{value}");
    match text.parse::<i64>() {
        Ok(whole) => whole.into(),
        Err(_) => Number::from_f64(value).map_or(Value::Null, Value::Number),
    }
}
