//! `serve` and servers that go and come back: calls wait, none is lost, none runs twice.

use std::collections::HashMap;
use std::path::Path;

use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Front, Scene, each_of};
use kit::service::Wire;
use kit::{LIMIT, ledger, process, say};
use rustix::process::Signal;

use crate::faults::assert_own_error;

const FRONTS: [Front; 3] = [Front::Http, Front::Sse, Front::ModernHttp];
const WIRES: [Wire; 2] = [Wire::Http, Wire::Sse];

fn kill(room: &Room, name: &str) {
    let pid = *ledger::started(&room.ledger(name)).last().expect("it was started");
    process::kill(pid, Signal::KILL);
    process::wait_until("it is gone", LIMIT, || !process::is_alive(pid));
}

/// How often each call was carried out, by its arguments.
fn runs(ledger: &Path) -> HashMap<String, usize> {
    let mut runs = HashMap::new();
    for call in ledger::calls(ledger) {
        *runs.entry(nonce_of(call)).or_default() += 1;
    }
    // What names a session that is not known is turned away, and has not run.
    for message in ledger::turned_away(ledger) {
        if let Some(count) = runs.get_mut(&nonce_of(message)) {
            *count -= 1;
        }
    }
    runs
}

/// Nothing, if it has none.
fn nonce_of(message: Vec<u8>) -> String {
    let text = String::from_utf8(message).expect("text");
    let at = text.find("\"nonce\":").map_or(text.len(), |at| at + 8);
    text[at..].chars().take_while(char::is_ascii_digit).collect()
}

fn nonce(number: usize) -> String {
    format!(r#"{{"nonce":{number}}}"#)
}

#[test]
fn a_call_to_a_server_that_is_being_started_again_waits_and_runs_once() {
    each_of(FRONTS, |front| {
        let room = Room::new();
        room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
        let scene = room.open_ready(front, &[]);
        let tool = scene.tool("a", "echo");
        scene.call(&tool, &nonce(0)).result();
        for number in 1..4 {
            kill(&room, "a");
            assert_eq!(scene.list_names(), [tool.as_str()], "it stays in the list");
            // The first may meet the end itself; whoever comes then waits.
            scene.call(&tool, &nonce(number)).result();
        }
        assert_eq!(runs(&room.ledger("a")).len(), 4);
        assert!(runs(&room.ledger("a")).values().all(|count| *count == 1));
    });
}

/// A crowd is let in a few at a time. Posts of one session are taken one after the other, and so does
/// the server read its input: what arrives there in another order was overtaken.
#[test]
fn whoever_calls_a_server_that_has_just_come_back_comes_behind_those_who_waited() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let scene = room.open_ready(Front::Sse, &[]);
    let tool = scene.tool("a", "echo");
    scene.call(&tool, &nonce(0)).result();
    kill(&room, "a");
    let mut calls: Vec<_> = (1..=200).map(|number| scene.begin(&tool, &nonce(number))).collect();
    let arrived = || ledger::calls(&room.ledger("a"));
    process::wait_until("the server is back", LIMIT, || {
        // No more than may wait, however long that takes.
        if calls.len() < 600 {
            calls.push(scene.begin(&tool, &nonce(calls.len() + 1)));
        }
        arrived().len() >= 2
    });
    for _ in 0..100 {
        calls.push(scene.begin(&tool, &nonce(calls.len() + 1)));
    }
    for id in &calls {
        scene.answer(id, LIMIT);
    }
    let order: Vec<usize> =
        arrived().into_iter().map(|call| nonce_of(call).parse().expect("a number")).collect();
    assert!(order.is_sorted_by(|one, next| one < next), "{order:?}");
    // The first may have met the end itself, and then it is not made again.
    assert!(order.len() >= calls.len(), "{} of {}", order.len(), calls.len());
}

#[test]
fn a_call_to_a_server_in_the_network_that_is_away_waits_and_runs_once() {
    each_of(WIRES, |wire| {
        let room = Room::new();
        let mut service = room.fake("a").tool("echo", say::echo()).listen(wire);
        room.config([("a", service.entry())]);
        let scene = room.open_ready(Front::Http, &[]);
        scene.call("a.echo", &nonce(0)).result();
        service.kill();
        let waiting: Vec<_> = (1..20).map(|n| scene.begin("a.echo", &nonce(n))).collect();
        service.restart();
        for id in &waiting {
            scene.answer(id, LIMIT).result();
        }
        assert_eq!(runs(&room.ledger("a")).len(), 20);
        assert!(runs(&room.ledger("a")).values().all(|count| *count == 1));
    });
}

