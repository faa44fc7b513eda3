//! Other routes on the same address.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use trunkline_gateway::{Attachment, BodyRule, WebReply, WebRequest, WebStream};

use crate::scene::{Scene, Test};

pub(crate) const TESTS: &[Test] = &[
    ("a_request_arrives_as_it_was_sent", a_request_arrives_as_it_was_sent),
    ("an_answer_may_come_later_from_another_thread", an_answer_may_come_later_from_another_thread),
    ("strange_hosts_and_pages_are_kept_out", strange_hosts_and_pages_are_kept_out),
    ("a_body_has_its_limit", a_body_has_its_limit),
    ("pages_are_told_what_they_may_do", pages_are_told_what_they_may_do),
    ("a_stream_flows_until_it_is_dropped", a_stream_flows_until_it_is_dropped),
    ("a_client_that_leaves_its_stream_is_noticed", a_client_that_leaves_its_stream_is_noticed),
    ("a_client_that_does_not_read_is_given_up", a_client_that_does_not_read_is_given_up),
    ("what_nobody_answers_is_an_error", what_nobody_answers_is_an_error),
    ("what_cannot_be_a_header_is_none", what_cannot_be_a_header_is_none),
];

#[derive(Debug)]
pub(crate) struct Pages {
    visits: AtomicU64,
    streams: SyncSender<WebStream>,
    opened: Mutex<Receiver<WebStream>>,
}

impl Default for Pages {
    fn default() -> Self {
        let (streams, opened) = sync_channel(16);
        Self { visits: AtomicU64::new(0), streams, opened: Mutex::new(opened) }
    }
}

impl Pages {
    /// The stream that was asked for last.
    fn stream(&self) -> WebStream {
        self.opened.lock().recv_timeout(Duration::from_secs(30)).unwrap()
    }
}

const TEXT: &[(&str, &[u8])] = &[("Content-Type", b"text/plain"), ("ETag", b"\"1\"")];

impl Attachment for Pages {
    fn owns(&self, path: &str) -> bool {
        path.starts_with("/api/")
    }

    fn body_rule(&self, head: &WebRequest) -> BodyRule {
        BodyRule::Caller(if head.path() == "/api/large" { 4 << 20 } else { 1 << 20 })
    }

    fn handle(&self, visit: WebRequest, reply: WebReply) {
        self.visits.fetch_add(1, Ordering::Relaxed);
        assert!(Handle::try_current().is_ok(), "it runs on the runtime");
        let words = |visit: &WebRequest| {
            let shown = visit.headers.text("authorization").unwrap_or("nothing").to_owned();
            let (method, target, length) = (&visit.method, &visit.target, visit.body.len());
            format!("{method} {target} {length} {shown} {}", visit.peer.ip())
        };
        match visit.path() {
            "/api/later" => {
                drop(thread::spawn(move || reply.send(201, TEXT, words(&visit).as_bytes())));
            }
            "/api/stream" => {
                let stream = reply.stream(200, &[("Content-Type", b"text/event-stream")]);
                self.streams.send(stream).unwrap();
            }
            "/api/silent" => drop(reply),
            "/api/empty" => reply.send(204, &[], b""),
            "/api/odd" => {
                reply.send(
                    200,
                    &[("X-Bad", b"a\r\nX-Worse: 1"), ("X Bad", b"1"), ("X-Good", b"1")],
                    b"",
                );
            }
            _ => reply.send(200, TEXT, words(&visit).as_bytes()),
        }
    }
}

fn a_request_arrives_as_it_was_sent(scene: &Scene) {
    let mut wire = scene.wire();
    for (head, fields, body, status, expected) in [
        ("GET /api/x?a=%20", "", "", 200, "GET /api/x?a=%20 0 nothing 127.0.0.1"),
        (
            "PATCH /api/x",
            "Authorization: Bearer k\r\n",
            "{}",
            200,
            "PATCH /api/x 2 Bearer k 127.0.0.1",
        ),
        ("PUT http://localhost/api/x", "", "12345", 200, "PUT /api/x 5 nothing 127.0.0.1"),
        ("HEAD /api/x", "", "", 200, ""),
        ("DELETE /api/empty", "", "", 204, ""),
        ("OPTIONS /api/x", "", "", 200, "OPTIONS /api/x 0 nothing 127.0.0.1"),
    ] {
        let answer = wire.ask(head, fields, body);
        assert_eq!((answer.status, &*answer.body), (status, expected), "{head}");
    }
    let to_head = wire.ask("HEAD /api/x", "", "");
    assert_eq!(to_head.header("Content-Length"), Some("31"), "{to_head:?}");
    wire.write(
        "POST /api/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n\
         3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
    );
    assert!(wire.until("127.0.0.1").contains("POST /api/x 5 nothing"));
}

fn an_answer_may_come_later_from_another_thread(scene: &Scene) {
    let answer = scene.wire().ask("POST /api/later", "", "abc");
    assert_eq!(answer.status, 201);
    assert_eq!(answer.header("ETag"), Some("\"1\""));
    assert_eq!(answer.body, "POST /api/later 3 nothing 127.0.0.1");
}

