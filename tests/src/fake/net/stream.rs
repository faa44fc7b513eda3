//! A stream of server-sent events that outlives its connections and remembers what it has sent.

use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use super::send;

/// Events written while nobody is connected wait for whoever connects next.
#[derive(Debug)]
pub(in crate::fake) struct Stream {
    name: String,
    /// Do the events carry ids?
    ids: bool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    connection: Option<Arc<TcpStream>>,
    /// Every event so far; with ids they are kept for a client that comes back.
    events: Vec<Vec<u8>>,
    /// How many of them have been handed to a connection.
    sent: usize,
    ended: bool,
}

impl Stream {
    pub(super) fn new(name: &str, ids: bool) -> Self {
        Self { name: name.to_owned(), ids, state: Mutex::default(), changed: Condvar::new() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Takes over a connection whose head has been sent, from the event behind `after` on.
    pub(super) fn attach(&self, connection: Arc<TcpStream>, after: Option<usize>) {
        let mut state = self.lock();
        state.connection = Some(connection);
        if let Some(after) = after {
            state.sent = after.min(state.events.len());
        }
        self.flush(&mut state);
        if state.ended {
            finish(&mut state);
        }
        self.changed.notify_all();
    }

    /// The HTTP response is complete; the stream itself goes on and waits for a new connection.
    pub(in crate::fake) fn detach(&self) {
        finish(&mut self.lock());
        self.changed.notify_all();
    }

    pub(in crate::fake) fn message(&self, message: &[u8]) {
        self.event(None, &super::event(message));
    }

    /// `framed` without its id and name.
    pub(super) fn event(&self, name: Option<&str>, framed: &[u8]) {
        let mut state = self.lock();
        let id = state.events.len() + 1;
        let mut event = Vec::with_capacity(framed.len() + 32);
        if let Some(name) = name {
            event.extend_from_slice(format!("event: {name}\n").as_bytes());
        }
        if self.ids {
            event.extend_from_slice(format!("id: {}_{id}\n", self.name).as_bytes());
        }
        event.extend_from_slice(framed);
        state.events.push(event);
        self.flush(&mut state);
    }

    /// Bytes that are remembered by nobody.
    pub(in crate::fake) fn bytes<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) {
        let state = self.lock();
        if let Some(connection) = &state.connection {
            for piece in pieces {
                chunk(connection, piece);
            }
        }
    }

    /// Ends the stream for good.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        finish(&mut state);
        self.changed.notify_all();
    }

    /// Closes the connection without a word; the stream goes on.
    pub(in crate::fake) fn hang_up(&self) {
        if let Some(connection) = self.lock().connection.take() {
            drop(connection.shutdown(std::net::Shutdown::Both));
        }
        self.changed.notify_all();
    }

    /// Waits until `connection` carries this stream no longer.
    pub(super) fn wait_released(&self, connection: &Arc<TcpStream>) {
        let mut state = self.lock();
        while state.connection.as_ref().is_some_and(|held| Arc::ptr_eq(held, connection)) {
            state = self.changed.wait(state).expect("no holder panics");
        }
    }

    fn flush(&self, state: &mut State) {
        let Some(connection) = state.connection.clone() else { return };
        while state.sent < state.events.len() {
            if !chunk(&connection, &state.events[state.sent]) {
                state.connection = None;
                self.changed.notify_all();
                return;
            }
            state.sent += 1;
            if !self.ids {
                // Nobody can ask for it again.
                state.events[state.sent - 1] = Vec::new();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }
}

fn finish(state: &mut State) {
    if let Some(connection) = state.connection.take() {
        send(&connection, b"0\r\n\r\n");
    }
}

fn chunk(connection: &TcpStream, bytes: &[u8]) -> bool {
    let head = format!("{:x}\r\n", bytes.len());
    bytes.is_empty() || send(connection, &[head.as_bytes(), bytes, b"\r\n"].concat())
}
