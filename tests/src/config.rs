//! Writing the script of a scripted server and its entry in `mcpServers`.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::pace::Pace;
use crate::room::{MARK, Room};
use crate::service::{Service, Wire};
use crate::{bin, say};

/// How the gateway reaches a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upstream {
    Stdio,
    Http,
    Sse,
    /// stdio in the stateless era
    ModernStdio,
    /// Streamable HTTP in the stateless era
    ModernHttp,
}

impl Upstream {
    /// All of the older era.
    pub const ALL: [Self; 3] = [Self::Stdio, Self::Http, Self::Sse];
    pub const NETWORK: [Self; 2] = [Self::Http, Self::Sse];
    /// All of the stateless era.
    pub const MODERN: [Self; 2] = [Self::ModernStdio, Self::ModernHttp];

    pub fn is_modern(self) -> bool {
        Self::MODERN.contains(&self)
    }

    pub fn is_stdio(self) -> bool {
        matches!(self, Self::Stdio | Self::ModernStdio)
    }
}

/// A scripted server in the making. Every one keeps a ledger.
#[derive(Debug)]
pub struct Fake<'a> {
    room: &'a Room,
    name: String,
    script: Map<String, Value>,
    env: Map<String, Value>,
    ignoring_term: bool,
    behind_a_shell: bool,
}

impl<'a> Fake<'a> {
    pub(crate) fn new(room: &'a Room, name: &str) -> Self {
        let mut script = Map::new();
        script.insert("name".into(), name.into());
        script.insert("ledger".into(), room.ledger(name).to_str().into());
        script.insert("calls".into(), json!({}));
        let mut env = Map::new();
        env.insert(MARK.into(), room.marker().into());
        Self {
            room,
            name: name.to_owned(),
            script,
            env,
            ignoring_term: false,
            behind_a_shell: false,
        }
    }

    /// A tool and what happens when it is called (see [`crate::say`]); `*` stands for any name that
    /// has no behaviour of its own, and is not listed.
    pub fn tool(mut self, name: &str, steps: Value) -> Self {
        self.script["calls"][name] = steps;
        self
    }

    /// What happens on another method, or on `initialize` and `tools/list` instead of the usual.
    pub fn on(self, method: &str, steps: Value) -> Self {
        let mut table = self.script.get("on").cloned().unwrap_or_else(|| json!({}));
        table[method] = steps;
        self.set("on", table)
    }

    /// What happens before the first message is read.
    pub fn at_start(self, steps: Value) -> Self {
        self.set("start", steps)
    }

    /// Answers `initialize` with this revision instead of the one asked for.
    pub fn version(self, version: &str) -> Self {
        self.set("version", version)
    }

    /// The raw definitions to list, verbatim; without them every tool with a behaviour is listed.
    pub fn definitions(self, raw: &[&str]) -> Self {
        self.set("tools", raw.to_vec())
    }

    /// Pages of definitions: `[{"at": null, "tools": [raw…], "next": "c1"}, …]`.
    pub fn pages(self, pages: Value) -> Self {
        self.set("pages", pages)
    }

    /// One set of pages per sweep; the last one stays.
    pub fn sweeps(self, sweeps: Value) -> Self {
        self.set("sweeps", sweeps)
    }

    /// `count` tools called `t0`, `t1` … over pages of `per_page`; `count` 0 never ends.
    pub fn generated(self, count: usize, per_page: usize) -> Self {
        self.set("generate", json!({ "count": count, "per_page": per_page }))
    }

    /// What happens when another kind of thing is asked for: `reads` by URI, `gets` by prompt.
    fn behaviour(self, table: &str, key: &str, steps: Value) -> Self {
        let mut all = self.script.get(table).cloned().unwrap_or_else(|| json!({}));
        all[key] = steps;
        self.set(table, all)
    }

    fn listed(self, kind: &str, raw: String) -> Self {
        let mut lists = self.script.get("lists").cloned().unwrap_or_else(|| json!({}));
        match lists.get_mut(kind).and_then(Value::as_array_mut) {
            Some(list) => list.push(raw.into()),
            None => lists[kind] = json!([raw]),
        }
        self.set("lists", lists)
    }

    /// A resource that answers [`say::content`].
    pub fn resource(self, uri: &str, name: &str) -> Self {
        self.listed("resources", say::resource(uri, name)).read(uri, say::content())
    }

    /// What happens when this URI is read; `*` stands for any that has no behaviour of its own.
    pub fn read(self, uri: &str, steps: Value) -> Self {
        self.behaviour("reads", uri, steps)
    }

    /// A template; what it expands to is read with [`say::content`].
    pub fn template(self, uri_template: &str, name: &str) -> Self {
        self.listed("templates", say::template(uri_template, name)).read("*", say::content())
    }

    /// A prompt that answers [`say::messages`].
    pub fn prompt(self, name: &str, description: &str) -> Self {
        let listed = self.listed("prompts", say::prompt(name, description));
        listed.behaviour("gets", name, say::messages())
    }

