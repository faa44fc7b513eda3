//! `HttpTransport`: messages on their way to a server in the network, and its answers.
//!
//! Each message is a POST on a connection of the pool; what comes back is read by `responses` and
//! judged in `outcome`. Everything that takes time (opening connections, pauses) is done by the
//! task that looks after the line, which `attention` wakes.

use std::io;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use trunkline_catalog::Listing;
use trunkline_catalog::config::Secrets;
use trunkline_http::{Response, Url};
use trunkline_wire::{Edits, Kind, MODERN, Message, decode, is_json, member, scan};

use crate::call::Payload;
use crate::identity::Identity;
use crate::limits::Limits;
use crate::lock::{Mutex, rank};
use crate::pump::{FlushSet, Pump, Refused};
use crate::upstream::connection::Connection;
use crate::upstream::http::address::{Address, Session};
use crate::upstream::http::connect::Socket;
use crate::upstream::http::fields::{Annotated, annotated, fields};
use crate::upstream::http::pool::{Gate, Listening, Pool, Unkept};
use crate::upstream::http::responses::Responses;
use crate::upstream::http::slot::{Ending, Exchange, Purpose, Slot};
use crate::upstream::http::trouble::Trouble;
use crate::upstream::http::verdict::{Dialect, Facts, Verdict};
use crate::upstream::transport::{Heading, Transport, UpstreamId};

#[derive(Debug)]
pub(super) struct HttpTransport {
    pub(super) dialect: Dialect,
    pub(super) key: Identity,
    pub(super) limits: Limits,
    pub(super) connections: Connections,
    pub(super) secrets: Arc<Secrets>,
    /// A proxy reads its requests and passes them on.
    pub(super) is_forwarded: bool,
    /// Who we are to it may come of a login.
    pub(super) has_login: bool,
    /// The tools that want arguments in headers, too.
    // Held while the header fields of one request are written.
    tools: Mutex<Arc<Annotated>, rank::AnnotatedTools>,
    /// Calls refused for their headers, with how; they wait until the tools were listed again.
    // Held to add one or to take all: they are sent again without it.
    pub(super) mismatched: Mutex<Vec<(Exchange, Vec<u8>)>, rank::MismatchedHeaders>,
    connection: OnceLock<Weak<Connection>>,
    /// The server has forgotten the session: a new one is needed.
    pub(super) session_lost: Notify,
    /// A notification was heard, or never will be.
    pub(super) told: Notify,
    /// The request that ends the session was answered, or never will be.
    pub(super) parted: Notify,
    /// It does not take a request for who sends it.
    pub(super) unknown: Notify,
}

impl HttpTransport {
    pub(super) fn new(
        key: &Identity,
        address: Address,
        dialect: Dialect,
        limits: Limits,
        secrets: &Arc<Secrets>,
    ) -> Self {
        let gate = match dialect {
            Dialect::Modern => Gate::Open,
            Dialect::Streamable => Gate::Handshake,
            Dialect::Older => Gate::Shut,
        };
        let is_forwarded = address.forwarder.is_some();
        let mut session = Session::new(address);
        if dialect == Dialect::Modern {
            session.agree(MODERN.to_owned());
        }
        let mut pool = Pool::new(session, gate);
        if dialect == Dialect::Older {
            pool.wait_in_front(Exchange::bare(Purpose::Listen, Vec::new()));
        }
        Self {
            dialect,
            key: key.clone(),
            limits,
            connections: Connections { pool: Mutex::new(pool), attention: Notify::new() },
            secrets: Arc::clone(secrets),
            is_forwarded,
            has_login: false,
            tools: Mutex::default(),
            mismatched: Mutex::default(),
            connection: OnceLock::new(),
            session_lost: Notify::new(),
            told: Notify::new(),
            parted: Notify::new(),
            unknown: Notify::new(),
        }
    }

