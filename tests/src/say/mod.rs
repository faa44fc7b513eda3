//! The words of a script: what a scripted server does when it is called.
//!
//! A behaviour is a list of steps. Text in a step is a template: `@ID@` (the raw id), `@ARGS@`,
//! `@PARAMS@`, `@NAME@`, `@URI@`, `@TOKEN@` (the raw values of the request), `@LINE@` (the request
//! as a JSON string), `@SERVER@`, `@PID@`, `@CWD@`, `@ARGV@`, `@ENV@` (as JSON), `@SESSION@`,
//! `@ANSWER@` (what the client answered last), `@RESPONSES@`, `@STATE@`, `@META@` (raw params of
//! the stateless era). Bytes that no JSON string can hold are given by
//! [`bytes`].
//!
//! Over HTTP a [`line`] is a JSON body when it is the answer and comes first, an event otherwise.

pub mod modern;
pub mod net;

use serde_json::{Value, json};

/// The usual good answer: the arguments come back as they arrived.
pub fn echo() -> Value {
    json!([result(
        r#"{"content":[],"structuredContent":{"from":"@SERVER@","pid":@PID@,"arguments":@ARGS@}}"#
    )])
}

/// The arguments as the whole result.
pub fn mirror() -> Value {
    json!([result("@ARGS@")])
}

/// No answer at all.
pub fn never() -> Value {
    json!([])
}

/// What a well-behaved server answers to this method.
pub fn usual() -> Value {
    json!({ "usual": true })
}

/// Several steps as one behaviour.
pub fn steps<const N: usize>(steps: [Value; N]) -> Value {
    Value::Array(steps.into())
}

