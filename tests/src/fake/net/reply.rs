//! The answer of one HTTP request: JSON, a stream of events, or whatever fault the script asks for.

use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use serde_json::Value;

use super::answer::{self, Close};
use super::parse::Asked;
use super::send;
use super::session::Session;
use super::stream::Stream;
use crate::fake::Server;
use crate::scan;

/// Nothing is sent before the first message: the answer itself makes a JSON body, anything else
/// makes a stream. A behaviour can ask for a stream in any case.
#[derive(Debug)]
pub(in crate::fake) struct Reply {
    connection: Arc<TcpStream>,
    /// The id of the request in the body, as written.
    id: Vec<u8>,
    close: Close,
    ids: bool,
    prime: bool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    phase: Phase,
    always_stream: bool,
    session: Option<Arc<Session>>,
    /// The session is new; its id is told in the head.
    opened: bool,
    stream: Option<Arc<Stream>>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    #[default]
    Silent,
    Streaming,
    /// The script writes to the socket itself.
    Raw,
    /// The response is complete and the connection can be used again.
    Over,
    /// The connection is closed.
    Closed,
}

impl Reply {
    pub(super) fn new(server: &Server, stream: &TcpStream, asked: &Asked) -> Self {
        let options = &server.script["http"];
        let connection = stream.try_clone().expect("a socket can be shared");
        let state = State { always_stream: options["reply"] == "sse", ..State::default() };
        Self {
            connection: Arc::new(connection),
            id: scan::get(&asked.body, "id").unwrap_or_default().to_vec(),
            close: Close::of(&options["close_each"]),
            ids: options["events"] == true,
            prime: options["prime"] == true,
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    pub(super) fn belongs_to(&self, session: &Arc<Session>, opened: bool) {
        let mut state = self.lock();
        state.session = Some(Arc::clone(session));
        state.opened = opened;
    }

    pub(in crate::fake) fn as_stream(&self, wanted: bool) {
        self.lock().always_stream = wanted;
    }

    pub(in crate::fake) fn message(&self, message: &[u8]) {
        let is_answer = scan::get(message, "id") == Some(&self.id[..])
            && scan::get(message, "method").is_none();
        let mut state = self.lock();
        if state.phase == Phase::Silent && is_answer && !state.always_stream {
            let kind = [("Content-Type", "application/json")];
            self.whole(&mut state, 200, &kind, message);
            return;
        }
        self.open_stream(&mut state);
        let stream = state.stream.clone();
        drop(state);
        let Some(stream) = stream else { return };
        stream.message(message);
        if is_answer {
            self.end();
        }
    }

    pub(in crate::fake) fn bytes<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) {
        let mut state = self.lock();
        self.open_stream(&mut state);
        let stream = state.stream.clone();
        drop(state);
        if let Some(stream) = stream {
            stream.bytes(pieces);
        }
    }

    /// A complete response of the script's own.
    pub(in crate::fake) fn http(&self, status: u16, headers: &Value, body: &[u8]) {
        let headers: Vec<(&str, &str)> = headers
            .as_array()
            .into_iter()
            .flatten()
            .map(|pair| (pair[0].as_str().unwrap_or(""), pair[1].as_str().unwrap_or("")))
            .collect();
        self.plain(status, &headers, body);
    }

    pub(super) fn plain(&self, status: u16, headers: &[(&str, &str)], body: &[u8]) {
        self.whole(&mut self.lock(), status, headers, body);
    }

    /// Exactly these bytes to the socket; no head, no framing.
    pub(in crate::fake) fn raw(&self, bytes: &[u8]) {
        self.lock().phase = Phase::Raw;
        send(&self.connection, bytes);
    }

    /// A raw response is complete.
    pub(in crate::fake) fn raw_over(&self) {
        self.settle(&mut self.lock(), Phase::Over);
    }

    /// Ends the stream, with or without an answer on it.
    pub(in crate::fake) fn end(&self) {
        let mut state = self.lock();
        self.open_stream(&mut state);
        if let Some(stream) = &state.stream {
            stream.end();
        }
        self.settle(&mut state, Phase::Over);
    }

    /// Ends the response but not the stream: the client is expected to come back for the rest.
    pub(in crate::fake) fn drop_stream(&self, retry_ms: Option<u64>) {
        let mut state = self.lock();
        self.open_stream(&mut state);
        if let Some(stream) = &state.stream {
            if let Some(retry) = retry_ms {
                stream.event(None, format!("retry: {retry}\ndata:\n\n").as_bytes());
            }
            stream.detach();
        }
        self.settle(&mut state, Phase::Over);
    }

    /// Closes the connection without another word.
    pub(in crate::fake) fn hang_up(&self) {
        let mut state = self.lock();
        if let Some(stream) = &state.stream {
            stream.hang_up();
        }
        drop(self.connection.shutdown(Shutdown::Both));
        self.settle(&mut state, Phase::Closed);
    }

    /// The client has closed the connection; had it not been answered yet?
    pub(super) fn abandon(&self) -> bool {
        let mut state = self.lock();
        let open = matches!(state.phase, Phase::Silent | Phase::Streaming | Phase::Raw);
        if open {
            self.settle(&mut state, Phase::Closed);
        }
        open
    }

    /// Hands the connection to a stream of the session.
    pub(super) fn carry(&self, stream: &Arc<Stream>, after: Option<usize>) {
        let mut state = self.lock();
        state.phase = Phase::Streaming;
        state.stream = Some(Arc::clone(stream));
        drop(state);
        send(&self.connection, &answer::stream_head(None));
        stream.attach(Arc::clone(&self.connection), after);
        stream.wait_released(&self.connection);
        self.settle(&mut self.lock(), Phase::Over);
    }

    /// Waits for the end of the response; can the connection be used again?
    pub(super) fn wait_over(&self) -> bool {
        let mut state = self.lock();
        loop {
            match state.phase {
                Phase::Over => return self.close == Close::No,
                Phase::Closed => return false,
                Phase::Silent | Phase::Streaming | Phase::Raw => {
                    state = self.changed.wait(state).expect("no holder panics");
                }
            }
        }
    }

    fn whole(&self, state: &mut State, status: u16, headers: &[(&str, &str)], body: &[u8]) {
        if state.phase != Phase::Silent {
            return;
        }
        let head = answer::head(status, headers, opened(state), body.len(), self.close);
        send(&self.connection, &[head.as_bytes(), body].concat());
        self.settle(state, Phase::Over);
    }

    fn open_stream(&self, state: &mut State) {
        if state.phase != Phase::Silent {
            return;
        }
        state.phase = Phase::Streaming;
        send(&self.connection, &answer::stream_head(opened(state)));
        let stream = match &state.session {
            Some(session) => session.stream(self.ids),
            None => Arc::new(Stream::new("alone", self.ids)),
        };
        stream.attach(Arc::clone(&self.connection), None);
        if self.prime && self.ids {
            stream.event(None, b"data:\n\n");
        }
        state.stream = Some(stream);
    }

    fn settle(&self, state: &mut State, phase: Phase) {
        state.phase = phase;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }
}

/// The id of a session that this response opens.
fn opened(state: &State) -> Option<&str> {
    state.session.as_ref().filter(|_| state.opened).map(|session| session.id.as_str())
}
