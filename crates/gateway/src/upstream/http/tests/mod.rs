//! Responses as servers send them, over a pair of sockets: what becomes of the request.

mod stateless;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use trunkline_catalog::config::{NetworkRules, RemoteKind, Secrets};
use trunkline_wire::{Id, member, scan, upstream_id};

use crate::call::ReplyTo;
use crate::deadlines::Deadlines;
use crate::era::Era;
use crate::identity::Identity;
use crate::instance::Instance;
use crate::limits::Limits;
use crate::pump::{FlushSet, Outbox, Pump, Sink};
use crate::upstream::connection::broken::BrokenLines;
use crate::upstream::connection::{Connection, ConnectionParts};
use crate::upstream::http::Remote;
use crate::upstream::http::address::Address;
use crate::upstream::http::connect::Socket;
use crate::upstream::http::pool::Gate;
use crate::upstream::http::transport::HttpTransport;
use crate::upstream::http::verdict::Dialect;
use crate::upstream::lifecycle::handshake::initialize;
use crate::upstream::transport::Transport as _;

const PATIENCE: Duration = Duration::from_secs(20);

/// A line in the middle of a session, without anything that would open connections for it.
struct Rig {
    line: Arc<HttpTransport>,
    connection: Arc<Connection>,
    pump: Pump,
    runtime: Runtime,
}

impl Rig {
    fn new() -> Self {
        Self::speaking(Dialect::Streamable)
    }

    fn speaking(dialect: Dialect) -> Self {
        let network = NetworkRules::default();
        let place =
            Remote { url: "http://h/mcp", kind: RemoteKind::Http, headers: &[], network: &network };
        let limits = Limits { message: 10_000, ..Limits::default() };
        let secrets = Arc::new(Secrets::new());
        let address = Address::new(place).unwrap();
        let line = HttpTransport::new(&Identity::new("s", "s"), address, dialect, limits, &secrets);
        line.connections.pool.lock().gate = Gate::Open;
        let line = Arc::new(line);
        let connection = Arc::new(Connection::new(ConnectionParts {
            key: Identity::new("s", "s"),
            limits,
            transport: Arc::clone(&line) as _,
            broken: BrokenLines::new(secrets),
            audience: Arc::default(),
            simple: false,
            deadlines: Arc::new(Deadlines::new(None)),
            parking: Arc::new(crate::upstream::Parking::new()),
            options: crate::upstream::connection::ConnectionOptions::default(),
        }));
        line.belong_to(&connection);
        if dialect == Dialect::Modern {
            connection.link.set_era(Era::Modern);
        }
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        Self { line, connection, pump: Pump::start().unwrap().0, runtime }
    }

    /// A connection; the server's side of it.
    fn plug(&self) -> UnixStream {
        let (ours, theirs) = UnixStream::pair().unwrap();
        theirs.set_read_timeout(Some(PATIENCE)).unwrap();
        self.line.adopt(Socket::Plain(ours.into()), &self.pump).unwrap();
        theirs
    }

