//! `Draft`: a server as somebody writes it into a form, and the same as the API takes it. Pure.

use serde_json::{Map, Number, Value};
use trunkline_catalog::config::{CALL_SETTINGS, CallSetting};

use crate::api_client::Mistake;
use crate::form::Form;

/// The fields, as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ServerDraft {
    pub(super) name: String,
    pub(super) description: String,
    /// `HTTP`, `SSE` or `STDIO`.
    pub(super) transport: String,
    pub(super) url: String,
    /// `Name: value`, one in each line.
    pub(super) headers: String,
    pub(super) command: String,
    /// One in each line.
    pub(super) args: String,
    /// `NAME=value`, one in each line.
    pub(super) env: String,
    pub(super) cwd: String,
    /// A word, an object as JSON, or nothing: the default.
    pub(super) sandbox: String,
    pub(super) connects: bool,
    pub(super) health_check_url: String,
    /// A word, or nothing: the default.
    pub(super) on_change: String,
    /// The settings of its calls, in their table's order.
    calls: [String; CALL_SETTINGS.len()],
}

/// As the API writes a value that it does not show; sent back, it stays as it is.
const HIDDEN: &str = "***";

impl ServerDraft {
    /// What the form begins with.
    pub(super) fn empty() -> Self {
        Self { transport: "HTTP".to_owned(), connects: true, ..Self::default() }
    }

    pub(super) fn read(form: &Form) -> Self {
        let text = |name: &str| form.get(name).unwrap_or_default().trim().to_owned();
        Self {
            name: text("name"),
            description: text("description"),
            transport: text("transport_type"),
            url: text("url"),
            headers: text("headers"),
            command: text("command"),
            args: text("args"),
            env: text("env"),
            cwd: text("cwd"),
            sandbox: text("sandbox"),
            connects: form.is_ticked("auto_connect"),
            health_check_url: text("health_check_url"),
            on_change: text("on_change"),
            calls: CALL_SETTINGS.each_ref().map(|setting| text(setting.name)),
        }
    }

