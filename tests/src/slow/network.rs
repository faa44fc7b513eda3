//! The slow reader over Streamable HTTP and over HTTP+SSE.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::{Calls, Cell, Front, Growth, Work, assert_result};
use crate::http::{Ask, Connection};
use crate::mcp::Speak;
use crate::room::Room;
use crate::serve::Serve;
use crate::streamable::Streamable;
use crate::{LIMIT, mcp};

/// Longer than a slow answer takes: it waits for all the others that are open.
const ANSWER: Duration = Duration::from_secs(120);

/// How many calls were answered, and by how much the memory grew.
pub(super) fn run(cell: Cell, room: &Room, work: Work) -> (u64, u64) {
    let serve = room.serve(&[]);
    serve.http().list();
    match cell.front {
        Front::Sse => over_one_stream(cell, &serve, work),
        _ => over_many_posts(cell, &serve, work),
    }
}

fn growth(serve: &Serve) -> Growth {
    Growth::begin(serve.process().pid().as_raw_nonzero().get())
}

/// As many connections as calls are open, each with one call after the other.
fn over_many_posts(cell: Cell, serve: &Serve, work: Work) -> (u64, u64) {
    let client = serve.http();
    let (growth, calls) = (growth(serve), Calls::new(work));
    std::thread::scope(|scope| {
        for _ in 0..cell.window() {
            scope.spawn(|| post_in_turn(cell, &client, &calls));
        }
    });
    (calls.given(), growth.most_kib())
}

fn post_in_turn(cell: Cell, client: &Streamable, calls: &Calls) {
    let pace = cell.client_pace().map(|pace| pace.shared_by(cell.window()));
    let mut connection = client.connection().paced(pace);
    while let Some(id) = calls.next() {
        let body = cell.request("bulk.call", id);
        connection.begin(&client.dress(Ask::post("/mcp", body)));
        let head = connection.head(ANSWER);
        assert_eq!(head.is_stream(), cell.front == Front::Events, "{}", head.raw);
        if head.is_stream() {
            connection.message(ANSWER).expect("progress");
            assert_result(&connection.message(ANSWER).expect("the answer").data);
            assert_eq!(connection.event(LIMIT), None, "the stream ends");
        } else {
            assert_result(&connection.body(ANSWER));
        }
    }
}

/// Everything comes over one stream; calls are posted beside it.
fn over_one_stream(cell: Cell, serve: &Serve, work: Work) -> (u64, u64) {
    let mut stream = Connection::open(serve.address()).paced(cell.client_pace());
    stream.begin(&Ask::get("/sse").header("Accept", "text/event-stream"));
    stream.head(LIMIT);
    let endpoint = stream.event(LIMIT).expect("the endpoint").data;
    let endpoint = String::from_utf8(endpoint).expect("a path");
    let mut posts = Connection::open(serve.address());
    posts.ask(&Ask::post(&endpoint, mcp::initialize("1", "2025-11-25")));
    stream.message(LIMIT).expect("the answer to initialize");
    let (growth, calls) = (growth(serve), Calls::new(work));
    let (free, turns) = channel();
    for _ in 0..cell.window() {
        free.send(()).expect("somebody waits");
    }
    let answered = std::thread::scope(|scope| {
        let free = free; // gone with this reader, even if it panics: then the writer ends, too
        let (endpoint, calls) = (&endpoint, &calls);
        scope.spawn(move || post_each(cell, posts, endpoint, turns, calls));
        let mut answered = 0;
        while !(answered == calls.given() && calls.is_over()) {
            let event = stream.message(ANSWER);
            assert_result(&event.unwrap_or_else(|| panic!("{answered} answers, no more")).data);
            answered += 1;
            let _ = free.send(()); // whoever posts may be done
        }
        answered
    });
    (answered, growth.most_kib())
}

/// One call for every turn.
fn post_each(
    cell: Cell,
    mut posts: Connection,
    endpoint: &str,
    turns: Receiver<()>,
    calls: &Calls,
) {
    while turns.recv().is_ok()
        && let Some(id) = calls.next()
    {
        let taken = posts.ask(&Ask::post(endpoint, cell.request("bulk.call", id)));
        assert_eq!(taken.status(), 202, "{}", taken.text());
    }
}
