//! One client with a key: calls one after the other over one connection, each judged.

use std::time::Duration;

use kit::http::{Ask, Connection};
use kit::platform::Platform;
use kit::streamable::Streamable;
use kit::{mcp, scan};

/// Longer than a call may wait for a server that is away.
const PATIENCE: Duration = Duration::from_secs(90);

/// What a caller got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Its own answer.
    Right,
    /// An error that says so.
    Error(String),
    /// Something else.
    Wrong(String),
    /// Nothing.
    Lost,
}

pub struct Caller<'a> {
    platform: &'a Platform,
    key: &'a str,
    /// Over MCP; without one over REST.
    session: Option<Streamable>,
    connection: Option<Connection>,
}

impl<'a> Caller<'a> {
    pub fn over_mcp(platform: &'a Platform, key: &'a str) -> Self {
        let session = Some(platform.mcp(key));
        Self { platform, key, session, connection: None }
    }

    pub fn over_rest(platform: &'a Platform, key: &'a str) -> Self {
        Self { platform, key, session: None, connection: None }
    }

    /// Has the server echo `number`.
    pub fn call(&mut self, server: &str, number: u64) -> Outcome {
        let (tool, arguments) = (format!("{server}.echo"), format!(r#"{{"n":{number}}}"#));
        let ask = match &self.session {
            Some(session) => {
                let body = mcp::call(&number.to_string(), &tool, &arguments);
                session.dress(Ask::post("/mcp", body))
            }
            None => {
                let bearer = format!("Bearer {}", self.key);
                Platform::call_ask(&tool, &arguments).header("Authorization", &bearer)
            }
        };
        match self.send(&ask) {
            None => Outcome::Lost,
            Some((status, body)) => self.judge(number, status, &body),
        }
    }

    /// Status and message, whichever way it comes.
    fn send(&mut self, ask: &Ask) -> Option<(u16, Vec<u8>)> {
        let address = self.platform.serve().address();
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::try_open(address).ok()?,
        };
        connection.try_send(&ask.bytes(&address.to_string())).ok()?;
        let head = connection.try_head(PATIENCE)?;
        let body = match head.is_stream() {
            true => connection.message(PATIENCE)?.data,
            false => connection.body(PATIENCE),
        };
        if connection.is_free() {
            self.connection = Some(connection);
        }
        Some((head.status, body))
    }

    fn judge(&self, number: u64, status: u16, body: &[u8]) -> Outcome {
        let text = || format!("{status} {}", String::from_utf8_lossy(body));
        let rest = ["structuredContent", "arguments", "n"];
        let over_mcp = ["result", "structuredContent", "arguments", "n"];
        let (echoed, failed) = match &self.session {
            Some(_) => (scan::path(body, &over_mcp), scan::get(body, "error").is_some()),
            None => (scan::path(body, &rest), (500..600).contains(&status)),
        };
        match echoed {
            Some(echoed) if status == 200 && echoed == number.to_string().as_bytes() => {
                Outcome::Right
            }
            None if failed => Outcome::Error(text()),
            _ => Outcome::Wrong(text()),
        }
    }
}