fn strange_hosts_and_pages_are_kept_out(scene: &Scene) {
    let before = scene.pages.visits.load(Ordering::Relaxed);
    for fields in [
        "Host: evil.example\r\n",
        "Host: localhost\r\nOrigin: http://evil.example\r\n",
        "Host: localhost\r\nOrigin: null\r\n",
    ] {
        let answer = scene.wire().ask("POST /api/x", fields, "{}");
        assert_eq!(answer.status, 403, "{fields}");
    }
    assert_eq!(scene.pages.visits.load(Ordering::Relaxed), before);
}

fn a_body_has_its_limit(scene: &Scene) {
    let (most, large) = ("x".repeat(1 << 20), "x".repeat((1 << 20) + 1));
    assert_eq!(scene.wire().ask("POST /api/large", "", &large).status, 200);
    assert_eq!(scene.wire().ask("POST /api/x", "", &most).status, 200);
    let mut wire = scene.wire();
    let length = large.len();
    wire.write(&format!(
        "POST /api/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n"
    ));
    let refused = wire.until("}");
    assert!(refused.starts_with("HTTP/1.1 413"), "{refused}");
    assert!(
        refused.contains("application/problem+json")
            && refused.contains("1048576")
            && refused.contains(r#""hint":"reduce the request body""#),
        "{refused}"
    );
}

fn pages_are_told_what_they_may_do(scene: &Scene) {
    let page = "Host: localhost:5173\r\nOrigin: http://localhost:5173\r\n";
    let asks = format!("{page}Access-Control-Request-Method: PATCH\r\n");
    let answer = scene.wire().ask("OPTIONS /api/x", &asks, "");
    assert_eq!(answer.status, 204);
    let allowed = answer.header("Access-Control-Allow-Methods").unwrap();
    assert!(allowed.contains("PATCH") && allowed.contains("PUT"), "{allowed}");
    assert!(answer.header("Access-Control-Allow-Headers").unwrap().contains("If-Match"));
    let answer = scene.wire().ask("GET /api/x", page, "");
    assert_eq!(answer.header("Access-Control-Allow-Origin"), Some("http://localhost:5173"));
    assert!(answer.header("Access-Control-Expose-Headers").unwrap().contains("ETag"));
    // Nothing changes for MCP.
    let answer = scene.wire().ask("OPTIONS /mcp", &asks, "");
    let allowed = answer.header("Access-Control-Allow-Methods");
    assert_eq!(allowed, Some("GET, POST, DELETE, OPTIONS"));
}

fn a_stream_flows_until_it_is_dropped(scene: &Scene) {
    let mut wire = scene.wire();
    wire.send("GET /api/stream", "", "");
    let stream = scene.pages.stream();
    assert!(stream.write(b"data: one\n\n"));
    wire.until("data: one\n\n");
    assert!(stream.write(b"") && stream.write(b"data: two\n\n") && !stream.is_closed());
    drop(stream);
    assert!(wire.rest().ends_with("data: two\n\n\r\n0\r\n\r\n"));
    // The connection goes on.
    assert_eq!(wire.ask("GET /api/x", "", "").status, 200);
    let answer = wire.ask("HEAD /api/stream", "", "");
    assert_eq!((answer.status, &*answer.body), (200, ""));
    assert!(!scene.pages.stream().write(b"x"), "only the head was wanted");
}

fn a_client_that_leaves_its_stream_is_noticed(scene: &Scene) {
    let mut wire = scene.wire();
    wire.send("GET /api/stream", "", "");
    let stream = Arc::new(scene.pages.stream());
    wire.until("\r\n\r\n");
    drop(wire);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let closed = runtime
        .block_on(async { tokio::time::timeout(Duration::from_secs(30), stream.closed()).await });
    assert!(closed.is_ok() && stream.is_closed() && !stream.write(b"x"));
}

fn a_client_that_does_not_read_is_given_up(scene: &Scene) {
    let mut wire = scene.wire();
    wire.send("GET /api/stream", "", "");
    let stream = scene.pages.stream();
    let piece = vec![b'x'; 1 << 20];
    let taken = (0..1000).take_while(|_| stream.write(&piece)).count();
    assert!((1..1000).contains(&taken), "{taken} MiB");
    assert!(stream.is_closed());
}

fn what_nobody_answers_is_an_error(scene: &Scene) {
    let mut wire = scene.wire();
    let answer = wire.ask("GET /api/silent", "", "");
    assert_eq!(answer.status, 500);
    assert_eq!(answer.header("Content-Type"), Some("application/problem+json"));
    assert!(answer.body.contains("\"status\":500"), "{answer:?}");
    assert_eq!(wire.ask("GET /api/x", "", "").status, 200);
}

fn what_cannot_be_a_header_is_none(scene: &Scene) {
    let answer = scene.wire().ask("GET /api/odd", "", "");
    assert_eq!(answer.header("X-Good"), Some("1"));
    assert!(!answer.head.contains("X-Worse") && !answer.head.contains("X-Bad"), "{answer:?}");
}
