//! `Insistent`: a client of several replicas that makes a call again, under its key, until it knows what became of it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::http::{Ask, Connection};
use crate::modern::Modern;
use crate::platform::Platform;
use crate::scan;

/// One answer may take so long.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(100);

/// What a client knows of its call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Its own answer.
    Right,
    /// It may have run, and has no answer.
    MayHaveRun(String),
    /// It did not run.
    DidNotRun(String),
    /// Nothing: the connection broke.
    Cut,
    /// What nobody should be told.
    Wrong(String),
}

/// How it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    Rest,
    /// Stateless MCP.
    Mcp,
}

/// Calls `TOOL` with `{"n":NUMBER}`, one call after the other.
#[derive(Debug)]
pub struct Insistent {
    address: SocketAddr,
    bearer: String,
    over: Over,
    modern: Modern,
    connection: Option<Connection>,
}

impl Insistent {
    pub fn new(address: SocketAddr, key: &str, over: Over) -> Self {
        let bearer = format!("Bearer {key}");
        let modern = Modern::http_with(address, "{}", &[("Authorization", &bearer)]);
        Self { address, bearer, over, modern, connection: None }
    }

    /// Makes the call once; under a key, if there is one.
    pub fn once(&mut self, tool: &str, number: u64, key: Option<&str>) -> Told {
        let ask = self.ask(tool, number, key);
        match self.send(&ask) {
            None => Told::Cut,
            Some((status, body)) => self.judge(number, status, &body),
        }
    }

    /// Makes the call until its outcome is known, or so much time has passed.
    pub fn insist(&mut self, tool: &str, number: u64, key: &str, most: Duration) -> Told {
        let begin = Instant::now();
        loop {
            let told = self.once(tool, number, Some(key));
            let is_open = matches!(told, Told::Cut | Told::DidNotRun(_));
            if !is_open || begin.elapsed() > most {
                return told;
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn ask(&self, tool: &str, number: u64, key: Option<&str>) -> Ask {
        let arguments = format!(r#"{{"n":{number}}}"#);
        match self.over {
            Over::Rest => {
                let ask = Platform::call_ask(tool, &arguments);
                let ask = ask.header("Authorization", &self.bearer);
                key.into_iter().fold(ask, |ask, key| ask.header("Idempotency-Key", key))
            }
            Over::Mcp => {
                let meta = key.map(|key| {
                    format!(r#","_meta":{{"trunkline/idempotencyKey":{}}}"#, scan::quote(key))
                });
                let (tool, meta) = (scan::quote(tool), meta.unwrap_or_default());
                self.modern.dress(format!(
                    r#"{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":{tool},"arguments":{arguments}{meta}}}}}"#
                ))
            }
        }
    }

    /// Status and message, whichever way it comes.
    fn send(&mut self, ask: &Ask) -> Option<(u16, Vec<u8>)> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::try_open(self.address).ok()?,
        };
        connection.try_send(&ask.bytes(&self.address.to_string())).ok()?;
        let head = connection.try_head(PATIENCE)?;
        let body = match head.is_stream() {
            true => connection.message(PATIENCE)?.data,
            false => connection.body(PATIENCE),
        };
        if !head.is_stream() && !connection.is_free() {
            return None; // it broke off
        }
        if connection.is_free() && !head.closes() {
            self.connection = Some(connection);
        }
        Some((head.status, body))
    }

    fn judge(&self, number: u64, status: u16, body: &[u8]) -> Told {
        let text = format!("{status} {}", String::from_utf8_lossy(body));
        let echoed: &[&str] = match self.over {
            Over::Rest => &["structuredContent", "arguments", "n"],
            Over::Mcp => &["result", "structuredContent", "arguments", "n"],
        };
        let is_known = |what: &str| text.contains(what);
        match scan::path(body, echoed) {
            Some(echoed) if status == 200 && echoed == number.to_string().as_bytes() => Told::Right,
            Some(_) => Told::Wrong(text),
            None if is_known("Tool not found") || status == 404 => Told::Wrong(text),
            // Of the call that had the key before; this one did not run.
            None if is_known("outcome-unknown") || is_known("-31019") => Told::MayHaveRun(text),
            None if is_known(r#""mayRetry":true"#) || is_known("did not run") => {
                Told::DidNotRun(text)
            }
            None if is_known("may have run") => Told::MayHaveRun(text),
            // The balancer's own: nobody was there to take it; or nobody knows.
            None if status == 503 => Told::DidNotRun(text),
            None if matches!(status, 502 | 504) => Told::Cut,
            None => Told::Wrong(text),
        }
    }
}
