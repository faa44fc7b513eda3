//! One POST, in every era: the message in its body (`PostedBody`), and the answer it gets (`PostReply`):
//! plain JSON if the answer is the first thing to say, else an event stream whose last event is the answer.

use std::net::IpAddr;
use std::sync::Arc;

use memchr::memchr2;
use trunkline_http::is_type;
use trunkline_wire::{Edits, FaultKind, Message, MessageFault, is_json, member, scan};

use crate::call::{Payload, Responder};
use crate::error::LIMITED;
use crate::front::http::access::HttpRefusal;
use crate::front::http::connection::{
    Conn, EventStream, JSON, MESSAGE, OpenReply, Reply, StatelessCall,
};
use crate::front::http::sessions::{
    EventRole, ResumableStream, ResumeFrom, SessionStreams, spliced,
};
use crate::limiter::AddressAccount;
use crate::limits::SLOW_ANSWER_SECONDS;
use crate::lock::{Mutex, rank};
use crate::pump::{FlushSet, Frame};
use crate::session::leave;

/// What the body of a POST holds.
#[derive(Debug)]
pub(crate) enum PostedBody<'a> {
    Message(Message<'a>),
    Batch(&'a [u8]),
    /// Neither; the id of the message, if one was found, or `null`.
    Broken(FaultKind, &'a [u8]),
}

/// Reads a body and drops line ends between tokens: on stdio, a server gets one message a line.
pub(crate) fn read_body<T>(body: &[u8], then: impl FnOnce(PostedBody<'_>) -> T) -> T {
    let posted = parse(body);
    if memchr2(b'\n', b'\r', body).is_none() || matches!(posted, PostedBody::Broken(..)) {
        return then(posted);
    }
    // It is valid JSON, so no string holds a raw line end.
    let line: Vec<u8> =
        body.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    then(parse(&line))
}

fn parse(body: &[u8]) -> PostedBody<'_> {
    match scan(body) {
        Ok(message) => PostedBody::Message(message),
        Err(MessageFault { kind: FaultKind::Batch, .. }) if is_json(body) => {
            PostedBody::Batch(body)
        }
        Err(MessageFault { kind: FaultKind::Batch, .. }) => {
            PostedBody::Broken(FaultKind::NotJson, b"null")
        }
        Err(fault) => {
            let id = fault.id.map(|span| span.of(body)).unwrap_or_default();
            let usable = matches!(id.first(), Some(b'"' | b'-' | b'0'..=b'9'));
            let twice = matches!(fault.kind, FaultKind::Duplicate("id"));
            PostedBody::Broken(fault.kind, if usable && !twice { id } else { b"null" })
        }
    }
}

/// Does the message itself name the revision of the stateless era?
pub(crate) fn is_stateless(message: &Message<'_>) -> bool {
    message.params.meta.version.is_some()
}

/// Accepts JSON only: a form on a web page can send other types without a preflight.
pub(crate) fn check_content_type(content_type: Option<&[u8]>) -> Result<(), HttpRefusal> {
    let json = content_type.is_some_and(|value| is_type(value, "application/json"));
    if json { Ok(()) } else { Err(HttpRefusal::MediaType) }
}

#[derive(Debug)]
pub(crate) struct PostReply {
    kind: PostKind,
    /// The `traceparent` header of the request, where requests are traced.
    parent: Option<Box<str>>,
    /// Where the client comes from, if that is limited.
    address: Option<Arc<AddressAccount>>,
    peer: Option<IpAddr>,
    // Held while the reply or an event is written: servers answer on several threads, and only one
    // of them may turn the reply into a stream.
    state: Mutex<PostState, rank::PostReply>,
}

/// What was posted.
#[derive(Debug)]
pub(crate) enum PostKind {
    /// A request in a session: its stream can be resumed.
    Request(Arc<SessionStreams>),
    /// The answer tells the session's id.
    Initialize(Arc<SessionStreams>),
    /// Perhaps no message in it needs an answer.
    Batch(Arc<SessionStreams>),
    /// Its stream cannot be resumed: the loss of the connection cancels the request.
    Stateless(StatelessCall),
}

#[derive(Debug)]
enum PostState {
    Waiting(Reply),
    Streaming(EventStream),
    Resumable(Arc<ResumableStream>),
    Done,
}

impl PostReply {
    /// The connection watches it from now on.
    pub(crate) fn new(kind: PostKind, mut reply: Reply) -> Arc<Self> {
        let parent = reply.take_parent();
        let conn = Arc::clone(&reply.conn);
        let (address, peer) = (reply.limited_address().cloned(), reply.peer());
        let state = Mutex::new(PostState::Waiting(reply));
        let posted = Arc::new(Self { kind, parent, address, peer, state });
        conn.watch(Arc::downgrade(&posted) as _);
        posted
    }

    /// The session's id, if the head of the answer tells it.
    fn new_session(&self) -> Option<(&'static str, &[u8])> {
        match &self.kind {
            PostKind::Initialize(streams) => Some(("Mcp-Session-Id", &streams.session)),
            _ => None,
        }
    }

    /// Turns a reply that still waits into a stream, unless the client has gone.
    fn open_stream(&self, state: &mut PostState, touched: &mut FlushSet) {
        match state {
            PostState::Waiting(reply) if !reply.conn.outbox.is_closed() => {}
            _ => return,
        }
        let PostState::Waiting(reply) = std::mem::replace(state, PostState::Done) else { return };
        *state = match &self.kind {
            PostKind::Stateless(_) => {
                PostState::Streaming(EventStream::begin(reply, &[], b"", touched))
            }
            PostKind::Request(streams)
            | PostKind::Initialize(streams)
            | PostKind::Batch(streams) => {
                let stream = streams.open();
                let fields = self.new_session();
                stream.attach(reply, fields.as_slice(), ResumeFrom::After(0), touched);
                PostState::Resumable(stream)
            }
        };
    }

    fn answer_plainly(
        &self,
        mut reply: Reply,
        status: u16,
        (payload, edits): (Payload<'_>, &Edits<'_>),
        touched: &mut FlushSet,
    ) -> bool {
        let mut head = Vec::with_capacity(160);
        let length = edits.length(payload.bytes());
        match (status, self.new_session()) {
            // Nearly all answers: the head is copied, not made.
            (200, None) => reply.json_head(length, &mut head),
            (429, _) => {
                let again = retry_after(payload.bytes()).to_string();
                let again = ("Retry-After", again.as_bytes());
                reply.head(status, &[("Content-Type", JSON), again], Some(length), &mut head);
            }
            (_, None) => reply.head(status, &[("Content-Type", JSON)], Some(length), &mut head),
            (_, Some(id)) => {
                reply.head(status, &[("Content-Type", JSON), id], Some(length), &mut head);
            }
        }
        let put = payload.put(&reply.conn.outbox, Frame { head: &head, tail: b"" }, edits);
        reply.finish(touched);
        put
    }

    fn end_with(
        &self,
        status: u16,
        payload: Payload<'_>,
        edits: &Edits<'_>,
        touched: &mut FlushSet,
    ) -> bool {
        // Taken under the lock: of two answers only the first finds the reply.
        let state = std::mem::replace(&mut *self.state.lock(), PostState::Done);
        match state {
            PostState::Waiting(reply) => {
                self.answer_plainly(reply, status, (payload, edits), touched)
            }
            PostState::Streaming(mut stream) => {
                let put = stream.event(MESSAGE, payload, edits, touched);
                stream.end(touched);
                put
            }
            PostState::Resumable(stream) => {
                stream.push(spliced(payload.bytes(), edits), EventRole::Answer, touched)
            }
            PostState::Done => false,
        }
    }
}

/// The HTTP status of a stateless error (2026-07-28, Transports, Streamable HTTP). In a session every
/// JSON-RPC answer has status 200.
fn status_of(code: i64) -> u16 {
    match code {
        // Method not found; then: wrong header, missing capability, unknown version.
        -32601 => 404,
        -32022..=-32020 => 400,
        code if code == i64::from(LIMITED) => 429,
        _ => 200,
    }
}

/// The seconds after which a refused request may come again (RFC 9110, 10.2.3), as its error says in milliseconds.
fn retry_after(response: &[u8]) -> u64 {
    let data = scan(response).ok().and_then(|message| member(message.text(message.error), "data"));
    let said = data.and_then(|data| std::str::from_utf8(member(data, "retryAfterMs")?).ok());
    said.and_then(|ms| ms.parse::<u64>().ok()).unwrap_or_default().div_ceil(1_000).max(1)
}

impl Responder for PostReply {
    fn say(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        // Held while the stream begins: a message and the answer may come on two threads.
        let mut state = self.state.lock();
        self.open_stream(&mut state, touched);
        match &mut *state {
            PostState::Streaming(stream) if stream.is_unread() => {
                stream.reply.conn.outbox.close(); // which cancels the request, too
                false
            }
            PostState::Streaming(stream) => {
                stream.event(MESSAGE, Payload::Borrowed(bytes), edits, touched)
            }
            PostState::Resumable(stream) => {
                let stream = Arc::clone(stream);
                // The stream has a lock of its own, and its push may take long.
                drop(state);
                stream.push(spliced(bytes, edits), EventRole::Message, touched)
            }
            PostState::Waiting(_) | PostState::Done => false,
        }
    }

    fn answer(&self, payload: Payload<'_>, edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        self.end_with(200, payload, edits, touched)
    }

    fn refuse(
        &self,
        code: i64,
        payload: Payload<'_>,
        edits: &Edits<'_>,
        touched: &mut FlushSet,
    ) -> bool {
        let stateless = matches!(self.kind, PostKind::Stateless(_));
        let status = if stateless { status_of(code) } else { 200 };
        self.end_with(status, payload, edits, touched)
    }

    /// The client waits for the end of its POST all the same.
    fn unanswered(&self, touched: &mut FlushSet) {
        let state = std::mem::replace(&mut *self.state.lock(), PostState::Done);
        match (state, &self.kind) {
            (PostState::Waiting(reply), PostKind::Batch(_)) => reply.send(202, &[], b"", touched),
            (PostState::Waiting(reply), _) => {
                EventStream::begin(reply, &[], b"", touched).end(touched);
            }
            (PostState::Streaming(stream), _) => stream.end(touched),
            (PostState::Resumable(stream), _) => stream.close(touched),
            (PostState::Done, _) => {}
        }
    }

    fn parent(&self) -> Option<&str> {
        self.parent.as_deref()
    }

    fn address(&self) -> Option<&Arc<AddressAccount>> {
        self.address.as_ref()
    }

    fn peer(&self) -> Option<IpAddr> {
        self.peer
    }
}

impl OpenReply for PostReply {
    /// A slow answer becomes a stream, so that a comment can show that it is alive.
    fn tick(&self, since: u32, touched: &mut FlushSet) {
        let mut state = self.state.lock();
        match &mut *state {
            PostState::Streaming(stream) => return stream.comment_if_silent(touched),
            PostState::Waiting(reply)
                if reply.conn.now().saturating_sub(since) >= SLOW_ANSWER_SECONDS => {}
            // The connection watches a resumable stream itself.
            PostState::Waiting(_) | PostState::Resumable(_) | PostState::Done => return,
        }
        self.open_stream(&mut state, touched);
        match &mut *state {
            PostState::Streaming(stream) => stream.comment(touched),
            PostState::Resumable(stream) => stream.comment(touched),
            PostState::Waiting(_) | PostState::Done => {}
        }
    }

    /// In a session the answer is still written, for the client may have closed its side only.
    fn client_left(&self, _: &Arc<Conn>, touched: &mut FlushSet) {
        if let PostKind::Stateless(call) = &self.kind
            && !call.outlives_client
        {
            leave(&call.client, &call.id, touched);
        }
    }

    fn stateless_call(&self) -> Option<&StatelessCall> {
        match &self.kind {
            PostKind::Stateless(call) => Some(call),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use trunkline_wire::Id;

    use super::*;
    use crate::front::http::connection::{Clock, ReplyMode};
    use crate::pump::{Pump, Sink};

    /// A client's end of a connection, and ours.
    struct Peer {
        client: UnixStream,
        conn: Arc<Conn>,
    }

    fn peer(pump: &Pump) -> Peer {
        let (client, ours) = UnixStream::pair().unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let (_, sink) = Sink::socket(OwnedFd::from(ours)).unwrap();
        let conn = Arc::new(Conn::new(Arc::new(Clock::new())));
        conn.outbox.connect(sink, pump);
        Peer { client, conn }
    }

    impl Peer {
        fn posted(&self, kind: PostKind) -> Arc<PostReply> {
            PostReply::new(kind, Reply::new(&self.conn, ReplyMode::PLAIN))
        }

        /// What the client gets until we close.
        fn text(mut self) -> String {
            self.conn.outbox.close_when_written();
            let mut text = String::new();
            self.client.read_to_string(&mut text).unwrap();
            text
        }
    }

    fn streams(primes: bool) -> Arc<SessionStreams> {
        Arc::new(SessionStreams::new([b'5'; 32], primes, &Arc::new(Clock::new())))
    }

    fn stateless() -> PostKind {
        PostKind::Stateless(StatelessCall {
            client: Arc::default(),
            caller: None,
            id: Id::new(b"1"),
            outlives_client: false,
        })
    }

    fn say(posted: &PostReply, words: &str) -> bool {
        let mut touched = FlushSet::default();
        let said = posted.say(words.as_bytes(), &Edits::new(), &mut touched);
        touched.flush();
        said
    }

    fn answer(posted: &PostReply, words: &str) -> bool {
        let mut touched = FlushSet::default();
        let payload = Payload::Owned(words.as_bytes().to_vec());
        let answered = posted.answer(payload, &Edits::new(), &mut touched);
        touched.flush();
        answered
    }

    fn unanswered(posted: &PostReply) {
        let mut touched = FlushSet::default();
        posted.unanswered(&mut touched);
        touched.flush();
    }

    /// The head of a response without its last field, the date, and the body.
    fn parts(text: &str) -> (&str, &str) {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let (head, date) = head.rsplit_once("\r\n").unwrap();
        assert!(date.starts_with("Date: ") && date.ends_with(" GMT"), "{date}");
        (head, body)
    }

    #[test]
    fn an_answer_that_comes_first_is_plain_json() {
        let (pump, _) = Pump::start().unwrap();
        let peer = peer(&pump);
        let posted = peer.posted(PostKind::Request(streams(true)));
        assert!(answer(&posted, "{}"));
        assert!(!say(&posted, "late") && !answer(&posted, "again"));
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2";
        assert_eq!(parts(&peer.text()), (head, "{}"));
        pump.stop();
    }

    #[test]
    fn a_large_answer_arrives_whole() {
        let (pump, _) = Pump::start().unwrap();
        let Peer { mut client, conn } = peer(&pump);
        let large = "x".repeat(3 << 20);
        let reply = Reply::new(&conn, ReplyMode::PLAIN);
        let posted = PostReply::new(PostKind::Request(streams(true)), reply);
        assert!(answer(&posted, &large));
        conn.outbox.close_when_written();
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        let (head, body) = parts(&text);
        assert!(head.ends_with("Content-Length: 3145728") && body == large);
        pump.stop();
    }

    #[test]
    fn a_large_answer_on_a_stream_arrives_whole() {
        let (pump, _) = Pump::start().unwrap();
        let large = "x".repeat(20 << 20);
        for kind in [PostKind::Request(streams(false)), stateless()] {
            let peer = peer(&pump);
            let posted = peer.posted(kind);
            assert!(say(&posted, "one") && answer(&posted, &large));
            let text = peer.text();
            assert!(text.contains(&large), "{} bytes", text.len());
            assert!(text.ends_with("\n\n\r\n0\r\n\r\n"), "{} bytes", text.len());
        }
        pump.stop();
    }

    #[test]
    fn something_said_before_makes_it_a_stream() {
        let (pump, _) = Pump::start().unwrap();
        for (primes, expected) in [
            (
                true,
                "1c\r\nid: 1-0\nretry: 1000\ndata: \n\n\r\n13\r\nid: 1-1\ndata: one\n\n\r\n\
                 13\r\nid: 1-2\ndata: two\n\n\r\n0\r\n\r\n",
            ),
            (false, "13\r\nid: 1-1\ndata: one\n\n\r\n13\r\nid: 1-2\ndata: two\n\n\r\n0\r\n\r\n"),
        ] {
            let peer = peer(&pump);
            let posted = peer.posted(PostKind::Request(streams(primes)));
            assert!(say(&posted, "one") && answer(&posted, "two"));
            assert!(!say(&posted, "three") && !answer(&posted, "again"));
            let text = peer.text();
            let (head, body) = parts(&text);
            assert!(head.contains("Content-Type: text/event-stream\r\n"), "{head}");
            assert_eq!(body, expected);
        }
        pump.stop();
    }

    #[test]
    fn initialize_tells_the_id_of_the_session_either_way() {
        let (pump, _) = Pump::start().unwrap();
        for streamed in [false, true] {
            let peer = peer(&pump);
            let posted = peer.posted(PostKind::Initialize(streams(true)));
            assert!(!streamed || say(&posted, "one"));
            assert!(answer(&posted, "two"));
            let text = peer.text();
            let named = format!("Mcp-Session-Id: {}\r\n", "5".repeat(32));
            assert!(parts(&text).0.contains(&named), "{text}");
        }
        pump.stop();
    }

    #[test]
    fn a_cancelled_request_ends_its_post() {
        let (pump, _) = Pump::start().unwrap();
        for (kind, status, body) in [
            (PostKind::Request(streams(true)), "200", "0\r\n\r\n"),
            (PostKind::Batch(streams(true)), "202", ""),
            (stateless(), "200", "0\r\n\r\n"),
        ] {
            let peer = peer(&pump);
            let posted = peer.posted(kind);
            unanswered(&posted);
            assert!(!answer(&posted, "late"));
            let text = peer.text();
            assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{text}");
            assert_eq!(parts(&text).1, body);
        }
        let peer = peer(&pump);
        let posted = peer.posted(PostKind::Request(streams(false)));
        assert!(say(&posted, "one"));
        unanswered(&posted);
        assert!(peer.text().ends_with("one\n\n\r\n0\r\n\r\n"));
        pump.stop();
    }

    #[test]
    fn a_client_whose_connection_broke_gets_the_rest_on_another() {
        let (pump, _) = Pump::start().unwrap();
        let (first, streams) = (peer(&pump), streams(false));
        let posted = first.posted(PostKind::Request(Arc::clone(&streams)));
        assert!(say(&posted, "one"));
        let stream = streams.get(1).unwrap();
        stream.client_left(&first.conn, &mut FlushSet::default());
        assert!(first.conn.outbox.is_closed() && !stream.is_attached());
        assert!(say(&posted, "two"));
        let second = peer(&pump);
        let mut touched = FlushSet::default();
        let reply = Reply::new(&second.conn, ReplyMode::PLAIN);
        stream.attach(reply, &[], ResumeFrom::After(1), &mut touched);
        touched.flush();
        assert!(stream.is_attached());
        assert!(answer(&posted, "three"));
        let text = second.text();
        assert_eq!(
            parts(&text).1,
            "13\r\nid: 1-2\ndata: two\n\n\r\n15\r\nid: 1-3\ndata: three\n\n\r\n0\r\n\r\n"
        );
        // All of it is over: a client that comes back once more gets what it asks for, and the end.
        let third = peer(&pump);
        let reply = Reply::new(&third.conn, ReplyMode::PLAIN);
        stream.attach(reply, &[], ResumeFrom::After(2), &mut touched);
        touched.flush();
        assert_eq!(parts(&third.text()).1, "15\r\nid: 1-3\ndata: three\n\n\r\n0\r\n\r\n");
        pump.stop();
    }

    #[test]
    fn one_whose_client_is_gone_before_anything_was_said_says_nothing() {
        let (pump, _) = Pump::start().unwrap();
        let (peer, streams) = (peer(&pump), streams(true));
        let posted = peer.posted(PostKind::Request(Arc::clone(&streams)));
        peer.conn.outbox.close();
        assert!(!say(&posted, "one"), "the client's own stream is the place for that");
        assert!(streams.get(1).is_none());
        assert!(!answer(&posted, "two"));
        pump.stop();
    }

    #[test]
    fn a_request_nobody_answers_does_not_keep_its_client_waiting() {
        let (pump, _) = Pump::start().unwrap();
        let Peer { mut client, conn } = peer(&pump);
        let reply = Reply::new(&conn, ReplyMode::PLAIN);
        drop(PostReply::new(PostKind::Request(streams(true)), reply));
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        assert_eq!(text, "");
        pump.stop();
    }

    #[test]
    fn the_answer_to_a_page_names_its_origin_and_http_1_0_gets_no_chunks() {
        let (pump, _) = Pump::start().unwrap();
        let Peer { mut client, conn } = peer(&pump);
        let mode = ReplyMode {
            keep_alive: false,
            chunks: false,
            origin: Some("http://localhost:1".into()),
            ..ReplyMode::PLAIN
        };
        let kind = PostKind::Request(streams(false));
        let posted = PostReply::new(kind, Reply::new(&conn, mode));
        assert!(say(&posted, "one") && answer(&posted, "two"));
        client.flush().unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        let (head, body) = parts(&text);
        assert!(head.contains("Access-Control-Allow-Origin: http://localhost:1\r\n"), "{head}");
        assert!(head.contains("Connection: close") && !head.contains("chunked"), "{head}");
        assert_eq!(body, "id: 1-1\ndata: one\n\nid: 1-2\ndata: two\n\n");
        pump.stop();
    }

    #[test]
    fn a_stateless_error_has_a_status() {
        let (pump, _) = Pump::start().unwrap();
        for (code, status) in [
            (None, "200 OK"),
            (Some(-32601), "404 Not Found"),
            (Some(-32020), "400 Bad Request"),
            (Some(-32021), "400 Bad Request"),
            (Some(-32022), "400 Bad Request"),
            (Some(-32602), "200 OK"),
            (Some(-32603), "200 OK"),
            (Some(-31001), "200 OK"),
        ] {
            let peer = peer(&pump);
            let posted = peer.posted(stateless());
            let mut touched = FlushSet::default();
            let payload = Payload::Borrowed(b"{}");
            match code {
                Some(code) => posted.refuse(code, payload, &Edits::new(), &mut touched),
                None => posted.answer(payload, &Edits::new(), &mut touched),
            };
            touched.flush();
            assert!(!say(&posted, "late"));
            let expected =
                format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: 2");
            assert_eq!(parts(&peer.text()), (expected.as_str(), "{}"));
        }
        pump.stop();
    }

    #[test]
    fn a_stateless_stream_has_no_numbers_and_status_200() {
        let (pump, _) = Pump::start().unwrap();
        let peer = peer(&pump);
        let posted = peer.posted(stateless());
        assert!(say(&posted, "one"));
        let mut touched = FlushSet::default();
        assert!(posted.refuse(-32601, Payload::Borrowed(b"two"), &Edits::new(), &mut touched));
        touched.flush();
        assert!(!say(&posted, "three"));
        let text = peer.text();
        let (head, body) = parts(&text);
        assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream"), "{head}");
        assert!(head.contains("X-Accel-Buffering: no"), "{head}");
        let event = |data: &str| format!("1a\r\nevent: message\ndata: {data}\n\n\r\n");
        assert_eq!(body, format!("{}{}0\r\n\r\n", event("one"), event("two")));
        pump.stop();
    }

    #[test]
    fn a_comment_comes_only_after_silence() {
        let (pump, _) = Pump::start().unwrap();
        let peer = peer(&pump);
        let posted = peer.posted(stateless());
        let mut touched = FlushSet::default();
        posted.tick(0, &mut touched); // it was asked just now
        posted.open_stream(&mut posted.state.lock(), &mut touched);
        posted.tick(0, &mut touched);
        touched.flush();
        assert!(answer(&posted, "two"));
        let text = peer.text();
        assert_eq!(parts(&text).1, "1a\r\nevent: message\ndata: two\n\n\r\n0\r\n\r\n");
        pump.stop();
    }

    fn kind(body: &str) -> String {
        read_body(body.as_bytes(), |posted| match posted {
            PostedBody::Message(message) => String::from_utf8(message.bytes.to_vec()).unwrap(),
            PostedBody::Batch(batch) => format!("batch {}", String::from_utf8_lossy(batch)),
            PostedBody::Broken(kind, id) => format!("{kind:?} {}", String::from_utf8_lossy(id)),
        })
    }

    #[test]
    fn line_ends_between_tokens_are_dropped() {
        for (body, expected) in [
            (
                "{\"jsonrpc\":\"2.0\",\r\n \"method\":\"a\\nb\"\n}\n",
                "{\"jsonrpc\":\"2.0\", \"method\":\"a\\nb\"}",
            ),
            ("[\n{}\n]", "batch [{}]"),
            ("[\n{]", "NotJson null"),
            ("[\"\n\"]", "NotJson null"),
            ("{\"jsonrpc\":\"2.0\",\"method\":\"a\nb\"}", "NotJson null"),
            ("{\"id\":7,\"method\":\"a\"}", "NotJsonRpc 7"),
            ("", "Truncated null"),
            ("nonsense", "NotJson null"),
        ] {
            assert_eq!(kind(body), expected, "{body}");
        }
    }
}
