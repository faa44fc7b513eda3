//! The gateway's process, spoken to on its stdin and stdout in either era.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::answers;
use crate::era::Era;

#[derive(Debug)]
pub(super) struct Session {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    era: Era,
    last: u64,
    /// What has come before it was waited for.
    answers: BTreeMap<u64, Value>,
    /// What the gateway says it offers.
    capabilities: Value,
}

impl Session {
    pub(super) fn open(program: &Path, config: &Path, era: Era) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.arg("--config").arg(config).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            return Err("no pipes".to_owned());
        };
        let lines = BufReader::new(stdout).lines();
        let (answers, capabilities) = (BTreeMap::new(), Value::Null);
        let mut session = Self { child, stdin, lines, era, last: 0, answers, capabilities };
        session.greet()?;
        Ok(session)
    }

    /// Ends the process and waits for it: the suite's server waits for its connections.
    pub(super) fn close(self) -> Result<(), String> {
        let Self { mut child, stdin, .. } = self;
        drop(stdin);
        child.wait().map(drop).map_err(|error| error.to_string())
    }

    fn greet(&mut self) -> Result<(), String> {
        let greeting = if self.era == Era::Modern {
            self.ask("server/discover", json!({}))?
        } else {
            let params = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": capabilities(),
                "clientInfo": client_info(),
            });
            let greeting = self.ask("initialize", params)?;
            self.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
            greeting
        };
        self.capabilities = greeting.get("capabilities").cloned().unwrap_or_default();
        Ok(())
    }

    /// Everything of this kind; nothing where the gateway has no such kind.
    pub(super) fn list(&mut self, kind: &str) -> Result<Vec<Value>, String> {
        if self.capabilities.get(kind).is_none() {
            return Ok(Vec::new());
        }
        let listed = self.ask(&format!("{kind}/list"), json!({}))?;
        let listed = listed.get(kind).and_then(Value::as_array).cloned();
        listed.ok_or_else(|| format!("{kind}/list: no list"))
    }

    pub(super) fn ask(&mut self, method: &str, params: Value) -> Result<Value, String> {
        let id = self.send(method, params)?;
        self.answer(id).map_err(|error| format!("{method}: {error}"))
    }

    /// Sends a request; its id is what its answer is waited for with.
    pub(super) fn send(&mut self, method: &str, params: Value) -> Result<u64, String> {
        self.last += 1;
        let mut params = params;
        if let (Era::Modern, Some(params)) = (self.era, params.as_object_mut()) {
            params.insert("_meta".to_owned(), meta());
        }
        let id = self.last;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        Ok(id)
    }

    /// The result of a request. What the gateway asks meanwhile is answered.
    pub(super) fn answer(&mut self, id: u64) -> Result<Value, String> {
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                let result = answer.get("result").cloned();
                return result.ok_or_else(|| answer.to_string());
            }
            let line = self.lines.next().ok_or("the gateway has ended")?;
            let line = line.map_err(|error| error.to_string())?;
            let message: Value =
                serde_json::from_str(&line).map_err(|error| format!("{line}: {error}"))?;
            self.take(&message)?;
        }
    }

    fn take(&mut self, message: &Value) -> Result<(), String> {
        let id = message.get("id");
        match (message.get("method").and_then(Value::as_str), id) {
            (Some(method), Some(id)) => {
                if self.era == Era::Modern {
                    return Err(format!("a client without a session was asked: {message}"));
                }
                let params = message.get("params").unwrap_or(&Value::Null);
                let answer = answers::to_question(method, params);
                let answer = answer.ok_or_else(|| format!("cannot answer {message}"))?;
                self.write(&json!({ "jsonrpc": "2.0", "id": id, "result": answer }))
            }
            (Some(_), None) => Ok(()),
            (None, id) => {
                let id = id.and_then(Value::as_u64).ok_or_else(|| format!("whose? {message}"))?;
                self.answers.insert(id, message.clone());
                Ok(())
            }
        }
    }

    fn write(&mut self, message: &Value) -> Result<(), String> {
        let written = writeln!(self.stdin, "{message}").and_then(|()| self.stdin.flush());
        written.map_err(|error| error.to_string())
    }
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": client_info(),
        "io.modelcontextprotocol/clientCapabilities": capabilities(),
    })
}

fn client_info() -> Value {
    json!({ "name": "conformance-client", "version": "1.0.0" })
}

fn capabilities() -> Value {
    json!({ "elicitation": {}, "roots": {}, "sampling": {} })
}
