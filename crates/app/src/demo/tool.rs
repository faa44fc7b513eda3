//! What a demo server offers, and what comes of a call. Plain data: the protocol is `server`'s.

use std::time::Duration;

use serde_json::{Value, json};

/// A server, but for the protocol.
pub(super) trait Demo {
    /// What clients tell their model about it.
    fn instructions(&self) -> &'static str;

    /// The definitions of its tools.
    fn tools(&self) -> Value;

    /// What comes of calling a tool; with the answer, once something has been asked. `None`: there is
    /// no such tool.
    fn call(
        &mut self,
        tool: &str,
        arguments: &Arguments<'_>,
        answer: Option<&Value>,
    ) -> Option<ToolOutcome>;

    fn resources(&self) -> Vec<Value> {
        Vec::new()
    }

    fn templates(&self) -> Vec<Value> {
        Vec::new()
    }

    /// The text of a resource and what kind it is of.
    fn read(&self, _uri: &str) -> Option<(&'static str, String)> {
        None
    }

    fn prompts(&self) -> Vec<Value> {
        Vec::new()
    }

    /// The text of a prompt.
    fn prompt(&self, _name: &str, _arguments: &Arguments<'_>) -> Option<String> {
        None
    }

    /// What an argument that has been begun may become.
    fn completions(&self, _argument: &str) -> Vec<&'static str> {
        Vec::new()
    }

    /// How long it takes to start.
    fn start(&self) -> Duration {
        Duration::ZERO
    }
}

#[derive(Debug, PartialEq)]
pub(super) enum ToolOutcome {
    /// The result.
    Done(Value),
    /// The result, and there are other resources now.
    Changed(Value),
    /// Something has to be asked first.
    Ask(DemoQuestion),
    /// The result, after so many steps.
    Slow { steps: u32, each: Duration, then: Value },
    /// No answer ever.
    Silence,
    /// The process ends, with these last words.
    Crash(&'static str),
}

/// A form for the person at the client.
#[derive(Debug, PartialEq)]
pub(super) struct DemoQuestion {
    pub(super) message: String,
    pub(super) schema: Value,
}

/// The arguments of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arguments<'a>(pub(super) Option<&'a Value>);

impl<'a> Arguments<'a> {
    fn get(self, name: &str) -> Option<&'a Value> {
        self.0?.get(name)
    }

    /// A text with something in it.
    pub(super) fn text(self, name: &str) -> Option<&'a str> {
        self.get(name)?.as_str().map(str::trim).filter(|text| !text.is_empty())
    }

    pub(super) fn whole(self, name: &str) -> Option<i64> {
        self.get(name)?.as_i64()
    }

    pub(super) fn number(self, name: &str) -> Option<f64> {
        self.get(name)?.as_f64()
    }

    /// The texts of an array.
    pub(super) fn texts(self, name: &str) -> Vec<String> {
        let items = self.get(name).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
    }
}

pub(super) fn text(text: impl Into<String>) -> Value {
    json!({ "content": [{ "type": "text", "text": text.into() }] })
}

/// A failure that the model can read.
pub(super) fn failed(why: impl Into<String>) -> Value {
    json!({ "content": [{ "type": "text", "text": why.into() }], "isError": true })
}

/// A result as a value and as text: clients read one or the other.
pub(super) fn structured(value: &Value) -> Value {
    let text = value.to_string();
    json!({ "content": [{ "type": "text", "text": text }], "structuredContent": value })
}

/// The definition of a tool that changes nothing.
pub(super) fn reads(name: &str, title: &str, description: &str, input: Value) -> Value {
    let hints = json!({ "title": title, "readOnlyHint": true, "openWorldHint": false });
    tool(name, title, description, input, hints)
}

pub(super) fn tool(
    name: &str,
    title: &str,
    description: &str,
    input: Value,
    annotations: Value,
) -> Value {
    let members = [
        ("name", name.into()),
        ("title", title.into()),
        ("description", description.into()),
        ("inputSchema", input),
        ("annotations", annotations),
    ];
    members.into_iter().collect()
}

/// The schema of an object with these properties, of which some are needed.
pub(super) fn object(properties: Value, needed: &[&str]) -> Value {
    let members = [
        ("type", "object".into()),
        ("properties", properties),
        ("required", json!(needed)),
        ("additionalProperties", false.into()),
    ];
    members.into_iter().collect()
}
