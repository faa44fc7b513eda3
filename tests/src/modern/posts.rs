//! Requests of the stateless era over HTTP: each one is a POST of its own, and closing it cancels.

use std::collections::HashMap;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use super::header;
use crate::http::{Ask, Connection, Head};
use crate::inbox::Inbox;
use crate::limit::Limit;
use crate::line::Line;
use crate::scan;

/// How long a request may stay open before its reader gives up; a test notices earlier.
const OPEN: Duration = Duration::from_secs(600);

/// Dropping it closes everything that is open.
#[derive(Debug)]
pub(super) struct Posts {
    address: SocketAddr,
    path: String,
    /// Sent with every request.
    headers: Vec<(String, String)>,
    pub(super) inbox: Inbox,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Connection>,
    /// Sockets of requests without an end, by their raw ids.
    open: HashMap<Vec<u8>, Arc<TcpStream>>,
    /// By the raw id of the request.
    heads: HashMap<Vec<u8>, Head>,
    /// Raw ids of the requests whose response is over.
    over: Vec<Vec<u8>>,
}

impl Posts {
    pub(super) fn new(address: SocketAddr, path: &str) -> Self {
        Self {
            address,
            path: path.to_owned(),
            headers: Vec::new(),
            inbox: Inbox::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// With these headers on every request.
    pub(super) fn sending(mut self, headers: &[(&str, &str)]) -> Self {
        self.headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        self
    }

    /// The POST as a well-behaved client sends it.
    pub(super) fn dress(&self, body: &[u8]) -> Ask {
        let ask = Ask::post(&self.path, body);
        let ask = self.headers.iter().fold(ask, |ask, (name, value)| ask.header(name, value));
        header::of(body).iter().fold(ask, |ask, (name, value)| ask.header(name, value))
    }

    /// Sends a POST; what comes back joins the inbox.
    #[track_caller]
    pub(super) fn send(self: &Arc<Self>, body: &[u8], ask: &Ask) {
        let id = scan::get(body, "id").unwrap_or_default().to_vec();
        let mut connection = self.connection();
        self.lock().open.insert(id.clone(), connection.handle());
        connection.begin(ask);
        let posts = Arc::clone(self);
        let read = move || posts.read(connection, &id);
        match scan::get(body, "id").is_some() {
            true => drop(std::thread::spawn(read)),
            // What has no answer is waited for, so that the next message does not overtake it.
            false => read(),
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes the connection of a request.
    pub(super) fn close(&self, id: &[u8]) {
        if let Some(stream) = self.lock().open.remove(id) {
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    pub(super) fn close_all(&self) {
        let mut state = self.lock();
        state.idle.clear();
        for (_, stream) in state.open.drain() {
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    pub(super) fn head_of(&self, id: &[u8], limit: impl Into<Limit>) -> Option<Head> {
        self.wait(limit, |state| state.heads.get(id).cloned())
    }

    /// Waits until the response is over, whoever has ended it.
    pub(super) fn is_over(&self, id: &[u8], limit: impl Into<Limit>) -> bool {
        self.wait(limit, |state| state.over.iter().any(|over| over == id).then_some(())).is_some()
    }

    fn connection(&self) -> Connection {
        // One that the server has closed meanwhile is no use; a new one is always good.
        let idle = self.lock().idle.pop().filter(|connection| !is_stale(connection));
        idle.unwrap_or_else(|| Connection::open(self.address))
    }

    fn read(&self, mut connection: Connection, id: &[u8]) {
        let mut closes = true;
        if let Some(head) = connection.try_head(OPEN) {
            let (status, is_stream) = (head.status, head.is_stream());
            closes = head.closes();
            self.lock().heads.insert(id.to_vec(), head);
            self.changed.notify_all();
            if is_stream {
                while let Some(event) = connection.event(OPEN) {
                    if event.is_message() {
                        self.take(&event.data, status);
                    }
                }
            } else {
                let body = connection.body(OPEN);
                match (&body[..], status) {
                    (b"", 202) => {}
                    (b"", _) => self.inbox.complain(format!("status {status} without a body")),
                    _ => self.take(&body, status),
                }
            }
        }
        let mut state = self.lock();
        state.open.remove(id);
        state.over.push(id.to_vec());
        if connection.is_free() && !closes {
            state.idle.push(connection);
        }
        self.changed.notify_all();
    }

    fn take(&self, body: &[u8], status: u16) {
        if scan::is_json(body) {
            return self.inbox.push(Line(body.to_vec()));
        }
        let text = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
        self.inbox.complain(format!("status {status}: {text}"));
    }

    fn wait<T>(&self, limit: impl Into<Limit>, wanted: impl Fn(&State) -> Option<T>) -> Option<T> {
        let deadline = limit.into().begin();
        let mut state = self.lock();
        loop {
            if let Some(found) = wanted(&state) {
                return Some(found);
            }
            let left = deadline.left();
            if left.is_zero() {
                return None;
            }
            state = self.changed.wait_timeout(state, left).expect("no holder panics").0;
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
