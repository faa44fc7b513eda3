//! `Exchange`: one POST and what it is answered. Plain JSON if the answer is the first thing there
//! is to say, else a stream of events whose last one is the answer.

use std::sync::Arc;

use trunkline_wire::Edits;

use crate::call::{Payload, Responder};
use crate::front::http::events::{From, Role, Stream, end, put, spliced, stream_head};
use crate::front::http::reply::{JSON, Reply};
use crate::front::http::streams::Streams;
use crate::lock::{Mutex, rank};
use crate::pump::{FlushSet, Frame};

#[derive(Debug)]
pub(super) struct Exchange {
    streams: Arc<Streams>,
    kind: Kind,
    state: Mutex<State, rank::ExchangeReply>,
}

/// What was posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Request,
    /// The answer tells the session's id.
    Initialize,
    /// Perhaps nothing in it needs an answer.
    Batch,
}

#[derive(Debug)]
enum State {
    Waiting(Reply),
    Streaming(Arc<Stream>),
    Done,
}

impl Exchange {
    pub(super) fn new(streams: &Arc<Streams>, kind: Kind, reply: Reply) -> Arc<Self> {
        let state = Mutex::new(State::Waiting(reply));
        Arc::new(Self { streams: Arc::clone(streams), kind, state })
    }

    /// Nothing was said for long: becomes a stream, so that something can be.
    pub(super) fn open_up(&self, touched: &mut FlushSet) {
        if let Some(stream) = self.stream(touched) {
            stream.comment(0, touched);
        }
    }

    /// The stream of the exchange, begun now if need be; `None`: nobody would see it.
    fn stream(&self, touched: &mut FlushSet) -> Option<Arc<Stream>> {
        let mut state = self.state.lock();
        match &*state {
            State::Done => return None,
            State::Streaming(stream) => return Some(Arc::clone(stream)),
            State::Waiting(reply) if reply.conn.outbox.is_closed() => return None,
            State::Waiting(_) => {}
        }
        let stream = self.streams.open();
        let before = std::mem::replace(&mut *state, State::Streaming(Arc::clone(&stream)));
        if let State::Waiting(reply) = before {
            let id = [("Mcp-Session-Id", self.streams.session.as_slice())];
            let fields = if self.kind == Kind::Initialize { &id[..] } else { &[] };
            stream.attach(reply, fields, From::After(0), touched);
        }
        Some(stream)
    }

    fn answer_plainly(
        &self,
        mut reply: Reply,
        payload: Payload<'_>,
        edits: &Edits<'_>,
        touched: &mut FlushSet,
    ) -> bool {
        let mut head = Vec::with_capacity(160);
        let length = edits.length(payload.bytes());
        if self.kind == Kind::Initialize {
            let session = self.streams.session.as_slice();
            let fields = [("Content-Type", JSON), ("Mcp-Session-Id", session)];
            reply.head(200, &fields, Some(length), &mut head);
        } else {
            reply.json_head(length, &mut head);
        }
        let frame = Frame { head: &head, tail: b"" };
        let put = payload.put(&reply.conn.outbox, frame, edits);
        reply.finish(touched);
        put
    }
}

impl Responder for Exchange {
    fn say(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        let stream = self.stream(touched);
        stream.is_some_and(|stream| stream.push(spliced(bytes, edits), Role::Message, touched))
    }

    fn answer(&self, payload: Payload<'_>, edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        let state = std::mem::replace(&mut *self.state.lock(), State::Done);
        match state {
            State::Waiting(reply) => self.answer_plainly(reply, payload, edits, touched),
            State::Streaming(stream) => {
                stream.push(spliced(payload.bytes(), edits), Role::Answer, touched)
            }
            State::Done => false,
        }
    }

