//! An MCP client over Streamable HTTP: every message is a POST, events come back on streams.

use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::http::{Ask, Connection, Head};
use crate::inbox::Inbox;
use crate::line::Line;
use crate::mcp::Speak;
use crate::{LIMIT, scan};

/// How long a request may stay open before its reader gives up; a test notices earlier.
const OPEN: Duration = Duration::from_secs(600);

/// One session. Dropping it closes its streams and tells the server nothing.
#[derive(Debug)]
pub struct Streamable {
    shared: Arc<Shared>,
    next_id: AtomicU64,
}

#[derive(Debug)]
struct Shared {
    address: SocketAddr,
    path: String,
    /// Sent with every request.
    headers: Vec<(String, String)>,
    inbox: Inbox,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    session: Option<String>,
    version: Option<String>,
    idle: Vec<Connection>,
    /// Sockets in use, to be closed with the session.
    open: Vec<Arc<TcpStream>>,
    /// Heads of the answers to POSTs so far.
    heads: Vec<Head>,
    listening: Option<Arc<TcpStream>>,
    last_event: Option<String>,
}

impl Streamable {
    pub fn new(address: SocketAddr, path: &str) -> Self {
        Self::with_headers(address, path, &[])
    }

    pub fn with_headers(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Self {
        let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let shared = Shared {
            address,
            path: path.to_owned(),
            headers,
            inbox: Inbox::default(),
            state: Mutex::default(),
        };
        Self { shared: Arc::new(shared), next_id: AtomicU64::new(1) }
    }

    /// The id the server has given this session.
    pub fn session(&self) -> Option<String> {
        self.shared.lock().session.clone()
    }

    /// The id of the newest event of the GET stream.
    pub fn last_event(&self) -> Option<String> {
        self.shared.lock().last_event.clone()
    }

    /// The answers to POSTs so far, oldest first.
    pub fn heads(&self) -> Vec<Head> {
        self.shared.lock().heads.clone()
    }

    /// A request of this session with its usual headers.
    pub fn dress(&self, ask: Ask) -> Ask {
        self.shared.dress(ask)
    }

    /// A connection of its own, for tests that look at the bytes.
    #[track_caller]
    pub fn connection(&self) -> Connection {
        Connection::open(self.shared.address)
    }

    /// Opens the GET stream; its messages join the others. The status of the answer.
    #[track_caller]
    pub fn listen(&self) -> u16 {
        self.listen_from(None)
    }

    /// [`Streamable::listen`], resuming behind the event with this id.
    #[track_caller]
    pub fn listen_from(&self, last_event: Option<&str>) -> u16 {
        let mut ask = Ask::get(&self.shared.path).header("Accept", "text/event-stream");
        if let Some(id) = last_event {
            ask = ask.header("Last-Event-ID", id);
        }
        let mut connection = self.connection();
        connection.begin(&self.dress(ask));
        let head = connection.head(LIMIT);
        if head.status == 200 {
            self.shared.lock().listening = Some(connection.handle());
            let shared = Arc::clone(&self.shared);
            std::thread::spawn(move || shared.pour(&mut connection, true));
        }
        head.status
    }

    /// Closes the GET stream as a client does that loses its network.
    pub fn unlisten(&self) {
        if let Some(stream) = self.shared.lock().listening.take() {
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    /// Closes every connection with an open request, as a client does that loses its network.
    pub fn lose_connections(&self) {
        let mut state = self.shared.lock();
        state.idle.clear();
        for stream in state.open.drain(..) {
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    /// Ends the session; the status of the answer.
    #[track_caller]
    pub fn delete(&self) -> u16 {
        let ask = self.dress(Ask::new("DELETE", &self.shared.path));
        self.connection().ask(&ask).status()
    }

    /// Sends a message and waits for the head of its answer; what comes back joins the inbox.
    #[track_caller]
    pub fn post(&self, body: impl Into<Vec<u8>>) -> Head {
        let mut connection = self.shared.send(body.into());
        let head = connection.head(LIMIT);
        let shared = Arc::clone(&self.shared);
        let answered = head.clone();
        std::thread::spawn(move || shared.body(connection, answered));
        head
    }
}

impl Speak for Streamable {
    fn send_line(&self, line: impl Into<Vec<u8>>) {
        let body = line.into();
        let is_request = scan::get(&body, "method").is_some() && scan::get(&body, "id").is_some();
        let shared = Arc::clone(&self.shared);
        let mut connection = shared.send(body);
        let read = move || match connection.try_head(OPEN) {
            Some(head) => shared.body(connection, head),
            None => shared.inbox.complain("a POST was not answered".to_owned()),
        };
        // What has no answer is waited for, so that the next message does not overtake it.
        if is_request {
            std::thread::spawn(read);
        } else {
            read();
        }
    }

    fn inbox(&self) -> &Inbox {
        &self.shared.inbox
    }

    fn fresh_id(&self) -> String {
        self.next_id.fetch_add(1, Ordering::Relaxed).to_string()
    }

    fn separator(&self) -> &'static str {
        "."
    }

    fn describe(&self) -> String {
        let heads = self.heads();
        let last: Vec<&str> =
            heads.iter().rev().take(5).filter_map(|head| head.raw.lines().next()).collect();
        format!("-- {}: {}\n-- last answers: {last:?}", self.shared.path, self.inbox().describe())
    }
}

impl Shared {
    /// Sends a POST on an idle connection or a new one.
    #[track_caller]
    fn send(&self, body: Vec<u8>) -> Connection {
        let ask = self.dress(Ask::post(&self.path, body));
        let idle = self.lock().idle.pop();
        let mut connection = match idle {
            Some(connection) if !is_stale(&connection) => connection,
            _ => Connection::open(self.address),
        };
        self.lock().open.push(connection.handle());
        connection.begin(&ask);
        connection
    }

    fn dress(&self, mut ask: Ask) -> Ask {
        let state = self.lock();
        for (name, value) in &self.headers {
            ask = ask.header(name, value);
        }
        if let Some(session) = &state.session {
            ask = ask.header("Mcp-Session-Id", session);
        }
        if let Some(version) = &state.version {
            ask = ask.header("MCP-Protocol-Version", version);
        }
        ask
    }

    /// Reads what belongs to a head; messages join the inbox.
    fn body(&self, mut connection: Connection, head: Head) {
        if let Some(session) = head.header("mcp-session-id") {
            self.lock().session = Some(session.to_owned());
        }
        let (status, is_stream, closes) = (head.status, head.is_stream(), head.closes());
        self.lock().heads.push(head);
        if is_stream {
            self.pour(&mut connection, false);
        } else {
            let body = connection.body(OPEN);
            match (&body[..], status) {
                (b"", 202) => {}
                (b"", _) => self.inbox.complain(format!("status {status} without a body")),
                _ => self.take(&body, status),
            }
        }
        let handle = connection.handle();
        let mut state = self.lock();
        state.open.retain(|open| !Arc::ptr_eq(open, &handle));
        // A request behind an answer that says "close" is not read (RFC 9112, 9.6).
        if connection.is_free() && !closes {
            state.idle.push(connection);
            state.idle.truncate(64);
        }
    }

    fn take(&self, body: &[u8], status: u16) {
        if let Some(members) = scan::elements(body) {
            return members.into_iter().for_each(|member| self.inbox.push(Line(member.to_vec())));
        }
        if !scan::is_json(body) {
            let text = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
            return self.inbox.complain(format!("status {status}: {text}"));
        }
        let version = scan::path(body, &["result", "protocolVersion"]).and_then(scan::text);
        if let Some(version) = version {
            self.lock().version.get_or_insert(version);
        }
        self.inbox.push(Line(body.to_vec()));
    }

    /// Events until the stream ends.
    fn pour(&self, connection: &mut Connection, is_get: bool) {
        while let Some(event) = connection.event(OPEN) {
            if let (true, Some(id)) = (is_get, &event.id) {
                self.lock().last_event = Some(id.clone());
            }
            if event.is_message() {
                self.take(&event.data, 200);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }
}

/// Has the server closed it while nobody looked?
fn is_stale(connection: &Connection) -> bool {
    let stream = connection.handle();
    if stream.set_nonblocking(true).is_err() {
        return true;
    }
    let open = matches!(stream.peek(&mut [0]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock);
    drop(stream.set_nonblocking(false));
    !open
}

impl Drop for Streamable {
    fn drop(&mut self) {
        self.unlisten();
        self.lose_connections();
    }
}
