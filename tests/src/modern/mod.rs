//! A client of the stateless era: every request stands for itself, over stdio or HTTP.
//!
//! It takes requests as the tests of the older era write them and stamps them, so that a scenario
//! can be told once and played in both.

pub mod header;
mod posts;
pub mod round;
pub mod stamp;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::client::Client;
use crate::http::{Ask, Connection, Head, Response};
use crate::inbox::Inbox;
use crate::limit::Limit;
use crate::line::Line;
use crate::mcp::Speak;
use crate::{LIMIT, scan};
use posts::Posts;
pub use round::Round;
pub use stamp::{REVISION, Stamp};

/// Dropping it closes what is open and says nothing.
#[derive(Debug)]
pub struct Modern {
    way: Way,
    stamp: Stamp,
    next_id: AtomicU64,
}

#[derive(Debug)]
enum Way {
    /// The gateway is its process.
    Stdio(Box<Client>),
    Http(Arc<Posts>),
}

/// An open `subscriptions/listen`.
#[derive(Debug)]
pub struct Listen {
    /// As spelled.
    pub id: Vec<u8>,
    /// The raw `notifications` of the acknowledgement.
    pub honoured: String,
}

impl Modern {
    /// A client of this process, with these raw capabilities.
    pub fn stdio(process: Client, capabilities: &str) -> Self {
        Self::of(Way::Stdio(Box::new(process)), capabilities)
    }

    /// A client at `/mcp`.
    pub fn http(address: SocketAddr, capabilities: &str) -> Self {
        Self::http_with(address, capabilities, &[])
    }

    /// A client at `/mcp` that sends these headers with every request.
    pub fn http_with(address: SocketAddr, capabilities: &str, headers: &[(&str, &str)]) -> Self {
        let posts = Posts::new(address, "/mcp").sending(headers);
        Self::of(Way::Http(Arc::new(posts)), capabilities)
    }

    fn of(way: Way, capabilities: &str) -> Self {
        Self { way, stamp: Stamp::new(capabilities), next_id: AtomicU64::new(1) }
    }

    /// Makes the client ask for log messages from this level on.
    pub fn with_level(mut self, level: &str) -> Self {
        self.stamp.level = Some(level.to_owned());
        self
    }

    pub fn set_capabilities(&mut self, raw: &str) {
        self.stamp.capabilities = raw.to_owned();
    }

    pub fn set_level(&mut self, level: Option<&str>) {
        self.stamp.level = level.map(str::to_owned);
    }

    /// What its requests carry.
    pub fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    /// The process behind stdio.
    pub fn process(&self) -> Option<&Client> {
        match &self.way {
            Way::Stdio(client) => Some(client),
            Way::Http(_) => None,
        }
    }

    pub fn is_http(&self) -> bool {
        matches!(self.way, Way::Http(_))
    }

    #[track_caller]
    pub fn discover(&self) -> Line {
        self.ask("server/discover", "{}")
    }

    /// Opens a subscription with this raw filter and waits until it is acknowledged.
    #[track_caller]
    pub fn listen(&self, filter: &str) -> Listen {
        let id = self.begin_listen(filter);
        let line = self.event(&id, "notifications/subscriptions/acknowledged", LIMIT);
        let honoured = scan::path(&line.0, &["params", "notifications"]);
        let honoured = honoured.unwrap_or_else(|| panic!("no filter: {line}"));
        Listen { id, honoured: String::from_utf8_lossy(honoured).into_owned() }
    }

