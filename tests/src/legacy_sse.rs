//! An MCP client over HTTP+SSE of 2024-11-05: one stream down, POSTs up.

use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::LIMIT;
use crate::http::{Ask, Connection};
use crate::inbox::Inbox;
use crate::limit::Limit;
use crate::line::Line;
use crate::mcp::Speak;

/// One session. Dropping it closes its stream, which ends it.
#[derive(Debug)]
pub struct LegacySse {
    inbox: Arc<Inbox>,
    stream: Arc<TcpStream>,
    address: SocketAddr,
    endpoint: String,
    headers: Vec<(String, String)>,
    /// POSTs go one after the other, as their order is the order of the messages.
    posts: Mutex<Connection>,
    next_id: AtomicU64,
}

impl LegacySse {
    #[track_caller]
    pub fn open(address: SocketAddr, path: &str) -> Self {
        Self::with_headers(address, path, &[])
    }

    #[track_caller]
    pub fn with_headers(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Self {
        let mut ask = Ask::get(path).header("Accept", "text/event-stream");
        for (name, value) in headers {
            ask = ask.header(name, value);
        }
        let mut connection = Connection::open(address);
        connection.begin(&ask);
        let head = connection.head(LIMIT);
        assert!(head.status == 200 && head.is_stream(), "no stream: {}", head.raw);
        let first = connection.event(LIMIT).expect("a first event");
        assert_eq!(first.name, "endpoint", "{first:?}");
        let endpoint = String::from_utf8_lossy(&first.data).into_owned();
        let inbox = Arc::new(Inbox::default());
        let session = Self {
            inbox: Arc::clone(&inbox),
            stream: connection.handle(),
            address,
            endpoint,
            headers: headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            posts: Mutex::new(Connection::open(address)),
            next_id: AtomicU64::new(1),
        };
        std::thread::spawn(move || {
            while let Some(event) = connection.event(Duration::from_secs(600)) {
                if event.is_message() {
                    inbox.push(Line(event.data));
                }
            }
            inbox.end();
        });
        session
    }

    /// What the first event said.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Path and query to post to.
    pub fn target(&self) -> &str {
        let rest = self.endpoint.trim_start_matches("http://");
        match rest.len() == self.endpoint.len() {
            true => &self.endpoint,
            false => &rest[rest.find('/').unwrap_or(0)..],
        }
    }

    /// Closes the stream, as a client does that goes away.
    pub fn close(&self) {
        drop(self.stream.shutdown(Shutdown::Both));
    }

    /// Has the server ended the stream?
    pub fn has_ended(&self, limit: impl Into<Limit>) -> bool {
        self.inbox.ended(limit)
    }

    /// Posts a message; the status of the answer.
    #[track_caller]
    pub fn post(&self, body: impl Into<Vec<u8>>) -> u16 {
        let mut ask = Ask::post(self.target(), body);
        for (name, value) in &self.headers {
            ask = ask.header(name, value);
        }
        let mut posts = self.posts.lock().expect("no holder panics");
        let bytes = ask.bytes(&self.address.to_string());
        let response = posts.try_send(&bytes).ok().and_then(|()| posts.try_response(LIMIT));
        match response {
            Some(response) => response.status(),
            None => {
                *posts = Connection::open(self.address);
                posts.ask(&ask).status()
            }
        }
    }
}

impl Speak for LegacySse {
    fn send_line(&self, line: impl Into<Vec<u8>>) {
        let status = self.post(line);
        if status != 202 {
            self.inbox.complain(format!("status {status} for a message"));
        }
    }

    fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    fn fresh_id(&self) -> String {
        self.next_id.fetch_add(1, Ordering::Relaxed).to_string()
    }

    fn separator(&self) -> &'static str {
        "."
    }

    fn describe(&self) -> String {
        format!("-- {}: {}", self.endpoint, self.inbox.describe())
    }
}

impl Drop for LegacySse {
    fn drop(&mut self) {
        self.close();
    }
}