    /// The client waits for the end of its POST all the same.
    fn unanswered(&self, touched: &mut FlushSet) {
        let state = std::mem::replace(&mut *self.state.lock(), State::Done);
        match state {
            State::Waiting(reply) if self.kind == Kind::Batch => {
                reply.send(202, &[], b"", touched);
            }
            State::Waiting(reply) => {
                put(&reply, &stream_head(&reply, &[]));
                end(reply, touched);
            }
            State::Streaming(stream) => stream.close(touched),
            State::Done => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::*;
    use crate::front::http::clock::Clock;
    use crate::front::http::conn::Conn;
    use crate::front::http::reply::ReplyMode;
    use crate::pump::Pump;
    use crate::stream::Input;

    /// A client's end of a connection, and ours.
    struct Line {
        client: UnixStream,
        conn: Arc<Conn>,
    }

    fn line(pump: &Pump) -> Line {
        let (client, ours) = UnixStream::pair().unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let (_, sink) = Input::socket(OwnedFd::from(ours)).unwrap();
        let conn = Arc::new(Conn::new(Arc::new(Clock::new())));
        conn.outbox.connect(sink, pump);
        Line { client, conn }
    }

    impl Line {
        fn exchange(&self, streams: &Arc<Streams>, kind: Kind) -> Arc<Exchange> {
            Exchange::new(streams, kind, Reply::new(&self.conn, ReplyMode::PLAIN))
        }

        /// What the client gets until we close.
        fn text(mut self) -> String {
            self.conn.outbox.close_when_written();
            let mut text = String::new();
            self.client.read_to_string(&mut text).unwrap();
            text
        }
    }

    fn streams(primes: bool) -> Arc<Streams> {
        Arc::new(Streams::new([b'5'; 32], primes, &Arc::new(Clock::new())))
    }

    fn say(exchange: &Exchange, words: &str) -> bool {
        let mut touched = FlushSet::default();
        let said = exchange.say(words.as_bytes(), &Edits::new(), &mut touched);
        touched.flush();
        said
    }

    fn answer(exchange: &Exchange, words: &str) -> bool {
        let mut touched = FlushSet::default();
        let payload = Payload::Owned(words.as_bytes().to_vec());
        let answered = exchange.answer(payload, &Edits::new(), &mut touched);
        touched.flush();
        answered
    }

    fn unanswered(exchange: &Exchange) {
        let mut touched = FlushSet::default();
        exchange.unanswered(&mut touched);
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
        let line = line(&pump);
        let exchange = line.exchange(&streams(true), Kind::Request);
        assert!(answer(&exchange, "{}"));
        assert!(!say(&exchange, "late") && !answer(&exchange, "again"));
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2";
        assert_eq!(parts(&line.text()), (head, "{}"));
        pump.stop();
    }

    #[test]
    fn a_large_answer_arrives_whole() {
        let (pump, _) = Pump::start().unwrap();
        let Line { mut client, conn } = line(&pump);
        let large = "x".repeat(3 << 20);
        let exchange =
            Exchange::new(&streams(true), Kind::Request, Reply::new(&conn, ReplyMode::PLAIN));
        assert!(answer(&exchange, &large));
        conn.outbox.close_when_written();
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        let (head, body) = parts(&text);
        assert!(head.ends_with("Content-Length: 3145728") && body == large);
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
            let line = line(&pump);
            let exchange = line.exchange(&streams(primes), Kind::Request);
            assert!(say(&exchange, "one") && answer(&exchange, "two"));
            assert!(!say(&exchange, "three") && !answer(&exchange, "again"));
            let text = line.text();
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
            let line = line(&pump);
            let exchange = line.exchange(&streams(true), Kind::Initialize);
            assert!(!streamed || say(&exchange, "one"));
            assert!(answer(&exchange, "two"));
            let text = line.text();
            let named = format!("Mcp-Session-Id: {}\r\n", "5".repeat(32));
            assert!(parts(&text).0.contains(&named), "{text}");
        }
        pump.stop();
    }

    #[test]
    fn a_cancelled_request_ends_its_post() {
        let (pump, _) = Pump::start().unwrap();
        for (kind, status, body) in [(Kind::Request, "200", "0\r\n\r\n"), (Kind::Batch, "202", "")]
        {
            let line = line(&pump);
            let exchange = line.exchange(&streams(true), kind);
            unanswered(&exchange);
            assert!(!answer(&exchange, "late"));
            let text = line.text();
            assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{text}");
            assert_eq!(parts(&text).1, body);
        }
        let line = line(&pump);
        let exchange = line.exchange(&streams(false), Kind::Request);
        assert!(say(&exchange, "one"));
        unanswered(&exchange);
        assert!(line.text().ends_with("one\n\n\r\n0\r\n\r\n"));
        pump.stop();
    }

    #[test]
    fn a_client_whose_connection_broke_gets_the_rest_on_another() {
        let (pump, _) = Pump::start().unwrap();
        let (first, streams) = (line(&pump), streams(false));
        let exchange = first.exchange(&streams, Kind::Request);
        assert!(say(&exchange, "one"));
        let stream = streams.get(1).unwrap();
        stream.detach(&first.conn);
        assert!(first.conn.outbox.is_closed() && !stream.is_attached());
        assert!(say(&exchange, "two"));
        let second = line(&pump);
        let mut touched = FlushSet::default();
        let reply = Reply::new(&second.conn, ReplyMode::PLAIN);
        stream.attach(reply, &[], From::After(1), &mut touched);
        touched.flush();
        assert!(stream.is_attached());
        assert!(answer(&exchange, "three"));
        let text = second.text();
        assert_eq!(
            parts(&text).1,
            "13\r\nid: 1-2\ndata: two\n\n\r\n15\r\nid: 1-3\ndata: three\n\n\r\n0\r\n\r\n"
        );
        // All of it is over: whoever comes back once more gets what it asks for, and the end.
        let third = line(&pump);
        let reply = Reply::new(&third.conn, ReplyMode::PLAIN);
        stream.attach(reply, &[], From::After(2), &mut touched);
        touched.flush();
        assert_eq!(parts(&third.text()).1, "15\r\nid: 1-3\ndata: three\n\n\r\n0\r\n\r\n");
        pump.stop();
    }

    #[test]
    fn one_whose_client_is_gone_before_anything_was_said_says_nothing() {
        let (pump, _) = Pump::start().unwrap();
        let (line, streams) = (line(&pump), streams(true));
        let exchange = line.exchange(&streams, Kind::Request);
        line.conn.outbox.close();
        assert!(!say(&exchange, "one"), "the client's own stream is the place for that");
        assert!(streams.get(1).is_none());
        assert!(!answer(&exchange, "two"));
        pump.stop();
    }

    #[test]
    fn a_request_nobody_answers_does_not_keep_its_client_waiting() {
        let (pump, _) = Pump::start().unwrap();
        let Line { mut client, conn } = line(&pump);
        drop(Exchange::new(&streams(true), Kind::Request, Reply::new(&conn, ReplyMode::PLAIN)));
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        assert_eq!(text, "");
        pump.stop();
    }

    #[test]
    fn the_answer_to_a_page_names_its_origin_and_http_1_0_gets_no_chunks() {
        let (pump, _) = Pump::start().unwrap();
        let Line { mut client, conn } = line(&pump);
        let manner = ReplyMode {
            keep_alive: false,
            chunks: false,
            origin: Some("http://localhost:1".into()),
            ..ReplyMode::PLAIN
        };
        let exchange = Exchange::new(&streams(false), Kind::Request, Reply::new(&conn, manner));
        assert!(say(&exchange, "one") && answer(&exchange, "two"));
        client.flush().unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        let (head, body) = parts(&text);
        assert!(head.contains("Access-Control-Allow-Origin: http://localhost:1\r\n"), "{head}");
        assert!(head.contains("Connection: close") && !head.contains("chunked"), "{head}");
        assert_eq!(body, "id: 1-1\ndata: one\n\nid: 1-2\ndata: two\n\n");
        pump.stop();
    }
}
