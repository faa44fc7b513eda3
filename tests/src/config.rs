//! Writing the script of a scripted server and its entry in `mcpServers`.

use serde_json::{Map, Value, json};

use crate::bin;
use crate::room::{MARK, Room};

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

    /// Writes the script; the result is the server's entry.
    pub fn entry(self) -> Value {
        let file = format!("{}.script.json", self.name);
        let script = self.room.write(&file, Value::Object(self.script).to_string());
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
