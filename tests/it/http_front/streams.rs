//! Streams of `/mcp`: what comes on which, what a lost connection costs, and how it is resumed.

use std::time::Duration;

use kit::http::{Ask, Connection, Event};
use kit::mcp::{self, Speak};
use kit::room::Room;
use kit::streamable::Streamable;
use kit::{LIMIT, SOON, ledger, process, say, scan};

use super::room;

const WITH_TOKEN: &str = r#"{"name":"a.work","arguments":{},"_meta":{"progressToken":"t"}}"#;

/// A tool that reports progress, waits at the gate `go`, reports once more and answers.
fn working_room() -> Room {
    let room = Room::new();
    let work = say::steps([
        say::progress(2),
        say::gate(&room, "go"),
        say::progress(1),
        say::result(r#"{"done":1.0}"#),
    ]);
    room.config([("a", room.fake("a").tool("work", work).tool("echo", say::echo()).entry())]);
    room
}

fn work(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{WITH_TOKEN}}}"#)
}

/// Starts the work on a connection of its own; what came until the gate.
fn begin(client: &Streamable, id: &str) -> (Connection, Vec<Event>) {
    let mut connection = client.connection();
    connection.begin(&client.dress(Ask::post("/mcp", work(id))));
    let head = connection.head(LIMIT);
    assert!(head.status == 200 && head.is_stream(), "{}", head.raw);
    let mut events = Vec::new();
    while events.iter().filter(|event: &&Event| event.is_message()).count() < 2 {
        events.push(connection.event(LIMIT).expect("progress"));
    }
    (connection, events)
}

fn resume(client: &Streamable, after: &str) -> Connection {
    let mut connection = client.connection();
    let ask = Ask::get("/mcp").header("Accept", "text/event-stream");
    connection.begin(&client.dress(ask.header("Last-Event-ID", after)));
    let head = connection.head(LIMIT);
    assert!(head.status == 200 && head.is_stream(), "{}", head.raw);
    connection
}