    /// Who we are comes of a login: nothing is sent before that is known.
    #[must_use]
    pub(super) fn with_login(mut self) -> Self {
        self.has_login = true;
        self.connections.pool.get_mut().is_unknown = true;
        self
    }

    /// Whom it belongs to: said once, before anything is sent.
    pub(super) fn belong_to(&self, connection: &Arc<Connection>) {
        // It is called once.
        let _ = self.connection.set(Arc::downgrade(connection));
    }

    pub(super) fn connection(&self) -> Option<Arc<Connection>> {
        self.connection.get().and_then(Weak::upgrade)
    }

    /// Takes a new connection into use.
    pub(super) fn adopt(self: &Arc<Self>, socket: Socket, pump: &Pump) -> io::Result<()> {
        let slot = Arc::new(Slot::new());
        let responses = Responses::new(Arc::clone(self), Arc::clone(&slot));
        let (input, sink, reader) = socket.split(Box::new(responses), &slot.outbox)?;
        slot.outbox.connect(sink, pump);
        self.connections.pool.lock().add(&slot);
        // What came with the last bytes of a TLS handshake has been read already.
        pump.read(input, reader).poke();
        let mut touched = FlushSet::default();
        self.connections.pool.lock().offer(&slot, &mut touched);
        touched.flush();
        Ok(())
    }

    /// A response begins: what its head says about the session.
    pub(super) fn begun(&self, facts: &Facts, response: &Response<'_>) {
        match (facts.purpose, facts.verdict) {
            _ if self.dialect == Dialect::Modern => {} // there are none
            (Purpose::Initialize(_), Verdict::Message | Verdict::Events) => {
                // 2025-11-25, Transports, Session Management: the response to `initialize` may
                // assign the session.
                let id = response.headers.text("mcp-session-id").filter(|id| !id.is_empty());
                self.connections.pool.lock().session.name(id.map(str::to_owned));
            }
            (Purpose::Listen, Verdict::Events) => {
                self.connections.pool.lock().listening = Listening::Yes;
            }
            _ => {}
        }
    }

    /// The whole body of a response: the answer to the request.
    pub(super) fn answered(&self, purpose: Purpose, payload: Payload<'_>, touched: &mut FlushSet) {
        let Some(connection) = self.connection() else { return };
        let Some(id) = purpose.id() else { return };
        self.receive(&connection, purpose, payload, touched);
        // A body is all that comes: an answer without an id in it is the answer.
        if connection.link.is_open(id) && !connection.settle_suspected(id) {
            let what = "answered with something that is not the answer".to_owned();
            self.fail_call(&connection, id, what, true, touched);
        }
    }

    /// An event of a stream.
    pub(super) fn said(
        &self,
        slot: &Slot,
        purpose: Purpose,
        payload: Payload<'_>,
        touched: &mut FlushSet,
    ) {
        let Some(connection) = self.connection() else { return };
        self.receive(&connection, purpose, payload, touched);
        if let Some(id) = purpose.id()
            && !connection.link.is_open(id)
        {
            slot.forget(id); // the stream should end now
        }
    }

    fn receive(
        &self,
        connection: &Arc<Connection>,
        purpose: Purpose,
        payload: Payload<'_>,
        touched: &mut FlushSet,
    ) {
        let payload = one_line(payload);
        if let Purpose::Initialize(_) = purpose {
            self.connections.note_revision(payload.bytes());
        }
        connection.receive(payload, purpose.id(), touched);
    }

    /// The header fields of a request of the stateless era, in `room`, which is empty.
    pub(super) fn fields(&self, heading: &Heading<'_>, body: &[u8], mut room: Vec<u8>) -> Vec<u8> {
        fields(heading, body, &self.tools.lock(), &mut room);
        room
    }
}

