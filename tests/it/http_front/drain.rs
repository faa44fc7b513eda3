//! K30: the end of a service with calls in flight.

use std::time::Duration;

use kit::http::{Ask, Connection};
use kit::limit::Limit;
use kit::mcp::{self, Speak};
use kit::scene::{Front, each_of};
use kit::serve::Serve;
use kit::{LIMIT, SOON, ledger, process};
use rustix::process::Signal;

use super::room;

/// Nothing of a service is left so long after a signal, besides the ten seconds that open calls get.
const GONE: Duration = Duration::from_secs(3);
const DRAIN: Duration = Duration::from_secs(10);

/// The service has read the signal and refuses what comes now.
#[track_caller]
fn wait_refused(serve: &Serve) {
    let refused = || match Connection::try_open(serve.address()) {
        Err(_) => true,
        Ok(mut connection) => {
            connection.begin(&Ask::get("/readyz"));
            let answer = connection.try_response(LIMIT);
            answer.is_none_or(|response| response.status() == 503)
        }
    };
    process::wait_until("it is not ready any more", SOON, refused);
}

#[test]
fn k30_on_sigterm_open_calls_are_answered_and_nothing_is_left() {
    each_of(Front::NETWORK, |front| {
        for signal in [Signal::TERM, Signal::INT] {
            let room = room();
            let serve = room.serve(&[]);
            let client = serve.talk(front, "{}");
            client.list();
            let ids: Vec<_> =
                (0..20).map(|n| (n, client.begin("a.wait", &format!(r#"{{"n":{n}}}"#)))).collect();
            let there = || ledger::calls(&room.ledger("a")).len() == 20;
            process::wait_until("every call is open", LIMIT, there);
            serve.process().signal(signal);
            // The service is going down, but these calls came before that.
            wait_refused(&serve);
            room.open_gate("go");
            for (n, id) in ids {
                let answer = client.answer(&id, LIMIT);
                assert_eq!(answer.result(), format!(r#"{{"n":{n}}}"#).as_bytes());
            }
            let end = serve.process().finish(Limit::promised(GONE));
            assert_eq!(end.code, Some(0), "{end:?}");
            process::wait_gone(room.marker(), SOON).expect("nothing is left");
        }
    });
}

#[test]
fn k30_new_calls_are_refused_while_open_ones_are_answered() {
    let room = room();
    let serve = room.serve(&[]);
    let (http, sse) = (serve.http(), serve.sse());
    http.list();
    sse.list();
    // Opened before: a service that ends accepts no connection.
    let mut beside = http.connection();
    let ping = http.dress(Ask::post("/mcp", r#"{"jsonrpc":"2.0","id":76,"method":"ping"}"#));
    assert_eq!(beside.ask(&ping).status(), 200);
    let ids = (http.begin("a.wait", r#"{"n":1}"#), sse.begin("a.wait", r#"{"n":2}"#));
    let there = || ledger::calls(&room.ledger("a")).len() == 2;
    process::wait_until("both calls are open", LIMIT, there);
    serve.process().signal(Signal::TERM);
    wait_refused(&serve);
    let late = http.dress(Ask::post("/mcp", mcp::call("77", "a.echo", "{}")));
    let late = beside.ask(&late);
    assert_eq!(late.status(), 503, "{}", late.text());
    assert_eq!(sse.post(mcp::call("78", "a.echo", "{}")), 503);
    room.open_gate("go");
    assert_eq!(http.answer(&ids.0, LIMIT).result(), br#"{"n":1}"#);
    assert_eq!(sse.answer(&ids.1, LIMIT).result(), br#"{"n":2}"#);
    let end = serve.process().finish(Limit::promised(GONE));
    assert_eq!(end.code, Some(0), "{end:?}");
    assert_eq!(ledger::calls(&room.ledger("a")).len(), 2, "what was refused did not run");
}

#[test]
fn k30_calls_that_never_end_are_settled_and_the_service_ends_all_the_same() {
    each_of(Front::NETWORK, |front| {
        let room = room();
        let serve = room.serve(&[]);
        let client = serve.talk(front, "{}");
        client.list();
        let id = client.begin("a.wait", "{}");
        let there = || ledger::calls(&room.ledger("a")).len() == 1;
        process::wait_until("the call is open", LIMIT, there);
        serve.process().signal(Signal::TERM);
        let outcome = client.answer(&id, Limit::promised(DRAIN + GONE));
        assert!(!(-32768..=-32000).contains(&outcome.code()), "{outcome}");
        let end = serve.process().finish(Limit::promised(GONE));
        assert_eq!(end.code, Some(0), "{end:?}");
        process::wait_gone(room.marker(), SOON).expect("nothing is left");
    });
}

#[test]
fn k30_a_second_signal_ends_it_at_once() {
    let room = room();
    let serve = room.serve(&[]);
    let client = serve.http();
    client.list();
    client.begin("a.wait", "{}");
    let there = || ledger::calls(&room.ledger("a")).len() == 1;
    process::wait_until("the call is open", LIMIT, there);
    serve.process().signal(Signal::TERM);
    // A second one that comes before the first is read is no second one.
    wait_refused(&serve);
    serve.process().signal(Signal::TERM);
    serve.process().wait_exit(Limit::promised(GONE));
    process::wait_gone(room.marker(), SOON).expect("nothing is left");
}

#[test]
fn k11_nothing_is_left_after_sigkill_of_a_service() {
    let room = room();
    let serve = room.serve(&[]);
    serve.http().assert_echo("a", "echo", "{}");
    serve.process().signal(Signal::KILL);
    process::wait_gone(room.marker(), SOON).expect("nothing is left");
}