#[test]
fn progress_before_the_answer_makes_a_stream_that_ends_with_the_answer() {
    let room = working_room();
    let serve = room.serve(&[]);
    let client = serve.http();
    client.list();
    let (mut connection, events) = begin(&client, "7");
    let ids: Vec<&String> = events.iter().filter_map(|event| event.id.as_ref()).collect();
    assert!(!ids.is_empty(), "events carry ids, so that the stream can be resumed: {events:?}");
    room.open_gate("go");
    let progress = connection.message(LIMIT).expect("the last progress");
    assert_eq!(scan::path(&progress.data, &["params", "progressToken"]), Some(&b"\"t\""[..]));
    let answer = connection.message(LIMIT).expect("the answer");
    assert_eq!(scan::get(&answer.data, "result"), Some(&br#"{"done":1.0}"#[..]));
    assert_eq!(connection.event(SOON), None, "the stream ends");
    assert!(connection.is_free(), "and the connection can be used again");
    let response = connection.ask(&client.dress(Ask::post("/mcp", mcp::call("8", "a.echo", "{}"))));
    assert_eq!(response.status(), 200);
    let stray = client.try_wait_for(Duration::ZERO, |line| line.method().is_some());
    assert_eq!(stray, None, "nothing of it came on the GET stream");
}

#[test]
fn a_long_silence_makes_a_stream_that_shows_life() {
    let room = room();
    let serve = room.serve(&[]);
    let client = serve.http();
    client.list();
    let mut connection = client.connection();
    connection.begin(&client.dress(Ask::post("/mcp", mcp::call("7", "a.wait", r#"{"n":1}"#))));
    let head = connection.head(LIMIT);
    assert!(head.is_stream(), "after 10 s without an answer: {}", head.raw);
    room.open_gate("go");
    let answer = connection.message(LIMIT).expect("the answer");
    assert_eq!(scan::get(&answer.data, "result"), Some(&br#"{"n":1}"#[..]));
}

#[test]
fn k17_a_client_that_goes_in_the_middle_of_a_call_does_not_cancel_it() {
    let room = working_room();
    let serve = room.serve(&[]);
    let client = serve.http();
    client.list();
    let (connection, _) = begin(&client, "7");
    connection.close();
    drop(connection);
    let mut silent = client.connection();
    silent.begin(&client.dress(Ask::post("/mcp", work("8"))));
    let there = || ledger::calls(&room.ledger("a")).len() == 2;
    process::wait_until("both calls are open", LIMIT, there);
    silent.close();
    client.assert_echo("a", "echo", "{}");
    room.open_gate("go");
    client.assert_echo("a", "echo", "{}");
    let cancels = ledger::with_method(&room.ledger("a"), "notifications/cancelled");
    assert!(cancels.is_empty(), "a lost connection is no cancellation");
}

#[test]
fn k17_the_result_of_a_lost_stream_is_there_when_the_client_comes_back() {
    let room = working_room();
    let serve = room.serve(&[]);
    let client = serve.http();
    client.list();
    let (connection, events) = begin(&client, "7");
    let last = events.iter().rev().find_map(|event| event.id.clone()).expect("an event id");
    connection.close();
    room.open_gate("go");
    client.assert_echo("a", "echo", "{}");
    let mut resumed = resume(&client, &last);
    let progress = resumed.message(LIMIT).expect("the last progress");
    assert_eq!(scan::get(&progress.data, "method"), Some(&b"\"notifications/progress\""[..]));
    let answer = resumed.message(LIMIT).expect("the answer");
    assert_eq!(scan::get(&answer.data, "id"), Some(&b"7"[..]));
    assert_eq!(scan::get(&answer.data, "result"), Some(&br#"{"done":1.0}"#[..]));
    assert_eq!(resumed.event(SOON), None, "the stream ends here, too");
    assert_eq!(ledger::calls(&room.ledger("a")).len(), 2, "nothing was sent again");
}

#[test]
fn a_stream_can_be_resumed_before_its_answer_and_from_any_event() {
    let room = working_room();
    let serve = room.serve(&[]);
    let client = serve.http();
    client.list();
    let (connection, events) = begin(&client, "7");
    connection.close();
    let messages: Vec<&Event> = events.iter().filter(|event| event.is_message()).collect();
    let first = messages[0].id.clone().expect("an event id");
    let mut resumed = resume(&client, &first);
    let second = resumed.message(LIMIT).expect("the second progress again");
    assert_eq!(second.data, messages[1].data);
    assert_eq!(second.id, messages[1].id, "an event keeps its id");
    room.open_gate("go");
    resumed.message(LIMIT).expect("the last progress");
    let answer = resumed.message(LIMIT).expect("the answer");
    assert_eq!(scan::get(&answer.data, "result"), Some(&br#"{"done":1.0}"#[..]));
}

#[test]
fn streams_are_resumed_each_for_itself_and_only_by_their_own_session() {
    let room = working_room();
    let serve = room.serve(&[]);
    let (client, stranger) = (serve.http(), serve.http());
    client.list();
    let (one, events_of_one) = begin(&client, "\"one\"");
    let (two, events_of_two) = begin(&client, "\"two\"");
    one.close();
    two.close();
    room.open_gate("go");
    client.assert_echo("a", "echo", "{}");
    let last = |events: &[Event]| events.iter().rev().find_map(|event| event.id.clone());
    let (one, two) = (last(&events_of_one), last(&events_of_two));
    assert_ne!(one, two, "ids are unique in a session");
    for (id, last) in [("\"one\"", &one), ("\"two\"", &two)] {
        let mut resumed = resume(&client, last.as_deref().expect("an event id"));
        let mut answers = Vec::new();
        while let Some(event) = resumed.message(SOON) {
            answers.extend(scan::get(&event.data, "id").map(<[u8]>::to_vec));
        }
        assert_eq!(answers, [id.as_bytes()], "no message of another stream");
    }
    let mut stolen = stranger.connection();
    let ask = Ask::get("/mcp").header("Accept", "text/event-stream");
    stolen.begin(&stranger.dress(ask.header("Last-Event-ID", &one.expect("an event id"))));
    let head = stolen.head(LIMIT);
    let found = if head.status == 200 { stolen.message(Duration::from_secs(1)) } else { None };
    assert_eq!(found, None, "a stranger gets nothing");
}

#[test]
fn what_belongs_to_no_call_comes_on_the_get_stream_and_is_kept_while_there_is_none() {
    let room = Room::new();
    let (old, fresh) = (say::definition("change"), say::definition("fresh"));
    let change =
        say::steps([say::change_tools(&[&old, &fresh]), say::changed("tools"), say::text("done")]);
    let back = say::steps([say::change_tools(&[&old]), say::changed("tools"), say::text("done")]);
    let a = room.fake("a").tool("change", change).tool("*", back);
    room.config([("a", a.entry())]);
    let serve = room.serve(&[]);
    let client = serve.http();
    client.list();
    let changed = "notifications/tools/list_changed";
    client.call("a.change", "{}").result();
    client.notification(changed, LIMIT);
    client.unlisten();
    client.call("a.fresh", "{}").result();
    assert_eq!(client.listen_from(client.last_event().as_deref()), 200);
    client.notification(changed, LIMIT);
}

#[test]
fn each_message_comes_on_one_stream_only() {
    let room = Room::new();
    let (old, fresh) = (say::definition("change"), say::definition("fresh"));
    let change =
        say::steps([say::change_tools(&[&old, &fresh]), say::changed("tools"), say::text("done")]);
    room.config([("a", room.fake("a").tool("change", change).entry())]);
    let serve = room.serve(&[]);
    let client = serve.http();
    client.list();
    // A second GET stream is refused, or takes the place of the first, or shares the messages.
    let second = client.listen();
    assert!(matches!(second, 200 | 409), "{second}");
    client.call("a.change", "{}").result();
    let changed = "notifications/tools/list_changed";
    client.notification(changed, LIMIT);
    let doubled = client.try_wait_for(Duration::from_millis(1_200), |l| l.is_notification(changed));
    assert_eq!(doubled, None, "the same message twice");
}

#[test]
fn streams_are_marked_as_such() {
    let room = working_room();
    let serve = room.serve(&[]);
    let client = serve.http();
    client.list();
    let mut get = client.connection();
    get.begin(&client.dress(Ask::get("/mcp").header("Accept", "text/event-stream")));
    let get = get.head(LIMIT);
    let mut sse = Connection::open(serve.address());
    sse.begin(&Ask::get("/sse").header("Accept", "text/event-stream"));
    for head in [get, sse.head(LIMIT)].iter().filter(|head| head.status == 200) {
        assert!(head.is_stream(), "{}", head.raw);
        let cache = head.header("cache-control").unwrap_or_default();
        assert!(cache.contains("no-cache") || cache.contains("no-store"), "{}", head.raw);
    }
}

#[test]
fn a_legacy_stream_carries_everything_in_order() {
    let room = working_room();
    let serve = room.serve(&[]);
    let client = serve.sse();
    client.list();
    room.open_gate("go");
    let id = client.start("tools/call", WITH_TOKEN);
    let mut methods = Vec::new();
    loop {
        let line = client.wait_for("the next message", LIMIT, |_| true);
        if line.is_answer_to(&id) {
            break;
        }
        methods.push(line.method().unwrap_or_default());
    }
    assert_eq!(methods, ["notifications/progress"; 3]);
}
