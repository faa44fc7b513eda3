//! The sessions of a network server and their streams.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::stream::Stream;

#[derive(Debug, Default)]
pub(in crate::fake) struct Sessions {
    table: Mutex<HashMap<String, Arc<Session>>>,
    next: AtomicU64,
}

#[derive(Debug)]
pub(in crate::fake) struct Session {
    pub(in crate::fake) id: String,
    /// What belongs to no request: the GET stream, or the one stream of the legacy transport.
    pub(in crate::fake) push: Arc<Stream>,
    /// Streams of POSTs, which a client may ask for again.
    streams: Mutex<Vec<Arc<Stream>>>,
}

impl Sessions {
    pub(super) fn open(&self, ids: bool) -> Arc<Session> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let id = format!("session-{}-{number}", std::process::id());
        let session = Arc::new(Session {
            push: Arc::new(Stream::new("push", ids)),
            id: id.clone(),
            streams: Mutex::default(),
        });
        self.lock().insert(id, Arc::clone(&session));
        session
    }

    pub(in crate::fake) fn get(&self, id: &str) -> Option<Arc<Session>> {
        self.lock().get(id).cloned()
    }

    pub(in crate::fake) fn all(&self) -> Vec<Arc<Session>> {
        self.lock().values().cloned().collect()
    }

    pub(super) fn close(&self, id: &str) -> bool {
        let closed = self.lock().remove(id);
        if let Some(session) = &closed {
            session.push.end();
        }
        closed.is_some()
    }

    /// As after a restart: every session is unknown, every stream is gone.
    pub(in crate::fake) fn forget(&self) {
        for (_, session) in self.lock().drain() {
            session.push.end();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.table.lock().expect("no holder panics")
    }
}

impl Session {
    pub(super) fn stream(&self, ids: bool) -> Arc<Stream> {
        let mut streams = self.streams.lock().expect("no holder panics");
        let stream = Arc::new(Stream::new(&format!("post{}", streams.len()), ids));
        streams.push(Arc::clone(&stream));
        stream
    }

    /// The stream an event id belongs to, and how many of its events the client has.
    pub(super) fn behind(&self, event: &str) -> Option<(Arc<Stream>, usize)> {
        let (name, number) = event.rsplit_once('_')?;
        let number = number.parse().ok()?;
        if name == self.push.name() {
            return Some((Arc::clone(&self.push), number));
        }
        let streams = self.streams.lock().expect("no holder panics");
        let stream = streams.iter().find(|stream| stream.name() == name)?;
        Some((Arc::clone(stream), number))
    }
}