    /// A server of the API, to be edited.
    pub(super) fn of(server: &Value) -> Self {
        let config = &server["connection_config"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let number = |value: &Value| value.as_number().map(Number::to_string).unwrap_or_default();
        let pairs = |key: &str, joint: &str| {
            let pairs = config[key].as_object().into_iter().flatten();
            let lines = pairs.map(|(name, value)| format!("{name}{joint}{}", text(value)));
            lines.collect::<Vec<_>>().join("\n")
        };
        let args = config["args"].as_array().into_iter().flatten().map(&text);
        Self {
            name: text(&server["name"]),
            description: text(&server["description"]),
            transport: text(&server["transport_type"]),
            url: text(&config["url"]),
            headers: pairs("headers", ": "),
            command: text(&config["command"]),
            args: args.collect::<Vec<_>>().join("\n"),
            env: pairs("env", "="),
            cwd: text(&config["cwd"]),
            sandbox: match &server["sandbox"] {
                Value::Null => String::new(),
                Value::String(word) => word.clone(),
                object => object.to_string(),
            },
            connects: server["auto_connect"] == true,
            health_check_url: text(&server["health_check_url"]),
            on_change: text(&server["on_change"]),
            calls: CALL_SETTINGS.each_ref().map(|setting| number(&server[setting.name])),
        }
    }

    /// Every setting of its calls, with what is written there.
    pub(super) fn calls(&self) -> impl Iterator<Item = (&'static CallSetting, &str)> {
        CALL_SETTINGS.iter().zip(self.calls.iter().map(String::as_str))
    }

    pub(super) fn is_command(&self) -> bool {
        self.transport == "STDIO"
    }

    /// The body of a registration, or what cannot even be sent.
    pub(super) fn registration(&self) -> Result<Value, Vec<Mistake>> {
        let mut body = Map::new();
        body.insert("name".to_owned(), self.name.clone().into());
        body.insert("transport_type".to_owned(), self.transport.clone().into());
        body.insert("connection_config".to_owned(), self.config(None)?);
        body.insert("auto_connect".to_owned(), self.connects.into());
        body.extend(self.optional().filter(|(_, value)| !value.is_null()));
        body.extend(self.walls().filter(|(_, walls)| !walls.is_null()));
        Ok(body.into())
    }

    /// The body of a change: what is empty is taken away, and so is what stood in the lines of `before`
    /// and does not any more.
    pub(super) fn change(&self, before: &Value) -> Result<Value, Vec<Mistake>> {
        let mut body = self.rest(before);
        body.insert("connection_config".to_owned(), self.config(Some(before))?);
        body.extend(self.walls());
        Ok(body.into())
    }

    /// The change of a server without its connection settings, which stay as they are.
    pub(super) fn change_of_rest(&self, before: &Value) -> Value {
        self.rest(before).into()
    }

    fn rest(&self, before: &Value) -> Map<String, Value> {
        let mut body = Map::new();
        body.insert("name".to_owned(), self.name.clone().into());
        body.insert("auto_connect".to_owned(), self.connects.into());
        body.extend(self.optional());
        // As it was shown: with stars, which are no address.
        if self.health_check_url == before["health_check_url"].as_str().unwrap_or_default() {
            body.remove("health_check_url");
        }
        body
    }

    fn optional(&self) -> impl Iterator<Item = (String, Value)> {
        let text = |text: &str| if text.is_empty() { Value::Null } else { text.into() };
        let texts = [
            ("description", text(&self.description)),
            ("health_check_url", text(&self.health_check_url)),
            ("on_change", text(&self.on_change)),
        ];
        let calls = self.calls().map(|(setting, text)| (setting.name, number(text)));
        texts.into_iter().chain(calls).map(|(key, value)| (key.to_owned(), value))
    }

    /// The walls around a command. What is no JSON is left to the API to complain about.
    fn walls(&self) -> Option<(String, Value)> {
        let written = match self.sandbox.as_str() {
            "" => Value::Null,
            object if object.starts_with('{') => {
                serde_json::from_str(object).unwrap_or_else(|_| object.into())
            }
            word => word.into(),
        };
        self.is_command().then(|| ("sandbox".to_owned(), written))
    }

    fn config(&self, before: Option<&Value>) -> Result<Value, Vec<Mistake>> {
        let before = before.map(|before| &before["connection_config"]);
        let mut config = Map::new();
        let mut put = |key: &str, value: Value| drop(config.insert(key.to_owned(), value));
        if self.is_command() {
            put("command", self.command.clone().into());
            put("args", self.args.lines().collect::<Vec<_>>().into());
            put("env", pairs(&self.env, '=', "env", before)?);
            if !self.cwd.is_empty() {
                put("cwd", self.cwd.clone().into());
            } else if before.is_some() {
                put("cwd", Value::Null);
            }
        } else {
            put("url", self.url.clone().into());
            put("headers", pairs(&self.headers, ':', "headers", before)?);
        }
        Ok(config.into())
    }
}

/// A number; what is none is left to the API to complain about, at its place.
fn number(text: &str) -> Value {
    match (text.parse::<u64>(), text.parse::<Number>()) {
        _ if text.is_empty() => Value::Null,
        (Ok(whole), _) => whole.into(),
        (_, Ok(decimal)) => decimal.into(),
        _ => text.into(),
    }
}

/// Lines as an object. Names that stood there before and do not now are taken away.
fn pairs(
    text: &str,
    joint: char,
    key: &str,
    before: Option<&Value>,
) -> Result<Value, Vec<Mistake>> {
    let (mut pairs, mut mistakes) = (Map::new(), Vec::new());
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let number = number + 1;
        let mut wrong = |message: String| {
            let pointer = format!("/connection_config/{key}");
            mistakes.push(Mistake { pointer, message, hint: None });
        };
        match line.split_once(joint) {
            None => wrong(format!("line {number} has no `{joint}`")),
            Some((name, value)) => {
                let name = name.trim().to_owned();
                if pairs.contains_key(&name) {
                    wrong(format!("line {number} names `{name}` again"));
                }
                pairs.insert(name, value.trim().into());
            }
        }
    }
    if let Some(before) = before.and_then(|before| before[key].as_object()) {
        for name in before.keys().filter(|name| !pairs.contains_key(*name)).collect::<Vec<_>>() {
            pairs.insert(name.clone(), Value::Null);
        }
        // Left as it is: not every place takes the stars back.
        pairs.retain(|name, value| *value != HIDDEN || !before.contains_key(name));
    }
    if mistakes.is_empty() { Ok(pairs.into()) } else { Err(mistakes) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn draft(fields: &str) -> ServerDraft {
        ServerDraft::read(&Form::read(fields))
    }

    #[test]
    fn a_form_becomes_a_registration() {
        for (fields, expected) in [
            (
                "name=a&transport_type=HTTP&url=https%3A%2F%2Fh%2Fmcp&headers=&auto_connect=on",
                json!({"name": "a", "transport_type": "HTTP", "auto_connect": true,
                    "connection_config": {"url": "https://h/mcp", "headers": {}}}),
            ),
            (
                "name=b&transport_type=SSE&url=u&headers=A%3A+b%3Ac%0D%0A%0D%0AX-Y%3A&description=d&call_timeout=x",
                json!({"name": "b", "transport_type": "SSE", "auto_connect": false,
                    "connection_config": {"url": "u", "headers": {"A": "b:c", "X-Y": ""}},
                    "description": "d", "call_timeout": "x"}),
            ),
            (
                "name=c&transport_type=STDIO&command=npx&args=-y%0Aa+b&env=K%3Dv%3Dw&max_concurrency=4&call_timeout=0.5",
                json!({"name": "c", "transport_type": "STDIO", "auto_connect": false,
                    "connection_config": {"command": "npx", "args": ["-y", "a b"], "env": {"K": "v=w"}},
                    "call_timeout": 0.5, "max_concurrency": 4}),
            ),
            (
                "name=d&transport_type=STDIO&command=npx&sandbox=strict",
                json!({"name": "d", "transport_type": "STDIO", "auto_connect": false,
                    "connection_config": {"command": "npx", "args": [], "env": {}}, "sandbox": "strict"}),
            ),
            (
                "name=e&transport_type=STDIO&command=npx&sandbox=%7B%22net%22%3Afalse%7D",
                json!({"name": "e", "transport_type": "STDIO", "auto_connect": false,
                    "connection_config": {"command": "npx", "args": [], "env": {}},
                    "sandbox": {"net": false}}),
            ),
            (
                "name=f&transport_type=HTTP&url=u&sandbox=strict",
                json!({"name": "f", "transport_type": "HTTP", "auto_connect": false,
                    "connection_config": {"url": "u", "headers": {}}}),
            ),
        ] {
            assert_eq!(draft(fields).registration(), Ok(expected), "{fields}");
        }
    }

    #[test]
    fn lines_that_cannot_be_read_are_said_with_their_numbers() {
        let mistakes =
            draft("transport_type=HTTP&headers=good%3A1%0Abad%0Agood%3A2").registration();
        let mistakes = mistakes.unwrap_err();
        let said: Vec<_> = mistakes.iter().map(|it| (&*it.pointer, &*it.message)).collect();
        assert_eq!(
            said,
            [
                ("/connection_config/headers", "line 2 has no `:`"),
                ("/connection_config/headers", "line 3 names `good` again"),
            ]
        );
    }

    #[test]
    fn what_was_shown_can_be_sent_back_and_changes_nothing() {
        let server = json!({"name": "a", "description": null, "transport_type": "HTTP",
            "auto_connect": true, "health_check_url": "https://h/?k=***", "call_timeout": 5,
            "connection_config": {"url": "https://h/mcp", "headers": {"A": "***", "B": "***"}}});
        let same = ServerDraft::of(&server);
        assert_eq!(
            same.change(&server),
            Ok(json!({"name": "a", "auto_connect": true, "description": null, "call_timeout": 5,
                "max_concurrency": null, "calls_per_second": null, "burst": null,
                "open_calls": null, "result_bytes_per_minute": null, "on_change": null,
                "connection_config": {"url": "https://h/mcp", "headers": {}}}))
        );
        let other = ServerDraft { headers: "B: new\nC: ***".to_owned(), ..same };
        assert_eq!(
            other.change(&server).unwrap()["connection_config"]["headers"],
            json!({"B": "new", "C": "***", "A": null})
        );
    }
}
