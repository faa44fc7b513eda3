//! Cancelling, in each era's own way on either side.

use kit::config::Upstream;
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Front, Talk, each_pair};
use kit::{LIMIT, ledger, process, say, scan};

/// At least one side is of the stateless era.
const FRONTS: [Front; 5] =
    [Front::Stdio, Front::Http, Front::Sse, Front::ModernStdio, Front::ModernHttp];
const UPSTREAMS: [Upstream; 5] =
    [Upstream::Stdio, Upstream::Http, Upstream::Sse, Upstream::ModernStdio, Upstream::ModernHttp];

fn house(room: &Room, upstream: Upstream) {
    let a = room
        .fake("a")
        .tool("slow", say::never())
        .tool("echo", say::echo())
        .resource("x://slow", "Slow")
        .read("x://slow", say::never())
        .prompt("slow", "Slow")
        .get("slow", say::never());
    room.config([("a", a.over(upstream))]);
}

/// Has the server been told that this request of its own is not wanted any more?
fn is_told(room: &Room, upstream: Upstream, own: &[u8]) -> bool {
    if upstream == Upstream::ModernHttp {
        return ledger::closed(&room.ledger("a")).iter().any(|id| id == own);
    }
    let all = ledger::with_method(&room.ledger("a"), "notifications/cancelled");
    all.iter().any(|line| scan::path(line, &["params", "requestId"]) == Some(own))
}

#[test]
fn a_cancellation_reaches_the_server_in_the_way_of_its_era() {
    each_pair(&FRONTS, &UPSTREAMS, |front, upstream| {
        if !front.is_modern() && !upstream.is_modern() {
            return;
        }
        let room = Room::new();
        house(&room, upstream);
        let scene = room.open_ready(front, &[]);
        let tool = scene.tool("a", "slow");
        for (method, params) in [
            ("tools/call", format!(r#"{{"name":"{tool}","arguments":{{}}}}"#)),
            ("resources/read", r#"{"uri":"x://slow"}"#.to_owned()),
            ("prompts/get", r#"{"name":"slow"}"#.to_owned()),
        ] {
            let id = scene.start(method, &params);
            let asked = || ledger::with_method(&room.ledger("a"), method);
            process::wait_until("the server has it", LIMIT, || !asked().is_empty());
            let own = asked().last().and_then(|line| scan::get(line, "id")).map(<[u8]>::to_vec);
            let own = own.expect("a request has an id");
            scene.cancel(&id);
            process::wait_until("the server is told", LIMIT, || is_told(&room, upstream, &own));
            scene.assert_echo("a", "echo", "{}");
            let late = scene.try_wait_for(std::time::Duration::ZERO, |line| line.is_answer_to(&id));
            assert_eq!(late, None, "a cancelled request has no answer");
        }
        if upstream == Upstream::ModernHttp {
            let posted = ledger::with_method(&room.ledger("a"), "notifications/cancelled");
            assert!(posted.is_empty(), "closing is enough");
        }
    });
}

/// In the older era a client that loses its connection may come back for the rest.
#[test]
fn a_session_whose_connection_breaks_has_not_cancelled() {
    each_pair(&[Front::Http], &UPSTREAMS, |front, upstream| {
        let room = Room::new();
        let slow = say::steps([say::gate(&room, "go"), say::text("fine")]);
        let a = room.fake("a").tool("slow", slow).tool("echo", say::echo());
        room.config([("a", a.over(upstream))]);
        let scene = room.open_ready(front, &[]);
        scene.begin("a.slow", "{}");
        let there = || ledger::calls(&room.ledger("a")).len() == 1;
        process::wait_until("the call is open", LIMIT, there);
        let Talk::Http(client) = &scene.client else { panic!("a session over HTTP") };
        client.lose_connections();
        scene.serve().modern("{}").assert_echo("a", "echo", "{}");
        scene.serve().http().assert_echo("a", "echo", "{}");
        let own = scan::get(&ledger::calls(&room.ledger("a"))[0], "id").expect("an id").to_vec();
        assert!(!is_told(&room, upstream, &own), "nobody has cancelled");
    });
}

#[test]
fn a_late_answer_to_a_cancelled_request_is_dropped() {
    each_pair(&Front::MODERN, &UPSTREAMS, |front, upstream| {
        let room = Room::new();
        let slow = say::steps([say::until_cancelled(), say::text("too late")]);
        let a = room.fake("a").tool("slow", slow).tool("echo", say::echo());
        room.config([("a", a.over(upstream))]);
        let scene = room.open_ready(front, &[]);
        let id = scene.begin(&scene.tool("a", "slow"), "{}");
        let there = || ledger::calls(&room.ledger("a")).len() == 1;
        process::wait_until("the call is open", LIMIT, there);
        scene.cancel(&id);
        let own = scan::get(&ledger::calls(&room.ledger("a"))[0], "id").expect("an id").to_vec();
        process::wait_until("the server is told", LIMIT, || is_told(&room, upstream, &own));
        for n in 0..5 {
            scene.assert_echo("a", "echo", &format!(r#"{{"n":{n}}}"#));
        }
        let late = scene.try_wait_for(std::time::Duration::ZERO, |line| line.is_answer_to(&id));
        assert_eq!(late, None);
        scene.assert_only_protocol();
    });
}

#[test]
fn a_client_that_goes_away_cancels_all_it_has_asked() {
    each_pair(&[Front::ModernHttp], &UPSTREAMS, |front, upstream| {
        let room = Room::new();
        house(&room, upstream);
        let scene = room.open_ready(front, &[]);
        let client = scene.serve().modern("{}");
        for _ in 0..3 {
            client.begin("a.slow", "{}");
        }
        let calls = || ledger::calls(&room.ledger("a"));
        process::wait_until("the calls are open", LIMIT, || calls().len() == 3);
        drop(client);
        for call in calls() {
            let own = scan::get(&call, "id").expect("an id").to_vec();
            process::wait_until("the server is told", LIMIT, || is_told(&room, upstream, &own));
        }
        scene.assert_echo("a", "echo", "{}");
    });
}
