//! One client, with a key or without Trunkline: calls one after the other over one connection, each
//! judged.

use std::net::SocketAddr;
use std::time::Duration;

use kit::http::{Ask, Connection};
use kit::mcp::Speak as _;
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
    /// Who is asked.
    address: SocketAddr,
    way: Way<'a>,
    connection: Option<Connection>,
}

/// How it asks.
enum Way<'a> {
    /// The platform, over MCP.
    Mcp(Streamable),
    /// The platform, over REST, with this key.
    Rest(&'a str),
    /// A server itself, over MCP.
    Direct(Streamable),
}

impl<'a> Caller<'a> {
    pub fn over_mcp(platform: &Platform, key: &str) -> Self {
        Self::new(platform.serve().address(), Way::Mcp(platform.mcp(key)))
    }

    pub fn over_rest(platform: &Platform, key: &'a str) -> Self {
        Self::new(platform.serve().address(), Way::Rest(key))
    }

    pub fn direct(server: SocketAddr) -> Self {
        let session = Streamable::new(server, "/mcp");
        session.initialize("2025-11-25").result();
        Self::new(server, Way::Direct(session))
    }

    fn new(address: SocketAddr, way: Way<'a>) -> Self {
        Self { address, way, connection: None }
    }

    /// Has the server echo `number`.
    pub fn call(&mut self, server: &str, number: u64) -> Outcome {
        let (tool, arguments) = (format!("{server}.echo"), format!(r#"{{"n":{number}}}"#));
        let post = |session: &Streamable, tool: &str| {
            let body = mcp::call(&number.to_string(), tool, &arguments);
            session.dress(Ask::post("/mcp", body))
        };
        let ask = match &self.way {
            Way::Mcp(session) => post(session, &tool),
            Way::Direct(session) => post(session, "echo"),
            Way::Rest(key) => {
                let bearer = format!("Bearer {key}");
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
        if connection.is_free() {
            self.connection = Some(connection);
        }
        Some((head.status, body))
    }

    fn judge(&self, number: u64, status: u16, body: &[u8]) -> Outcome {
        let text = || format!("{status} {}", String::from_utf8_lossy(body));
        let rest = ["structuredContent", "arguments", "n"];
        let over_mcp = ["result", "structuredContent", "arguments", "n"];
        let (echoed, failed) = match &self.way {
            Way::Mcp(_) | Way::Direct(_) => {
                (scan::path(body, &over_mcp), scan::get(body, "error").is_some())
            }
            Way::Rest(_) => (scan::path(body, &rest), (500..600).contains(&status)),
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
