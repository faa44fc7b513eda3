//! The variables of the environment that name proxies.

use kit::collector::{Collector, Mood};
use kit::mcp::Speak;
use kit::proxy::{Admits, Manner, Proxy};
use kit::room::Room;
use kit::run::run;
use kit::scene::{Front, each_of};
use kit::serve::Serve;
use kit::{LIMIT, ledger, say};
use serde_json::json;

use super::{Dialect, open, trunkline};

const LOGIN: Admits = Admits::Only { header: "Basic bWU6czNjcmV0", socks: "me:s3cret" };

/// Variables, and how the proxy is spoken to.
type Row = (&'static [(&'static str, &'static str)], Option<Manner>);

#[test]
fn the_environment_names_the_proxy_of_servers_elsewhere() {
    // Variables with `@` for the proxy's address, and how it is spoken to; none: it is not used.
    let rows: [Row; 6] = [
        (&[("HTTP_PROXY", "http://me:s3cret@@")], Some(Manner::Forward)),
        (
            &[("http_proxy", "me:s3cret@@"), ("HTTP_PROXY", "http://h.invalid")],
            Some(Manner::Forward),
        ),
        (&[("ALL_PROXY", "socks5://me:s3cret@@")], Some(Manner::Socks)),
        (&[("all_proxy", "socks5h://me:s3cret@@")], Some(Manner::Socks)),
        (&[("HTTPS_PROXY", "http://me:s3cret@@")], None),
        (&[("HTTP_PROXY", "http://me:s3cret@@"), ("NO_PROXY", "x, .invalid")], None),
    ];
    each_of(rows, |(variables, expected)| {
        let room = Room::new();
        let service = Dialect::Streamable.listen(room.fake("a").tool("echo", say::echo()));
        let proxy = Proxy::with(LOGIN, Some(service.address()));
        room.config([("a", json!({ "type": "http", "url": "http://mcp.invalid/mcp" }))]);
        let address = format!("@{}", proxy.address());
        let values: Vec<_> =
            variables.iter().map(|(name, value)| (*name, value.replace("@@", &address))).collect();
        let variables: Vec<_> =
            values.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let scene = open(&room, Front::Stdio, &variables);
        if let Some(manner) = expected {
            scene.list();
            scene.assert_echo("a", "echo", "{}");
            let used = proxy.wishes();
            assert!(!used.is_empty() && used.iter().all(|wish| wish.how == manner), "{used:?}");
        } else {
            scene.process().wait_stderr(&["no address for mcp.invalid"], LIMIT);
            assert_eq!(proxy.wishes(), []);
        }
        assert!(!scene.process().stderr().contains("s3cret"), "{}", scene.process().stderr());
    });
}

#[test]
fn this_machine_is_reached_directly_whatever_the_environment_says() {
    let room = Room::new();
    let service = Dialect::Streamable.listen(room.fake("a").tool("echo", say::echo()));
    let proxy = Proxy::start();
    room.config([("a", service.entry())]);
    let address = format!("http://{}", proxy.address());
    let scene = open(&room, Front::Stdio, &[("ALL_PROXY", &address)]);
    scene.list();
    scene.assert_echo("a", "echo", "{}");
    assert_eq!(proxy.wishes(), []);
}

#[test]
fn an_entry_goes_before_the_environment() {
    let room = Room::new();
    let service = Dialect::Streamable.listen(room.fake("a").tool("echo", say::echo()));
    let (named, other) = (Proxy::with(Admits::Everybody, Some(service.address())), Proxy::start());
    let url = "http://mcp.invalid/mcp";
    let through = json!({ "url": url, "proxy": format!("http://{}", named.address()) });
    room.config([("a", through), ("b", json!({ "url": url, "proxy": "none" }))]);
    let address = format!("http://{}", other.address());
    let scene = open(&room, Front::Stdio, &[("HTTP_PROXY", &address)]);
    assert_eq!(scene.list_names(), ["a:echo"]);
    scene.assert_echo("a", "echo", "{}");
    assert!(!named.wishes().is_empty());
    assert_eq!(other.wishes(), [], "`none` is direct");
}

#[test]
fn a_variable_that_cannot_be_used_is_named_once_and_its_value_is_not() {
    let room = Room::new();
    let service = Dialect::Streamable.listen(room.fake("a").tool("echo", say::echo()));
    room.config([("a", service.entry())]);
    for (name, value) in [
        ("HTTPS_PROXY", "ftp://me:s3cret@h"),
        ("http_proxy", "http://me:s3cret@h:port"),
        ("NO_PROXY", "a.example,s3cret!"),
    ] {
        let mut command = trunkline(&room, &["check"]);
        command.env(name, value);
        let done = run(command, b"");
        assert_eq!(done.code, Some(0), "{done}");
        assert_eq!(done.stderr.matches(&format!("{name}: ")).count(), 1, "{done}");
        done.hides("s3cret");
    }
}

#[test]
fn the_command_line_goes_through_the_same_proxies() {
    let room = Room::new();
    let service = Dialect::Streamable.listen(room.fake("a").tool("echo", say::echo()));
    let proxy = Proxy::with(LOGIN, Some(service.address()));
    let mut command = std::process::Command::new(kit::bin::trunkline());
    command.args(["call", "echo", "n=1", "--json", "--url", "http://mcp.invalid/mcp"]);
    command.env("HTTP_PROXY", format!("http://me:s3cret@{}", proxy.address()));
    let done = run(command, b"");
    assert!(done.text().contains(r#""arguments":{"n":1}"#), "{done}");
    assert_eq!(ledger::calls(&room.ledger("a")).len(), 1);
    assert!(!proxy.wishes().is_empty());
}

/// What Trunkline sends of its own accord: traces, here.
#[test]
fn traces_go_through_the_same_proxies() {
    let room = Room::new();
    let collector = Collector::start(Mood::Taking);
    let place = collector.url();
    let address = place.trim_start_matches("http://").split('/').next().expect("an address");
    let proxy = Proxy::with(LOGIN, Some(address.parse().expect("an address")));
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let mut command = collector.follows(room.serve_command(&[]));
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector.invalid:4318");
    command.env("http_proxy", format!("http://me:s3cret@{}", proxy.address()));
    let serve = Serve::start(command);
    let client = serve.http_with("{}");
    client.list();
    client.assert_echo("a", "echo", "{}");
    collector.wait_spans(2); // the call, and its way to the server
    let wishes = proxy.wishes();
    assert!(wishes.iter().all(|wish| wish.target == "collector.invalid:4318"), "{wishes:?}");
    assert!(!serve.process().stderr().contains("s3cret"));
}
