//! The platform's REST API as the driver uses it: one connection that stays open, one request at a time.

use super::connection::excerpt;
use super::post::malformed;
use super::process;
use crate::http::Inbox;
use serde_json::{Value, json};
use std::io::Write;
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

pub(super) const SERVERS: &str = "/api/v1/aggregator/servers";
const TOOLS: &str = "/api/v1/tools";
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at the same thing.
const PAUSE: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(super) struct Rest {
    stream: TcpStream,
    inbox: Inbox,
    /// What every request has behind its first line.
    head: String,
}

impl Rest {
    /// A connection to this machine's `port` with this token.
    pub(super) fn to(port: u16, token: &str) -> Result<Self, String> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
        let stream = stream.map_err(|error| format!("no connection: {error}"))?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let head = format!(
            "host: 127.0.0.1:{port}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n"
        );
        Ok(Self { stream, inbox: Inbox::default(), head })
    }

    /// The body of the answer, which must have this status.
    pub(super) fn ask(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        status: &str,
    ) -> Result<&[u8], String> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let (head, length) = (&self.head, body.len());
        let request =
            format!("{method} {path} HTTP/1.1\r\n{head}content-length: {length}\r\n\r\n{body}");
        let sent = self.stream.write_all(request.as_bytes());
        sent.map_err(|error| format!("cannot write to it: {error}"))?;
        let message = loop {
            if let Some(message) = self.inbox.next_message().map_err(malformed)? {
                break message;
            }
            let filled = self.inbox.fill(&self.stream);
            if filled.map_err(|error| format!("cannot read from it: {error}"))? == 0 {
                return Err("it closed the connection".to_owned());
            }
        };
        let bytes = self.inbox.bytes();
        if bytes[message.head.clone()].get(9..12) != Some(status.as_bytes()) {
            let got = excerpt(&bytes[message.head.start..message.body.end]);
            return Err(format!("{method} {path}: not {status} but {got}"));
        }
        Ok(&bytes[message.body])
    }

    pub(super) fn get(&mut self, path: &str) -> Result<&[u8], String> {
        self.ask("GET", path, None, "200")
    }

    /// Makes a key of this role for all tools.
    pub(super) fn make_key(&mut self, role: &str) -> Result<String, String> {
        let body = json!({ "name": "bench", "role": role });
        let made = parse(self.ask("POST", "/api/v1/keys", Some(&body), "201")?)?;
        made["key"].as_str().map(str::to_owned).ok_or_else(|| "no key was made".to_owned())
    }

    /// Registers a server; its id.
    pub(super) fn register(&mut self, body: &Value) -> Result<String, String> {
        let made = parse(self.ask("POST", SERVERS, Some(body), "201")?)?;
        made["id"].as_str().map(str::to_owned).ok_or_else(|| "no id was given".to_owned())
    }

    /// Waits until the server is connected and has this many tools.
    pub(super) fn wait_connected(&mut self, id: &str, tools: usize) -> Result<(), String> {
        let path = format!("{SERVERS}/{id}");
        let mut last = Value::Null;
        let is_connected = self.until(|rest| {
            last = parse(rest.get(&path)?)?;
            Ok(last["status"] == "CONNECTED" && last["tools"] == tools)
        })?;
        if is_connected { Ok(()) } else { Err(format!("it is not connected: {last}")) }
    }

    /// Waits until so many tools are listed.
    pub(super) fn wait_for_tools(&mut self, wanted: usize) -> Result<(), String> {
        let mut total = Value::Null;
        let is_complete = self.until(|rest| {
            total = parse(rest.get(&format!("{TOOLS}?limit=1"))?)?["total"].take();
            Ok(total == wanted)
        })?;
        if is_complete { Ok(()) } else { Err(format!("{total} of {wanted} tools after a minute")) }
    }

    /// Reads all pages of the tools; how many tools and how many bytes they are.
    pub(super) fn list_tools(&mut self) -> Result<(usize, usize), String> {
        let (mut tools, mut size) = (0, 0);
        let mut path = format!("{TOOLS}?limit=1000");
        loop {
            let page = self.get(&path)?;
            tools += memchr::memmem::find_iter(page, b"\"original_name\":").count();
            size += page.len();
            let Some(cursor) = next_cursor(page) else {
                return Ok((tools, size));
            };
            path = format!("{TOOLS}?limit=1000&cursor={cursor}");
        }
    }

    /// Looks again and again; false if it does not become true.
    fn until(
        &mut self,
        mut look: impl FnMut(&mut Self) -> Result<bool, String>,
    ) -> Result<bool, String> {
        let begin = Instant::now();
        while !look(self)? {
            if begin.elapsed() > PATIENCE {
                return Ok(false);
            }
            process::pause(PAUSE);
        }
        Ok(true)
    }
}

fn parse(body: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(body).map_err(|error| format!("{error}: {}", excerpt(body)))
}

/// The cursor of the next page as it stands in a URL. Looked for at both ends only: a parse of the whole page would be
/// timed as if it were the target's.
fn next_cursor(page: &[u8]) -> Option<String> {
    let key = b"\"next_cursor\":\"";
    let ends = [&page[..page.len().min(512)], &page[page.len().saturating_sub(512)..]];
    let behind = ends
        .iter()
        .find_map(|end| memchr::memmem::find(end, key).map(|at| &end[at + key.len()..]))?;
    let cursor = &behind[..memchr::memchr(b'"', behind)?];
    let escaped = |&byte: &u8| match byte {
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    Some(cursor.iter().map(escaped).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_found_at_either_end_of_a_page_and_escaped() {
        let filler = "x".repeat(2000);
        for (page, cursor) in [
            (format!(r#"{{"next_cursor":"a+b","x":"{filler}"}}"#), Some("a%2Bb")),
            (format!(r#"{{"x":"{filler}","next_cursor":"ab"}}"#), Some("ab")),
            (format!(r#"{{"x":"{filler}","next_cursor":null}}"#), None),
            ("{}".to_owned(), None),
        ] {
            assert_eq!(next_cursor(page.as_bytes()).as_deref(), cursor);
        }
    }
}
