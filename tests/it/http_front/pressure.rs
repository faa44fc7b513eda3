//! K14, K15, K16: floods and readers that do not read.

use std::time::{Duration, Instant};

use kit::http::{Ask, Connection};
use kit::mcp::{self, Speak};
use kit::room::Room;
use kit::scene::{Front, each_of};
use kit::serve::Serve;
use kit::yardstick::Yardstick;
use kit::{LIMIT, ledger, process, say};

/// `big` answers with a MiB, `flood` with many notifications before the answer.
fn room() -> Room {
    let room = Room::new();
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}}"#;
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let flood =
        say::steps([say::flood(20_000, log), say::flood(20_000, changed), say::text("done")]);
    let a = room
        .fake("a")
        .logging()
        .tool("echo", say::echo())
        .tool("big", say::steps([say::huge(1 << 20, say::Place::First)]))
        .tool("flood", flood);
    room.config([("a", a.entry()), ("b", room.fake("b").tool("echo", say::echo()).entry())]);
    room
}

/// Sends calls with large answers and reads none of them.
fn stall(serve: &kit::serve::Serve, front: Front, calls: usize) -> Vec<Connection> {
    let client = serve.talk(front, "{}");
    match client {
        kit::scene::Talk::Http(http) => (0..calls)
            .map(|number| {
                let mut connection = http.connection();
                let body = mcp::call(&format!("\"s{number}\""), "a.big", "{}");
                connection.begin(&http.dress(Ask::post("/mcp", body)));
                connection
            })
            .collect(),
        kit::scene::Talk::Sse(_) => {
            let mut stream = Connection::open(serve.address());
            stream.begin(&Ask::get("/sse").header("Accept", "text/event-stream"));
            stream.head(LIMIT);
            let endpoint = stream.event(LIMIT).expect("the endpoint").data;
            let endpoint = String::from_utf8_lossy(&endpoint).into_owned();
            let target = &endpoint[endpoint.find("/messages").unwrap_or(0)..];
            let mut posts = Connection::open(serve.address());
            posts.ask(&Ask::post(target, mcp::initialize("1", "2025-11-25")));
            let done = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
            posts.ask(&Ask::post(target, done));
            for number in 0..calls {
                let body = mcp::call(&format!("\"s{number}\""), "a.big", "{}");
                if posts.ask(&Ask::post(target, body)).status() != 202 {
                    break;
                }
            }
            vec![stream, posts]
        }
        kit::scene::Talk::Stdio(_) | kit::scene::Talk::Modern(_) => {
            unreachable!("a network front of the older era")
        }
    }
}

#[test]
fn k16_clients_that_do_not_read_change_nothing_for_the_others_and_cost_bounded_memory() {
    let _turn = crate::ONE_AT_A_TIME.lock();
    each_of(Front::NETWORK, |front| {
        let room = room();
        let serve = room.serve(&[]);
        let client = serve.http();
        client.list();
        let pid = serve.process().pid().as_raw_nonzero().get();
        let stalled: Vec<_> = (0..50).map(|_| stall(&serve, front, 4)).collect();
        let (yardstick, mut slowest) = (Yardstick::new(), Duration::ZERO);
        for number in 0..200 {
            let start = Instant::now();
            let server = if number % 2 == 0 { "a" } else { "b" };
            client.assert_echo(server, "echo", "{}");
            slowest = slowest.max(start.elapsed());
        }
        // As in the crash loop of another server: nobody waits a second for an answer.
        yardstick.assert_kept(Duration::from_secs(1), slowest);
        let peak = process::peak_memory_kib(pid);
        assert!(peak < 1 << 20, "{peak} KiB for 200 answers of a MiB that nobody reads");
        drop(stalled);
        client.assert_echo("a", "echo", "{}");
        assert!(serve.process().is_alive());
    });
}

/// There is room for a handful of connections.
fn with_few_places(room: &Room) -> Serve {
    Serve::start_with_files(&room.serve_command(&[]), 64)
}

#[test]
fn whoever_holds_all_places_and_asks_nothing_makes_room_for_others() {
    let room = room();
    let serve = with_few_places(&room);
    // Its connections stay open from its side, longer than this test waits.
    let crowd: Vec<_> = (0..30).map(|_| Connection::open(serve.address())).collect();
    serve.process().wait_stderr(&["can be accepted for now"], LIMIT);
    // Those of everybody who does not say who they are: 75 seconds when there is room.
    let before = Duration::from_secs(60);
    process::wait_until("others come in", before, || {
        let Ok(mut connection) = Connection::try_open(serve.address()) else { return false };
        connection.begin(&Ask::get("/healthz"));
        connection.try_response(before).is_some_and(|answer| answer.status() == 200)
    });
    drop(crowd);
}

#[test]
fn a_pause_in_accepting_is_told_when_it_begins_and_when_it_ends() {
    let room = room();
    let serve = with_few_places(&room);
    let told = |words: &str| serve.process().stderr().matches(words).count();
    for round in 1..=2 {
        let crowd: Vec<_> = (0..40).map(|_| Connection::open(serve.address())).collect();
        serve.process().wait_stderr(&["can be accepted for now", "ulimit -n"], LIMIT);
        process::wait_until("it is told", LIMIT, || told("can be accepted for now") == round);
        assert_eq!(told("accepted again"), round - 1, "it goes on");
        drop(crowd);
        process::wait_until("its end is told", LIMIT, || told("accepted again") == round);
        assert_eq!(serve.http().call("a.echo", "{}").try_error(), None);
    }
    assert_eq!((told("can be accepted for now"), told("accepted again")), (2, 2));
}

#[test]
fn k14_k15_a_flood_of_notifications_delays_nobody_and_is_coalesced() {
    each_of(Front::NETWORK, |front| {
        let room = room();
        let serve = room.serve(&[]);
        let (client, other) = (serve.talk(front, "{}"), serve.talk(front, "{}"));
        client.list();
        let id = client.begin("a.flood", "{}");
        for _ in 0..20 {
            other.assert_echo("b", "echo", "{}");
        }
        client.answer(&id, LIMIT).result();
        other.assert_echo("a", "echo", "{}");
        let sweeps = ledger::with_method(&room.ledger("a"), "tools/list").len();
        assert!(sweeps <= 30, "{sweeps} times asked for its tools");
        client.assert_only_protocol();
    });
}

#[test]
fn k16_a_listener_that_does_not_read_loses_notifications_not_the_service() {
    let room = room();
    let serve = room.serve(&[]);
    let (client, caller) = (serve.streamable(), serve.http());
    client.initialize("2025-11-25").result();
    // The stream is opened and never read.
    let mut deaf = client.connection();
    deaf.begin(&client.dress(Ask::get("/mcp").header("Accept", "text/event-stream")));
    caller.list();
    for _ in 0..10 {
        let id = caller.begin("a.flood", "{}");
        caller.answer(&id, LIMIT).result();
    }
    caller.assert_echo("b", "echo", "{}");
    drop(deaf);
    assert!(serve.process().is_alive());
    let pid = serve.process().pid().as_raw_nonzero().get();
    let peak = process::peak_memory_kib(pid);
    assert!(peak < 256 << 10, "{peak} KiB");
}