    /// What happens when this prompt is asked for; it is not listed by this.
    pub fn get(self, prompt: &str, steps: Value) -> Self {
        self.behaviour("gets", prompt, steps)
    }

    /// The raw definitions (or pages: `[{"at": null, "items": […], "next": "c"}]`) of
    /// `resources`, `templates` or `prompts`.
    pub fn list(self, kind: &str, raw: Value) -> Self {
        let mut lists = self.script.get("lists").cloned().unwrap_or_else(|| json!({}));
        lists[kind] = raw;
        self.set("lists", lists)
    }

    /// Answers `completion/complete` with its own name.
    pub fn completions(self) -> Self {
        self.set("completions", true)
    }

    /// Takes `logging/setLevel`.
    pub fn logging(self) -> Self {
        self.set("logging", true)
    }

    /// The raw `capabilities`; without them they follow from what the script offers.
    pub fn capabilities(self, raw: &str) -> Self {
        self.set("capabilities", raw)
    }

    /// The raw `serverInfo`.
    pub fn info(self, raw: &str) -> Self {
        self.set("info", raw)
    }

    pub fn instructions(self, text: &str) -> Self {
        self.set("instructions", text)
    }

    /// What the server does of its own accord, beside its work.
    pub fn meanwhile(self, steps: Value) -> Self {
        self.set("meanwhile", steps)
    }

    /// How it behaves over HTTP: `reply` (`"sse"`: always a stream), `events` (true: with ids),
    /// `prime` (true: an empty event first), `sessions` (false: none), `get` (false: 405),
    /// `close_each` (`"announced"`, `"silent"`), `endpoint` (legacy: what the first event says),
    /// `refusal` (the body for a request without a session).
    pub fn http(self, options: Value) -> Self {
        self.set("http", options)
    }

    /// Reads what is sent to it at this pace.
    pub fn reading(self, pace: Pace) -> Self {
        self.set("read", pace.script())
    }

    /// Writes nothing down: for what would fill a disk.
    pub fn without_ledger(mut self) -> Self {
        self.script.remove("ledger");
        self
    }

    /// Goes on after stdin has ended.
    pub fn ignoring_eof(self) -> Self {
        self.set("ignore_eof", true)
    }

    /// Started by a shell that has told SIGTERM, SIGHUP and SIGINT to be ignored.
    pub fn ignoring_term(mut self) -> Self {
        self.ignoring_term = true;
        self
    }

    /// Stays behind a shell, as `npx` and `uvx` leave their wrappers in between.
    pub fn behind_a_shell(mut self) -> Self {
        self.behind_a_shell = true;
        self
    }

    /// A variable in the config's `env`.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Speaks the stateless era and nothing else.
    pub fn modern(self) -> Self {
        self.set("era", "modern")
    }

    /// Speaks both eras. A process on a pipe stays with the one it was opened in, as the official
    /// Python servers do; over HTTP every request chooses.
    pub fn dual(self) -> Self {
        self.set("era", "first")
    }

    /// The raw `supportedVersions` it discovers.
    pub fn versions(self, raw: &str) -> Self {
        self.set("versions", raw)
    }

    /// The cache hints of lists and reads in the stateless era.
    pub fn cache(self, ttl_ms: u64, scope: &str) -> Self {
        self.set("cache", format!(r#""ttlMs":{ttl_ms},"cacheScope":"{scope}""#))
    }

    /// Starts it over the network.
    pub fn listen(self, wire: Wire) -> Service {
        let script = self.write();
        Service::start(self.room, &self.name, &script, wire)
    }

    /// The server's entry over any transport; over the network it is started, and ends with the
    /// room.
    pub fn over(self, upstream: Upstream) -> Value {
        let wire = match upstream {
            Upstream::Stdio => return self.entry(),
            Upstream::ModernStdio => return self.modern().entry(),
            Upstream::ModernHttp => return self.modern().over(Upstream::Http),
            Upstream::Http => Wire::Http,
            Upstream::Sse => Wire::Sse,
        };
        let room = self.room;
        let service = self.listen(wire);
        let entry = service.entry();
        room.keep(service);
        entry
    }

    fn write(&self) -> PathBuf {
        let file = format!("{}.script.json", self.name);
        self.room.write(&file, Value::Object(self.script.clone()).to_string())
    }

    /// Writes the script; the result is the server's entry.
    pub fn entry(self) -> Value {
        let script = self.write();
        let program = bin::fake_mcp();
        let (program, script) = (program.to_str(), script.to_str());
        let wrapper = match (self.ignoring_term, self.behind_a_shell) {
            (false, false) => {
                return json!({ "command": program, "args": ["--script", script], "env": self.env });
            }
            (true, false) => r#"trap '' TERM HUP INT; exec "$0" "$@""#,
            (false, true) => r#""$0" "$@"; exit $?"#,
            (true, true) => r#"trap '' TERM HUP INT; "$0" "$@"; exit $?"#,
        };
        let args = json!(["-c", wrapper, program, "--script", script]);
        json!({ "command": "/bin/sh", "args": args, "env": self.env })
    }

    fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.script.insert(key.to_owned(), value.into());
        self
    }
}
