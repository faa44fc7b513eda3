//! One server in the words of a client: the way back from `read`.

use serde_json::{Map, Value};
use trunkline_catalog::client::{ConfigFile, RemoteWords, Switch, ValueShape};

use crate::import::owner::FileOwner;
use crate::import::read::number;
use crate::import::variables::{only_reference, theirs};

type JsonObject = Map<String, Value>;

/// The client's entry and what it cannot say; or why the client cannot have this server.
pub(super) fn write(
    owner: FileOwner,
    name: &str,
    server: &JsonObject,
) -> Result<(JsonObject, Vec<String>), String> {
    let Some(spec) = owner.spec() else {
        return Ok((server.clone(), Vec::new()));
    };
    let mut writing = Writing { owner, spec, server, made: Map::new(), notes: Vec::new() };
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
    owner: FileOwner,
    spec: &'static ConfigFile,
    server: &'w JsonObject,
    made: JsonObject,
    notes: Vec<String>,
}

impl Writing<'_> {
    fn command(&mut self, name: &str) {
        let words = &self.spec.entry;
        self.head(words.transport.stdio, name);
        let command = Value::from(self.text("command"));
        let args = self.server.get("args").and_then(Value::as_array);
        let args = args.map(|args| {
            args.iter().filter_map(Value::as_str).map(|arg| self.theirs(arg).into()).collect()
        });
        match args {
            args if words.command_is_list => {
                let line = [vec![command], args.unwrap_or_default()].concat();
                self.put(words.command, line.into());
            }
            Some(args) => {
                self.put(words.command, command);
                self.put("args", args.into());
            }
            None => self.put(words.command, command),
        }
        self.env();
        match self.server.contains_key("cwd") {
            true if words.cwd => {
                let cwd = self.text("cwd");
                self.put("cwd", cwd.into());
            }
            true => {
                self.notes.push(format!("{} cannot set the folder (`cwd`)", self.owner.title()));
            }
            false => {}
        }
    }

    /// What the entry starts with.
    fn head(&mut self, kind: Option<&str>, name: &str) {
        if let Some(kind) = kind {
            self.put("type", kind.into());
        }
        if self.spec.entry.named {
            self.put("name", name.into());
        }
    }

    /// Some clients name variables instead of referring to them.
    fn env(&mut self) {
        let words = &self.spec.entry;
        let by_name = words.named_variables.as_ref();
        let (mut env, mut named) = (Map::new(), Vec::new());
        for (name, value) in self.server.get("env").and_then(Value::as_object).into_iter().flatten()
        {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            if by_name.is_some() && only_reference(&text) == Some(name) {
                named.push(Value::from(name.as_str()));
            } else {
                let text = self.theirs(&text);
                env.insert(name.clone(), text.into());
            }
        }
        if !env.is_empty() {
            self.put(words.env, env.into());
        }
        if let Some(words) = by_name.filter(|_| !named.is_empty()) {
            self.put(words.key, named.into());
        }
    }

    fn address(&mut self, name: &str) -> Result<(), String> {
        let title = self.owner.title();
        let words = &self.spec.entry.transport;
        let Some(remote) = &self.spec.entry.remote else {
            return Err(format!("{title}'s file takes commands only"));
        };
        let declared = self.server.get("type").and_then(Value::as_str);
        let hint = self.server.get("transportType").and_then(Value::as_str);
        let is_sse = declared == Some("sse");
        if is_sse && !remote.speaks_sse {
            return Err(format!("{title} does not speak SSE any more"));
        }
        let unsaid_sse = remote.untyped_is_sse && declared.is_none() && hint == Some("sse");
        let kind = match is_sse {
            _ if unsaid_sse => None,
            true => words.sse,
            false => words.http,
        };
        self.head(kind, name);
        let key = remote.http_url.filter(|_| !is_sse && !unsaid_sse).unwrap_or(remote.url);
        let url = self.text("url");
        self.put(key, url.into());
        self.headers(remote);
        Ok(())
    }

    fn headers(&mut self, words: &RemoteWords) {
        let by_name = words.header_variables.as_ref();
        let (mut headers, mut named) = (Map::new(), Map::new());
        for (name, value) in
            self.server.get("headers").and_then(Value::as_object).into_iter().flatten()
        {
            let Some(text) = value.as_str() else { continue };
            let bearer = text.strip_prefix("Bearer ").and_then(only_reference);
            let bearer = bearer.filter(|_| name.eq_ignore_ascii_case("Authorization"));
            match (by_name, bearer, only_reference(text)) {
                (Some(words), Some(variable), _) => self.put(words.bearer, variable.into()),
                (Some(_), None, Some(variable)) => {
                    named.insert(name.clone(), variable.into());
                }
                _ => {
                    let text = self.theirs(text);
                    headers.insert(name.clone(), text.into());
                }
            }
        }
        if !headers.is_empty() {
            self.put(words.headers, headers.into());
        }
        if let Some(words) = by_name.filter(|_| !named.is_empty()) {
            self.put(words.each, named.into());
        }
    }

    fn switches(&mut self) {
        let (title, words) = (self.owner.title(), &self.spec.entry);
        let is_off = self.server.get("disabled") == Some(&Value::Bool(true));
        match words.switch {
            Switch::EnabledAlways => self.put("enabled", (!is_off).into()),
            Switch::Enabled if is_off => self.put("enabled", false.into()),
            Switch::Disabled if is_off => self.put("disabled", true.into()),
            Switch::None if is_off => self.notes.push(format!(
                "{title} cannot switch a server off in its file; this one is off in Trunkline"
            )),
            Switch::None | Switch::Enabled | Switch::Disabled => {}
        }
        if let (Some(key), Some(all)) = (words.tools.shown, words.tools.all) {
            self.put(key, vec![all].into());
        }
        let lists = [("exposedTools", words.tools.shown), ("hiddenTools", words.tools.hidden)];
        for (ours, theirs) in lists {
            match (self.server.get(ours).cloned(), theirs) {
                (Some(tools), Some(theirs)) => self.put(theirs, tools),
                (Some(_), None) => self.notes.push(format!("{title} cannot say `{ours}`")),
                (None, _) => {}
            }
        }
        match (self.server.get("callTimeout").and_then(Value::as_f64), &words.timeout) {
            (Some(seconds), Some(words)) => {
                let units = seconds * words.units_per_second;
                // Milliseconds are whole numbers everywhere.
                let units = if words.units_per_second > 1.0 { units.round() } else { units };
                self.put(words.key, number(units));
            }
            (Some(_), None) => self.notes.push(format!("{title} cannot say `callTimeout`")),
            (None, _) => {}
        }
    }

    /// What only this client knows, kept since the import.
    fn own(&mut self) {
        let words = &self.spec.entry;
        for key in words.own.split_whitespace() {
            if let Some(value) = self.server.get(key) {
                self.put(key, value.clone());
            }
        }
        for (key, shape) in words.own_shaped {
            if let Some(value) = self.server.get(*key).filter(|value| is_shaped(value, *shape)) {
                self.put(key, value.clone());
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

fn is_shaped(value: &Value, shape: ValueShape) -> bool {
    match shape {
        ValueShape::Text => value.is_string(),
        ValueShape::Object => value.is_object(),
        ValueShape::With(members) => members.iter().any(|member| value.get(member).is_some()),
    }
}