impl Transport for HttpTransport {
    fn send(
        &self,
        request: Option<(UpstreamId, &Heading<'_>)>,
        bytes: &[u8],
        edits: &Edits<'_>,
        touched: &mut FlushSet,
    ) -> Result<u64, Refused> {
        let (id, heading) = request.unzip();
        let modern = heading.filter(|_| self.dialect == Dialect::Modern);
        let discovers = modern.is_some_and(|heading| heading.method == b"server/discover");
        let mut pool = self.connections.pool.lock();
        pool.check_room()?;
        let purpose = match (id, pool.gate) {
            (Some(id), Gate::Open) if discovers => Purpose::Initialize(id),
            (Some(id), Gate::Open) => Purpose::Call(id),
            (None, Gate::Open) => Purpose::Tell,
            _ => part_of_handshake(id, bytes),
        };
        let fields = modern.map(|heading| self.fields(heading, bytes, pool.spare()));
        let body = pool.keep(bytes, edits);
        let exchange = Exchange::post(purpose, body);
        let exchange = Exchange { fields: fields.unwrap_or_default(), ..exchange };
        let waits = pool.start(exchange, touched);
        drop(pool);
        if waits {
            self.connections.attention.notify_one();
        }
        Ok(0) // each request has a connection of its own
    }

    fn may_have_run(&self, id: UpstreamId, _: u64) -> bool {
        self.connections.pool.lock().may_have_run(id)
    }

    fn withdraw(&self, id: UpstreamId, _: u64) -> bool {
        self.connections.pool.lock().withdraw(id)
    }

    fn is_on_its_way(&self, id: UpstreamId) -> bool {
        self.connections.pool.lock().is_on_its_way(id)
    }

    fn forget(&self, id: UpstreamId) {
        match self.dialect {
            Dialect::Modern => self.connections.pool.lock().call_off(id),
            Dialect::Streamable | Dialect::Older => self.connections.pool.lock().forget(id),
        }
    }

    fn ties_questions_to_calls(&self) -> bool {
        self.dialect != Dialect::Older
    }

    fn learn(&self, listing: &Listing) {
        if self.dialect == Dialect::Modern {
            *self.tools.lock() = Arc::new(annotated(listing));
            let mut touched = FlushSet::default();
            self.listed(&mut touched);
            touched.flush();
        }
    }

    /// In the network, who comes back at once may meet the same server going.
    fn most_repeats(&self) -> u8 {
        3
    }

    fn is_pipe(&self) -> bool {
        false
    }

    /// The pool is closed later: a closed one has forgotten which requests still waited in it.
    fn end(&self) {}

    fn close(&self) {
        self.connections.pool.lock().close();
    }
}

/// Before the session is open, it matters what a message says.
fn part_of_handshake(id: Option<UpstreamId>, bytes: &[u8]) -> Purpose {
    let message = scan(bytes);
    let method = message.as_ref().map(Message::method);
    match (id, method.as_deref()) {
        (Some(id), Ok(b"initialize")) => Purpose::Initialize(id),
        (Some(id), _) => Purpose::Call(id),
        (None, Ok(b"notifications/initialized")) => Purpose::Initialized,
        (None, _) => Purpose::Tell,
    }
}

/// The pool behind its lock, and the bell for what takes time.
#[derive(Debug)]
pub(super) struct Connections {
    // Taken while the open calls are locked, and holds connections' slots and outboxes below it.
    pub(super) pool: Mutex<Pool, rank::HttpPool>,
    /// There is something to do that takes time.
    pub(super) attention: Notify,
}

impl Connections {
    pub(super) fn url(&self) -> Url {
        self.pool.lock().session.address.url.clone()
    }

    /// Ends an exchange and lets its connection serve on: for so long, or not at all.
    pub(super) fn release(
        &self,
        slot: &Arc<Slot>,
        keep: Option<Duration>,
        touched: &mut FlushSet,
    ) -> Option<Exchange> {
        let released = self.pool.lock().release(slot, keep, touched);
        released
            .unwrap_or_else(|Unkept| self.drop_slot(slot).exchange.map(|(exchange, _)| exchange))
    }