    /// Sends `subscriptions/listen`; its id, which is a string as in real clients.
    pub fn begin_listen(&self, filter: &str) -> Vec<u8> {
        let id = format!("\"listen:{}\"", self.fresh_id());
        self.send_line(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{filter}}}}}"#
        ));
        id.into_bytes()
    }

    /// Waits for a notification of this subscription.
    #[track_caller]
    pub fn event(&self, id: &[u8], method: &str, limit: impl Into<Limit>) -> Line {
        let what = format!("{method} for {}", String::from_utf8_lossy(id));
        self.wait_for(&what, limit, |line| line.is_notification(method) && belongs_to(line, id))
    }

    /// A notification of this subscription that is there already.
    pub fn try_event(&self, id: &[u8], method: &str) -> Option<Line> {
        let wanted = |line: &Line| line.is_notification(method) && belongs_to(line, id);
        self.try_wait_for(Duration::ZERO, wanted)
    }

    /// Sends a call and waits for a result that asks.
    #[track_caller]
    pub fn call_asks(&self, tool: &str, arguments: &str) -> Round {
        self.call(tool, arguments).round()
    }

    /// The POST as a well-behaved client sends it, for tests that change it.
    #[track_caller]
    pub fn dress(&self, message: impl AsRef<[u8]>) -> Ask {
        self.posts().dress(&self.stamp.on(message.as_ref()))
    }

    /// Sends this POST on a connection of its own; the whole response.
    #[track_caller]
    pub fn post(&self, ask: &Ask) -> Response {
        self.connect().ask(ask)
    }

    /// A connection, for tests that post one thing after the other on the same.
    #[track_caller]
    pub fn connect(&self) -> Connection {
        Connection::open(self.posts().address())
    }

    /// Sends a request with these headers more; its id.
    #[track_caller]
    pub fn start_with(&self, message: &str, headers: &[(&str, &str)]) -> Vec<u8> {
        let body = self.stamp.on(message.as_bytes());
        let ask = self.posts().dress(&body);
        let ask = headers.iter().fold(ask, |ask, (name, value)| ask.header(name, value));
        self.posts().send(&body, &ask);
        scan::get(&body, "id").unwrap_or_default().to_vec()
    }

    /// The head of the response to a request over HTTP.
    #[track_caller]
    pub fn head_of(&self, id: &[u8]) -> Head {
        let head = self.posts().head_of(id, LIMIT);
        head.unwrap_or_else(|| panic!("no response to {}", String::from_utf8_lossy(id)))
    }

    /// Waits until the response to a request over HTTP has ended.
    #[track_caller]
    pub fn is_over(&self, id: &[u8], limit: impl Into<Limit>) -> bool {
        self.posts().is_over(id, limit)
    }

    #[track_caller]
    fn posts(&self) -> &Arc<Posts> {
        match &self.way {
            Way::Http(posts) => posts,
            Way::Stdio(_) => panic!("a client over HTTP"),
        }
    }
}

/// Does it carry this subscription's id, in the same spelling?
pub fn belongs_to(line: &Line, id: &[u8]) -> bool {
    scan::path(&line.0, &["params", "_meta", stamp::SUBSCRIPTION]) == Some(id)
}

impl Speak for Modern {
    fn send_line(&self, line: impl Into<Vec<u8>>) {
        let body = self.stamp.on(&line.into());
        match &self.way {
            Way::Stdio(client) => Client::send_line(client, body),
            Way::Http(posts) => posts.send(&body, &posts.dress(&body)),
        }
    }

    fn inbox(&self) -> &Inbox {
        match &self.way {
            Way::Stdio(client) => Client::inbox(client),
            Way::Http(posts) => &posts.inbox,
        }
    }

    fn fresh_id(&self) -> String {
        self.next_id.fetch_add(1, Ordering::Relaxed).to_string()
    }

    fn separator(&self) -> &str {
        match &self.way {
            Way::Stdio(client) => client.separator(),
            Way::Http(_) => ".",
        }
    }

    fn describe(&self) -> String {
        match &self.way {
            Way::Stdio(client) => Client::describe(client),
            Way::Http(posts) => format!("-- /mcp, stateless: {}", posts.inbox.describe()),
        }
    }

    /// Over HTTP the connection of the request is closed.
    fn cancel(&self, id: &[u8]) {
        match &self.way {
            Way::Http(posts) => posts.close(id),
            Way::Stdio(_) => {
                let id = String::from_utf8_lossy(id);
                let params = format!(r#"{{"requestId":{id},"reason":"enough"}}"#);
                self.notify("notifications/cancelled", &params);
            }
        }
    }
}

impl Drop for Modern {
    fn drop(&mut self) {
        if let Way::Http(posts) = &self.way {
            posts.close_all();
        }
    }
}
