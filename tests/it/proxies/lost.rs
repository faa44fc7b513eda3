//! A proxy that loses requests: whoever asked learns whether the call may have run, and nothing is sent twice.

use kit::mcp::Speak;
use kit::proxy::{Fault, Proxy};
use kit::room::Room;
use kit::scene::{Front, each_of};
use kit::{LIMIT, ledger, process, say};
use serde_json::json;

use super::{Dialect, Via, open};
use crate::faults::assert_own_error;

const CASES: [(Via, Dialect); 4] = [
    (Via::Http, Dialect::Streamable),
    (Via::Http, Dialect::Modern),
    (Via::Socks, Dialect::Streamable),
    (Via::Socks, Dialect::Modern),
];

#[test]
fn a_request_that_the_proxy_lost_behind_itself_may_have_run_and_is_not_sent_again() {
    each_of(CASES, |(via, dialect)| {
        let room = Room::new();
        let service = dialect.listen(room.fake("a").tool("echo", say::echo()));
        let proxy = Proxy::start();
        let mut entry = service.entry();
        entry["proxy"] = json!(via.url(&proxy, ""));
        room.config([("a", entry)]);
        let scene = open(&room, Front::Stdio, &[]);
        scene.list();
        scene.assert_echo("a", "echo", r#"{"n":1}"#);
        proxy.commit(Some(Fault::DropBehind("tools/call")));
        let lost = scene.call(&scene.tool("a", "echo"), r#"{"n":2}"#);
        assert_own_error(&lost, &["may have run"]);
        let heard = || ledger::calls(&room.ledger("a")).len() == 2;
        process::wait_until("the server has heard it", LIMIT, heard);
        proxy.commit(Some(Fault::Swallow("tools/call")));
        let lost = scene.call(&scene.tool("a", "echo"), r#"{"n":3}"#);
        assert_own_error(&lost, &["may have run"]);
        proxy.commit(None);
        let back = || scene.call(&scene.tool("a", "echo"), r#"{"n":4}"#).try_result().is_some();
        process::wait_until("it is used again", LIMIT, back);
        let calls = ledger::calls(&room.ledger("a"));
        let count = |n: usize| {
            let text = format!(r#""n":{n}"#);
            calls.iter().filter(|call| String::from_utf8_lossy(call).contains(&text)).count()
        };
        assert_eq!([count(1), count(2), count(3)], [1, 1, 0], "nothing is sent twice");
    });
}

#[test]
fn a_request_that_never_left_waits_until_the_proxy_is_back_and_is_sent_once() {
    each_of([Dialect::Streamable, Dialect::Modern, Dialect::Sse], |dialect| {
        let room = Room::new();
        let service = dialect.listen(room.fake("a").tool("echo", say::echo()));
        let proxy = Proxy::start();
        let mut entry = service.entry();
        entry["proxy"] = json!(Via::Socks.url(&proxy, ""));
        room.config([("a", entry)]);
        let scene = open(&room, Front::Http, &[]);
        scene.list();
        scene.assert_echo("a", "echo", r#"{"n":1}"#);
        proxy.commit(Some(Fault::Reply(1)));
        proxy.hang_up();
        let before = proxy.wishes().len();
        let id = scene.begin(&scene.tool("a", "echo"), r#"{"n":2}"#);
        process::wait_until("it was tried", LIMIT, || proxy.wishes().len() > before);
        proxy.commit(None);
        scene.answer(&id, LIMIT).result();
        assert_eq!(ledger::calls(&room.ledger("a")).len(), 2, "each was sent once");
    });
}