/// `result` with these raw bytes.
pub fn result(raw: &str) -> Value {
    json!({ "line": format!(r#"{{"jsonrpc":"2.0","id":@ID@,"result":{raw}}}"#) })
}

/// A plain result that carries `text`.
pub fn text(text: &str) -> Value {
    result(&format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#))
}

/// `error` with these raw bytes.
pub fn error(raw: &str) -> Value {
    json!({ "line": format!(r#"{{"jsonrpc":"2.0","id":@ID@,"error":{raw}}}"#) })
}

/// These bytes and a newline.
pub fn line(template: impl Into<Value>) -> Value {
    json!({ "line": template.into() })
}

/// Exactly these bytes.
pub fn raw(template: impl Into<Value>) -> Value {
    json!({ "write": template.into() })
}

/// Bytes as they are, for use in a list of template parts.
pub fn bytes(bytes: &[u8]) -> Value {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({ "hex": hex })
}

/// The template in pieces of `size` bytes, each in a write of its own.
pub fn pieces(size: usize, template: impl Into<Value>) -> Value {
    json!({ "pieces": { "size": size, "of": template.into() } })
}

/// The template in two writes, cut at the number `at` of the arguments (modulo its length).
pub fn split(template: &str) -> Value {
    json!({ "split": template })
}

/// Waits for `count` requests that reach this step and writes all their lines at once.
pub fn together(count: usize, template: &str) -> Value {
    json!({ "together": { "count": count, "line": template } })
}

/// A result of `bytes` bytes of text; the id stands first or last in the line.
pub fn huge(bytes: usize, id: Place) -> Value {
    json!({ "huge": { "bytes": bytes, "id_first": id == Place::First } })
}

/// Where the id of a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    First,
    Last,
}

/// This many bytes without any newline.
pub fn fill(bytes: usize) -> Value {
    json!({ "fill": bytes })
}

/// A result nested this deep.
pub fn deep(levels: usize) -> Value {
    json!({ "deep": levels })
}

/// This text to stderr.
pub fn stderr(template: &str) -> Value {
    json!({ "stderr": template })
}

/// This many bytes to stderr, in lines.
pub fn stderr_flood(bytes: usize) -> Value {
    json!({ "stderr_flood": bytes })
}

/// Writes one line many times.
pub fn flood(count: usize, template: &str) -> Value {
    json!({ "flood": { "count": count, "line": template } })
}

pub fn exit(code: i32) -> Value {
    json!({ "exit": code })
}

/// A signal to itself: `SEGV`, `KILL`, `TERM` or `STOP`.
pub fn signal(name: &str) -> Value {
    json!({ "signal": name })
}

/// Ends its stdout, and lives on.
pub fn close_stdout() -> Value {
    json!({ "close_stdout": true })
}

/// Never reads stdin again, and lives on.
pub fn stall() -> Value {
    json!({ "stall": true })
}

pub fn pause(milliseconds: u64) -> Value {
    json!({ "sleep_ms": milliseconds })
}

/// Waits until the test opens the gate of this name.
pub fn gate(room: &crate::room::Room, name: &str) -> Value {
    json!({ "gate": room.path(name).to_str() })
}

/// Waits until this request has been cancelled.
pub fn until_cancelled() -> Value {
    json!({ "until_cancelled": true })
}

/// This many progress notifications with the token of the request.
pub fn progress(count: usize) -> Value {
    json!({ "progress": count })
}

/// Sends a request to the client and waits for its answer, which becomes `@ANSWER@`.
pub fn ask(method: &str, params: &str) -> Value {
    json!({ "ask": { "method": method, "params": params } })
}

/// [`ask`] on the stream that belongs to no request (over stdio there is only one).
pub fn push_ask(method: &str, params: &str) -> Value {
    json!({ "push_ask": { "method": method, "params": params } })
}

/// A message that belongs to no request: over HTTP it goes on the GET stream.
pub fn push(template: &str) -> Value {
    json!({ "push": template })
}

/// `notifications/KIND/list_changed` for `tools`, `resources` or `prompts`.
pub fn changed(kind: &str) -> Value {
    push(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/{kind}/list_changed"}}"#))
}

/// `notifications/resources/updated` to everybody who has subscribed to this URI.
pub fn updated(uri: &str) -> Value {
    json!({ "updated": uri })
}

/// `notifications/message` on the way of the answer; in the stateless era only if the request has
/// asked for this level.
pub fn log(level: &str, data: &str) -> Value {
    json!({ "log": { "level": level, "line": message(level, data) } })
}

/// [`log`], asked for or not.
pub fn loud_log(level: &str, data: &str) -> Value {
    line(message(level, data))
}

fn message(level: &str, data: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"{level}","logger":"fake","data":{data}}}}}"#
    )
}

/// These steps the first `count` times, then the others.
pub fn first(count: u64, steps: &Value, then: &Value) -> Value {
    json!({ "first": count, "steps": steps, "then": then })
}

/// These steps the first `count` times, then what a well-behaved server does.
pub fn first_only(count: u64, steps: &Value) -> Value {
    json!({ "first": count, "steps": steps })
}

/// From now on lists these definitions of `tools`, `resources`, `templates` or `prompts`.
pub fn change_list(kind: &str, raw: &[&str]) -> Value {
    json!({ "list": { "kind": kind, "of": raw } })
}

/// From now on lists these definitions.
pub fn change_tools(raw: &[&str]) -> Value {
    json!({ "tools": raw })
}

/// Starts a process that stays: see [`Kin`].
pub fn descend(kin: Kin) -> Value {
    json!({ "descend": {
        "setsid": kin.setsid,
        "double_fork": kin.double_fork,
        "ignore_term": kin.ignore_term,
        "keep_stdout": kin.keep_stdout,
    } })
}

/// What kind of descendant a scripted server starts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Kin {
    /// Leads a session of its own.
    pub setsid: bool,
    /// Its parent is gone at once.
    pub double_fork: bool,
    /// SIGTERM, SIGHUP and SIGINT do nothing.
    pub ignore_term: bool,
    /// Holds the server's stdout open.
    pub keep_stdout: bool,
}

/// The raw definition of a tool that takes anything.
pub fn definition(name: &str) -> String {
    format!(r#"{{"name":{},"inputSchema":{{"type":"object"}}}}"#, crate::scan::quote(name))
}

/// The raw definition of a resource.
pub fn resource(uri: &str, name: &str) -> String {
    let (uri, name) = (crate::scan::quote(uri), crate::scan::quote(name));
    format!(r#"{{"uri":{uri},"name":{name},"mimeType":"text/plain"}}"#)
}

/// The raw definition of a template.
pub fn template(uri_template: &str, name: &str) -> String {
    let (uri, name) = (crate::scan::quote(uri_template), crate::scan::quote(name));
    format!(r#"{{"uriTemplate":{uri},"name":{name}}}"#)
}

/// The raw definition of a prompt with one argument.
pub fn prompt(name: &str, description: &str) -> String {
    let (name, description) = (crate::scan::quote(name), crate::scan::quote(description));
    format!(
        r#"{{"name":{name},"description":{description},"arguments":[{{"name":"topic","required":false}}]}}"#
    )
}

/// The content of a resource: who was asked for which URI.
pub fn content() -> Value {
    json!([result(
        r#"{"contents":[{"uri":@URI@,"mimeType":"text/plain","text":"from @SERVER@"}],"x":1.0}"#
    )])
}

/// The messages of a prompt: who was asked with which arguments.
pub fn messages() -> Value {
    json!([result(
        r#"{"description":"from @SERVER@","messages":[{"role":"user","content":{"type":"text","text":@NAME@}}],"arguments":@ARGS@}"#
    )])
}