    /// As `release`, for an exchange that needs nothing more.
    pub(super) fn finish(&self, slot: &Arc<Slot>, keep: Option<Duration>, touched: &mut FlushSet) {
        let mut pool = self.pool.lock();
        match pool.release(slot, keep, touched) {
            Ok(exchange) => exchange.into_iter().for_each(|exchange| pool.recycle(exchange)),
            Err(Unkept) => {
                drop(pool);
                self.drop_slot(slot);
            }
        }
    }

    /// A connection is over.
    pub(super) fn drop_slot(&self, slot: &Arc<Slot>) -> Ending {
        self.pool.lock().remove(slot);
        let ending = slot.end();
        self.attention.notify_one(); // something may wait for a connection
        ending
    }

    /// Sends an exchange, now or as soon as there is a connection.
    pub(super) fn start(&self, exchange: Exchange, touched: &mut FlushSet) {
        let waits = self.pool.lock().start(exchange, touched);
        if waits {
            self.attention.notify_one();
        }
    }

    pub(super) fn delay(&self, exchange: Exchange, pause: Duration) {
        let mut pool = self.pool.lock();
        if !pool.closed {
            pool.delay(exchange, pause);
        }
        drop(pool);
        self.attention.notify_one();
    }

    /// The server is to be given up.
    pub(super) fn give_up(&self, trouble: Trouble) {
        self.pool.lock().trouble.get_or_insert(trouble);
        self.attention.notify_one();
    }

    pub(super) fn next_tick(&self) -> Option<Instant> {
        self.pool.lock().next_tick()
    }

    pub(super) fn tick(&self) {
        let mut touched = FlushSet::default();
        self.pool.lock().tick(&mut touched);
        touched.flush();
    }

    /// Closes what `close` has left open.
    pub(super) fn close_all(&self) {
        self.pool.lock().close_all();
    }

    /// Every later request names the revision that was agreed on.
    pub(super) fn note_revision(&self, answer: &[u8]) {
        let Ok(message) = scan(answer) else { return };
        if message.kind != Kind::Answer {
            return;
        }
        let revision = member(message.text(message.result), "protocolVersion").and_then(decode);
        if let Some(revision) = revision {
            self.pool.lock().session.agree(revision.into_owned());
        }
    }
}

/// Without the line ends of a message that was written in several lines. They lie between its
/// tokens: inside of a string there can be none.
fn one_line(payload: Payload<'_>) -> Payload<'_> {
    let bytes = payload.bytes();
    if memchr::memchr2(b'\n', b'\r', bytes).is_none() {
        return payload;
    }
    if let Payload::Borrowed(bytes) = payload {
        let trimmed = bytes.trim_ascii();
        if memchr::memchr2(b'\n', b'\r', trimmed).is_none() {
            return Payload::Borrowed(trimmed);
        }
    }
    if !is_json(payload.bytes()) {
        return payload;
    }
    let kept = payload.bytes().iter().filter(|byte| !matches!(byte, b'\n' | b'\r'));
    Payload::Owned(kept.copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_several_lines_becomes_one() {
        for (text, expected) in [
            ("{}", "{}"),
            ("\r\n{}\n", "{}"),
            ("{\n  \"a\": [\r\n1]}\n", "{  \"a\": [1]}"),
            ("{\"a\\n\": 1,\n\"b\":2}", "{\"a\\n\": 1,\"b\":2}"),
            ("{\"a\n\": 1}", "{\"a\n\": 1}"),
        ] {
            let line = one_line(Payload::Borrowed(text.as_bytes()));
            assert_eq!(std::str::from_utf8(line.bytes()).unwrap(), expected, "{text}");
            let line = one_line(Payload::Owned(text.as_bytes().to_vec()));
            let line = std::str::from_utf8(line.bytes()).unwrap().trim();
            assert_eq!(line, expected.trim(), "{text}");
        }
    }
}
