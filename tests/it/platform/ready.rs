//! Ready means ready: a platform that starts lists what its servers listed last, and calls wait for them.

use std::net::SocketAddr;

use kit::database::Database;
use kit::http::Connection;
use kit::mcp::Speak as _;
use kit::platform::{ADMIN, Platform, remote};
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, process};
use rustix::process::Signal;
use serde_json::json;

use super::echoing;

fn end(platform: &Platform, signal: Signal) {
    platform.serve().process().signal(signal);
    platform.serve().process().wait_exit(LIMIT);
}

fn wait_ready(platform: &Platform) {
    let is_ready = || platform.rest(None).get("/readyz").status() == 200;
    process::wait_until("it is ready", LIMIT, is_ready);
}

/// On each kind of store.
#[test]
fn a_platform_that_starts_lists_everything_at_once_and_calls_wait_for_their_server() {
    let database = Database::new();
    for store in [None, Some(database.direct_url())] {
        let room = Room::new();
        let mut service = echoing(&room, "a").listen(Wire::Http);
        let mut flags = Vec::new();
        if let Some(url) = &store {
            flags = vec!["--store", url];
        }
        let first = room.platform(&flags);
        first.connected("a", &service);
        assert_eq!(first.tool_names(ADMIN), ["a.echo"]);
        end(&first, Signal::TERM);
        service.kill();
        let platform = room.platform(&flags);
        wait_ready(&platform);
        assert_eq!(platform.tool_names(ADMIN), ["a.echo"], "over REST");
        let client = platform.mcp(ADMIN);
        assert_eq!(client.list_names(), ["a.echo"], "over MCP");
        let call = client.begin("a.echo", r#"{"n":1}"#);
        let address = platform.serve().address();
        let rest = std::thread::spawn(move || {
            let rest = kit::rest::Rest::new(address, Some(ADMIN));
            rest.send(&Platform::call_ask("a.echo", r#"{"n":2}"#)).status()
        });
        service.restart();
        let answer = client.answer(&call, LIMIT);
        answer.result();
        assert!(answer.to_string().contains(r#"{"n":1}"#), "{answer}");
        assert_eq!(rest.join().expect("it is answered"), 200);
    }
}

/// What a probe of a load balancer may send: no Host, or the address of a machine that is not named.
fn probe(address: SocketAddr, head: &str) -> u16 {
    let mut connection = Connection::open(address);
    connection.send(format!("GET {head}\r\n\r\n").as_bytes());
    connection.try_response(LIMIT).expect("it is answered").status()
}

#[test]
fn probes_need_no_host() {
    let room = Room::new();
    let platform = room.platform(&[]);
    wait_ready(&platform);
    let address = platform.serve().address();
    for path in ["/healthz", "/readyz"] {
        assert_eq!(probe(address, &format!("{path} HTTP/1.0")), 200, "{path}");
        assert_eq!(probe(address, &format!("{path} HTTP/1.1\r\nHost: 10.1.2.3")), 200, "{path}");
    }
    for other in ["/mcp", "/api/v1/me", "/metrics", "/"] {
        assert_eq!(probe(address, &format!("{other} HTTP/1.1\r\nHost: 10.1.2.3")), 403, "{other}");
    }
}

#[test]
fn a_platform_that_ends_says_so_before_it_refuses_anything() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    // Longer than the test takes: a second signal ends it.
    let platform = room.platform(&["--drain-delay", "600"]);
    platform.connected("a", &service);
    wait_ready(&platform);
    platform.serve().process().signal(Signal::TERM);
    process::wait_until("it is not ready any more", LIMIT, || {
        platform.rest(None).get("/readyz").status() == 503
    });
    assert_eq!(platform.rest(None).get("/healthz").status(), 200);
    platform.call("a.echo", &json!({})).is(200);
    platform.mcp(ADMIN).assert_echo("a", "echo", r#"{"n":1}"#);
    end(&platform, Signal::TERM);
}

#[test]
fn a_server_that_is_removed_is_listed_by_no_start() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("a", &service);
    let server = format!("{}/{id}", kit::platform::SERVERS);
    platform.admin().delete(&server);
    end(&platform, Signal::TERM);
    let platform = room.platform(&[]);
    assert_eq!(platform.tool_names(ADMIN), Vec::<String>::new());
    platform.register(&remote("b", &service));
}