#[test]
fn what_may_run_twice_is_made_again_and_nothing_else() {
    each_of([None, Some(Wire::Http), Some(Wire::Sse)], |wire| {
        let room = Room::new();
        let wait = say::steps([say::gate(&room, "go"), say::text("fine")]);
        let fake = room.fake("a").tool("look", wait.clone()).tool("act", wait).definitions(&[
            r#"{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
            r#"{"name":"act","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}}"#,
        ]);
        let mut service = None;
        let entry = match wire {
            None => fake.entry(),
            Some(wire) => service.insert(fake.listen(wire)).entry(),
        };
        room.config([("a", entry)]);
        let scene = room.open_ready(Front::Http, &[]);
        let act = scene.begin("a.act", &nonce(1));
        let look = scene.begin("a.look", &nonce(2));
        let there = || runs(&room.ledger("a")).len() == 2;
        process::wait_until("both are open", LIMIT, there);
        match &mut service {
            None => kill(&room, "a"),
            Some(service) => service.restart(),
        }
        assert_own_error(&scene.answer(&act, LIMIT), &["may have run"]);
        room.open_gate("go");
        scene.answer(&look, LIMIT).result();
        let runs = runs(&room.ledger("a"));
        assert_eq!((runs["1"], runs["2"]), (1, 2));
    });
}

#[test]
fn k8_a_server_killed_twenty_times_under_load_loses_and_doubles_nothing() {
    let _turn = crate::ONE_AT_A_TIME.lock();
    let room = Room::new();
    let servers = ["a", "b"].map(|name| (name, room.fake(name).tool("echo", say::echo()).entry()));
    room.config(servers);
    let scene = room.open_ready(Front::Http, &[]);
    let mut answered = [0, 0];
    for round in 0..20 {
        // A life in which nobody was answered counts with the one before, and five open the
        // circuit; one that has gone cannot be killed again.
        let is_another = || ledger::started(&room.ledger("a")).len() == round + 1;
        process::wait_until("it is back", LIMIT, is_another);
        scene.call("a.echo", &nonce(20 * 60 + round)).result();
        answered[0] += 1;
        let calls: Vec<_> = (0..60)
            .map(|n| {
                let to = n % 2;
                let tool = if to == 0 { "a.echo" } else { "b.echo" };
                if n == 30 {
                    let pid = *ledger::started(&room.ledger("a")).last().expect("started");
                    process::kill(pid, Signal::KILL);
                }
                (to, scene.begin(tool, &nonce(round * 60 + n)))
            })
            .collect();
        for (to, id) in &calls {
            settle(&scene, *to, id, &mut answered);
        }
    }
    assert_eq!(answered[1], 600, "the other server notices nothing");
    let runs = runs(&room.ledger("a"));
    assert!(runs.values().all(|count| *count == 1), "{runs:?}");
    assert!(runs.len() >= answered[0], "what was answered has run");
    let starts = ledger::started(&room.ledger("a")).len();
    assert!(starts >= 20, "{starts} starts");
}

/// A result, or an error that says that the call may have run; nothing is told to try again.
#[track_caller]
fn settle(scene: &Scene, to: usize, id: &[u8], answered: &mut [usize; 2]) {
    let answer = scene.answer(id, LIMIT);
    match answer.try_result() {
        Some(_) => answered[to] += 1,
        None => assert_own_error(&answer, &["may have run"]),
    }
}

#[test]
fn a_call_that_waits_can_be_cancelled_and_never_runs() {
    let room = Room::new();
    let mut service = room.fake("a").tool("echo", say::echo()).listen(Wire::Http);
    room.config([("a", service.entry())]);
    let scene = room.open_ready(Front::Http, &[]);
    service.kill();
    // Of these the first finds out that the server has gone; both wait.
    let (given_up, kept) = (scene.begin("a.echo", &nonce(1)), scene.begin("a.echo", &nonce(2)));
    scene.cancel(&given_up);
    scene.ask("ping", "{}").result(); // by now the cancellation was read
    service.restart();
    scene.answer(&kept, LIMIT).result();
    assert_eq!(runs(&room.ledger("a")).into_keys().collect::<Vec<_>>(), ["2"]);
}

#[test]
fn without_restarts_a_dead_server_leaves_the_list_at_once() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let scene = room.open_ready(Front::Stdio, &["--no-restart"]);
    kill(&room, "a");
    scene.wait_list("it is out of the list", LIMIT, <[String]>::is_empty);
    scene.call(&scene.tool("a", "echo"), &nonce(1)).error();
    assert!(ledger::calls(&room.ledger("a")).is_empty());
}
