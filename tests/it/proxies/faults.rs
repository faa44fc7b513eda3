//! What a proxy refuses, and what a user reads then: who it was, why, and what to do.

use kit::proxy::{Admits, Fault, Proxy};
use kit::room::Room;
use kit::run::run;
use kit::scene::each_of;
use kit::tls::{Certificate, Cover, TLS12, TLS13};
use kit::{ledger, port, say};
use serde_json::json;

use super::{Dialect, Via, trunkline, words};

const LOGIN: Admits = Admits::Only { header: "Basic bWU6czNjcmV0", socks: "me:s3cret" };

/// Whose proxy, which fault, is the server encrypted, what is said about who we are, what is read.
type Row = (Via, Option<Fault>, bool, &'static str, &'static [&'static str]);

const ROWS: [Row; 17] = [
    (Via::Http, None, true, "", &["wants a user name and a password", "put USER:PASSWORD@"]),
    (Via::Http, None, false, "", &["wants a user name and a password", "put USER:PASSWORD@"]),
    (Via::Https, None, true, "", &["wants a user name and a password", "put USER:PASSWORD@"]),
    (Via::Socks, None, true, "", &["wants a user name and a password", "put USER:PASSWORD@"]),
    (Via::Http, None, true, "me:wr0ng@", &["does not accept the user name", "correct USER:"]),
    (Via::Http, None, false, "me:wr0ng@", &["does not accept the user name", "correct USER:"]),
    (Via::Socks, None, false, "me:wr0ng@", &["does not accept the user name", "correct USER:"]),
    (Via::Http, Some(Fault::Status(403)), true, GOOD, &["does not allow a connection", "HTTP 403"]),
    (Via::Https, Some(Fault::Status(502)), true, GOOD, &["cannot reach localhost:", "HTTP 502"]),
    (Via::Http, Some(Fault::Status(503)), false, GOOD, &["said by it or by its proxy http://"]),
    (Via::Http, Some(Fault::Status(502)), false, GOOD, &["HTTP 502, said by it or by its proxy"]),
    (Via::Socks, Some(Fault::Reply(2)), true, GOOD, &["does not allow", "SOCKS reply 2"]),
    (Via::Socks, Some(Fault::Reply(5)), false, GOOD, &["connection refused, SOCKS reply 5"]),
    (Via::Http, Some(Fault::Slam), true, GOOD, &["broke off the connection", "check scheme"]),
    (Via::Socks, Some(Fault::Slam), true, GOOD, &["broke off the connection", "check scheme"]),
    (Via::Http, Some(Fault::Hang), true, GOOD, &["did not answer within"]),
    (Via::Socks, Some(Fault::Hang), false, GOOD, &["did not answer within"]),
];

const GOOD: &str = "me:s3cret@";

#[test]
fn what_a_proxy_refuses_is_said_with_its_name_and_the_remedy() {
    each_of(ROWS, |(via, fault, secured, login, parts)| {
        let room = Room::hurried();
        let service = Dialect::Streamable.listen(room.fake("a").tool("echo", say::echo()));
        let both = [&TLS12, &TLS13];
        let cover = Cover::over(service.address(), Certificate::Local, &both);
        let origin = match secured {
            true => format!("https://localhost:{}", cover.address().port()),
            false => format!("http://{}", service.address()),
        };
        let proxy = Proxy::with(LOGIN, None);
        proxy.commit(fault);
        let mut entry = Dialect::Streamable.entry(&origin);
        let named = via.url(&proxy, login);
        entry["proxy"] = json!(named);
        room.config([("a", entry)]);
        let mut command = trunkline(&room, &["check"]);
        command.env("TRUNKLINE_TEST_WAIT_DIVISOR", "10");
        let done = run(command, b"");
        assert_eq!(done.code, Some(1), "{done}");
        let said = words(&done);
        for part in parts {
            assert!(said.contains(part), "no {part:?} in {said}");
        }
        let shown = named.replace(login, "");
        assert!(said.contains(&shown), "no {shown:?} in {said}");
        for secret in ["s3cret", "wr0ng", "bWU6"] {
            done.hides(secret);
        }
        let mut command = trunkline(&room, &["call", "a:echo"]);
        command.env("TRUNKLINE_TEST_WAIT_DIVISOR", "10");
        let called = run(command, b"");
        assert_eq!(called.code, Some(1), "{called}");
        called.hides("s3cret");
        assert!(ledger::heads(&room.ledger("a")).is_empty(), "nothing has reached the server");
    });
}

#[test]
fn a_proxy_that_is_not_there_is_said_to_be_missing() {
    each_of(["http", "https", "socks5"], |scheme| {
        let room = Room::new();
        let service = Dialect::Streamable.listen(room.fake("a").tool("echo", say::echo()));
        let address = format!("127.0.0.1:{}", port::free());
        let mut entry = service.entry();
        entry["proxy"] = json!(format!("{scheme}://me:s3cret@{address}"));
        room.config([("a", entry)]);
        let done = run(trunkline(&room, &["check"]), b"");
        let said = format!("its proxy {scheme}://{address} cannot be: connection refused");
        assert!(words(&done).contains(&said), "{done}");
        assert!(words(&done).contains("check `proxy` in its config"), "{done}");
        done.hides("s3cret");
    });
}

#[test]
fn a_bad_proxy_in_a_config_is_an_error_with_its_place() {
    for (value, words) in [
        ("ftp://me:s3cret@h", "a proxy is named http://HOST:PORT"),
        ("http://me:s3cret@h:port", "the port is not a number"),
        ("http://me:s3cret@h/path", "ends behind its port"),
    ] {
        let room = Room::new();
        room.config([("a", json!({ "url": "http://127.0.0.1:1/mcp", "proxy": value }))]);
        let done = run(trunkline(&room, &["check"]), b"");
        done.bad(2, &["`proxy` is no proxy", words, "mcp.json:"]);
        done.hides("s3cret");
    }
}