    /// A client's call: the whole answer, or the words of an error of our own.
    fn call(&self) -> Result<String, String> {
        self.call_with(r#"{"name":"x"}"#)
    }

    fn call_with(&self, params: &str) -> Result<String, String> {
        let (ours, theirs) = UnixStream::pair().unwrap();
        theirs.set_read_timeout(Some(PATIENCE)).unwrap();
        let outbox = Outbox::default();
        outbox.connect(Sink::socket(ours.into()).unwrap().1, &self.pump);
        let request =
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#);
        let (sink, era) = (Arc::new(outbox.clone()), crate::call::RequestEra::Session);
        let path = ReplyTo::new(Arc::default(), Id::new(b"7"), None, sink, era);
        let mut touched = FlushSet::default();
        self.connection
            .submit(&scan(request.as_bytes()).unwrap(), &[], path, &mut touched)
            .unwrap();
        touched.flush();
        let mut line = String::new();
        BufReader::new(&theirs).read_line(&mut line).expect("no answer");
        outbox.close();
        let answer = scan(line.trim_end().as_bytes()).unwrap();
        assert_eq!(answer.id(), b"7");
        let ours = member(answer.text(answer.error), "data").is_some();
        if ours { Err(line) } else { Ok(line.trim_end().to_owned()) }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.line.close();
        self.pump.stop();
    }
}

/// Reads a request; its head, and its id as written.
fn asked(server: &mut UnixStream) -> (String, String) {
    let mut text = String::new();
    let mut byte = [0];
    while !text.ends_with("\r\n\r\n") {
        server.read_exact(&mut byte).unwrap();
        text.push(char::from(byte[0]));
    }
    let length = text.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    server.read_exact(&mut body).unwrap();
    let id = scan(&body).map(|message| message.id().to_vec());
    (text, String::from_utf8(id.unwrap_or_default()).unwrap())
}

fn sized(head: &str, body: &str) -> String {
    format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn in_chunks(head: &str, pieces: &[&str]) -> String {
    let chunks: String =
        pieces.iter().map(|piece| format!("{:x}\r\n{piece}\r\n", piece.len())).collect();
    format!("HTTP/1.1 {head}\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n")
}

const JSON: &str = "200 OK\r\nContent-Type: application/json";
const EVENTS: &str = "200 OK\r\nContent-Type: text/event-stream";
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":ID,"result":{"a":1}}"#;
const ERROR: &str = r#"{"jsonrpc":"2.0","error":{"code":-5,"message":"mine"},"id":null}"#;

/// The server answers a call with `response` (`ID` is the call's), and closes if asked to.
fn answered(response: &str, bytewise: bool, close: bool) -> Result<String, String> {
    let rig = Rig::new();
    let mut server = rig.plug();
    let response = response.to_owned();
    let script = thread::spawn(move || {
        let (_, id) = asked(&mut server);
        assert!(upstream_id(id.as_bytes()).is_some(), "{id}");
        let response = response.replace("ID", &id);
        let step = if bytewise { 1 } else { response.len().max(1) };
        for piece in response.as_bytes().chunks(step) {
            // It may have been closed on us: the response was too bad.
            if server.write_all(piece).is_err() {
                break;
            }
        }
        (!close).then_some(server)
    });
    let outcome = rig.call();
    drop(script.join().unwrap());
    outcome
}

#[test]
fn every_way_to_send_an_answer() {
    let long = "x".repeat(200);
    let answer = ANSWER.replace("ID", "100000000"); // as long as the id that comes
    let pretty = answer.replace(',', ",\n  ");
    let open = |text: &str| text.replace("100000000", "ID");
    let refusal = answer.replace("\"result\":", "\"error\":{\"code\":1,\"message\":\"\",\"more\":");
    let refusal = format!("{refusal}}}");
    let event = format!(": hello\r\n\r\nid: 1\ndata:\n\nevent: message\ndata: {answer}\n\n");
    let lines = format!("data: {}\n\n", pretty.replace('\n', "\ndata: "));
    for (response, close) in [
        (sized(JSON, &answer), false),
        (sized(JSON, &pretty), false),
        (sized("200 OK", &format!("\n{answer}\r\n")), false),
        (format!("HTTP/1.1 100 Continue\r\n\r\n{}", sized(JSON, &answer)), false),
        (in_chunks(JSON, &[answer.split_at(9).0, answer.split_at(9).1]), false),
        (format!("HTTP/1.1 {JSON}\r\n\r\n{answer}"), true),
        (format!("HTTP/1.0 {JSON}\r\n\r\n{answer}"), true),
        (in_chunks(EVENTS, &[event.split_at(20).0, event.split_at(20).1]), false),
        (format!("HTTP/1.1 {EVENTS}\r\nX: {long}\r\n\r\n{event}"), false),
        (format!("HTTP/1.1 {EVENTS}\r\n\r\n{lines}"), false),
        (sized("500 No", &refusal), false),
    ] {
        for bytewise in [false, true] {
            let got = answered(&open(&response), bytewise, close);
            let got = got.unwrap_or_else(|error| panic!("{error}: {response}"));
            assert!(got.contains("{\"a\":1}") && !got.contains('\n'), "{got}: {response}");
        }
    }
}

#[test]
fn a_panic_over_one_answer_fails_its_call_and_no_other() {
    let rig = Rig::new();
    let fatal = r#"{"jsonrpc":"2.0","id":ID,"result":{},"x":"a panic is injected"}"#;
    for (body, expected) in [(fatal, "an internal error"), (ANSWER, "{\"a\":1}")] {
        let mut server = rig.plug();
        let script = thread::spawn(move || {
            let (_, id) = asked(&mut server);
            server.write_all(sized(JSON, &body.replace("ID", &id)).as_bytes()).unwrap();
            server
        });
        let outcome = rig.call();
        assert_eq!(outcome.is_err(), body == fatal);
        let outcome = outcome.unwrap_or_else(|error| error);
        assert!(outcome.contains(expected), "{outcome}");
        drop(script.join().unwrap());
    }
}

#[test]
fn why_there_is_no_answer() {
    let large = "x".repeat(20_000);
    for (response, close, expected) in [
        (sized("401 No", ""), false, "needs authorization (HTTP 401)"),
        (sized("403 No", ERROR), false, "did not run"),
        (sized("500 No", "bo\x1bom"), false, "with HTTP 500: bo\\\\u{1b}om; the call may have run"),
        (sized("429 No", ""), false, "is busy (HTTP 429) (try again later); the call did not run"),
        (sized("503 No\r\nRetry-After: 100", ""), false, "and asks to wait 100 s"),
        (sized("302 No\r\nLocation: http://other/", ""), false, "redirects to another server"),
        (sized("200 OK\r\nContent-Type: text/html", "<p>"), false, "answers with text/html where"),
        (sized(&format!("{JSON}\r\nContent-Encoding: br"), "x"), false, "answers compressed"),
        (sized(JSON, ""), false, "something that is not the answer"),
        (sized("202 Accepted", ""), false, "accepted the request without an answer (HTTP 202)"),
        (sized(JSON, &large), false, "over the limit of 10000 bytes"),
        (in_chunks(JSON, &[&large]), false, "over the limit of 10000 bytes"),
        (format!("HTTP/1.1 {EVENTS}\r\n\r\ndata: {large}"), false, "over the limit"),
        (format!("HTTP/1.1 {EVENTS}\r\n\r\n: x\n\n"), true, "ended its stream of events before"),
        (format!("HTTP/1.1 {JSON}\r\nContent-Length: 9\r\n\r\n{{"), true, "in the middle of its"),
        ("HTTP/1.1 200".to_owned(), true, "closed the connection before it answered; the call may"),
        (String::new(), true, "closed the connection before it answered; the call may have run"),
        ("HELLO\r\n\r\n".to_owned(), false, "answers with bad HTTP"),
        (sized(JSON, r#"{"jsonrpc":"2.0","id":ID,"result":{"#), true, "in the middle"),
    ] {
        let got = answered(&response, false, close).expect_err(&response);
        assert!(got.contains(expected), "{got}: {response}");
    }
    let theirs = answered(&sized("400 No", ERROR), false, false).unwrap();
    assert!(theirs.contains("mine"), "{theirs}");
}

#[test]
fn a_connection_serves_again_unless_it_is_said_to_end() {
    let rig = Rig::new();
    let mut first = rig.plug();
    let script = thread::spawn(move || {
        for end in ["", "\r\nConnection: close"] {
            let (head, id) = asked(&mut first);
            assert!(head.starts_with("POST /mcp HTTP/1.1\r\nHost: h\r\n"), "{head}");
            let response = sized(&format!("{JSON}{end}"), &ANSWER.replace("ID", &id));
            first.write_all(response.as_bytes()).unwrap();
        }
        let mut rest = Vec::new();
        first.read_to_end(&mut rest).unwrap();
        assert!(rest.is_empty(), "the connection is not used any more");
    });
    rig.call().unwrap();
    rig.call().unwrap();
    script.join().unwrap();
    // The next one waits for another connection.
    let mut second = rig.plug();
    let script = thread::spawn(move || {
        let (_, id) = asked(&mut second);
        second.write_all(sized(JSON, &ANSWER.replace("ID", &id)).as_bytes()).unwrap();
        second
    });
    rig.call().unwrap();
    drop(script.join().unwrap());
}

#[test]
fn a_request_that_was_not_written_is_sent_on_another_connection() {
    let rig = Rig::new();
    drop(rig.plug()); // closed, and that may not have been noticed yet
    let request = rig.connection.link.request("tools/call", b"{}");
    let line = Arc::clone(&rig.line);
    let pump = rig.pump.clone();
    let script = async move {
        // Whatever has become of the first connection, the request is still to be sent.
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        line.adopt(Socket::Plain(ours.into()), &pump).unwrap();
        tokio::task::spawn_blocking(move || {
            let (_, id) = asked(&mut theirs);
            theirs.write_all(sized(JSON, &ANSWER.replace("ID", &id)).as_bytes()).unwrap();
            theirs
        })
        .await
    };
    let both = async { tokio::join!(request, script) };
    let (answer, script) = rig.runtime.block_on(async { timeout(PATIENCE, both).await }).unwrap();
    assert!(answer.unwrap().is_ok());
    drop(script.unwrap());
}

#[test]
fn a_request_outlives_its_session() {
    let rig = Rig::new();
    rig.line.connections.pool.lock().session.name(Some("old".to_owned()));
    let mut server = rig.plug();
    let script = thread::spawn(move || {
        let mut heads = Vec::new();
        let mut answer = |response: &dyn Fn(&str) -> String| {
            let (head, id) = asked(&mut server);
            heads.push(head);
            server.write_all(response(&id).as_bytes()).unwrap();
        };
        answer(&|_| sized("404 Not Found", ""));
        answer(&|id| {
            let result = r#"{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{}}"#;
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
            sized(&format!("{JSON}\r\nMcp-Session-Id: new"), &body)
        });
        answer(&|_| sized("202 Accepted", ""));
        answer(&|id| sized(JSON, &ANSWER.replace("ID", id)));
        (heads, server)
    });
    let renewed = async {
        rig.line.session_lost.notified().await;
        initialize(&rig.connection, b"{}", &Instance::new()).await
    };
    let call = rig.connection.link.request("tools/call", b"{}");
    let both = async { tokio::join!(call, renewed) };
    let (answer, hello) = rig.runtime.block_on(async { timeout(PATIENCE, both).await }).unwrap();
    assert_eq!(hello.unwrap().protocol, "2025-06-18");
    assert!(answer.unwrap().unwrap().ends_with(br#""result":{"a":1}}"#));
    let (heads, server) = script.join().unwrap();
    let names: Vec<_> = heads.iter().map(|head| session_of(head)).collect();
    assert_eq!(names, [Some("old"), None, Some("new"), Some("new")]);
    assert!(heads[3].contains("MCP-Protocol-Version: 2025-06-18\r\n"), "{}", heads[3]);
    drop(server);
}

fn session_of(head: &str) -> Option<&str> {
    head.lines().find_map(|line| line.strip_prefix("Mcp-Session-Id: "))
}

#[test]
fn an_answer_is_asked_for_again_behind_the_last_event() {
    let rig = Rig::new();
    let mut server = rig.plug();
    let script = thread::spawn(move || {
        let (_, id) = asked(&mut server);
        let events = "id: e7\nretry: 1\ndata:\n\n";
        server.write_all(in_chunks(EVENTS, &[events]).as_bytes()).unwrap();
        let (head, _) = asked(&mut server);
        assert!(head.starts_with("GET /mcp HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("Last-Event-ID: e7\r\n"), "{head}");
        let event = format!("data: {}\n\n", ANSWER.replace("ID", &id));
        server.write_all(in_chunks(EVENTS, &[&event]).as_bytes()).unwrap();
        server
    });
    let pauses = async {
        loop {
            match rig.line.connections.next_tick() {
                Some(due) => tokio::time::sleep_until(due.into()).await,
                None => rig.line.connections.attention.notified().await,
            }
            rig.line.connections.tick();
        }
    };
    let call = rig.connection.link.request("tools/call", b"{}");
    let answer = rig.runtime.block_on(async {
        tokio::select! {
            answer = timeout(PATIENCE, call) => answer.unwrap(),
            () = pauses => unreachable!(),
        }
    });
    assert!(answer.unwrap().unwrap().ends_with(br#""result":{"a":1}}"#));
    drop(script.join().unwrap());
}
